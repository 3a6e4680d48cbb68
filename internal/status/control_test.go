package status_test

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph/internal/ralphtest/storytest"
	"github.com/ralph-loop/ralph/internal/report/receipts"

	"github.com/google/go-cmp/cmp"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/status"
)

// a retry that waits says which it is, when it comes and after what.
// so does the wait of a limit.
func TestStatusOfWaits(t *testing.T) {
	t.Parallel()
	x := storytest.Controlled("")
	x.Fails("t-0001", ralph.ErrClassServer, "503 from\nupstream")
	x.Add(ralph.Retrying{Task: "t-0001", Attempt: 1, Of: 2, Until: x.Now.Add(2 * time.Second)})
	x.Pass(500 * time.Millisecond)
	x.Want(t, x.Status(storytest.Alive(), "Waits"), "Waits:   t-0001: retry 1 of 2 at "+x.Hour(1500*time.Millisecond)+" (in 2s) after server: 503 from upstream")
	x.Pass(2 * time.Second)
	x.Want(t, x.Status(storytest.Alive(), "Waits"))
	x.Fails("t-0001", ralph.ErrClassServer, "503")
	x.Add(ralph.Retrying{Task: "t-0001", Attempt: 2, Of: 2, Until: x.Now.Add(4 * time.Second)})
	x.Want(t, x.Status(storytest.Alive(), "Waits"), "Waits:   t-0001: retry 2 of 2 at "+x.Hour(4*time.Second)+" (in 4s) after server: 503")
	x.Want(t, x.Status(status.Engine{}, "Waits")) // nobody waits when nothing runs
	w := status.Of(x.S, storytest.Alive(), x.Now).Waiting
	if len(w) != 1 || w[0].Why != "retry" || w[0].Attempt != 2 || w[0].Of != 2 || !w[0].Until.Equal(x.Now.Add(4*time.Second)) || w[0].Error != "server: 503" {
		t.Errorf("%+v", w)
	}

	x = storytest.Controlled("")
	x.Fails("t-0001", ralph.ErrClassLimit, "429")
	x.Add(ralph.AgentLimited{Agent: "claude", Until: x.Now.Add(5 * time.Second), Task: "t-0001", Try: 1, BackoffMS: 5000, Message: "rate_limit: 429"})
	x.Want(t, x.Status(storytest.Alive(), "Waits", "Limit"),
		"Waits:   t-0001: claude is asked again at "+x.Hour(5*time.Second)+" (in 5s), hit 1 of its limit",
		"Limit:   claude: at its limit until "+x.Hour(5*time.Second)+" (in 5s)  (rate_limit: 429)")
}

