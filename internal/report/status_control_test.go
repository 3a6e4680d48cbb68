package report_test

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/report"
)

// controlled is a session with budgets and two agents, at work on one of two tasks.
func controlled(config string) *story {
	x := newStory()
	x.begin(ralph.Task{ID: "t-0001", Name: "One", Phase: "core"}, ralph.Task{ID: "t-0002", Name: "Two", Phase: "core"})
	x.s.Session.Config = json.RawMessage(`{"session":"autopilot","parallel":2,"agents":["claude","codex"],"max_iterations":50,"max_retries":2,"retry_base":2000000000,` +
		`"strategy":"retry","max_consecutive":3,"recover_primary":true` + config + `}`)
	x.start("t-0001", 1)
	return x
}

func (x *story) fails(id ralph.TaskID, class ralph.ErrorClass, message string) {
	x.turn(id, 10*time.Second, func(f *ralph.TurnEnded) {
		f.Exit, f.Code, f.Err = ralph.ExitFailed, 1, &ralph.AgentError{Class: class, Message: message}
	})
}

// status are the lines of `ralph status` under the names given; all others are left out.
func (x *story) status(engine report.Engine, names ...string) string {
	var out []string
	keep := false
	for line := range strings.Lines(report.Status(x.s, engine, x.now)) {
		if name, _, _ := strings.Cut(line, ":"); !strings.HasPrefix(line, " ") {
			keep = slices.Contains(names, name) || slices.Contains(names, strings.TrimRight(name, " 0123456789"))
		}
		if keep && strings.TrimSpace(line) != "" {
			out = append(out, strings.TrimRight(line, "\n"))
		}
	}
	return strings.Join(out, "\n")
}

func (x *story) want(t *testing.T, got string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(strings.Join(want, "\n"), got); diff != "" {
		t.Error(diff)
	}
}

// hour writes the time of day in so long, as people here see it.
func (x *story) hour(in time.Duration) string { return x.now.Add(in).Local().Format("15:04:05") }

func alive() report.Engine { return report.Engine{Alive: true, Pid: 42} }

// a retry that waits says which it is, when it comes and after what.
// so does the wait of a limit.
func TestStatusOfWaits(t *testing.T) {
	t.Parallel()
	x := controlled("")
	x.fails("t-0001", ralph.ErrClassServer, "503 from\nupstream")
	x.add(ralph.Retrying{Task: "t-0001", Attempt: 1, Of: 2, Until: x.now.Add(2 * time.Second)})
	x.pass(500 * time.Millisecond)
	x.want(t, x.status(alive(), "Waits"), "Waits:   t-0001: retry 1 of 2 at "+x.hour(1500*time.Millisecond)+" (in 2s) after server: 503 from upstream")
	x.pass(2 * time.Second)
	x.want(t, x.status(alive(), "Waits"))
	x.fails("t-0001", ralph.ErrClassServer, "503")
	x.add(ralph.Retrying{Task: "t-0001", Attempt: 2, Of: 2, Until: x.now.Add(4 * time.Second)})
	x.want(t, x.status(alive(), "Waits"), "Waits:   t-0001: retry 2 of 2 at "+x.hour(4*time.Second)+" (in 4s) after server: 503")
	x.want(t, x.status(report.Engine{}, "Waits")) // nobody waits when nothing runs
	w := report.StatusOf(x.s, alive(), x.now).Waiting
	if len(w) != 1 || w[0].Why != "retry" || w[0].Attempt != 2 || w[0].Of != 2 || !w[0].Until.Equal(x.now.Add(4*time.Second)) || w[0].Error != "server: 503" {
		t.Errorf("%+v", w)
	}

	x = controlled("")
	x.fails("t-0001", ralph.ErrClassLimit, "429")
	x.add(ralph.AgentLimited{Agent: "claude", Until: x.now.Add(5 * time.Second), Task: "t-0001", Try: 1, BackoffMS: 5000, Message: "rate_limit: 429"})
	x.want(t, x.status(alive(), "Waits", "Limit"),
		"Waits:   t-0001: claude is asked again at "+x.hour(5*time.Second)+" (in 5s), hit 1 of its limit",
		"Limit:   claude: at its limit until "+x.hour(5*time.Second)+" (in 5s)  (rate_limit: 429)")
}

