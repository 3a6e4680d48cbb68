package status

import (
	"fmt"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/report"
	"github.com/ralph-loop/ralph/internal/text"
)

// maxBeside bounds what is told beside the work; the newest count.
const maxBeside = 200

// besides keeps what people did meanwhile, which red checks were let pass, and what was
// put away.
func (n *Night) besides(e ralph.Event, s *ralph.State) {
	say := func(kind string, task ralph.TaskID, format string, args ...any) {
		if t := s.Task(task); t == nil || !t.IsBuild() {
			task = ""
		}
		n.beside = append(n.beside, BesideRow{At: e.At.UTC(), Kind: kind, What: report.OneLine(fmt.Sprintf(format, args...)), Task: task})
		n.beside = n.beside[max(0, len(n.beside)-maxBeside):]
	}
	keep := func(task ralph.TaskID, list []ralph.Saved) {
		for _, x := range list {
			say("saved", task, "put away: %s", report.PutAway(x))
		}
	}
	switch f := e.Fact.(type) {
	case ralph.CheckoutFound:
		for _, line := range report.Found(f) {
			say("people", f.Task, "%s", strings.TrimPrefix(line, "FOUND: "))
		}
	case ralph.Committed:
		for _, line := range report.CommittedBeside(f, s) {
			say("people", f.Task, "%s", strings.TrimPrefix(line, "COMMIT: "))
		}
	case ralph.TaskEnded:
		if t := s.Task(f.ID); t != nil && f.Status == ralph.TaskDone && t.IsBuild() {
			if over := t.Run.Checks.PassedOver(); len(over) > 0 {
				say("known-red", f.ID, "%s is done with checks that did not count: %s", f.ID, ralph.PassedOverWords(over))
			}
		}
	case ralph.Prepared:
		keep(f.Task, f.Saved)
	case ralph.ChecksRan:
		keep(f.Task, f.Saved)
	case ralph.SavedWork:
		keep(f.Task, f.Saved)
	case ralph.CleanedUp:
		keep("", f.Saved)
	case ralph.TaskRolledBack:
		keep(f.ID, f.Saved)
	case ralph.TaskCleaned:
		keep(f.ID, f.Saved)
	case ralph.Shelved:
		switch {
		case f.Stash != "":
			say("saved", f.Task, "put away: changes that are not committed: `git stash apply %.9s`", f.Stash)
		case f.Ref != "":
			say("saved", f.Task, "put away: changes that are not committed: %s (`[[recovery list]]`)", f.Ref)
		}
	case ralph.ViewRead:
		for _, k := range f.Kept {
			say("file", ralph.TaskID(k.ID), "%s: kept as it was: %s", f.File, k.Why)
		}
	case ralph.ViewUnreadable:
		say("file", "", "%s", report.UnreadableWords(f))
	case ralph.JournalCut:
		say("note", "", "the journal was cut: %s; %s moved to %s", f.Why, text.Count(f.Lines, "line"), f.File)
	}
}
