package ralph

import (
	"fmt"
	"slices"
)

// Steer says what a person wants of the engine. What does not follow from the state
// that it is in is refused, with both named; but a stop is heard in every
// state, and a pause that is not reached yet can be taken back.
func (s *State) Steer(want Want, cause string) ([]Fact, error) {
	x := &s.Session
	if !x.Live() {
		return nil, &Refusal{Why: "no session is running: " + s.Mode() + " cannot go to " + target(want), Hint: "`ralph agent` or `ralph autopilot` starts one", Kind: ErrUsage}
	}
	refuse := func(hint string) ([]Fact, error) {
		return nil, &Refusal{Why: fmt.Sprintf("the engine is %s: it cannot go to %s", s.Mode(), target(want)), Hint: hint, Kind: ErrUsage}
	}
	switch {
	case x.Want == WantStop && want == WantStop:
		return refuse("it ends when the current iterations do; `ralph stop --now` ends it at once")
	case x.Want == WantStop:
		return refuse("start it again when it has ended: it goes on where it was")
	case want == WantPause && x.Auto == Manual:
		return refuse("mode manual runs at full speed without a pause (A-093): `ralph stop`, or first `ralph mode autopilot`")
	case want == WantPause && x.Want == WantPause && x.Pause != PauseLimits: // that one ends by itself
		return refuse("`ralph resume` lets it go on")
	case want == WantRun && x.Want != WantPause && slices.ContainsFunc(s.Limits, Limit.Away): // others work meanwhile: it is asked again
	case want == WantRun && x.Want != WantPause && len(s.Gates) > 0:
		return refuse("what waits are gates: `ralph gates`")
	case want == WantRun && x.Want != WantPause:
		return refuse("it is not paused")
	}
	return []Fact{Control{Want: want, Cause: cause}}, nil
}

// target is the state that a command leads to.
func target(want Want) string {
	switch want {
	case WantPause:
		return "paused"
	case WantStop:
		return "stopping"
	}
	return "running"
}

// StopNow says that the engine shall end at once, agents in the middle of their
// turn as well (B-074); what they left is put away or kept.
func (s *State) StopNow(cause string) ([]Fact, error) {
	if s.Session.Want != WantStop {
		if _, err := s.Steer(WantStop, cause); err != nil {
			return nil, err
		}
	} else if !s.Session.Live() {
		return s.Steer(WantStop, cause)
	}
	return []Fact{Control{Want: WantStop, Cause: cause, Now: true}}, nil
}

// SetMode switches the mode of a running session (B-092).
func (s *State) SetMode(mode Autonomy) ([]Fact, error) {
	switch {
	case !slices.Contains(Autonomies(), mode):
		return nil, &Refusal{Why: fmt.Sprintf("there is no mode %q", mode), Hint: "use manual, step, semi or autopilot", Kind: ErrUsage}
	case !s.Session.Live():
		return nil, &Refusal{Why: "no session is running: " + s.Mode() + " cannot go to mode " + string(mode), Hint: "`ralph autopilot --mode " + string(mode) + "` starts one; `mode` in ralph/config.yaml is for every start", Kind: ErrUsage}
	case s.Session.Want == WantStop:
		return nil, &Refusal{Why: fmt.Sprintf("the engine is %s: it cannot go to mode %s", s.Mode(), mode), Hint: "choose it at the next start: --mode " + string(mode), Kind: ErrUsage}
	case s.Session.Auto == mode:
		return nil, &Refusal{Why: "it is in mode " + string(mode) + " already", Kind: ErrUsage}
	}
	return []Fact{ModeSet{Mode: mode}}, nil
}

// Resumable reports whether there is something to go on with: the session was cut, a
// person ended it, or its machinery broke; but manual and step keep nothing
// . While its engine lives that is the engine's own business: only
// the lock tells.
func (s *Session) Resumable() bool {
	cut := s.Live() || s.Ended == ReasonInterrupted || s.Ended == ReasonError
	return s.ID != "" && cut && !s.Auto.EndsAtError()
}

// Resumable reports whether a start in a mode goes on with the newest session.
// only is the spec of a mode that works on one; file says whether agent mode left its
// session file.
func (s *State) Resumable(mode, only string, file bool) bool {
	last := s.Session
	if last.Mode != mode || !last.Resumable() {
		return false
	}
	switch mode {
	case "agent":
		return file
	case "autopilot": // on the same plan; another one since then begins a session of its own
		return s.Job == nil || s.Job.File == s.Plan.File
	}
	if s.Job == nil { // it was given back when a person ended the session
		return mode == "construct" && s.Plan.File == only && s.Plan.Unfinished() > 0
	}
	return last.Live() && s.Job.File == only
}

// CanResume reports whether the next start of the same kind goes on with the newest
// session: what every surface offers and every start does.
func (s *State) CanResume(file bool) bool {
	mode, only := s.Session.Mode, ""
	if mode == "construct" {
		only = s.SpecFile()
	}
	return mode != "plan" && s.Resumable(mode, only, file)
}

// NextStart says what the next start of the same kind does.
func (s *State) NextStart(file bool) string {
	mode := s.Session.Mode
	switch {
	case mode == "":
		return "`ralph agent` starts one"
	case mode == "plan", s.CanResume(file):
		return fmt.Sprintf("`ralph %s` goes on where it was", mode)
	case s.Session.Auto.EndsAtError():
		return fmt.Sprintf("mode %s keeps no session: `ralph %s` begins a new one on what is left", s.Session.Auto, mode)
	}
	return fmt.Sprintf("`ralph %s` begins a new session on what is left", mode)
}
