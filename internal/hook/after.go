package hook

import (
	"context"
	"time"

	"github.com/ralph-loop/ralph"
)

// behind is how many calls wait when a person is told that hooks are slower than the work.
const behind = 100

// After runs the hooks after events, for a follower of the journal: one at a time, in order,
// beside the engine. A hook that fails is a fact; one that works leaves none, so that the
// journal does not grow by hooks.
type After struct {
	run    func(context.Context, Call) (ralph.HookRan, error)
	record func(ralph.Fact) error
	said   func(hook, words string)
	late   func(calls int)
	told   bool // late was called, and the calls have not been caught up with since
}

// NewAfter returns the hooks after events. record writes a fact into the journal; said is given
// the last line that a hook printed, late how many calls wait when they pile up.
func NewAfter(r *Runner, record func(ralph.Fact) error, said func(hook, words string), late func(calls int)) *After {
	return &After{run: r.run, record: record, said: said, late: late}
}

// Follows reports whether a set has hooks after events.
func (s Set) Follows() bool {
	pre := 0
	for _, name := range PreHooks() {
		if _, there := s.find(name); there {
			pre++
		}
	}
	return len(s.Hooks) > pre
}

// over is the cause of the end of a hook that still ran when the engine ended.
type over struct{}

func (over) Error() string        { return "the engine has ended" }
func (over) Grace() time.Duration { return 300 * time.Millisecond }

// Deliver runs the first call that waits. One that fails has been made; one that the end of
// the engine cut short has not. An error of record is the journal's: the engine meets it too.
func (a *After) Deliver(ctx context.Context, waiting []Call) (done int, err error) {
	switch n := len(waiting); {
	case n >= behind && !a.told:
		a.told = true
		a.late(n)
	case n == 1:
		a.told = false
	}
	c := waiting[0]
	running, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	defer context.AfterFunc(ctx, func() { cancel(over{}) })()
	ran, err := a.run(running, c)
	if err != nil {
		ran.Error = "it was ended with the engine; the next start runs it again"
		_ = a.record(ran)
		return 0, err
	}
	if ran.Error != "" {
		_ = a.record(ran)
	} else if words := lastLine(ran.Output); words != "" {
		a.said(c.Hook.Name, words)
	}
	return 1, nil
}
