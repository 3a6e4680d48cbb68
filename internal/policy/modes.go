package policy

import (
	"fmt"
	"slices"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/tally"
	"github.com/ralph-loop/ralph/internal/text"
)

// under returns the settings as a mode has them: manual and step end at the first
// error, with one agent and no retries; manual goes at full speed.
func (c Config) under(mode ralph.Autonomy) Config {
	if !mode.EndsAtError() {
		return c
	}
	c.Strategy, c.MaxRetries, c.MaxLimitRetries = "abort", 0, 0
	if len(c.Agents) > 1 {
		c.Agents = c.Agents[:1]
	}
	if mode == ralph.Manual {
		c.TaskDelay = 0
	}
	return c
}

// ending is why the session has to end at the next boundary, whatever is left to do.
// Schedule starts nothing more then, and tasks at work are given back at the end of
// their turn. What costs nothing, a commit that is due, is still made, but for a stop.
func ending(s *ralph.State, c Config, now time.Time) (Stop, string, bool) {
	x := s.Session
	if x.Want == ralph.WantStop {
		stop := Stop{Reason: ralph.ReasonInterrupted, Detail: x.Cause}
		switch {
		case x.Ends != "":
			stop.Reason = x.Ends
		case c.Watch && s.Job == nil && fetch(s, c) == nil: // it only waited: nothing was interrupted
			stop.Reason = ralph.ReasonEmpty
		}
		return stop, "D-052", true
	}
	if landing(s) {
		return Stop{}, "", false
	}
	if stop, over := overBudget(s, c, now); over {
		return stop, "X-60", true
	}
	if stop, ok := aborted(s, c); ok {
		return stop, "X-39", true
	}
	if _, all := allLimited(s, c, now); all && (c.LimitWait == "off" || x.Auto.EndsAtError() && !failing(s)) {
		return Stop{Reason: ralph.ReasonLimited, Detail: limitWords(s, c)}, "X-38", true
	}
	return Stop{}, "", false
}

// aborted ends the run after a failure: errors.strategy abort, or a mode that ends at
// the first error. In agent mode and construct the spec fails first.
func aborted(s *ralph.State, c Config) (Stop, bool) {
	if c.Strategy != "abort" {
		return Stop{}, false
	}
	x, t := s.Session, broken(s)
	switch {
	case x.OnPlan() && t != nil:
		return Stop{Reason: ralph.ReasonAborted, Detail: describe(t) + ": " + t.Run.Reason, Task: t.ID}, true
	case x.OnPlan() || s.Job != nil || x.SpecErrors == 0:
		return Stop{}, false
	}
	stop := Stop{Reason: ralph.ReasonAborted, Detail: "a spec failed and errors.strategy is abort"}
	if x.Auto.EndsAtError() {
		stop.Detail = "a spec failed, and mode " + string(x.Auto) + " ends at the first error"
	}
	if t != nil {
		stop.Task = t.ID
	}
	return stop, true
}

// broken is the newest task that failed since the mode was set, nil for none; where
// the first error ends the run, running out of time is one as well.
func broken(s *ralph.State) *ralph.Task {
	for _, id := range slices.Backward(s.Session.Errors) {
		t := s.Task(id)
		if t != nil && (t.Status == ralph.TaskFailed || t.Status == ralph.TaskTimeout && s.Session.Auto.EndsAtError()) {
			return t
		}
	}
	return nil
}

// failing: something failed that ends the spec, and with it the run.
func failing(s *ralph.State) bool {
	return broken(s) != nil || s.Job != nil && failedStage(s) != nil || meetsLimit(s)
}

// meetsLimit: a turn has just met a limit, and what it was for is about to fail of it
// . Whether the limit lasts until somebody looks must not decide the end.
func meetsLimit(s *ralph.State) bool {
	for t := range s.Marked(tally.Active) {
		if last := t.Run.Last; last != nil && last.Limited() {
			return true
		}
	}
	return false
}

// startGate holds a start that somebody has to approve.
func startGate(s *ralph.State, c Config, now time.Time) Move {
	if s.ApprovalOfKind(ralph.ApprovalStart) != nil {
		return Hold{Why: "the start waits for approval", Person: true}
	}
	what := fmt.Sprintf("ralph %s wants to start", s.Session.Mode)
	switch {
	case c.Only != "":
		what += " on " + c.Only
	case s.Session.Mode == "agent":
		what += fmt.Sprintf(" on %s of the inbox", specs(s.CountInbox(ralph.SpecPending)+s.CountInbox(ralph.SpecActive)))
	default:
		what += fmt.Sprintf(" on %s of the plan", text.Count(s.Plan.Unfinished(), "task"))
	}
	return record(ralph.Asked{Approval: ralph.Approval{ID: gateID(s), Kind: ralph.ApprovalStart, Text: what, AskedAt: now}})
}

// stepGate holds the next task of mode step until a person says yes to it
// ok is false when it may start. What a person assigned is approved with that,
// and what goes on after an answer was approved before.
func stepGate(s *ralph.State, next *ralph.Task, now time.Time) (Move, bool) {
	if s.Session.Auto != ralph.Stepwise || next.Run.Approved || chosen(next) {
		return nil, false
	}
	if s.ApprovalOfKind(ralph.ApprovalStep) != nil {
		return Hold{Why: "the next task waits for approval", Person: true}, true
	}
	text := "start " + describe(next) + "?"
	return record(ralph.Asked{Approval: ralph.Approval{ID: gateID(s), Kind: ralph.ApprovalStep, Task: next.ID, Text: text, Detail: next.Notes, AskedAt: now}}), true
}

// gateID is a new id of the form that all gates have. Policy has no randomness: the number of the
// newest fact is as good, and next to an open gate with that name the next one is.
func gateID(s *ralph.State) ralph.ApprovalID {
	for n := s.Seq; ; n++ {
		id := ralph.ApprovalID(fmt.Sprintf("g-%04x", n&0xffff))
		taken := false
		for _, g := range s.Approvals {
			taken = taken || g.ID == id
		}
		if !taken {
			return id
		}
	}
}
