package hook

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/ralph-loop/ralph"
)

// mostWaiting bounds the calls that wait: hooks that are slower than the engine
// must not fill the memory.
const mostWaiting = 1000

// Queue runs hooks after events: one at a time, in order, beside the engine. A hook
// that fails is a fact; one that works leaves none, so that the journal does not
// grow by hooks.
type Queue struct {
	run    func(context.Context, Call) (ralph.HookRan, error)
	record func(ralph.Fact) error
	said   func(hook, words string)

	ctx    context.Context
	cancel context.CancelCauseFunc
	done   chan struct{} // closed when the worker has ended

	mu      sync.Mutex
	wake    chan struct{} // one token when there is something to look at
	waiting []Call
	lost    int    // calls that found no room since the newest report of that
	lostAt  string // the hook of the first of them
	closed  bool
}

// NewQueue starts a queue. record writes a fact into the journal; said, which may be
// nil, is given the last line that a hook printed.
func NewQueue(r *Runner, record func(ralph.Fact) error, said func(hook, words string)) *Queue {
	return newQueue(r.run, record, said)
}

func newQueue(run func(context.Context, Call) (ralph.HookRan, error), record func(ralph.Fact) error, said func(hook, words string)) *Queue {
	q := &Queue{run: run, record: record, said: said, done: make(chan struct{}), wake: make(chan struct{}, 1)}
	q.ctx, q.cancel = context.WithCancelCause(context.Background())
	go q.work()
	return q
}

// Add queues a call. It never blocks: without room, or after Close, the call is lost,
// and how many were is recorded.
func (q *Queue) Add(c Call) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed || len(q.waiting) >= mostWaiting {
		q.lose(c)
		return
	}
	q.waiting = append(q.waiting, c)
	q.poke()
}

// lose counts a call that will not be made. Called with mu held.
func (q *Queue) lose(c Call) {
	if q.lost == 0 {
		q.lostAt = c.Hook.Name
	}
	q.lost++
}

func (q *Queue) poke() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// over is the cause of the end of a hook that still ran when the engine ended.
type over struct{}

func (over) Error() string        { return "the engine has ended" }
func (over) Grace() time.Duration { return 300 * time.Millisecond }

// Close lets the calls that wait be made until ctx ends; what is left then is ended or
// lost, which is recorded. Nothing of the queue runs after it.
func (q *Queue) Close(ctx context.Context) {
	q.mu.Lock()
	q.closed = true
	q.poke()
	q.mu.Unlock()
	select {
	case <-q.done:
	case <-ctx.Done():
		q.cancel(over{})
		<-q.done
	}
	q.cancel(over{})
}

// next takes a call; ok is false when there is none, ended when there will be none.
func (q *Queue) next() (c Call, ok, ended bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.ctx.Err() != nil {
		for _, c := range q.waiting {
			q.lose(c)
		}
		q.waiting = nil
	}
	if len(q.waiting) == 0 {
		return c, false, q.closed
	}
	c = q.waiting[0]
	q.waiting = q.waiting[1:]
	return c, true, false
}

func (q *Queue) work() {
	defer close(q.done)
	for {
		c, ok, ended := q.next()
		switch {
		case ended:
			q.tellLost()
			return
		case !ok:
			q.tellLost()
			<-q.wake
			continue
		}
		q.call(c)
	}
}

// call runs one hook. An error of record is the journal's: the engine meets it too.
func (q *Queue) call(c Call) {
	ran, err := q.run(q.ctx, c)
	if err != nil {
		ran.Error = "it was ended with the engine"
	}
	if ran.Error != "" {
		_ = q.record(ran)
		return
	}
	if words := lastLine(ran.Output); words != "" && q.said != nil {
		q.said(c.Hook.Name, words)
	}
}

// tellLost records how many calls were lost.
func (q *Queue) tellLost() {
	q.mu.Lock()
	n, first := q.lost, q.lostAt
	q.lost = 0
	why := "hooks take longer than the work itself"
	if q.closed {
		why = "the engine has ended"
	}
	q.mu.Unlock()
	if n > 0 {
		_ = q.record(ralph.HookRan{Hook: first, Exit: -1, Error: fmt.Sprintf("calls of hooks left out, this one first: %d (%s)", n, why)})
	}
}
