package policy_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/policy"
	"github.com/ralph-loop/ralph/internal/ralphtest/enginetest"
)

// crowded is a state with n ready tasks, some of them with tags; with deps, each
// tenth waits for the one before it.
func crowded(n int, deps bool) (*ralph.State, policy.Config) {
	c := enginetest.Settings()
	c.Session, c.Isolated, c.Parallel = "autopilot", true, 3
	s := &ralph.State{Job: &ralph.Job{ID: "a-1"}, Session: ralph.Session{ID: "s-1", Mode: "autopilot", Want: ralph.WantRun}}
	s.Stages = []*ralph.Task{{ID: "prepare:a-1", Kind: ralph.KindPrepare, Status: ralph.TaskDone}}
	s.Plan.Integration = &ralph.Integration{Branch: "ralph/merged-1", Base: "main", Tip: "a", Landed: "a"}
	for i := range n {
		t := &ralph.Task{ID: ralph.TaskID(fmt.Sprintf("t-%d", i)), Name: "x", Status: ralph.TaskPending}
		if i%7 == 3 {
			t.Tags = []string{"quick-win"}
		}
		if deps && i%10 == 9 {
			t.Deps = []ralph.TaskID{s.Plan.Tasks[i-1].ID}
		}
		s.Plan.Tasks = append(s.Plan.Tasks, t)
	}
	s.Apply(ralph.Event{Seq: 1, Fact: ralph.Noted{Text: "x"}}) // where facts are folded the tasks are counted
	return s, c
}

// BenchmarkSelect is one choice among many ready tasks; the goal is 50 ms for 100,000.
func BenchmarkSelect(b *testing.B) {
	for _, n := range []int{1000, 100_000} {
		for _, deps := range []bool{false, true} {
			b.Run(fmt.Sprintf("tasks=%d/deps=%t", n, deps), func(b *testing.B) {
				s, c := crowded(n, deps)
				b.ReportAllocs()
				for b.Loop() {
					if _, ok := policy.Schedule(s, nil, c, time.Time{}).(policy.Record); !ok {
						b.Fatal("nothing was chosen")
					}
				}
			})
		}
	}
}
