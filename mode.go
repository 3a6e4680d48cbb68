package ralph

import (
	"slices"
	"time"

	"github.com/ralph-loop/ralph/internal/tally"
)

// rested keeps the time in which a person holds everything, a pause that is reached
// or a start that waits for approval, out of what counts as running: the stretch
// that runs now begins so much later.
func (s *State) rested(at time.Time) {
	x := &s.Session
	if x.RestAt.IsZero() {
		return
	}
	if idle := at.Sub(x.RestAt); idle > 0 {
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
	case s.heldAlone(), (mode == "paused" || mode == "waiting_user") && !s.InFlight():
		s.Session.RestAt = at
	}
}

// heldAlone reports whether all that is at work waits for a person: for an answer, between
// turns or in the middle of one, or as a thread that they paused. That is nobody's running
// time. What starts beside it is a fact, which ends the rest.
func (s *State) heldAlone() bool {
	waits := false
	for t := range s.Marked(tally.Active) {
		asked := func(g *Approval) bool { return g.Task == t.ID && g.InTurn == (t.Run.InFlight != 0) }
		if th := t.Run.Thread; (th == nil || th.Want != ThreadPause || t.Run.InFlight != 0) && !slices.ContainsFunc(s.Approvals, asked) {
			return false
		}
		waits = true
	}
	return waits
}

// Mode is the state of the engine, derived: a wanted pause with a step in
// flight is pausing, without one paused. A session whose engine died looks as it
// did then; the lock tells.
func (s *State) Mode() string {
	x := s.Session
	switch {
	case x.ID == "":
		return "idle"
	case x.Ended != "":
		return "completed"
	case x.Want == WantStop:
		return "stopping"
	case x.Want == WantPause && s.InFlight():
		return "pausing"
	case x.Want == WantPause:
		return "paused"
	case !s.working() && (x.Auto == Semi || s.gated(ApprovalStart) || s.gated(ApprovalStep)):
		return "waiting_user"
	}
	return "running"
}

// working reports whether an agent is at work or a person has chosen what comes next.
func (s *State) working() bool {
	busy := func(t *Task) bool { return t.Status == TaskActive || t.Run.Assigned && t.Status == TaskPending }
	if y := s.tallied(); y != nil {
		return y.Marked(tally.Active).Len()+y.Marked(tally.Wanted).Len() > 0 || slices.ContainsFunc(s.Stages, busy)
	}
	return slices.ContainsFunc(s.Plan.Tasks, busy) || slices.ContainsFunc(s.Stages, busy)
}

// InFlight reports whether a step is under way.
func (s *State) InFlight() bool {
	for range s.Marked(tally.Flying) {
		return true
	}
	return false
}

// Running is how long the session has run, waits between stretches and pauses left out.
// now counts only while the session is live.
func (s *State) Running(now time.Time) time.Duration {
	if s.Session.Live() {
		return s.Session.Elapsed + max(0, s.counted(now).Sub(s.Session.Since))
	}
	return s.Session.Elapsed
}

// counted is the instant up to which time counts as running: now, or where a person
// began to hold everything.
func (s *State) counted(now time.Time) time.Time {
	if at := s.Session.RestAt; !at.IsZero() && at.Before(now) {
		return at
	}
	return now
}
