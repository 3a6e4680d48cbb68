package report_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph/internal/ralphtest/storytest"

	"github.com/google/go-cmp/cmp"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/report"
)

// B-006: done, merge queued and slot freed follow each other for each task, also
// for one that an agent resolved.
func TestLogDoneQueuedFreed(t *testing.T) {
	t.Parallel()
	x := storytest.Sample()
	for id, slot := range map[string]string{"t-0001": "1", "t-0004": "2", "t-0005": "3"} {
		i := slices.IndexFunc(x.Lines, func(l string) bool { return strings.HasPrefix(l, "TASK: "+id+" done: ") })
		if i < 0 {
			t.Fatalf("no line says that %s is done", id)
		}
		if diff := cmp.Diff([]string{"MERGE: queued " + id, "SLOT " + slot + ": free"}, x.Lines[i+1:i+3]); diff != "" {
			t.Errorf("%s: %s", id, diff)
		}
	}
	resolved := "MERGE: t-0002 merged as "
	i := slices.IndexFunc(x.Lines, func(l string) bool { return strings.HasPrefix(l, resolved) })
	if i < 0 || !strings.HasSuffix(x.Lines[i], " (resolved)") {
		t.Errorf("t-0002 was resolved:\n%s", strings.Join(x.Lines, "\n"))
	}
}

// A landing that waits says so once for each list of files, and one that works
// says how many tasks came with it.
func TestLogLandings(t *testing.T) {
	t.Parallel()
	x := storytest.New()
	x.Begin(ralph.Task{ID: "t-0001", Name: "One"}, ralph.Task{ID: "t-0002", Name: "Two"})
	for _, id := range []ralph.TaskID{"t-0001", "t-0002"} {
		x.Start(id, 1)
		x.Done(id)
	}
	x.Clean("t-0001", "t-0002")
	x.Said()
	x.Waits("a.go")
	x.Waits("a.go")
	x.Waits("a.go", "b.go")
	x.Land()
	want := []string{
		"LAND: waits: your checkout has changes in a.go", "LAND: waits: your checkout has changes in a.go, b.go",
		"LAND: main is at " + x.S.Plan.Integration.Tip[:7] + " (2 tasks)",
	}
	if diff := cmp.Diff(want, x.Said()); diff != "" {
		t.Error(diff)
	}
}