// who is at a limit until when, who works instead and why; the
// pause of limits, with what ends it. X-54: also in agent mode.
func TestStatusOfLimits(t *testing.T) {
	t.Parallel()
	x := controlled(`,"limit_wait":"auto"`)
	x.s.Session.Mode = "agent"
	x.fails("t-0001", ralph.ErrClassLimit, "429")
	end := x.now.Add(3 * time.Minute)
	x.add(ralph.AgentLimited{Agent: "claude", Until: end, Hard: true}, ralph.AgentSwitched{Task: "t-0001", From: "claude", To: "codex", Reason: ralph.SwitchLimit})
	x.want(t, x.status(alive(), "Limit", "Agent"),
		"Agent:   codex instead of claude, which is rate-limited; it gets the next task that starts after its limit",
		"Limit:   claude: at its limit until "+x.hour(3*time.Minute)+" (in 3m); codex works instead")
	r := report.StatusOf(x.s, alive(), x.now)
	if r.ActiveAgent != "codex" || r.FallbackReason != "rate-limited" || len(r.Limits) != 1 || r.Limits[0].Over || !r.Limits[0].Hard {
		t.Errorf("%+v", r)
	}

	x.add(ralph.AgentLimited{Agent: "codex", Until: end.Add(24 * time.Hour), Hard: true})
	x.add(ralph.AllLimited{Agents: []string{"claude", "codex"}, Until: end}, ralph.Control{Want: ralph.WantPause, From: ralph.PauseLimits, Cause: "every agent is at its limit"})
	x.add(ralph.TaskEnded{ID: "t-0001", Status: ralph.TaskPending, Why: ralph.Why{Text: "All agents rate limited"}})
	x.want(t, x.status(alive(), "Waits"), "Waits:   t-0001: given back: All agents rate limited")
	x.want(t, x.status(alive(), "Engine", "Pause", "Needs you", "Limit"),
		"Engine:  paused (limits), pid 42",
		"Pause:   every agent is at its limit, the first until "+x.hour(3*time.Minute)+" (in 3m); then it goes on by itself, with `ralph resume` at once",
		"Limit:   claude: at its limit until "+x.hour(3*time.Minute)+" (in 3m)",
		"Limit:   codex: at its limit until "+end.Add(24*time.Hour).Local().Format("Jan 2 15:04")+" (in 24h 3m)")
	if r := report.StatusOf(x.s, alive(), x.now); r.Status != "paused" || r.PauseKind != ralph.PauseLimits || r.PauseCause == "" {
		t.Errorf("%+v", r)
	}
	x.s.Session.Config = json.RawMessage(`{"agents":["claude","codex"],"limit_wait":"ask"}`)
	x.want(t, x.status(alive(), "Needs you", "Pause"),
		"Needs you:", "  paused: every agent is at its limit", "      ralph resume",
		"Pause:   every agent is at its limit, the first until "+x.hour(3*time.Minute)+" (in 3m); `ralph resume` tries again")
	x.pass(48 * time.Hour)
	x.want(t, x.status(alive(), "Limit"))
	if r := report.StatusOf(x.s, alive(), x.now); len(r.Limits) != 2 || !r.Limits[0].Over {
		t.Errorf("over, and not tried yet: %+v", r.Limits)
	}
	x.add(ralph.Control{Want: ralph.WantRun})
	x.add(ralph.AgentSwitched{From: "codex", To: "claude", Reason: ralph.SwitchBack})
	if r := report.StatusOf(x.s, alive(), x.now); r.ActiveAgent != "claude" || r.FallbackReason != "" {
		t.Errorf("A-039: after recovery there is no reason: %+v", r)
	}
}

// each pause has a kind and a cause, and says what ends it.
func TestStatusOfPauses(t *testing.T) {
	t.Parallel()
	x := controlled("")
	x.receipt("t-0001", ralph.Turn{Agent: "claude", Iteration: 1}, ralph.Why{})
	x.add(ralph.Control{Want: ralph.WantPause, Cause: "ralph pause"})
	x.want(t, x.status(alive(), "Engine", "Pause"), "Engine:  pausing (ralph pause), pid 42", "Pause:   by a person; `ralph resume` lets it go on")
	x.add(ralph.TurnEnded{Task: "t-0001", Agent: "claude", Exit: ralph.ExitOK})
	x.want(t, x.status(alive(), "Engine"), "Engine:  paused (ralph pause), pid 42")
	x.want(t, x.status(report.Engine{}, "Pause", "Mode", "Needs you"))
	x.add(ralph.Control{Want: ralph.WantRun})
	x.want(t, x.status(alive(), "Engine", "Pause"), "Engine:  running, pid 42")
	for range 3 {
		x.end("t-0001", ralph.TaskFailed, "X-32", "exit 1", false)
	}
	x.add(ralph.Control{Want: ralph.WantPause, Cause: "3 tasks in a row failed: t-0001", From: ralph.PauseFailures})
	x.want(t, x.status(alive(), "Engine", "Pause", "Needs you"),
		"Needs you:", "  paused: 3 tasks failed in a row: t-0001, t-0001, t-0001", "      ralph task retry <task>, then ralph resume",
		"Engine:  paused (failures), pid 42", "Pause:   3 tasks in a row failed; `ralph resume` lets it go on")
}

