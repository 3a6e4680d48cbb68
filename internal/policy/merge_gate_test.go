package policy_test

import (
	"slices"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/ralphtest/enginetest"
)

// heldAt is a board whose only task, t-1, is done and waits at a gate of one cause.
func heldAt(t *testing.T, cause string) (*board, ralph.ApprovalID) {
	c := parallelSettings()
	c.AskToMerge = cause == "asked"
	if cause == "conflict" || cause == "red" {
		c.Resolver = "human"
	}
	b := onQueue(t, c, 1)
	if cause == "weakened" {
		b.add(ralph.Committed{Task: "t-1", Commit: "c-t-1", Weakened: []ralph.Finding{{Path: "a_test.go", Line: 3, Kind: "removed", What: "TestA"}}})
	}
	b.stage("merge t-1")
	switch cause {
	case "weakened":
		return b, b.ask("P-14", "removes, skips or weakens tests: a_test.go:3 removed TestA")
	case "asked":
		return b, b.ask("X-75", "is ready to be merged (merge.auto is false)")
	case "conflict":
		b.merged("", conflict("content", "a.go"))
	case "red":
		b.red("test")
		b.stage("merge t-1")
		return b, b.ask("X-72", "is red on the merged tree", "test says no")
	case "broken":
		for range 3 {
			b.merged("", func(f *ralph.Merged) { f.Error = "disk full" })
		}
		return b, b.ask("X-72", "the merge does not work: disk full")
	}
	b.end(ralph.TaskFailed, "X-72")
	b.stage("merge t-1")
	return b, b.ask("X-72", "conflicts with what is merged in a.go", "<<<<<<< a.go")
}

// Approved, whatever the cause, the merge is tried as the branch is now.
func TestApproved(t *testing.T) {
	t.Parallel()
	for _, cause := range []string{"weakened", "asked", "conflict", "red", "broken"} {
		t.Run(cause, func(t *testing.T) {
			t.Parallel()
			b, gate := heldAt(t, cause)
			b.person(b.s.Approve(gate))
			if step := b.want("merge", "B-006").(ralph.Merge); !step.Tips {
				t.Errorf("a person may have worked on the branch: %+v", step)
			}
			b.merged("c1")
			b.checked(nil)
			b.want("advance", "P-14") // never without its checks (B-022)
			b.add(ralph.Advanced{Task: b.task, Commit: "c1"})
			b.end(ralph.TaskDone, "B-006")
			if q := b.s.Task("t-1").Run.Queue; q.State != ralph.MergeMerged || q.Commit != "c1" {
				t.Errorf("%+v", q)
			}
		})
	}
}

// Approved, and it still does not fit: a person is asked again.
func TestApprovedInVain(t *testing.T) {
	t.Parallel()
	for _, cause := range []string{"conflict", "red"} {
		t.Run(cause, func(t *testing.T) {
			t.Parallel()
			b, gate := heldAt(t, cause)
			b.person(b.s.Approve(gate))
			if cause == "red" {
				b.red("test")
			} else {
				b.merged("", conflict("content", "a.go"))
				b.end(ralph.TaskFailed, "X-72")
			}
			b.stage("merge t-1")
			b.ask("X-72", "(merge.resolver is human)")
		})
	}
}

// Denied: where the work is in doubt its agent gets the reason, a merge that does not
// fit ends the task as failed; both keep the branch (DenyGate, X-72).
func TestDenied(t *testing.T) {
	t.Parallel()
	for cause, want := range map[string]ralph.TaskStatus{
		"weakened": ralph.TaskPending, "asked": ralph.TaskPending, "broken": ralph.TaskPending,
		"conflict": ralph.TaskFailed, "red": ralph.TaskFailed,
	} {
		t.Run(cause, func(t *testing.T) {
			t.Parallel()
			b, gate := heldAt(t, cause)
			b.person(b.s.Deny(gate, "the test is needed"))
			x := b.s.Task("t-1")
			if x.Status != want || x.Run.Worktree.Branch != "ralph/t-1" || len(b.s.Approvals) != 0 || len(b.s.Stages) != 1 {
				t.Errorf("%s at %+v, gates %d, stages %d", x.Status, x.Run.Worktree, len(b.s.Approvals), len(b.s.Stages))
			}
			if want == ralph.TaskFailed {
				if x.Run.Reason != "the test is needed" {
					t.Errorf("reason %q", x.Run.Reason)
				}
				b.expect("job pending, failed: 1 failed")
				return
			}
			if !slices.Equal(x.Run.Rejects, []string{"the test is needed"}) || x.Run.Queue.State != "" {
				t.Errorf("%+v", x.Run)
			}
			b.expect("t-1 slot 1 at 1", "hold: nothing else is ready")
		})
	}
}

