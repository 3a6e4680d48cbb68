package ralph_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/ralph-loop/ralph"
)

// F-33, B-101: tasks that failed are counted, not how often: whatever ends, is tried again,
// rejected or rolled back, the counts of the session are those of `ralph query tasks`.
func TestCountsAreThoseOfTasks(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		s := fold(ralph.SessionStarted{ID: "s-1", Mode: "autopilot"}, ralph.PlanStarted{File: "a.md"})
		ids := []ralph.TaskID{"t-1", "t-2", "t-3"}
		for _, id := range ids {
			apply(s, ralph.TaskAdded{Task: task(string(id))})
		}
		for range rapid.IntRange(1, 30).Draw(rt, "facts") {
			id := rapid.SampledFrom(ids).Draw(rt, "task")
			status := rapid.SampledFrom([]ralph.TaskStatus{ralph.TaskDone, ralph.TaskFailed, ralph.TaskTimeout, ralph.TaskBlocked, ralph.TaskPending}).Draw(rt, "status")
			switch rapid.SampledFrom([]string{"ends", "retried", "rejected", "rolled back", "resumed"}).Draw(rt, "what") {
			case "ends":
				if s.Task(id).Status == ralph.TaskPending {
					apply(s, ralph.TaskStarted{ID: id}, ralph.TaskEnded{ID: id, Status: status})
				}
			case "retried":
				apply(s, ralph.TaskRetried{ID: id})
			case "rejected":
				apply(s, ralph.TaskRejected{ID: id})
			case "rolled back":
				apply(s, ralph.TaskRolledBack{ID: id})
			case "resumed":
				apply(s, ralph.SessionStarted{ID: "s-1", Mode: "autopilot", Resumed: true})
			}
			for status, n := range map[ralph.TaskStatus]int{
				ralph.TaskDone: s.Session.Count.TasksDone, ralph.TaskFailed: s.Session.Count.TasksFail, ralph.TaskTimeout: s.Session.Count.TasksOut,
			} {
				if want := s.CountTasks(status); n != want || s.Totals.TasksDone != s.Session.Count.TasksDone {
					rt.Fatalf("%s: counted %d, there are %d; of all sessions %d done", status, n, want, s.Totals.TasksDone)
				}
			}
		}
	})
}

// F-33: what an earlier session counted stays its own; of all sessions the task counts once.
func TestCountsOfSessions(t *testing.T) {
	t.Parallel()
	s := fold(ralph.SessionStarted{ID: "s-1"}, ralph.PlanStarted{File: "a.md"}, ralph.TaskAdded{Task: task("t-1")},
		ralph.TaskStarted{ID: "t-1"}, ralph.TaskEnded{ID: "t-1", Status: ralph.TaskFailed}, ralph.SessionEnded{},
		ralph.SessionStarted{ID: "s-2"}, ralph.TaskRetried{ID: "t-1"}, ralph.TaskStarted{ID: "t-1"}, ralph.TaskEnded{ID: "t-1", Status: ralph.TaskDone})
	if c := s.Session.Count; c.TasksFail != 0 || c.TasksDone != 1 {
		t.Errorf("of the session: %+v", c)
	}
	if c := s.Totals; c.TasksFail != 0 || c.TasksDone != 1 {
		t.Errorf("of all: %+v", c)
	}
}

// E-087: the newest decision and its reason are in the state.
func TestDecided(t *testing.T) {
	t.Parallel()
	s := fold(ralph.SessionStarted{ID: "s-1"}, ralph.PlanStarted{File: "a.md"}, ralph.TaskAdded{Task: task("t-1")}, ralph.TaskStarted{ID: "t-1"},
		ralph.StepStarted{Task: "t-1", Step: ralph.Turn{Stage: ralph.KindBuild, Agent: "me", Iteration: 1}, Why: ralph.Why{Text: "ready"}})
	if d := s.Decided; d == nil || d.Step != "turn" || d.Agent != "me" || d.Why.Text != "ready" || d.Seq != s.Seq {
		t.Errorf("%+v", s.Decided)
	}
	apply(s, ralph.TurnEnded{Task: "t-1"}, ralph.StepStarted{Task: "t-1", Step: ralph.Check{}, Why: ralph.Why{Rule: "B-023", Text: "it says so"}})
	if d := s.Decided; d.Step != "check" || d.Agent != "" || d.Why.Rule != "B-023" {
		t.Errorf("%+v", d)
	}
}

// F-35, X-45: retry_count counts what was tried again after a failure; to unblock is none.
func TestUnblockIsNoRetry(t *testing.T) {
	t.Parallel()
	for status, want := range map[ralph.TaskStatus]int{ralph.TaskBlocked: 0, ralph.TaskSkipped: 0, ralph.TaskFailed: 1, ralph.TaskTimeout: 1} {
		s := fold(ralph.PlanStarted{File: "a.md"}, ralph.TaskAdded{Task: task("t-1")}, ralph.TaskStarted{ID: "t-1"}, ralph.TaskEnded{ID: "t-1", Status: status})
		facts, err := s.RetryTask("t-1")
		if err != nil {
			t.Fatal(err)
		}
		apply(s, facts...)
		if got := s.Task("t-1"); got.Status != ralph.TaskPending || got.RetryCount != want {
			t.Errorf("%s: %s with retry_count %d, want %d", status, got.Status, got.RetryCount, want)
		}
	}
	s := fold(ralph.PlanStarted{File: "a.md"}, ralph.TaskAdded{Task: task("t-1")}, ralph.TaskStarted{ID: "t-1"}, ralph.TaskEnded{ID: "t-1", Status: ralph.TaskBlocked})
	facts, err := s.UnblockTask("t-1")
	if err != nil {
		t.Fatal(err)
	}
	apply(s, facts...)
	if n := s.Task("t-1").RetryCount; n != 0 {
		t.Errorf("unblocked: retry_count %d", n)
	}
	apply(s, ralph.TaskStarted{ID: "t-1"}, ralph.TaskEnded{ID: "t-1", Status: ralph.TaskBlocked}, ralph.TaskRetried{ID: "t-1"})
	if n := s.Task("t-1").RetryCount; n != 1 { // as older journals have it
		t.Errorf("a fact without the field: retry_count %d", n)
	}
}

// R-H4, issue 14.7: nothing is counted against a task while its agent cannot be used, its
// time neither: an hour without a network is a try each minute, each of up to half a minute.
func TestAgentThatCannotBeUsedTakesNoTimeOfTheTask(t *testing.T) {
	t.Parallel()
	for class, want := range map[ralph.ErrorClass]time.Duration{
		ralph.ErrClassNetwork: 0, ralph.ErrClassAuth: 0, ralph.ErrClassLimit: 0, ralph.ErrClassBusy: 0,
		ralph.ErrClassServer: time.Minute, ralph.ErrClassOther: time.Minute,
	} {
		s := fold(ralph.SessionStarted{ID: "s-1"}, ralph.PlanStarted{File: "a.md"}, ralph.TaskAdded{Task: task("t-1")}, ralph.TaskStarted{ID: "t-1"},
			ralph.TurnEnded{Task: "t-1", Exit: ralph.ExitFailed, Took: time.Minute, Err: &ralph.AgentError{Class: class}})
		if got := s.Task("t-1").Run.Spent; got != want {
			t.Errorf("%s: %s of the task's time, want %s", class, got, want)
		}
	}
}
