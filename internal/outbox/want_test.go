package outbox

import (
	"fmt"
	"slices"
	"testing"

	"github.com/ralph-loop/ralph"
)

// C-072, C-073, C-074: how things stand is sent after every fifth task, when the spec is done, and when the session
// ends, also after a stop; with every_tasks 0 tasks alone are no reason. A task that goes round again counts for nothing.
func TestWhenItemsAreTold(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		every   int
		stopped bool
		want    []string
	}{
		{"every five tasks", 5, false, []string{"start", "task 5", "task 10", "spec", "session"}},
		{"never by tasks", 0, false, []string{"start", "spec", "session"}},
		{"a stop in the middle of the spec", 5, true, []string{"start", "task 5", "task 10", "session"}},
	} {
		s := &ralph.State{}
		var got []string
		tell := func(as string, f ralph.Fact) {
			e := ralph.Event{Seq: s.Seq + 1, Fact: f}
			s.Apply(e)
			for _, w := range (Options{Every: tt.every}).wants(e, s) {
				if w.status == "" || w.spec != "a.md" {
					t.Errorf("%s: %s is told %+v", tt.name, as, w)
				}
				got = append(got, as)
			}
		}
		tell("", ralph.SessionStarted{ID: "s", Mode: "agent"})
		tell("", ralph.PlanStarted{File: "a.md"})
		tell("start", ralph.JobStarted{Job: "j", File: "a.md"})
		for n := 1; n <= 12; n++ {
			id := ralph.TaskID(fmt.Sprintf("t-%02d", n))
			tell("", ralph.TaskAdded{Task: ralph.Task{ID: id, Name: string(id), Kind: ralph.KindBuild}})
			tell("", ralph.TaskStarted{ID: id})
			if n == 6 {
				tell("again", ralph.TaskEnded{ID: id, Status: ralph.TaskPending, Retry: true})
				tell("", ralph.TaskStarted{ID: id})
			}
			tell(fmt.Sprintf("task %d", n), ralph.TaskEnded{ID: id, Status: ralph.TaskDone})
		}
		reason := ralph.ReasonEmpty
		if tt.stopped {
			tell("", ralph.Control{Want: ralph.WantStop, Cause: "me"})
			reason = ralph.ReasonInterrupted
		} else {
			tell("spec", ralph.JobEnded{Status: ralph.SpecDone})
		}
		tell("session", ralph.SessionEnded{Reason: reason})
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: it is told at %v, want %v", tt.name, got, tt.want)
		}
	}
}
