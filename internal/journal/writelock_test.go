package journal_test

import (
	"context"
	"errors"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/gofrs/flock"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/journal"
)

// held is the lock of a journal's writers as another process has it.
func held(t *testing.T, root string) *flock.Flock {
	t.Helper()
	other := flock.New(filepath.Join(root, "ralph/.state/journal.lock"))
	must(t, other.Lock())
	t.Cleanup(func() { _ = other.Unlock() })
	return other
}

// writes begins a write, and returns what becomes of it.
func writes(ctx context.Context, j *journal.File, text string) <-chan error {
	written := make(chan error, 1)
	go func() {
		written <- j.Update(ctx, "test", func(*ralph.State) ([]ralph.Fact, error) { return []ralph.Fact{note(text)}, nil })
	}()
	return written
}

// awaited returns when a write waits for the lock, with what is closed when the kernel has given it.
func awaited(j *journal.File) <-chan struct{} {
	for {
		if given, wanted := journal.LockWait(j); wanted {
			return given
		}
		runtime.Gosched()
	}
}

// D-112: a write that waits for another process's lock is given up with its context, and whoever looks meanwhile
// waits no longer than that. The next write goes on with the wait that is there.
func TestWriteGivesUpWaiting(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	j := open(t, options(root))
	must(t, update(j, note("before")))
	other := held(t, root)
	why := errors.New("stopped at once")
	ctx, giveUp := context.WithCancelCause(t.Context())
	written := writes(ctx, j, "given up")
	first := awaited(j)
	giveUp(why)
	if err := <-written; !errors.Is(err, why) {
		t.Fatalf("given up with %v", err)
	}
	if seq := j.State().Seq; seq != 1 {
		t.Errorf("at fact %d", seq)
	}
	written = writes(t.Context(), j, "after")
	if awaited(j) != first {
		t.Error("a second wait was begun beside the first")
	}
	must(t, other.Unlock())
	must(t, <-written)
	if s := j.State(); s.Seq != 2 {
		t.Errorf("at fact %d: what was given up is written all the same", s.Seq)
	}
}

// What comes to nobody is let go of at once: it is not this process that others then wait for.
func TestLockThatComesLate(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	j := open(t, options(root))
	must(t, update(j, note("before")))
	other := held(t, root)
	ctx, giveUp := context.WithCancel(t.Context())
	written := writes(ctx, j, "given up")
	given := awaited(j)
	giveUp()
	if err := <-written; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	must(t, other.Unlock())
	<-given
	if free, err := other.TryLock(); !free || err != nil {
		t.Fatalf("the lock is taken, and nobody writes: %v", err)
	}
	must(t, other.Unlock())
	must(t, update(j, note("after")))
}

// However close to each other the lock and the end of the wait come: either the fact is there, or it was given up,
// and the lock is free after both.
func TestLockAtTheLastMoment(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	j := open(t, options(root))
	must(t, update(j, note("before")))
	other := flock.New(filepath.Join(root, "ralph/.state/journal.lock"))
	want := j.State().Seq
	for range 300 {
		must(t, other.Lock())
		ctx, giveUp := context.WithCancel(t.Context())
		written := writes(ctx, j, "perhaps")
		awaited(j)
		go giveUp()
		must(t, other.Unlock())
		switch err := <-written; {
		case err == nil:
			want++
		case !errors.Is(err, context.Canceled):
			t.Fatal(err)
		}
		giveUp()
	}
	must(t, other.Lock()) // or the test hangs
	must(t, other.Unlock())
	if got := j.State().Seq; got != want {
		t.Errorf("at fact %d, %d were written", got, want)
	}
}

// Who is in a hurry waits for others so long in all, whatever is still to be written and with whatever context: views
// and the end of the file too. What can be written without a wait is.
func TestHurry(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	j := open(t, options(root))
	must(t, update(j, ralph.PlanStarted{File: "a.md"}, ralph.TaskAdded{Task: ralph.Task{ID: "t-1", Name: "one", Status: ralph.TaskPending}}))
	must(t, update(j, ralph.TaskStarted{ID: "t-1"})) // plan.jsonl is to be written
	other := held(t, root)
	written := writes(context.Background(), j, "waits")
	awaited(j)
	j.Hurry(time.Millisecond)
	if err := <-written; !errors.Is(err, journal.ErrHeld) {
		t.Errorf("a write that waited: %v", err)
	}
	if left := journal.HurryLeft(j); left > 0 {
		t.Errorf("the next may wait for %s again", left)
	}
	j.Hurry(time.Hour) // a hurry that has begun is not taken back
	if err := update(j, note("one more")); !errors.Is(err, journal.ErrHeld) {
		t.Errorf("a later one: %v", err)
	}
	given, _ := journal.LockWait(j)
	must(t, other.Unlock())
	<-given
	must(t, update(j, note("free")))
	must(t, update(j, ralph.TaskEnded{ID: "t-1", Status: ralph.TaskSkipped}))
	must(t, other.Lock())
	_ = j.Close()
}
