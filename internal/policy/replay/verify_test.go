package replay

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/policy"
)

// chain makes events of facts, one after the other, as the journal does.
func chain(t *testing.T, facts []ralph.Fact) []ralph.Event {
	t.Helper()
	var events []ralph.Event
	prev := ""
	for i, f := range facts {
		e := ralph.Event{Seq: int64(i + 1), At: time.Date(2026, 1, 2, 3, 4, i, 0, time.UTC), By: "engine", Prev: prev, Fact: f}
		if _, err := ralph.MarshalEvent(&e); err != nil {
			t.Fatal(err)
		}
		events, prev = append(events, e), e.Hash
	}
	return events
}

// provenHistory is one task from its turn to the base branch, every link sound.
func provenHistory(t *testing.T, c policy.Config) []ralph.Fact {
	t.Helper()
	settings, err := c.Encode()
	if err != nil {
		t.Fatal(err)
	}
	const stage = "merge:a-s:1"
	return []ralph.Fact{
		ralph.SessionStarted{ID: "s-1", Mode: "autopilot", Config: settings},
		ralph.PlanStarted{File: "a.md"},
		ralph.TaskAdded{Task: ralph.Task{ID: "t-1", Name: "one", Status: ralph.TaskPending}},
		ralph.JobStarted{Job: "a-s", File: "a.md"},
		ralph.IntegrationStarted{Branch: "ralph/merged", Base: "main", From: "c0", Tip: "c0"},
		ralph.TaskStarted{ID: "t-1", Slot: 1, Dir: "ralph/.worktrees/1"},
		ralph.Prepared{Task: "t-1", Dir: "ralph/.worktrees/1", Branch: "ralph/t-1", Base: "c0", Head: "c0"},
		ralph.TurnEnded{Task: "t-1", Stage: ralph.KindBuild, Exit: ralph.ExitOK, Signal: ralph.Signal{Kind: ralph.SignalComplete}, Head: "c0"},
		ralph.ChecksRan{Task: "t-1", Pass: true, Tree: "tree1"},
		ralph.StepStarted{Task: "t-1", Step: ralph.Commit{OnlyTask: true}},
		ralph.Committed{Task: "t-1", Commit: "c1", Tree: "tree1"},
		ralph.TaskEnded{ID: "t-1", Status: ralph.TaskDone, BasedOnSeq: 11, Slot: 1},
		ralph.MergeQueued{Task: "t-1", Branch: "ralph/t-1", Commit: "c1"},
		ralph.TaskAdded{Task: ralph.Task{ID: stage, Kind: ralph.KindMerge, Members: []ralph.TaskID{"t-1"}, Status: ralph.TaskPending}},
		ralph.Merged{Task: stage, Members: []ralph.TaskID{"t-1"}, From: "c0", Commit: "m1", Tree: "tree2", How: "merge"},
		ralph.ChecksRan{Task: stage, Pass: true, Tree: "tree2"},
		ralph.Advanced{Task: stage, Commit: "m1", Tree: "tree2"},
		ralph.Landed{Task: "land:a-s:1", From: "c0", To: "m1", How: "fast-forward"},
	}
}

