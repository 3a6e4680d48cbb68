// Package watch owns how the terminal screen hears of its repository: what it sees of it, when it
// looks again, and what it says when something cannot be read.
//
// It does NOT own what is made of it (ui, ui/panes).
package watch

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/action"
	"github.com/ralph-loop/ralph/internal/backend"
	"github.com/ralph-loop/ralph/internal/observe"
	"github.com/ralph-loop/ralph/internal/person"
	"github.com/ralph-loop/ralph/internal/status"
	"github.com/ralph-loop/ralph/internal/ui/panes"
	"github.com/ralph-loop/ralph/internal/workspace"
)

// Source is the repository as the screen sees it.
type Source interface {
	action.Backend
	panes.History
	// State is the newest state; it never changes.
	State() *ralph.State
	// Engine says who works here, with the last words of the agents at work.
	Engine(s *ralph.State) status.Engine
	// Trouble is which file cannot be read, and why; "" for none.
	Trouble() string
	// Wait returns when the state has moved past seq, or with ctx.
	Wait(ctx context.Context, seq int64) error
	// Now is the time that a fact recorded now would have.
	Now() time.Time
}

// Repository is the Source of a repository on the disk. It is safe for concurrent use.
type Repository struct {
	*backend.Repository // action.Backend
	*observe.Live
}

// Open opens the journal to read and write, as each command does.
func Open(env workspace.Env, root string) (*Repository, error) {
	j, err := workspace.OpenJournal(env, true, true)
	if err != nil {
		return nil, err
	}
	surface := backend.Surface{By: "ui", Cause: "ralph ui", Witness: func(context.Context) ralph.Witness { return person.Witness(env) }}
	return &Repository{backend.New(env, root, j, surface), observe.NewLive(env, root, j)}, nil
}

const (
	quietEvery = time.Second            // how often one looks without news while an engine works
	restEvery  = 2 * time.Second        // and how often without one: it may have come
	sameFor    = 5 * time.Second        // how long nothing is said where nothing has changed
	wordsEvery = 700 * time.Millisecond // how often agents are listened to
	burst      = 100 * time.Millisecond // keeps many facts from being many pictures
)

// Follow tells of the repository whenever it has changed, and while an engine works each second:
// clocks go on. What cannot be read is said, and tried again: an engine that is killed and
// started again is no reason to end.
func Follow(ctx context.Context, source Source, send func(panes.Look)) {
	moved, mistakes, waits := make(chan error, 1), make(chan any, 1), false
	var wait sync.WaitGroup
	defer wait.Wait() // before the journal is closed
	w := Watcher{Source: source}
	for ctx.Err() == nil {
		if next, news := w.Look(time.Now()); news {
			send(next)
		}
		if !waits && w.last.State != nil {
			waits = true
			seq := w.last.State.Seq
			wait.Go(func() {
				defer func() { // in a goroutine of its own it would end the process, with the terminal taken
					if x := recover(); x != nil {
						mistakes <- x
					}
				}()
				moved <- source.Wait(ctx, seq)
			})
		}
		every := restEvery
		if w.last.Engine.Alive || w.broken != nil {
			every = quietEvery
		}
		tick := time.NewTimer(every)
		select {
		case <-ctx.Done():
		case err := <-moved:
			waits = false
			rest := burst
			if w.broken = err; err != nil {
				rest = quietEvery
				if next, news := w.Look(time.Now()); news && ctx.Err() == nil {
					send(next)
				}
			}
			sleep(ctx, rest)
		case <-tick.C:
			w.broken = nil // it waits for news again: all that is there was read
		case x := <-mistakes:
			panic(x)
		}
		tick.Stop()
	}
}

func sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

// Watcher remembers what was seen last.
type Watcher struct {
	Source Source
	last   panes.Look
	sent   time.Time
	heard  time.Time // when agents were listened to
	asked  time.Time // when it was asked what actions go by
	broken error     // why nothing newer can be read
}

// Look looks at the repository, and says whether there is anything to show. A mistake in what
// reads it is said, and is not the end of the screen.
func (w *Watcher) Look(now time.Time) (l panes.Look, news bool) {
	l, err := w.see(now)
	if err != nil {
		l = w.last
		l.Broken, l.Now = err.Error(), now
	}
	same := l.State == w.last.State && l.Engine.Fleet == w.last.Engine.Fleet && l.Engine.Alive == w.last.Engine.Alive && l.Broken == w.last.Broken && l.Trouble == w.last.Trouble
	w.last = l
	if l.State == nil || same && !l.Engine.Alive && now.Sub(w.sent) < sameFor {
		return l, false
	}
	w.sent = now
	return l, true
}

func (w *Watcher) see(now time.Time) (l panes.Look, err error) {
	defer func() {
		if x := recover(); x != nil {
			err = fmt.Errorf("a mistake in ralph itself: %v", x)
		}
	}()
	l = panes.Look{State: w.Source.State(), Now: w.Source.Now(), Trouble: w.Source.Trouble(), Engine: w.last.Engine, Context: w.last.Context}
	if l.State == nil {
		return l, errors.New("the journal cannot be read")
	}
	if now.Sub(w.heard) >= wordsEvery {
		l.Engine, w.heard = w.Source.Engine(l.State), now
	}
	if l.State != w.last.State || l.Engine.Alive != w.last.Engine.Alive || now.Sub(w.asked) >= sameFor {
		l.Context, w.asked = w.Source.Context(), now
	}
	l.Context.Engine, l.Context.Now = l.Engine.Alive, l.Now
	if w.broken != nil {
		l.Broken = w.broken.Error()
	}
	return l, nil
}