// who is at a limit until when, who works instead and why; the
// pause of limits, with what ends it. X-54: also in agent mode.
func TestStatusOfLimits(t *testing.T) {
	t.Parallel()
	x := storytest.Controlled(`,"limit_wait":"auto"`)
	x.S.Session.Mode = "agent"
	x.Fails("t-0001", ralph.ErrClassLimit, "429")
	end := x.Now.Add(3 * time.Minute)
	x.Add(ralph.AgentLimited{Agent: "claude", Until: end, Hard: true}, ralph.AgentSwitched{Task: "t-0001", From: "claude", To: "codex", Reason: ralph.SwitchLimit})
	x.Want(t, x.Status(storytest.Alive(), "Limit", "Agent"),
		"Agent:   codex instead of claude, which is rate-limited; it gets the next task that starts after its limit",
		"Limit:   claude: at its limit until "+x.Hour(3*time.Minute)+" (in 3m); codex works instead")
	r := status.Of(x.S, storytest.Alive(), x.Now)
	if r.ActiveAgent != "codex" || r.FallbackReason != "rate-limited" || len(r.Limits) != 1 || r.Limits[0].Over || !r.Limits[0].Hard {
		t.Errorf("%+v", r)
	}

	x.Add(ralph.AgentLimited{Agent: "codex", Until: end.Add(24 * time.Hour), Hard: true})
	x.Add(ralph.AllLimited{Agents: []string{"claude", "codex"}, Until: end}, ralph.Control{Want: ralph.WantPause, From: ralph.PauseLimits, Cause: "every agent is at its limit"})
	x.Add(ralph.TaskEnded{ID: "t-0001", Status: ralph.TaskPending, Why: ralph.Why{Text: "All agents rate limited"}})
	x.Want(t, x.Status(storytest.Alive(), "Waits"), "Waits:   t-0001: given back: All agents rate limited")
	x.Want(t, x.Status(storytest.Alive(), "Engine", "Pause", "Needs you", "Limit"),
		"Engine:  paused (limits), pid 42",
		"Pause:   every agent is at its limit, the first until "+x.Hour(3*time.Minute)+" (in 3m); then it goes on by itself, with `[[resume]]` at once",
		"Limit:   claude: at its limit until "+x.Hour(3*time.Minute)+" (in 3m)",
		"Limit:   codex: at its limit until "+end.Add(24*time.Hour).Local().Format("Jan 2 15:04")+" (in 24h 3m)")
	if r := status.Of(x.S, storytest.Alive(), x.Now); r.Status != "paused" || r.PauseKind != ralph.PauseLimits || r.PauseCause == "" {
		t.Errorf("%+v", r)
	}
	x.S.Session.Config = json.RawMessage(`{"agents":["claude","codex"],"limit_wait":"ask"}`)
	x.Want(t, x.Status(storytest.Alive(), "Needs you", "Pause"),
		"Needs you:", "  paused: every agent is at its limit", "      ralph resume",
		"Pause:   every agent is at its limit, the first until "+x.Hour(3*time.Minute)+" (in 3m); `[[resume]]` tries again")
	x.S.Session.Cause = "each agent that may do what is left is at its limit: codex until 12:00:00" // others are free
	x.Want(t, x.Status(storytest.Alive(), "Needs you", "Pause"),
		"Needs you:", "  paused: each agent that may do what is left is at its limit", "      ralph resume",
		"Pause:   each agent that may do what is left is at its limit, the first until "+x.Hour(3*time.Minute)+" (in 3m); `[[resume]]` tries again")
	x.Pass(48 * time.Hour)
	x.Want(t, x.Status(storytest.Alive(), "Limit", "Pause"), "Pause:   each agent that may do what is left is at its limit; `[[resume]]` tries again")
	if r := status.Of(x.S, storytest.Alive(), x.Now); len(r.Limits) != 2 || !r.Limits[0].Over {
		t.Errorf("over, and not tried yet: %+v", r.Limits)
	}
	x.Add(ralph.Control{Want: ralph.WantRun})
	x.Add(ralph.AgentSwitched{From: "codex", To: "claude", Reason: ralph.SwitchBack})
	if r := status.Of(x.S, storytest.Alive(), x.Now); r.ActiveAgent != "claude" || r.FallbackReason != "" {
		t.Errorf("A-039: after recovery there is no reason: %+v", r)
	}
}

// each pause has a kind and a cause, and says what ends it.
func TestStatusOfPauses(t *testing.T) {
	t.Parallel()
	x := storytest.Controlled("")
	x.Receipt("t-0001", ralph.Turn{Agent: "claude", Iteration: 1}, ralph.Why{})
	x.Add(ralph.Control{Want: ralph.WantPause, Cause: "ralph pause"})
	x.Want(t, x.Status(storytest.Alive(), "Engine", "Pause"), "Engine:  pausing (ralph pause), pid 42", "Pause:   by a person; `[[resume]]` lets it go on")
	x.Add(ralph.TurnEnded{Task: "t-0001", Agent: "claude", Exit: ralph.ExitOK})
	x.Want(t, x.Status(storytest.Alive(), "Engine"), "Engine:  paused (ralph pause), pid 42")
	x.Want(t, x.Status(status.Engine{}, "Pause", "Mode", "Needs you"))
	x.Add(ralph.Control{Want: ralph.WantRun})
	x.Want(t, x.Status(storytest.Alive(), "Engine", "Pause"), "Engine:  running, pid 42")
	for range 3 {
		x.End("t-0001", ralph.TaskFailed, "X-32", "exit 1", false)
	}
	x.Add(ralph.Control{Want: ralph.WantPause, Cause: "3 tasks in a row failed: t-0001", From: ralph.PauseFailures})
	x.Want(t, x.Status(storytest.Alive(), "Engine", "Pause", "Needs you"),
		"Needs you:", "  paused: 3 tasks failed in a row: t-0001, t-0001, t-0001", "      ralph task retry <task>, then ralph resume",
		"Engine:  paused (failures), pid 42", "Pause:   3 tasks in a row failed; `[[resume]]` lets it go on")
}

