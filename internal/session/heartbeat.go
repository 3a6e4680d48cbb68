package session

import (
	"context"
	"errors"
	"time"

	"github.com/ralph-loop/ralph"
)

const (
	// beatEvery is how often the session lock gets a sign of life (it is stale after 30 min).
	beatEvery = time.Minute
	// lookEvery is how soon an engine on a machine that slept learns that another one
	// took over: its agents must not work on for long.
	lookEvery = 5 * time.Second
)

// heldLock is the session lock, as far as its sign of life goes.
type heldLock interface {
	Held() error
	Beat(now time.Time) error
}

// heartbeat keeps the lock's heartbeat fresh until ctx ends, whatever the engine does
// meanwhile. Timers stand still while the machine sleeps, so the clock is asked. A
// lock that is lost ends everything at once, agents as well; a heartbeat that cannot
// be written is tried again, and told once.
func heartbeat(ctx context.Context, lock heldLock, lost context.CancelCauseFunc, tell func(format string, args ...any)) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	last, told := time.Now().Round(0), false
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now := time.Now().Round(0)
		err := lock.Held()
		if due := now.Sub(last) >= beatEvery || now.Before(last); err == nil && due {
			if err = lock.Beat(now); err == nil {
				last, told = now, false
			}
		}
		switch {
		case err == nil:
		case errors.Is(err, ralph.ErrLocked):
			lost(err)
			return
		case !told:
			told = true
			tell("the lock's sign of life could not be written: %v; ralph tries again every %s", err, lookEvery)
		}
	}
}
