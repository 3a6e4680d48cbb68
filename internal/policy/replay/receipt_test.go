package replay_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/policy"
	"github.com/ralph-loop/ralph/internal/policy/replay"
)

// E-006: one receipt is decided once more from what it recorded, and one that says
// something else is told apart. What is no receipt is not decided.
func TestRedecide(t *testing.T) {
	t.Parallel()
	now := time.Date(2025, 1, 20, 10, 30, 0, 0, time.UTC)
	c := policy.Config{Session: "construct", Agents: []string{"me"}, MaxIterations: 3, MaxRounds: 1, Parallel: 1, Strategy: "retry"}
	config, err := c.Encode()
	if err != nil {
		t.Fatal(err)
	}
	s := &ralph.State{}
	for _, f := range []ralph.Fact{
		ralph.SessionStarted{ID: "s-1", Mode: "construct", Config: config},
		ralph.TaskAdded{Task: ralph.Task{ID: "t-1", Name: "One", Status: ralph.TaskPending}},
		ralph.TaskStarted{ID: "t-1"},
	} {
		s.Apply(ralph.Event{Seq: s.Seq + 1, At: now, Fact: f})
	}
	step, why := policy.Next(s, "t-1", c, now)
	receipt := ralph.StepStarted{Task: "t-1", Step: step, Why: why, BasedOnSeq: s.Seq, DecidedAt: now}
	again, ok, err := replay.Redecide(s, receipt)
	if err != nil || !ok || !again.Same || again.Rules != 0 {
		t.Errorf("the very same: %+v, %v, %v", again, ok, err)
	}
	other := receipt
	other.Step = ralph.Check{}
	if again, ok, err := replay.Redecide(s, other); err != nil || !ok || again.Same || again.Now == "" {
		t.Errorf("a check was recorded: %+v, %v, %v", again, ok, err)
	}
	for _, f := range []ralph.Fact{ralph.TurnEnded{Task: "t-1"}, ralph.TaskEnded{ID: "t-1", Status: ralph.TaskSkipped}} {
		if _, ok, _ := replay.Redecide(s, f); ok {
			t.Errorf("%s is no receipt", f.Kind())
		}
	}
	s.Session.Config = json.RawMessage(`{"revision":`)
	if _, _, err := replay.Redecide(s, receipt); err == nil {
		t.Error("settings that cannot be read")
	}
}
