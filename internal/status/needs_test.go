package status_test

import (
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/status"
)

// E-088: where threads stopped, what is named is that they go on past what stopped them, not another try.
func TestNeedsNameWhatHelps(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 25, 9, 0, 0, 0, time.UTC)
	s := &ralph.State{}
	add := func(facts ...ralph.Fact) {
		for _, f := range facts {
			s.Seq++
			s.Apply(ralph.Event{Seq: s.Seq, At: now, By: "engine", Fact: f})
		}
	}
	add(ralph.SessionStarted{ID: "s-1", Mode: ralph.ModeAuto, Config: []byte(`{}`)})
	facts, err := s.AddThread(ralph.NewThread{ID: "t-1a2b", Prompt: "make the tests pass", Limits: ralph.ThreadLimits{Cost: 2}})
	if err != nil {
		t.Fatal(err)
	}
	add(facts...)
	add(ralph.TaskAdded{Task: ralph.Task{ID: "t-2b3c", Name: "an ordinary task"}})
	stopped := ralph.ThreadDecision{Turn: 1, Action: ralph.ThenStop, Stop: ralph.StopCost, Reason: "too much"}
	add(ralph.TaskStarted{ID: "t-1a2b"}, ralph.Decided{Task: "t-1a2b", Decision: stopped}, ralph.TaskEnded{ID: "t-1a2b", Status: ralph.TaskTimeout})
	if got, want := s.Task("t-1a2b").Recovery(), "[[thread-continue t-1a2b --past budget.cost=<more>]]"; got != want {
		t.Errorf("what helps the thread is %q, want %q", got, want)
	}
	for _, tt := range []struct {
		streak   []ralph.TaskID
		has, not string
	}{
		{[]ralph.TaskID{"t-1a2b"}, "ralph continue <thread>, then ralph resume", "retry"},
		{[]ralph.TaskID{"t-2b3c"}, "ralph task retry <task>, then ralph resume", "continue"},
		{[]ralph.TaskID{"t-2b3c", "t-1a2b"}, "ralph continue <thread> or ralph task retry <task>, then ralph resume", "nothing else"},
	} {
		x := s.Clone()
		x.Session.Want, x.Session.Pause, x.Session.Streak, x.Session.TaskFailures = ralph.WantPause, ralph.PauseFailures, tt.streak, len(tt.streak)
		needs := status.Needs(x, status.Engine{Alive: true}, now)
		if len(needs) != 1 || !strings.Contains(needs[0].Command, tt.has) || strings.Contains(needs[0].Command, tt.not) {
			t.Errorf("%v: %+v, want %q", tt.streak, needs, tt.has)
		}
	}
}
