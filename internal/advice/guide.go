package advice

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/signature"
	"github.com/ralph-loop/ralph/internal/text"
	"github.com/ralph-loop/ralph/internal/thread"
)

// maxWords is how much of each text of guidance is kept, in bytes: a state stays small.
const maxWords = 4 << 10

// Guide makes one part of the guidance of a thread's first message. in has what the parts before
// it have come to.
func (c Chain) Guide(ctx context.Context, part ralph.GuidancePart, in signature.DirectiveIn, requirements []string) (ralph.Guided, error) {
	q, err := GuideQuestion(part, in, requirements)
	if err != nil {
		return ralph.Guided{Part: part}, err
	}
	r, err := q.Ask(ctx, c)
	if err != nil {
		return ralph.Guided{Part: part}, err
	}
	return Guided(part, r)
}

// GuideQuestion is the question of a part of guidance.
func GuideQuestion(part ralph.GuidancePart, in signature.DirectiveIn, requirements []string) (Question, error) {
	switch part {
	case ralph.GuideRoute:
		return Put(signature.Router(), in.GuidanceIn), nil
	case ralph.GuideUnderstand:
		return Put(signature.Understanding(), in.GuidanceIn), nil
	case ralph.GuidePlan:
		return Put(signature.Planning(), signature.PlanningIn{GuidanceIn: in.GuidanceIn, Task: in.Task, Requirements: requirements}), nil
	case ralph.GuideDirective:
		return Put(signature.Directive(), in), nil
	}
	return Question{}, fmt.Errorf("no model makes the part %q of guidance", part)
}

// Guided is what the record of a part of guidance comes to. It asks no model.
func Guided(part ralph.GuidancePart, r Record) (ralph.Guided, error) {
	f := ralph.Guided{Part: part, By: r.By, Outcome: string(r.Outcome), Usage: r.Usage, Signature: signed(r.Signature, r.Version, r.Hash)}
	var err error
	if f.Record, err = json.Marshal(r); err != nil {
		return f, fmt.Errorf("write the record of guidance: %w", err)
	}
	if r.Outcome != Answered {
		f.Reason = text.Line(text.SafeLine(r.Why), 400)
		return f, nil
	}
	switch part {
	case ralph.GuideRoute:
		var out signature.RouterOut
		out, err = Again(signature.Router(), r)
		f.Reason, f.Confidence = out.Reason, out.Confidence
		if f.Route = string(out.Route); out.Route == signature.RouteRespond {
			f.Response = kept(out.Response)
		}
	case ralph.GuideUnderstand:
		var out signature.UnderstandingOut
		out, err = Again(signature.Understanding(), r)
		f.Reason, f.Confidence = out.Reason, out.Confidence
		f.Understood, f.Requirements, f.Assumptions = kept(out.Task), keptAll(out.Requirements), keptAll(out.Assumptions)
	case ralph.GuidePlan:
		var out signature.PlanningOut
		out, err = Again(signature.Planning(), r)
		f.Reason, f.Confidence = out.Reason, out.Confidence
		for _, s := range out.Steps {
			f.Steps = append(f.Steps, ralph.GuidedStep{Text: text.Line(text.SafeLine(s.Text), 400), Check: text.Line(text.SafeLine(s.Check), 200)})
		}
	default:
		var out signature.DirectiveOut
		out, err = Again(signature.Directive(), r)
		f.Reason, f.Confidence, f.Action, f.Directive = out.Reason, out.Confidence, out.Action, kept(out.Directive)
	}
	f.Reason = text.Line(text.SafeLine(f.Reason), 400)
	return f, err
}

// GuideAll makes all parts of guidance of a message, one on what the other has come to, and shows
// each. It ends at one that has no answer that counts, and says why.
func (c Chain) GuideAll(ctx context.Context, in signature.GuidanceIn, show func(ralph.Guided)) (ended string, err error) {
	so := ralph.Guidance{}
	for _, part := range []ralph.GuidancePart{ralph.GuideRoute, ralph.GuideUnderstand, ralph.GuidePlan, ralph.GuideDirective} {
		f, err := c.Guide(ctx, part, signature.DirectiveIn{GuidanceIn: in, Task: so.Understood, Steps: thread.StepsOf(&so)}, so.Requirements)
		if err != nil {
			return "", err
		}
		if show(f); f.Outcome != ralph.GuidedAnswered {
			return f.Reason, nil
		}
		so.Add(f.GuidanceWords)
	}
	return "", nil
}

// Direct asks what comes after a turn of a guided thread: a directive, as advice.
func (c Chain) Direct(ctx context.Context, s *thread.State, in signature.DirectiveIn) (signature.DecisionOut, Record, error) {
	_, r, err := Ask(ctx, c, signature.Directive(), in)
	if err != nil {
		return signature.DecisionOut{}, r, err
	}
	out, by, err := Advised(r, s)
	r.By = by
	return out, r, err
}

func kept(s string) string { return text.Cut(text.Plain(s), maxWords) }

func keptAll(list []string) []string {
	var out []string
	for _, s := range list[:min(len(list), 30)] {
		out = append(out, text.Line(text.SafeLine(s), 400))
	}
	return out
}
