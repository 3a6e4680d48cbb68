package status_test

import (
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph/internal/ralphtest/storytest"

	"github.com/google/go-cmp/cmp"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/report"
	"github.com/ralph-loop/ralph/internal/status"
)

// What a person sees of slots, queue and landing while it runs: B-055, B-017,
// B-059, B-101, B-103; what needs them comes first.
func TestStatusOfACrew(t *testing.T) {
	t.Parallel()
	x := storytest.New()
	x.Begin(
		ralph.Task{ID: "t-0001", Name: "One"}, ralph.Task{ID: "t-0002", Name: "Two", MaxIterations: 9},
		ralph.Task{ID: "t-0003", Name: "Three"}, ralph.Task{ID: "t-0004", Name: "Four"}, ralph.Task{ID: "t-0005", Name: "Five"},
	)
	for _, id := range []ralph.TaskID{"t-0003", "t-0004", "t-0005"} {
		x.Start(id, 1)
		x.Turn(id, 10*time.Second, storytest.Complete)
		x.Done(id)
	}
	x.Conflict("t-0003", "a.go")
	x.Clean("t-0004")
	x.Waits("notes.txt")
	hold := x.Merge("t-0005")
	x.Add(ralph.Asked{Approval: ralph.Approval{ID: "g-1a2b", Kind: ralph.ApprovalMerge, Task: hold, About: "t-0005", Text: "weakens tests"}})
	x.Start("t-0001", 1)
	x.Turn("t-0001", time.Minute, func(f *ralph.TurnEnded) {
		f.Signal = ralph.Signal{Kind: ralph.SignalProgress, Percent: 40, Text: "tests written"}
	})
	x.Start("t-0002", 2)
	x.Turn("t-0002", time.Minute, func(f *ralph.TurnEnded) { f.Changed = false })
	x.Add(ralph.Noted{Task: "t-0002", Rule: ralph.RuleStuck, Text: "stuck"})
	tip := x.S.Plan.Integration.Tip[:7]
	want := `Needs you:
  g-1a2b  merge  t-0005  weakens tests
      ralph approve g-1a2b   or   ralph deny g-1a2b --reason "..."   (ralph gates g-1a2b shows it)
  ralph/feature-x does not land on main: notes.txt
      commit or stash what is in the way: then it lands by itself

Engine:  running, pid 42
Spec:    feature-x.md
Tasks:   0 pending, 2 active, 3 done
Spent:   $0.40, 2m 38s, 5 iterations
Decided: t-0002 Two: build turn 1 of claude: no signal yet (B-026)
Slots:   2 of 3 busy
Slot 1:  t-0001 One, iteration 2/50, 40% tests written, claude, 2m 0s
Slot 2:  t-0002 Two, iteration 2/9, claude, 1m 0s, MAY BE STUCK: 1 iteration without a change
Merges:  1 clean, 0 resolved, 2 pending
Queue:   t-0003 Three, conflicts in a.go; it waits for a slot to mend it in
Queue:   t-0005 Five, weakens tests
Landing: main waits at base000, finished work is on ralph/feature-x at ` + tip + `; in the way: notes.txt
`
	if diff := cmp.Diff(want, status.Text(x.S, status.Engine{Alive: true, Pid: 42}, x.Now)); diff != "" {
		t.Error(diff)
	}
	got := status.QueryStage(x.S)
	if len(got.Slots) != 2 || got.Slots[1].MaxIterations != 9 || !got.Slots[1].Stuck || got.Slots[0].Progress != 40 || got.Parallel != 3 {
		t.Errorf("slots %+v", got.Slots)
	}
	if len(got.Queue) != 2 || got.Queue[0].Doing != "waiting" || got.Queue[1].Gate != "g-1a2b" || got.Queue[1].Doing != "held" {
		t.Errorf("queue %+v", got.Queue)
	}
	if l := got.Landing; l == nil || !l.Behind || l.Base != "main" || len(l.Held) != 1 {
		t.Errorf("landing %+v", l)
	}
}

