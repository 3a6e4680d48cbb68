package policy_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/policy"
	"github.com/ralph-loop/ralph/internal/ralphtest/enginetest"
)

// B-022 to B-029, every row of the completion matrix, with the claim before the
// limit (a COMPLETE on the last allowed turn counts).
func TestCompletion(t *testing.T) {
	all := []policy.Verdict{policy.Unchecked, policy.Green, policy.Red}
	type row struct {
		signal  ralph.SignalKind
		checks  []policy.Verdict
		spent   bool
		outcome policy.Outcome
		rule    string
	}
	for _, r := range []row{
		{ralph.SignalComplete, all[:1], false, policy.CheckIt, "B-010"},
		{ralph.SignalComplete, all[:1], true, policy.CheckIt, "B-010"},
		{ralph.SignalComplete, all[1:2], false, policy.Complete, "B-022"},
		{ralph.SignalComplete, all[1:2], true, policy.Complete, "B-022"},
		{ralph.SignalComplete, all[2:], false, policy.Continue, "B-023"},
		{ralph.SignalComplete, all[2:], true, policy.TimedOut, "B-028"},
		{ralph.SignalBlocked, all, false, policy.Blocked, "B-024"},
		{ralph.SignalBlocked, all, true, policy.Blocked, "B-024"},
		{ralph.SignalHuman, all, false, policy.Human, "B-025"},
		{ralph.SignalHuman, all, true, policy.Human, "B-025"},
		{ralph.SignalNone, all, false, policy.Continue, "B-026"},
		{ralph.SignalNone, all, true, policy.TimedOut, "B-028"},
		{ralph.SignalProgress, all, false, policy.Continue, "B-026"},
		{ralph.SignalProgress, all, true, policy.TimedOut, "B-028"},
	} {
		for _, checks := range r.checks {
			outcome, why := policy.Completion(r.signal, checks, r.spent)
			if outcome != r.outcome || why.Rule != r.rule || why.Text == "" {
				t.Errorf("%q checks %d spent %v: %s by %+v, want %s by %s", r.signal, checks, r.spent, outcome, why, r.outcome, r.rule)
			}
		}
	}
}

// B-069 to B-075, B-029, B-097: the exit matrix.
func TestExit(t *testing.T) {
	for kind, want := range map[ralph.ExitKind][2]string{
		ralph.ExitOK:        {string(policy.Continue), "B-069"},
		ralph.ExitFailed:    {string(policy.Failed), "B-073"},
		ralph.ExitUser:      {string(policy.Pending), "B-074"},
		ralph.ExitCrashed:   {string(policy.Pending), "B-075"},
		ralph.ExitTimeout:   {string(policy.TimedOut), "B-029"},
		ralph.ExitSpawn:     {string(policy.Failed), "B-097"},
		ralph.ExitKind("?"): {string(policy.Failed), "B-073"},
	} {
		if outcome, why := policy.Exit(kind); string(outcome) != want[0] || why.Rule != want[1] {
			t.Errorf("%s: %s by %s, want %v", kind, outcome, why.Rule, want)
		}
	}
}

var signals = []ralph.SignalKind{ralph.SignalNone, ralph.SignalProgress, ralph.SignalComplete, ralph.SignalBlocked, ralph.SignalHuman}

