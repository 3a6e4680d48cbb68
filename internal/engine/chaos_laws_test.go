package engine_test

import (
	"fmt"
	"slices"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/policy"
)

// probeTime is how long the first turn after a limit goes alone.
const probeTime = 10 * time.Second

// stormLaws folds the events and says what must never be.
func stormLaws(events []ralph.Event, c policy.Config) []string {
	x := &lawyer{c: c, told: map[ralph.TaskID]bool{}, warned: map[string]bool{}}
	for i, e := range events {
		x.e = e
		switch f := e.Fact.(type) {
		case ralph.SessionStarted:
			if !f.Resumed {
				x.warned = map[string]bool{}
			}
		case ralph.PlanStarted:
			for _, what := range []string{"cost", "tokens", "time", "iterations"} {
				delete(x.warned, "spec"+what)
			}
		case ralph.StepStarted:
			if turn, ok := f.Step.(ralph.Turn); ok {
				x.turn(f, turn)
			}
		case ralph.TurnEnded:
			delete(x.told, f.Task)
			if t := x.s.Task(f.Task); f.Limited() && t != nil {
				before := t.Run.ErrorTries
				x.after = append(x.after, func() {
					if t := x.s.Task(f.Task); t.Run.ErrorTries != before {
						x.say("a limit counted as an error")
					}
				})
			}
		case ralph.Retrying:
			if x.told[f.Task] {
				x.say("the retry of %s is told twice", f.Task)
			}
			x.told[f.Task] = true
		case ralph.TaskStarted:
			x.started(f)
		case ralph.AllLimited:
			x.allLimited(f, events[min(i+1, len(events)-1)])
		case ralph.BudgetWarned:
			key := f.Scope + f.What + string(f.Task)
			if x.warned[key] {
				x.say("warned twice: %s", f.Text)
			}
			x.warned[key] = true
		case ralph.TaskRetried, ralph.TaskRejected, ralph.TaskEdited:
			clear(x.told)
			for key := range x.warned {
				if len(key) > 4 && key[:4] == "task" {
					delete(x.warned, key)
				}
			}
		case ralph.AgentSwitched:
			if f.From == f.To || !slices.Contains(c.Agents, f.To) {
				x.say("from %s to %s", f.From, f.To)
			}
		}
		x.s.Apply(e)
		for _, check := range x.after {
			check()
		}
		x.after = nil
	}
	return x.bad
}

// lawyer folds events.
type lawyer struct {
	c      policy.Config
	s      ralph.State // before e
	e      ralph.Event
	bad    []string
	told   map[ralph.TaskID]bool
	warned map[string]bool
	after  []func() // to look at when e is folded
}

func (x *lawyer) say(format string, args ...any) {
	x.bad = append(x.bad, fmt.Sprintf("fact %d (%s): ", x.e.Seq, x.e.Fact.Kind())+fmt.Sprintf(format, args...))
}

