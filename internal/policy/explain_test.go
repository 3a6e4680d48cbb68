package policy_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/policy"
	"github.com/ralph-loop/ralph/internal/ralphtest/enginetest"
)

// explained is one row of `ralph why`: the first task is asked about.
type explained struct {
	name  string
	tasks []ralph.Task
	facts []ralph.Fact
	ready bool
	rank  int
	waits []string
	words string // "": made of the waits
}

func (tt explained) run(t *testing.T, c policy.Config) {
	t.Helper()
	t.Run(tt.name, func(t *testing.T) {
		t.Parallel()
		b := parallelOn(t, c, tt.tasks...)
		b.add(tt.facts...)
		x := policy.Explain(&b.s, "a", c, b.now)
		if x.Ready != tt.ready || x.Rank != tt.rank || !slices.Equal(x.Waits, tt.waits) || tt.words != "" && x.Words != tt.words {
			t.Errorf("ready %v, rank %d, waits %q\n%s\nwant ready %v, rank %d, waits %q\n%s", x.Ready, x.Rank, x.Waits, x.Words, tt.ready, tt.rank, tt.waits, tt.words)
		}
	})
}

func ended(status ralph.TaskStatus, reason string) func(*ralph.Task) {
	return func(x *ralph.Task) { x.Status, x.Run.Reason = status, reason }
}

// `ralph why` (product.md 14): what of the plan a task waits for.
func TestExplainPlan(t *testing.T) {
	t.Parallel()
	for _, tt := range []explained{
		{"B-046 ready and next", []ralph.Task{task("a", nil)}, nil, true, 1, nil, "it is ready and next"},
		{
			"B-047 others come first",
			[]ralph.Task{task("a", nil), task("b", tagged("critical")), task("c", tagged("quick-win"))},
			nil, true, 3,
			[]string{"2 that come before it"},
			"it is ready, number 3 in the order, and waits for 2 that come before it",
		},
		{
			"B-004 no free slot",
			[]ralph.Task{task("a", nil), task("b", at(1, "1")), task("c", at(2, "2")), task("d", at(3, "3"))},
			nil, true, 1,
			[]string{"a free slot: all 3 are busy"},
			"it is ready, number 1 in the order, and waits for a free slot: all 3 are busy",
		},
		{
			"B-002 what it depends on",
			[]ralph.Task{task("a", deps("b", "c")), task("b", at(1, "1")), task("c", ended(ralph.TaskFailed, "no"))},
			nil, false, 0,
			[]string{"task b (b), which is active", "task c (c), which is failed"},
			"it is not ready: it waits for task b (b), which is active; task c (c), which is failed",
		},
		{"B-002 a dep that is skipped or gone does not hold", []ralph.Task{task("a", deps("b", "gone")), task("b", ended(ralph.TaskSkipped, ""))}, nil, true, 1, nil, "it is ready and next"},
		{
			"X-72 done, not merged",
			[]ralph.Task{task("a", deps("b")), task("b", inMerge(ralph.MergeWaiting))},
			nil, false, 0,
			[]string{"task b (b), which is done, and its merge is in the queue"},
			"",
		},
		{
			"X-65 an earlier phase",
			[]ralph.Task{task("a", inPhase("p2")), task("b", inPhase("p1")), task("c", inMerge(ralph.MergeRed, inPhase("p1")))},
			[]ralph.Fact{ralph.PlanOrdered{IDs: []ralph.TaskID{"b", "c", "a"}}},
			false, 0,
			[]string{`phase "p1" to end: task b (b) is pending, task c (c) is done, and its merge is red on the merged tree`},
			"",
		},
	} {
		tt.run(t, parallelSettings())
	}
}

