// Package panes owns what stands in the panels of the terminal screen: the rows of each list,
// the views of what is chosen, and the control bar, as lines of one moment of the repository.
//
// It does NOT own keys, or what is chosen (ui), or how lines are drawn (ui/draw).
package panes

import (
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/action"
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
}

// History is the journal as the views of the past read it.
type History interface {
	// Each reads the journal after seq, in order, from the disk.
	Each(after int64, visit func(ralph.Event) error) error
	// At is the state after a fact, AtTime that at a time.
	At(seq int64) (*ralph.State, error)
	AtTime(at time.Time) (*ralph.State, error)
}
