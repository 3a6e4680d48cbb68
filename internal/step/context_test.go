package step_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/agent"
	"github.com/ralph-loop/ralph/internal/policy"
	"github.com/ralph-loop/ralph/internal/proc"
	"github.com/ralph-loop/ralph/internal/step"
	"github.com/ralph-loop/ralph/internal/text"
)

// still is a work tree of which only the diff is asked.
type still struct {
	step.Trees
	patch string
}

func (still) Snapshot(context.Context) (tree, head string, err error) { return "tree", "head", nil }

func (s still) Diff(context.Context, string, string, int64) ([]byte, error) {
	return []byte(s.patch), nil
}

// window is an executor with a scripted agent, a real process, and a state with
// one task that it has worked on.
type window struct {
	*step.Executor
	state *ralph.State
	task  ralph.TaskID
	file  string // the scenario
}

func newWindow(t *testing.T, c policy.Config, rules string) *window {
	t.Helper()
	w := &window{task: "t-1", file: filepath.Join(t.TempDir(), "s.yaml")}
	w.play(t, rules)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	spec := ralph.AgentSpec{Name: "played", Driver: "scripted", Scenario: w.file}
	driver, err := agent.Open(spec, proc.NewRunner(t.TempDir()), exe)
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	w.Executor = &step.Executor{
		Root: root, Config: c, Trees: still{}, Now: time.Now, Grace: 200 * time.Millisecond, SkipDiffs: true,
		Agents: map[string]step.ConfiguredAgent{"played": {Agent: driver, Spec: spec}},
		Env:    []string{"PATH=" + os.Getenv("PATH"), "HOME=" + root, "GORACE=atexit_sleep_ms=0"},
	}
	w.state = &ralph.State{Job: &ralph.Job{ID: "q-1", Base: "base"}}
	w.apply(ralph.TaskAdded{Task: ralph.Task{ID: "t-1", Name: "Say hello"}}, ralph.TaskStarted{ID: "t-1"})
	return w
}

