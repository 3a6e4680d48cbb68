package session

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/ralph-loop/ralph/internal/git/anchor"
	"github.com/ralph-loop/ralph/internal/verify"
)

const (
	// anchorLimit is how long the anchor may take: a key may want a person who is not there.
	anchorLimit = 20 * time.Second
	// anchorForced is the same for an end at once, where no key is asked for: a person waits.
	anchorForced = time.Second
)

// anchor tells git how far the journal has come. The work is done: what fails is told.
// Who has ended the session at once is asked for no key, and Ctrl+C ends the asking.
func (x *Session) anchor(ctx context.Context) {
	s := x.journal.State()
	if s.Journal == "" {
		return
	}
	ctx, abort := context.WithCancelCause(context.WithoutCancel(ctx))
	defer abort(nil)
	limit, sign := anchorLimit, x.Config.Commit.Anchors == "signed"
	if x.atOnce {
		limit = anchorForced
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, forced{})
	defer cancel()
	defer abortOn(abort)()
	long := time.AfterFunc(2*time.Second, func() { x.console.Note("waiting for the key that signs the journal's anchor (Ctrl+C leaves it out)") })
	defer long.Stop()
	a := anchor.Anchor{Journal: s.Journal, Checkout: verify.CheckoutName(x.Root), Seq: s.Seq, Hash: s.Hash}
	_, err := anchor.Make(ctx, x.Repo, a, sign && !x.atOnce)
	switch {
	case err != nil && errors.Is(ctx.Err(), context.Canceled):
		x.console.Note("the anchor of the journal was left out: stopped at once (the work is done; what the end of the journal says is not held by git until the next session ends)")
	case err != nil:
		x.console.Note("%v (the work is done; what the end of the journal says is not held by git until the next session ends)", err)
	case sign && x.atOnce:
		x.console.Note("the anchor of the journal is not signed: stopped at once (the next session's end signs one on top of it)")
	}
}

// abortOn ends what takes an abort with the first signal, until what it returns is called.
func abortOn(abort context.CancelCauseFunc) func() {
	ch, done := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(ch, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		select {
		case <-ch:
			abort(forced{})
		case <-done:
		}
	}()
	return func() {
		signal.Stop(ch)
		close(done)
	}
}
