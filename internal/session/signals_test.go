package session

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/gofrs/flock"
	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/console"
	"github.com/ralph-loop/ralph/internal/journal"
	"github.com/ralph-loop/ralph/internal/workspace"
)

// While another process holds the journal's lock, as `ralph task cleanup` does for as long as a folder
// takes to remove, the second Ctrl+C is heard; what the first wanted is written when the lock is free
// (D-051).
func TestSecondSignalBesideALockedJournal(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	j, err := journal.Open(journal.Options{Root: dir, NewID: workspace.NewID})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
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
	defer x.console.Close()
	ch, ended := make(chan os.Signal), make(chan struct{})
	ctx, force := context.WithCancelCause(t.Context())
	defer force(nil)
	go func() {
		defer close(ended)
		x.hearSignals(ch, nil, force)
	}()
	ch <- os.Interrupt
	ch <- syscall.SIGHUP // heard as well, and no end yet
	if ctx.Err() != nil {
		t.Error("the first Ctrl+C ends it at once")
	}
	ch <- os.Interrupt
	<-ctx.Done()
	if end, ok := errors.AsType[forced](context.Cause(ctx)); !ok || end.by != "Ctrl+C twice" {
		t.Errorf("ended for %v", context.Cause(ctx))
	}
	if err := other.Unlock(); err != nil {
		t.Fatal(err)
	}
	<-ended
	if s := j.State(); s.Session.Want != ralph.WantStop {
		t.Errorf("the session shall %v", s.Session.Want)
	}
}
