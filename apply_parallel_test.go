package ralph_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ralph-loop/ralph"
)

// inTrees is a state with an integration branch at c0 and tasks t-1 to t-n at work.
func inTrees(n int) *ralph.State {
	s := fold(ralph.SessionStarted{ID: "s", Mode: "autopilot"}, ralph.PlanStarted{File: "a.md"}, ralph.JobStarted{Job: "j", File: "a.md"},
		ralph.IntegrationStarted{Branch: "ralph/merged", Base: "main", From: "c0", Tip: "c0", Tree: "tree-c0"})
	for k := range n {
		id := ralph.TaskID(fmt.Sprint("t-", k+1))
		apply(s, ralph.TaskAdded{Task: task(string(id))}, ralph.TaskStarted{ID: id, Slot: k + 1, Dir: fmt.Sprint("ralph/.worktrees/", k+1)},
			ralph.Prepared{Task: id, Dir: fmt.Sprint("ralph/.worktrees/", k+1), Branch: "ralph/" + string(id), Base: "c0", Head: "c0", Tree: "tree-c0"})
	}
	return s
}

func mergeOf(s *ralph.State, id string, members ...ralph.TaskID) {
	apply(s, ralph.TaskAdded{Task: ralph.Task{ID: ralph.TaskID(id), Kind: ralph.KindMerge, Members: members, Status: ralph.TaskActive}})
}

// Which ends free the worktree, and that all free the slot (B-006, B-033, B-069,
// B-073 to B-075).
func TestPlaceAfterAnEnd(t *testing.T) {
	t.Parallel()
	const own = "ralph/.worktrees/1"
	for _, tt := range []struct {
		name string
		f    ralph.Fact
		dir  string
	}{
		{"B-069 done", ralph.TaskEnded{ID: "t-1", Status: ralph.TaskDone, BasedOnSeq: 1}, ""},
		{"done by a person's word: what is there is theirs to judge", ralph.TaskEnded{ID: "t-1", Status: ralph.TaskDone}, own},
		{"B-073 failed", ralph.TaskEnded{ID: "t-1", Status: ralph.TaskFailed, BasedOnSeq: 1}, own},
		{"B-033 timeout", ralph.TaskEnded{ID: "t-1", Status: ralph.TaskTimeout, BasedOnSeq: 1}, own},
		{"B-031 blocked", ralph.TaskEnded{ID: "t-1", Status: ralph.TaskBlocked, BasedOnSeq: 1}, own},
		{"B-065 skipped", ralph.TaskEnded{ID: "t-1", Status: ralph.TaskSkipped}, own},
		{"B-074 released", ralph.TaskEnded{ID: "t-1", Status: ralph.TaskPending, BasedOnSeq: 1}, own},
		{"B-075 the agent crashed", ralph.TaskEnded{ID: "t-1", Status: ralph.TaskPending, Retry: true, BasedOnSeq: 1}, own},
		{"B-075, X-28 the engine crashed", ralph.SessionStarted{ID: "s", Resumed: true}, own},
		{"B-054 a question", ralph.Asked{Approval: ralph.Approval{ID: "g", Task: "t-1"}}, own},
	} {
		s := inTrees(1)
		_, asked := tt.f.(ralph.Asked)
		if apply(s, tt.f); true {
			p := s.Task("t-1").Run.Worktree
			if p.Slot != 0 || p.Dir != tt.dir || p.Ready != asked || p.Branch != "ralph/t-1" || p.Base != "c0" {
				t.Errorf("%s: %+v", tt.name, p)
			}
		}
	}
}

