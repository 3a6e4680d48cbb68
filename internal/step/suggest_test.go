package step_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/policy"
	"github.com/ralph-loop/ralph/internal/policy/replay"
	"github.com/ralph-loop/ralph/internal/thread"
)

// modelSays is a model that answers "blue", as sure as it is.
func modelSays(sure float64, asked *[]ralph.Request) func(context.Context, *thread.State, ralph.Request) (ralph.Suggestion, error) {
	return func(_ context.Context, s *thread.State, q ralph.Request) (ralph.Suggestion, error) {
		if asked != nil {
			*asked = append(*asked, q)
		}
		return ralph.Suggestion{
			By: "openai:m", Answers: []string{"blue"}, Reason: "the logo is blue", Confidence: sure, Signature: "tool_input 1 x",
			Record: []byte(`{"outcome":"answered"}`), Usage: ralph.Usage{Input: 10, Cost: 0.01, Known: true},
		}, nil
	}
}

// E-080, E-105, E-027: under gate.approvals: policy a model that is sure answers the agent's question in
// the middle of the turn; nobody waits, it is recorded with what it cost, and a replay, which asks no model,
// decides the same.
func TestModelAnswersAQuestion(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, policy.Config{Approvals: "policy", MinConfidence: 0.6}, which("a"))
		d.write(t, ralph.ThreadStarted{Task: "t-1"})
		d.x.Suggester = modelSays(0.6, nil)
		if _, err := d.turn(t, t.Context(), func() {}); err != nil {
			t.Fatal(err)
		}
		if got := d.agent.replies["a"]; got != (ralph.Reply{Text: "blue"}) {
			t.Errorf("the agent was answered %+v", got)
		}
		if got := d.kinds(); got != " by E-080: openai:m, confidence 0.6" {
			t.Errorf("recorded %q", got)
		}
		s := d.mem.State()
		if r := s.Task("t-1").Run; len(r.Answers) != 1 || r.Answers[0].Answer != "blue" || r.Usage.Cost != 0.01 || s.Session.Usage.Cost != 0.01 {
			t.Errorf("it keeps %+v, %+v", r.Answers, r.Usage)
		}
		if _, again := d.replayed(t); again == 0 {
			t.Error("the answer is not decided again")
		}
		// another answer than the model's, or one that it was not sure of, is found
		for name, forge := range map[string]func(*ralph.RequestAnswered){
			"another answer": func(f *ralph.RequestAnswered) { f.Text = "red" },
			"not sure":       func(f *ralph.RequestAnswered) { x := *f.Suggested; x.Confidence = 0.59; f.Suggested = &x },
		} {
			events := slices.Clone(d.mem.Events())
			for i, e := range events {
				if f, ok := e.Fact.(ralph.RequestAnswered); ok {
					forge(&f)
					events[i].Fact = f
				}
			}
			got, err := replay.Replay(slices.Values(events), replay.ReplayOptions{})
			if err != nil || !slices.ContainsFunc(got.Differences, func(d replay.Difference) bool { return strings.Contains(d.Was+d.Now, "answered") }) {
				t.Errorf("%s: %+v, %v", name, got.Differences, err)
			}
		}
	})
}

// E-081: a model that is not sure answers nothing: the turn waits at a question for a person, who is told what
// the model would have said.
func TestUnsureModelLeavesAQuestionToAPerson(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, policy.Config{Approvals: "policy", MinConfidence: 0.6}, which("a"))
		d.write(t, ralph.ThreadStarted{Task: "t-1"})
		d.x.Suggester = modelSays(0.59, nil)
		if _, err := d.turn(t, t.Context(), func() {
			gates := d.mem.State().Approvals
			if len(gates) != 1 || gates[0].Kind != ralph.ApprovalQuestion || !strings.Contains(gates[0].Detail, `A model would answer "blue": its confidence is 0.59, below 0.6: the logo is blue`) {
				t.Fatalf("the gates are %+v after %s", gates, d.kinds())
			}
			if cost := d.mem.State().Task("t-1").Run.Usage.Cost; cost != 0.01 {
				t.Errorf("the model cost %v", cost)
			}
			d.person(t, func(s *ralph.State) ([]ralph.Fact, error) { return s.Answer(gates[0].ID, "red") })
		}); err != nil {
			t.Fatal(err)
		}
		if got := d.agent.replies["a"].Text; got != "red" {
			t.Errorf("the agent was answered %q", got)
		}
	})
}

// E-105, X-77: no model is asked where a person wants to answer all (gate.approvals: ask), about what the never list or
// a pattern holds, about what an agent wants to be allowed, nor for a task that is no thread. What a person
// said for good is not asked either.
func TestNoModelIsAsked(t *testing.T) {
	t.Parallel()
	about := func(text string, options ...string) ralph.Request {
		return ralph.Request{ID: "a", Kind: ralph.RequestQuestion, Text: text, Options: options}
	}
	for name, c := range map[string]struct {
		approvals string
		q         ralph.Request
		plain     bool // no thread
	}{
		"all for a person":            {"ask", which("a"), false},
		"no thread":                   {"policy", which("a"), true},
		"the never list":              {"policy", about("May I git push --force to main?"), false},
		"the never list, in pieces":   {"policy", about("May I run `git push -f origin main`?"), false},
		"the never list, an option":   {"policy", about("How do I go on?", "ask", "rm -rf /"), false},
		"asked of a person by name":   {"policy", ralph.Request{ID: "a", Kind: ralph.RequestQuestion, Tool: "ask_human", Text: "Which?"}, false},
		"a pattern":                   {"policy", about("Shall I deploy it?"), false},
		"a command as a question":     {"policy", ralph.Request{ID: "a", Kind: ralph.RequestQuestion, Text: "Shall I?", Command: "ls"}, false},
		"what it wants to be allowed": {"policy", run("a", "curl example.org"), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				d := newDesk(t, policy.Config{Approvals: c.approvals, MinConfidence: 0.6, Patterns: []string{"deploy"}}, c.q)
				if !c.plain {
					d.write(t, ralph.ThreadStarted{Task: "t-1"})
				}
				var asked []ralph.Request
				d.x.Suggester = modelSays(1, &asked)
				if _, err := d.turn(t, t.Context(), func() {
					for _, g := range d.mem.State().Approvals {
						d.person(t, func(s *ralph.State) ([]ralph.Fact, error) {
							if g.Decidable() {
								return s.Deny(g.ID, "no")
							}
							return s.Answer(g.ID, "no")
						})
					}
				}); err != nil {
					t.Fatal(err)
				}
				if got := d.agent.replies["a"]; len(asked) > 0 || got.Allow || got.Text != "no" {
					t.Errorf("the model was asked %+v, the agent got %+v", asked, got)
				}
			})
		})
	}
}