// Each link of the proof chain is looked at, and named when it does not hold (P-1).
func TestVerify(t *testing.T) {
	t.Parallel()
	checked := policy.Config{Session: "autopilot", Isolated: true, Checks: true, Parallel: 1}
	free := checked
	free.Checks = false
	drop := func(at int) func([]ralph.Fact) []ralph.Fact {
		return func(f []ralph.Fact) []ralph.Fact { return slices.Delete(f, at-1, at) }
	}
	set := func(at int, fact ralph.Fact) func([]ralph.Fact) []ralph.Fact {
		return func(f []ralph.Fact) []ralph.Fact { f[at-1] = fact; return f }
	}
	for _, tt := range []struct {
		name   string
		config policy.Config
		change func([]ralph.Fact) []ralph.Fact
		want   string // link, then words
	}{
		{"sound", checked, nil, ""},
		{"sound without checks", free, func(f []ralph.Fact) []ralph.Fact { return slices.Delete(slices.Delete(f, 15, 16), 8, 9) }, ""},
		{"no signal", checked, set(8, ralph.TurnEnded{Task: "t-1", Stage: ralph.KindBuild, Exit: ralph.ExitOK}), "done: counted done without the signal COMPLETE"},
		{"a lesser signal", checked, set(8, ralph.TurnEnded{Task: "t-1", Exit: ralph.ExitOK, Signal: ralph.Signal{Kind: ralph.SignalProgress}}), "done: counted done without the signal COMPLETE"},
		{"red checks", checked, set(9, ralph.ChecksRan{Task: "t-1", Tree: "tree1"}), "done: counted done without green checks"},
		{"no checks", checked, drop(9), "done: counted done without green checks"},
		{"checks of another tree", checked, set(9, ralph.ChecksRan{Task: "t-1", Pass: true, Tree: "tree9"}), "done: its commit holds tree tree1, the checks passed on tree tree9"},
		{"merge without checks", checked, drop(16), "merge: m1 was merged, but no checks passed on its tree tree2"},
		{"merge checked on another tree", checked, set(16, ralph.ChecksRan{Task: "merge:a-s:1", Pass: true, Tree: "tree9"}), "merge: m1 was merged, but no checks passed on its tree tree2"},
		{"a merge to a tree that was proven before", checked, func(f []ralph.Fact) []ralph.Fact {
			f[14] = ralph.Merged{Task: "merge:a-s:1", Members: []ralph.TaskID{"t-1"}, From: "c0", Commit: "m1", Tree: "tree1", How: "merge", Advanced: true}
			return slices.Delete(f, 15, 17)
		}, ""},
		{"something else landed", checked, set(18, ralph.Landed{From: "c0", To: "m9", How: "branch"}), "landing: m9 landed, which no merge made"},
		{"F-01 red, as the decision said it may be", checked, func(f []ralph.Fact) []ralph.Fact {
			f[8] = ralph.ChecksRan{Task: "t-1", Pass: true, Tree: "tree1", Known: []string{"suite"}, Results: []ralph.CheckResult{redSuite("A")}}
			before := ralph.Check{Before: []ralph.RedCheck{ralph.RedOf(redSuite("A", "B"))}}
			return slices.Insert(f, 8, ralph.Fact(ralph.StepStarted{Task: "t-1", Step: before}))
		}, ""},
		{"F-01 red in another way", checked, func(f []ralph.Fact) []ralph.Fact {
			f[8] = ralph.ChecksRan{Task: "t-1", Pass: true, Tree: "tree1", Known: []string{"suite"}, Results: []ralph.CheckResult{redSuite("C")}}
			before := ralph.Check{Before: []ralph.RedCheck{ralph.RedOf(redSuite("A", "B"))}}
			return slices.Insert(f, 8, ralph.Fact(ralph.StepStarted{Task: "t-1", Step: before}))
		}, "checks: suite was passed over, and nobody let it be red in this way"},
		{
			"F-01 red, and said to pass", checked, set(9, ralph.ChecksRan{Task: "t-1", Pass: true, Tree: "tree1", Results: []ralph.CheckResult{redSuite("A")}}),
			"checks: suite is red, and the checks are said to pass",
		},
		{
			"F-01 red on the merged tree", checked, set(16, ralph.ChecksRan{Task: "merge:a-s:1", Pass: true, Tree: "tree2", Known: []string{"suite"}, Results: []ralph.CheckResult{redSuite("A")}}),
			"checks: suite was passed over, and nobody let it be red in this way",
		},
		{"F-01 answered by no rule", checked, func(f []ralph.Fact) []ralph.Fact {
			q := ralph.Request{Kind: ralph.RequestApproval, Op: ralph.OpCheck, Red: []ralph.RedCheck{ralph.RedOf(redSuite("A"))}}
			return slices.Insert(f, 8, ralph.Fact(ralph.RequestAnswered{Task: "t-1", Request: q, Verdict: ralph.Approved, By: "r-1"}))
		}, "rule: red checks were answered by the rule r-1, which says nothing of them"},
		{"by a person", checked, set(12, ralph.TaskEnded{ID: "t-1", Status: ralph.TaskDone}), ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			facts := provenHistory(t, tt.config)
			if tt.change != nil {
				facts = tt.change(facts)
			}
			v, err := Verify(slices.Values(chain(t, facts)))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, b := range v.Broken {
				if b.Link != "decision" { // the receipts here were decided by nobody
					got = append(got, b.Link+": "+b.Why)
				}
			}
			if strings.Join(got, "\n") != tt.want {
				t.Errorf("broken: %q, want %q", got, tt.want)
			}
		})
	}
}