// Work that landed as one commit of its own, as each spec does in agent mode, is not said to land next.
func TestLandedAsOneCommit(t *testing.T) {
	t.Parallel()
	x := storytest.New()
	x.Begin(ralph.Task{ID: "t-0001", Name: "One"})
	x.Start("t-0001", 1)
	x.Done("t-0001")
	x.Clean("t-0001")
	if l := status.QueryStage(x.S).Landing; l == nil || !l.Behind {
		t.Fatalf("before it lands: %+v", l)
	}
	x.Add(ralph.TaskAdded{Task: ralph.Task{ID: "land:a-1:0:9", Kind: ralph.KindLand}}, ralph.TaskStarted{ID: "land:a-1:0:9"})
	x.Receipt("land:a-1:0:9", ralph.Land{}, ralph.Why{Rule: "P-7", Text: "bring main up"})
	x.Add(ralph.Landed{Task: "land:a-1:0:9", From: x.S.Plan.Integration.Landed, To: "0ne0ne0", How: "fast-forward"})
	if l := status.QueryStage(x.S).Landing; l.Behind || strings.Contains(status.Text(x.S, status.Engine{}, x.Now), "lands next") {
		t.Errorf("it has landed: %+v", l)
	}
}

// The queue says what is done about each task: merging, checking, being resolved, given up.
func TestQueueSaysWhatIsDone(t *testing.T) {
	t.Parallel()
	x := storytest.New()
	x.Begin(ralph.Task{ID: "t-0001", Name: "One"})
	x.Start("t-0001", 1)
	x.Done("t-0001")
	doing := func() string { return status.QueryStage(x.S).Queue[0].Doing }
	for _, step := range []struct {
		want string
		do   func()
	}{
		{"waiting", func() {}},
		{"merging", func() { x.Merge("t-0001") }},
		{"checking", func() {
			x.Add(ralph.Merged{Task: x.S.Stages[len(x.S.Stages)-1].ID, Members: []ralph.TaskID{"t-0001"}, Commit: "c"})
		}},
		{"waiting", func() { x.End(x.S.Stages[len(x.S.Stages)-1].ID, ralph.TaskFailed, "X-72", "red", false) }},
		{"resolving", func() {
			x.Add(ralph.TaskAdded{Task: ralph.Task{ID: "resolve:a-1:0:t-0001:1", Kind: ralph.KindResolve, Parent: "t-0001"}}, ralph.TaskStarted{ID: "resolve:a-1:0:t-0001:1", Slot: 1, Dir: "d"})
		}},
		{"held", func() { x.End("resolve:a-1:0:t-0001:1", ralph.TaskFailed, "B-028", "no signal", false) }},
	} {
		step.do()
		if got := doing(); got != step.want {
			t.Errorf("it is %q, want %q: %+v", got, step.want, status.QueryStage(x.S).Queue)
		}
	}
}

// B-085, B-091, B-092: semi mode waits for a person and names the command. B-062,
// B-064: so does the pause after failures in a row.
func TestStatusWaitsForAPerson(t *testing.T) {
	t.Parallel()
	x := storytest.New()
	x.Begin(ralph.Task{ID: "t-0001", Name: "One"})
	x.Add(ralph.ModeSet{Mode: ralph.Semi})
	got := status.Text(x.S, status.Engine{Alive: true, Pid: 42}, x.Now)
	if !strings.Contains(got, "      ralph task assign <task>\n") || !strings.Contains(got, "Mode:    semi: ") {
		t.Error(got)
	}
	x.Add(ralph.ModeSet{})
	for range 3 {
		x.Start("t-0001", 1)
		x.End("t-0001", ralph.TaskFailed, "B-073", "exit 3", false)
	}
	if got := status.Text(x.S, status.Engine{Alive: true}, x.Now); strings.Contains(got, "Needs you") || !strings.Contains(got, "Failed:  3 tasks in a row: t-0001") {
		t.Error(got)
	}
	x.Add(ralph.Control{Want: ralph.WantPause, Cause: "3 tasks in a row failed"})
	if got := status.Text(x.S, status.Engine{Alive: true}, x.Now); !strings.Contains(got, "paused: 3 tasks failed in a row: t-0001, t-0001, t-0001\n      ralph task retry <task>, then ralph resume\n") {
		t.Error(got)
	}
}

