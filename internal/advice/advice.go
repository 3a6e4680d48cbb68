// Package advice asks models for answers of a known type: which model, how often, for how
// long, at what cost, and what is kept of it. A chain of models is asked one after the other
// where one cannot be reached; an answer that is none is asked for once more, with the exact
// error; the rules come last. It does not own the questions (internal/signature), the wire to
// the models (internal/model), nor what an answer is worth (internal/thread): advice allows
// nothing.
package advice

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/model"
	"github.com/ralph-loop/ralph/internal/redact"
	"github.com/ralph-loop/ralph/internal/signature"
	"github.com/ralph-loop/ralph/internal/text"
)

const (
	usualTimeout = time.Minute
	usualTokens  = 4096
)

// Engine is a model that may be asked.
type Engine struct {
	Name    string // as settings spell it: anthropic:claude-sonnet-4-5
	Client  model.Client
	Timeout time.Duration // for one question, with all tries; 0: a minute
	Price   *Price        // nil: nobody knows
	// PriceOf is the price of the model that answered, where only the answer names it; nil, or
	// nil of it: nobody knows.
	PriceOf func(model string) *Price
}

// Price is what a model costs, in US dollars per million tokens. The zero value is that of a
// model of one's own: nothing, and that is known.
type Price struct{ Input, Cached, Output float64 }

// Chain are the models in the order in which they are asked.
type Chain struct {
	Engines   []Engine
	Redact    *redact.Redactor // takes secrets out of what models see and of what is kept
	Outages   *Outages         // models that are passed over for a while; nil: none are
	MaxTokens int              // of an answer; 0: 4096
	Now       func() time.Time // nil: time.Now
}

// verdict is what one model's part came to.
type verdict int

const (
	next     verdict = iota // it could not be asked
	answered                // its answer counts
	invalid                 // it gave none
	refused                 // it will not
)

// Ask asks for an answer to an input. The record says what came of it; an error is only
// that of ctx, or a question that cannot be written.
func Ask[In any, Out signature.Answer[In]](ctx context.Context, c Chain, s signature.Signature[In, Out], in In) (Out, Record, error) {
	var none Out
	i := s.Info()
	r := Record{Signature: i.Name, Version: i.Version, Hash: i.Hash, Outcome: Nobody, Why: "no model is set"}
	p, err := s.Prompt(redact.Value(c.Redact, in))
	if err != nil {
		return none, r, err
	}
	r.Input = p.Input
	var shown In // what the model saw: its answer is held against that, now and in a replay
	if err := json.Unmarshal(p.Input, &shown); err != nil {
		return none, r, fmt.Errorf("read the input of signature %s again: %w", i.Name, err)
	}
	for _, e := range c.Engines {
		if why := c.Outages.rests(e.Name, c.now()); why != "" {
			r.Why = e.Name + ": " + why
			r.Asked = append(r.Asked, Attempt{Engine: e.Name, Error: why})
			continue
		}
		var out Out
		v := c.ask(ctx, e, p, &r, func(words string) (err error) {
			out, err = s.Parse(shown, words)
			return err
		})
		if err := ctx.Err(); err != nil {
			return none, r, context.Cause(ctx)
		}
		if v == next {
			continue
		}
		r.By = e.Name
		r.Outcome = map[verdict]Outcome{answered: Answered, invalid: Invalid, refused: Refused}[v]
		if v == answered {
			r.Why = ""
			return out, r, nil
		}
		return none, r, nil
	}
	return none, r, nil
}