// D-086: numbers rise from 1 for each spec, also when two tasks have a turn at once.
func TestLogNumbersIterations(t *testing.T) {
	t.Parallel()
	x := storytest.New()
	x.Add(ralph.PlanStarted{File: "a.md"})
	for _, id := range []ralph.TaskID{"t-0001", "t-0002"} {
		x.Add(ralph.TaskAdded{Task: ralph.Task{ID: id, Name: string(id), Status: ralph.TaskPending}})
	}
	x.Add(ralph.SessionStarted{ID: "s-1", Mode: "agent"}, ralph.JobStarted{Job: "q-1", ID: "q-1", File: "a.md"})
	for _, id := range []ralph.TaskID{"t-0001", "t-0002"} {
		x.Add(ralph.TaskStarted{ID: id})
		x.Receipt(id, ralph.Turn{Stage: ralph.KindBuild, Agent: "claude", Iteration: 1}, ralph.Why{})
	}
	x.Add(storytest.TurnOf(x.S.Task("t-0001"), ralph.KindBuild, time.Second, nil))
	x.Turn("t-0001", time.Second, nil)
	var got []string
	for _, l := range x.Said() {
		if strings.HasPrefix(l, "CONSTRUCT:") {
			got = append(got, l)
		}
	}
	want := []string{"CONSTRUCT: starting iteration 1", "CONSTRUCT: starting iteration 2", "CONSTRUCT: starting iteration 3"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A batch that does not go together says so; one task that conflicts has said it already.
func TestLogHalves(t *testing.T) {
	t.Parallel()
	x := storytest.New()
	x.Begin(ralph.Task{ID: "t-0001", Name: "One"}, ralph.Task{ID: "t-0002", Name: "Two"})
	id := x.Merge("t-0001", "t-0002")
	x.Said()
	x.Add(ralph.Merged{Task: id, Members: []ralph.TaskID{"t-0001", "t-0002"}, Commit: "abcdef012"})
	x.Checks(id, false)
	x.End(id, ralph.TaskFailed, "X-72", "red", false)
	want := []string{"MERGE: checks red with t-0001, t-0002: go test ./... (exit 1: FAIL parse_test.go:12)", "MERGE: t-0001, t-0002 do not go together: again in halves"}
	if diff := cmp.Diff(want, x.Said()); diff != "" {
		t.Error(diff)
	}
	x.Conflict("t-0002", "a.go", "b.go")
	if diff := cmp.Diff([]string{"MERGE: t-0002 conflicts in a.go, b.go"}, x.Said()); diff != "" {
		t.Error(diff)
	}
}

// B-062, B-063: the pause after failures in a row names the tasks, each with why
// and the command that tries it again.
func TestLogFailuresInARow(t *testing.T) {
	t.Parallel()
	x := storytest.New()
	x.Begin(ralph.Task{ID: "t-0001", Name: "One"}, ralph.Task{ID: "t-0002", Name: "Two"})
	for _, id := range []ralph.TaskID{"t-0001", "t-0002"} {
		x.Start(id, 1)
		x.End(id, ralph.TaskFailed, "B-073", "exit 3", false)
	}
	x.Said()
	x.Add(ralph.Noted{Text: "2 tasks in a row failed: t-0001, t-0002; look at them, then resume", Rule: "B-063"}, ralph.Control{Want: ralph.WantPause, Cause: "2 tasks in a row failed"})
	want := []string{
		"NEEDS YOU: 2 tasks in a row failed: t-0001, t-0002; look at them, then resume",
		"NEEDS YOU: t-0001 One: exit 3 ([[retry t-0001]])", "NEEDS YOU: t-0002 Two: exit 3 ([[retry t-0002]])",
		"PAUSED: 2 tasks in a row failed",
	}
	if diff := cmp.Diff(want, x.Said()); diff != "" {
		t.Error(diff)
	}
}

// Every fact of work in worktrees, one event alone: B-076 to B-082, B-091, B-092, X-72, X-73, X-75.
func TestParallelLines(t *testing.T) {
	t.Parallel()
	x := storytest.New()
	x.Begin(ralph.Task{ID: "t-0001", Name: "One"}, ralph.Task{ID: "t-0002", Name: "Two"})
	x.Start("t-0001", 2)
	saved := []ralph.Saved{{Ref: "refs/ralph/recovery/t-0001/1", Commit: "c", What: "2 commits"}}
	for _, tt := range []struct {
		name string
		fact ralph.Fact
		want []string
	}{
		{"slot", ralph.TaskStarted{ID: "t-0001", Slot: 2}, []string{"SLOT 2: t-0001 One"}},
		{"slot freed", ralph.TaskEnded{ID: "t-0002", Status: ralph.TaskBlocked, Slot: 2, Why: ralph.Why{Text: "no key"}}, []string{"TASK: t-0002 blocked: Two (no key)", "SLOT 2: free"}},
		{"integration", ralph.IntegrationStarted{Branch: "ralph/x", From: "abcdef0123"}, []string{"MERGE: into ralph/x, which lands on HEAD (at abcdef0)"}},
		{"setup", ralph.Prepared{Task: "t-0001", Dir: "ralph/.worktrees/2", Fresh: true, Took: 1200 * time.Millisecond}, []string{"WORKTREE: t-0001 has ralph/.worktrees/2 (1.2s)"}},
		{"setup again", ralph.Prepared{Task: "t-0001", Dir: "ralph/.worktrees/2"}, nil},
		{"setup failed", ralph.Prepared{Task: "t-0001", Dir: "ralph/.worktrees/2", Error: "worktree.setup: `npm ci` failed"}, []string{"WORKTREE: t-0001 cannot start: worktree.setup: `npm ci` failed"}},
		{"fast-forward", ralph.Merged{Members: []ralph.TaskID{"t-0001"}, Commit: "1a2b3c4d5e", How: "fast-forward", Advanced: true}, []string{"MERGE: t-0001 merged as 1a2b3c4 (fast-forward)"}},
		{"base", ralph.Merged{Commit: "1a2b3c4d5e", Advanced: true}, []string{"MERGE: what main has got meanwhile merged as 1a2b3c4"}},
		{"not yet", ralph.Merged{Members: []ralph.TaskID{"t-0001"}, Commit: "1a2b3c4d5e"}, nil},
		{"moved", ralph.Merged{Members: []ralph.TaskID{"t-0001"}, Moved: "1a2b3c4d5e"}, []string{"MERGE: the branch is at 1a2b3c4 meanwhile: again"}},
		{"machinery", ralph.Merged{Members: []ralph.TaskID{"t-0001"}, Error: "no space"}, []string{"MERGE: t-0001 failed: no space"}},
		{"baseline", ralph.BaselineRan{Commit: "1a2b3c4d5e", Red: []string{"go vet", "go test"}}, []string{"BASELINE: 1a2b3c4 is red without the work: go vet, go test"}},
		{"F-01 waived by a rule", ralph.ChecksRan{Task: "t-0001", Pass: true, Known: []string{"go test"}, Waived: []string{"go test"}, Results: []ralph.CheckResult{{Name: "go test", Exit: 1, Failed: []string{"TestA"}}}}, []string{"CHECK: waived go test (TestA) (a person let it pass)"}},
		{"R-H3 files that checks wrote", ralph.BaselineRan{Commit: "1a2b3c4d5e", Restored: []string{"a.txt"}, Saved: []ralph.Saved{{Ref: "refs/ralph/recovery/x"}}, Left: []string{"b.txt"}}, []string{
			"BASELINE: 1a2b3c4 is green without the work",
			"NOTE: the checks changed a.txt; the files are as the commit has them again, what was in them is refs/ralph/recovery/x",
			"NOTE: the checks left files that git does not ignore: b.txt; they are not committed: list them in .gitignore",
		}},
		{"R-H3 a baseline that did not run", ralph.BaselineRan{Commit: "1a2b3c4d5e", Skipped: "the checkout has changes by now"}, nil},
		{"known red", ralph.ChecksRan{Task: "t-0001", Pass: true, Known: []string{"go vet"}, Results: []ralph.CheckResult{{Name: "go vet", Exit: 1}}}, []string{"CHECK: red as before go vet (it was red in the same way before the work)"}},
		{"takes tests away", ralph.Committed{Task: "t-0001", Short: "abc1234", Subject: "One", Weakened: []ralph.Finding{{Path: "a_test.go", Line: 3, Kind: "skipped", What: "TestA"}}}, []string{`COMMIT: abc1234 "One"`, "NOTE: t-0001 takes tests away: a_test.go:3 skipped TestA"}},
		{"nothing to commit", ralph.Committed{Task: "t-0001", Commit: "abc1234"}, nil},
		{"landed already", ralph.Landed{How: "already"}, nil},
		{"a submodule stays", ralph.Landed{How: "fast-forward", To: "1a2b3c4d5e", Behind: []string{"vendor/lib"}}, []string{"LAND: main is at 1a2b3c4", "LAND: `git submodule update` brings along what your checkout has of vendor/lib"}},
		{"base moved", ralph.Landed{Moved: "1a2b3c4d5e"}, []string{"LAND: main went on to 1a2b3c4: its commits are merged first"}},
		{"not landed", ralph.TaskEnded{ID: "land:a-1:0:9", Status: ralph.TaskSkipped, Why: ralph.Why{Text: "not landed: a.go"}}, nil},
		{"resolve gave up", ralph.TaskEnded{ID: "resolve:a-1:0:t-0001:2", Status: ralph.TaskFailed, Slot: 1, Why: ralph.Why{Text: "out of time"}}, []string{"RESOLVE: t-0001 failed: out of time", "SLOT 1: free"}},
		{"merge gate", ralph.Asked{Approval: ralph.Approval{ID: "g-1", Kind: ralph.ApprovalMerge, About: "t-0001", Text: "look"}}, []string{"NEEDS YOU: g-1 look", `NEEDS YOU: decide with: [[approve g-1]] (or: [[deny g-1 --reason "..."]]; [[gates g-1]] shows it)`}},
		{"approved", ralph.Answered{ID: "g-1", Verdict: ralph.Approved}, []string{"APPROVED: g-1"}},
		{"denied", ralph.Answered{ID: "g-1", Verdict: ralph.Denied, Text: "no"}, []string{"DENIED: g-1 no"}},
		{"cleaned up", ralph.CleanedUp{Removed: []string{"a", "b"}, Branches: []string{"c"}, Kept: []string{"d"}}, []string{"CLEANUP: 2 worktrees and 1 merged branch removed", "CLEANUP: kept d"}},
		{"nothing to clean", ralph.CleanedUp{}, nil},
		{"saved", ralph.SavedWork{Task: "t-0001", Saved: saved}, []string{"SAVED: t-0001: 2 commits at refs/ralph/recovery/t-0001/1 ([[recovery]])"}},
		{"retried", ralph.TaskRetried{ID: "t-0001"}, []string{"RETRY: t-0001 One is pending again"}},
		{"skip", ralph.SkipWanted{ID: "t-0001", Reason: "later"}, []string{"SKIP: t-0001 One at the end of its iteration (later)"}},
		{"rollback", ralph.TaskRolledBack{ID: "t-0001", Saved: saved}, []string{"ROLLBACK: t-0001 One: its branch begins anew", "SAVED: t-0001: 2 commits at refs/ralph/recovery/t-0001/1 ([[recovery]])"}},
		{"revert", ralph.TaskRolledBack{ID: "t-0001", Revert: "1a2b3c4d5e"}, []string{"ROLLBACK: t-0001 One: reverted by 1a2b3c4"}},
		{"cleanup", ralph.TaskCleaned{ID: "t-0001", Dir: "ralph/.worktrees/2"}, []string{"CLEANUP: t-0001 One: worktree ralph/.worktrees/2 removed"}},
		{"extended", ralph.TaskExtended{ID: "t-0001", MaxIterations: 75}, []string{"EXTEND: t-0001 One may take 75 iterations"}},
		{"assigned", ralph.TaskAssigned{ID: "t-0001"}, []string{"ASSIGN: t-0001 One"}},
		{"autopilot", ralph.ModeSet{}, []string{"MODE: autopilot"}},
	} {
		if diff := cmp.Diff(tt.want, report.Lines(ralph.Event{Fact: tt.fact}, x.S)); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
}

// No text of an agent or of a repository makes a second line, steers a terminal or
// turns the direction of writing (D-082).
func TestParallelLinesAreTame(t *testing.T) {
	t.Parallel()
	x := storytest.New()
	evil := "one\ntwo\r\n\x1b[2J\u202ethree"
	x.Begin(ralph.Task{ID: "t-0001", Name: evil})
	x.Start("t-0001", 1)
	files := &ralph.Conflict{Files: []ralph.ConflictFile{{Path: evil}}}
	for _, fact := range []ralph.Fact{
		ralph.TaskStarted{ID: "t-0001", Slot: 1},
		ralph.Prepared{Task: "t-0001", Error: evil, Conflicts: []string{evil}, Saved: []ralph.Saved{{What: evil, Ref: "r"}}},
		ralph.Merged{Members: []ralph.TaskID{"t-0001"}, Conflict: files},
		ralph.Merged{Error: evil},
		ralph.Advanced{Error: evil},
		ralph.BaselineRan{Red: []string{evil}},
		ralph.Landed{Dirty: []string{evil}},
		ralph.Landed{Error: evil},
		ralph.CleanedUp{Kept: []string{evil}, Error: evil},
		ralph.SkipWanted{ID: "t-0001", Reason: evil},
		ralph.Committed{Task: "t-0001", Short: "abc", Weakened: []ralph.Finding{{Path: evil, What: evil}}},
		ralph.Asked{Approval: ralph.Approval{Kind: ralph.ApprovalMerge, Text: evil}},
		ralph.Answered{Verdict: ralph.Denied, Text: evil},
		ralph.TaskRetried{ID: "t-0001"},
	} {
		lines := report.Lines(ralph.Event{Fact: fact}, x.S)
		if len(lines) == 0 {
			t.Errorf("%s makes no line", fact.Kind())
		}
		for _, l := range lines {
			if strings.ContainsAny(l, "\n\r\t\x1b\u202e") {
				t.Errorf("%s makes %q", fact.Kind(), l)
			}
			if strings.Contains(l, "two") && !strings.Contains(l, `two [2J\u202ethree`) {
				t.Errorf("%s hides what an agent wrote: %q", fact.Kind(), l)
			}
		}
	}
}

// The last line of an autopilot session tells what came of the tasks (D-090, B-101, B-103).
func TestPilotSummary(t *testing.T) {
	t.Parallel()
	x := storytest.Sample()
	want := "Session summary: 4 tasks done, 1 failed, 1 timed out, 1 left, 3 merged, 1 not merged yet, $0.96, 7m 23s" // without the wait for an answer
	if diff := cmp.Diff(want, x.Lines[len(x.Lines)-1]); diff != "" {
		t.Error(diff)
	}
}

// A session of a journal that says no mode begins like any other.
func TestSessionWithoutAMode(t *testing.T) {
	t.Parallel()
	e, s := ralph.Event{Seq: 1, Fact: ralph.SessionStarted{ID: "s-1"}}, &ralph.State{}
	s.Apply(e)
	var log report.Log
	if got := log.Lines(e, s); len(got) == 0 || got[0] != "Session started" {
		t.Errorf("%q", got)
	}
}