// the mode with the way out, and the gates of start and
// step with the commands that decide them.
func TestStatusOfModesAndGates(t *testing.T) {
	t.Parallel()
	x := controlled("")
	x.want(t, x.status(alive(), "Mode")) // autopilot is the usual one
	for mode, want := range map[ralph.Autonomy]string{
		ralph.Manual:   "Mode:    manual: at full speed, ends at the first error; `ralph mode autopilot` leaves it",
		ralph.Stepwise: "Mode:    step: each task waits for `ralph approve`; `ralph mode autopilot` leaves it",
		ralph.Semi:     "Mode:    semi: `ralph task assign` chooses what comes next; `ralph mode autopilot` leaves it",
	} {
		x.add(ralph.ModeSet{Mode: mode})
		x.want(t, x.status(alive(), "Mode"), want)
	}
	x.end("t-0001", ralph.TaskPending, "D-051", "released", false)
	x.add(ralph.ModeSet{Mode: ralph.Stepwise}, ralph.Asked{Gate: ralph.Gate{ID: "g-0001", Kind: ralph.GateStep, Task: "t-0002", Text: "start Two?", Deadline: x.now.Add(time.Hour)}})
	x.want(t, x.status(alive(), "Needs you", "Engine"),
		"Needs you:", "  g-0001  step  t-0002  start Two?, until "+x.hour(time.Hour)+" (in 1h 0m)",
		"      ralph approve g-0001   or   ralph deny g-0001 --reason \"...\"   (ralph gates g-0001 shows it)",
		"Engine:  waiting_user, pid 42")
	x.add(ralph.Answered{ID: "g-0001", Verdict: ralph.Approved}, ralph.Asked{Gate: ralph.Gate{ID: "g-0002", Kind: ralph.GateStart, Text: "ralph autopilot wants to start on 2 tasks"}})
	x.want(t, x.status(alive(), "Needs you"),
		"Needs you:", "  g-0002  start  ralph autopilot wants to start on 2 tasks",
		"      ralph approve g-0002   or   ralph deny g-0002 --reason \"...\"   (ralph gates g-0002 shows it)")
	x.want(t, x.status(report.Engine{}, "Needs you"),
		"Needs you:", "  g-0002  start  ralph autopilot wants to start on 2 tasks",
		"      ralph approve g-0002   or   ralph deny g-0002 --reason \"...\"   (ralph gates g-0002 shows it)")
}

// what is used of each budget, with 80% marked; what is not known counts as over.
func TestStatusOfBudgets(t *testing.T) {
	t.Parallel()
	x := controlled(`,"max_cost":5,"budget":{"cost":10,"iterations":50,"time":3600000000000},"spec_budget":{"tokens":20000},"task_budget":{"cost":4.5}`)
	x.turn("t-0001", 10*time.Second, func(f *ralph.TurnEnded) {
		f.Usage = ralph.Usage{Input: 15000, Output: 2000, CacheRead: 900000, Cost: 4.1, Known: true}
	})
	x.receipt("t-0001", ralph.Turn{Agent: "claude", Iteration: 2, Reserve: ralph.Usage{Input: 17000, Cost: 0.3, Known: true}}, ralph.Why{})
	x.want(t, x.status(alive(), "Budget"),
		"Budget:  session: $4.10 of $5.00 (82%, NEARLY USED UP, $0.30 reserved), 11s of 1h 0m (0%), 1 of 50 iterations (2%)",
		"Budget:  spec: 17.0k of 20.0k tokens (85%, NEARLY USED UP)",
		"Budget:  t-0001: $4.10 of $4.50 (91%, NEARLY USED UP)")
	r := report.StatusOf(x.s, alive(), x.now)
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
	x.add(turnOf(x.s.Task("t-0001"), ralph.KindBuild, time.Second, func(f *ralph.TurnEnded) { f.Usage = ralph.Usage{Cost: 1, Known: false} }))
	if got := x.status(alive(), "Budget"); !strings.Contains(got, "(102%, an agent reported no cost: counts as over)") {
		t.Error(got)
	}
}

// how full the window of each agent at work is; X-64.
func TestStatusOfContexts(t *testing.T) {
	t.Parallel()
	x := controlled("")
	x.turn("t-0001", 10*time.Second, func(f *ralph.TurnEnded) { f.Context = ralph.ContextUse{Used: 142_000, Window: 200_000} })
	x.want(t, x.status(alive(), "Slot"), "Slot 1:  t-0001 One, iteration 2/50, claude, 10s, context 71%")
	x.add(ralph.ContextWarned{Task: "t-0001", Agent: "claude", Use: ralph.ContextUse{Used: 142_000, Window: 200_000}})
	x.want(t, x.status(alive(), "Slot"), "Slot 1:  t-0001 One, iteration 2/50, claude, 10s, context 71%, filling up")
	r := report.StatusOf(x.s, alive(), x.now)
	if len(r.Contexts) != 1 || r.Contexts[0].Percent != 71 || !r.Contexts[0].Warn || r.Contexts[0].Window != 200_000 {
		t.Errorf("%+v", r.Contexts)
	}
}