// the mode with the way out, and the gates of start and
// step with the commands that decide them.
func TestStatusOfModesAndGates(t *testing.T) {
	t.Parallel()
	x := storytest.Controlled("")
	x.Want(t, x.Status(storytest.Alive(), "Mode")) // autopilot is the usual one
	for mode, want := range map[ralph.Autonomy]string{
		ralph.Manual:   "Mode:    manual: at full speed, ends at the first error; `[[autopilot]]` leaves it",
		ralph.Stepwise: "Mode:    step: each task waits for `[[approve]]`; `[[autopilot]]` leaves it",
		ralph.Semi:     "Mode:    semi: `[[assign]]` chooses what comes next; `[[autopilot]]` leaves it",
	} {
		x.Add(ralph.ModeSet{Mode: mode})
		x.Want(t, x.Status(storytest.Alive(), "Mode"), want)
	}
	x.End("t-0001", ralph.TaskPending, "D-051", "released", false)
	x.Add(ralph.ModeSet{Mode: ralph.Stepwise}, ralph.Asked{Approval: ralph.Approval{ID: "g-0001", Kind: ralph.ApprovalStep, Task: "t-0002", Text: "start Two?", Deadline: x.Now.Add(time.Hour)}})
	x.Want(t, x.Status(storytest.Alive(), "Needs you", "Engine"),
		"Needs you:", "  g-0001  step  t-0002  start Two?, until "+x.Hour(time.Hour)+" (in 1h 0m)",
		"      ralph approve g-0001   or   ralph deny g-0001 --reason \"...\"   (ralph gates g-0001 shows it)",
		"Engine:  waiting_user, pid 42")
	x.Add(ralph.Answered{ID: "g-0001", Verdict: ralph.Approved}, ralph.Asked{Approval: ralph.Approval{ID: "g-0002", Kind: ralph.ApprovalStart, Text: "ralph autopilot wants to start on 2 tasks"}})
	x.Want(t, x.Status(storytest.Alive(), "Needs you"),
		"Needs you:", "  g-0002  start  ralph autopilot wants to start on 2 tasks",
		"      ralph approve g-0002   or   ralph deny g-0002 --reason \"...\"   (ralph gates g-0002 shows it)")
	x.Want(t, x.Status(status.Engine{}, "Needs you"),
		"Needs you:", "  g-0002  start  ralph autopilot wants to start on 2 tasks",
		"      ralph approve g-0002   or   ralph deny g-0002 --reason \"...\"   (ralph gates g-0002 shows it)")
}

// what is used of each budget, with 80% marked; what is not known counts as over.
func TestStatusOfBudgets(t *testing.T) {
	t.Parallel()
	x := storytest.Controlled(`,"max_cost":5,"budget":{"cost":10,"iterations":50,"time":3600000000000},"spec_budget":{"tokens":20000},"task_budget":{"cost":4.5}`)
	x.Turn("t-0001", 10*time.Second, func(f *ralph.TurnEnded) {
		f.Usage = ralph.Usage{Input: 15000, Output: 2000, CacheRead: 900000, Cost: 4.1, Known: true}
	})
	x.Receipt("t-0001", ralph.Turn{Agent: "claude", Iteration: 2, Reserve: ralph.Usage{Input: 17000, Cost: 0.3, Known: true}}, ralph.Why{})
	x.Want(t, x.Status(storytest.Alive(), "Budget"),
		"Budget:  session: $4.10 of $5.00 (82%, NEARLY USED UP, $0.30 reserved), 11s of 1h 0m (0%), 1 of 50 iterations (2%)",
		"Budget:  spec: 17.0k of 20.0k tokens (85%, NEARLY USED UP)",
		"Budget:  t-0001: $4.10 of $4.50 (91%, NEARLY USED UP)")
	r := status.Of(x.S, storytest.Alive(), x.Now)
	var got []string
	for _, b := range r.Budgets {
		got = append(got, fmt.Sprintf("%s%s %s %.2f/%.2f +%.2f %d%% %v", b.Scope, b.Task, b.What, b.Used, b.Limit, b.Reserved, b.Percent, b.Warn))
	}
	if diff := cmp.Diff([]string{
		"session cost 4.10/5.00 +0.30 82% true", "session time 11.00/3600.00 +0.00 0% false", "session iterations 1.00/50.00 +0.00 2% false",
		"spec tokens 17000.00/20000.00 +17000.00 85% true", "taskt-0001 cost 4.10/4.50 +0.00 91% true",
	}, got); diff != "" {
		t.Error(diff)
	}
	x.Add(storytest.TurnOf(x.S.Task("t-0001"), ralph.KindBuild, time.Second, func(f *ralph.TurnEnded) { f.Usage = ralph.Usage{Cost: 1, Known: false} }))
	if got := x.Status(storytest.Alive(), "Budget"); !strings.Contains(got, "(102%, an agent reported no cost: counts as over)") {
		t.Error(got)
	}
}

