// Package notify brings to people what happens while they are elsewhere: sounds,
// desktop notifications, webhooks. It owns which event is worth a notice, what the
// notice says, how notices are grouped, and how they get out, within limits. It does
// not own what happens (facts do), nor how far each sink has been told of it (a
// follower of the journal does), nor the names of events and sounds (the root package),
// nor the settings.
package notify

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
)

const (
	// Burst is how long a notice waits for others to go out with.
	Burst = 2 * time.Second
	// sendLimit is the time that one try may take: a little more than services of
	// the library give themselves, so that they say what was wrong.
	sendLimit = 12 * time.Second
	// maxTogether bounds the notices of one message.
	maxTogether = 100
	// saidAfter is how many tries fail before that is a fact.
	saidAfter = 3
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

// Dispatcher has the ways to people that are wanted and possible here.
type Dispatcher struct {
	Sounds  *Sounds   // nil: none
	Letters []*Letter // that get messages
}

// Start is called before the first event. failed is called, from other goroutines, when a sink
// does not take a notice: once, until the sink works again. open says whether a gate still
// waits for a person.
func (c *Dispatcher) Start(failed func(ralph.NoticeFailed), open func(ralph.ApprovalID) bool) {
	if c.Sounds != nil {
		c.Sounds.start(failed)
	}
	for _, l := range c.Letters {
		l.failed, l.open = failed, open
	}
}

// Letter is what is written to one sink, by a follower of the journal: what cannot be sent
// waits there.
type Letter struct {
	sink       Sink
	repository string
	now        func() time.Time
	failed     func(ralph.NoticeFailed)
	open       func(ralph.ApprovalID) bool

	told   map[string]bool // needs, so that each is told once
	tries  int             // that failed, one after the other
	broken bool            // that was said
}

func newLetter(sink Sink, repository string) *Letter {
	return &Letter{sink: sink, repository: repository, now: time.Now, told: map[string]bool{}}
}

// Name is that of the follower: the sink's, as a file may be called.
func (l *Letter) Name() string {
	return LetterPrefix + strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' {
			return r
		}
		return '-'
	}, l.sink.Name())
}

// LetterPrefix begins the names of all of them.
const LetterPrefix = "notice-"

// See is what an event tells, with the state after it.
func (l *Letter) See(e ralph.Event, s *ralph.State) []Notice {
	var list []Notice
	for _, n := range Notices(e, s) {
		if n.Heard || l.told[n.Key] {
			continue
		}
		if n.Urgency == Needs {
			l.told[n.Key] = true
		}
		list = append(list, n)
	}
	return list
}

// Deliver sends what waits as one message. What the sink refuses for good is told as a fact
// and is done with; all else that fails is to be tried again.
func (l *Letter) Deliver(ctx context.Context, waiting []Notice) (done int, err error) {
	waiting = waiting[:min(len(waiting), maxTogether)]
	list := l.left(waiting)
	if len(list) == 0 {
		return len(waiting), nil
	}
	err = send(ctx, l.sink, together(list, l.repository))
	var never permanent
	switch {
	case err == nil:
		l.tries, l.broken = 0, false
		return len(waiting), nil
	case errors.As(err, &never):
		l.say(err)
		return len(waiting), nil
	case ctx.Err() != nil:
		return 0, err
	}
	if l.tries++; l.tries >= saidAfter {
		l.say(err)
	}
	return 0, err
}

// Left tells of what could not be sent before the end.
func (l *Letter) Left() {
	l.say(errors.New("not all could be sent before the end; the next start sends what is left"))
}

func (l *Letter) say(err error) {
	if !l.broken {
		l.failed(ralph.NoticeFailed{Sink: l.sink.Name(), Error: err.Error()})
	}
	l.broken = true
}

// left are those notices that a person still has to hear of: a question that was answered
// meanwhile, or that nobody waits for any more, needs nobody. What is old says when it was.
func (l *Letter) left(waiting []Notice) []Notice {
	var list []Notice
	for _, n := range waiting {
		if id, isGate := strings.CutPrefix(n.Key, gateKey("")); isGate && !l.open(ralph.ApprovalID(id)) {
			continue
		}
		list = append(list, late(n, l.now()))
	}
	return list
}

// lateAfter is how old a notice may be that does not say when it was.
const lateAfter = 10 * time.Minute

// late is a notice that says when it was, if that was a while ago.
func late(n Notice, now time.Time) Notice {
	switch age := now.Sub(n.At); {
	case age > 12*time.Hour:
		n.Body = fmt.Sprintf("%s [%s]", n.Body, n.At.UTC().Format("2006-01-02 15:04 MST"))
	case age > lateAfter:
		n.Body = fmt.Sprintf("%s [%s]", n.Body, clock(n.At))
	}
	return n
}

// send is one try, within its limit.
func send(ctx context.Context, sink Sink, m Message) error {
	ctx, cancel := context.WithTimeout(ctx, sendLimit)
	defer cancel()
	return sink.Send(ctx, m)
}