func (w *window) play(t *testing.T, rules string) {
	t.Helper()
	if err := os.WriteFile(w.file, []byte("rules:\n"+rules), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (w *window) apply(facts ...ralph.Fact) {
	for _, f := range facts {
		w.state.Apply(ralph.Event{Fact: f})
	}
}

// do carries a step out and folds what came of it.
func (w *window) do(t *testing.T, s ralph.Step) []ralph.Fact {
	t.Helper()
	facts, err := w.Do(t.Context(), w.state, w.task, s)
	if err != nil || len(facts) == 0 {
		t.Fatalf("%s: %v, %v", s.StepName(), facts, err)
	}
	w.apply(facts...)
	return facts
}

func (w *window) run() ralph.Run { return w.state.Task(w.task).Run }

func (w *window) turn() ralph.Turn {
	r := w.run()
	return ralph.Turn{Stage: ralph.KindBuild, Agent: "played", Iteration: r.Iterations + 1, Resume: r.Session, Timeout: 20 * time.Second}
}

func warnings(facts []ralph.Fact) (n int) {
	for _, f := range facts {
		if _, ok := f.(ralph.ContextWarned); ok {
			n++
		}
	}
	return n
}

// A window that is rather full is told of once, until the session is shorter.
func TestContextWarning(t *testing.T) {
	t.Parallel()
	w := newWindow(t, policy.Config{ContextWarn: 0.70}, `
  - {when: {compact: true}, do: [context: 10%]}
  - {when: {iteration: 1}, do: [context: 69%]}
  - {when: {resumed: true}, do: [context: 71%]}
`)
	for i, want := range []int{0, 1, 0} {
		if got := warnings(w.do(t, w.turn())); got != want {
			t.Errorf("turn %d: %d warnings, want %d", i+1, got, want)
		}
	}
	if got := w.run().Context; got != (ralph.ContextUse{Used: 142_000, Window: 200_000}) {
		t.Errorf("the task's context is %+v", got)
	}
	w.do(t, ralph.Compact{Agent: "played", Session: w.run().Session, Use: w.run().Context})
	if got := warnings(w.do(t, w.turn())); got != 1 {
		t.Errorf("the window filled again: %d warnings", got)
	}
	fresh := w.turn()
	fresh.Resume = ""
	w.play(t, "  - {do: [context: 71%]}\n")
	if got := warnings(w.do(t, fresh)); got != 1 {
		t.Errorf("a new session, as full: %d warnings", got)
	}
	w.Config.ContextWarn = 0
	w.apply(ralph.Compacted{Task: "t-1"})
	if got := warnings(w.do(t, w.turn())); got != 0 {
		t.Error("a warning although it is off")
	}
}

// A turn whose window gets too full is ended in its middle. That is an error of the
// agent, of its own class, and what it changed stays; an agent that ends by itself
// at the same moment has its own outcome.
func TestContextKill(t *testing.T) {
	t.Parallel()
	w := newWindow(t, policy.Config{ContextWarn: 0.70, ContextKill: 0.95}, `
  - {when: {iteration: 1}, do: [write: {half.txt: half}, context: 96%, hang: hard]}
  - {do: [context: 94.9%, signal: COMPLETE]}
`)
	facts := w.do(t, w.turn())
	f := facts[0].(ralph.TurnEnded)
	want := "96 % of the window used (construct.context_kill)"
	if f.Exit != ralph.ExitFailed || f.Err == nil || f.Err.Class != ralph.ErrClassContext || f.Err.Message != want || f.Context.Part() != 0.96 {
		t.Errorf("ended: %+v %+v", f, f.Err)
	}
	if warnings(facts) != 1 || f.Signal.Kind != ralph.SignalNone {
		t.Errorf("facts %+v", facts)
	}
	if b, err := os.ReadFile(filepath.Join(w.Root, "half.txt")); string(b) != "half" {
		t.Errorf("what it had changed: %q, %v", b, err)
	}
	if f = w.do(t, w.turn())[0].(ralph.TurnEnded); f.Failed() || f.Signal.Kind != ralph.SignalComplete {
		t.Errorf("just below: %+v %+v", f, f.Err)
	}
	w.play(t, "  - {do: [context: 100%, signal: COMPLETE]}\n")
	w.Config.ContextKill = 0
	if f = w.do(t, w.turn())[0].(ralph.TurnEnded); f.Failed() {
		t.Errorf("off: %+v %+v", f, f.Err)
	}
}

// A person who stops the turn at the same time is heard.
func TestContextKillIsNoStop(t *testing.T) {
	t.Parallel()
	w := newWindow(t, policy.Config{ContextKill: 0.95}, "  - do: [say: ready, hang: true]\n")
	ctx, stop := context.WithCancelCause(t.Context())
	w.Live = live(func(s ralph.Words) {
		if s.Text == "ready" {
			stop(context.DeadlineExceeded)
		}
	})
	if facts, err := w.Do(ctx, w.state, "t-1", w.turn()); !errors.Is(err, context.DeadlineExceeded) || facts != nil {
		t.Errorf("%v, %v", facts, err)
	}
}

type live func(ralph.Words)

func (l live) Say(_ ralph.TaskID, w ralph.Words) { l(w) }

// What a turn may cost goes to its agent.
func TestTurnHasACostLimit(t *testing.T) {
	t.Parallel()
	w := newWindow(t, policy.Config{}, "  - do: [cost: 0.3]\n")
	turn := w.turn()
	if turn.MaxCost = 0.2; !hasClass(w.do(t, turn)[0], ralph.ErrClassBudget) {
		t.Error("0.30 dollars of 0.20 were no error")
	}
	if turn.MaxCost = 0.3; hasClass(w.do(t, turn)[0], ralph.ErrClassBudget) {
		t.Error("0.30 dollars of 0.30 were an error")
	}
}

func hasClass(f ralph.Fact, class ralph.ErrorClass) bool {
	e := f.(ralph.TurnEnded).Err
	return e != nil && e.Class == class
}

// A turn that fails before the model was asked leaves the session as full as it was.
func TestContextOfAFailedTurn(t *testing.T) {
	t.Parallel()
	w := newWindow(t, policy.Config{}, `
  - {when: {iteration: 1}, do: [context: 86%]}
  - {do: [error: overloaded]}
`)
	w.do(t, w.turn())
	w.do(t, w.turn())
	if got := w.run().Context.Part(); got != 0.86 {
		t.Errorf("%v of the window is used, want 0.86", got)
	}
	fresh := w.turn()
	fresh.Resume = ""
	w.do(t, fresh)
	if got := w.run().Context; got != (ralph.ContextUse{}) {
		t.Errorf("a new session has %+v", got)
	}
}

// The agent makes its session shorter; the next turn goes on in it, and nothing is
// handed over.
func TestCompactByTheAgent(t *testing.T) {
	t.Parallel()
	w := newWindow(t, policy.Config{ContextCompact: 0.85}, `
  - {when: {compact: true}, do: [context: 10%, cost: 0.05]}
  - {do: [context: 86%, "say": "{{.Session}}"]}
`)
	w.do(t, w.turn())
	before := w.run()
	f := w.do(t, ralph.Compact{Agent: "played", Session: before.Session, Use: before.Context})[0].(ralph.Compacted)
	if f.How != ralph.CompactAgent || f.Before != before.Context || f.After.Part() != 0.10 || f.Session != before.Session || f.Usage.Cost != 0.05 || f.Error != "" || f.Summary != "" {
		t.Errorf("compacted: %+v", f)
	}
	after := w.run()
	if after.Iterations != 1 || after.InFlight != 0 || after.Context != f.After {
		t.Errorf("the task: %+v", after)
	}
	if f := w.do(t, w.turn())[0].(ralph.TurnEnded); f.Session != before.Session || f.Tail != before.Session {
		t.Errorf("the next turn: %+v", f)
	}
	prompt, err := os.ReadFile(filepath.Join(w.Root, "ralph/.state/tasks/t-1/2/prompt.md"))
	if err != nil || strings.Contains(string(prompt), "What was done before") {
		t.Errorf("its prompt: %v\n%s", err, prompt)
	}
}

const patch = `diff --git a/new.go b/new.go
new file mode 100644
index 0000000..0000001
--- /dev/null
+++ b/new.go
@@ -0,0 +1,2 @@
+package x
+--- a
diff --git a/old.go b/old.go
deleted file mode 100644
index 0000001..0000000
--- a/old.go
+++ /dev/null
@@ -1 +0,0 @@
-package x
diff --git a/cut.go b/cut.go
index 0000001..0000002 100644
--- a/cut.go
+++ b/cut.go
@@ -1,3 +1,9 @@
-one
`

// An agent that cannot compact, or whose compacting does not help, is left for a
// new session, which is told what was done: the last words, what changed, red
// checks, answers; not more than 4 KiB, and all of it in the next prompt.
func TestCompactByHandover(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ rule, agent, why string }{
		"cannot":     {"", "played", "it cannot compact"},
		"did fail":   {"  - {when: {compact: true}, do: [cost: 0.05, error: overloaded]}\n", "played", "overloaded: scripted overloaded"},
		"no help":    {"  - {when: {compact: true}, do: [cost: 0.05, context: 85%]}\n", "played", "85 % of the window is still used after compacting"},
		"killed":     {"  - {when: {compact: true}, do: [crash: true]}\n", "played", "the agent did not end well: crashed"},
		"gone":       {"", "other", `agent "other" is not configured any more`},
		"exec agent": {"", "mine", "not supported by the driver"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWindow(t, policy.Config{ContextCompact: 0.85}, c.rule+"  - {do: [context: 86%, say: \"I wrote new.go.\"]}\n")
			w.Trees = still{patch: patch}
			d, err := agent.Open(ralph.AgentSpec{Name: "mine", Driver: "exec", Command: []string{"false"}}, proc.NewRunner(t.TempDir()), "")
			if err != nil {
				t.Fatal(err)
			}
			w.Agents["mine"] = step.ConfiguredAgent{Agent: d}
			w.do(t, w.turn())
			long := strings.Repeat("long äöü ", 1000)
			w.apply(
				ralph.ChecksRan{Task: "t-1", Results: []ralph.CheckResult{{Command: "go vet", Pass: true}, {Command: "go test", Exit: 1, Output: long}}},
				ralph.Asked{Approval: ralph.Approval{ID: "g-1", Task: "t-1", Text: "Which colour?"}}, ralph.Answered{ID: "g-1", Text: "Blue."},
			)
			session := w.run().Session
			f := w.do(t, ralph.Compact{Agent: c.agent, Session: session, Use: w.run().Context})[0].(ralph.Compacted)
			if f.How != ralph.CompactHandover || !strings.Contains(f.Error, c.why) || f.Session != "" || f.After != (ralph.ContextUse{}) {
				t.Errorf("compacted: %+v", f)
			}
			if known := name != "killed"; f.Usage.Known != known {
				t.Errorf("usage %+v", f.Usage)
			}
			for _, want := range []string{
				"Task: Say hello", "Turns so far: 1", "I wrote new.go.", "go test (exit code 1)", "Asked: Which colour?\n  Answer: Blue.",
				"Files changed since the spec began:\n  new.go new +2 -0\n  old.go deleted +0 -1",
			} {
				if !strings.Contains(f.Summary, want) {
					t.Errorf("the summary lacks %q:\n%s", want, f.Summary)
				}
			}
			if strings.Contains(f.Summary, "go vet") || len(f.Summary) > 4<<10 {
				t.Errorf("%d bytes:\n%s", len(f.Summary), f.Summary)
			}
			w.play(t, "  - {do: [say: \"{{.Session}}\"]}\n")
			next := w.do(t, w.turn())[0].(ralph.TurnEnded)
			prompt, err := os.ReadFile(filepath.Join(w.Root, next.Dir, "prompt.md"))
			if err != nil || next.Session == session || next.Tail != "" || !strings.Contains(string(prompt), "## What was done before") || !strings.Contains(string(prompt), "I wrote new.go.") {
				t.Errorf("the next turn: %+v, %v\n%s", next, err, prompt)
			}
			if w.run().Handover != "" {
				t.Error("what was handed over is told again")
			}
		})
	}
}

