// Package enginetest owns what tests of the loop need instead of the world: a journal in memory,
// an executor that follows a script, git as sets of tasks. Tests of what stands below the loop do
// not import it, since linking the policy into each of them takes longer than they do.
//
// It owns no product code, and only tests import it.
package enginetest

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/ralph-loop/ralph"
)

// Mem is a journal in memory: engine.Journal without a file. It works inside
// testing/synctest bubbles, starts no goroutine, and chains its events with the
// same lines and hashes as the file does.
type Mem struct {
	now func() time.Time

	mu     sync.Mutex
	state  ralph.State
	events []ralph.Event
	lines  [][]byte
	ends   []int64       // the last seq of each whole Update
	moved  chan struct{} // closed when the state moves
	full   int64         // highest seq that may be written, 0: no end
	cut    error
}

// NewMem returns an empty journal. now is the clock, nil for time.Now, which is
// the fake one inside a bubble.
func NewMem(now func() time.Time) *Mem {
	if now == nil {
		now = time.Now
	}
	return &Mem{now: now, moved: make(chan struct{})}
}

// Load returns a journal with the lines of another one, read back as a file
// would be: what the next engine finds after a crash.
func Load(lines [][]byte, now func() time.Time) (*Mem, error) {
	m := NewMem(now)
	for _, line := range lines {
		e, err := ralph.UnmarshalEvent(line)
		if err != nil {
			return nil, err
		}
		m.state.Apply(e)
		m.events, m.lines = append(m.events, e), append(m.lines, line)
	}
	return m, nil
}

// CutAfter makes the journal refuse every fact past seq with err, as if the
// process died there. Of a write that was torn between two of its facts none is kept, as
// readers of the file keep none.
func (m *Mem) CutAfter(seq int64, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.full, m.cut = seq, err
}

// State implements engine.Journal.
func (m *Mem) State() *ralph.State {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.state.Clone()
}

// Lend implements engine.Journal.
func (m *Mem) Lend(decide func(*ralph.State)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, _ = m.state.Lend(func(s *ralph.State) ([]ralph.Fact, error) { decide(s); return nil, nil })
}

// Events returns all events so far.
func (m *Mem) Events() []ralph.Event {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.events)
}

// Lines returns the journal as it would stand in the file, a line per event.
func (m *Mem) Lines() [][]byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.lines)
}

// Ends returns the last seq of each Update so far that was written whole.
func (m *Mem) Ends() []int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.ends)
}

// Update implements engine.Journal.
func (m *Mem) Update(ctx context.Context, by string, decide func(*ralph.State) ([]ralph.Fact, error)) error {
	return m.Answer(ctx, by, 0, decide)
}

// Answer implements engine.Journal.
func (m *Mem) Answer(ctx context.Context, by string, receipt int64, decide func(*ralph.State) ([]ralph.Fact, error)) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	facts, err := decide(m.state.Clone())
	if err != nil || len(facts) == 0 {
		return err
	}
	if room := m.full - m.state.Seq; m.full > 0 && int64(len(facts)) > room {
		return m.cut
	}
	now := m.now().UTC().Truncate(time.Microsecond)
	if now.Before(m.state.At) {
		now = m.state.At
	}
	events, lines := make([]ralph.Event, len(facts)), make([][]byte, len(facts))
	prev, seq := m.state.Hash, m.state.Seq
	for i, fact := range facts {
		seq++
		e := ralph.Event{Seq: seq, At: now, By: by, Prev: prev, More: i < len(facts)-1, Answers: receipt, Fact: fact}
		if lines[i], err = ralph.MarshalEvent(&e); err != nil {
			return err
		}
		events[i], prev = e, e.Hash
	}
	for _, e := range events {
		m.state.Apply(e)
	}
	m.events, m.lines = append(m.events, events...), append(m.lines, lines...)
	m.ends = append(m.ends, seq)
	close(m.moved)
	m.moved = make(chan struct{})
	return nil
}

// Wait implements engine.Journal.
func (m *Mem) Wait(ctx context.Context, seq int64) error {
	for {
		m.mu.Lock()
		past, moved := m.state.Seq > seq, m.moved
		m.mu.Unlock()
		if past {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-moved:
		}
	}
}