// A worktree made ready, and one that was not: failures are counted in a row, time
// from the last; what was put away is given back with it (B-097, X-27, X-52).
func TestPrepared(t *testing.T) {
	t.Parallel()
	s := inTrees(1)
	apply(s, ralph.Shelved{Task: "t-1", How: "stash", Stash: "st"}, ralph.TaskEnded{ID: "t-1", Status: ralph.TaskPending}, ralph.TaskStarted{ID: "t-1", Slot: 3})
	for n := range 2 {
		apply(s, ralph.Prepared{Task: "t-1", Dir: "ralph/.worktrees/1", Error: "no room", Took: time.Second})
		if r := s.Task("t-1").Run; r.Worktree.Fails != n+1 || r.Worktree.Ready || r.StepError != "no room" || r.LastAt != s.At || r.Stash != "st" {
			t.Errorf("%+v", r)
		}
	}
	apply(s, ralph.Prepared{Task: "t-1", Dir: "ralph/.worktrees/1", Branch: "ralph/t-1", Head: "c7", Tree: "tree-c7", Conflicts: []string{"a.go"}})
	r := s.Task("t-1").Run
	want := ralph.Worktree{Slot: 3, Dir: "ralph/.worktrees/1", Branch: "ralph/t-1", Base: "c0", Head: "c7", Ready: true, Conflicts: []string{"a.go"}}
	if diff := cmp.Diff(want, r.Worktree); diff != "" || r.Stash != "" || r.StepError != "" || r.Spent != 2*time.Second {
		t.Errorf("%s%+v", diff, r)
	}
	if s.Job.Head != "" || s.Job.Tree != "" {
		t.Errorf("a task's worktree is not the job's: %+v", s.Job)
	}
}

// Turns and commits in a worktree are the task's alone.
func TestWorkInATree(t *testing.T) {
	t.Parallel()
	s := inTrees(1)
	found := []ralph.Finding{{Path: "a_test.go", Kind: "removed"}}
	apply(s, ralph.TurnEnded{Task: "t-1", Exit: ralph.ExitOK, Tree: "tree-1", Head: "c1"}, ralph.Committed{Task: "t-1", Error: "no"})
	if r := s.Task("t-1").Run; r.Worktree.Head != "c1" || r.StepFailures != 1 {
		t.Errorf("%+v", r)
	}
	apply(s, ralph.Committed{Task: "t-1", Commit: "c2", Weakened: found})
	if r := s.Task("t-1").Run; r.Worktree.Head != "c2" || r.Commit != "c2" || len(r.Queue.Weakened) != 1 || s.Totals.Commits != 1 || s.Session.Count.Commits != 1 {
		t.Errorf("%+v", r)
	}
	if s.Job.Head != "" || s.Job.Tree != "" {
		t.Errorf("%+v", s.Job)
	}
}