// The first task of a phase takes the session of the phase before over, made
// shorter; where that cannot be, it is told what was done there.
func TestCompactBetweenPhases(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		session bool
		how     string
		prompt  string // of the first turn of the next phase
	}{
		"in the same session": {true, ralph.CompactAgent, "go on with"},
		"with a summary":      {false, ralph.CompactHandover, "The last turn's last words:\n  I wrote it."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWindow(t, policy.Config{Continue: true, ContextCompact: 0.85}, `
  - {when: {compact: true}, do: [context: 10%]}
  - {when: {resumed: true}, do: [say: "go on with {{.Session}}"]}
  - {do: [context: 86%, say: I wrote it.]}
`)
			w.apply(ralph.TaskAdded{Task: ralph.Task{ID: "t-2", Name: "Say goodbye", Phase: "two"}})
			w.do(t, w.turn())
			w.apply(ralph.TaskEnded{ID: "t-1", Status: ralph.TaskDone}, ralph.TaskStarted{ID: "t-2"})
			before := w.run()
			compact := ralph.Compact{Agent: "played", Use: before.Context, From: "t-1"}
			if c.session {
				compact.Session = before.Session
			}
			w.task = "t-2"
			f := w.do(t, compact)[0].(ralph.Compacted)
			if f.Task != "t-2" || f.How != c.how || f.Before != before.Context || f.Session != compact.Session {
				t.Errorf("compacted: %+v", f)
			}
			next := w.do(t, w.turn())[0].(ralph.TurnEnded)
			text, err := os.ReadFile(filepath.Join(w.Root, next.Dir, "prompt.md"))
			if c.session {
				text = []byte(next.Tail)
			}
			if err != nil || !strings.Contains(string(text), c.prompt) || (next.Session == before.Session) != c.session {
				t.Errorf("the next phase: %+v, %v\n%s", next, err, text)
			}
		})
	}
}

