package engine_test

import (
	"fmt"
	"slices"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/policy/replay"
)

// laws are what holds of every night, whatever went wrong in it.
func (n *night) laws(reason ralph.Reason) []string {
	var bad []string
	say := func(format string, args ...any) { bad = append(bad, fmt.Sprintf(format, args...)) }
	if err := honest(n.w.mem); err != nil {
		say("%v", err)
	}
	if out, err := replay.Verify(slices.Values(n.w.mem.Events())); err != nil || len(out.Broken) > 0 {
		say("verify: %v, %v", err, out.Broken)
	}
	bad = append(bad, n.outcomes()...)
	bad = append(bad, n.once()...)
	bad = append(bad, n.silences()...)
	if s := n.w.mem.State(); s.Session.Ended == "" || s.Session.Ended != reason {
		say("it ended with %q, %q", s.Session.Ended, reason)
	}
	return bad
}

// outcomes: all that is not hopeless has landed; what is hopeless says why.
func (n *night) outcomes() []string {
	var bad []string
	s := n.w.mem.State()
	hopeless := func(name string) bool { return name == "loops" || name == "hangs" }
	if n.w.c.Session == "agent" {
		for i, x := range s.Inbox {
			want := ralph.SpecDone
			if hopeless(n.name(i)) {
				want = ralph.SpecFailed
			}
			if x.Status != want || want == ralph.SpecFailed && x.Error == "" {
				bad = append(bad, fmt.Sprintf("%s is %s (%s), want %s", x.File, x.Status, x.Error, want))
			}
		}
		if got, want := len(n.w.repo.Commits), n.good(); got != want {
			bad = append(bad, fmt.Sprintf("%d commits, want %d", got, want))
		}
		return bad
	}
	landed := n.w.script.Git.Landed()
	for _, t := range s.Plan.Tasks {
		lost := hopeless(t.Name)
		switch on := slices.Contains(landed, t.ID); {
		case !lost && (t.Status != ralph.TaskDone || !on):
			bad = append(bad, fmt.Sprintf("%s is %s (%s), landed %v", t.Name, t.Status, t.Run.Reason, on))
		case lost && (!t.Status.Ended() || t.Status == ralph.TaskDone || t.Run.Reason == "" || on):
			bad = append(bad, fmt.Sprintf("%s is %s (%s), landed %v", t.Name, t.Status, t.Run.Reason, on))
		}
	}
	return append(bad, n.w.script.Git.Bad...)
}

func (n *night) good() int {
	good := n.tasks
	for i := range n.tasks {
		if name := n.name(i); name == "loops" || name == "hangs" {
			good--
		}
	}
	return good
}

// once: nothing is done twice, and only work is paid for: no limit, no cut, no login.
func (n *night) once() []string {
	var bad []string
	var s ralph.State
	paid, done := 0.0, map[ralph.TaskID]int{}
	for _, e := range n.w.mem.Events() {
		switch f := e.Fact.(type) {
		case ralph.StepStarted:
			if _, turn := f.Step.(ralph.Turn); turn && done[f.Task] > 0 {
				bad = append(bad, fmt.Sprintf("fact %d: a turn of %s, which is done", e.Seq, f.Task))
			}
		case ralph.TurnEnded:
			paid += f.Usage.Cost
			if f.Err != nil && f.Err.OfAgent() && f.Usage.Cost != 0 {
				bad = append(bad, fmt.Sprintf("fact %d: %s costs %f", e.Seq, f.Err.Class, f.Usage.Cost))
			}
		case ralph.Retrying:
			if t := s.Task(f.Task); t != nil && t.Name != "hangs" {
				bad = append(bad, fmt.Sprintf("fact %d: a retry of %s is counted", e.Seq, f.Task))
			}
		case ralph.TaskEnded:
			if t := s.Task(f.ID); f.Status == ralph.TaskDone && t != nil && t.IsBuild() {
				if done[f.ID]++; done[f.ID] > 1 {
					bad = append(bad, fmt.Sprintf("fact %d: %s is done twice", e.Seq, f.ID))
				}
			}
		}
		s.Apply(e)
	}
	if got := s.Totals.Usage.Cost; got < paid-1e-6 || got > paid+1e-6 {
		bad = append(bad, fmt.Sprintf("%f is counted, turns cost %f", got, paid))
	}
	return bad
}

// silences: whenever nothing was done for a while, the record says why: a pause with its
// time, an agent that cannot be used, an engine that was gone, or the machine's own sleep.
func (n *night) silences() []string {
	var bad []string
	var s ralph.State
	for _, e := range n.w.mem.Events() {
		_, begins := e.Fact.(ralph.SessionStarted)
		quiet := e.At.Sub(s.At)
		if s.Seq > 0 && quiet > 2*time.Minute && !begins && !n.slept(s.At, e.At) && n.unexplained(&s, s.At) {
			bad = append(bad, fmt.Sprintf("fact %d: nothing for %s before it (%s), and nothing says why: %s", e.Seq, quiet, e.Fact.Kind(), s.Mode()))
		}
		s.Apply(e)
	}
	return bad
}

func (n *night) slept(from, to time.Time) bool {
	return slices.ContainsFunc(n.ills, func(i ill) bool {
		at := n.began.Add(i.From)
		return i.Kind == "sleep" && at.Before(to) && at.Add(i.For).After(from)
	})
}

func (n *night) unexplained(s *ralph.State, now time.Time) bool {
	for t := range s.Work() {
		if t.Status == ralph.TaskActive && t.Run.InFlight != 0 {
			return false
		}
	}
	for _, agent := range n.w.c.Agents {
		if l := s.Limit(agent); l != nil && !l.Over(now) && l.Message != "" {
			return false
		}
	}
	return s.Session.Want != ralph.WantPause && len(s.Approvals) == 0
}