// What people do with tasks, folded (B-065, B-076, B-078 to B-080, X-45).
func TestRecoveryFolds(t *testing.T) {
	t.Parallel()
	worked := func(state ralph.MergeState) *ralph.State {
		s := inTrees(1)
		apply(s, ralph.TurnEnded{Task: "t-1", Exit: ralph.ExitOK, Took: time.Minute, Session: "x", Tree: "tree-1", Head: "c1"},
			ralph.ChecksRan{Task: "t-1", Results: []ralph.CheckResult{{Name: "test"}}}, ralph.Asked{Approval: ralph.Approval{ID: "g", Task: "t-1", Text: "which?"}},
			ralph.Answered{ID: "g", Text: "this"}, ralph.TaskEnded{ID: "t-1", Status: ralph.TaskDone, BasedOnSeq: 1},
			ralph.TaskRejected{ID: "t-1", Reason: "wrong"}, ralph.TaskStarted{ID: "t-1", Slot: 1, Dir: "ralph/.worktrees/1"},
			ralph.TurnEnded{Task: "t-1", Exit: ralph.ExitOK, Took: time.Minute, Session: "x", Tree: "tree-2", Head: "c2"},
			ralph.Shelved{Task: "t-1", How: "stash", Stash: "st"}, ralph.TaskEnded{ID: "t-1", Status: ralph.TaskTimeout, BasedOnSeq: 1})
		if state != "" {
			apply(s, ralph.MergeQueued{Task: "t-1", Branch: "ralph/t-1", Commit: "c2"})
			mergeOf(s, "m", "t-1")
			apply(s, ralph.Advanced{Task: "m", Commit: "c3"})
		}
		return s
	}
	kept := ralph.Worktree{Dir: "ralph/.worktrees/1", Branch: "ralph/t-1", Base: "c0", Head: "c2"}
	for _, tt := range []struct {
		name  string
		state ralph.MergeState
		f     ralph.Fact
		want  func(x *ralph.Task) bool
	}{
		{"B-076, B-080 retried", "", ralph.TaskRetried{ID: "t-1"}, func(x *ralph.Task) bool {
			r := x.Run
			return x.Status == ralph.TaskPending && x.RetryCount == 1 && r.Iterations == 0 && r.Spent == 0 && r.Last == nil && r.Session == "" && r.Stash == "st" &&
				cmp.Equal(r.Worktree, kept) && r.Red != nil && len(r.Answers) == 1 && slices.Equal(r.Rejects, []string{"wrong"}) && r.Reason == ""
		}},
		{"a merged branch is history", ralph.MergeMerged, ralph.TaskRetried{ID: "t-1"}, func(x *ralph.Task) bool {
			return cmp.Equal(x.Run.Worktree, ralph.Worktree{Dir: kept.Dir}) && x.Run.Queue.State == ""
		}},
		{"B-078 rolled back", "", ralph.TaskRolledBack{ID: "t-1", Saved: []ralph.Saved{{Ref: "r"}}}, func(x *ralph.Task) bool {
			r := x.Run
			return x.Status == ralph.TaskPending && x.RetryCount == 1 && cmp.Equal(r.Worktree, ralph.Worktree{Dir: kept.Dir}) && r.Iterations == 0 && r.Red == nil && slices.Equal(r.Rejects, []string{"wrong"})
		}},
		{"B-078 rolled back after its merge", ralph.MergeMerged, ralph.TaskRolledBack{ID: "t-1", Revert: "c9"}, func(x *ralph.Task) bool {
			return x.Status == ralph.TaskPending && x.Run.Queue.State == "" && x.Run.Commit == ""
		}},
		{"B-079 cleaned up", "", ralph.TaskCleaned{ID: "t-1", Dir: kept.Dir}, func(x *ralph.Task) bool {
			return x.Status == ralph.TaskTimeout && x.Run.Worktree.Dir == "" && x.Run.Worktree.Branch == kept.Branch && x.Run.Iterations == 1
		}},
		{"B-079 with files that were kept", "", ralph.TaskCleaned{ID: "t-1", Saved: []ralph.Saved{{Ref: "r"}}}, func(x *ralph.Task) bool {
			return x.Status == ralph.TaskTimeout && cmp.Equal(x.Run.Worktree, ralph.Worktree{Branch: kept.Branch, Base: kept.Base, Head: kept.Head}) // it has what was committed
		}},
		{"B-065 skip wanted", "", ralph.SkipWanted{ID: "t-1", Reason: "no"}, func(x *ralph.Task) bool { return x.Run.Skip == "no" && x.Status == ralph.TaskTimeout }},
		{"B-082 extended", "", ralph.TaskExtended{ID: "t-1", MaxIterations: 75}, func(x *ralph.Task) bool { return x.MaxIterations == 75 && x.Run.Iterations == 1 }},
	} {
		s := worked(tt.state)
		if apply(s, tt.f); !tt.want(s.Task("t-1")) {
			t.Errorf("%s: %+v", tt.name, s.Task("t-1"))
		}
	}
}

