package thread

import (
	"strings"

	"github.com/ralph-loop/ralph"
)

// StatusOf is the status of a thread that a stop condition has ended.
func StatusOf(stop string) ralph.TaskStatus {
	switch stop {
	case StopUser:
		return ralph.TaskSkipped
	case StopTokens, StopTime, StopCost, StopTurns:
		return ralph.TaskTimeout
	}
	return ralph.TaskFailed
}

// Ends counts by what threads stopped.
type Ends struct{ budget, user, other int }

// Add counts one that stopped.
func (n *Ends) Add(stop string) {
	switch {
	case strings.HasPrefix(stop, "budget."):
		n.budget++
	case stop == StopUser:
		n.user++
	default:
		n.other++
	}
}

// Of is why the session ends when so many threads are left: the worst of their reasons.
func (n *Ends) Of(left int) ralph.Reason {
	switch {
	case left == 0: // all is finished, and merged work waits for the checkout
		return ralph.ReasonPerson
	case n.other > 0:
		return ralph.ReasonFailed
	case n.budget > 0:
		return ralph.ReasonBudget
	}
	return ralph.ReasonInterrupted
}
