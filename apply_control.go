package ralph

import (
	"slices"
	"time"
)

// The kinds of gates that do not belong to a task at work: the whole start waits
// or the next task does.
const (
	GateStart = "start"
	GateStep  = "step"
)

// applyControl folds modes, backoffs, limits and warnings.
func (s *State) applyControl(e Event) {
	switch f := e.Fact.(type) {
	case ModeSet:
		s.Session.Auto, s.Session.Errors, s.Session.SpecErrors = f.Autonomy(), nil, 0
		if s.Session.Auto != Stepwise {
			s.dropGates(GateStep)
		}
	case Retrying:
		s.editTask(f.Task, func(t *Task) { t.Run.Told, t.Run.RetryAt = f.Attempt, f.Until })
	case AgentLimited:
		s.limited(f, e.At)
	case AgentSwitched:
		s.Session.Agent, s.Session.Fallback = f.To, ""
		switch f.Reason {
		case SwitchLimit:
			s.Session.Fallback = "rate-limited"
		case SwitchLogin:
			s.Session.Fallback = "not logged in"
		case SwitchNetwork:
			s.Session.Fallback = "without a connection"
		}
		s.editTask(f.Task, func(t *Task) {
			if t.Run.Agent = f.To; t.Run.Iterations == 0 {
				t.Run.Session = "" // one that was taken over is another agent's
			}
		})
	case BudgetWarned:
		s.alerted(f.Scope, f.Task, BudgetAlert(f.What))
	case ContextWarned:
		s.editTask(f.Task, func(t *Task) { t.Run.Alerts = append(slices.Clone(t.Run.Alerts), AlertContext) })
	case Compacted:
		s.compacted(f)
	default:
		s.applyGate(e)
	}
}

// AlertContext marks that the warning of a filling window is out; a new session of
// the agent takes it back.
const AlertContext = "context"

// BudgetAlert marks that the warning of a budget is out.
func BudgetAlert(what string) string { return "budget." + what }

func (s *State) alerted(scope string, task TaskID, key string) {
	switch scope {
	case "session":
		s.Session.Alerts = append(slices.Clone(s.Session.Alerts), key)
	case "spec":
		s.Plan.Alerts = append(slices.Clone(s.Plan.Alerts), key)
	case "task":
		s.editTask(task, func(t *Task) { t.Run.Alerts = append(slices.Clone(t.Run.Alerts), key) })
	}
}

// Spent is what the compaction used. Without an agent that was asked it cost nothing.
func (f *Compacted) Spent() Usage {
	u := f.Usage
	if f.How == CompactHandover && u == (Usage{}) {
		u.Known = true
	}
	return u.counted()
}

// compacted: what it cost counts like a turn's, but it is no iteration.
func (s *State) compacted(f Compacted) {
	usage := f.Spent()
	s.Session.Usage = s.Session.Usage.Add(usage)
	s.Plan.Usage = s.Plan.Usage.Add(usage)
	s.count(func(t *Totals) { t.Usage = t.Usage.Add(usage) })
	s.editTask(f.Task, func(t *Task) {
		r := &t.Run
		r.InFlight, r.Context, r.Agent = 0, f.After, f.Agent
		r.Spent += f.Took
		r.Usage = r.Usage.Add(usage)
		r.Shortened = r.Iterations
		r.Alerts = slices.DeleteFunc(slices.Clone(r.Alerts), func(a string) bool { return a == AlertContext })
		r.Session, r.Handover = f.Session, f.Summary
		if f.How == CompactHandover {
			r.Session = ""
		}
	})
}

func (s *State) control(f Control) {
	x := &s.Session
	if f.Want == WantRun && f.From == "" {
		x.TaskFailures, x.Streak, x.Bad = 0, nil, nil // a person has looked at them (B-064, X-50)
		s.endLimits(x.Pause != PauseLimits)
	}
	x.Want, x.Cause, x.Now, x.Pause, x.Ends = f.Want, f.Cause, f.Now, "", f.Ends
	if f.Want == WantPause {
		x.Pause = f.From
		if x.Pause == "" {
			x.Pause = PausePerson
		}
	}
}

// limited folds a limit. A turn that began before it and meets it later knows less:
// it neither shortens nor softens what is known.
func (s *State) limited(f AgentLimited, at time.Time) {
	l := Limit{Agent: f.Agent, Task: f.Task, Since: f.Since, Until: f.Until, Hard: f.Hard, Message: f.Message}
	if l.Since.IsZero() {
		l.Since = at
	}
	known := s.Limit(f.Agent)
	if f.Class != "" {
		l.Class, l.Login, l.First = f.Class, f.Login, l.Since
		if known != nil && known.Class == f.Class {
			l.First = known.First
		}
	}
	if known != nil && !known.Over(l.Since) {
		l.Hard = l.Hard || known.Hard
		if known.Until.After(l.Until) {
			l.Until, l.Class, l.Login, l.First = known.Until, known.Class, known.Login, known.First
		}
	}
	s.Limits = slices.DeleteFunc(slices.Clone(s.Limits), func(x Limit) bool { return x.Agent == f.Agent })
	s.Limits = append(s.Limits, l)
}