// how full the window of each agent at work is; X-64.
func TestStatusOfContexts(t *testing.T) {
	t.Parallel()
	x := storytest.Controlled("")
	x.Turn("t-0001", 10*time.Second, func(f *ralph.TurnEnded) { f.Context = ralph.ContextUse{Used: 142_000, Window: 200_000} })
	x.Want(t, x.Status(storytest.Alive(), "Slot"), "Slot 1:  t-0001 One, iteration 2/50, claude, 10s, context 71%")
	x.Add(ralph.ContextWarned{Task: "t-0001", Agent: "claude", Use: ralph.ContextUse{Used: 142_000, Window: 200_000}})
	x.Want(t, x.Status(storytest.Alive(), "Slot"), "Slot 1:  t-0001 One, iteration 2/50, claude, 10s, context 71%, filling up")
	r := status.Of(x.S, storytest.Alive(), x.Now)
	if len(r.Contexts) != 1 || r.Contexts[0].Percent != 71 || !r.Contexts[0].Warn || r.Contexts[0].Window != 200_000 {
		t.Errorf("%+v", r.Contexts)
	}
}

// after a kill nothing is at work, whatever the journal looks like: what was is
// named, and the record is idle without a current step.
func TestStatusAfterAKill(t *testing.T) {
	t.Parallel()
	x := storytest.Controlled("")
	x.Add(ralph.TaskStarted{ID: "t-0002"})
	x.Turn("t-0001", time.Minute, nil)
	x.Receipt("t-0001", ralph.Turn{Agent: "claude", Iteration: 2}, ralph.Why{})
	x.Want(t, x.Status(status.Engine{}, "Engine", "Now", "Slot", "Slots", "Cut"),
		"Engine:  not running: the last one was cut; `[[start autopilot]]` goes on where it was",
		"Cut:     t-0001 One, iteration 2, was at work in ralph/.worktrees/1 when the engine died",
		"Cut:     t-0002 Two, iteration 1, was at work when the engine died")
	r := status.Of(x.S, status.Engine{}, x.Now)
	if r.Status != "idle" || r.CurrentStep != nil || !r.CanResume || !slices.Equal(r.Cut, []ralph.TaskID{"t-0001", "t-0002"}) || r.CurrentIteration != 1 {
		t.Errorf("%+v", r)
	}
	for _, mode := range []ralph.Autonomy{ralph.Manual, ralph.Stepwise} { // F-14, X-100: the same everywhere
		x.Add(ralph.ModeSet{Mode: mode})
		x.Want(t, x.Status(status.Engine{}, "Engine"), fmt.Sprintf("Engine:  not running: the last one was cut; mode %s keeps no session: `[[start autopilot]]` begins a new one on what is left", mode))
		if r := status.Of(x.S, status.Engine{}, x.Now); r.CanResume {
			t.Errorf("mode %s offers to resume", mode)
		}
	}
	x.Add(ralph.JobEnded{Status: ralph.SpecDone}, ralph.SessionEnded{Reason: ralph.ReasonComplete})
	x.Want(t, x.Status(status.Engine{}, "Engine", "Cut"), "Engine:  idle (last session: complete)")
	if r := status.Of(x.S, status.Engine{}, x.Now); r.Status != "completed" || r.CanResume || len(r.Cut) != 0 {
		t.Errorf("%+v", r)
	}
}

