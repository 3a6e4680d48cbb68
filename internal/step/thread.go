package step

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/policy"
	"github.com/ralph-loop/ralph/internal/prompt"
	"github.com/ralph-loop/ralph/internal/redact"
	"github.com/ralph-loop/ralph/internal/signature"
	"github.com/ralph-loop/ralph/internal/thread"
)

// Advice is what somebody says should come next in a thread, and what became of asking.
type Advice struct {
	signature.DecisionOut
	By     string          // rules, or the model
	Record json.RawMessage // what models were asked and said; nil where none was
	Usage  ralph.Usage
}

// Advisor is asked what comes next where the rules would go on. Its error is only that of ctx.
type Advisor func(ctx context.Context, s *thread.State) (Advice, error)

// decide asks what comes after the turn of a thread: where the rules would go on, whoever
// advises.
func (x *Executor) decide(ctx context.Context, s *ralph.State, t *ralph.Task) ([]ralph.Fact, error) {
	begin := x.Now()
	f, open, err := policy.Advice(s, t, x.Config, x.now())
	if err != nil {
		return nil, err
	}
	state := thread.Of(s, t)
	var a Advice
	switch guided := x.Guider != nil && t.Run.Thread.Guidance != nil; {
	case !open || !guided && x.Advisor == nil:
		f.Took = x.Now().Sub(begin)
		return []ralph.Fact{redact.Value(x.Redact, f)}, nil
	case guided:
		a, f.Signature, err = x.direct(ctx, s, t, &state)
	default:
		a, err = x.Advisor(ctx, &state)
	}
	if err != nil {
		return nil, fmt.Errorf("ask what comes next: %w", err)
	}
	f.By, f.Action, f.NextInput, f.Reason, f.Confidence = a.By, a.Action, a.NextInput, a.Reason, a.Confidence
	f.Record, f.Usage = a.Record, a.Usage
	f.Took = x.Now().Sub(begin)
	return []ralph.Fact{redact.Value(x.Redact, f)}, nil
}

// reviewed reads what a review turn answered.
func (x *Executor) reviewed(t *ralph.Task, own bool, res ralph.TurnResult) ([]ralph.Fact, error) {
	out, err := prompt.ReadReview(res.Text, res.Answer)
	if err != nil && own {
		out, err = prompt.ReadOwnReview(res.Text)
	}
	if err != nil {
		return nil, err
	}
	d := out.Decision()
	return []ralph.Fact{ralph.Reviewed{
		Task: t.ID, Turn: t.Run.Iterations + 1, Action: d.Action, NextInput: d.NextInput, Reason: d.Reason, Confidence: d.Confidence,
	}}, nil
}