// agentWorks takes away the limit of an agent that did a turn which began after it.
func (s *State) agentWorks(agent string, began time.Time) {
	if l := s.Limit(agent); l != nil && !l.Until.After(began) {
		s.Limits = slices.DeleteFunc(slices.Clone(s.Limits), func(l Limit) bool { return l.Agent == agent })
	}
}

// endLimits ends all limits, or only those of agents that are away: a person who resumes
// knows better. They are not forgotten before an agent has worked, so that one turn tries
// alone.
func (s *State) endLimits(onlyAway bool) {
	s.Limits = slices.Clone(s.Limits)
	for i, l := range s.Limits {
		if !onlyAway || l.Away() {
			s.Limits[i] = Limit{Agent: l.Agent, Task: l.Task, Since: l.Since, Until: l.Since, Hard: l.Hard, Message: l.Message}
		}
	}
	if !onlyAway {
		s.forgetHits()
	}
}

// forgetHits begins all counters of limits anew: a person has started again.
func (s *State) forgetHits() {
	s.editTasks(func(t *Task) bool {
		hit := len(t.Run.LimitHits) > 0
		t.Run.LimitHits = nil
		return hit
	})
}

// unapprove takes back what was approved for an earlier start: each one asks anew.
func (s *State) unapprove() {
	s.dropGates(GateStart, GateStep)
	s.editTasks(func(t *Task) bool {
		was := t.Run.Approved && t.IsBuild()
		t.Run.Approved = t.Run.Approved && !was
		return was
	})
}

func (s *State) dropGates(kinds ...string) {
	s.Gates = slices.DeleteFunc(slices.Clone(s.Gates), func(g *Gate) bool { return slices.Contains(kinds, g.Kind) })
}

// dropStepGate takes back the question whether a task may start: it has started
// (assigned by a person), or it is another task than was asked about.
func (s *State) dropStepGate(id TaskID) {
	s.Gates = slices.DeleteFunc(slices.Clone(s.Gates), func(g *Gate) bool { return g.Kind == GateStep && g.Task == id })
}

// gated reports whether a gate of the kind is open.
func (s *State) gated(kind string) bool {
	return slices.ContainsFunc(s.Gates, func(g *Gate) bool { return g.Kind == kind })
}

// GateOf returns the open gate of a kind, nil when there is none.
func (s *State) GateOf(kind string) *Gate {
	i := slices.IndexFunc(s.Gates, func(g *Gate) bool { return g.Kind == kind })
	if i < 0 {
		return nil
	}
	return s.Gates[i]
}

// Turning counts the turns under way.
func (s *State) Turning() int {
	n := 0
	for t := range s.Work() {
		if !t.Run.TurnAt.IsZero() {
			n++
		}
	}
	return n
}

// Reserved is what the turns under way may still use.
func (s *State) Reserved() Usage {
	sum := Usage{Known: true}
	for t := range s.Work() {
		if t.Run.Reserved != (Usage{}) {
			sum = sum.Add(t.Run.Reserved)
		}
	}
	return sum
}

// rested keeps the time in which a person holds everything, a pause that is reached
// or a start that waits for approval, out of what counts as running: the stretch
// that runs now begins so much later. What a dead engine left is counted up
// to its last fact.
func (s *State) rested(e Event, before time.Time) {
	x := &s.Session
	if x.RestAt.IsZero() {
		return
	}
	until := e.At
	switch f := e.Fact.(type) {
	case SessionStarted:
		until = before
	case JobEnded:
		if f.Cut {
			until = before
		}
	}
	if idle := until.Sub(x.RestAt); idle > 0 {
		x.Since = x.Since.Add(idle)
		s.editJob(func(j *Job) { j.Since = j.Since.Add(idle) })
	}
	x.RestAt = time.Time{}
}

// restFrom notes since when nothing goes on but a person's making up their mind.
func (s *State) restFrom(at time.Time) {
	if !s.Session.Live() {
		return
	}
	switch mode := s.Mode(); {
	case s.askedAlone(), (mode == "paused" || mode == "waiting_user") && !s.inFlight():
		s.Session.RestAt = at
	}
}

// askedAlone reports whether all that is at work waits for a person's answer, between
// turns or in the middle of one: that is nobody's running time. What starts beside
// it is a fact, which ends the rest.
func (s *State) askedAlone() bool {
	if len(s.Gates) == 0 {
		return false
	}
	waits := false
	for t := range s.Work() {
		if t.Status != TaskActive {
			continue
		}
		asked := func(g *Gate) bool { return g.Task == t.ID && g.InTurn == (t.Run.InFlight != 0) }
		if !slices.ContainsFunc(s.Gates, asked) {
			return false
		}
		waits = true
	}
	return waits
}