// after a kill nothing is at work, whatever the journal looks like: what was is
// named, and the record is idle without a current step.
func TestStatusAfterAKill(t *testing.T) {
	t.Parallel()
	x := controlled("")
	x.add(ralph.TaskStarted{ID: "t-0002"})
	x.turn("t-0001", time.Minute, nil)
	x.receipt("t-0001", ralph.Turn{Agent: "claude", Iteration: 2}, ralph.Why{})
	x.want(t, x.status(report.Engine{}, "Engine", "Now", "Slot", "Slots", "Cut"),
		"Engine:  not running: the last one was cut; `ralph autopilot` goes on where it was",
		"Cut:     t-0001 One, iteration 2, was at work in ralph/.worktrees/1 when the engine died",
		"Cut:     t-0002 Two, iteration 1, was at work when the engine died")
	r := report.StatusOf(x.s, report.Engine{}, x.now)
	if r.Status != "idle" || r.CurrentStep != nil || !r.CanResume || !slices.Equal(r.Cut, []ralph.TaskID{"t-0001", "t-0002"}) || r.CurrentIteration != 1 {
		t.Errorf("%+v", r)
	}
	for _, mode := range []ralph.Autonomy{ralph.Manual, ralph.Stepwise} { // F-14, X-100: the same everywhere
		x.add(ralph.ModeSet{Mode: mode})
		x.want(t, x.status(report.Engine{}, "Engine"), fmt.Sprintf("Engine:  not running: the last one was cut; mode %s keeps no session: `ralph autopilot` begins a new one on what is left", mode))
		if r := report.StatusOf(x.s, report.Engine{}, x.now); r.CanResume {
			t.Errorf("mode %s offers to resume", mode)
		}
	}
	x.add(ralph.JobEnded{Status: ralph.SpecDone}, ralph.SessionEnded{Reason: ralph.ReasonComplete})
	x.want(t, x.status(report.Engine{}, "Engine", "Cut"), "Engine:  idle (last session: complete)")
	if r := report.StatusOf(x.s, report.Engine{}, x.now); r.Status != "completed" || r.CanResume || len(r.Cut) != 0 {
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
		report.StatusRecord{},
		report.LimitRecord{},
		report.WaitRecord{},
		report.BudgetRecord{},
		report.ContextRecord{},
		report.Receipt{},
		report.Outcome{},
		report.Evidence{},
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
	x := controlled("")
	x.add(ralph.TaskStarted{ID: "t-0002"})
	x.receipt("t-0002", ralph.Turn{Agent: "codex", Iteration: 1}, ralph.Why{})
	x.pass(7 * time.Second)
	engine := alive()
	engine.Words = map[ralph.TaskID]string{"t-0001": "reading\n\x1b[31mheader.go", "t-0002": "Bash: go test ./..."}
	x.want(t, x.status(engine, "Now", "Slot"),
		"Now:     t-0002 Two, iteration 1, codex, 7s", "         > Bash: go test ./...",
		"Slot 1:  t-0001 One, iteration 1/50, 7s", "         > reading [31mheader.go")
}

// the ten fields of document A, their types, and their names.
func TestStatusRecordHasDocumentA(t *testing.T) {
	t.Parallel()
	keys := func(r report.StatusRecord) map[string]any {
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
	idle := keys(report.StatusOf(&ralph.State{}, report.Engine{}, time.Now()))
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
	x := controlled("")
	x.turn("t-0001", time.Minute, complete)
	x.checks("t-0001", true)
	x.done("t-0001")
	x.add(ralph.TaskStarted{ID: "t-0002"})
	x.receipt("t-0002", ralph.Turn{Agent: "codex", Iteration: 1}, ralph.Why{})
	at := keys(report.StatusOf(x.s, alive(), x.now))
	for name, value := range map[string]any{
		"status": "running", "session_id": "s-20250120T100000Z-1a2b", "current_iteration": 2.0, "current_step": "t-0002", "completed_steps": 1.0,
		"started_at": "2025-01-20T10:00:01Z", "active_agent": "claude", "plan_id": "feature-x.md", "total_steps": 2.0, "current_phase": "core",
	} {
		if !cmp.Equal(at[name], value) {
			t.Errorf("at work: %s is %v, want %v", name, at[name], value)
		}
	}
	x.add(ralph.TaskEnded{ID: "t-0002", Status: ralph.TaskSkipped})
	if got := keys(report.StatusOf(x.s, alive(), x.now))["skipped_steps"]; !cmp.Equal(got, []any{"t-0002"}) {
		t.Errorf("skipped %v", got)
	}
}
