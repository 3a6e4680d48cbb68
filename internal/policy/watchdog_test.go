package policy_test

import (
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/policy"
	"github.com/ralph-loop/ralph/internal/ralphtest/enginetest"
)

// Issue 14.3: what explains that nothing happens, and what does not. That waits with an end
// (backoffs, limits, delays) do is held by every run of the engine's own tests.
func TestWhatExplainsSilence(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	active := func(edit func(*ralph.Task)) *ralph.Task {
		x := &ralph.Task{ID: "t-1", Name: "one", Status: ralph.TaskActive}
		x.Run.Tree = "tree"
		if edit != nil {
			edit(x)
		}
		return x
	}
	idle := policy.Hold{Why: "nothing else is ready"}
	gate := &ralph.Approval{ID: "g-1", Kind: "question", Task: "t-1"}
	for name, x := range map[string]struct {
		tasks  []*ralph.Task
		edit   func(*ralph.State)
		hold   policy.Hold
		silent bool
	}{
		"no loop":              {[]*ralph.Task{active(nil)}, nil, idle, false},
		"no task at all":       {nil, nil, idle, false},
		"a step":               {[]*ralph.Task{active(func(x *ralph.Task) { x.Run.InFlight = 7 })}, nil, idle, true},
		"a wanted pause":       {[]*ralph.Task{active(nil)}, func(s *ralph.State) { s.Session.Want = ralph.WantPause }, idle, true},
		"a stop is no reason":  {[]*ralph.Task{active(nil)}, func(s *ralph.State) { s.Session.Want = ralph.WantStop }, idle, false},
		"a question":           {[]*ralph.Task{active(nil)}, func(s *ralph.State) { s.Approvals = []*ralph.Approval{gate} }, idle, true},
		"a question elsewhere": {[]*ralph.Task{active(nil), {ID: "t-2", Status: ralph.TaskActive}}, func(s *ralph.State) { s.Approvals = []*ralph.Approval{gate} }, idle, false},
		"a person chooses":     {nil, nil, policy.Hold{Why: "waiting for you", Person: true}, true},
		"a person does not choose what is at work": {[]*ralph.Task{active(nil)}, nil, policy.Hold{Why: "waiting for you", Person: true}, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := &ralph.State{Job: &ralph.Job{ID: "j"}, Session: ralph.Session{ID: "s", Mode: "agent"}}
			s.Plan.Tasks = x.tasks
			if x.edit != nil {
				x.edit(s)
			}
			if why := policy.SilentFor(s, x.hold, enginetest.Settings(), now); (why != "") != x.silent {
				t.Errorf("explained by %q", why)
			}
		})
	}
}

// It is told once for each silence, after StallAfter, and a step between ends a silence.
func TestWatchTellsOnce(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	s := &ralph.State{Seq: 41, Job: &ralph.Job{ID: "j"}, Session: ralph.Session{ID: "s", Mode: "agent"}}
	s.Plan.Tasks = []*ralph.Task{{ID: "t-1", Status: ralph.TaskActive}}
	var w policy.Watch
	var told *ralph.Stalled
	look := func(after time.Duration) (policy.Hold, *ralph.Stalled) {
		return w.Look(s, policy.Hold{Why: "busy"}, enginetest.Settings(), now.Add(after))
	}
	if hold, f := look(0); f != nil || !hold.Until.Equal(now.Add(policy.StallAfter)) {
		t.Errorf("first look: %+v, until %s", f, hold.Until)
	}
	s.StepAt = now.Add(time.Minute)
	if _, f := look(policy.StallAfter); f != nil {
		t.Errorf("a step began between: %+v", f)
	}
	for range 2 { // somebody wrote at the same moment, so the first was not taken
		_, f := look(2 * policy.StallAfter)
		if f == nil || f.Report != "ralph/.state/reports/stalled-42.json" || len(f.Active) != 1 {
			t.Fatalf("not told: %+v", f)
		}
		told = f
	}
	s.Stalled = told
	if hold, f := look(9 * policy.StallAfter); f != nil || !hold.Until.IsZero() {
		t.Errorf("told again: %+v, until %s", f, hold.Until)
	}
}
