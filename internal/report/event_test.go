package report

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/eventname"
)

// field is a field of document A's events and where it is in ours.
type field struct{ event, theirs, ours string }

// Document A's fields are there under the names that docs/events.md says: A-010
// A-040 A-049 A-050 A-051 A-052 A-055 A-060 A-065 A-068 A-070; X-05.
func TestFieldsOfEvents(t *testing.T) {
	t.Parallel()
	facts := map[string]ralph.Fact{
		"autopilot:started":        ralph.SessionStarted{ID: "s-1", Plan: "a.md", Steps: 3},
		"autopilot:step-start":     ralph.TaskStarted{ID: "t-1"},
		"autopilot:step-complete":  ralph.TaskEnded{ID: "t-1", Status: ralph.TaskDone, Why: ralph.Why{Text: "done"}},
		"autopilot:step-skipped":   ralph.TaskEnded{ID: "t-1", Status: ralph.TaskSkipped, Why: ralph.Why{Text: "no disk"}},
		"autopilot:step-failed":    ralph.TaskEnded{ID: "t-1", Status: ralph.TaskFailed, Why: ralph.Why{Text: "no disk"}},
		"autopilot:aborted":        ralph.SessionEnded{Reason: ralph.ReasonAborted, Task: "t-1", Detail: "no disk"},
		"autopilot:complete":       ralph.SessionEnded{Reason: ralph.ReasonComplete},
		"autopilot:retrying":       ralph.Retrying{Task: "t-1", Attempt: 1, BackoffMS: 2000},
		"autopilot:rate-limited":   ralph.AgentLimited{Agent: "claude", BackoffMS: 5000},
		"autopilot:agent-switched": ralph.AgentSwitched{From: "claude", To: "codex", Reason: ralph.SwitchLimit},
		"iteration:started":        ralph.StepStarted{Task: "t-1", Step: ralph.Turn{Iteration: 4}},
		"iteration:completed":      ralph.TurnEnded{Task: "t-1", Iteration: 4, Exit: ralph.ExitOK},
		"iteration:failed":         ralph.TurnEnded{Task: "t-1", Iteration: 4, Exit: ralph.ExitFailed},
	}
	fields := []field{
		{"autopilot:started", "planId", "fact.plan_id"},
		{"autopilot:started", "totalSteps", "fact.total_steps"},
		{"autopilot:step-start", "step", "task.id"},
		{"autopilot:step-start", "phase", "task.phase"},
		{"autopilot:step-complete", "step", "task.id"},
		{"autopilot:step-complete", "result", "fact.why.text"},
		{"autopilot:step-skipped", "step", "task.id"},
		{"autopilot:step-skipped", "reason", "fact.why.text"},
		{"autopilot:step-failed", "stepId", "task.id"},
		{"autopilot:step-failed", "error", "fact.why.text"},
		{"autopilot:aborted", "step", "fact.task"},
		{"autopilot:aborted", "error", "fact.detail"},
		{"autopilot:complete", "completed", "completed"},
		{"autopilot:retrying", "step", "task.id"},
		{"autopilot:retrying", "attempt", "fact.attempt"},
		{"autopilot:retrying", "backoffMs", "fact.backoff_ms"},
		{"autopilot:rate-limited", "agent", "fact.agent"},
		{"autopilot:rate-limited", "backoffMs", "fact.backoff_ms"},
		{"autopilot:agent-switched", "from", "fact.from"},
		{"autopilot:agent-switched", "to", "fact.to"},
		{"autopilot:agent-switched", "reason", "fact.reason"},
		{"iteration:started", "task id", "task.id"},
		{"iteration:started", "iteration", "fact.step.args.iteration"},
		{"iteration:completed", "iteration", "fact.iteration"},
		{"iteration:failed", "iteration", "fact.iteration"},
	}
	var want []string
	for _, f := range fields {
		var s ralph.State
		for _, fact := range []ralph.Fact{ralph.SessionStarted{ID: "s-1"}, ralph.TaskAdded{Task: ralph.Task{ID: "t-1", Name: "one", Phase: "P1"}}} {
			s.Apply(ralph.Event{Fact: fact})
		}
		e := ralph.Event{Seq: 3, Fact: facts[f.event]}
		s.Apply(e)
		names := eventname.New(func(*ralph.State, time.Time) bool { return true }).Names(e, &s)
		if !slices.Contains(names, f.event) {
			t.Fatalf("%s goes by %v", f.event, names)
		}
		line, err := EventJSON(e, names, &s, "", "")
		if err != nil {
			t.Fatal(err)
		}
		if !has(t, line, f.ours) {
			t.Errorf("%s has no %s: %s", f.event, f.ours, line)
		}
		want = append(want, fmt.Sprintf("| `%s` | `%s` | `%s` |", f.event, f.theirs, f.ours))
	}
	doc, err := os.ReadFile("../../docs/events.md")
	if err != nil {
		t.Fatal(err)
	}
	got := regexp.MustCompile("(?m)^\\| `[^`]+` \\| `[^`]+` \\| `[^`]+` \\|$").FindAllString(string(doc), -1)
	if !slices.Equal(got, want) {
		t.Errorf("docs/events.md has these rows:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func has(t *testing.T, line []byte, path string) bool {
	t.Helper()
	var v any
	if err := json.Unmarshal(line, &v); err != nil {
		t.Fatalf("%v: %s", err, line)
	}
	for part := range strings.SplitSeq(path, ".") {
		m, _ := v.(map[string]any)
		v = m[part]
	}
	return v != nil
}

// What programs get begins with the journal's line as it is, so that its hash can
// still be made; only what follows is added.
func TestEventJSONKeepsTheLine(t *testing.T) {
	t.Parallel()
	e := ralph.Event{Seq: 7, At: time.Unix(1, 0), By: "engine", Prev: "p", More: true, Fact: ralph.TaskStarted{ID: "t-9"}}
	line, err := ralph.MarshalEvent(&e)
	if err != nil {
		t.Fatal(err)
	}
	got, err := EventJSON(e, []string{"a:b", "task.started"}, &ralph.State{}, "a-b", "/repo")
	want := string(line[:len(line)-1]) + `,"event":["a:b","task.started"],"task":{"id":"t-9"},"hook":"a-b","repository":"/repo"}`
	if err != nil || string(got) != want {
		t.Errorf("%v\n got %s\nwant %s", err, got, want)
	}
}

// A hook that did not work is one line, whatever it printed.
func TestHookLine(t *testing.T) {
	t.Parallel()
	for want, f := range map[string]ralph.HookRan{
		"HOOK: step-complete: exit code 1: no route":           {Hook: "step-complete", Exit: 1, Error: "exit code 1", Output: "trying\nno route\x1b[2J"},
		"HOOK: started: it took longer than 30s and was ended": {Hook: "started", Exit: -1, Error: "it took longer than 30s and was ended"},
		"HOOK: pre-turn says stop: the build machine is full":  {Hook: "pre-turn", Exit: 2, Error: "exit code 2", Output: "the build machine is full", Stop: true},
	} {
		if got := Lines(ralph.Event{Fact: f}, &ralph.State{}); !slices.Equal(got, []string{want}) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