// A merge, and what it adds up to: the tip, the members, the counts (B-103, X-72).
func TestMergesCount(t *testing.T) {
	t.Parallel()
	s := inTrees(3)
	for _, id := range []ralph.TaskID{"t-1", "t-2", "t-3"} {
		apply(s, ralph.TaskEnded{ID: id, Status: ralph.TaskDone, BasedOnSeq: 1}, ralph.MergeQueued{Task: id, Branch: "ralph/" + string(id), Commit: "c-" + string(id)})
	}
	mergeOf(s, "m1", "t-1", "t-2")
	apply(s, ralph.Merged{Task: "m1", From: "c0", Commit: "c1", Tree: "tree-c1"}, ralph.ChecksRan{Task: "m1", Pass: true, Known: []string{"lint"}, Results: []ralph.CheckResult{{Name: "lint", Exit: 1}}},
		ralph.Advanced{Task: "m1", Commit: "c1", Tree: "tree-c1"}, ralph.TaskEnded{ID: "m1", Status: ralph.TaskDone})
	mergeOf(s, "m2", "t-3")
	apply(s, ralph.Merged{Task: "m2", From: "c1", Conflict: &ralph.Conflict{}}, ralph.TaskEnded{ID: "m2", Status: ralph.TaskFailed})
	if q := s.Task("t-3").Run.Queue; q.State != ralph.MergeConflict || q.GaveUp != "" || len(s.Stages) != 0 {
		t.Errorf("%+v", q)
	}
	apply(s, ralph.TaskAdded{Task: ralph.Task{ID: "r", Kind: ralph.KindResolve, Parent: "t-3", Status: ralph.TaskActive}},
		ralph.TaskEnded{ID: "r", Status: ralph.TaskBlocked, Why: ralph.Why{Text: "too much"}})
	if q := s.Task("t-3").Run.Queue; q.Resolves != 1 || q.GaveUp != "too much" {
		t.Errorf("%+v", q)
	}
	mergeOf(s, "m3", "t-3")
	apply(s, ralph.Merged{Task: "m3", From: "c1", Commit: "c2", Tree: "tree-c2", Advanced: true}, ralph.TaskEnded{ID: "m3", Status: ralph.TaskDone})
	for _, n := range []ralph.Totals{s.Totals, s.Session.Count} {
		if n.MergesClean != 2 || n.MergesResolved != 1 || n.Conflicts != 1 {
			t.Errorf("%+v", n)
		}
	}
	i := s.Plan.Integration
	if b := s.Baseline("c1"); b == nil || len(b.Reds) != 1 || b.Reds[0].Name != "lint" {
		t.Errorf("what is red at c1: %+v", b)
	}
	if i.Tip != "c2" || i.Tree != "tree-c2" || i.Landed != "c0" || i.Waiting != 3 || s.Task("t-2").Run.Queue.Commit != "c1" {
		t.Errorf("%+v", i)
	}
}

// What is red at a commit is remembered for the newest ones only, each once, and over
// the jobs of a plan (P-14).
func TestBaselines(t *testing.T) {
	t.Parallel()
	s := inTrees(1)
	for n := range 40 {
		apply(s, ralph.BaselineRan{Task: "t-1", Commit: fmt.Sprint("b", n%35), Red: []string{fmt.Sprint(n)}, Took: time.Second})
	}
	if b := s.Baseline("b0"); len(s.Baselines) != 32 || b == nil || b.Reds[0].Name != "35" || s.Task("t-1").Run.Spent != 40*time.Second {
		t.Errorf("%d known, at b0 %+v", len(s.Baselines), b)
	}
	if s.Baseline("b5") != nil {
		t.Error("the oldest is still known")
	}
	apply(s, ralph.PlanStarted{File: "b.md"})
	if len(s.Baselines) != 32 {
		t.Errorf("another plan forgets: %d known", len(s.Baselines))
	}
}

// How landings fold: what is held, how often in a row, and what still waits.
func TestLandings(t *testing.T) {
	t.Parallel()
	s := inTrees(0)
	mergeOf(s, "m", "t-1", "t-2")
	apply(s, ralph.Advanced{Task: "m", Commit: "c1"}, ralph.TaskAdded{Task: ralph.Task{ID: "land", Kind: ralph.KindLand, Status: ralph.TaskActive}})
	receipt := ralph.StepStarted{Task: "land", Step: ralph.Land{}}
	for n, step := range []struct {
		f              ralph.Landed
		tries, waiting int
		held           string
		landed, moved  string
		errors         int
	}{
		{ralph.Landed{Dirty: []string{"a.go"}}, 1, 2, "[a.go]", "c0", "", 0},
		{ralph.Landed{Error: "disk full"}, 2, 2, "[disk full]", "c0", "", 1},
		{ralph.Landed{Dirty: []string{"b.go"}}, 3, 2, "[b.go]", "c0", "", 1},
		{ralph.Landed{Moved: "m1"}, 0, 2, "[]", "c0", "m1", 1},
		{ralph.Landed{Dirty: []string{"b.go"}}, 1, 2, "[b.go]", "c0", "", 1},
		{ralph.Landed{To: "c1", How: "fast-forward"}, 0, 0, "[]", "c1", "", 1},
	} {
		step.f.Task = "land"
		apply(s, receipt, step.f)
		i, r := s.Plan.Integration, s.Task("land").Run
		if i.HeldTries != step.tries || i.Waiting != step.waiting || fmt.Sprint(i.Held) != step.held || i.Landed != step.landed || i.Moved != step.moved ||
			i.LandedAt != s.At || r.LastAt != s.At || r.StepFailures != step.errors || r.StepError != step.f.Error || i.Landing != 0 {
			t.Errorf("%d: %+v, %+v", n, i, r)
		}
	}
}

