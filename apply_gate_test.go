package ralph_test

import (
	"slices"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
)

// A signal of a turn that is over is of no later one, whatever ended it; how far the
// task is stays.
func TestSignalledEndsWithItsTurn(t *testing.T) {
	t.Parallel()
	blocked := ralph.Signal{Kind: ralph.SignalBlocked, Text: "no key"}
	for name, end := range map[string]ralph.Fact{
		"its end":      ralph.TurnEnded{Task: "t-1"},
		"the next":     ralph.StepStarted{Task: "t-1", Step: ralph.Turn{}},
		"a new engine": ralph.SessionStarted{ID: "s-2"},
	} {
		before := []ralph.Fact{
			ralph.TaskAdded{Task: ralph.Task{ID: "t-1"}},
			ralph.TaskStarted{ID: "t-1"},
			ralph.Signalled{Task: "t-1", Signal: ralph.Signal{Kind: ralph.SignalProgress, Percent: 40, Text: "half"}},
			ralph.Signalled{Task: "t-1", Signal: blocked},
		}
		s := fold(before...)
		r := s.Task("t-1").Run
		if r.Signalled != blocked || r.Progress != 40 || r.Note != "half" {
			t.Errorf("%s: before: %+v", name, r)
		}
		s = fold(append(before, end)...)
		if r = s.Task("t-1").Run; r.Signalled != (ralph.Signal{}) || r.Progress != 40 {
			t.Errorf("%s: after: %+v", name, r)
		}
	}
}

// Who waits at a hook of a session of a person's own is none of the engine's business:
// its starts, jobs and turns take nothing from it (C-002, X-22).
func TestGatesOutsideStay(t *testing.T) {
	t.Parallel()
	before := []ralph.Fact{
		ralph.TaskAdded{Task: ralph.Task{ID: "t-1"}},
		ralph.Asked{Approval: ralph.Approval{ID: "g-own", Kind: ralph.ApprovalOperation, InTurn: true, By: "hook", Deadline: start.Add(time.Hour)}},
		ralph.Asked{Approval: ralph.Approval{ID: "g-turn", Kind: ralph.ApprovalOperation, InTurn: true, Task: "t-1"}},
		ralph.SessionStarted{ID: "s-1"},
		ralph.JobStarted{Job: "q-1"},
		ralph.StepStarted{Task: "t-1", Step: ralph.Turn{}},
		ralph.TurnEnded{Task: "t-1"},
		ralph.JobEnded{Status: ralph.SpecDone},
	}
	s := fold(before...)
	if len(s.Approvals) != 1 || s.Approvals[0].ID != "g-own" {
		t.Fatalf("open: %+v", s.Approvals)
	}
	facts, err := s.Approve("g-own")
	if err != nil || len(facts) != 1 {
		t.Fatal(facts, err)
	}
	s = fold(append(before, facts...)...)
	if slices.ContainsFunc(s.Approvals, func(g *ralph.Approval) bool { return g.ID == "g-own" }) {
		t.Error("answered, and open")
	}
}
