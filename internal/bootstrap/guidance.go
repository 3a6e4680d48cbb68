package bootstrap

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/proc"
	"github.com/ralph-loop/ralph/internal/signature"
	"github.com/ralph-loop/ralph/internal/step"
	"github.com/ralph-loop/ralph/internal/thread"
	"github.com/ralph-loop/ralph/internal/workspace"
)

// localModel is asked for guidance last: on this machine, so without an account.
const localModel = "ollama:llama3.2"

// GuidanceModels are the models that are asked for guidance, in their order: what guidance.model
// says, else those that decide, else the configured Codex; then a local Ollama.
func (p *Parts) GuidanceModels() []string {
	g, d := p.Config.Guidance, p.Config.Decision
	names := []string{codexModel}
	switch {
	case g.Model != "":
		names = []string{g.Model}
	case d.Engine == "llm":
		names = d.Models()
	}
	if !slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(n, "ollama:") }) {
		names = append(names, localModel)
	}
	return names
}

// Guidance opens the models that are asked for guidance. A Codex that nobody named and that is not
// there is left out.
func (p *Parts) Guidance(environ []string) (Models, error) {
	names := p.GuidanceModels()
	m, err := p.Models(environ, names)
	if err != nil && p.Config.Guidance.Model == "" && p.Config.Decision.Engine != "llm" {
		return p.Models(environ, names[1:])
	}
	if err != nil {
		key := "guidance.model"
		if p.Config.Guidance.Model == "" {
			key = "decision.model"
		}
		err = &ralph.Refusal{Why: fmt.Sprintf("%s (%s): %v", key, p.Config.Where(key), err), Hint: "mend it, or go without guidance: guidance.mode: off", Kind: ralph.ErrUsage}
	}
	return m, err
}

// OpenGuidance opens them for the threads of a session, where guidance is on. begun are those that
// the session begins.
func (p *Parts) OpenGuidance(environ []string, begun []ralph.NewThread) error {
	if p.Config.Guidance.Mode != "demo" {
		for _, n := range begun {
			if thread.Minimal(n.Prompt) {
				p.Notices = append(p.Notices, fmt.Sprintf("%q says no goal, and guidance is off: with guidance.mode: demo a model finds out what is next here", n.Prompt))
			}
		}
		return nil
	}
	m, err := p.Guidance(environ)
	if err != nil {
		return err
	}
	p.guidance = &m
	p.Notices = append(p.Notices, m.Notices...)
	return nil
}

// OpenForModels opens what asking models needs, and no agents: for commands that only ask.
func OpenForModels(env workspace.Env) (*Parts, error) {
	root, err := workspace.FindRoot(env)
	if err != nil {
		return nil, err
	}
	p := &Parts{Root: root, Procs: proc.NewRunner(filepath.Join(root, "ralph/.state/procs"))}
	if p.Config, err = workspace.LoadConfig(env, root, nil); err != nil {
		return nil, err
	}
	p.Redact = workspace.Redactor(env.Environ, root, p.Config)
	return p, p.OpenSandbox(env)
}

// guider makes the guidance of threads by the models; nil without any.
func (p *Parts) guider() step.Guider {
	if p.guidance == nil {
		return nil
	}
	return guider{p}
}

type guider struct{ parts *Parts }

// Guide implements step.Guider.
func (g guider) Guide(ctx context.Context, part ralph.GuidancePart, in signature.DirectiveIn, requirements []string) (ralph.Guided, error) {
	return g.parts.guidance.Guide(ctx, part, in, requirements)
}

// Direct implements step.Guider.
func (g guider) Direct(ctx context.Context, s *thread.State, in signature.DirectiveIn) (step.Advice, string, error) {
	out, r, err := g.parts.guidance.Direct(ctx, s, in)
	if err != nil {
		return step.Advice{}, "", err
	}
	b, err := json.Marshal(r)
	return step.Advice{DecisionOut: out, By: r.By, Record: b, Usage: r.Usage}, fmt.Sprintf("%s %d %s", r.Signature, r.Version, r.Hash), err
}
