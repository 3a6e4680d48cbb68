package receipts_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph/internal/ralphtest/storytest"
	"github.com/ralph-loop/ralph/internal/report/receipts"

	"github.com/google/go-cmp/cmp"

	"github.com/ralph-loop/ralph"
)

// receipts gathers those of a story.
func gathered(x *storytest.Story, ask receipts.Receipts) []receipts.Receipt {
	s := &ralph.State{}
	for _, e := range x.Events {
		ask.Add(e, s)
		s.Apply(e)
	}
	return ask.List()
}

// Every decision is a line: number, time, task, step, rule and why, and what came of
// it; of one task also its merges and what mends them.
func TestReceiptsOfATask(t *testing.T) {
	t.Parallel()
	x := storytest.Sample()
	list := gathered(x, receipts.Receipts{Task: "t-0002"})
	var got []string
	for line := range strings.Lines(receipts.ReceiptList(list)) {
		_, rest, _ := strings.Cut(strings.TrimSpace(line), "  ")
		_, rest, _ = strings.Cut(rest, "  ")
		got = append(got, strings.TrimSpace(rest))
	}
	want := []string{
		"", // the day
		"t-0002          make the place of work ready (B-005 make its worktree ready) -> ready at base000",
		"t-0002          build turn 1 of claude (B-026 no signal yet) -> COMPLETE, changed files, 1m 10s, $0.08",
		"t-0002          run the checks (B-010 COMPLETE: run the checks) -> green, 2s",
		"t-0002          end as done (B-022 COMPLETE and the checks pass)",
		"merge           merge t-0002 (B-006 merge into ralph/feature-x) -> conflicts in body.go",
		"merge           end as failed (X-72 conflict in body.go)",
		"resolve t-0002  resolve turn 1 of claude (B-026 no signal yet) -> COMPLETE, changed files, 45s, $0.08",
		"resolve t-0002  end as done (B-022 COMPLETE and the checks pass)",
		"merge           merge t-0002 (B-006 merge into ralph/feature-x) -> merged as " + commitOf(list),
		"merge           run the checks (B-010 COMPLETE: run the checks) -> green, 2s",
		"merge           move the integration branch to  (P-14 the checks pass on the merged tree) -> at " + commitOf(list),
		"merge           end as done (B-006 merged)",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func commitOf(list []receipts.Receipt) string {
	for _, x := range list {
		if x.Step == "merge" && x.Outcome != nil && strings.HasPrefix(x.Outcome.Words, "merged as ") {
			return strings.TrimPrefix(x.Outcome.Words, "merged as ")
		}
	}
	return "no merge"
}

// Each kind of outcome has its words; what a person decided is no receipt; what a dead
// engine left has none, and what is under way not yet.
func TestReceiptOutcomes(t *testing.T) {
	t.Parallel()
	x := storytest.Controlled("")
	last := func(step ralph.Step, facts ...ralph.Fact) string {
		x.Receipt("t-0001", step, ralph.Why{Rule: "X-1"})
		x.Add(facts...)
		list := gathered(x, receipts.Receipts{Most: 1})
		switch out := list[len(list)-1].Outcome; {
		case out != nil:
			return out.Words
		case list[len(list)-1].Cut:
			return "cut"
		}
		return "under way"
	}
	turn := func(edit func(*ralph.TurnEnded)) ralph.TurnEnded {
		return storytest.TurnOf(x.S.Task("t-0001"), ralph.KindBuild, time.Second, edit)
	}
	for want, got := range map[string]string{
		"under way":                                 last(ralph.Turn{}),
		"no signal, changed files, 1s, $0.08":       last(ralph.Turn{}, turn(nil)),
		"PROGRESS 40%, changed files, 1s, $0.08":    last(ralph.Turn{}, turn(func(f *ralph.TurnEnded) { f.Signal = ralph.Signal{Kind: ralph.SignalProgress, Percent: 40} })),
		"BLOCKED: no key, changed files, 1s, $0.08": last(ralph.Turn{}, turn(func(f *ralph.TurnEnded) { f.Signal = ralph.Signal{Kind: ralph.SignalBlocked, Text: "no\nkey"} })),
		"rate_limit: 429, changed files, 1s, $0.08": last(ralph.Turn{}, ralph.AgentLimited{Agent: "claude", Task: "t-0001"}, turn(func(f *ralph.TurnEnded) {
			f.Err = &ralph.AgentError{Class: ralph.ErrClassLimit, Message: "429"}
		})),
		"its answer does not fit: no tasks, 1s": last(ralph.Turn{}, turn(func(f *ralph.TurnEnded) { f.Mismatch, f.Changed, f.Usage = "no tasks", false, ralph.Usage{} })),
		"red: go vet":                           last(ralph.Check{}, ralph.ChecksRan{Task: "t-0001", Results: []ralph.CheckResult{{Name: "go vet"}, {Name: "lint"}}, Known: []string{"lint"}}),
		"failed: no identity":                   last(ralph.Commit{}, ralph.Committed{Task: "t-0001", Error: "no identity"}),
		"nothing to commit":                     last(ralph.Commit{}, ralph.Committed{Task: "t-0001"}),
		"put away: stash":                       last(ralph.Shelve{}, ralph.Shelved{Task: "t-0001", How: "stash"}),
		"asked: g-1":                            last(ralph.Ask{}, ralph.Asked{Approval: ralph.Approval{ID: "g-1", Task: "t-0001"}}),
		"agent: 12.0k -> 900 tokens":            last(ralph.Compact{}, ralph.Compacted{Task: "t-0001", How: "agent", Before: ralph.ContextUse{Used: 12000}, After: ralph.ContextUse{Used: 900}}),
		"skipped: by a person":                  last(ralph.Turn{}, ralph.TaskEnded{ID: "t-0001", Status: ralph.TaskSkipped, Why: ralph.Why{Text: "by a person"}}),
		"cut":                                   last(ralph.Turn{}, ralph.SessionStarted{ID: x.S.Session.ID, Mode: "autopilot", Resumed: true}),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	steps := gathered(x, receipts.Receipts{})
	if slices.ContainsFunc(steps, func(r receipts.Receipt) bool { return r.Task == "t-0001" && r.Step == "finish" }) {
		t.Error("a person's end of a task is a receipt")
	}
	if n := len(gathered(x, receipts.Receipts{Most: 3})); n != 3 {
		t.Errorf("%d of 3", n)
	}
	if diff := cmp.Diff(steps[len(steps)-3:], gathered(x, receipts.Receipts{Most: 3})); diff != "" {
		t.Error(diff)
	}
}

// E-043, E-044: the receipt of a turn says of which session it was, how it ended and why,
// and holds what its agent said last of its plan, its files and its usage; a good one
// holds no error.
func TestReceiptOfATurn(t *testing.T) {
	t.Parallel()
	x := storytest.Controlled("")
	end := func(edit func(*ralph.TurnEnded)) receipts.Receipt {
		x.Receipt("t-0001", ralph.Turn{}, ralph.Why{Rule: "X-1"})
		x.Add(storytest.TurnOf(x.S.Task("t-0001"), ralph.KindBuild, time.Second, edit))
		list := gathered(x, receipts.Receipts{Most: 1})
		return list[0]
	}
	sum := ralph.TurnSummary{Plan: []ralph.PlanStep{{Text: "write it", Status: "completed"}}, Files: []string{"a.go"}}
	fail := &ralph.AgentError{Class: ralph.ErrClassServer, Message: "503"}
	bad := end(func(f *ralph.TurnEnded) {
		f.Exit, f.Err, f.Session, f.Dir, f.Summary = ralph.ExitFailed, fail, "th-1", "ralph/.state/tasks/t-0001/1", sum
	})
	if bad.Thread != "th-1" || bad.TurnID != "ralph/.state/tasks/t-0001/1" || bad.Status != ralph.ExitFailed || bad.Error == nil || *bad.Error != *fail {
		t.Errorf("%+v", bad)
	}
	if diff := cmp.Diff(sum, bad.Turn); diff != "" || bad.Usage.Output != 900 {
		t.Errorf("usage %+v, %s", bad.Usage, diff)
	}
	if good := end(nil); good.Status != ralph.ExitOK || good.Error != nil {
		t.Errorf("%+v", good)
	}
}

// Only those of a session, when one is named.
func TestReceiptsOfASession(t *testing.T) {
	t.Parallel()
	x := storytest.Controlled("")
	first := len(gathered(x, receipts.Receipts{}))
	x.Add(ralph.SessionEnded{Reason: ralph.ReasonComplete}, ralph.SessionStarted{ID: "s-2", Mode: "autopilot"})
	x.Start("t-0002", 1)
	got := gathered(x, receipts.Receipts{Session: "s-2"})
	if len(got) != 1 || got[0].Session != "s-2" || got[0].Task != "t-0002" || len(gathered(x, receipts.Receipts{})) != first+1 {
		t.Errorf("%+v", got)
	}
}

// One receipt whole: the state that it saw, its settings, its outcome, and how to check it.
func TestEvidence(t *testing.T) {
	t.Parallel()
	x := storytest.Controlled("")
	x.Fails("t-0001", ralph.ErrClassServer, "503")
	x.Add(ralph.AgentLimited{Agent: "codex", Until: x.Now.Add(time.Minute)})
	saw := receipts.SeenOf(x.S, "t-0001")
	config := x.S.Session.Config
	x.Turn("t-0001", 5*time.Second, storytest.Complete)
	list := gathered(x, receipts.Receipts{})
	e := receipts.Evidence{Receipt: list[len(list)-1], Line: strings.Repeat("ab", 32), State: saw, Config: config, Same: true}
	got := e.Text()
	for _, want := range []string{
		"t-0001  One\n", "\nDecided:  build turn 2 of claude\n", "\nWhy:      B-026: no signal yet\n", "\nSaw:      the state after fact ",
		"\n          task:    active, 1 iteration so far (1 cut by errors), 0 without a change\n", "          turn:    server: 503, changed files, 10s, $0.08\n",
		"          errors:  1 in a row, 0 hits of a limit\n", "          limit:   codex: at its limit until ", " (in 1m)\n", "          tasks:   1 pending, 1 active, 0 done\n",
		"\nSettings: parallel: 2\n          agents: claude, codex\n", "\nOutcome:  fact ", ": COMPLETE, changed files, 5s, $0.08\n",
		"\nCheck:    decided once more from the same state, time and settings it comes out the same\n", "[[replay]] ", "this line is abababababab\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	e.Same, e.Again = false, "check"
	if got := e.Text(); !strings.Contains(got, "DECIDED ONCE MORE IT COMES OUT OTHERWISE: check\n") {
		t.Error(got)
	}
	e.Rules = 1
	if got := e.Text(); !strings.Contains(got, "it comes out otherwise: check; the rules were those of revision 1\n") {
		t.Error(got)
	}
	b, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal(b, &m); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"seq", "at", "task", "step", "rule", "why", "saw", "now", "outcome", "state", "config", "same", "line_hash"} {
		if _, ok := m[name]; !ok {
			t.Errorf("no %s in the JSON", name)
		}
	}
	if m["state"].(map[string]any)["task"].(map[string]any)["id"] != "t-0001" {
		t.Error("the task that it saw is missing")
	}
}

// E-093 to E-095, F-38: every decision says its action, what it tells the agent, why, how
// sure it is, the stop condition that it hit, null for none, and whether it was executed or
// overrode what would have come.
func TestReceiptsInTheWordsOfADecision(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		step               ralph.Step
		why                ralph.Why
		action, next, stop string
		execution          string
	}{
		{ralph.Turn{Feedback: "the checks are red"}, ralph.Why{}, "continue", "the checks are red", "null", "active"},
		{ralph.Turn{}, ralph.Why{}, "continue", "", "null", "active"},
		{ralph.Check{}, ralph.Why{}, "continue", "", "null", "active"},
		{ralph.Ask{}, ralph.Why{}, "pause", "", "null", "active"},
		{ralph.Finish{Status: ralph.TaskDone}, ralph.Why{Rule: "B-022"}, "stop", "", "null", "executed"},
		{ralph.Finish{Status: ralph.TaskFailed}, ralph.Why{Rule: "X-43"}, "stop", "", "null", "executed"},
		{ralph.Finish{Status: ralph.TaskPending}, ralph.Why{Rule: "X-60", Stop: "budget.cost"}, "stop", "", `"budget.cost"`, "overridden"},
		{ralph.Finish{Status: ralph.TaskTimeout}, ralph.Why{Rule: "X-60"}, "stop", "", `"budget"`, "overridden"}, // of an older version
		{ralph.Finish{Status: ralph.TaskPending, Retry: true}, ralph.Why{Rule: "X-44"}, "continue", "", "null", "executed"},
	} {
		x := storytest.Controlled("")
		why := tt.why
		why.Text = "so it is"
		if f, ok := tt.step.(ralph.Finish); ok {
			x.Add(ralph.TaskEnded{ID: "t-0001", Status: f.Status, Retry: f.Retry, Why: why, BasedOnSeq: x.S.Seq})
		} else {
			x.Receipt("t-0001", tt.step, why)
		}
		got := gathered(x, receipts.Receipts{Most: 1})[0]
		if got.Action != tt.action || got.NextInput != tt.next || got.Reason != "so it is" || got.Confidence != 1 || got.Execution != tt.execution {
			t.Errorf("%#v: %s, %q, %q, %v, %s", tt.step, got.Action, got.NextInput, got.Reason, got.Confidence, got.Execution)
		}
		b, err := json.Marshal(got)
		for _, key := range []string{`"action":`, `"next_input":`, `"reason":`, `"confidence":1`, `"stop":` + tt.stop + ","} {
			if err != nil || !strings.Contains(string(b), key) {
				t.Errorf("no %s in %s", key, b)
			}
		}
	}
}