// What holds every task: the engine, a person, the agents, task.delay.
func TestExplainEngine(t *testing.T) {
	t.Parallel()
	semi := ralph.ModeSet{Mode: ralph.Semi}
	limited := func(agent string, after time.Duration) ralph.Fact {
		return ralph.AgentLimited{Agent: agent, Until: time.Date(2025, 1, 20, 10, 0, 0, 0, time.UTC).Add(after), Hard: after >= time.Hour}
	}
	c := parallelSettings()
	c.TaskDelay, c.Parallel = time.Minute, 1
	for _, tt := range []explained{
		{
			"X-12 no engine",
			[]ralph.Task{task("a", nil)},
			[]ralph.Fact{ralph.SessionEnded{Reason: ralph.ReasonComplete}},
			true, 1,
			[]string{"an engine: `[[start autopilot]]` starts one"},
			"it is ready, number 1 in the order, and waits for an engine: `[[start autopilot]]` starts one",
		},
		{"B-057 paused", []ralph.Task{task("a", nil)}, []ralph.Fact{ralph.Control{Want: ralph.WantPause, Cause: "a person"}}, true, 1, []string{"`[[resume]]`: paused (a person)"}, ""},
		{"D-051 stopping", []ralph.Task{task("a", nil)}, []ralph.Fact{ralph.Control{Want: ralph.WantStop}}, true, 1, []string{"the next start: the engine is stopping"}, ""},
		{"B-030 semi", []ralph.Task{task("a", nil)}, []ralph.Fact{semi}, true, 1, []string{"`[[assign a]]`: in semi mode a person chooses"}, ""},
		{"B-091 semi and assigned", []ralph.Task{task("a", nil), task("b", nil)}, []ralph.Fact{semi, ralph.TaskAssigned{ID: "a"}}, true, 1, nil, "it is ready and next"},
		{"B-013 semi and answered", []ralph.Task{task("a", answered)}, []ralph.Fact{semi}, true, 1, nil, "it is ready and next"},
		{
			"X-38 every agent at its limit",
			[]ralph.Task{task("a", nil)},
			[]ralph.Fact{limited("claude", 2*time.Hour), limited("codex", time.Hour)},
			true, 1,
			[]string{"an agent: each that may do it is at its limit, until 11:00:00"},
			"",
		},
		{
			"X-33 its agent for a moment",
			[]ralph.Task{task("a", nil)},
			[]ralph.Fact{limited("claude", 5*time.Second)},
			true, 1,
			[]string{"its agent, which is at a limit for a moment, until 10:00:05"},
			"",
		},
		{
			"A-105 the start",
			[]ralph.Task{task("a", nil)},
			[]ralph.Fact{ralph.Asked{Approval: ralph.Approval{ID: "g-1", Kind: ralph.ApprovalStart, Text: "ralph autopilot wants to start"}}},
			true, 1, nil, "it is ready and next", // without require_approval_to_start it is none of its business
		},
		{
			"A-023 step, asked",
			[]ralph.Task{task("a", nil)},
			[]ralph.Fact{ralph.ModeSet{Mode: ralph.Stepwise}, ralph.Asked{Approval: ralph.Approval{ID: "g-1", Kind: ralph.ApprovalStep, Task: "a"}}},
			true, 1,
			[]string{"`[[approve g-1]]`: in mode step a person approves each task"},
			"",
		},
		{
			"A-023 step, not asked yet",
			[]ralph.Task{task("a", nil), task("b", tagged("critical"))},
			[]ralph.Fact{ralph.ModeSet{Mode: ralph.Stepwise}, ralph.Asked{Approval: ralph.Approval{ID: "g-1", Kind: ralph.ApprovalStep, Task: "b"}}},
			true, 2,
			[]string{"your approval, which is asked for when it is next: in mode step a person approves each task", "1 that come before it"},
			"",
		},
		{"A-023 step, approved", []ralph.Task{task("a", func(x *ralph.Task) { x.Run.Approved = true })}, []ralph.Fact{ralph.ModeSet{Mode: ralph.Stepwise}}, true, 1, nil, "it is ready and next"},
		{
			"A-093 manual has one agent",
			[]ralph.Task{task("a", nil)},
			[]ralph.Fact{ralph.ModeSet{Mode: ralph.Manual}, limited("claude", 2*time.Hour)},
			true, 1,
			[]string{"the next start: the session ends, claude until 2025-01-20T12:00:00Z", "an agent: each that may do it is at its limit, until 12:00:00"},
			"",
		},
		{"X-36 one is free", []ralph.Task{task("a", nil)}, []ralph.Fact{limited("claude", 2*time.Hour)}, true, 1, nil, "it is ready and next"},
		{
			"task.delay",
			[]ralph.Task{task("a", nil), task("b", at(1, "1"))},
			[]ralph.Fact{ralph.TaskEnded{ID: "b", Status: ralph.TaskDone}},
			true, 1,
			[]string{"task.delay, until 10:01:00"},
			"it is ready, number 1 in the order, and waits for task.delay, until 10:01:00",
		},
	} {
		tt.run(t, c)
	}
}

