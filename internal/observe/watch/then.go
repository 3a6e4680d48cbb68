package watch

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/action"
	"github.com/ralph-loop/ralph/internal/screen/page"
	"github.com/ralph-loop/ralph/internal/status"
)

// Past is a look at a state of the past, with the clock of its newest fact.
func Past(s *ralph.State) *Look {
	l := &Look{Look: page.Look{State: s.Clone(), Engine: status.Then(s), Now: s.At, Past: true}}
	l.World = func() action.Context { return action.Context{Engine: l.Engine.Alive, Now: l.Now, Past: true} }
	l.Bar = sync.OnceValue(func() page.BarModel { return page.BarOf(l.Look) })
	return l
}

// Then is a journal up to the fact of a look.
func Then(of Source, l *Look) Source { return then{of, l} }

// then is a journal up to a fact.
type then struct {
	Source
	look *Look
}

func (t then) State() *ralph.State               { return t.look.State }
func (t then) Engine(*ralph.State) status.Engine { return t.look.Engine }
func (t then) Now() time.Time                    { return t.look.Now }

// Wait returns at once while there is something to read up to that fact; after it nothing ever comes.
func (t then) Wait(ctx context.Context, seq int64) error {
	if seq < t.look.State.Seq {
		return nil
	}
	<-ctx.Done()
	return ctx.Err()
}

func (t then) Each(after int64, visit func(ralph.Event) error) error {
	err := t.Source.Each(after, func(e ralph.Event) error {
		if e.Seq > t.look.State.Seq {
			return errPast
		}
		return visit(e)
	})
	if errors.Is(err, errPast) {
		return nil
	}
	return err
}

var errPast = errors.New("what came later")
