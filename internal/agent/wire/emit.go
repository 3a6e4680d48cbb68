package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/ralph-loop/ralph"
)

const (
	MaxDetail = 64 << 10 // of Request.Detail, in bytes
	MaxRaw    = 4 << 10  // of StreamEvent.Raw, in bytes
	MaxAsks   = 100      // requests of one turn that wait for an answer at once
)

// KeptRaw is an unknown event as it is kept: a long one, and one that is no JSON, is
// a JSON string of its beginning.
func KeptRaw(line []byte) json.RawMessage {
	if len(line) <= MaxRaw && json.Valid(line) {
		return slices.Clone(line)
	}
	cut, _ := json.Marshal(Valid(line[:min(len(line), MaxRaw/2)])) // a string always encodes
	return cut
}

// Emit passes an event of the normalised stream on. It is called under the turn's lock.
func (t *Turn) Emit(e ralph.StreamEvent) {
	t.Event(e)
	if e.Kind == ralph.StreamUsage && e.Context.Used > 0 {
		t.Context(e.Context)
	}
}

// Print passes on what is printed beside any protocol: a line, or with more a piece of
// one. It is called under the turn's lock.
func (t *Turn) Print(text string, more bool) {
	t.Emit(ralph.StreamEvent{Kind: ralph.StreamOutput, Delta: text, More: more})
}

// PrintError is Print of stderr.
func (t *Turn) PrintError(text string, more bool) {
	t.Emit(ralph.StreamEvent{Kind: ralph.StreamOutput, Delta: text, More: more, Stderr: true})
}

// Asking is the part of a turn that waits for answers: the turn's time limit stands
// still while any ask is open.
type Asking struct {
	Ask     func(context.Context, ralph.Request) (ralph.Reply, error)
	expired func() // the time limit is reached

	mu     sync.Mutex
	open   int
	since  time.Time // when the first of the open asks began
	waited time.Duration
	left   time.Duration // of the limit, when the timer was last set
	set    time.Time
	timer  *time.Timer // nil: no limit
}

// Tell hands the clock on to who asks beside the driver (TurnHooks.Asking).
func (a *Asking) Tell(on ralph.TurnHooks) *Asking {
	if on.Asking != nil {
		on.Asking(a.Answer)
	}
	return a
}

// NewAsking starts the clock of a turn. A limit of 0 is none.
func NewAsking(ask func(context.Context, ralph.Request) (ralph.Reply, error), limit time.Duration, expired func()) *Asking {
	a := &Asking{Ask: ask, expired: expired, left: limit, set: time.Now()}
	if limit > 0 {
		a.timer = time.AfterFunc(limit, expired)
	}
	return a
}

// Answer waits for an answer to q. Without anybody to ask it is a denial. An error is
// one of the machinery, or ctx's.
func (a *Asking) Answer(ctx context.Context, q ralph.Request) (ralph.Reply, error) {
	if a.Ask == nil {
		return ralph.Reply{Text: "nobody can be asked: do without it, or end your turn and say what you need"}, nil
	}
	if !a.begin() {
		return ralph.Reply{Text: fmt.Sprintf("%d questions are open already: wait for their answers", MaxAsks)}, nil
	}
	defer a.end()
	r, err := a.Ask(ctx, q)
	if err != nil && !errors.Is(err, context.Canceled) {
		return r, fmt.Errorf("ask about %s: %w", q.Text, err)
	}
	return r, err
}

// begin is false when too many wait already: each is a gate, and no person reads more.
func (a *Asking) begin() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.open >= MaxAsks {
		return false
	}
	if a.open++; a.open > 1 {
		return true
	}
	a.since = time.Now()
	switch {
	case a.timer == nil:
	case a.timer.Stop():
		a.left -= a.since.Sub(a.set)
	default:
		a.timer = nil // the limit is reached: that is said once
	}
	return true
}

func (a *Asking) end() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.open--; a.open > 0 {
		return
	}
	now := time.Now()
	a.waited += now.Sub(a.since)
	if a.timer != nil {
		a.set = now
		a.timer.Reset(max(a.left, time.Millisecond))
	}
}

// Stop ends the clock and returns how long the turn waited for answers.
func (a *Asking) Stop() time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.timer != nil {
		a.timer.Stop()
	}
	return a.waited
}

// EndStatus is how a turn ended, by the end of its process.
func EndStatus(exit ralph.ExitKind) ralph.TurnStatus {
	switch exit {
	case ralph.ExitOK:
		return ralph.TurnCompleted
	case ralph.ExitUser, ralph.ExitTimeout:
		return ralph.TurnInterrupted
	}
	return ralph.TurnFailed
}
