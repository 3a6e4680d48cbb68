package report

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/action"
	"github.com/ralph-loop/ralph/internal/text"
)

// maxEnds bounds what is told at the end.
const maxEnds = 8

// EndWords tell a person what is left to do after an autopilot session, each with
// the command for it.
func EndWords(s *ralph.State) []string {
	var lines []string
	add := func(format string, args ...any) {
		lines = append(lines, action.Commands(fmt.Sprintf(format, args...)))
	}
	bad := s.EndedBadly()
	for n, t := range bad {
		if n == maxEnds {
			add("... and %d more: [[task list]]", len(bad)-n)
			break
		}
		what := fmt.Sprintf("%s %s: %s (%s)", t.ID, t.Status, OneLine(t.Name), text.Few(strings.Fields(t.Run.Reason), 20, " "))
		if t.Run.Worktree.Dir != "" {
			what += ", its worktree is kept: " + t.Run.Worktree.Dir
		}
		add("%s", what)
		add("    %s", t.Recovery())
		if t.Run.GivenUp && s.WaitedFor(t.ID) {
			add("    or, so that what depends on it goes on without it: [[skip %s]]", t.ID)
		}
	}
	for _, t := range s.HeldMerges() {
		why := t.Run.Queue.GaveUp
		if why == "" {
			why = "its diff removes, skips or weakens tests"
		}
		add("%s is done, and its merge needs you: %s", t.ID, text.FirstLine(why))
		add("    [[start autopilot]], then: [[gates]]")
	}
	if s.OpenQuestion() {
		add("an agent waits for your answer; the next start asks again: [[start autopilot]], then: [[gates]]")
	}
	if i := s.Plan.Integration; i != nil && s.Unlanded() {
		base := cmp.Or(i.Base, "HEAD")
		add("finished work waits on branch %s, your checkout is in the way: %s", i.Branch, text.List(i.Held, 5))
		add("    commit or stash that, then: [[start autopilot]] (or: git merge --ff-only %s on %s)", i.Branch, base)
	}
	return lines
}