// What is merged and did not land waits over the start of the next job; what landed
// does not.
func TestWaitingOverJobs(t *testing.T) {
	t.Parallel()
	for tip, want := range map[string]int{"c1": 2, "c0": 0} {
		s := inTrees(0)
		mergeOf(s, "m", "t-1", "t-2")
		apply(s, ralph.Advanced{Task: "m", Commit: "c1"}, ralph.IntegrationStarted{Branch: "ralph/merged", From: "c0", Tip: tip})
		if got := s.Plan.Integration.Waiting; got != want {
			t.Errorf("tip %s: %d wait, want %d", tip, got, want)
		}
	}
}

// The stages of a task of the plan are forgotten with their end, else thousands add
// up; agent mode's landing stays, since the end of its spec follows from it.
func TestStagesAreForgotten(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		kind   ralph.TaskKind
		mode   string
		status ralph.TaskStatus
		stays  bool
	}{
		{ralph.KindMerge, "autopilot", ralph.TaskDone, false},
		{ralph.KindMerge, "agent", ralph.TaskFailed, false},
		{ralph.KindMerge, "autopilot", ralph.TaskPending, true},
		{ralph.KindResolve, "autopilot", ralph.TaskTimeout, false},
		{ralph.KindLand, "autopilot", ralph.TaskSkipped, false},
		{ralph.KindLand, "agent", ralph.TaskDone, true},
		{ralph.KindPrepare, "autopilot", ralph.TaskDone, true},
	} {
		s := fold(ralph.SessionStarted{ID: "s", Mode: tt.mode}, ralph.TaskAdded{Task: ralph.Task{ID: "x", Kind: tt.kind, Status: ralph.TaskActive}},
			ralph.TaskEnded{ID: "x", Status: tt.status})
		if (s.Task("x") != nil) != tt.stays {
			t.Errorf("%+v: %+v", tt, s.Task("x"))
		}
	}
}

func mergeID(rt *rapid.T) ralph.TaskID {
	return pick[ralph.TaskID](rt, "stage", "merge:1", "merge:main", "resolve:1", "land:j", "t-1")
}

func commitID(rt *rapid.T) string { return pick(rt, "commit", "", "c0", "c1", "c2") }

func saved(rt *rapid.T) []ralph.Saved {
	return pick(rt, "saved", nil, []ralph.Saved{{Ref: "r", Commit: "c", What: "w"}})
}

func drawStage(rt *rapid.T) ralph.Task {
	x := ralph.Task{ID: mergeID(rt), Kind: ralph.KindMerge, Status: status(rt), Name: "n"}
	switch x.ID {
	case "merge:1":
		x.Members = []ralph.TaskID{"t-1", "t-2"}[:rapid.IntRange(1, 2).Draw(rt, "members")]
	case "resolve:1":
		x.Kind, x.Parent = ralph.KindResolve, "t-1"
	case "land:j":
		x.Kind = ralph.KindLand
	case "t-1":
		x.Kind = ""
	}
	return x
}

func drawMerged(rt *rapid.T) ralph.Fact {
	f := ralph.Merged{
		Task: mergeID(rt), From: commitID(rt), Commit: commitID(rt), Tree: words(rt), Advanced: yes(rt), Moved: commitID(rt), Error: words(rt), Took: took(rt),
	}
	if yes(rt) {
		f.Conflict = &ralph.Conflict{Ours: "a", Theirs: "b", Files: []ralph.ConflictFile{{Path: "a.go", Kind: "content", Marked: words(rt)}}}
	}
	return f
}

