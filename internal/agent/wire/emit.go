package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ralph-loop/ralph"
)

const (
	MaxDetail = 64 << 10 // of Request.Detail, in bytes
	MaxRaw    = 4 << 10  // of StreamEvent.Raw, in bytes
	MostAsks  = 100      // requests of one turn that wait for an answer at once
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

// Emit passes an event of the normalised stream on, and what it says to those who
// only listen to words. It is called under the turn's lock.
func (t *Turn) Emit(e ralph.StreamEvent) {
	if t.Event != nil {
		t.Event(e)
	}
	if s, ok := SaidOf(e); ok {
		t.Said(s)
	}
	if e.Kind == ralph.StreamUsage && e.Context.Used > 0 {
		t.Context(e.Context)
	}
}

// SaidOf is what an event says in words; false when it says nothing to people. Items
// speak once, when they are whole: an agent's words are read for signals by line.
func SaidOf(e ralph.StreamEvent) (ralph.Said, bool) {
	i := e.Item
	switch e.Kind {
	case ralph.StreamItem:
		if i.Kind == ralph.ItemCommand || i.Kind == ralph.ItemTool || i.Kind == ralph.ItemEdit {
			return ralph.Said{Kind: ralph.SaidTool, Text: ToolLine(i)}, true
		}
	case ralph.StreamItemDone:
		switch {
		case i.Parent != "": // a subagent's words are not the agent's
		case i.Kind == ralph.ItemMessage && i.Text != "":
			return ralph.Said{Kind: ralph.SaidMessage, Text: i.Text}, true
		case i.Kind == ralph.ItemReasoning && i.Text != "":
			return ralph.Said{Kind: ralph.SaidReasoning, Text: i.Text}, true
		case i.Output != "":
			return ralph.Said{Kind: ralph.SaidResult, Text: CutBack(i.Output, MaxSaidResult)}, true
		}
	case ralph.StreamError:
		if e.Err != nil {
			return ralph.Said{Kind: ralph.SaidError, Text: e.Err.Message}, true
		}
	}
	return ralph.Said{}, false
}

// ToolLine is a call in one line.
func ToolLine(i ralph.Item) string {
	text := i.Text
	if text == "" {
		text = strings.Join(i.Files, ", ")
	}
	if i.Type != "" && i.Kind != ralph.ItemCommand {
		text = strings.TrimSpace(i.Type + " " + text)
	}
	return CutBack(strings.Join(strings.Fields(text), " "), MaxSaidTool)
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
		return ralph.Reply{Text: fmt.Sprintf("%d questions are open already: wait for their answers", MostAsks)}, nil
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
	if a.open >= MostAsks {
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

func EndStatus(exit ralph.ExitKind) ralph.TurnStatus {
	switch exit {
	case ralph.ExitOK:
		return ralph.TurnCompleted
	case ralph.ExitUser, ralph.ExitTimeout:
		return ralph.TurnInterrupted
	}
	return ralph.TurnFailed
}
