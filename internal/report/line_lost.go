package report

import (
	"fmt"

	"github.com/ralph-loop/ralph"
)

// lostLines are the lines about steps without an outcome that counts. What was under way when
// a session was ended at once is told by its end.
func lostLines(e ralph.Event, s *ralph.State) []string {
	switch f := e.Fact.(type) {
	case ralph.StepLost:
		if f.Cause == ralph.LostForced {
			return nil
		}
		return []string{fmt.Sprintf("LOST: %s of %s: %s", f.Step, stageOr(s, f.Task), LostWords(f))}
	case ralph.StepLate:
		return []string{fmt.Sprintf("LATE: %s of %s: %s", f.Step, stageOr(s, f.Task), LateWords(f))}
	}
	return nil
}

// LostWords say why a step has no outcome.
func LostWords(f ralph.StepLost) string {
	why := "the engine died"
	switch f.Cause {
	case ralph.LostForced:
		why = "ended at once"
	case ralph.LostBroken:
		why = "it could not be carried out"
	}
	if f.Text != "" {
		why += ": " + OneLine(f.Text)
	}
	return why
}

// LateWords say why an outcome does not count.
func LateWords(f ralph.StepLate) string {
	words := "what came of it does not count"
	if f.Text != "" {
		words += ": " + OneLine(f.Text)
	}
	if f.Usage.Cost > 0 {
		words += " (" + ralph.Dollars(f.Usage.Cost) + " was spent)"
	}
	return words
}

// Died says how the engine came to its end that left its session open.
func Died(s *ralph.State) string {
	if s.Session.Immediate {
		return "it was ended at once"
	}
	return "the engine died"
}

// LastEngine says the same of the last engine, where none runs.
func LastEngine(s *ralph.State) string {
	if s.Session.Immediate {
		return "the last one was ended at once (" + OneLine(s.Session.Cause) + ")"
	}
	return "the last one was cut"
}