// Many findings are told in short, with all of them to decide by (P-14).
func TestManyFindings(t *testing.T) {
	t.Parallel()
	b := onQueue(t, parallelSettings(), 1)
	weak := make([]ralph.Finding, 5)
	for i := range weak {
		weak[i] = ralph.Finding{Path: "a_test.go", Line: i + 1, Kind: "removed", What: "Test"}
	}
	b.add(ralph.Committed{Task: "t-1", Commit: "c-t-1", Weakened: weak})
	b.stage("merge t-1")
	b.ask("P-14", "a_test.go:3 removed Test; and 2 more\n", "a_test.go:5 removed Test")
}

// A batch whose merge does not work is no single task's: denied, it goes in halves.
func TestBrokenBatch(t *testing.T) {
	t.Parallel()
	c := parallelSettings()
	c.Batch = 2
	b := onQueue(t, c, 2)
	b.stage("merge t-1 t-2")
	for range 3 {
		b.merged("", func(f *ralph.Merged) { f.Error = "disk full" })
	}
	gate := b.ask("X-72", "the merge does not work: disk full")
	if about := b.s.Approvals[0].About; about != "" {
		t.Errorf("it is about %s alone", about)
	}
	b.person(b.s.Deny(gate, "no"))
	b.stage("merge t-1")
}

// A landing or a merge that a dead engine left goes on as the same stage.
func TestCutStagesGoOn(t *testing.T) {
	t.Parallel()
	again := ralph.SessionStarted{ID: "s-1", Mode: "autopilot", Resumed: true}
	b := onQueue(t, parallelSettings(), 1)
	b.stage("merge t-1")
	merge := b.task
	b.add(again)
	if b.stage("merge t-1"); b.task != merge {
		t.Errorf("%s goes on as %s", merge, b.task)
	}
	b.merged("c1", func(f *ralph.Merged) { f.Advanced = true })
	b.end(ralph.TaskDone, "B-006")
	b.stage("land")
	land := b.task
	b.add(again)
	if b.stage("land"); b.task != land {
		t.Errorf("%s goes on as %s", land, b.task)
	}
	b.expect("hold: nothing else is ready") // one landing at a time
}

// A landing waits for the merge under way, and no wait for anything else makes it late.
func TestLandingWaitsForTheMerge(t *testing.T) {
	t.Parallel()
	b := onQueue(t, parallelSettings(), 2)
	b.mergedBy("c1", "t-1")
	b.stage("merge t-2")
	b.expect("hold: nothing else is ready")
	b.add(ralph.Advanced{Task: b.task, Commit: "c2"})
	b.end(ralph.TaskDone, "B-006")
	for delay, want := range map[time.Duration]string{2 * time.Second: "hold 2s: task.delay", time.Minute: "hold 5s: task.delay"} {
		c := parallelSettings()
		c.TaskDelay, c.Parallel = delay, 2
		b := parallelOn(t, c, task("t-1", at(1, "1")), task("t-2", at(2, "2")), task("t-3", nil))
		b.built("t-1")
		b.mergedBy("c1", "t-1")
		b.landedAt(ralph.Landed{From: "c0", To: "c1", Dirty: []string{"a.go"}})
		b.expect(want)
	}
}

// What an agent makes of a conflict is work that nobody has looked at: a merge that
// was approved before is held again when it weakens tests (P-14).
func TestResolveIsLookedAt(t *testing.T) {
	t.Parallel()
	b, gate := heldAt(t, "weakened")
	b.person(b.s.Approve(gate))
	b.merged("", conflict("content", "a.go"))
	b.end(ralph.TaskFailed, "X-72")
	b.stage("resolve t-1 slot 1 at 1")
	b.add(ralph.Committed{Task: b.task, Commit: "c-both", Weakened: []ralph.Finding{{Path: "b_test.go", Line: 7, Kind: "skipped", What: "TestB"}}},
		ralph.TaskEnded{ID: b.task, Status: ralph.TaskDone, BasedOnSeq: 1}, ralph.MergeQueued{Task: "t-1", Branch: "ralph/t-1", Commit: "c-both"})
	b.stage("merge t-1")
	b.ask("P-14", "b_test.go:7 skipped TestB")
}