// makersOfParallel draw the facts of work in worktrees, and those around them.
func makersOfParallel() []maker {
	return append(makersOfRecovery(), []maker{
		{"task.added", func(rt *rapid.T) ralph.Fact { return ralph.TaskAdded{Task: drawStage(rt)} }},
		{"task.started", func(rt *rapid.T) ralph.Fact {
			return ralph.TaskStarted{ID: mergeID(rt), Slot: number(rt, 3), Dir: pick(rt, "dir", "", "ralph/.worktrees/1")}
		}},
		{"task.ended", func(rt *rapid.T) ralph.Fact {
			return ralph.TaskEnded{ID: mergeID(rt), Status: status(rt), Why: why(rt), BasedOnSeq: int64(number(rt, 1))}
		}},
		{"prepared", func(rt *rapid.T) ralph.Fact {
			return ralph.Prepared{Task: mergeID(rt), Dir: pick(rt, "dir", "", "ralph/.worktrees/1"), Branch: "ralph/t", Base: commitID(rt), Head: commitID(rt), Error: words(rt), Conflicts: pick(rt, "in", nil, []string{"a.go"}), Saved: saved(rt), Took: took(rt)}
		}},
		{"committed", func(rt *rapid.T) ralph.Fact {
			return ralph.Committed{Task: mergeID(rt), Commit: commitID(rt), Error: words(rt), Weakened: pick(rt, "weak", nil, []ralph.Finding{{Path: "a", Line: 1, Kind: "removed", What: "w"}})}
		}},
		{"asked", func(rt *rapid.T) ralph.Fact {
			return ralph.Asked{Approval: ralph.Approval{ID: gateID(rt), Kind: ralph.ApprovalMerge, Task: mergeID(rt), About: taskID(rt), Text: words(rt), AskedAt: when(rt)}}
		}},
		{"answered", func(rt *rapid.T) ralph.Fact {
			return ralph.Answered{ID: gateID(rt), Verdict: pick(rt, "verdict", ralph.Approved, ralph.Denied)}
		}},
		{"step.started", func(rt *rapid.T) ralph.Fact {
			return ralph.StepStarted{Task: mergeID(rt), DecidedAt: when(rt), Step: pick[ralph.Step](rt, "step", ralph.Land{}, ralph.Baseline{Commit: "c0"}, ralph.Advance{From: "c0", To: "c1"},
				ralph.Check{Before: []ralph.RedCheck{{Name: "lint", Exit: 1}}}, ralph.Merge{Members: []ralph.TaskID{"t-1"}, Into: "c0", Green: []string{"tree"}, Free: true, Tips: true})}
		}},
		{"integration.started", func(rt *rapid.T) ralph.Fact {
			return ralph.IntegrationStarted{Branch: "ralph/merged", Base: pick(rt, "base", "", "main"), From: commitID(rt), Tip: commitID(rt), Tree: words(rt)}
		}},
		{"merge.queued", func(rt *rapid.T) ralph.Fact {
			return ralph.MergeQueued{Task: taskID(rt), Branch: "ralph/t", Commit: commitID(rt)}
		}},
		{"merged", drawMerged},
		{"advanced", func(rt *rapid.T) ralph.Fact {
			return ralph.Advanced{Task: mergeID(rt), Commit: commitID(rt), Tree: words(rt), Moved: commitID(rt), Error: words(rt), Took: took(rt)}
		}},
		{"baseline.ran", func(rt *rapid.T) ralph.Fact {
			return ralph.BaselineRan{Task: mergeID(rt), Commit: commitID(rt), Red: pick(rt, "red", nil, []string{"lint"}), Results: []ralph.CheckResult{{Name: "lint"}}, Took: took(rt)}
		}},
		{"landed", func(rt *rapid.T) ralph.Fact {
			return ralph.Landed{Task: pick[ralph.TaskID](rt, "land", "", "land:j"), From: commitID(rt), To: commitID(rt), How: pick(rt, "how", "", "fast-forward"), Dirty: pick(rt, "dirty", nil, []string{"a.go"}), Moved: commitID(rt), Error: words(rt), Took: took(rt)}
		}},
	}...)
}