// A summary is bounded whatever the task has been through.
func TestHandoverIsBounded(t *testing.T) {
	t.Parallel()
	w := newWindow(t, policy.Config{}, "  - {do: [say: done]}\n")
	var many strings.Builder
	for i := range 100 {
		name := strings.Repeat("x", i+1) + ".go"
		many.WriteString("diff --git a/" + name + " b/" + name + "\nnew file mode 100644\nindex 0000000..0000001\n--- /dev/null\n+++ b/" + name + "\n@@ -0,0 +1 @@\n+x\n")
	}
	w.Trees = still{patch: many.String()}
	w.do(t, w.turn())
	f := w.do(t, ralph.Compact{Agent: "gone"})[0].(ralph.Compacted)
	if !strings.HasSuffix(f.Summary, "\n  and 70 more") {
		t.Errorf("files:\n%s", f.Summary)
	}
	for range 30 {
		w.apply(ralph.Asked{Approval: ralph.Approval{ID: "g-1", Task: "t-1", Text: strings.Repeat("ä", 400)}}, ralph.Answered{ID: "g-1", Text: strings.Repeat("ö", 400)})
	}
	f = w.do(t, ralph.Compact{Agent: "gone", Session: "abc"})[0].(ralph.Compacted)
	if len(f.Summary) > 4<<10 || !strings.HasSuffix(f.Summary, "ö"+text.Mark) || strings.Contains(f.Summary, "\uFFFD") {
		t.Errorf("%d bytes, ends with %q", len(f.Summary), f.Summary[len(f.Summary)-20:])
	}
}

