package ralph_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ralph-loop/ralph"
)

// answer folds the facts of one write that answers a receipt.
func answer(s *ralph.State, receipt int64, facts ...ralph.Fact) {
	for i, f := range facts {
		at := start.Add(time.Duration(s.Seq) * time.Second)
		s.Apply(ralph.Event{Seq: s.Seq + 1, At: at, Answers: receipt, More: i < len(facts)-1, Fact: f})
	}
}

// turning is a task in its first turn, and the number of its receipt.
func turning(t *testing.T) (*ralph.State, int64) {
	t.Helper()
	s := fold(ralph.SessionStarted{ID: "s"}, ralph.JobStarted{Job: "q-a", ID: "q-a", File: "a.md"}, ralph.TaskAdded{Task: task("t-1")},
		ralph.TaskStarted{ID: "t-1"}, ralph.StepStarted{Task: "t-1", Step: ralph.Turn{Agent: "me", Iteration: 1}, DecidedAt: start})
	if !s.Flying("t-1", s.Seq) {
		t.Fatalf("receipt %d is not under way: %+v", s.Seq, s.Task("t-1").Run)
	}
	return s, s.Seq
}

// An outcome counts when its task is at that step, with all of its write; else the state
// stays as it is.
func TestOutcomesNameTheirReceipt(t *testing.T) {
	ended := ralph.TurnEnded{Task: "t-1", Agent: "me", Iteration: 1, Exit: ralph.ExitOK, Usage: ralph.Usage{Cost: 1, Known: true}}
	more := ralph.TaskAdded{Task: task("t-2")}
	for name, tt := range map[string]struct {
		before  []ralph.Fact
		receipt int64 // added to the number of the one under way
		counts  bool
	}{
		"the step under way":                  {counts: true},
		"another receipt":                     {receipt: 1},
		"an older one":                        {receipt: -1},
		"the task is gone":                    {before: []ralph.Fact{ralph.TaskRemoved{ID: "t-1"}}},
		"the step was lost":                   {before: []ralph.Fact{ralph.StepLost{Task: "t-1", Receipt: 5, Cause: ralph.LostCrash}}},
		"another receipt was lost":            {before: []ralph.Fact{ralph.StepLost{Task: "t-1", Receipt: 4, Cause: ralph.LostCrash}}, counts: true},
		"the task ended":                      {before: []ralph.Fact{ralph.TaskEnded{ID: "t-1", Status: ralph.TaskSkipped}}},
		"another session began":               {before: []ralph.Fact{ralph.SessionStarted{ID: "s", Resumed: true}}},
		"a person said something meanwhile":   {before: []ralph.Fact{ralph.TaskMessaged{ID: "t-1", Text: "psst"}}, counts: true},
		"the same step was started once more": {before: []ralph.Fact{ralph.StepStarted{Task: "t-1", Step: ralph.Turn{Agent: "me", Iteration: 1}, DecidedAt: start}}},
	} {
		s, receipt := turning(t)
		if receipt != 5 {
			t.Fatalf("the receipt is %d", receipt)
		}
		apply(s, tt.before...)
		was := s.Clone()
		answer(s, receipt+tt.receipt, ended, more)
		counted := s.Session.Turns == 1 && s.Session.Usage.Cost == 1 && s.Task("t-2") != nil
		nothing := s.Session.Turns == 0 && s.Session.Usage.Cost == 0 && s.Task("t-2") == nil
		if tt.counts && !counted || !tt.counts && !nothing {
			t.Errorf("%s: %d turns, $%g, the other task is there: %v", name, s.Session.Turns, s.Session.Usage.Cost, s.Task("t-2") != nil)
		}
		if x := s.Task("t-1"); !tt.counts && x != nil {
			if diff := cmp.Diff(was.Task("t-1").Run, x.Run); diff != "" {
				t.Errorf("%s: the task changed:\n%s", name, diff)
			}
		}
		if s.Seq != was.Seq+2 {
			t.Errorf("%s: at fact %d", name, s.Seq)
		}
	}
}

// A write may be read in two parts, with a snapshot between them; what does not belong to it
// any more is no part of it.
func TestOutcomeInParts(t *testing.T) {
	s, receipt := turning(t)
	answer(s, receipt, ralph.TurnEnded{Task: "t-1", Agent: "me", Exit: ralph.ExitOK})
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var read ralph.State
	if err := json.Unmarshal(b, &read); err != nil {
		t.Fatal(err)
	}
	answer(&read, receipt, ralph.TaskAdded{Task: task("t-2")})
	if read.Task("t-2") == nil {
		t.Error("the second half of the outcome did not count")
	}
	apply(&read, ralph.Noted{Text: "something else"})
	answer(&read, receipt, ralph.TaskAdded{Task: task("t-3")})
	if read.Task("t-3") != nil {
		t.Error("a second outcome of the same step counted")
	}
}

// A lost step is none any more: no turn runs, nothing is reserved, nothing of it is counted.
func TestLostSteps(t *testing.T) {
	s, receipt := turning(t)
	apply(s, ralph.Asked{Approval: ralph.Approval{ID: "g-1", Task: "t-1", InTurn: true}})
	lost := s.Lost(ralph.LostCrash, "pid 7")
	want := []ralph.Fact{ralph.StepLost{Task: "t-1", Receipt: receipt, Step: "turn", Cause: ralph.LostCrash, Text: "pid 7"}}
	if diff := cmp.Diff(want, lost); diff != "" {
		t.Fatal(diff)
	}
	apply(s, lost...)
	x := s.Task("t-1")
	if x.Run.InFlight != 0 || s.Turning() != 0 || s.Reserved().Cost != 0 || len(s.Approvals) != 0 || x.Run.Iterations != 0 || x.Status != ralph.TaskActive {
		t.Errorf("%+v, gates %v", x.Run, s.Approvals)
	}
	if more := s.Lost(ralph.LostCrash, ""); len(more) != 0 {
		t.Errorf("lost twice: %+v", more)
	}
}

// What came too late cost something all the same.
func TestLateCosts(t *testing.T) {
	s, receipt := turning(t)
	apply(s, ralph.TaskRemoved{ID: "t-1"})
	answer(s, receipt, ralph.StepLate{Task: "t-1", Receipt: receipt, Step: "turn", Usage: ralph.Usage{Cost: 2, Input: 10, Known: true}})
	if u := s.Session.Usage; u.Cost != 2 || u.Input != 10 || s.Totals.Usage.Cost != 2 || s.Session.Turns != 0 {
		t.Errorf("%+v after %d turns", u, s.Session.Turns)
	}
}