// A person who sends a task back or leaves it out while it is in the queue takes its
// merge back with it; nothing is decided about a task that moved on.
func TestWithdrawn(t *testing.T) {
	t.Parallel()
	take := map[string]func(*board){
		"rejected": func(b *board) { b.person(b.s.RejectTask("t-1", "wrong")) },
		"skipped":  func(b *board) { b.person(b.s.EndTask("t-1", ralph.TaskSkipped, "not needed")) },
	}
	for name, do := range take {
		t.Run("at a gate, "+name, func(t *testing.T) {
			t.Parallel()
			b, _ := heldAt(t, "weakened")
			do(b)
			was := *b.s.Task("t-1")
			b.end(ralph.TaskSkipped, "X-72")
			if x := b.s.Task("t-1"); x.Status != was.Status || x.Run.Queue.State != was.Run.Queue.State || len(b.s.Approvals) != 0 {
				t.Errorf("%+v", x)
			}
		})
		t.Run("denied, "+name, func(t *testing.T) {
			t.Parallel()
			b, gate := heldAt(t, "conflict")
			do(b)
			status := b.s.Task("t-1").Status
			b.person(b.s.Deny(gate, "no"))
			if got := b.s.Task("t-1").Status; got != status {
				t.Errorf("a denial of its old merge makes it %s", got)
			}
		})
		t.Run("in a batch, "+name, func(t *testing.T) {
			t.Parallel()
			c := parallelSettings()
			c.Batch = 2
			b := onQueue(t, c, 2)
			b.stage("merge t-1 t-2")
			b.merged("c1")
			do(b)
			b.end(ralph.TaskSkipped, "X-72")
			if q := b.s.Task("t-2").Run.Queue; q.State != ralph.MergeWaiting || q.GaveUp != "" {
				t.Errorf("%+v", q)
			}
		})
	}
}

// moved is a board on which t-1 is merged as c1 and main went on to m1 meanwhile.
func moved(t *testing.T) *board {
	b := onQueue(t, parallelSettings(), 2)
	b.add(ralph.TaskEnded{ID: "t-2", Status: ralph.TaskSkipped})
	b.mergedBy("c1", "t-1")
	b.landedAt(ralph.Landed{From: "c0", To: "c1", Moved: "m1"})
	b.stage("merge main")
	b.want("merge", "B-006")
	return b
}

// The base branch went on: its commits are merged first, with their checks, before
// anything lands.
func TestBaseMoved(t *testing.T) {
	t.Parallel()
	b := moved(t)
	b.merged("c2")
	b.want("check", "P-14")
	b.checked(nil)
	b.want("advance", "P-14")
	b.add(ralph.Advanced{Task: b.task, Commit: "c2"})
	b.end(ralph.TaskDone, "B-006")
	if i := b.s.Plan.Integration; i.Landed != "m1" || i.Moved != "" || i.Tip != "c2" || i.Waiting != 1 {
		t.Errorf("%+v", i)
	}
	b.landedAt(ralph.Landed{From: "m1", To: "c2", How: "fast-forward"})
	b.expect("job done, complete: every other task is done and merged; left out by a person: t-2")
}

// Main's commits make the checks red that were green at the tip: a person decides,
// and approved they are taken as they are.
func TestBaseRed(t *testing.T) {
	t.Parallel()
	b := moved(t)
	b.merged("c2")
	b.checked(nil, "test")
	gate := b.ask("X-72", "the checks are red: test", "test says no")
	b.person(b.s.Approve(gate))
	b.want("merge", "B-006")
	b.merged("c2")
	b.checked(nil, "test")
	b.want("advance", "X-75")
}

// Main's commits conflict with what is merged: a person decides, while the queue goes on.
func TestBaseConflicts(t *testing.T) {
	t.Parallel()
	b := moved(t)
	b.merged("", conflict("content", "a.go"))
	gate := b.ask("X-72", "the base branch went on", "it conflicts in a.go", "<<<<<<< a.go")
	b.expect("hold: nothing else is ready")
	b.person(b.s.Approve(gate)) // mended by hand
	b.want("merge", "B-006")
	b.merged("", conflict("content", "a.go"))
	gate = b.ask("X-72", "it conflicts in a.go") // it was not
	b.person(b.s.Deny(gate, "I merge it myself"))
	if i := b.s.Plan.Integration; i.Denied != "I merge it myself" || i.Moved != "" || i.Tip != "c1" {
		t.Errorf("%+v", i)
	}
	b.expect("job pending, a person is needed: merged work waits on ralph/merged: I merge it myself")
}

