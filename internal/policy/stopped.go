package policy

import (
	"time"

	"github.com/ralph-loop/ralph"
)

// withStop names the stop condition that ends a task or gives it back: the
// setting whose limit is passed, or "stop" for a person's stop or a signal. An end
// that the work itself leads to (done, blocked, skipped, an error that stays) has none.
func withStop(s *ralph.State, t *ralph.Task, c Config, now time.Time, step ralph.Step, why ralph.Why) ralph.Why {
	end, ok := step.(ralph.Finish)
	if !ok || end.Status == ralph.TaskDone || end.Retry || why.Stop != "" {
		return why
	}
	switch why.Rule {
	case "X-60":
		why.Stop = budgetHit(s, t, c, now, why.Text)
	case "B-028":
		why.Stop = "task.timeout"
		if worked(t) >= maxIterations(t, c) {
			why.Stop = "task.max_iterations"
		}
	case "E-072":
		why.Stop = "task.no_progress_turns"
	case "E-073":
		why.Stop = "task.same_error_turns"
	case "X-32", "X-44":
		why.Stop = "errors.max_retries"
	case "X-38":
		why.Stop = "limits.wait"
	case "X-39":
		why.Stop = "errors.strategy"
	case "D-051":
		why.Stop = "stop"
	}
	return why
}

// budgetHit is the setting of the budget that is passed. A task's and a spec's are known
// by their words; what else ends a task by a budget is the session's end.
func budgetHit(s *ralph.State, t *ralph.Task, c Config, now time.Time, words string) string {
	if what, said := ofTask(t, c).passed(); what != "" && said == words {
		return "budget.task." + what
	}
	session, spec := ofSession(s, c, now), ofSpec(s, c, now)
	if what, said := spec.passed(); what != "" && said == words {
		return "budget.spec." + what
	}
	if c.MaxCost > 0 {
		x := session
		if x.limit = (Budget{Cost: c.MaxCost}); x.over() != "" {
			return "budget.cost"
		}
	}
	if what, _ := session.passed(); what != "" {
		return "budget." + what
	}
	if what, _ := spec.passed(); what != "" {
		return "budget.spec." + what
	}
	return "budget"
}
