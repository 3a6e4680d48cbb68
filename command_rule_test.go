package ralph_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
)

// C-036, C-040, X-75: what an answer that is to hold becomes, and what no rule decides.
func TestAlwaysGate(t *testing.T) {
	t.Parallel()
	asks := func(edit func(*ralph.Approval)) ralph.Approval {
		g := ralph.Approval{
			ID: "g-1", Kind: ralph.ApprovalOperation, Task: "t-1", InTurn: true, Rule: "gate.patterns: deploy",
			Request: &ralph.Request{ID: "7", Kind: ralph.RequestApproval, Op: ralph.OpCommand, Command: "make deploy"},
		}
		if edit != nil {
			edit(&g)
		}
		return g
	}
	ask := func(g *ralph.Approval) {
		g.Kind, g.Options = ralph.ApprovalQuestion, []string{"tabs", "spaces"}
		g.Request = &ralph.Request{Kind: ralph.RequestQuestion, Text: "Tabs?"}
	}
	for _, tt := range []struct {
		name  string
		gate  ralph.Approval
		scope ralph.RuleScope
		want  string // what it is of, or the words of the refusal
		ok    bool
	}{
		{"the repository", asks(nil), ralph.ScopeRepository, "", true},
		{"the task", asks(nil), ralph.ScopeTask, "t-1", true},
		{"the spec", asks(nil), ralph.ScopeSpec, "a.md", true},
		{"the session", asks(nil), ralph.ScopeSession, "s", true},
		{"a question", asks(ask), ralph.ScopeRepository, "", true},
		{"another scope", asks(nil), "world", "there is no scope", false},
		{"the never list", asks(func(g *ralph.Approval) { g.Never, g.Rule = true, "never: rm -rf /" }), ralph.ScopeRepository, "never decided by a rule (never: rm -rf /)", false},
		{"a step", asks(func(g *ralph.Approval) { g.Kind, g.Request = ralph.ApprovalStep, nil }), ralph.ScopeRepository, "a gate of kind step", false},
		{"a test gate", asks(func(g *ralph.Approval) { g.Kind, g.Request, g.InTurn = ralph.ApprovalTest, nil, false }), ralph.ScopeRepository, "a gate of kind test", false},
		{"too long", asks(func(g *ralph.Approval) { g.Request.Cut = true }), ralph.ScopeRepository, "too long", false},
		{"a person's own session", asks(func(g *ralph.Approval) { g.By, g.Task = "hook", "" }), ralph.ScopeRepository, "", true},
		{"a person's own session, of the session", asks(func(g *ralph.Approval) { g.By, g.Task = "hook", "" }), ralph.ScopeSession, "belongs to no session", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := fold(ralph.SessionStarted{ID: "s", Mode: "agent"}, ralph.PlanStarted{File: "a.md"}, ralph.TaskAdded{Task: task("t-1")}, ralph.TaskStarted{ID: "t-1"}, ralph.Asked{Approval: tt.gate})
			answer, err := s.Answer("g-1", "2")
			if tt.gate.Kind != ralph.ApprovalQuestion {
				answer, err = s.Approve("g-1")
			}
			if err != nil {
				t.Fatal(err)
			}
			facts, err := s.Always("g-1", answer, ralph.AnswerRule{ID: "r-1", Scope: tt.scope})
			if !tt.ok {
				if refusal := (*ralph.Refusal)(nil); !errors.As(err, &refusal) || !strings.Contains(err.Error(), tt.want) || refusal.Hint == "" {
					t.Fatalf("%v, want %q", err, tt.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			apply(s, facts...)
			if len(s.Rules) != 1 || len(s.Approvals) != 0 {
				t.Fatalf("%d rules, %d gates", len(s.Rules), len(s.Approvals))
			}
			r := s.Rules[0]
			if r.Of != tt.want || r.From != "g-1" || r.Request.ID != "" {
				t.Errorf("%+v", r)
			}
			if tt.gate.Kind == ralph.ApprovalQuestion && (r.Verdict != "" || r.Text != "spaces" || len(r.Request.Options) != 2) {
				t.Errorf("the answer of the question: %+v", r)
			}
		})
	}
}

// A rule that is revoked is gone; there is no second time.
func TestRevokeRule(t *testing.T) {
	t.Parallel()
	s := fold(ralph.RuleAdded{Rule: ralph.AnswerRule{ID: "r-1"}}, ralph.RuleAdded{Rule: ralph.AnswerRule{ID: "r-2"}})
	before := s.Clone()
	facts, err := s.RevokeRule("r-1", "")
	if err != nil {
		t.Fatal(err)
	}
	apply(s, facts...)
	if len(s.Rules) != 1 || s.Rules[0].ID != "r-2" || len(before.Rules) != 2 {
		t.Errorf("%d rules, the clone has %d", len(s.Rules), len(before.Rules))
	}
	if _, err := s.RevokeRule("r-1", ""); !errors.Is(err, ralph.ErrNotFound) {
		t.Error(err)
	}
}

// C-040, X-75: what a hook of a person's own session asks needs no engine, outlives
// sessions and jobs, and takes no answer when its time is over.
func TestGatesBesideTheEngine(t *testing.T) {
	t.Parallel()
	s := fold(ralph.SessionStarted{ID: "s-1", Mode: "agent"})
	mine := ralph.Approval{ID: "g-1", Kind: ralph.ApprovalOperation, InTurn: true, By: "hook", Deadline: s.At.Add(time.Hour)}
	gone := ralph.Approval{ID: "g-2", Kind: ralph.ApprovalOperation, InTurn: true, By: "hook", Deadline: s.At.Add(-time.Hour)}
	apply(s, ralph.Asked{Approval: mine}, ralph.Asked{Approval: gone}, ralph.Asked{Approval: ralph.Approval{ID: "g-3", Kind: ralph.ApprovalRequest, InTurn: true, Task: "t-1"}},
		ralph.SessionStarted{ID: "s-2", Mode: "agent"}, ralph.JobStarted{Job: "j-1", File: "a.md"}, ralph.JobEnded{Status: ralph.SpecDone})
	if len(s.Approvals) != 1 || s.Approvals[0].ID != "g-1" {
		t.Fatalf("%v", s.Approvals)
	}
	for _, tt := range []struct {
		g      ralph.Approval
		engine bool
		heard  bool
	}{
		{mine, false, true},
		{mine, true, true},
		{gone, true, false},
		{ralph.Approval{InTurn: true}, false, false},
		{ralph.Approval{InTurn: true}, true, true},
		{ralph.Approval{Kind: ralph.ApprovalMerge}, false, true},
	} {
		if got := tt.g.Answerable(tt.engine, s.At); got != tt.heard {
			t.Errorf("%+v, engine %v: heard %v", tt.g, tt.engine, got)
		}
	}
}
