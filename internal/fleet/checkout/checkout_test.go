package checkout

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
)

// A newer step for a worktree ends the one in it, and waits until it has left.
func TestNewerStepEndsTheOther(t *testing.T) {
	t.Parallel()
	var w Worktrees
	first, leave, err := w.Enter(t.Context(), "1")
	if err != nil {
		t.Fatal(err)
	}
	if _, other, err := w.Enter(t.Context(), "2"); err != nil {
		t.Fatal(err)
	} else {
		other()
	}
	go func() {
		<-first.Done()
		leave()
	}()
	_, leave, err = w.Enter(t.Context(), "1")
	if err != nil || !errors.Is(context.Cause(first), ErrNewer) {
		t.Errorf("%v; the one before ended with %v", err, context.Cause(first))
	}
	leave()
}

func TestSessionsAreAtHome(t *testing.T) {
	t.Parallel()
	s := Sessions(filepath.Join(t.TempDir(), "sessions"))
	if err := errors.Join(s.Keep(""), s.Keep("a")); err != nil || !s.Has("a") || s.Has("b") || s.Has("") {
		t.Errorf("%v, %v, %v, %v", err, s.Has("a"), s.Has("b"), s.Has(""))
	}
}
