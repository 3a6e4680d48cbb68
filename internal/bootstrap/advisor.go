package bootstrap

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/advice"
	"github.com/ralph-loop/ralph/internal/model"
	"github.com/ralph-loop/ralph/internal/proc"
	"github.com/ralph-loop/ralph/internal/step"
	"github.com/ralph-loop/ralph/internal/thread"
)

// Advisor is the model that is asked what comes next in threads (decision.engine: llm), nil
// where the rules alone decide. A model that cannot be asked at all, by its settings or for
// want of a key, is refused before anything begins.
func (p *Parts) Advisor(environ []string) (step.Advisor, error) {
	d := p.Config.Decision
	if d.Engine != "llm" {
		return nil, nil
	}
	refuse := func(err error) error {
		return &ralph.Refusal{Why: fmt.Sprintf("decision.model (%s): %v", p.Config.Where("decision.model"), err), Hint: "mend it, or let the rules decide alone: decision.engine: rules", Kind: ralph.ErrUsage}
	}
	spec, err := model.Parse(d.Model)
	if err != nil {
		return nil, refuse(err)
	}
	spec.BaseURL = d.BaseURL
	getenv := func(name string) string { return proc.Getenv(environ, name) }
	client, err := model.Open(spec, model.Environment{Getenv: getenv})
	if err != nil {
		return nil, refuse(err)
	}
	price := p.modelPrice(spec)
	if price == nil {
		p.Notices = append(p.Notices, fmt.Sprintf("`prices` has nothing for %s, which decides: with a cost limit, a turn of unknown cost counts as over it", spec.Model))
	}
	chain := advice.Chain{Engines: []advice.Engine{{Name: d.Model, Client: client, Price: price}}, Redact: p.Redact}
	return func(ctx context.Context, s *thread.State) (step.Advice, error) {
		shown := *s
		shown.Decisions = s.Decisions[max(0, len(s.Decisions)-d.History):]
		out, by, record, err := chain.Advise(ctx, &shown)
		if err != nil {
			return step.Advice{}, err
		}
		b, err := json.Marshal(record)
		return step.Advice{DecisionOut: out, By: by, Record: b, Usage: record.Usage}, err
	}, nil
}

// modelPrice is what a model costs by `prices`, nil where nobody knows. One on this machine is
// free.
func (p *Parts) modelPrice(m model.Spec) *advice.Price {
	if x, ok := p.Config.Prices[m.Model]; ok {
		return &advice.Price{Input: x.Input, Cached: x.Cached, Output: x.Output}
	}
	if m.Provider == model.Ollama && !m.Remote() {
		return &advice.Price{}
	}
	return nil
}
