package action

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/ralph-loop/ralph"
)

// The words that open gates, and that hold for later ones.
func gateVerbs() []definition {
	return []definition{
		{
			name: "approve", about: Gate, title: "Approve", key: "a", primary: true, said: "Approved", doc: "Lets pass what waits at a gate. The first answer wins.",
			command: "approve <id>", short: "Let pass what waits at a gate: a start, a step, an agent's wish, work that does not pass, a merge",
			facts: word(func(s *ralph.State, id ralph.ApprovalID, _ string) ([]ralph.Fact, error) { return s.Approve(id) }),
			do:    decide, after: ruled, fields: func(s *ralph.State, _ Context, id string) []Field { return ruleFields(s, id) },
		},
		{
			name: "deny", about: Gate, title: "Deny", key: "d", danger: true, said: "Denied", doc: "Refuses what waits at a gate; the agent reads the reason.",
			command: "deny <id>", short: "Refuse what waits at a gate: a start, a step, an agent's wish, work that does not pass, a merge",
			facts: word((*ralph.State).Deny), do: decide, after: ruled,
			fields: func(s *ralph.State, _ Context, id string) []Field {
				return append([]Field{{Name: "text", Label: "Why; of a merge or an agent's wish, in words for the agent", Kind: "area"}}, ruleFields(s, id)...)
			},
		},
		{
			name: "answer", about: Gate, title: "Answer", key: "a", primary: true, said: "Answered", doc: "Answers an agent's question, in words or by the number of an option.",
			command: "answer <id> <text>", short: "Answer an agent's question, in words or by the number of an option",
			facts: word((*ralph.State).Answer), do: decide, after: ruled, fields: answerFields,
			try: func(s *ralph.State, w Context, id string) error {
				_, err := word((*ralph.State).Answer)(s, w, Input{ID: id, Text: "x"})
				return err
			},
		},
		{
			name: "revoke", about: Rule, title: "Revoke", danger: true, said: "Revoked: the next time a person is asked again", doc: "Ends a rule.",
			command: "rules revoke <id>", short: "End a rule: the next time a person is asked again",
			facts: func(s *ralph.State, _ Context, in Input) ([]ralph.Fact, error) {
				return s.RevokeRule(ralph.RuleID(in.ID), in.Text)
			},
			confirm: func(_ *ralph.State, id string) string {
				return fmt.Sprintf("End rule %s? A person is asked again the next time.", id)
			},
		},
	}
}

// word is an answer to a gate, with the rule that comes of it.
func word(say func(*ralph.State, ralph.ApprovalID, string) ([]ralph.Fact, error)) func(*ralph.State, Context, Input) ([]ralph.Fact, error) {
	return func(s *ralph.State, w Context, in Input) ([]ralph.Fact, error) {
		id := ralph.ApprovalID(in.ID)
		if err := s.Answerable(id, w.Engine, w.Now); err != nil {
			return nil, err
		}
		facts, err := say(s, id, in.Text)
		if err != nil || !in.Always {
			return facts, err
		}
		return Always{in.Scope, in.For, w.By}.Facts(s, id, facts, ralph.RuleID(w.ID("r")), w.Now)
	}
}

// Always is how an answer is to hold from now on.
type Always struct {
	Scope string        // "" for the repository
	For   time.Duration // 0 for 30 days, negative for no end
	By    string
}

// Facts are those of an answer with the rule that it becomes.
func (a Always) Facts(s *ralph.State, id ralph.ApprovalID, answer []ralph.Fact, rule ralph.RuleID, now time.Time) ([]ralph.Fact, error) {
	r := ralph.AnswerRule{ID: rule, Scope: ralph.RuleScope(a.Scope), At: now, By: a.By}
	if a.Scope == "" {
		r.Scope = ralph.ScopeRepository
	}
	switch {
	case a.For == 0:
		r.Until = now.Add(defaultFor)
	case a.For > 0:
		r.Until = now.Add(a.For)
	}
	return s.Always(id, answer, r)
}

// Made is the rule that came of an answer, nil for none.
func Made(facts []ralph.Fact) *ralph.AnswerRule {
	for _, f := range facts {
		if added, ok := f.(ralph.RuleAdded); ok {
			return &added.Rule
		}
	}
	return nil
}

// errShut is for a word about a gate that is not open.
var errShut = errors.New("the gate is not open")

// decide answers a gate; where it is not open any more, whoever comes second hears whose
// answer it was.
func decide(ctx context.Context, v definition, backend Backend, in Input) (Result, error) {
	say := v.facts
	v.facts = func(s *ralph.State, w Context, in Input) ([]ralph.Fact, error) {
		if !slices.ContainsFunc(s.Approvals, func(g *ralph.Approval) bool { return string(g.ID) == in.ID }) {
			return nil, errShut
		}
		return say(s, w, in)
	}
	done, err := v.append(ctx, backend, in)
	if errors.Is(err, errShut) {
		err = backend.Closed(ralph.ApprovalID(in.ID))
	}
	return done, err
}

// ruled says that a rule came of an answer; revoking it takes that part back.
func ruled(_ *ralph.State, _ Input, facts []ralph.Fact) Result {
	r := Made(facts)
	if r == nil {
		return Result{}
	}
	said := map[ralph.Verdict]string{ralph.Approved: "Approved", ralph.Denied: "Denied"}[r.Verdict]
	if said == "" {
		said = "Answered"
	}
	return Result{Said: fmt.Sprintf("%s, and each time the same is asked: rule %s", said, r.ID), ID: string(r.ID), Undo: &Call{"revoke", Input{ID: string(r.ID), Text: "made by mistake"}}}
}

// ruleFields let an answer hold from now on, where one may.
func ruleFields(s *ralph.State, id string) []Field {
	i := slices.IndexFunc(s.Approvals, func(g *ralph.Approval) bool { return string(g.ID) == id })
	if i < 0 || s.Approvals[i].Never || s.Approvals[i].Request == nil || s.Approvals[i].Request.Cut {
		return nil
	}
	var scopes []string
	for _, scope := range ralph.RuleScopes() {
		scopes = append(scopes, string(scope))
	}
	return []Field{
		{Name: "always", Label: "Each time the same is asked: make a rule", Kind: "check"},
		{Name: "scope", Label: "As a rule, how far", Kind: "choice", Choices: scopes, Value: string(ralph.ScopeRepository)},
		{Name: "for", Label: "As a rule, how long", Kind: "choice", Choices: []string{forDay, forWeek, forUsual, forever}, Value: forUsual},
	}
}

// answerFields ask for the answer; the options are chosen by their number.
func answerFields(s *ralph.State, _ Context, id string) []Field {
	label := "Answer"
	if i := slices.IndexFunc(s.Approvals, func(g *ralph.Approval) bool { return string(g.ID) == id }); i >= 0 && len(s.Approvals[i].Options) > 0 {
		label = "Answer: the number of an option"
		for n, o := range s.Approvals[i].Options {
			label += ", " + strconv.Itoa(n+1) + " " + o
		}
		label += "; or other words"
	}
	return append([]Field{{Name: "text", Label: label, Kind: "area", Required: true}}, ruleFields(s, id)...)
}
