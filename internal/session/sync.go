package session

import (
	"context"
	"errors"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/bootstrap"
	"github.com/ralph-loop/ralph/internal/follow"
	"github.com/ralph-loop/ralph/internal/outbox"
	"github.com/ralph-loop/ralph/internal/text"
)

const (
	// syncLimit is how long the end of a session waits for what goes to trackers: the
	// state is saved by then, what is left goes out at the next start, and the exit code is
	// the same.
	syncLimit = 10 * time.Second
	// syncForced is the same for an end at once: a person waits for it.
	syncForced = 300 * time.Millisecond
)

// startSync begins to send to trackers what waits and what comes.
func (x *Session) startSync() error {
	t := bootstrap.Trackers{Env: x.Env, Root: x.Root, Config: x.Config, Procs: x.Procs}
	o := t.Outbox()
	if len(o.Services) == 0 || x.DryRun {
		return follow.Forget(x.journal, func(name string) bool { return name != outbox.Name || x.DryRun })
	}
	o.Journal, o.From = x.journal, x.journal.State().Seq
	o.Note = func(words string) { x.console.Note("sync: %s", words) }
	var err error
	x.outbox, err = outbox.Start(o)
	if errors.Is(err, ralph.ErrActive) { // `ralph sync`, or what is left of an engine whose lock was taken away
		x.console.Note("nothing is sent to trackers: %v", err)
		return nil
	}
	return err
}

// endSync lets go out what can. The second call finds nothing to do.
func (x *Session) endSync(ctx context.Context) {
	o := x.outbox
	x.outbox = nil
	if o == nil {
		return
	}
	limit := syncLimit
	if x.atOnce {
		limit = syncForced
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	if left := o.Close(ctx); left > 0 {
		x.console.Note("sync: %s for trackers wait for the next start, or `ralph sync` (`ralph breaker list` says why)", text.Count(left, "entry"))
	}
}
