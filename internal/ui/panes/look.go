// Package panes owns what stands in the panels of the terminal screen: the rows of each list,
// the views of what is chosen, and the control bar, as lines of one moment of the repository.
//
// It does NOT own keys, or what is chosen (ui), or how lines are drawn (ui/draw).
package panes

import (
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/action"
	"github.com/ralph-loop/ralph/internal/screen"
	"github.com/ralph-loop/ralph/internal/status"
)

// Look is the repository at one moment.
type Look struct {
	State   *ralph.State
	Engine  status.Engine
	Now     time.Time
	Context action.Context
	Trouble string // which file cannot be read, and why
	Broken  string // why nothing newer can be read
	Past    bool   // it is how it was

	stands *screen.Standing
}

// Stood is a look that knows how the repository stands: what every picture of it asks for, worked
// out once.
func (l Look) Stood() Look {
	x := screen.Stand(l.State, l.Engine, l.Now)
	l.stands = &x
	return l
}

// Standing is how the repository stands at that moment.
func (l Look) Standing() screen.Standing {
	if l.stands == nil {
		l = l.Stood()
	}
	return *l.stands
}

// History is the journal as the views of the past read it.
type History interface {
	// Each reads the journal after seq, in order, from the disk.
	Each(after int64, visit func(ralph.Event) error) error
	// At is the state after a fact, AtTime that at a time.
	At(seq int64) (*ralph.State, error)
	AtTime(at time.Time) (*ralph.State, error)
}
