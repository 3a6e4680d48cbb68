// Package stream owns the state of an agent's turns, folded from the normalised
// stream: threads, turns, their items each once, the last plan, diff and usage,
// errors, compactions, open requests. The same events give the same state, live or
// replayed. It does not own the events (ralph.StreamEvent), how an agent's protocol
// becomes them (internal/agent), or what is concluded from them (internal/policy).
package stream

import (
	"slices"

	"github.com/ralph-loop/ralph"
)

// What a Store keeps at the most; what is over is counted and forgotten. Together
// they bound it to about 20 MiB, whatever an agent says.
const (
	maxTurns    = 256      // of all threads; events of turns past that are dropped
	maxItems    = 1000     // of a turn, with their details
	maxText     = 1 << 20  // of one item's words or output, in bytes: its end
	maxKept     = 12 << 20 // of the words and outputs of all items together: the newest
	maxDiff     = 1 << 20  // of a diff, in bytes: its beginning
	maxPlan     = 200      // steps of a plan
	maxErrors   = 20       // of a turn: the last
	maxUnknown  = 32       // of a turn: the last
	maxRaw      = 4 << 10  // of an unknown event, in bytes
	maxMessage  = 2 << 10  // of an error, in bytes
	maxFiles    = 1000     // of a turn
	maxRequests = 1000     // of a turn: ids, so that each counts once
	maxOpen     = 100      // of a turn that wait for an answer
	maxPart     = 4 << 10  // of each text of a request, step or name, in bytes
	maxWord     = 64       // of a status, in bytes
	maxParts    = 10       // paths, options and questions of a request
	maxListed   = 500      // of each of them, in bytes
)

// Store is the state of the threads of one agent. The zero value is not ready, use
// New. It is for one goroutine at a time.
type Store struct {
	main    *thread // the one that ralph talks to; others are of subagents
	named   bool    // main was named by a session.started
	threads []*thread
	turns   int
	kept    int // bytes of all items
	dropped int
}

type thread struct {
	id    string
	turns []*turn
}

// New returns an empty store.
func New() *Store {
	t := &thread{}
	return &Store{main: t, threads: []*thread{t}}
}

// Add folds one event. Events may come in any order and of any thread: an item before
// its turn, a turn that is named before it starts. Those of a turn that never starts,
// as a replay of an old one on resume, are kept apart and count for nothing.
// An event without a thread is of the main one; without a turn, of the newest one. What
// is printed beside any protocol is no part of a turn.
func (s *Store) Add(e ralph.StreamEvent) {
	if e.Kind == ralph.StreamOutput {
		return
	}
	th := s.thread(e)
	if e.Kind == ralph.StreamSession {
		return
	}
	t := s.turn(th, e)
	if t == nil {
		s.dropped++
		return
	}
	s.kept += t.add(e)
	if s.kept > maxKept {
		s.trim()
	}
}

// thread finds the thread of an event, and which is the main one: that of the first
// session.started, until then that of the first event that names one.
func (s *Store) thread(e ralph.StreamEvent) *thread {
	if e.Thread == "" {
		return s.main
	}
	first := e.Kind == ralph.StreamSession && !s.named
	i := slices.IndexFunc(s.threads, func(t *thread) bool { return t.id == e.Thread })
	switch {
	case i < 0 && s.main.id == "":
		s.main.id = e.Thread
		i = 0
	case i < 0 && len(s.threads) < maxTurns:
		i = len(s.threads)
		s.threads = append(s.threads, &thread{id: e.Thread})
	case i < 0:
		return &thread{id: e.Thread} // too many; its turns are too
	}
	if first {
		s.main, s.named = s.threads[i], true
	}
	return s.threads[i]
}

// turn finds the turn of an event; nil when there are too many.
func (s *Store) turn(th *thread, e ralph.StreamEvent) *turn {
	if e.Turn == "" {
		if t := th.newest(); t != nil && (!t.state.Ended() || e.Kind != ralph.StreamTurn) {
			return t
		}
	}
	i := -1
	if e.Turn != "" {
		i = slices.IndexFunc(th.turns, func(t *turn) bool { return t.state.ID == e.Turn })
	}
	if i >= 0 {
		return th.turns[i]
	}
	if s.turns >= maxTurns {
		return nil
	}
	s.turns++
	t := &turn{state: Turn{Thread: th.id, ID: e.Turn, Begun: e.Turn == ""}}
	th.turns = append(th.turns, t)
	return t
}

// newest is the turn that an event without a name belongs to: the last that began.
func (th *thread) newest() *turn {
	for _, t := range slices.Backward(th.turns) {
		if t.state.Begun {
			return t
		}
	}
	return nil
}

// trim empties the oldest items until half of what may be kept is left, so that it
// is seldom done.
func (s *Store) trim() {
	for _, th := range s.threads {
		for _, t := range th.turns {
			for i := range t.items {
				if s.kept <= maxKept/2 {
					return
				}
				it := &t.items[i]
				s.kept -= it.size()
				it.Text, it.Output, it.Files, it.more = "", "", nil, nil
			}
		}
	}
}

// Main returns the newest turn of the main thread that began; false when there is none.
func (s *Store) Main() (Turn, bool) {
	if t := s.main.newest(); t != nil {
		return t.copy(s.main.id), true
	}
	return Turn{}, false
}

// Turns returns all turns that began, thread by thread in the order in which they
// were first heard of.
func (s *Store) Turns() []Turn {
	var all []Turn
	for _, th := range s.threads {
		for _, t := range th.turns {
			if t.state.Begun {
				all = append(all, t.copy(th.id))
			}
		}
	}
	return all
}

// Ended reports whether the newest turn of the main thread is over: turn.completed
// came for it, nothing else ends a turn.
func (s *Store) Ended() bool {
	t := s.main.newest()
	return t != nil && t.state.Ended()
}

// Text is the final words of the main thread's newest turn that said any: the last
// message that the agent calls final, else its last message.
func (s *Store) Text() string {
	for _, t := range slices.Backward(s.main.turns) {
		if !t.state.Begun {
			continue
		}
		last := ""
		for _, it := range slices.Backward(t.items) {
			switch {
			case it.Open || it.Kind != ralph.ItemMessage || it.Parent != "" || it.Text == "":
			case it.Final:
				return it.Text
			case last == "":
				last = it.Text
			}
		}
		if last != "" {
			return last
		}
	}
	return ""
}
