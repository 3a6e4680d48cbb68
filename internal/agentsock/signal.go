package agentsock

import (
	"errors"
	"fmt"
	"strings"

	"github.com/ralph-loop/ralph"
)

// maxWords is how much a signal may say in bytes, as in the line of a tag.
const maxWords = 4 << 10

// wellSaid is the signal with its text trimmed, or why it is none. A command says at once
// what is wrong with it, so it is stricter than a tag: BLOCKED and NEEDS_HUMAN want words.
func wellSaid(s ralph.Signal) (ralph.Signal, error) {
	s.Text = strings.TrimSpace(strings.ToValidUTF8(s.Text, "\uFFFD"))
	if len(s.Text) > maxWords {
		return s, errors.New("too long: a signal says at most 4 KiB; put the rest into a file")
	}
	if s.Kind != ralph.SignalProgress && s.Percent != 0 {
		return s, fmt.Errorf("only %s has a percentage", ralph.SignalProgress)
	}
	switch s.Kind {
	case ralph.SignalComplete:
		if s.Text != "" {
			return s, errors.New("COMPLETE takes no words: when anything is left, say PROGRESS or BLOCKED")
		}
	case ralph.SignalBlocked:
		if s.Text == "" {
			return s, errors.New("BLOCKED needs the reason in words")
		}
	case ralph.SignalHuman:
		if s.Text == "" {
			return s, errors.New("NEEDS_HUMAN needs the question")
		}
	case ralph.SignalProgress:
		if s.Percent < 0 || s.Percent > 100 {
			return s, errors.New("PROGRESS needs a percentage from 0 to 100")
		}
	default:
		return s, fmt.Errorf("there is no signal %q: use COMPLETE, BLOCKED, NEEDS_HUMAN or PROGRESS", s.Kind)
	}
	return s, nil
}