func makersOfRecovery() []maker {
	return []maker{
		{"cleaned", func(rt *rapid.T) ralph.Fact {
			return ralph.CleanedUp{Removed: []string{"d"}, Kept: []string{"k"}, Branches: []string{"b"}, Saved: saved(rt), Error: words(rt)}
		}},
		{"saved", func(rt *rapid.T) ralph.Fact { return ralph.SavedWork{Task: taskID(rt), Saved: saved(rt)} }},
		{"task.retried", func(rt *rapid.T) ralph.Fact { return ralph.TaskRetried{ID: taskID(rt)} }},
		{"skip.wanted", func(rt *rapid.T) ralph.Fact { return ralph.SkipWanted{ID: taskID(rt), Reason: words(rt)} }},
		{"task.rolledback", func(rt *rapid.T) ralph.Fact {
			return ralph.TaskRolledBack{ID: taskID(rt), Revert: commitID(rt), Saved: saved(rt)}
		}},
		{"task.cleaned", func(rt *rapid.T) ralph.Fact { return ralph.TaskCleaned{ID: taskID(rt), Dir: "d", Saved: saved(rt)} }},
		{"task.extended", func(rt *rapid.T) ralph.Fact {
			return ralph.TaskExtended{ID: taskID(rt), MaxIterations: number(rt, 99)}
		}},
		{"task.told", func(rt *rapid.T) ralph.Fact { return ralph.TaskMessaged{ID: taskID(rt), Text: words(rt)} }},
		{"task.assigned", func(rt *rapid.T) ralph.Fact { return ralph.TaskAssigned{ID: taskID(rt)} }},
		{"mode.set", func(rt *rapid.T) ralph.Fact { return ralph.ModeSet{Semi: yes(rt)} }},
	}
}

func drawParallel(rt *rapid.T) ralph.Fact {
	return rapid.SampledFrom(append(makersOfParallel(), makers()...)).Draw(rt, "kind").draw(rt)
}

// Every fact of work in worktrees survives its line, and none is left out here.
func TestEveryParallelFactSurvives(t *testing.T) {
	t.Parallel()
	list := makersOfParallel()
	rapid.Check(t, func(rt *rapid.T) {
		m := rapid.SampledFrom(list).Draw(rt, "kind")
		e := ralph.Event{Seq: 7, At: start, By: "engine", Prev: "p", Fact: m.draw(rt)}
		line, err := ralph.MarshalEvent(&e)
		if err != nil {
			rt.Fatal(err)
		}
		got, err := ralph.UnmarshalEvent(line)
		if diff := cmp.Diff(e, got); err != nil || diff != "" || got.Fact.Kind() != m.kind {
			rt.Fatalf("%s: %v (-written +read)\n%s", line, err, diff)
		}
	})
	src, err := os.ReadFile("merge.go")
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile(`Kind\(\) string\s*\{ return "([a-z.]+)" \}`).FindAllStringSubmatch(string(src), -1)
	for _, name := range names {
		if !slices.ContainsFunc(list, func(m maker) bool { return m.kind == name[1] }) {
			t.Errorf("no test makes a %s", name[1])
		}
	}
	if len(names) < 5 {
		t.Fatalf("%d kinds found in merge.go", len(names))
	}
}

// Apply is total over them, in any order; no clone is changed by what comes after it;
// and what is counted never goes below nothing.
func TestApplyAnythingInTrees(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		s := inTrees(2)
		var clones []*ralph.State
		var before []string
		for range rapid.IntRange(1, 60).Draw(rt, "facts") {
			apply(s, drawParallel(rt))
			clones, before = append(clones, s.Clone()), append(before, jsonOf(rt, s))
			if i := s.Plan.Integration; i != nil && (i.Waiting < 0 || i.Landing < 0 || i.HeldTries < 0) {
				rt.Fatalf("%+v", i)
			}
		}
		for i, c := range clones {
			if now := jsonOf(rt, c); now != before[i] {
				rt.Fatalf("clone %d changed:\n%s", i, cmp.Diff(before[i], now))
			}
		}
	})
}
