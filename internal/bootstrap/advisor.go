package bootstrap

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/advice"
	"github.com/ralph-loop/ralph/internal/model"
	"github.com/ralph-loop/ralph/internal/step"
	"github.com/ralph-loop/ralph/internal/thread"
)

// OpenModels opens the models that are asked for decisions on threads (decision.engine: llm); without
// them the rules alone decide. A model that cannot be asked at all, by its settings or for
// want of a key, is refused before anything begins.
func (p *Parts) OpenModels(environ []string) error {
	d := p.Config.Decision
	if d.Engine != "llm" {
		return nil
	}
	refuse := func(err error) error {
		return &ralph.Refusal{Why: fmt.Sprintf("decision.model (%s): %v", p.Config.Where("decision.model"), err), Hint: "mend it, or let the rules decide alone: decision.engine: rules", Kind: ralph.ErrUsage}
	}
	models, err := p.Models(environ, d.Models())
	if err != nil {
		return refuse(err)
	}
	p.models = &models
	p.Notices = append(p.Notices, models.Notices...)
	for _, e := range models.Engines {
		if e.Price == nil && e.PriceOf == nil {
			p.Notices = append(p.Notices, fmt.Sprintf("`prices` has nothing for %s, which decides: with a cost limit, a turn of unknown cost counts as over it", e.Name))
		}
	}
	return nil
}

// advisor asks the models what comes next in threads; nil without any.
func (p *Parts) advisor() step.Advisor {
	chain := p.models
	if chain == nil {
		return nil
	}
	return func(ctx context.Context, s *thread.State) (step.Advice, error) {
		out, by, record, err := chain.Advise(ctx, p.shown(s))
		if err != nil {
			return step.Advice{}, err
		}
		b, err := json.Marshal(record)
		return step.Advice{DecisionOut: out, By: by, Record: b, Usage: record.Usage}, err
	}
}

// suggester asks the models what to answer to questions of threads; nil without any.
func (p *Parts) suggester() step.Suggester {
	chain := p.models
	if chain == nil {
		return nil
	}
	return func(ctx context.Context, s *thread.State, q ralph.Request) (ralph.Suggestion, error) {
		return chain.Suggest(ctx, p.shown(s), q)
	}
}

// shown is a thread as models see it: with as many of the past decisions as decision.history says.
func (p *Parts) shown(s *thread.State) *thread.State {
	shown := *s
	shown.Decisions = s.Decisions[max(0, len(s.Decisions)-p.Config.Decision.History):]
	return &shown
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