// A thread whose agent has no session to go on with, or has lost it, begins a new one with a
// summary of what was done, also past a turn that failed; one that goes on is told none (E-034).
func TestThreadBeginsAnewWithASummary(t *testing.T) {
	t.Parallel()
	w := newWindow(t, policy.Config{}, "  - {when: {iteration: 1}, do: [event: {kind: plan.updated, plan: [{text: write y.go, status: pending}]}, say: \"I looked at x.go.\"]}\n  - {when: {iteration: 2}, do: [crash: true]}\n  - {do: [say: done]}\n")
	w.apply(ralph.ThreadStarted{Task: "t-1"})
	for n, c := range []struct {
		resume string
		told   bool
	}{{"", false}, {"s", false}, {"", true}, {"s", false}} {
		if c.resume != "" {
			c.resume = w.run().Session
		}
		next := w.do(t, ralph.Turn{Stage: ralph.KindThread, Agent: "played", Iteration: n + 1, Resume: c.resume})[0].(ralph.TurnEnded)
		prompt, err := os.ReadFile(filepath.Join(w.Root, next.Dir, "prompt.md"))
		told := strings.Contains(string(prompt), "## What was done before") && strings.Contains(string(prompt), "I looked at x.go.") && strings.Contains(string(prompt), "Planned (pending): write y.go")
		if err != nil || told != c.told || next.Failed() != (n == 1) {
			t.Errorf("turn %d: told: %t, %+v %v\n%s", n+1, told, next, err, prompt)
		}
	}
}
