package cli

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/exit"
	"github.com/ralph-loop/ralph/internal/journal"
	"github.com/ralph-loop/ralph/internal/report"
	"github.com/ralph-loop/ralph/internal/session"
	"github.com/ralph-loop/ralph/internal/workspace"
	"github.com/spf13/cobra"
)

// The exit codes of an autopilot session (product 3).
func TestExitForAutopilot(t *testing.T) {
	t.Parallel()
	done := func(q ralph.Queue) *ralph.Task {
		return &ralph.Task{ID: "t-done", Status: ralph.TaskDone, Run: ralph.Run{Queue: q}}
	}
	merged := done(ralph.Queue{State: ralph.MergeMerged})
	waits := &ralph.Integration{Branch: "ralph/merged-1", Landed: "a", Tip: "b", Held: []string{"x.go"}}
	asks := &ralph.Task{ID: "t-asks", Status: ralph.TaskPending, Run: ralph.Run{
		Turns: ralph.Turns{Iterations: 1, Last: &ralph.TurnEnded{Signal: ralph.Signal{Kind: ralph.SignalHuman}}},
	}}
	for _, tt := range []struct {
		name   string
		reason ralph.Reason
		tasks  []*ralph.Task
		at     *ralph.Integration
		want   int
		words  string // in what is told
	}{
		{"all done", ralph.ReasonComplete, []*ralph.Task{merged}, nil, 0, ""},
		{"one failed", ralph.ReasonFailed, []*ralph.Task{merged, {ID: "t-bad1", Status: ralph.TaskFailed}}, nil, 1, "ralph task retry t-bad1"},
		{"one timed out", ralph.ReasonFailed, []*ralph.Task{{ID: "t-bad1", Status: ralph.TaskTimeout}}, nil, 1, "ralph task extend t-bad1 && ralph task retry t-bad1"},
		{"one blocked", ralph.ReasonFailed, []*ralph.Task{{ID: "t-bad1", Status: ralph.TaskBlocked}}, nil, 1, "ralph task retry t-bad1"},
		{"a limit", ralph.ReasonBudget, []*ralph.Task{merged}, nil, 3, ""},
		{"R-M3 the checkout is in the way", ralph.ReasonPerson, []*ralph.Task{merged}, waits, 4, "your checkout is in the way: x.go"},
		{"likewise, as older builds said it", ralph.ReasonFailed, []*ralph.Task{merged}, waits, 4, "waits on branch ralph/merged-1, your checkout is in the way: x.go"},
		{"that, and one failed", ralph.ReasonFailed, []*ralph.Task{merged, {ID: "t-bad1", Status: ralph.TaskFailed}}, waits, 1, "x.go"},
		{"stopped", ralph.ReasonInterrupted, []*ralph.Task{merged}, nil, 0, ""},
		{"F-20, D-050 stopped with work left", ralph.ReasonInterrupted, []*ralph.Task{merged, {ID: "t-next", Status: ralph.TaskPending}}, nil, 5, ""},
		{"F-20 stopped, and what is left was left out", ralph.ReasonInterrupted, []*ralph.Task{merged, {ID: "t-out", Status: ralph.TaskSkipped}}, nil, 0, ""},
		{"F-20 stopped while one is blocked", ralph.ReasonInterrupted, []*ralph.Task{{ID: "t-bad1", Status: ralph.TaskBlocked}}, nil, 5, "ralph task retry t-bad1"},
		{"stopped while one asks", ralph.ReasonInterrupted, []*ralph.Task{asks}, nil, 5, "ralph gates"},
		{"stopped while a merge is held", ralph.ReasonInterrupted, []*ralph.Task{done(ralph.Queue{State: ralph.MergeWaiting, Weakened: []ralph.Finding{{Path: "a_test.go"}}})}, nil, 4, "weakens tests"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := &ralph.State{Session: ralph.Session{Mode: "autopilot"}, Plan: ralph.Plan{Tasks: tt.tasks, Integration: tt.at}}
			var code exit.Error
			errors.As(session.ExitFor(tt.reason, s, false), &code)
			if code.Code != tt.want {
				t.Errorf("exit code %d, want %d", code.Code, tt.want)
			}
			if want := map[int]int{5: 130}[tt.want]; want > 0 { // after a signal
				if errors.As(session.ExitFor(tt.reason, s, true), &code); code.Code != want {
					t.Errorf("exit code %d after a signal, want %d", code.Code, want)
				}
			}
			told := strings.Join(report.EndWords(s), "\n")
			if !strings.Contains(told, tt.words) || tt.words == "" && told != "" {
				t.Errorf("told: %q, want %q in it", told, tt.words)
			}
		})
	}
}

