package policy

import (
	"fmt"
	"slices"
	"time"

	"github.com/ralph-loop/ralph"
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
		return finish(ralph.TaskFailed, "X-44", fmt.Sprintf("the agent was killed %d times", t.RetryCount+1))
	case outcome == Pending:
		return ralph.Finish{Status: ralph.TaskPending, Retry: true}, why
	case outcome == TimedOut && t.IsBuild():
		return finish(ralph.TaskTimeout, why.Rule, "the agent ran out of time (task.timeout)")
	}
	if err := last.Err; err != nil {
		switch err.Class {
		case ralph.ErrClassLimit, ralph.ErrClassBusy:
			return afterLimit(s, t, c, now)
		case ralph.ErrClassContext:
			if t.IsBuild() {
				return finish(ralph.TaskTimeout, "X-62", "the agent's context is full: "+err.Message)
			}
		}
		if err.Permanent() && last.Exit != ralph.ExitSpawn { // a start that failed is tried again
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
		return finish(ralph.TaskSkipped, "X-16", message)
	case c.Strategy == "abort":
		return finish(ralph.TaskFailed, "X-39", message)
	case r.ErrorTries > c.MaxRetries:
		return finish(ralph.TaskFailed, "X-32", fmt.Sprintf("%s (tried %d times)", message, r.ErrorTries))
	case c.SameErrorTurns > 0 && r.SameError >= c.SameErrorTurns:
		return finish(ralph.TaskFailed, "E-073", fmt.Sprintf("the same kind of error %d turns in a row: %s", r.SameError, message))
	}
	until := r.LastAt.Add(Backoff(c.RetryBase, retryFactor, r.ErrorTries))
	why := ralph.Why{Rule: "X-31", Text: fmt.Sprintf("retry %d of %d after: %s", r.ErrorTries, c.MaxRetries, message)}
	return waitThenTurn(s, t, c, now, until, why)
}

// waitThenTurn lets a backoff pass. A stop ends it; a pause holds it.
func waitThenTurn(s *ralph.State, t *ralph.Task, c Config, now time.Time, until time.Time, why ralph.Why) (ralph.Step, ralph.Why) {
	if now.Before(until) && s.Session.Want == ralph.WantRun {
		return ralph.Wait{Until: until}, why
	}
	if t.IsBuild() {
		return turnOrLimit(s, t, c, now, why)
	}
	fresh := *t
	fresh.Run.Last = nil // the failed turn is dealt with: ask again
	return nextStage(s, &fresh, c, now)
}

// afterLimit waits out a rate limit on the same agent up to max_rate_limit_retries
// times, then goes to the next agent of the chain. It uses up no retry.
func afterLimit(s *ralph.State, t *ralph.Task, c Config, now time.Time) (ralph.Step, ralph.Why) {
	last := t.Run.Last
	until := s.LimitedUntil(last.Agent, now)
	why := ralph.Why{Rule: "X-33", Text: fmt.Sprintf("%s is at its limit (%d): %s", last.Agent, t.Run.LimitTries, errorText(last))}
	if next, _ := agentFor(s, t, c, now); next != "" && next != last.Agent && switchAgent(t, c, last.Agent, until, now) {
		return waitThenTurn(s, t, c, now, now, ralph.Why{Rule: "X-36", Text: "switch to " + next + ": " + why.Text})
	}
	return waitThenTurn(s, t, c, now, until, why)
}

// switchAgent: the retries on this agent are used up, or its service named a
// reset time beyond all of them, so that waiting would be idle.
func switchAgent(t *ralph.Task, c Config, agent string, until, now time.Time) bool {
	if t.Run.LimitTries > c.MaxLimitRetries {
		return true
	}
	return until.Sub(now) > Backoff(c.LimitBase, limitFactor, c.MaxLimitRetries)
}

// LimitEnds is when an agent may be used again after a limit: the reset time
// the service named, else the backoff.
func LimitEnds(err *ralph.AgentError, tries int, c Config, now time.Time) time.Time {
	if err.ResetAt.After(now) {
		return err.ResetAt
	}
	return now.Add(Backoff(c.LimitBase, limitFactor, tries))
}

// agentFor chooses the first agent of the chain that is not limited: the
// primary again as soon as its limit is over, when recover_primary says so,
// else the one that the task, or the session before it, is on. With none free
// it returns when the first of them is.
func agentFor(s *ralph.State, t *ralph.Task, c Config, now time.Time) (string, time.Time) {
	if !c.RecoverPrimary {
		on := s.Session.Agent
		if last := t.Run.Last; last != nil {
			on = last.Agent
		}
		if slices.Contains(c.Agents, on) && s.LimitedUntil(on, now).IsZero() {
			return on, time.Time{}
		}
	}
	var first time.Time
	for _, agent := range c.Agents {
		until := s.LimitedUntil(agent, now)
		if until.IsZero() {
			return agent, time.Time{}
		}
		if first.IsZero() || until.Before(first) {
			first = until
		}
	}
	return "", first
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