// docs/status.md names every field of the record and of receipts, as they are written.
func TestStatusPageIsComplete(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/status.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, of := range []any{
		status.StatusRecord{},
		status.LimitRecord{},
		status.WaitRecord{},
		status.BudgetRecord{},
		status.ContextRecord{},
		receipts.Receipt{},
		receipts.Outcome{},
		receipts.Evidence{},
	} {
		for field := range reflect.TypeOf(of).Fields() {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if name != "" && !strings.Contains(string(page), "`"+name+"`") {
				t.Errorf("docs/status.md does not name %s of %T", name, of)
			}
		}
	}
}

// What an agent said last stands below its line, on one line and without controls.
func TestStatusShowsLastWords(t *testing.T) {
	t.Parallel()
	x := storytest.Controlled("")
	x.Add(ralph.TaskStarted{ID: "t-0002"})
	x.Receipt("t-0002", ralph.Turn{Agent: "codex", Iteration: 1}, ralph.Why{})
	x.Pass(7 * time.Second)
	engine := storytest.Alive()
	engine.Words = map[ralph.TaskID]string{"t-0001": "reading\n\x1b[31mheader.go", "t-0002": "Bash: go test ./..."}
	x.Want(t, x.Status(engine, "Now", "Slot"),
		"Now:     t-0002 Two, iteration 1, codex, 7s", "         > Bash: go test ./...",
		"Slot 1:  t-0001 One, iteration 1/50, 7s", "         > reading [31mheader.go")
}

// the ten fields of document A, their types, and their names.
func TestStatusRecordHasDocumentA(t *testing.T) {
	t.Parallel()
	keys := func(r status.StatusRecord) map[string]any {
		b, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		m := map[string]any{}
		if err := json.Unmarshal(b, &m); err != nil {
			t.Fatal(err)
		}
		return m
	}
	idle := keys(status.Of(&ralph.State{}, status.Engine{}, time.Now()))
	want := map[string]any{
		"status": "idle", "session_id": "", "current_iteration": 0.0, "current_step": nil, "completed_steps": 0.0, "failed_steps": 0.0,
		"skipped_steps": []any{}, "started_at": nil, "active_agent": "",
	}
	for name, value := range want {
		got, ok := idle[name]
		if !ok || !cmp.Equal(got, value) {
			t.Errorf("idle: %s is %v, want %v", name, got, value)
		}
	}
	if _, ok := idle["fallback_reason"]; ok {
		t.Error("a fallback reason without a fallback")
	}
	x := storytest.Controlled("")
	x.Turn("t-0001", time.Minute, storytest.Complete)
	x.Checks("t-0001", true)
	x.Done("t-0001")
	x.Add(ralph.TaskStarted{ID: "t-0002"})
	x.Receipt("t-0002", ralph.Turn{Agent: "codex", Iteration: 1}, ralph.Why{})
	at := keys(status.Of(x.S, storytest.Alive(), x.Now))
	for name, value := range map[string]any{
		"status": "running", "session_id": "s-20250120T100000Z-1a2b", "current_iteration": 2.0, "current_step": "t-0002", "completed_steps": 1.0,
		"started_at": "2025-01-20T10:00:01Z", "active_agent": "claude", "plan_id": "feature-x.md", "total_steps": 2.0, "current_phase": "core",
	} {
		if !cmp.Equal(at[name], value) {
			t.Errorf("at work: %s is %v, want %v", name, at[name], value)
		}
	}
	x.Add(ralph.TaskEnded{ID: "t-0002", Status: ralph.TaskSkipped})
	if got := keys(status.Of(x.S, storytest.Alive(), x.Now))["skipped_steps"]; !cmp.Equal(got, []any{"t-0002"}) {
		t.Errorf("skipped %v", got)
	}
}