// What is at work, has ended, or is on its way through the merge queue.
func TestExplainWork(t *testing.T) {
	t.Parallel()
	queue := func(q ralph.Queue) func(*ralph.Task) {
		return func(x *ralph.Task) { x.Status, x.Run.Queue = ralph.TaskDone, q }
	}
	clash := &ralph.Merged{}
	conflict("content", "a.go", "b.go")(clash)
	for _, tt := range []explained{
		{"at work", []ralph.Task{task("a", at(2, "1"))}, nil, false, 0, nil, "it is at work in slot 2, iteration 1"},
		{"at work in place", []ralph.Task{task("a", ended(ralph.TaskActive, ""))}, []ralph.Fact{ralph.TurnEnded{Task: "a", Exit: ralph.ExitOK}}, false, 0, nil, "it is at work, iteration 2"},
		{
			"B-054 a question",
			[]ralph.Task{task("a", at(2, "1"))},
			[]ralph.Fact{ralph.Asked{Approval: ralph.Approval{ID: "g-1", Task: "a", Text: "which?"}}},
			false, 0,
			[]string{"your answer to g-1: which?"},
			"it waits for a person; its slot is free for others",
		},
		{"failed", []ralph.Task{task("a", ended(ralph.TaskFailed, "it broke"))}, nil, false, 0, nil, "it failed: it broke"},
		{"B-032 timeout", []ralph.Task{task("a", ended(ralph.TaskTimeout, "50 iterations used"))}, nil, false, 0, nil, "it timed out: 50 iterations used"},
		{"without a reason", []ralph.Task{task("a", ended(ralph.TaskSkipped, ""))}, nil, false, 0, nil, "it is skipped: by a person"},
		{"done, nothing to merge", []ralph.Task{task("a", ended(ralph.TaskDone, "COMPLETE"))}, nil, false, 0, nil, "it is done: COMPLETE"},
		{"merged", []ralph.Task{task("a", queue(ralph.Queue{State: ralph.MergeMerged, Commit: "0123456789abcdef"}))}, nil, false, 0, nil, "it is done and merged as 012345678"},
		{
			"X-72 in the queue",
			[]ralph.Task{task("a", queue(ralph.Queue{State: ralph.MergeWaiting}))},
			nil, false, 0,
			[]string{"its merge, which is in the queue"},
			"it is done; what depends on it waits for its merge",
		},
		{"X-72 in conflict", []ralph.Task{task("a", queue(ralph.Queue{State: ralph.MergeConflict, Merged: clash}))}, nil, false, 0, []string{"its merge, which is in conflict in a.go, b.go"}, ""},
		{"X-72 red", []ralph.Task{task("a", queue(ralph.Queue{State: ralph.MergeRed}))}, nil, false, 0, []string{"its merge, which is red on the merged tree"}, ""},
		{"X-72 held", []ralph.Task{task("a", queue(ralph.Queue{State: ralph.MergeRed, GaveUp: "too much"}))}, nil, false, 0, []string{"its merge, which is held for a person: too much"}, ""},
	} {
		tt.run(t, parallelSettings())
	}
}

// B-047: the score with its five parts, as the scheduler weighs it.
func TestExplainScore(t *testing.T) {
	t.Parallel()
	b := parallelOn(t, parallelSettings(), task("a", func(x *ralph.Task) { x.Tags, x.RetryCount = []string{"critical", "quick-win"}, 1 }), task("b", deps("a")))
	x := policy.Explain(&b.s, "a", b.c, b.now)
	if want := (policy.Points{Unblocks: 10, Critical: 50, QuickWin: 30, Retry: -15}); x.Parts != want || x.Score != 75 || x.Name != "a" || x.Task != "a" || x.Status != ralph.TaskPending {
		t.Errorf("%+v", x)
	}
}

// A step that no worker of a fleet can take is said in the words that are handed in; what waits for nobody is not.
func TestExplainWhatNoWorkerHas(t *testing.T) {
	t.Parallel()
	b := parallelOn(t, parallelSettings(), task("a", at(2, "1")), task("b", func(x *ralph.Task) {
		at(3, "1")(x)
		x.Run.InFlight = 7
	}))
	for id, want := range map[ralph.TaskID]string{"a": "it is at work in slot 2, iteration 1", "b": "its iteration waits for a worker: no worker has the label gpu; start one"} {
		x := policy.Explain(&b.s, id, b.c, b.now)
		x.Lacks(b.s.Task(id), "no worker has the label gpu; start one")
		x.Lacks(b.s.Task(id), "")
		if x.Words != want || len(x.Waits) > 0 != (id == "b") {
			t.Errorf("%s: %q, %q", id, x.Words, x.Waits)
		}
	}
}