// A merge of main's commits that has nothing to merge any more changes nothing.
func TestBaseMovedNoMore(t *testing.T) {
	t.Parallel()
	b := moved(t)
	b.add(ralph.Landed{From: "m1", To: "m2", How: "fast-forward"}) // a rollback by hand
	b.merged("c1", func(f *ralph.Merged) { f.How, f.Advanced = "nothing", true })
	if i := b.s.Plan.Integration; i.Landed != "m2" || i.Tip != "c1" {
		t.Errorf("%+v", i)
	}
}

// agentLand is a board of agent mode with worktrees whose spec is at its landing:
// t-1 is merged as c1.
func agentLand(t *testing.T) *board {
	c := enginetest.Settings()
	c.Isolated, c.Parallel, c.ConflictRetries, c.Resolver = true, 2, 3, "agent"
	b := building(t, c)
	b.add(ralph.TaskEnded{ID: "prepare:q-1", Status: ralph.TaskDone},
		ralph.IntegrationStarted{Branch: "ralph/merged", Base: "main", From: "c0", Tip: "c0", Tree: "tree-c0"})
	b.built("t-1")
	b.mergedBy("c1", "t-1")
	b.add(ralph.TaskAdded{Task: ralph.Task{ID: "verify:q-1:1", Kind: ralph.KindVerify, Status: ralph.TaskDone}})
	b.schedule("task.added land:q-1")
	b.add(ralph.TaskAdded{Task: ralph.Task{ID: "land:q-1", Kind: ralph.KindLand, Status: ralph.TaskPending}})
	b.stage("land")
	return b
}

// Agent mode: one commit of all that is merged, with one retry, then its landing;
// the spec is done after both (X-69, D-048, D-068, D-079).
func TestAgentLands(t *testing.T) {
	t.Parallel()
	b := agentLand(t)
	b.want("commit", "D-046")
	b.add(ralph.Committed{Task: b.task, Error: "no"})
	b.want("commit", "D-079")
	b.add(ralph.Committed{Task: b.task, Commit: "spec1"})
	b.want("land", "P-7")
	for n, seconds := range []int{5, 10, 20, 40, 60, 60} {
		b.add(ralph.Landed{Task: b.task, From: "c0", To: "spec1", Dirty: []string{"a.go"}})
		if got := b.s.Plan.Integration.HeldTries; got != n+1 {
			t.Errorf("%d tries", got)
		}
		b.wait(time.Duration(seconds)*time.Second, "P-7")
		b.want("land", "P-7")
	}
	b.add(ralph.StepStarted{Task: b.task, Step: ralph.Land{}}, ralph.Landed{Task: b.task, From: "c0", To: "spec1", How: "fast-forward"})
	b.end(ralph.TaskDone, "P-7")
	if i := b.s.Plan.Integration; i.Waiting != 0 || i.Landing != 0 || i.HeldTries != 0 {
		t.Errorf("%+v", i)
	}
	b.expect("job done", "stop inbox empty")
}

// What ends a landing of agent mode without one: two commits that failed, landings
// that git refuses, a stop while the checkout is in the way, a person's no.
func TestAgentDoesNotLand(t *testing.T) {
	t.Parallel()
	committed := ralph.Committed{Task: "land:q-1", Commit: "spec1"}
	dirty := ralph.Landed{Task: "land:q-1", Dirty: []string{"a.go"}}
	refused := ralph.Landed{Task: "land:q-1", Error: "disk full"}
	for _, tt := range []struct {
		name   string
		facts  []ralph.Fact
		status ralph.TaskStatus
		rule   string
	}{
		{"D-079 two commits failed", []ralph.Fact{ralph.Committed{Task: "land:q-1", Error: "no"}, ralph.Committed{Task: "land:q-1", Error: "no"}}, ralph.TaskFailed, "D-079"},
		{"git refuses", []ralph.Fact{committed, refused, refused, refused, refused}, ralph.TaskFailed, "P-7"},
		{"a stop while it waits", []ralph.Fact{committed, dirty, ralph.Control{Want: ralph.WantStop}}, ralph.TaskFailed, "P-7"},
		{"X-72 the base went on", []ralph.Fact{committed, ralph.Landed{Task: "land:q-1", Moved: "m1"}}, ralph.TaskPending, "P-7"},
		{"X-72 and a person said no", []ralph.Fact{
			ralph.TaskAdded{Task: ralph.Task{ID: "merge:b", Kind: ralph.KindMerge, Status: ralph.TaskActive}},
			ralph.TaskEnded{ID: "merge:b", Status: ralph.TaskSkipped, Why: ralph.Why{Text: "not now"}},
		}, ralph.TaskFailed, "X-72"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := agentLand(t)
			b.add(tt.facts...)
			b.end(tt.status, tt.rule)
		})
	}
}

