package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/exit"
	"github.com/ralph-loop/ralph/internal/report"
	"github.com/ralph-loop/ralph/internal/step"
	"github.com/ralph-loop/ralph/internal/worktree"
)

// What comes after the engine: work is put where the next start finds it, what
// nobody needs goes, and the person is told.

// shelve stashes what agents that were ended at once had uncommitted in their
// worktrees, and gives their tasks back (B-074, X-27). In place the tree stays as
// it is for the next start.
func (x *session) shelve(ctx context.Context, executor *step.Executor) error {
	if !x.isolated {
		return nil
	}
	ctx = context.WithoutCancel(ctx)
	s := x.journal.State()
	var errs []error
	for _, t := range atWork(s) {
		facts, err := executor.Stash(ctx, s, t.ID)
		errs = append(errs, err) // should it fail, the worktree stays as it is, which keeps the work as well
		facts = append(facts, ralph.TaskEnded{
			ID: t.ID, Status: ralph.TaskPending, Slot: t.Run.Place.Slot, Why: ralph.Why{Rule: "B-074", Text: "ended at once by a person"},
		})
		if err := x.journal.Update(ctx, "engine", func(*ralph.State) ([]ralph.Fact, error) { return facts, nil }); err != nil {
			return errors.Join(append(errs, err)...)
		}
	}
	return errors.Join(errs...)
}

// atWork are the active tasks that have a worktree of their own.
func atWork(s *ralph.State) []*ralph.Task {
	var list []*ralph.Task
	for t := range s.Work() {
		if t.Status == ralph.TaskActive && t.TakesSlot() && t.Run.Place.Dir != "" {
			list = append(list, t)
		}
	}
	return list
}

// oneWord makes a text fit into one line.
func oneWord(text string) string { return strings.Join(strings.Fields(text), " ") }

// cleanUp removes the worktrees that no task owns, and branches that are merged
// (B-069). What holds work stays, and is named.
func (x *session) cleanUp(ctx context.Context) error {
	if !x.isolated {
		return nil
	}
	ctx = context.WithoutCancel(ctx)
	f := worktree.Worktrees{Repo: x.repo}.CleanUp(ctx, x.journal.State())
	if f.Error != "" {
		x.console.note("%s (nothing is lost; the end of the next session tries again)", f.Error)
	}
	if len(f.Removed)+len(f.Kept)+len(f.Branches)+len(f.Saved) == 0 && f.Error == "" {
		return nil
	}
	return x.journal.Update(ctx, "engine", func(*ralph.State) ([]ralph.Fact, error) { return []ralph.Fact{f}, nil })
}

// exitFor is the exit code of a session that came to its own end (product.md 3).
// signalled says that a signal, not a word from elsewhere, asked it to stop.
func exitFor(reason ralph.Reason, s *ralph.State, signalled bool) error {
	code := exit.OK
	switch reason {
	case ralph.ReasonEmpty:
		if s.Session.Failed > 0 {
			code = exit.Failures
		}
	case ralph.ReasonFailed:
		code = exit.Failures
		if s.Session.Mode == "autopilot" && len(endedBadly(s)) == 0 && needsPerson(s) {
			code = exit.Human
		}
	case ralph.ReasonError, ralph.ReasonAborted, ralph.ReasonDenied:
		code = exit.Failures
	case ralph.ReasonUnanswered, ralph.ReasonPerson:
		code = exit.Human
	case ralph.ReasonMaxCost, ralph.ReasonMaxFailures, ralph.ReasonBudget, ralph.ReasonLimited, ralph.ReasonHook:
		code = exit.Limit
	case ralph.ReasonInterrupted:
		switch {
		case workLeft(s) && signalled:
			code = exit.Interrupted
		case workLeft(s):
			code = exit.Stopped
		case needsPerson(s):
			code = exit.Human
		}
	}
	if code == exit.OK {
		return nil
	}
	return exit.Error{Code: code}
}

