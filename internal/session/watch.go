package session

import (
	"context"
	"sync"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/forge"
)

// lastWatch bounds what is still done at the service at the end of a session: what does
// not work in that time is done by the next one.
const lastWatch = 10 * time.Second

// watch keeps issues, branches and pull requests alike here and at the service, beside the work.
// What it returns ends that, and does what is left to do, once. Where nothing goes out and comes
// in, nothing is opened; a spec that goes out all the same is looked after at the end.
func (x *Session) watch(ctx context.Context) (end func(), err error) {
	if x.Mode != "agent" && x.Mode != "autopilot" || x.DryRun {
		return func() {}, nil
	}
	run, stop := context.WithCancel(ctx)
	var done sync.WaitGroup
	var w *forge.Watcher
	if x.Config.Land.How != string(ralph.LandCommit) || len(x.Config.Inbox.Sources) > 0 || len(x.journal.State().Pulls) > 0 || len(x.journal.State().Tracked) > 0 {
		if w, err = x.Watcher(x.Env, x.journal); err != nil {
			stop()
			return nil, err
		}
		done.Go(func() { w.Run(run) })
	}
	return sync.OnceFunc(func() {
		stop()
		done.Wait()
		if x.atOnce || ctx.Err() != nil || w == nil && len(x.journal.State().Pulls) == 0 {
			return
		}
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWatch)
		defer cancel()
		var err error
		if w == nil {
			w, err = x.Watcher(x.Env, x.journal)
		}
		if err == nil && w.Wants(x.journal.State()) {
			err = w.Round(last)
		}
		if err != nil {
			x.console.Note("%v", err)
		}
	}), nil
}
