package status_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/report"
	"github.com/ralph-loop/ralph/internal/status"
)

// Issue 14.3: the report of a stall has the skeleton of the state, and nothing that
// anybody wrote; the line says what stands still, since when, and what to do.
func TestStallIsRedacted(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	const secret = "hunter2"
	task := &ralph.Task{ID: "t-1", Name: secret, Notes: secret, Status: ralph.TaskActive}
	task.Run.Reason, task.Run.StepError = secret, secret
	s := &ralph.State{
		Seq: 42, Plan: ralph.Plan{File: secret, Tasks: []*ralph.Task{task}}, Job: &ralph.Job{ID: "j-1", File: secret},
		ApprovalState: ralph.ApprovalState{Approvals: []*ralph.Approval{{ID: "g-1", Kind: "question", Text: secret, Detail: secret}}},
		Limits:        []ralph.Limit{{Agent: "claude", Message: secret, Until: at}},
		Session:       ralph.Session{ID: "s-1", Mode: "agent", Cause: secret, Config: json.RawMessage(`"` + secret + `"`), Host: secret},
	}
	f := ralph.Stalled{Since: at, Active: []ralph.TaskID{"t-1"}, Ready: []ralph.TaskID{"t-2", "t-3"}, Why: secret, Report: ralph.StallReport(42)}
	b, err := json.Marshal(status.NewStallReport(s, f, []string{"task.started", "stalled"}, "1.2.3"))
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	if strings.Contains(text, secret) {
		t.Errorf("not redacted: %s", text)
	}
	for _, want := range []string{`"t-1"`, `"question"`, `"claude"`, `"task.started","stalled"`, `"1.2.3"`, `"agent"`} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in %s", want, text)
		}
	}
	lines := report.Lines(ralph.Event{Seq: 42, Fact: f}, s)
	const want = "WATCHDOG: nothing happens since 2026-01-02T03:04:05Z, and nothing known explains it: t-1 is at work without a step, t-2, t-3 are ready; " +
		"look at `[[why]]`, then `[[stop-now]]` and start again: nothing recorded is lost; please report it with ralph/.state/reports/stalled-42.json"
	if len(lines) != 1 || lines[0] != want {
		t.Errorf("lines: %q", lines)
	}
}
