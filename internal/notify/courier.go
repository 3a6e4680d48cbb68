// Package notify brings to people what happens while they are elsewhere: sounds,
// desktop notifications, webhooks. It owns which event is worth a notice, what the
// notice says, how notices are grouped, and how they get out: in the background, in
// order, within limits. It does not own what happens (facts do), nor the names of
// events and sounds (the root package), nor the settings.
package notify

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ralph-loop/ralph"
)

const (
	// burst is how long a notice waits for others to go out with.
	burst = 2 * time.Second
	// mostQueued bounds what waits for one sink; needs are kept beyond it.
	mostQueued = 64
	// sendLimit is the time that one try may take: a little more than services of
	// the library give themselves, so that they say what was wrong.
	sendLimit = 12 * time.Second
)

// Sink is a way to a person. Send is called from one goroutine, in order, and
// returns when ctx is done. Its errors hold no secrets.
type Sink interface {
	Name() string
	Send(ctx context.Context, m Message) error
}

// permanent is an error that another try does not mend.
type permanent struct{ error }

func (e permanent) Unwrap() error { return e.error }

// Courier takes notices and brings them to the sinks. Tell never waits.
type Courier struct {
	repository string
	events     map[string]ralph.Sound // that the settings give, by the event's own name
	sound      *line                  // nil: none
	lines      []*line                // that get messages

	ctx    context.Context //nolint:containedctx // the life of the goroutines, between Start and Close
	cancel context.CancelFunc
	ended  sync.WaitGroup

	mu      sync.Mutex
	pending []Notice // of the burst that goes on
	timer   *time.Timer
	told    map[string]bool // needs, so that each is told once
	closed  bool
}

// Start begins to deliver. failed is called, from other goroutines, when a sink
// does not take a notice: once, until the sink works again.
func (c *Courier) Start(failed func(ralph.NoticeFailed)) {
	c.ctx, c.cancel = context.WithCancel(context.Background())
	c.told = map[string]bool{}
	for _, l := range c.all() {
		c.ended.Go(func() { l.run(c.ctx, failed) })
	}
}

func (c *Courier) all() []*line {
	if c.sound == nil {
		return c.lines
	}
	return append([]*line{c.sound}, c.lines...)
}

// See takes an event with the state after it.
func (c *Courier) See(e ralph.Event, s *ralph.State) {
	if len(c.all()) == 0 {
		return
	}
	notices, met := Notices(e, s), Met(e)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	if met != "" {
		c.withdraw(met)
	}
	for _, n := range notices {
		c.tell(n)
	}
}

// tell hands the sound on at once and the words with those of the same burst.
func (c *Courier) tell(n Notice) {
	if n.Urgency == Needs {
		if c.told[n.Key] {
			return
		}
		c.told[n.Key] = true
	}
	if sound := c.soundOf(n); sound != "" && c.sound != nil {
		c.sound.push(Message{Sound: sound, Urgency: n.Urgency})
	}
	if n.Heard || len(c.lines) == 0 {
		return
	}
	c.pending = append(c.pending, n)
	if c.timer == nil {
		c.timer = time.AfterFunc(burst, func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.gather()
		})
	}
}

// withdraw takes back a need that was met before it went out.
func (c *Courier) withdraw(key string) {
	for i, n := range c.pending {
		if n.Key == key {
			c.pending = append(c.pending[:i:i], c.pending[i+1:]...)
			return
		}
	}
}

// gather ends a burst. Called with mu held.
func (c *Courier) gather() {
	if c.timer != nil {
		c.timer.Stop()
		c.timer = nil
	}
	if len(c.pending) == 0 {
		return
	}
	m := together(c.pending, c.repository)
	c.pending = nil
	for _, l := range c.lines {
		l.push(m)
	}
}

// soundOf is the sound of a notice: what the settings say of its event, else its own.
func (c *Courier) soundOf(n Notice) ralph.Sound {
	if sound, ok := c.events[n.Event]; ok {
		return sound
	}
	return n.Sound
}

// Close delivers what is left, for at most the limit, and ends the goroutines.
func (c *Courier) Close(limit time.Duration) {
	c.mu.Lock()
	if c.closed || c.cancel == nil {
		c.mu.Unlock()
		return
	}
	c.closed = true
	c.gather()
	c.mu.Unlock()
	for _, l := range c.all() {
		l.close()
	}
	timer := time.AfterFunc(limit, c.cancel)
	c.ended.Wait()
	timer.Stop()
	c.cancel()
}

// line is the queue before one sink.
type line struct {
	sink  Sink
	waits []time.Duration // before each further try
	most  int

	mu     sync.Mutex
	queue  []Message
	closed bool
	wake   chan struct{}

	broken bool // the last message did not arrive, and that was said; used by run alone
}

func newLine(sink Sink, most int, waits ...time.Duration) *line {
	return &line{sink: sink, most: most, waits: waits, wake: make(chan struct{}, 1)}
}

// push queues a message; where there are too many, the oldest goes that needs
// nobody, news before trouble.
func (l *line) push(m Message) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.queue = append(l.queue, m)
	if len(l.queue) > l.most {
		l.drop()
	}
	l.poke()
}

func (l *line) drop() {
	for _, u := range []Urgency{Info, Trouble} {
		for i, m := range l.queue {
			if m.Urgency == u {
				l.queue = append(l.queue[:i:i], l.queue[i+1:]...)
				return
			}
		}
	}
}

func (l *line) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.poke()
}

func (l *line) poke() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// next waits for a message; ok is false when there will be none.
func (l *line) next(ctx context.Context) (m Message, ok bool) {
	for {
		l.mu.Lock()
		if ctx.Err() == nil && len(l.queue) > 0 {
			m, l.queue = l.queue[0], l.queue[1:]
			l.mu.Unlock()
			return m, true
		}
		closed := l.closed
		l.mu.Unlock()
		if closed || ctx.Err() != nil {
			return Message{}, false
		}
		select {
		case <-l.wake:
		case <-ctx.Done():
		}
	}
}

func (l *line) run(ctx context.Context, failed func(ralph.NoticeFailed)) {
	say := func(err error) {
		if !l.broken {
			failed(ralph.NoticeFailed{Sink: l.sink.Name(), Error: err.Error()})
		}
		l.broken = true
	}
	for {
		m, ok := l.next(ctx)
		if !ok {
			break
		}
		if err := l.deliver(ctx, m); err != nil {
			say(err)
		} else {
			l.broken = false
		}
	}
	l.mu.Lock()
	left := len(l.queue)
	l.mu.Unlock()
	if left > 0 {
		say(fmt.Errorf("%d more could not be sent before the end", left))
	}
}

// deliver tries, waits and tries again. A sink that is known to be broken gets one
// try for each message: the messages behind it shall not wait for nothing.
func (l *line) deliver(ctx context.Context, m Message) error {
	for try := 0; ; try++ {
		err := send(ctx, l.sink, m)
		if err != nil && ctx.Err() != nil {
			return errors.New("a notice could not be sent before the end")
		}
		var never permanent
		if err == nil || l.broken || try == len(l.waits) || errors.As(err, &never) {
			return err
		}
		wait := time.NewTimer(l.waits[try])
		select {
		case <-wait.C:
		case <-ctx.Done():
			wait.Stop()
			return fmt.Errorf("%w (no time was left for another try)", err)
		}
	}
}

// send is one try, within its limit.
func send(ctx context.Context, sink Sink, m Message) error {
	ctx, cancel := context.WithTimeout(ctx, sendLimit)
	defer cancel()
	return sink.Send(ctx, m)
}
