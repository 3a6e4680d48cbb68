package panes

import (
	"errors"
	"fmt"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/screen"
)

const keptLines = 400 // of what happened

// CatchUp adds what has happened between the state then and the state s to what was told, which is
// nil at first. What lies too far back is left out.
func CatchUp(source History, told *screen.Lately, then, s *ralph.State) (*screen.Lately, *ralph.State, error) {
	if told == nil || s.Seq-then.Seq > MaxFold {
		told, then = &screen.Lately{Most: keptLines}, &ralph.State{}
		if from := s.Seq - MaxFold; from > 0 {
			at, err := source.At(from)
			if err != nil {
				return nil, nil, fmt.Errorf("read the state after fact %d: %w", from, err)
			}
			then = at.Clone()
		}
	}
	err := source.Each(then.Seq, func(e ralph.Event) error {
		if e.Seq > s.Seq {
			return ErrEnough
		}
		then.Apply(e)
		told.Add(e, then)
		return nil
	})
	if errors.Is(err, ErrEnough) {
		err = nil
	}
	return told, then, err
}
