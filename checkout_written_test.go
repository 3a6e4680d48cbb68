package ralph_test

import (
	"slices"
	"testing"

	"github.com/ralph-loop/ralph"
)

// R-H1: what checks wrote in the checkout is left out of commits, and is no progress of the
// agent; of a file that was left out before, the commit still gets what it would have got.
func TestWhatChecksWriteIsLeftOut(t *testing.T) {
	t.Parallel()
	s := fold(spec("a", ralph.SpecPending), ralph.SessionStarted{ID: "s"}, ralph.JobStarted{Job: "q-a", ID: "q-a", File: "a.md"},
		ralph.TaskAdded{Task: task("t-1")}, ralph.TaskStarted{ID: "t-1"},
		ralph.CheckoutFound{Task: "t-1", Head: "c0", Tree: "tr0", Left: []ralph.LeftFile{{Path: "p", Now: "n1", Was: "w", At: "h"}}},
		ralph.TurnEnded{Task: "t-1", Head: "c0", Tree: "tr1", Exit: ralph.ExitOK})
	apply(s, ralph.ChecksRan{
		Task: "t-1", Tree: "tr1", Pass: true, After: "tr2", Restored: []string{"count.txt"}, Left: []string{"a.pyc"},
		Out: []ralph.LeftFile{{Path: "a.pyc", Now: "x", ByChecks: true}, {Path: "p", Now: "n2", Was: "n1", At: "h", ByChecks: true}},
	})
	want := []ralph.LeftFile{{Path: "p", Now: "n2", Was: "w", At: "h"}, {Path: "a.pyc", Now: "x", ByChecks: true}}
	if !slices.Equal(s.Checkout.Left, want) || s.Checkout.Tree != "tr2" || s.Task("t-1").Run.Tree != "tr2" || s.Job.Tree != "tr2" {
		t.Errorf("%+v, run %s, job %s", s.Checkout, s.Task("t-1").Run.Tree, s.Job.Tree)
	}
	if !s.Checkout.ByChecks("a.pyc") || s.Checkout.ByChecks("p") || !slices.Equal(s.Written, []string{"count.txt"}) {
		t.Errorf("by checks: %+v, written %v", s.Checkout.Left, s.Written)
	}
}

// R-H7: the first refusal of a hook has the checks look again, for it may have changed files;
// the second is a red check, and the next commit has two tries again.
func TestHookThatRefusesIsARedCheck(t *testing.T) {
	t.Parallel()
	s := fold(ralph.TaskAdded{Task: task("t-1")}, ralph.TaskStarted{ID: "t-1"}, ralph.TurnEnded{Task: "t-1", Tree: "tr1"}, ralph.ChecksRan{Task: "t-1", Tree: "tr1", Pass: true})
	no := ralph.Committed{Task: "t-1", Error: "git commit: exit 1", Hook: "lint: no\n"}
	apply(s, no)
	if r := s.Task("t-1").Run; r.Checks != nil || r.Red != nil || r.StepFailures != 1 {
		t.Errorf("once: %+v", r)
	}
	apply(s, ralph.ChecksRan{Task: "t-1", Tree: "tr1", Pass: true}, no)
	r := s.Task("t-1").Run
	if r.Checks == nil || !slices.Equal(r.Checks.Reds(), []string{ralph.CheckHook}) || r.Red != r.Checks || r.Red.Results[0].Output != no.Hook || r.StepFailures != 0 {
		t.Errorf("twice: %+v", r)
	}
}