// What the scheduler does next is what is explained as next, and only tasks of the
// plan are explained.
func TestExplainIsWhatHappens(t *testing.T) {
	t.Parallel()
	b := parallelOn(t, parallelSettings(), task("a", nil), task("b", tagged("critical")), task("c", deps("b")), task("d", inPhase("late")))
	for _, id := range []ralph.TaskID{"none", "prepare:a-s-1"} {
		if x := policy.Explain(&b.s, id, b.c, b.now); x != nil {
			t.Errorf("%s: %+v", id, x)
		}
	}
	for range 2 {
		var next ralph.TaskID
		for _, id := range []ralph.TaskID{"a", "b", "c", "d"} {
			if x := policy.Explain(&b.s, id, b.c, b.now); x.Words == "it is ready and next" {
				next = id
			}
		}
		if got := b.next(); !strings.HasPrefix(got, string(next)+" slot") {
			t.Errorf("explained as next: %q, and then: %s", next, got)
		}
	}
}

// In place there are no slots to wait for by number: one is at work, or none.
func TestExplainInPlace(t *testing.T) {
	t.Parallel()
	b := building(t, enginetest.Settings(), ralph.Task{ID: "t-2", Name: "two", Status: ralph.TaskPending})
	x := policy.Explain(&b.s, "t-2", b.c, b.now)
	if !x.Ready || x.Rank != 1 || x.Words != "it is ready, number 1 in the order, and waits for a free slot: all 1 are busy" {
		t.Errorf("%+v", x)
	}
}

// What holds a task that is at work between its turns, and what holds all: its own
// backoff, a limit, a pause with its cause, budgets that others may use up or that are
// passed, the approval of the start.
func TestExplainControl(t *testing.T) {
	t.Parallel()
	why := func(b *board, id ralph.TaskID, want ...string) {
		t.Helper()
		if x := policy.Explain(&b.s, id, b.c, b.now); !slices.Equal(x.Waits, want) {
			t.Errorf("%s waits for %q (%s), want %q", id, x.Waits, x.Words, want)
		}
	}
	two := ralph.Task{ID: "t-2", Name: "two", Status: ralph.TaskPending}
	b := building(t, enginetest.Settings(), two)
	b.turn(failure(ralph.ErrClassServer))
	why(b, "t-1", "the next try after: server: boom, until 10:00:02")
	b.want("wait", "X-31")
	why(b, "t-1", "retry 1 of 2 after: server: boom, until 10:00:02")
	b.person(b.s.Steer(ralph.WantPause, "lunch"))
	why(b, "t-1", "paused: lunch")
	why(b, "t-2", "`[[resume]]`: paused (lunch)", "a free slot: all 1 are busy")

	b = building(t, enginetest.Settings())
	b.hit("claude", time.Time{})
	why(b, "t-1", "claude is at its limit (1): rate_limit: 429, until 10:00:05")

	c := enginetest.Settings()
	c.Parallel, c.Budget.Cost = 2, 2.5
	b = building(t, c, two)
	b.turn(used(1, 1, 0))
	b.begin("t-1", "claude")
	b.add(ralph.StepStarted{Task: "t-1", Step: ralph.Turn{Agent: "claude", Reserve: ralph.Usage{Cost: 1, Known: true}}, DecidedAt: b.now})
	why(b, "t-1")
	why(b, "t-2", "the turns under way, which may use up a budget")
	b.turn(used(1, 2, 0))
	why(b, "t-2", "the next start: the session ends, $3.00 spent, the limit is $2.50")

	c = enginetest.Settings()
	c.SpecBudget.Cost = 1
	b = building(t, c, two)
	b.turn(used(1, 2, 0))
	why(b, "t-2", "the next start: its spec fails, $2.00 of the spec used, the limit is $1.00", "a free slot: all 1 are busy")

	c = parallelSettings()
	c.ApproveStart = true
	b = parallelOn(t, c, two)
	b.add(ralph.Asked{Approval: ralph.Approval{ID: "g-1", Kind: ralph.ApprovalStart, Text: "ralph autopilot wants to start"}})
	why(b, "t-2", "`[[approve g-1]]`: ralph autopilot wants to start")
}