// A decision that comes out differently is a broken link, and facts that are
// missing are no history at all.
func TestVerifyDecisions(t *testing.T) {
	t.Parallel()
	events := chain(t, provenHistory(t, policy.Config{Session: "autopilot", Isolated: true, Checks: true, Parallel: 1}))
	v, err := Verify(slices.Values(events))
	if err != nil {
		t.Fatal(err)
	}
	if len(v.Broken) != 2 || v.Broken[0].Link != "decision" || v.Broken[0].Seq != 10 {
		t.Errorf("broken: %+v, want the decisions of facts 10 and 12", v.Broken)
	}
	if _, err := Verify(slices.Values(slices.Delete(events, 4, 5))); err == nil {
		t.Error("a fact is missing, and nobody says so")
	}
}

// What git has to bear out: the task's commit and its merge, each with tree and
// trailers (product.md 14).
func TestClaims(t *testing.T) {
	t.Parallel()
	events := chain(t, provenHistory(t, policy.Config{Session: "autopilot", Isolated: true, Checks: true, Parallel: 1}))
	v, err := Verify(slices.Values(events))
	if err != nil {
		t.Fatal(err)
	}
	receipt := events[9].Hash
	want := []Claim{
		{Seq: 11, Commit: "c1", Tree: "tree1", Tasks: []ralph.TaskID{"t-1"}, Receipts: []string{receipt}},
		{Seq: 17, Commit: "m1", Tree: "tree2", Tasks: []ralph.TaskID{"t-1"}, Receipts: []string{receipt, "c1"}},
	}
	if diff := cmp.Diff(want, v.Claims); diff != "" {
		t.Fatalf("claims (-want +got):\n%s", diff)
	}
	for _, tt := range []struct {
		name, tree      string
		tasks, receipts []string
		want            string
	}{
		{"as it is said", "tree1", []string{"t-1"}, []string{receipt}, ""},
		{"another tree", "tree9", []string{"t-1"}, []string{receipt}, "holds tree tree9, the journal says tree1"},
		{"no task", "tree1", nil, []string{receipt}, "carries no Ralph-Task"},
		{"another task", "tree1", []string{"t-9"}, []string{receipt}, "is for task t-9, the journal says for t-1"},
		{"no receipt", "tree1", []string{"t-1"}, nil, "carries no Ralph-Receipt of this journal"},
		{"a receipt of another journal", "tree1", []string{"t-1"}, []string{"abc"}, "carries no Ralph-Receipt of this journal"},
	} {
		var got []string
		for _, b := range want[0].Bear(tt.tree, tt.tasks, tt.receipts) {
			got = append(got, strings.TrimPrefix(b.Why, "commit c1 "))
		}
		if strings.Join(got, "; ") != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// redSuite is a red run of a check in which these tests failed.
func redSuite(failed ...string) ralph.CheckResult {
	return ralph.CheckResult{Name: "suite", Command: "suite", Exit: 1, Failed: failed}
}

// R-M1: verify counts each red check that was passed over, of tasks and of merges, with who
// let it pass.
func TestVerifyCountsWhatWasPassedOver(t *testing.T) {
	t.Parallel()
	facts := provenHistory(t, policy.Config{Session: "autopilot", Isolated: true, Checks: true, Parallel: 1})
	ran := func(task ralph.TaskID, tree string, waived ...string) ralph.Fact {
		return ralph.ChecksRan{Task: task, Pass: true, Tree: tree, Known: []string{"suite"}, Waived: waived, Results: []ralph.CheckResult{redSuite("A")}}
	}
	facts[8], facts[15] = ran("t-1", "tree1", "suite"), ran("merge:a-s:1", "tree2")
	may := ralph.Check{Before: []ralph.RedCheck{ralph.RedOf(redSuite("A"))}}
	facts = slices.Insert(facts, 15, ralph.Fact(ralph.StepStarted{Task: "merge:a-s:1", Step: may}))
	facts = slices.Insert(facts, 8, ralph.Fact(ralph.StepStarted{Task: "t-1", Step: may}))
	v, err := Verify(slices.Values(chain(t, facts)))
	if err != nil {
		t.Fatal(err)
	}
	over := ralph.PassedOver{Check: "suite", Failed: []string{"A"}}
	by := over
	by.Person = true
	want := []Passed{{13, "t-1", "done", by}, {19, "merge:a-s:1", "merge", over}}
	if diff := cmp.Diff(want, v.PassedOver); diff != "" {
		t.Error(diff)
	}
}
