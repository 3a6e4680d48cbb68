package session

import (
	"context"
	"errors"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/journal"
	"github.com/ralph-loop/ralph/internal/ralphtest"
	"github.com/ralph-loop/ralph/internal/step"
)

// stashes are worktrees that only count what is stashed.
type stashes struct {
	step.Worktrees
	n int
}

func (s *stashes) Stash(context.Context, string, string, string) (string, error) {
	s.n++
	return "stash-1", nil
}

// What was cut is stashed together with the word that it is, or left where it lies, as after kill -9: the next start
// looks there (B-074, X-27).
func TestNothingIsStashedUntold(t *testing.T) {
	t.Parallel()
	x, other := besideALock(t)
	x.isolated = true
	if err := other.Unlock(); err != nil {
		t.Fatal(err)
	}
	if err := x.journal.Update(t.Context(), "test", func(*ralph.State) ([]ralph.Fact, error) {
		return []ralph.Fact{
			ralph.PlanStarted{File: "a.md"},
			ralph.TaskAdded{Task: ralph.Task{ID: "t-1", Name: "one", Status: ralph.TaskPending}},
			ralph.TaskStarted{ID: "t-1", Slot: 1, Dir: "ralph/.worktrees/1"},
		}, nil
	}); err != nil {
		t.Fatal(err)
	}
	trees := &stashes{}
	executor := &step.Executor{Root: x.journal.Root(), Worktrees: trees}
	if err := other.Lock(); err != nil {
		t.Fatal(err)
	}
	x.journal.Hurry(0)
	if err := x.shelve(t.Context(), executor); !errors.Is(err, journal.ErrHeld) || trees.n > 0 {
		t.Errorf("while the journal cannot be written: %v, and %d stashed", err, trees.n)
	}
	if err := other.Unlock(); err != nil {
		t.Fatal(err)
	}
	for { // what the kernel gives late is given back a moment later
		err := x.shelve(t.Context(), executor)
		if err == nil {
			break
		}
		if !errors.Is(err, journal.ErrHeld) {
			t.Fatal(err)
		}
	}
	if task := x.journal.State().Task("t-1"); trees.n != 1 || task.Run.Stash != "stash-1" || task.Status != ralph.TaskPending {
		t.Errorf("%d stashed; the task is %s, its work in %q", trees.n, task.Status, task.Run.Stash)
	}
}

// What is to be done when a context is done is done once: also by who is back before the goroutine for it has begun, and
// not by who is back while the context goes on.
func TestWhenDone(t *testing.T) {
	t.Parallel()
	ralphtest.BothEnds(t, func(t *testing.T, of func(context.Context) context.Context) {
		ctx, cancel := context.WithCancel(t.Context())
		whenDone(of(ctx), func() { t.Error("called while the context goes on") })()
		told := make(chan struct{})
		stop := whenDone(of(ctx), func() { close(told) }) // a second call would panic
		cancel()
		stop()
		<-told
	})
}
