// Package outbox brings to trackers how the work on their items goes: each entry once, in the
// order of its item, also when the process is killed in the middle of sending one. What is to be
// sent, what was tried and what became of it are facts; this package makes them, and sends.
//
// It does NOT own how a service is spoken to (tracker), nor when one may be called (policy), nor
// the breakers' numbers (config).
package outbox

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/follow"
	"github.com/ralph-loop/ralph/internal/journal"
	"github.com/ralph-loop/ralph/internal/policy/breaker"
	"github.com/ralph-loop/ralph/internal/tracker"
)

// Service is how one tracker is reached and what it is told.
type Service struct {
	Client  func() (tracker.Client, error) // called when something is to be sent, once
	Breaker breaker.Config
	// Settle is how long what may have arrived can still be under way, or not be seen yet.
	Settle  time.Duration
	Mapping Mapping
}

// Options are what an outbox works with.
type Options struct {
	Journal  *journal.File
	Services map[ralph.Service]Service
	Every    int   // tasks between two updates of the status; 0: only at the end of a spec
	From     int64 // the fact after which one begins that was never there
	Places   tracker.Places
	// Items are what the head of a spec names as its items.
	Items func(spec string) []string
	Note  func(words string) // what a person should know
	// Steady is the time since the machine was started; nil: it is not known, and the clock has to do.
	Steady func() Steady
}

// Name is that of the outbox as a follower of the journal: one process has it at a time.
const Name = "sync"

// Outbox is at work from Start to Close.
type Outbox struct {
	x        Options
	follower *follow.Follower[want]
	cancel   context.CancelFunc
	done     sync.WaitGroup
	read     atomic.Int64 // the fact that was looked at last
	left     atomic.Int64 // wants that were made and are not in the journal yet
	changed  chan struct{}

	mu   sync.Mutex
	idle map[ralph.Service]int64 // the state at which nothing was to be sent now
}

// Start begins to send what waits, and to look for more. While another process does so it is
// refused with ralph.ErrActive.
func Start(x Options) (*Outbox, error) {
	if x.Steady == nil {
		x.Steady = func() Steady { return Steady{} }
	}
	o := &Outbox{x: x, idle: map[ralph.Service]int64{}, changed: make(chan struct{}, 1)}
	o.read.Store(-1)
	var err error
	o.follower, err = follow.Start(x.Journal, follow.Options[want]{
		Name: Name, From: x.From, Begin: func(s *ralph.State) { o.read.Store(s.Seq) }, See: o.see, Deliver: o.enter, Note: x.Note,
	})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	o.cancel = cancel
	for service, how := range x.Services {
		o.done.Go(func() { o.serve(ctx, service, how) })
	}
	return o, nil
}

// Close lets go out what can now, until ctx ends, and returns how many entries are left: they
// are in the journal, for the next start.
func (o *Outbox) Close(ctx context.Context) (left int) {
	o.Drain(ctx)
	o.follower.Close(ctx)
	o.Drain(ctx) // what it was told of last
	o.cancel()
	o.done.Wait()
	s := o.x.Journal.State()
	for service := range o.x.Services {
		waiting, _ := s.Waiting(service)
		left += waiting
	}
	return left
}

// Drain returns when nothing can be sent now, or ctx ends.
func (o *Outbox) Drain(ctx context.Context) {
	target := o.x.Journal.State().Seq
	for ctx.Err() == nil {
		s := o.x.Journal.State()
		if o.read.Load() >= target && o.left.Load() == 0 && o.allIdle(s.Seq) {
			return
		}
		select {
		case <-o.x.Journal.Moved(s.Seq):
		case <-o.changed:
		case <-time.After(20 * time.Millisecond): // what is read and not wanted tells nobody
		case <-ctx.Done():
		}
	}
}

func (o *Outbox) allIdle(seq int64) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	for service := range o.x.Services {
		if o.idle[service] != seq {
			return false
		}
	}
	return true
}

func (o *Outbox) rest(service ralph.Service, seq int64) {
	o.mu.Lock()
	o.idle[service] = seq
	o.mu.Unlock()
	select {
	case o.changed <- struct{}{}:
	default:
	}
}

// longestWait bounds a wait, so that a clock that was set is noticed.
const longestWait = 30 * time.Second

// serve sends to one service, one entry after the other.
func (o *Outbox) serve(ctx context.Context, service ralph.Service, how Service) {
	client := sync.OnceValues(how.Client)
	for ctx.Err() == nil {
		s := o.x.Journal.State()
		now := o.x.Journal.Now()
		r, p, at := NextPush(s, service, how.Settle, now, o.x.Steady())
		if p != nil && !at.After(now) {
			o.rest(service, 0)
			if err := o.send(ctx, service, how, client, r, p); err != nil && ctx.Err() == nil {
				o.note("%s: %v", service.Title(), err)
				pause(ctx, time.Second, nil) // the journal cannot be written
			}
			continue
		}
		o.rest(service, s.Seq)
		wait := longestWait
		if p != nil {
			wait = min(wait, at.Sub(now))
		}
		if moved := o.x.Journal.Moved(s.Seq); moved != nil {
			pause(ctx, wait, moved)
		}
	}
}

func pause(ctx context.Context, d time.Duration, moved <-chan struct{}) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-moved:
	case <-ctx.Done():
	}
}

func (o *Outbox) note(format string, args ...any) {
	if o.x.Note != nil {
		o.x.Note(fmt.Sprintf(format, args...))
	}
}

// record writes facts that decide makes of the newest state.
func (o *Outbox) record(decide func(*ralph.State) []ralph.Fact) error {
	return o.x.Journal.Update(context.Background(), Name, func(s *ralph.State) ([]ralph.Fact, error) { return decide(s), nil })
}