// workLeft reports whether a session that was stopped had more to do.
func workLeft(s *ralph.State) bool {
	switch x := s.Session; x.Mode {
	case "agent":
		return s.CountInbox(ralph.SpecPending)+s.CountInbox(ralph.SpecActive) > 0
	case "autopilot":
		return slices.ContainsFunc(s.Plan.Tasks, func(t *ralph.Task) bool { return t.Status != ralph.TaskDone && !t.LeftOut() })
	default: // one spec, which ends the session when it is planned, done or failed
		return x.Completed+x.Failed+len(x.Planned) == 0
	}
}

// needsPerson reports whether the work cannot go on without a word from a person:
// a question, a merge, or a checkout whose changes are in the way.
func needsPerson(s *ralph.State) bool {
	return openQuestion(s) || len(heldMerges(s)) > 0 || unlanded(s)
}

// openQuestion reports whether a task waits for an answer that nobody gave. A
// stop takes its gate back, and the next start asks again.
func openQuestion(s *ralph.State) bool {
	return slices.ContainsFunc(s.Plan.Tasks, func(t *ralph.Task) bool {
		last := t.Run.Last
		return !t.Status.Ended() && last != nil && last.Signal.Kind == ralph.SignalHuman && t.Run.Answered != t.Run.Iterations
	})
}

// heldMerges are done tasks whose merge waits for a person.
func heldMerges(s *ralph.State) []*ralph.Task {
	var list []*ralph.Task
	for _, t := range s.Plan.Tasks {
		q := t.Run.Queue
		if t.Status == ralph.TaskDone && (q.GaveUp != "" || q.State == ralph.MergeWaiting && len(q.Weakened)+len(s.Unseen(q.Settings)) > 0 && !q.Approved) {
			list = append(list, t)
		}
	}
	return list
}

// unlanded reports whether merged work could not be brought to the base branch.
func unlanded(s *ralph.State) bool {
	i := s.Plan.Integration
	return i != nil && i.Landed != i.Tip && len(i.Held) > 0
}

// endedBadly are the tasks of the plan that ended without being done.
func endedBadly(s *ralph.State) []*ralph.Task {
	return slices.DeleteFunc(slices.Clone(s.Plan.Tasks), func(t *ralph.Task) bool {
		return t.Status != ralph.TaskFailed && t.Status != ralph.TaskTimeout && t.Status != ralph.TaskBlocked && !t.Run.GivenUp
	})
}

// mostNamed bounds what is told at the end.
const mostNamed = 8

// endWords tell a person what is left to do after an autopilot session, each with
// the command for it.
func endWords(s *ralph.State) []string {
	var lines []string
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	bad := endedBadly(s)
	for n, t := range bad {
		if n == mostNamed {
			add("... and %d more: ralph task list", len(bad)-n)
			break
		}
		what := fmt.Sprintf("%s %s: %s (%s)", t.ID, t.Status, oneWord(t.Name), few(strings.Fields(t.Run.Reason), 20, " "))
		if t.Run.Place.Dir != "" {
			what += ", its worktree is kept: " + t.Run.Place.Dir
		}
		add("%s", what)
		add("    %s", t.Recovery())
		if t.Run.GivenUp && waitedFor(s, t.ID) {
			add("    or, so that what depends on it goes on without it: ralph task skip %s", t.ID)
		}
	}
	for _, t := range heldMerges(s) {
		why := t.Run.Queue.GaveUp
		if why == "" {
			why = "its diff removes, skips or weakens tests"
		}
		add("%s is done, and its merge needs you: %s", t.ID, report.FirstLine(why))
		add("    ralph autopilot, then: ralph gates")
	}
	if openQuestion(s) {
		add("an agent waits for your answer; the next start asks again: ralph autopilot, then: ralph gates")
	}
	if i := s.Plan.Integration; i != nil && unlanded(s) {
		base := orWord(i.Base, "HEAD")
		add("finished work waits on branch %s, your checkout is in the way: %s", i.Branch, few(i.Held, 5, ", "))
		add("    commit or stash that, then: ralph autopilot (or: git merge --ff-only %s on %s)", i.Branch, base)
	}
	return lines
}

// waitedFor reports whether a pending task depends on one.
func waitedFor(s *ralph.State, id ralph.TaskID) bool {
	return slices.ContainsFunc(s.Plan.Tasks, func(t *ralph.Task) bool {
		return t.Status == ralph.TaskPending && slices.Contains(t.Deps, id)
	})
}