// B-100 to B-103, X-99: statistics of the session and of the whole journal.
func TestStatistics(t *testing.T) {
	t.Parallel()
	x := storytest.Sample()
	x.Pass(time.Hour)
	first := status.QueryStats(x.S, status.Engine{Alive: true}, x.Now)
	if first.RuntimeSeconds < 7*60 || first.RuntimeSeconds > 8*60 {
		t.Errorf("runtime %v: the session ran 9 minutes and a bit, two of which all waited for a person", first.RuntimeSeconds)
	}
	want := status.Counts{
		TasksDone: 4, TasksFailed: 1, TasksTimeout: 1, Iterations: 12, AverageSeconds: 35.416666666666664, FastestSeconds: 10, SlowestSeconds: 70,
		AgentTimeSeconds: 425, MergesClean: 2, MergesResolved: 1, Conflicts: 1, ChecksGreen: 7, ChecksRed: 1, Commits: 5,
		Cost: first.This.Cost, Tokens: 12 * 22100, CostKnown: true,
	}
	if diff := cmp.Diff(want, first.This); diff != "" {
		t.Error(diff)
	}
	if first.Remaining != 1 || first.MergesPending != 1 || first.TasksByStatus["done"] != 4 || first.PerTask.Most != 3 || first.PerTask.Task != "t-0001" {
		t.Errorf("%+v", first)
	}
	if diff := cmp.Diff(first.This, first.Overall); diff != "" {
		t.Errorf("one session is all there is: %s", diff)
	}
	x.Add(ralph.SessionStarted{ID: "s-2", Mode: "autopilot"}, ralph.TaskRetried{ID: "t-0006"})
	x.Start("t-0006", 1)
	x.Turn("t-0006", 5*time.Second, storytest.Complete)
	x.Done("t-0006")
	second := status.QueryStats(x.S, status.Engine{Alive: true}, x.Now)
	if second.This.TasksDone != 1 || second.This.Iterations != 1 || second.Overall.TasksDone != 5 || second.Overall.Iterations != 13 || second.Overall.FastestSeconds != 5 {
		t.Errorf("this %+v, overall %+v", second.This, second.Overall)
	}
}

// The task of `ralph task show` and `ralph query tasks`: place, merge, conflict,
// findings, answers.
func TestTaskShowsItsPlace(t *testing.T) {
	t.Parallel()
	x := storytest.Sample()
	got := report.Task(x.S.Task("t-0005"), nil)
	for _, want := range []string{"branch:     ralph/t-0005 (from base000)\n", "merge:      queued\n", "finding:    old_test.go:12 removed TestOld\n", "commit:     c0ffee0\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if got := report.Task(x.S.Task("t-0004"), nil); !strings.Contains(got, "answered:   red or blue?\n            blue\n") {
		t.Error(got)
	}
	if got := report.Task(x.S.Task("t-0006"), nil); !strings.Contains(got, "worktree:   ralph/.worktrees/1\n") {
		t.Error(got)
	}
	r := status.QueryTask(x.S.Task("t-0002"))
	if r.Merge != ralph.MergeMerged || r.MergeHow != "resolved" || r.MergeCommit == "" || r.Resolves != 1 || r.Branch != "ralph/t-0002" || len(r.Conflicts) != 0 {
		t.Errorf("%+v", r)
	}
	y := storytest.New()
	y.Begin(ralph.Task{ID: "t-0001", Name: "One"})
	y.Start("t-0001", 1)
	y.Done("t-0001")
	y.Conflict("t-0001", "a.go")
	if got := report.Task(y.S.Task("t-0001"), nil); !strings.Contains(got, "merge:      conflict\n") || !strings.Contains(got, "conflict:   a.go (content)\n            <<<<<<< ours\n") {
		t.Error(got)
	}
	if r := status.QueryTask(y.S.Task("t-0001")); r.Merge != ralph.MergeConflict || len(r.Conflicts) != 1 || r.Conflicts[0] != "a.go" {
		t.Errorf("%+v", r)
	}
}

// A task's history has the merges, resolves and gates about it, and each event its slot.
func TestConcernsAndSlots(t *testing.T) {
	t.Parallel()
	x := &ralph.State{}
	concerns, slots := map[string]int{}, map[int]int{}
	for _, e := range storytest.Sample().Events {
		x.Apply(e)
		if report.Concerns(e, x, "t-0002") {
			concerns[e.Fact.Kind()]++
		}
		slots[report.SlotOf(e, x)]++
	}
	want := map[string]int{"merged": 2, "advanced": 1, "merge.queued": 2, "turn.ended": 2, "prepared": 2}
	for kind, n := range want {
		if concerns[kind] != n {
			t.Errorf("%d %s concern t-0002, want %d", concerns[kind], kind, n)
		}
	}
	if slots[1] == 0 || slots[2] == 0 || slots[3] == 0 {
		t.Errorf("slots of the events: %v", slots)
	}
}