// The same rows through Next on a real state: the completion matrix.
func TestNextCompletion(t *testing.T) {
	for _, tt := range []struct {
		name   string
		signal ralph.SignalKind
		checks string // none, green, red
		last   bool   // it was the last allowed turn
		want   string
		rule   string
	}{
		{"B-010 claim unchecked", ralph.SignalComplete, "none", false, "check", "B-010"},
		{"#369 claim on the last turn", ralph.SignalComplete, "none", true, "check", "B-010"},
		{"B-022 claim proved", ralph.SignalComplete, "green", false, "finish done", "B-022"},
		{"#369 proved on the last turn", ralph.SignalComplete, "green", true, "finish done", "B-022"},
		{"B-011, B-023 claim refuted", ralph.SignalComplete, "red", false, "turn 2 claude", "B-023"},
		{"B-028 refuted on the last turn", ralph.SignalComplete, "red", true, "finish timeout", "B-028"},
		{"B-024 blocked", ralph.SignalBlocked, "none", false, "finish blocked", "B-024"},
		{"B-024 blocked on the last turn", ralph.SignalBlocked, "none", true, "finish blocked", "B-024"},
		{"B-025 needs a human", ralph.SignalHuman, "none", false, "ask", "B-025"},
		{"B-026 no signal, green", ralph.SignalNone, "green", false, "turn 2 claude", "B-026"},
		{"B-027 no signal, red", ralph.SignalNone, "red", false, "turn 2 claude", "B-026"},
		{"B-015, B-028 loop used up", ralph.SignalNone, "none", true, "finish timeout", "B-028"},
		{"B-055 progress", ralph.SignalProgress, "none", false, "turn 2 claude", "B-026"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := building(t, enginetest.Settings())
			if tt.last {
				b.c.MaxIterations = 1
			}
			b.turn(ralph.TurnEnded{Signal: ralph.Signal{Kind: tt.signal, Text: "why"}, Changed: true})
			if tt.checks != "none" {
				b.add(ralph.ChecksRan{Task: "t-1", Pass: tt.checks == "green"})
			}
			b.want(tt.want, tt.rule)
		})
	}
}

// B-028, B-029, B-018: the time of a task, which waits do not use up.
func TestNextTime(t *testing.T) {
	b := building(t, enginetest.Settings())
	b.turn(ralph.TurnEnded{Took: 29 * time.Minute, Changed: true})
	b.now = b.now.Add(100 * time.Hour)
	step := b.want("turn 2 claude", "B-026")
	if got := step.(ralph.Turn).Timeout; got != time.Minute {
		t.Errorf("the second turn may take %s, want what is left", got)
	}
	b.turn(ralph.TurnEnded{Took: time.Minute, Changed: true})
	b.want("finish timeout", "B-028")
}

// The exit matrix through Next, whatever the signal says (B-073 to B-075, B-029).
func TestNextExit(t *testing.T) {
	for _, tt := range []struct {
		name  string
		f     ralph.TurnEnded
		want  string
		rule  string
		retry bool
	}{
		{"B-073 exit 3, retries left", ralph.TurnEnded{Exit: ralph.ExitFailed, Code: 3}, "wait", "X-31", false},
		{"B-074 ended by the user", ralph.TurnEnded{Exit: ralph.ExitUser}, "finish pending", "B-074", false},
		{"B-075 killed", ralph.TurnEnded{Exit: ralph.ExitCrashed}, "finish pending", "B-075", true},
		{"B-029 out of time", ralph.TurnEnded{Exit: ralph.ExitTimeout}, "finish timeout", "B-029", false},
		{"row 30: will not start", ralph.TurnEnded{Exit: ralph.ExitSpawn, Err: &ralph.AgentError{Class: ralph.ErrClassSpawn, Lasting: true}}, "finish failed", "X-43", false},
		{"X-52 did not start", ralph.TurnEnded{Exit: ralph.ExitSpawn, Err: &ralph.AgentError{Class: ralph.ErrClassSpawn}}, "wait", "X-31", false},
	} {
		for _, signal := range signals {
			t.Run(fmt.Sprintf("%s, signal %q", tt.name, signal), func(t *testing.T) {
				b := building(t, enginetest.Settings())
				f := tt.f
				f.Signal.Kind = signal
				b.turn(f)
				step := b.want(tt.want, tt.rule)
				if end, ok := step.(ralph.Finish); ok && end.Retry != tt.retry {
					t.Errorf("retry %v, want %v", end.Retry, tt.retry)
				}
			})
		}
	}
}

// B-069 to B-072: exit 0 leaves it to the completion matrix, but an error that the
// driver reports beside exit 0 is an error.
func TestNextExitZeroWithError(t *testing.T) {
	b := building(t, enginetest.Settings())
	b.turn(ralph.TurnEnded{Signal: ralph.Signal{Kind: ralph.SignalComplete}, Err: &ralph.AgentError{Class: ralph.ErrClassServer}})
	b.want("wait", "X-31")
}
