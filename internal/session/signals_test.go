package session

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/gofrs/flock"
	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/console"
	"github.com/ralph-loop/ralph/internal/journal"
	"github.com/ralph-loop/ralph/internal/workspace"
)

// besideALock is a session whose journal's lock another process holds, as `ralph task cleanup` does for as long as a
// folder takes to remove.
func besideALock(t *testing.T) (*Session, *flock.Flock) {
	t.Helper()
	dir := t.TempDir()
	j, err := journal.Open(journal.Options{Root: dir, NewID: workspace.NewID})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() })
	if err := j.Update(t.Context(), "test", func(*ralph.State) ([]ralph.Fact, error) {
		return []ralph.Fact{ralph.SessionStarted{ID: "s-1", Mode: "agent"}}, nil
	}); err != nil {
		t.Fatal(err)
	}
	other := flock.New(filepath.Join(dir, "ralph/.state/journal.lock"))
	if err := other.Lock(); err != nil {
		t.Fatal(err)
	}
	x := &Session{console: console.New(workspace.Env{Dir: dir, Stdout: t.Output(), Stderr: t.Output()}), journal: j}
	t.Cleanup(x.console.Close)
	return x, other
}

// hears has a session hear signals; ended is closed when it hears no more.
func hears(t *testing.T, x *Session) (ctx context.Context, signals chan<- os.Signal, done chan<- struct{}, ended <-chan struct{}) {
	t.Helper()
	ch, over, end := make(chan os.Signal), make(chan struct{}), make(chan struct{})
	ctx, force := context.WithCancelCause(t.Context())
	t.Cleanup(func() { force(nil) })
	go func() {
		defer close(end)
		x.hearSignals(ctx, ch, over, force)
	}()
	return ctx, ch, over, end
}

// The second Ctrl+C is heard while another process holds the journal's lock, and what the first wanted is given up:
// nobody waits for that process (D-051, D-112).
func TestSecondSignalBesideALockedJournal(t *testing.T) {
	t.Parallel()
	x, other := besideALock(t)
	ctx, signals, _, ended := hears(t, x)
	signals <- os.Interrupt
	signals <- syscall.SIGHUP // heard as well, and no end yet
	if ctx.Err() != nil {
		t.Error("the first Ctrl+C ends it at once")
	}
	signals <- os.Interrupt
	<-ctx.Done()
	if end, ok := errors.AsType[forced](context.Cause(ctx)); !ok || end.by != "Ctrl+C twice" {
		t.Errorf("ended for %v", context.Cause(ctx))
	}
	<-ended // with the lock still held
	if err := other.Unlock(); err != nil {
		t.Fatal(err)
	}
	if s := x.journal.State(); s.Session.Want != ralph.WantRun {
		t.Errorf("the session shall %v", s.Session.Want)
	}
}

// What the first Ctrl+C wants is written when the lock is free; the end of the session does not wait for that.
func TestSignalBesideALockedJournal(t *testing.T) {
	t.Parallel()
	x, other := besideALock(t)
	_, signals, done, ended := hears(t, x)
	signals <- os.Interrupt
	if err := other.Unlock(); err != nil {
		t.Fatal(err)
	}
	if err := x.journal.Wait(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if s := x.journal.State(); s.Session.Want != ralph.WantStop {
		t.Errorf("the session shall %v", s.Session.Want)
	}
	close(done)
	<-ended

	x, _ = besideALock(t)
	_, signals, done, ended = hears(t, x)
	signals <- os.Interrupt
	close(done)
	<-ended
}

// Who presses Ctrl+C twice waits for nobody; `ralph stop --now` may itself have the lock for a moment yet, and the
// session has to hear that it was its word (D-112).
func TestLastWords(t *testing.T) {
	t.Parallel()
	for cause, want := range map[error]time.Duration{
		forced{"Ctrl+C twice"}: lastWords, forced{"SIGTERM"}: lastWords, forced{}: lastWordsElsewhere, ralph.ErrLocked: lastWordsElsewhere,
	} {
		if got := lastWordsOf(cause); got != want {
			t.Errorf("%v: %s, want %s", cause, got, want)
		}
	}
	if lastWords+(forced{}).Grace() > 700*time.Millisecond {
		t.Error("an end at once takes more than a second")
	}
}