// ask asks one model, and once more when its answer is none.
func (c Chain) ask(ctx context.Context, e Engine, p signature.Prompt, r *Record, parse func(string) error) verdict {
	limit := e.Timeout
	if limit <= 0 {
		limit = usualTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	q := model.Request{
		System: p.System, Messages: []model.Message{{Role: model.User, Text: p.User}},
		Schema: &model.Schema{Name: p.Name, JSON: p.Schema}, MaxTokens: c.MaxTokens,
	}
	if q.MaxTokens <= 0 {
		q.MaxTokens = usualTokens
	}
	for range 2 {
		v, words, problem := c.once(ctx, e, q, r, parse)
		if v != invalid {
			return v
		}
		if words == "" {
			words = "(nothing)" // providers take no empty message
		}
		q.Messages = append(q.Messages,
			model.Message{Role: model.Assistant, Text: text.Cut(words, maxBad)},
			model.Message{Role: model.User, Text: signature.Again(problem)})
	}
	return invalid
}

// once asks one time, and records it.
func (c Chain) once(ctx context.Context, e Engine, q model.Request, r *Record, parse func(string) error) (verdict, string, error) {
	began := c.now()
	res, err := e.Client.Complete(ctx, q)
	a := Attempt{Engine: e.Name, Model: text.Line(text.SafeLine(res.Model), 100), Tries: res.Tries, Took: c.now().Sub(began)}
	v, problem := judge(err, q.MaxTokens)
	if known, _ := errors.AsType[*model.Error](err); !errors.Is(ctx.Err(), context.Canceled) {
		c.Outages.tell(e.Name, c.now(), v == next, known)
	}
	a.Usage = e.usage(res, err)
	words := c.clean(res.Text)
	switch {
	case v == answered:
		if problem = parse(words); problem != nil {
			v = invalid
		}
		a.answered(words, v == answered)
	case v == next:
		a.Error = c.Redact.String(reason(ctx, err))
	default:
		a.answered(words, false)
	}
	if problem != nil {
		problem = errors.New(c.Redact.String(problem.Error()))
		a.Problem = problem.Error()
	}
	if v != answered {
		r.Why = e.Name + ": " + text.Line(text.SafeLine(a.Problem+a.Error), 600)
	}
	r.Asked = append(r.Asked, a)
	r.Usage = r.Usage.Add(a.Usage)
	return v, words, problem
}

func (c Chain) now() time.Time {
	if c.Now == nil {
		return time.Now()
	}
	return c.Now()
}

// judge tells by the error of a call what the model's part came to.
func judge(err error, tokens int) (verdict, error) {
	e, known := errors.AsType[*model.Error](err)
	switch {
	case err == nil:
		return answered, nil
	case !known:
		return next, nil
	case e.Kind == model.Truncated && e.Err == nil:
		return invalid, fmt.Errorf("the answer was cut off at %d tokens: write a shorter one", tokens)
	case e.Kind == model.Refused:
		return refused, errors.New("it refuses to answer: " + e.Text)
	}
	return next, nil
}

// reason is why a model could not be asked.
func reason(ctx context.Context, err error) string {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return "it took too long: " + err.Error()
	}
	return err.Error()
}

// clean takes secrets out of a model's words: what is read is what is kept.
func (c Chain) clean(words string) string {
	if len(words) > 1<<20 { // far too long for an answer anyway
		words = text.Head(words, 1<<20)
	}
	return string(c.Redact.JSON([]byte(words)))
}

// usage is what an attempt used, by what the provider says. What cannot be is counted as 0.
func (e Engine) usage(res model.Response, err error) ralph.Usage {
	price := e.Price
	if price == nil && e.PriceOf != nil {
		price = e.PriceOf(res.Model)
	}
	free := price != nil && *price == (Price{})
	if res.Usage == (model.Usage{}) && !free {
		known, ours := errors.AsType[*model.Error](err)
		if ours && known.Kind != model.TimedOut && known.Kind != model.Malformed && known.Kind != model.Truncated {
			return ralph.Usage{Known: true} // it was turned away, which costs nothing
		}
		return ralph.Usage{Unmetered: 1}
	}
	u := res.Usage
	cached := max(0, min(u.Cached, u.Input))
	written := max(0, min(u.Written, u.Input-cached))
	out := ralph.Usage{Input: max(0, u.Input-cached-written), CacheRead: cached, CacheWrite: written, Output: max(0, u.Output)}
	if price == nil {
		out.Unmetered = 1
		return out
	}
	out.Known = true
	out.Cost = (float64(out.Input+out.CacheWrite)*price.Input + float64(out.CacheRead)*price.Cached + float64(out.Output)*price.Output) / 1e6
	return out
}
