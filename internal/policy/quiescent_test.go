package policy_test

import (
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/policy"
	"github.com/ralph-loop/ralph/internal/ralphtest/enginetest"
)

// A paused engine is at rest when every task at work only waits: what a turn led to,
// checks, a commit, the end of the task, is done first (A-043, B-061).
func TestAtRest(t *testing.T) {
	t.Parallel()
	at := time.Date(2025, 1, 20, 10, 0, 0, 0, time.UTC)
	turn := func(kind ralph.SignalKind) ralph.Fact {
		f := enginetest.Says(kind, "")
		f.Task, f.Exit, f.Agent = "t-1", ralph.ExitOK, "claude"
		return f
	}
	failed := enginetest.Fails(ralph.ErrClassServer)
	failed.Task, failed.Agent = "t-1", "claude"
	for _, tt := range []struct {
		name  string
		facts []ralph.Fact
		want  bool
	}{
		{"nothing was started", nil, true},
		{"a task that waits for its first turn", []ralph.Fact{ralph.TaskStarted{ID: "t-1"}}, true},
		{"a turn without a signal", []ralph.Fact{ralph.TaskStarted{ID: "t-1"}, turn(ralph.SignalNone)}, true},
		{"checks are due", []ralph.Fact{ralph.TaskStarted{ID: "t-1"}, turn(ralph.SignalComplete)}, false},
		{"the end is due", []ralph.Fact{ralph.TaskStarted{ID: "t-1"}, turn(ralph.SignalComplete), ralph.ChecksRan{Task: "t-1", Pass: true}}, false},
		{"the end is there", []ralph.Fact{ralph.TaskStarted{ID: "t-1"}, turn(ralph.SignalComplete), ralph.ChecksRan{Task: "t-1", Pass: true}, ralph.TaskEnded{ID: "t-1", Status: ralph.TaskDone}}, true},
		{"red checks: the next turn waits", []ralph.Fact{ralph.TaskStarted{ID: "t-1"}, turn(ralph.SignalComplete), ralph.ChecksRan{Task: "t-1"}}, true},
		{"a question is due", []ralph.Fact{ralph.TaskStarted{ID: "t-1"}, turn(ralph.SignalHuman)}, false},
		{"a question is out", []ralph.Fact{ralph.TaskStarted{ID: "t-1"}, turn(ralph.SignalHuman), ralph.Asked{Approval: ralph.Approval{ID: "g-1", Kind: ralph.ApprovalQuestion, Task: "t-1"}}}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			raw, err := enginetest.Settings().Encode()
			if err != nil {
				t.Fatal(err)
			}
			var s ralph.State
			before := []ralph.Fact{
				ralph.SessionStarted{ID: "s-1", Mode: "agent", Config: raw},
				ralph.JobStarted{Job: "q-1", ID: "q-1", File: "a.md"},
				ralph.TaskAdded{Task: ralph.Task{ID: "t-1", Status: ralph.TaskPending}},
				ralph.Control{Want: ralph.WantPause},
			}
			for i, f := range append(before, tt.facts...) {
				s.Apply(ralph.Event{Seq: int64(i + 1), At: at, Fact: f})
			}
			if got := policy.Quiescent(&s, at.Add(time.Hour)); got != tt.want {
				t.Errorf("Quiescent is %v", got)
			}
		})
	}
}
