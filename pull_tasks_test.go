package ralph_test

import (
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
)

// C-055: where each task goes out on its own, a landing gives each task that is merged a branch, once for each
// commit of its own; one whose pull request is over gets another when it was worked on again. A no to their push
// holds those that wait. The job after the last of them is over begins anew.
func TestTasksGoOut(t *testing.T) {
	t.Parallel()
	s := &ralph.State{}
	out := ralph.Outgoing{How: ralph.LandPull, Branch: "ralph/a-all", Remote: "origin", Onto: "main", Tasks: "ralph/a-{id}"}
	begin := func() {
		apply(s, ralph.JobStarted{Job: "j", ID: "q-1", File: "a.md"}, ralph.PlanStarted{File: "a.md"}, ralph.IntegrationStarted{Branch: "ralph/spec-q-1", Base: out.Branch, From: "m1", Tip: "m1", Out: out})
		for _, id := range []ralph.TaskID{"t-1", "t-2", "t-3"} {
			apply(s, ralph.TaskAdded{Task: ralph.Task{ID: id, Name: "Task " + string(id)}})
		}
	}
	merged := func(id ralph.TaskID, commit string) {
		x := s.Task(id)
		x.Status, x.Run.Commit, x.Run.Queue.State = ralph.TaskDone, commit, ralph.MergeMerged
	}
	land := func() { apply(s, ralph.Landed{From: "m1", To: "m2", How: "branch"}) }
	over := func(branches ...string) {
		for _, b := range branches {
			apply(s, ralph.PullSeen{Branch: b, Request: ralph.PullRequest{Number: 1, State: ralph.PullMerged}})
		}
	}
	now := func() string {
		var list []string
		for _, p := range s.Pulls {
			words := p.Branch + "@" + p.Commit
			if p.Waits() {
				words += " waits"
			}
			if s.GoesOut(p) {
				words += " with the job"
			}
			if p.Parked {
				words += " parked"
			}
			list = append(list, words)
		}
		return strings.Join(list, ", ")
	}
	is := func(when, want string) {
		t.Helper()
		if got := now(); got != want {
			t.Fatalf("%s:\ngot  %s\nwant %s", when, got, want)
		}
	}
	begin()
	merged("t-1", "c1")
	land()
	is("one is merged", "ralph/a-t-1@c1 waits with the job")
	if p := s.Pulls[0]; p.Task != "t-1" || p.Name != "Task t-1" || p.Onto != "main" || p.Tasks != "" || p.File != "a.md" {
		t.Fatalf("%+v", p)
	}
	apply(s, ralph.Published{Branch: "ralph/a-t-1", Remote: "origin", Commit: "p1"}) // with what people pushed
	merged("t-2", "c2")
	land()
	is("another is", "ralph/a-t-1@p1 with the job, ralph/a-t-2@c2 waits with the job")
	apply(s, ralph.Published{Branch: "ralph/a-t-2", Remote: "origin", Commit: "c2", On: []string{"ralph/a-t-1"}})
	over("ralph/a-t-1")
	land()
	merged("t-1", "c4")
	land()
	is("the first was merged at the service, and worked on again", "ralph/a-t-1@p1, ralph/a-t-2@c2 with the job, ralph/a-t-1-2@c4 waits with the job")
	apply(s, ralph.TaskAdded{Task: ralph.Task{ID: "land:j", Kind: ralph.KindLand}})
	apply(s, ralph.Asked{Approval: ralph.Approval{ID: "g-1", Kind: ralph.ApprovalPush, Task: "land:j"}}, ralph.Answered{ID: "g-1", Verdict: ralph.Denied, Text: "not today"})
	is("after a no", "ralph/a-t-1@p1, ralph/a-t-2@c2 with the job, ralph/a-t-1-2@c4 waits with the job parked")
	if on := s.Pull("ralph/a-t-2").On; len(on) != 1 || s.DoneWith(out.Branch) {
		t.Errorf("built on %v, or done with what is open", on)
	}
	apply(s, ralph.JobEnded{Status: ralph.SpecDone})
	out.Branch, out.Tasks = "ralph/b-all", "ralph/b-{id}" // tasks of the same names
	begin()
	merged("t-2", "c5")
	land()
	is("another spec", "ralph/a-t-1@p1, ralph/a-t-2@c2, ralph/a-t-1-2@c4 waits parked, ralph/b-t-2@c5 waits with the job")
	over("ralph/a-t-2", "ralph/a-t-1-2")
	if !s.DoneWith("ralph/a-all") || s.DoneWith("ralph/b-all") {
		t.Error("all of them are over, and it is not done with")
	}
}
