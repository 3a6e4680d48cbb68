package notify

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/notice"
)

// Sounds are heard when something happens, or never: they do not wait for the next start as
// messages do. See never waits; one goroutine plays what is queued.
type Sounds struct {
	sink   Sink
	events map[string]notice.Sound // that the settings give, by the event's own name
	most   int                     // that may wait

	ctx    context.Context //nolint:containedctx // the life of the goroutine, between start and Close
	cancel context.CancelFunc
	ended  sync.WaitGroup

	mu     sync.Mutex
	told   map[string]bool // needs, so that each is heard once
	queue  []Message
	closed bool
	wake   chan struct{}

	broken bool // the last one was not played, and that was said; used by run alone
}

func newSounds(sink Sink, events map[string]notice.Sound) *Sounds {
	return &Sounds{sink: sink, events: events, most: maxSounds, told: map[string]bool{}, wake: make(chan struct{}, 1)}
}

func (x *Sounds) start(failed func(ralph.NoticeFailed)) {
	x.ctx, x.cancel = context.WithCancel(context.Background())
	x.ended.Go(func() { x.run(failed) })
}

// See takes an event with the state after it.
func (x *Sounds) See(e ralph.Event, s *ralph.State) {
	for _, n := range Notices(e, s) {
		sound, set := x.events[n.Event]
		if !set {
			sound = n.Sound
		}
		x.push(n.Key, Message{Sound: sound, Urgency: n.Urgency})
	}
}

// push queues a sound; where there are too many, the oldest goes that needs nobody, news
// before trouble.
func (x *Sounds) push(key string, m Message) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed || m.Urgency == Needs && x.told[key] {
		return
	}
	if m.Urgency == Needs {
		x.told[key] = true
	}
	if m.Sound == "" {
		return
	}
	x.queue = append(x.queue, m)
	if len(x.queue) > x.most {
		x.drop()
	}
	x.poke()
}

func (x *Sounds) drop() {
	for _, u := range []Urgency{Info, Trouble} {
		for i, m := range x.queue {
			if m.Urgency == u {
				x.queue = append(x.queue[:i:i], x.queue[i+1:]...)
				return
			}
		}
	}
}

func (x *Sounds) poke() {
	select {
	case x.wake <- struct{}{}:
	default:
	}
}

// Close plays what is left, for at most the limit, and ends the goroutine.
func (x *Sounds) Close(limit time.Duration) {
	x.mu.Lock()
	if x.closed || x.cancel == nil {
		x.mu.Unlock()
		return
	}
	x.closed = true
	x.poke()
	x.mu.Unlock()
	timer := time.AfterFunc(limit, x.cancel)
	x.ended.Wait()
	timer.Stop()
	x.cancel()
}

// next waits for a sound; ok is false when there will be none.
func (x *Sounds) next() (m Message, ok bool) {
	for {
		x.mu.Lock()
		if x.ctx.Err() == nil && len(x.queue) > 0 {
			m, x.queue = x.queue[0], x.queue[1:]
			x.mu.Unlock()
			return m, true
		}
		closed := x.closed
		x.mu.Unlock()
		if closed || x.ctx.Err() != nil {
			return Message{}, false
		}
		select {
		case <-x.wake:
		case <-x.ctx.Done():
		}
	}
}

func (x *Sounds) run(failed func(ralph.NoticeFailed)) {
	say := func(err error) {
		if !x.broken {
			failed(ralph.NoticeFailed{Sink: x.sink.Name(), Error: err.Error()})
		}
		x.broken = true
	}
	for {
		m, ok := x.next()
		if !ok {
			break
		}
		if err := send(x.ctx, x.sink, m); err != nil {
			say(err)
		} else {
			x.broken = false
		}
	}
	x.mu.Lock()
	left := len(x.queue)
	x.mu.Unlock()
	if left > 0 {
		say(fmt.Errorf("%d more could not be played before the end", left))
	}
}
