package report_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph/internal/ralphtest/storytest"

	"github.com/google/go-cmp/cmp"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/report"
	"github.com/ralph-loop/ralph/internal/status"
)

// C-081, F-41: at level debug each fact is a line with what it moved, and why; F-34: what
// has no line of its own is said in words, not as JSON.
func TestDebug(t *testing.T) {
	t.Parallel()
	x := storytest.New()
	x.Begin(ralph.Task{ID: "t-0001", Name: "One"}, ralph.Task{ID: "t-0002", Name: "Two"})
	for _, tt := range []struct {
		name string
		fact ralph.Fact
		want string
	}{
		{"a start", ralph.TaskStarted{ID: "t-0001"}, "task.started: t-0001 One: pending -> active"},
		{"a decision", ralph.StepStarted{Task: "t-0001", Step: ralph.Check{}, Why: ralph.Why{Rule: "B-023", Text: "it says COMPLETE"}}, "step.started: t-0001 One: run the checks; cause: it says COMPLETE (B-023)"},
		{"an end", ralph.TaskEnded{ID: "t-0001", Status: ralph.TaskFailed, Why: ralph.Why{Rule: "X-32", Text: "boom"}}, "task.ended: t-0001 One: active -> failed; cause: boom (X-32)"},
		{"a pause", ralph.Control{Want: ralph.WantPause, Cause: "ralph pause"}, "control: engine running -> paused; cause: ralph pause"},
		{"a spec", ralph.SpecAdded{Spec: ralph.Spec{ID: "q-1", File: "a.md", Status: ralph.SpecPending}}, "spec.added: q-1 none -> pending"},
		{"a gate", ralph.Asked{Approval: ralph.Approval{ID: "g-1", Kind: "question", Task: "t-0002", Text: "which?"}}, "asked: t-0002 Two: gate g-1 none -> open"},
		{"its answer", ralph.Answered{ID: "g-1", Text: "that one"}, "answered: gate g-1 open -> closed"},
		{"what moves nothing", ralph.NoticeFailed{Sink: "sound", Error: "no player"}, "notice.failed: at: 0001-01-01T00:00:00Z, error: no player, sink: sound; cause: no player"},
	} {
		before := x.S.Clone()
		x.Add(tt.fact)
		e := ralph.Event{Seq: x.S.Seq, By: "engine", Fact: tt.fact}
		got := strings.SplitN(report.Debug(e, before, x.S), " ", 3)[2]
		if tt.name == "what moves nothing" {
			if strings.Contains(got, "{") || !strings.Contains(got, "sink: sound") || !strings.HasSuffix(got, "; cause: no player") {
				t.Errorf("%s: %q", tt.name, got)
			}
			continue
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
	if got := report.Debug(ralph.Event{Seq: 3, By: "cli", Fact: ralph.TaskRetried{ID: "t-0001"}}, x.S, x.S); !strings.HasPrefix(got, "DEBUG: 3 task.retried by cli: ") {
		t.Errorf("who did it: %q", got)
	}
}

// F-31: while the checks run, a slot says which, and the iteration is the one that they
// judge; between turns it is the next.
func TestStatusWhileChecking(t *testing.T) {
	t.Parallel()
	x := storytest.Controlled(`,"check_names":["go vet ./...","go test ./..."]`)
	slot := func(want string) {
		t.Helper()
		x.Want(t, x.Status(storytest.Alive(), "Slot"), want)
	}
	x.Start("t-0001", 1)
	x.Receipt("t-0001", ralph.Turn{Stage: ralph.KindBuild, Agent: "claude", Iteration: 1}, ralph.Why{})
	slot("Slot 1:  t-0001 One, iteration 1/50, claude, 0s")
	x.Add(storytest.TurnOf(x.S.Task("t-0001"), ralph.KindBuild, time.Minute, storytest.Complete))
	slot("Slot 1:  t-0001 One, iteration 1/50, claude, 0s")
	x.Receipt("t-0001", ralph.Check{}, ralph.Why{Rule: "B-023", Text: "it says COMPLETE"})
	slot("Slot 1:  t-0001 One, iteration 1/50, checking: go vet ./..., go test ./..., claude, 0s")
	x.Want(t, x.Status(storytest.Alive(), "Decided"), "Decided: t-0001 One: check: it says COMPLETE (B-023)") // F-37, E-087
	x.Add(ralph.TaskAdded{Task: ralph.Task{ID: "land:j", Kind: ralph.KindLand, Status: ralph.TaskPending}}, ralph.TaskStarted{ID: "land:j"})
	x.Receipt("land:j", ralph.Land{}, ralph.Why{Rule: "P-7", Text: "all is merged"})
	x.Want(t, x.Status(storytest.Alive(), "Decided"), "Decided: land: all is merged (P-7)")
	x.Add(ralph.ChecksRan{Task: "t-0001", Results: []ralph.CheckResult{{Name: "go test ./...", Pass: false}}})
	slot("Slot 1:  t-0001 One, iteration 2/50, claude, 0s")
}

// F-35, X-57: where only a commit is progress, the warning does not speak of changes.
func TestStuckWords(t *testing.T) {
	t.Parallel()
	for setting, want := range map[string]string{"": "1 iteration without a change", `,"only_commits":true`: "1 iteration without a commit"} {
		x := storytest.Controlled(setting)
		x.Start("t-0001", 1)
		x.Turn("t-0001", time.Minute, func(f *ralph.TurnEnded) { f.Changed = false })
		x.Add(ralph.Noted{Task: "t-0001", Rule: ralph.RuleStuck, Text: "stuck"})
		x.Want(t, x.Status(storytest.Alive(), "Slot"), "Slot 1:  t-0001 One, iteration 2/50, claude, 1m 0s, MAY BE STUCK: "+want)
	}
}

// F-33: the JSON has names in small letters and costs that people can read; F-34, A-039:
// the reason of a fallback is there after the end too.
func TestStatusJSONWords(t *testing.T) {
	t.Parallel()
	x := storytest.Controlled("")
	x.S.Session.Usage = ralph.Usage{Cost: 0.1 + 0.2, Known: true}
	x.S.Totals.Usage = x.S.Session.Usage
	x.S.Session.Fallback, x.S.Session.Agent, x.S.Session.Ended = "rate-limited", "codex", ralph.ReasonComplete
	b, err := json.Marshal(status.All(x.S, status.Engine{Pid: 7}, x.Now))
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	for _, want := range []string{`"engine":{"alive":false,"pid":7,"host":""}`, `"cost":0.3,`, `"fallback_reason":"rate-limited"`} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in %s", want, text)
		}
	}
	if strings.Contains(text, "0.30000") {
		t.Errorf("a cost with 17 digits: %s", text)
	}
}