// turn looks at the beginning of a turn.
func (x *lawyer) turn(f ralph.StepStarted, turn ralph.Turn) {
	s := &x.s
	switch {
	case s.Session.Want != ralph.WantRun:
		x.say("a turn begins although the engine shall %s", s.Session.Want)
	case x.c.ApproveStart && !s.Session.Approved:
		x.say("a turn begins before the start is approved")
	case s.Session.Auto.EndsAtError() && turn.Agent != x.c.Agents[0]:
		x.say("mode %s has one agent, and this is %s", s.Session.Auto, turn.Agent)
	}
	if x.c.GateScope == "session" && slices.ContainsFunc(s.Approvals, func(g *ralph.Approval) bool { return g.InTurn }) {
		x.say("a turn begins while an agent waits for an answer (gate.scope: session)")
	}
	if s.Task(f.Task).Run.InFlight != 0 {
		x.say("%s has a step under way", f.Task)
	}
	if turn.Timeout < 0 {
		x.say("a turn of %s", turn.Timeout)
	}
	l := s.Limit(turn.Agent)
	if l != nil && f.DecidedAt.Before(l.Until) {
		x.say("a turn on %s, which is at its limit until %s", turn.Agent, l.Until)
	}
	var others []*ralph.Task
	sum := turn.Reserve
	first := time.Time{}
	for _, t := range slices.Concat(s.Plan.Tasks, s.Stages) {
		if t.ID == f.Task || t.Run.TurnAt.IsZero() {
			continue
		}
		others = append(others, t)
		sum = sum.Add(t.Run.Reserved)
		if at := t.Run.TurnAt; l != nil && t.Run.Agent == turn.Agent && !at.Before(l.Until) && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	if !first.IsZero() && f.DecidedAt.Before(first.Add(probeTime)) {
		x.say("%s tries %s beside the turn that began %s ago", f.Task, turn.Agent, f.DecidedAt.Sub(first))
	}
	x.room(turn, sum, len(others))
}

// room: with other turns under way, no more begins than is left.
func (x *lawyer) room(turn ralph.Turn, sum ralph.Usage, others int) {
	s := &x.s
	for _, scope := range []struct {
		limit policy.Budget
		usage ralph.Usage
		turns int
	}{{x.c.Budget, s.Session.Usage, s.Session.Turns}, {x.c.SpecBudget, s.Plan.Usage, s.Plan.Turns}} {
		b := scope.limit
		left := b.Cost - scope.usage.Cost - (sum.Cost - turn.Reserve.Cost)
		if b.Cost > 0 && (turn.MaxCost == 0 || turn.MaxCost > max(left, 0)+0.02+1e-6) {
			x.say("may cost %f, %f is left", turn.MaxCost, left)
		}
		if others == 0 {
			continue // one alone is never held
		}
		switch {
		case b.Cost > 0 && scope.usage.Cost+sum.Cost > b.Cost+1e-9,
			b.Tokens > 0 && scope.usage.Input+scope.usage.Output+sum.Input > b.Tokens,
			b.Iterations > 0 && scope.turns+others+1 > b.Iterations:
			x.say("does not fit into %+v beside %d others: used %+v", b, others, scope.usage)
		}
	}
}

func (x *lawyer) started(f ralph.TaskStarted) {
	t := x.s.Task(f.ID)
	if x.s.Session.Want != ralph.WantRun && t.Kind != ralph.KindLand {
		x.say("%s starts although the engine shall %s", f.ID, x.s.Session.Want)
	}
	answered := t.Run.Last != nil && t.Run.Last.Signal.Kind == ralph.SignalHuman
	chosen := t.Run.Assigned || answered
	switch mode := x.s.Session.Auto; {
	case !t.IsBuild():
	case mode == ralph.Stepwise && !t.Run.Approved && !chosen:
		x.say("%s starts before it is approved", f.ID)
	case mode == ralph.Semi && !chosen:
		x.say("%s starts and nobody chose it", f.ID)
	}
}

func (x *lawyer) allLimited(f ralph.AllLimited, next ralph.Event) {
	pause, ok := next.Fact.(ralph.Control)
	if !ok || pause.Want != ralph.WantPause || pause.From != ralph.PauseLimits {
		x.say("is followed by %s", next.Fact.Kind())
	}
	for _, agent := range f.Agents {
		if l := x.s.Limit(agent); l == nil || !l.Hard || l.Until.Before(f.Until) {
			x.say("%s: %+v", agent, l)
		}
	}
}

// lost: every task that was there at the start is, and none is left without a reason.
func (x chaos) lost(s *ralph.State) []string {
	var bad []string
	if s.Session.Ended == "" || s.Session.Ended == ralph.ReasonInterrupted || s.Session.Ended == ralph.ReasonError {
		bad = append(bad, fmt.Sprintf("ended with %q", s.Session.Ended))
	}
	if len(s.Approvals) > 0 {
		bad = append(bad, fmt.Sprintf("gates are left: %+v", *s.Approvals[0]))
	}
	if x.Config.Session == "autopilot" && len(s.Plan.Tasks) < x.Tasks {
		bad = append(bad, fmt.Sprintf("%d tasks of %d", len(s.Plan.Tasks), x.Tasks))
	}
	for _, t := range s.Plan.Tasks {
		switch {
		case t.Status == ralph.TaskActive || t.Run.InFlight != 0 || !t.Run.TurnAt.IsZero() || t.Run.Reserved != (ralph.Usage{}):
			bad = append(bad, fmt.Sprintf("%s is still %s: %+v", t.ID, t.Status, t.Run))
		case t.Status == ralph.TaskPending && s.Session.Ended == ralph.ReasonComplete:
			bad = append(bad, fmt.Sprintf("%s was forgotten", t.ID))
		case t.Status.Ended() && t.Status != ralph.TaskDone && t.Run.Reason == "":
			bad = append(bad, fmt.Sprintf("%s is %s without a reason", t.ID, t.Status))
		case t.Run.Reason == "All agents rate limited" && t.Status.Ended():
			bad = append(bad, fmt.Sprintf("%s is %s by a limit", t.ID, t.Status))
		}
	}
	return bad
}