// Agent mode, the base branch went on: its commits are merged, and the one commit is
// made again on top of them, at once.
func TestAgentLandsOnMovedBase(t *testing.T) {
	t.Parallel()
	b := agentLand(t)
	b.add(ralph.Committed{Task: b.task, Commit: "spec1"}, ralph.Landed{Task: b.task, From: "c0", To: "spec1", Moved: "m1"})
	b.end(ralph.TaskPending, "P-7")
	b.stage("merge main")
	b.merged("c2")
	b.checked(nil)
	b.add(ralph.Advanced{Task: b.task, Commit: "c2"})
	b.end(ralph.TaskDone, "B-006")
	b.stage("land")
	b.want("commit", "D-046")
	b.add(ralph.Committed{Task: b.task, Commit: "spec2"})
	b.want("land", "P-7") // nothing is in the way: it waits for nothing
	b.add(ralph.Landed{Task: b.task, From: "m1", To: "spec2", How: "fast-forward"})
	b.end(ralph.TaskDone, "P-7")
}

// The same, stopped: nothing of the spec is on main, so it is released and the next
// start goes on (D-051, D-052).
func TestAgentStopsOnMovedBase(t *testing.T) {
	t.Parallel()
	b := agentLand(t)
	b.add(ralph.Committed{Task: b.task, Commit: "spec1"}, ralph.Landed{Task: b.task, From: "c0", To: "spec1", Moved: "m1"})
	b.end(ralph.TaskPending, "P-7")
	b.person(b.s.Steer(ralph.WantStop, "a person"))
	b.expect("job pending", "stop interrupted")
}

// In place nothing of this is asked: a commit is the end (D-046, D-048).
func TestLandInPlace(t *testing.T) {
	t.Parallel()
	b := stageOn(t, enginetest.Settings(), ralph.KindLand)
	b.want("commit", "D-046")
	b.add(ralph.Committed{Task: b.task, Commit: "c1"})
	b.end(ralph.TaskDone, "D-048")
}

// A merge stage without an integration branch goes back: its job begins anew.
func TestMergeWithoutIntegration(t *testing.T) {
	t.Parallel()
	b := newBoard(t, parallelSettings())
	b.add(ralph.TaskAdded{Task: ralph.Task{ID: "m", Kind: ralph.KindMerge, Status: ralph.TaskActive}})
	b.task = "m"
	b.end(ralph.TaskPending, "X-72")
}

// Settings that a task's work changes are seen by a person before they are merged, once:
// what was approved at its checks passes, and what an agent made of it since does not (S2).
func TestSettingsAreSeenBeforeTheMerge(t *testing.T) {
	t.Parallel()
	ci := ralph.Finding{Path: ".github/workflows/ci.yml", Kind: "settings", What: "CI, new: 100644 aa"}
	other := ralph.Finding{Path: ".github/workflows/ci.yml", Kind: "settings", What: "CI, new: 100644 bb"}
	at := func(mode string, found ...ralph.Finding) *board {
		c := parallelSettings()
		c.Diff.Settings = mode
		b := onQueue(t, c, 1)
		b.add(ralph.Committed{Task: "t-1", Commit: "c-t-1", Settings: found, Shown: "+run: evil"})
		b.s.Job.Seen = []ralph.Finding{ci}
		b.stage("merge t-1")
		return b
	}
	at("gate", ci).want("merge", "B-006")
	at("off", other).want("merge", "B-006")
	b := at("gate", ci, other)
	gate := b.ask("S2", "changes settings that a person looks at: .github/workflows/ci.yml", "CI, new: 100644 bb", "+run: evil")
	b.person(b.s.Approve(gate))
	b.want("merge", "B-006")
	if !slices.Contains(b.s.Job.Seen, other) {
		t.Error("what a person approved is asked again at the commit of the spec")
	}
}
