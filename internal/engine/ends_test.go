package engine_test

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/policy"
	"github.com/ralph-loop/ralph/internal/ralphtest/enginetest"
)

// F-13, B-002: what depends on a task that the strategy skipped never starts; when a
// person leaves it out, it does.
func TestSkippedAndItsDependents(t *testing.T) {
	t.Parallel()
	for _, person := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			w := pilotWorld(t, 2, func(c *policy.Config) { c.Strategy = "skip" })
			bad := w.mem.State().Plan.Tasks[0].ID
			after := enginetest.Task("x.md", "after")
			after.Deps = []ralph.TaskID{bad}
			w.record(ralph.TaskAdded{Task: after})
			if person {
				w.record(ralph.TaskEnded{ID: bad, Status: ralph.TaskSkipped})
			}
			w.script.Agent = func(c enginetest.Call) []ralph.Fact {
				if c.Task.ID == bad {
					return []ralph.Fact{enginetest.Fails(ralph.ErrClassServer)}
				}
				return willing(c)
			}
			reason := w.run()
			s := w.mem.State()
			want, status := ralph.ReasonFailed, ralph.TaskPending
			detail := fmt.Sprintf("1 skipped after an error (%s), 1 can never start (%s waits for %[1]s)", bad, after.ID)
			if person {
				want, status, detail = ralph.ReasonComplete, ralph.TaskDone, "every other task is done and merged; left out by a person: "+string(bad)
			}
			if x := s.Task(after.ID); reason != want || s.Session.Detail != detail || x.Status != status {
				t.Errorf("ended with %s (%s), the one after is %s", reason, s.Session.Detail, x.Status)
			}
		})
	}
}