// F-20, D-050: what is left is told apart by mode: an empty inbox is none, one spec that
// is neither done nor failed is.
func TestExitWhenStopped(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		s    ralph.State
		want int
	}{
		{"agent, empty inbox", ralph.State{Session: ralph.Session{Mode: "agent"}}, 0},
		{"agent, all done", ralph.State{Session: ralph.Session{Mode: "agent"}, Inbox: []*ralph.Spec{{Status: ralph.SpecDone}}}, 0},
		{"agent, one waits", ralph.State{Session: ralph.Session{Mode: "agent"}, Inbox: []*ralph.Spec{{Status: ralph.SpecPending}}}, 5},
		{"construct, its spec is not done", ralph.State{Session: ralph.Session{Mode: "construct"}}, 5},
		{"construct, done", ralph.State{Session: ralph.Session{Mode: "construct", Completed: 1}}, 0},
		{"plan, not planned", ralph.State{Session: ralph.Session{Mode: "plan"}}, 5},
		{"plan, planned", ralph.State{Session: ralph.Session{Mode: "plan", Planned: []ralph.SpecID{""}}}, 0},
	} {
		var code exit.Error
		if errors.As(session.ExitFor(ralph.ReasonInterrupted, &tt.s, false), &code); code.Code != tt.want {
			t.Errorf("%s: exit code %d, want %d", tt.name, code.Code, tt.want)
		}
	}
}

// F-20: help and documents say what the one table of exit codes says.
func TestExitCodesAreDocumented(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/control.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range exit.Codes() {
		if x.Short == "" { // no command for people ends so
			continue
		}
		if row := fmt.Sprintf("| %d | %s |", x.Code, x.Long); !strings.Contains(string(text), row) {
			t.Errorf("docs/control.md has no row %s", row)
		}
		for _, cmd := range []*cobra.Command{newAgent(workspace.Env{}), newAutopilot(workspace.Env{})} {
			if words := fmt.Sprintf("%d %s", x.Code, x.Short); !strings.Contains(strings.ReplaceAll(cmd.Long, "\n", " "), words) {
				t.Errorf("`ralph %s --help` does not say %q", cmd.Name(), words)
			}
		}
	}
}

// D-059: what a dead engine's git left is older than the engine that died while it waited
// for it, and as old as the session that was left open at most.
func TestCutSince(t *testing.T) {
	t.Parallel()
	at := func(minute int) time.Time { return time.Date(2030, 1, 1, 12, minute, 0, 0, time.UTC) }
	live := ralph.Session{ID: "s", Since: at(10)}
	ended := live
	ended.Ended = ralph.ReasonComplete
	for name, tt := range map[string]struct {
		dead *journal.Owner
		last ralph.Session
		want time.Time
	}{
		"nobody died":                       {nil, live, time.Time{}},
		"it died in its session":            {&journal.Owner{StartedAt: at(9)}, live, at(9)},
		"it died before it began a session": {&journal.Owner{StartedAt: at(20)}, live, at(10)},
		"after a session that ended":        {&journal.Owner{StartedAt: at(20)}, ended, at(20)},
		"the first of all":                  {&journal.Owner{StartedAt: at(20)}, ralph.Session{}, at(20)},
	} {
		if got := session.CutSince(tt.dead, &ralph.State{Session: tt.last}); !got.Equal(tt.want) {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
}
