package session

import (
	"context"
	"errors"
	"fmt"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/exit"
	"github.com/ralph-loop/ralph/internal/step"
	"github.com/ralph-loop/ralph/internal/worktree"
)

// What comes after the engine: work is put where the next start finds it, what
// nobody needs goes, and the person is told.

// shelve stashes what agents that were ended at once had uncommitted in their
// worktrees, and gives their tasks back (B-074, X-27). It is stashed under the lock that the word of it is written
// with: where there is no time for that lock it stays where it is, as in place, and the next start goes on from there.
func (x *Session) shelve(ctx context.Context, executor *step.Executor) error {
	if !x.isolated {
		return nil
	}
	ctx = context.WithoutCancel(ctx)
	var errs []error
	for _, t := range x.journal.State().AtWork() {
		err := x.journal.Update(ctx, "engine", func(s *ralph.State) ([]ralph.Fact, error) {
			facts, err := executor.Stash(ctx, s, t.ID)
			errs = append(errs, err) // should it fail, the worktree stays as it is, which keeps the work as well
			return append(facts, ralph.TaskEnded{
				ID: t.ID, Status: ralph.TaskPending, Slot: t.Run.Worktree.Slot, Why: ralph.Why{Rule: "B-074", Text: "ended at once by a person"},
			}), nil
		})
		if err != nil {
			return errors.Join(append(errs, fmt.Errorf("give back what was cut: %w", err))...)
		}
	}
	return errors.Join(errs...)
}

// cleanUp removes the worktrees that no task owns, and branches that are merged
// (B-069). What holds work stays, and is named.
func (x *Session) cleanUp(ctx context.Context) error {
	if !x.isolated {
		return nil
	}
	ctx = context.WithoutCancel(ctx)
	f := worktree.Worktrees{Repo: x.Repo}.CleanUp(ctx, x.journal.State())
	if f.Error != "" {
		x.console.Note("%s (nothing is lost; the end of the next session tries again)", f.Error)
	}
	if len(f.Removed)+len(f.Kept)+len(f.Branches)+len(f.Saved) == 0 && f.Error == "" {
		return nil
	}
	return x.journal.Update(ctx, "engine", func(*ralph.State) ([]ralph.Fact, error) { return []ralph.Fact{f}, nil })
}

// ExitFor is the exit code of a session that came to its own end.
// signalled says that a signal, not a word from elsewhere, asked it to stop.
func ExitFor(reason ralph.Reason, s *ralph.State, signalled bool) error {
	code := exit.OK
	switch reason {
	case ralph.ReasonEmpty:
		if s.Session.Failed > 0 {
			code = exit.Failures
		}
	case ralph.ReasonFailed:
		code = exit.Failures
		if s.Session.Mode == "autopilot" && len(s.EndedBadly()) == 0 && s.NeedsPerson() {
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
		case s.WorkLeft() && signalled:
			code = exit.Interrupted
		case s.WorkLeft():
			code = exit.Stopped
		case s.NeedsPerson():
			code = exit.Human
		}
	}
	if code == exit.OK {
		return nil
	}
	return exit.Error{Code: code}
}
