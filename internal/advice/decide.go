package advice

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/signature"
	"github.com/ralph-loop/ralph/internal/text"
	"github.com/ralph-loop/ralph/internal/thread"
)

// Decide says what comes after a turn. A model is asked only where the rules alone would go
// on: it can hold a thread back, and costs nothing where there is nothing to decide. What it
// says is tempered like any advice.
func (c Chain) Decide(ctx context.Context, s *thread.State, l thread.Limits, now time.Time) (thread.Decision, Record, error) {
	rules := thread.Rules(s)
	d := thread.Temper(rules, thread.ByRules, s, l, now)
	if d.Action != signature.ActionContinue {
		return d, unasked(), nil
	}
	_, r, err := Ask(ctx, c, signature.Decision(), s.Input())
	if err != nil {
		return thread.Decision{}, r, err
	}
	d, err = Decided(r, s, l, now)
	return d, r, err
}

func unasked() Record {
	i := signature.Decision().Info()
	return Record{Signature: i.Name, Version: i.Version, Hash: i.Hash, Outcome: Unasked}
}

// Advise asks what comes after a turn where the rules would go on, and returns what is advised
// and by whom: a model that gave no answer that counts advises a pause, and where none could be
// asked the rules do.
func (c Chain) Advise(ctx context.Context, s *thread.State) (signature.DecisionOut, string, Record, error) {
	_, r, err := Ask(ctx, c, signature.Decision(), s.Input())
	if err != nil {
		return signature.DecisionOut{}, "", r, err
	}
	out, by, err := advised(r, s)
	return out, by, r, err
}

// Decided decides by a record alone: what Decide decided when it made it, whenever it is
// asked for. It asks no model.
func Decided(r Record, s *thread.State, l thread.Limits, now time.Time) (thread.Decision, error) {
	out, by, err := advised(r, s)
	if err != nil {
		return thread.Decision{}, err
	}
	return thread.Temper(out, by, s, l, now), nil
}

// advised is what a record advises, and whose word it is.
func advised(r Record, s *thread.State) (signature.DecisionOut, string, error) {
	switch r.Outcome {
	case Answered:
		out, err := Again(signature.Decision(), r)
		return out, r.By, err
	case Invalid, Refused:
		return signature.DecisionOut{Action: signature.ActionPause, Reason: "the model gave no answer that counts: " + text.Head(r.Why, 400), Confidence: 1}, r.By, nil
	case Nobody, Unasked:
		return thread.Rules(s), thread.ByRules, nil
	}
	return signature.DecisionOut{}, "", errors.New("the record has no outcome that is known: " + text.Line(text.SafeLine(string(r.Outcome)), 40))
}

// Answer asks what to say to a question of the agent in the middle of its turn. false: a
// person has to. It never says anything to what an agent wants to be allowed.
func (c Chain) Answer(ctx context.Context, s *thread.State, q ralph.Request, l thread.Limits) (ralph.Reply, bool, Record, error) {
	i := signature.ToolInput().Info()
	r := Record{Signature: i.Name, Version: i.Version, Hash: i.Hash, Outcome: Unasked}
	if q.Kind != ralph.RequestQuestion || q.Op != "" || q.Command != "" || q.Cut {
		r.Why = "only questions are answered by a model, and whole ones"
		return ralph.Reply{}, false, r, nil
	}
	in := signature.ToolInputIn{ThreadID: s.ID, TurnID: s.TurnID, Goal: s.Goal, LastMessage: s.Message, Questions: questions(q)}
	for _, p := range s.Plan {
		in.TurnPlan = append(in.TurnPlan, signature.PlanStep{Text: p.Text, Status: p.Status})
	}
	out, r, err := Ask(ctx, c, signature.ToolInput(), in)
	if err != nil || r.Outcome != Answered {
		return ralph.Reply{}, false, r, err
	}
	if out.Confidence < l.MinConfidence {
		r.Why = "its confidence is too low: " + text.Line(text.SafeLine(out.Reason), 400)
		return ralph.Reply{}, false, r, nil
	}
	var lines []string
	for n, a := range out.Answers {
		if o := in.Questions[n].Options; len(o) > 0 && !slices.Contains(o, a.Answer) { // the model saw it cut, or without a secret
			r.Why = "its answer is none of the options"
			return ralph.Reply{}, false, r, nil
		}
		words := strings.TrimSpace(text.Plain(a.Answer))
		if len(out.Answers) > 1 { // of several each has one line
			words = text.OneLine(words)
		}
		if words == "" {
			r.Why = "its answer has no words"
			return ralph.Reply{}, false, r, nil
		}
		lines = append(lines, words)
	}
	return ralph.Reply{Text: strings.Join(lines, "\n")}, true, r, nil
}

// questions are the parts of a request, each with a name.
func questions(q ralph.Request) []signature.Asked {
	if len(q.Questions) == 0 {
		return []signature.Asked{{ID: "1", Text: q.Text, Options: q.Options}}
	}
	var all []signature.Asked
	for _, one := range q.Questions {
		all = append(all, signature.Asked{ID: one.ID, Text: one.Text, Options: one.Options})
	}
	return all
}
