package policy

import (
	"fmt"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/text"
)

// afterError decides after a turn that did not end well: the exit matrix, then
// the kind of the error, then the error strategy.
func afterError(s *ralph.State, t *ralph.Task, c Config, now time.Time) (ralph.Step, ralph.Why) {
	r := t.Run
	last := r.Last
	message := errorText(last)
	outcome, why := Exit(last.Exit)
	switch {
	case outcome == Pending && last.Exit == ralph.ExitUser:
		return release(why.Rule, why.Text)
	case outcome == Pending && t.RetryCount >= c.MaxRetries:
		return finish(ralph.TaskFailed, "X-44", "the agent was killed "+text.Count(t.RetryCount+1, "time"))
	case outcome == Pending:
		return ralph.Finish{Status: ralph.TaskPending, Retry: true}, why
	case outcome == TimedOut && t.IsBuild():
		return outOfTime(s, t, c, now, why)
	}
	if err := last.Err; err != nil {
		switch err.Class {
		case ralph.ErrClassLimit, ralph.ErrClassBusy, ralph.ErrClassAuth, ralph.ErrClassNetwork:
			if s.Session.Auto.EndsAtError() {
				return finish(ralph.TaskFailed, "A-093", message)
			}
			return afterLimit(s, t, c, now)
		case ralph.ErrClassBudget: // its cap is what was left of a budget, and a little more
			if step, why, ok := givenBack(s, c, now); ok {
				return step, why
			}
			if over := ofTask(t, c).over(); over != "" && t.IsBuild() {
				return finish(ralph.TaskTimeout, "X-60", over)
			}
		case ralph.ErrClassContext:
			if t.IsBuild() {
				return finish(ralph.TaskTimeout, "X-62", "the agent's context is full: "+err.Message)
			}
		}
		if err.Permanent() {
			return finish(ralph.TaskFailed, "X-43", message)
		}
	}
	return strategy(s, t, c, now, message)
}

// strategy is errors.strategy: 2 retries after 2 s and 4 s by default.
func strategy(s *ralph.State, t *ralph.Task, c Config, now time.Time, message string) (ralph.Step, ralph.Why) {
	r := t.Run
	switch {
	case c.Strategy == "skip" && t.IsBuild():
		return finish(ralph.TaskSkipped, ralph.RuleGivenUp, message)
	case c.Strategy == "abort":
		return finish(ralph.TaskFailed, "X-39", message)
	case r.ErrorTries > c.MaxRetries:
		return finish(ralph.TaskFailed, "X-32", fmt.Sprintf("%s (tried %s)", message, text.Count(r.ErrorTries, "time")))
	case c.SameErrorTurns > 0 && r.SameError >= c.SameErrorTurns:
		return finish(ralph.TaskFailed, "E-073", fmt.Sprintf("the same kind of error in %s without a change: %s", text.Count(r.SameError, "turn"), message))
	}
	if step, why, ok := givenBack(s, c, now); ok {
		return step, why
	}
	wait := Backoff(c.RetryBase, retryFactor, r.ErrorTries)
	until := retryAt(r, wait, now)
	if r.Told != r.ErrorTries && s.Session.Want == ralph.WantRun {
		f := ralph.Retrying{
			Task: t.ID, Agent: r.Last.Agent, Attempt: r.ErrorTries, Of: c.MaxRetries, BackoffMS: wait.Milliseconds(), Until: until, Error: message,
		}
		return ralph.Emit{Fact: f}, ralph.Why{Rule: "A-060", Text: message}
	}
	why := ralph.Why{Rule: "X-31", Text: fmt.Sprintf("retry %d of %d after: %s", r.ErrorTries, c.MaxRetries, message)}
	return waitThenTurn(s, t, c, now, until, why)
}

// retryAt is when the next try comes: the wait after the error, or when that was
// told. What lies further ahead than the wait is from before the clock went back.
func retryAt(r ralph.Run, wait time.Duration, now time.Time) time.Time {
	until := r.LastAt.Add(wait)
	switch {
	case r.Told == r.ErrorTries && !r.RetryAt.IsZero():
		until = r.RetryAt
	case r.LastAt.After(now):
		until = now.Add(wait)
	}
	if until.After(now.Add(wait)) {
		return now
	}
	return until
}

// outOfTime ends a build whose time is used up. When it was the session's or the
// spec's time that cut the turn, the task is given back: it is not its fault.
func outOfTime(s *ralph.State, t *ralph.Task, c Config, now time.Time, why ralph.Why) (ralph.Step, ralph.Why) {
	if over := ofTask(t, c).over(); over != "" {
		return finish(ralph.TaskTimeout, "X-60", over)
	}
	if step, why, ok := givenBack(s, c, now); ok && !spent(t, c) {
		return step, why
	}
	return finish(ralph.TaskTimeout, why.Rule, "the agent ran out of time (task.timeout)")
}

// ranOut is what a task that ends as timeout has used up.
func ranOut(t *ralph.Task, status ralph.TaskStatus, why ralph.Why, c Config) ralph.RanOut {
	switch {
	case status != ralph.TaskTimeout:
		return ""
	case why.Rule == "X-60", why.Rule == "E-070":
		return ralph.OutOfBudget
	case why.Rule == "X-62":
		return ralph.OutOfContext
	case worked(t) >= maxIterations(t, c):
		return ralph.OutOfIterations
	}
	return ralph.OutOfTime
}

// stops reports whether so many turns in a row without a change end a task (E-072).
func (c Config) stops(unchanged int) bool {
	return c.NoProgressTurns > 0 && unchanged >= c.NoProgressTurns
}

// outOfBudget reports whether a turn ended at the cap that a budget had set for it.
func outOfBudget(last *ralph.TurnEnded) bool {
	return last != nil && (last.Exit == ralph.ExitTimeout || last.Err != nil && last.Err.Class == ralph.ErrClassBudget)
}

// waitThenTurn lets a backoff pass. The end of the session ends it; a pause holds it.
func waitThenTurn(s *ralph.State, t *ralph.Task, c Config, now time.Time, until time.Time, why ralph.Why) (ralph.Step, ralph.Why) {
	if _, _, ends := givenBack(s, c, now); !ends && now.Before(until) && s.Session.Want == ralph.WantRun {
		return ralph.Wait{Until: until}, why
	}
	if t.IsBuild() {
		return turnOrLimit(s, t, c, now, why)
	}
	fresh := *t
	fresh.Run.Last = nil // the failed turn is dealt with: ask again
	return nextStage(s, &fresh, c, now)
}

func errorText(last *ralph.TurnEnded) string {
	switch {
	case last.Err != nil && last.Err.Message != "":
		return fmt.Sprintf("%s: %s", last.Err.Class, last.Err.Message)
	case last.Exit == ralph.ExitTimeout:
		return "the agent ran out of time"
	case last.Code != 0:
		return fmt.Sprintf("the agent ended with exit code %d", last.Code)
	}
	return "the agent ended with an error"
}
