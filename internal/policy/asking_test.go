package policy_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/approval"
	"github.com/ralph-loop/ralph/internal/policy"
	"github.com/ralph-loop/ralph/internal/policy/replay"
)

// An answer that the sandbox gave is decided again by replay, from the settings of its
// session: one that these would not have given is found (E-078).
func TestReplayOfAutoAnswers(t *testing.T) {
	t.Parallel()
	journal := func(c policy.Config, f ralph.RequestAnswered) replay.Replayed {
		t.Helper()
		text, err := c.Encode()
		if err != nil {
			t.Fatal(err)
		}
		got, err := replay.Replay(slices.Values([]ralph.Event{
			{Seq: 1, Fact: ralph.SessionStarted{ID: "s-1", Config: text}}, {Seq: 2, Fact: f},
		}), replay.ReplayOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	f := ralph.RequestAnswered{Task: "t-1", Agent: "a", Request: command("make all"), Verdict: ralph.Approved, Rule: "gate.approvals: auto, in the sandbox (landlock)"}
	if got := journal(bounded(), f); got.Receipts != 1 || got.Differ != 0 {
		t.Errorf("%+v", got)
	}
	without := bounded()
	without.Sandbox = ""
	other := f
	other.Request = ralph.Request{Kind: ralph.RequestApproval, Op: ralph.OpPermissions}
	if got := journal(without, f); got.Differ != 1 {
		t.Errorf("without a sandbox: %+v", got)
	}
	if got := journal(bounded(), other); got.Differ != 1 {
		t.Errorf("more rights: %+v", got)
	}
}

// R-H6: with --unattended what is asked is over at once, as gate.on_timeout says, and what
// waits as long as it takes is left to the end of the session.
func TestUnattendedDeadlines(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	c := policy.Config{Unattended: true, GateTimeout: time.Hour}
	for _, kind := range []string{ralph.ApprovalQuestion, ralph.ApprovalRequest, ralph.ApprovalOperation, ralph.ApprovalTest} {
		if got := policy.GateDeadline(kind, c, now); !got.Equal(now) {
			t.Errorf("%s waits until %s", kind, got)
		}
	}
	if got := policy.GateDeadline(ralph.ApprovalMerge, c, now); !got.IsZero() {
		t.Errorf("a merge expires at %s", got)
	}
	g := &ralph.Approval{ID: "g-1", Kind: ralph.ApprovalRequest, Task: "t-1", AskedAt: now, Deadline: now, InTurn: true, Text: "run make"}
	s := &ralph.State{ApprovalState: ralph.ApprovalState{Approvals: []*ralph.Approval{g}}}
	s.Plan.Tasks = []*ralph.Task{{ID: "t-1", Status: ralph.TaskActive}}
	facts, reply := policy.Unanswered(s, g, c, now)
	if len(facts) != 1 || reply.Allow || reply.Stop || reply.Text != "nobody is there to answer (--unattended): it is not allowed; go on without it" {
		t.Errorf("skip: %+v %+v", facts, reply)
	}
	c.OnTimeout = "stop"
	if facts, reply = policy.Unanswered(s, g, c, now); len(facts) != 2 || !reply.Stop {
		t.Errorf("stop: %+v %+v", facts, reply)
	}
}

// X-76, C-038: what has which limit, by the kind of the gate.
func TestGateDeadline(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	c := policy.Config{GateTimeout: time.Minute, InputTimeout: time.Hour}
	for kind, want := range map[string]time.Duration{
		ralph.ApprovalRequest: time.Minute, ralph.ApprovalOperation: time.Minute, ralph.ApprovalTest: time.Minute, ralph.ApprovalQuestion: time.Hour,
		ralph.ApprovalMerge: 0, ralph.ApprovalStart: 0, ralph.ApprovalStep: 0,
	} {
		got := policy.GateDeadline(kind, c, now)
		if want == 0 && !got.IsZero() || want > 0 && !got.Equal(now.Add(want)) {
			t.Errorf("%s waits until %s", kind, got)
		}
		if got := policy.GateDeadline(kind, policy.Config{}, now); !got.IsZero() {
			t.Errorf("%s waits until %s without a limit", kind, got)
		}
	}
}

// a gate between two turns that nobody answers in time never passes, a test gate
// as little as a question: its task is blocked, or the session ends.
func TestExpiredBetweenTurns(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{ralph.ApprovalQuestion, ralph.ApprovalTest} {
		for on, want := range map[string]string{"skip": "finish blocked", "stop": "release"} {
			c := policy.Config{OnTimeout: on, MaxIterations: 9, Agents: []string{"claude"}, Parallel: 1}
			b := building(t, c)
			b.turn(ralph.TurnEnded{Signal: ralph.Signal{Kind: ralph.SignalHuman, Text: "port?"}})
			b.add(ralph.Asked{Approval: ralph.Approval{ID: "g-1", Kind: kind, Task: "t-1", Text: "why", Deadline: b.now.Add(time.Hour)}})
			b.now = b.now.Add(time.Hour)
			step, why := policy.Next(&b.s, "t-1", c, b.now)
			if on == "skip" {
				if words(step) != want || why.Rule != "X-76" {
					t.Errorf("%s, %s: %s by %s, want %s", kind, on, words(step), why.Rule, want)
				}
				continue
			}
			tell, ok := step.(ralph.Emit)
			if !ok {
				t.Fatalf("%s, %s: %s", kind, on, words(step))
			}
			b.add(tell.Fact)
			if b.s.Session.Want != ralph.WantStop || b.s.Session.Ends != ralph.ReasonUnanswered {
				t.Errorf("%s: the session goes on: %+v", kind, b.s.Session)
			}
			if step, _ = policy.Next(&b.s, "t-1", c, b.now); words(step) != "finish pending" {
				t.Errorf("%s, %s: then %s", kind, on, words(step))
			}
		}
	}
}

// with gate.scope session nothing starts while an agent or its work waits for a
// person, whatever the kind; what a hook of a person's own session asks holds nobody.
func TestWhoWaits(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		g     ralph.Approval
		holds bool
	}{
		{ralph.Approval{Kind: ralph.ApprovalRequest, InTurn: true}, true},
		{ralph.Approval{Kind: ralph.ApprovalOperation, InTurn: true}, true},
		{ralph.Approval{Kind: ralph.ApprovalQuestion}, true},
		{ralph.Approval{Kind: ralph.ApprovalTest}, true},
		{ralph.Approval{Kind: ralph.ApprovalMerge}, false},
		{ralph.Approval{Kind: ralph.ApprovalOperation, InTurn: true, By: "hook"}, false},
	} {
		for _, scope := range []string{"agent", "session"} {
			c := policy.Config{GateScope: scope, Session: "autopilot", Isolated: true, MaxIterations: 9, Agents: []string{"claude"}, Parallel: 2, MaxRounds: 1}
			b := building(t, c, ralph.Task{ID: "t-2", Name: "two", Status: ralph.TaskPending})
			tt.g.ID, tt.g.Task, tt.g.Text = "g-1", "t-1", "?"
			b.add(ralph.Asked{Approval: tt.g})
			x := policy.Explain(&b.s, "t-2", c, b.now)
			if got := strings.Contains(strings.Join(x.Waits, "; "), "g-1"); got != (tt.holds && scope == "session") {
				t.Errorf("%s in turn %v, by %q, scope %s: holds %v: %q", tt.g.Kind, tt.g.InTurn, tt.g.By, scope, got, x.Waits)
			}
		}
	}
}

// C-040: how far a rule reaches, and how long.
func TestStanding(t *testing.T) {
	t.Parallel()
	b := building(t, policy.Config{}, ralph.Task{ID: "t-2", Name: "two", Status: ralph.TaskPending})
	add := func(id ralph.RuleID, scope ralph.RuleScope, of string, until time.Time) {
		b.add(ralph.RuleAdded{Rule: ralph.AnswerRule{ID: id, Verdict: ralph.Approved, Request: command("x"), Scope: scope, Of: of, Until: until}})
	}
	later := b.now.Add(time.Hour)
	add("repository", ralph.ScopeRepository, "", later)
	add("endless", ralph.ScopeRepository, "", time.Time{})
	add("session", ralph.ScopeSession, "s-1", later)
	add("earlier session", ralph.ScopeSession, "s-0", later)
	add("spec", ralph.ScopeSpec, "a.md", later)
	add("other spec", ralph.ScopeSpec, "b.md", later)
	add("task", ralph.ScopeTask, "t-1", later)
	add("revoked", ralph.ScopeRepository, "", later)
	b.add(ralph.RuleRevoked{ID: "revoked"})
	for _, tt := range []struct {
		name string
		task ralph.TaskID
		now  time.Time
		want string
	}{
		{"its task", "t-1", b.now, "repository endless session spec task"},
		{"another task", "t-2", b.now, "repository endless session spec"},
		{"a person's own session", "", b.now, "repository endless"},
		{"the last moment", "t-2", later.Add(-time.Nanosecond), "repository endless session spec"},
		{"out of time", "t-1", later, "endless"},
	} {
		got := ""
		for _, r := range approval.ActiveRules(&b.s, tt.task, tt.now) {
			got += " " + string(r.ID)
		}
		if got != " "+tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
	b.add(ralph.SessionEnded{Reason: ralph.ReasonComplete})
	for _, r := range approval.ActiveRules(&b.s, "t-1", b.now) {
		if r.Scope == ralph.ScopeSession {
			t.Errorf("%s holds after its session", r.ID)
		}
	}
}

func command(text string) ralph.Request {
	return ralph.Request{Kind: ralph.RequestApproval, Op: ralph.OpCommand, Command: text}
}

// bounded are settings by which agents work in a sandbox.
func bounded() policy.Config { return policy.Config{Approvals: "auto", Sandbox: "landlock"} }
