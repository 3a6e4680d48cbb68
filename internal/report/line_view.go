package report

import (
	"fmt"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/specfile"
	"github.com/ralph-loop/ralph/internal/text"
)

// maxKept is how many records a line names that the journal kept against a file.
const maxKept = 3

// viewLines are the lines about files that people edit: what was taken, and what was kept.
func viewLines(e ralph.Event, s *ralph.State) []string {
	switch f := e.Fact.(type) {
	case ralph.ViewRead:
		return []string{"FILE: " + viewRead(f, s)}
	case ralph.ViewUnreadable:
		return []string{fmt.Sprintf("FILE: %s; going on with what it said before", UnreadableWords(f))}
	case ralph.JournalCut:
		return []string{"JOURNAL: " + CutWords(f)}
	}
	return nil
}

// CutWords say what a journal that was cut has no more, and where that lies.
func CutWords(f ralph.JournalCut) string {
	lost := fmt.Sprintf("the facts from %d on are lost", f.Lost)
	switch {
	case f.Until == f.Lost:
		lost = fmt.Sprintf("fact %d is lost", f.Lost)
	case f.Until > f.Lost:
		lost = fmt.Sprintf("the facts from %d to %d are lost", f.Lost, f.Until)
	}
	return OneLine(fmt.Sprintf("%s (%s); %s in %s", lost, f.Why, text.Plural(f.Lines, "line lies", "lines lie"), f.File))
}

// UnreadableWords says which file cannot be read, where, and why.
func UnreadableWords(f ralph.ViewUnreadable) string {
	at := f.File
	if f.Line > 0 {
		at = fmt.Sprintf("%s:%d", f.File, f.Line)
	}
	return OneLine(fmt.Sprintf("%s cannot be read: %s", at, f.Why))
}

func viewRead(f ralph.ViewRead, s *ralph.State) string {
	if f.Older {
		holds := TaskCounts(s)
		if f.File == "ralph/inbox.jsonl" {
			holds = text.Count(len(s.Inbox), "spec")
		}
		return fmt.Sprintf("%s was put back to what it said before (a stash, a checkout?): nothing is taken from it, the journal's %s hold", f.File, holds)
	}
	if f.Gone {
		return f.File + " was deleted: it came back from the journal, and nothing of it is lost"
	}
	var took []string
	for _, part := range []struct {
		n    int
		word string
	}{{f.Added, "added"}, {f.Edited, "edited"}, {f.Removed, "removed"}} {
		if part.n > 0 {
			took = append(took, fmt.Sprintf("%d %s", part.n, part.word))
		}
	}
	if f.Reordered {
		took = append(took, "reordered")
	}
	line := f.File
	switch {
	case f.Again:
		line += " can be read again"
	case f.Replaced:
		line += " has the plan of another spec"
	case len(took) > 0:
		line += " was changed"
	default:
		line += " was changed, and nothing is taken"
	}
	if len(took) > 0 {
		line += ": " + strings.Join(took, ", ")
	}
	if len(f.Kept) > 0 {
		why := make([]string, len(f.Kept))
		for i, k := range f.Kept {
			why[i] = k.Why
		}
		if len(why) > maxKept {
			why = append(why[:maxKept:maxKept], fmt.Sprintf("and %d more", len(f.Kept)-maxKept))
		}
		line += "; kept from the journal: " + strings.Join(why, ", ")
	}
	return OneLine(line)
}

// planSetAside names what a plan still held that made room for another one, and the way back to it.
func planSetAside(seq int64, s *ralph.State) []string {
	old := s.Aside
	if old == nil || old.Unfinished() == 0 || old.File == s.Plan.File {
		return nil
	}
	var names []string
	for _, t := range old.Tasks {
		if !t.Status.Ended() {
			names = append(names, string(t.ID)+" "+OneLine(t.Name))
		}
	}
	what := "what was planned without a spec"
	if old.File != "" {
		what = "the plan of " + old.File
	}
	return []string{
		fmt.Sprintf("PLAN: set aside: %s, with %s: %s", what, Unfinished(len(names)), text.List(names, maxKept)),
		fmt.Sprintf("PLAN: it is back, when no engine is at work, with: cp ralph/.state/plans/%s ralph/plan.jsonl", specfile.SetAside(old.File, seq)),
	}
}
