package policy

import (
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/tally"
)

// Quiescent reports whether a paused engine has come to rest: every task that is at
// work only waits. It asks Next, so what it says is what the engine does. A
// session whose settings cannot be read is at rest as soon as no step is in flight.
func Quiescent(s *ralph.State, now time.Time) bool {
	c, err := Decode(s.Session.Config)
	if err != nil {
		return true
	}
	for t := range s.Marked(tally.Active) {
		if step, _ := Next(s, t.ID, c, now); step.StepName() != (ralph.Wait{}).StepName() {
			return false
		}
	}
	return true
}
