package advice

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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
	out, by, err := Advised(r, s)
	return out, by, r, err
}

// Decided decides by a record alone: what Decide decided when it made it, whenever it is
// asked for. It asks no model.
func Decided(r Record, s *thread.State, l thread.Limits, now time.Time) (thread.Decision, error) {
	out, by, err := Advised(r, s)
	if err != nil {
		return thread.Decision{}, err
	}
	return thread.Temper(out, by, s, l, now), nil
}

// Advised is what the record of a decision or of a directive advises, and whose word it is. It
// asks no model.
func Advised(r Record, s *thread.State) (signature.DecisionOut, string, error) {
	switch r.Outcome {
	case Answered:
		if r.Signature == signature.Directive().Info().Name {
			out, err := Again(signature.Directive(), r)
			return out.Decision(), r.By, err
		}
		out, err := Again(signature.Decision(), r)
		return out, r.By, err
	case Invalid, Refused:
		return noAnswer(r), r.By, nil
	case Nobody, Unasked:
		return thread.Rules(s), thread.ByRules, nil
	}
	return signature.DecisionOut{}, "", errors.New("the record has no outcome that is known: " + text.Line(text.SafeLine(string(r.Outcome)), 40))
}

// noAnswer is the advice of a model that gave none: a person decides.
func noAnswer(r Record) signature.DecisionOut {
	return signature.DecisionOut{Action: signature.ActionPause, Reason: "the model gave no answer that counts: " + text.Head(r.Why, 400), Confidence: 1}
}

// Suggest asks what to say to a question of the agent in the middle of its turn. It never asks
// about what an agent wants to be allowed. Whether what comes of it is the answer is for the
// rules to say (thread.Reply).
func (c Chain) Suggest(ctx context.Context, s *thread.State, q ralph.Request) (ralph.Suggestion, error) {
	if q.Kind != ralph.RequestQuestion || q.Op != "" || q.Command != "" || q.Cut {
		i := signature.ToolInput().Info()
		return ralph.Suggestion{Signature: signed(i.Name, i.Version, i.Hash), Reason: "only questions are answered by a model, and whole ones"}, nil
	}
	r, err := InputQuestion(s, q).Ask(ctx, c)
	if err != nil {
		return ralph.Suggestion{Signature: signed(r.Signature, r.Version, r.Hash)}, err
	}
	return Suggested(q, r)
}

// InputQuestion asks what to say to a question of the agent of a thread.
func InputQuestion(s *thread.State, q ralph.Request) Question {
	in := signature.ToolInputIn{ThreadID: s.ID, TurnID: s.TurnID, Goal: s.Goal, LastMessage: s.Message, Questions: questions(q)}
	for _, p := range s.Plan {
		in.TurnPlan = append(in.TurnPlan, signature.PlanStep{Text: p.Text, Status: p.Status})
	}
	return Put(signature.ToolInput(), in)
}

// Suggested is what a record says to a question of an agent. It asks no model.
func Suggested(q ralph.Request, r Record) (x ralph.Suggestion, err error) {
	x = ralph.Suggestion{Signature: signed(r.Signature, r.Version, r.Hash), By: r.By, Usage: r.Usage}
	if x.Record, err = json.Marshal(r); err != nil {
		return x, fmt.Errorf("write the record of a question: %w", err)
	}
	if r.Outcome != Answered {
		x.Reason = "no model gave an answer that counts: " + text.Head(r.Why, 400)
		return x, nil
	}
	out, err := Again(signature.ToolInput(), r)
	if err != nil {
		return x, err
	}
	asked := questions(q)
	x.Reason, x.Confidence = text.Line(text.SafeLine(out.Reason), 400), out.Confidence
	for n, a := range out.Answers[:min(len(out.Answers), len(asked))] {
		words := strings.TrimSpace(text.Plain(a.Answer))
		if len(out.Answers) > 1 { // of several each has one line
			words = text.OneLine(words)
		}
		switch o := asked[n].Options; {
		case len(o) > 0 && !slices.Contains(o, a.Answer): // the model saw it cut, or without a secret
			x.Answers, x.Reason = nil, "its answer is none of the options"
			return x, nil
		case words == "":
			x.Answers, x.Reason = nil, "its answer has no words"
			return x, nil
		}
		x.Answers = append(x.Answers, words)
	}
	return x, nil
}

func signed(name string, version int, hash string) string {
	return fmt.Sprintf("%s %d %s", name, version, hash)
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
