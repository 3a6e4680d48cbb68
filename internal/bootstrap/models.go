package bootstrap

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/advice"
	"github.com/ralph-loop/ralph/internal/agent"
	"github.com/ralph-loop/ralph/internal/config"
	"github.com/ralph-loop/ralph/internal/model"
	"github.com/ralph-loop/ralph/internal/proc"
	"github.com/ralph-loop/ralph/internal/workspace"
)

// codexModel is how settings spell the configured Codex as a model, alone or with a model of
// its own behind a colon.
const codexModel = "codex"

// Models are models that decisions are asked of, as settings spell them. Close ends what they
// keep running.
type Models struct {
	advice.Chain
	Close   func()
	Notices []string
}

// ForModels are the parts that models need which are asked beside any session.
func ForModels(env workspace.Env, root string, c config.Config) (*Parts, error) {
	p := &Parts{Root: root, Config: c, Redact: workspace.Redactor(env.Environ, root, c)}
	p.Procs = proc.NewRunner(filepath.Join(root, "ralph/.state/procs"))
	return p, p.OpenSandbox(env)
}

// PriceOf is what a model costs, by its name in the settings; nil: nobody knows before it has
// answered.
func (p *Parts) PriceOf(name string) *advice.Price {
	if kind, own, _ := strings.Cut(name, ":"); kind == codexModel {
		spec, _ := p.Config.AgentSpec(codexModel)
		return p.modelPrice(model.Spec{Provider: codexModel, Model: cmp.Or(own, spec.Model)})
	}
	spec, err := model.Parse(name)
	if err != nil {
		return nil
	}
	spec.BaseURL = p.Config.Decision.Address(name)
	return p.modelPrice(spec)
}

// Models opens models by their names, in the order in which they are asked. The first must be
// there; another one that cannot be asked at all, by its settings or for want of a key, is left
// out with a notice. OpenSandbox has been called.
func (p *Parts) Models(environ, names []string) (Models, error) {
	m := Models{Chain: advice.Chain{Redact: p.Redact, Outages: new(advice.Outages)}}
	var open []agent.Asker
	m.Close = func() {
		for _, a := range open {
			_ = a.Close() // it ends with this process, and lies in the folder for temporary files
		}
	}
	for i, name := range names {
		e, asker, err := p.openModel(environ, name)
		switch {
		case err != nil && i == 0:
			m.Close()
			return Models{}, fmt.Errorf("%s: %w", name, err)
		case err != nil:
			m.Notices = append(m.Notices, fmt.Sprintf("model left out: %s: %v", name, err))
			continue
		}
		if asker != nil {
			open = append(open, asker)
		}
		e.Timeout = p.Config.Decision.Timeout
		m.Engines = append(m.Engines, e)
	}
	return m, nil
}

// openModel opens one model, by its service or as an agent.
func (p *Parts) openModel(environ []string, name string) (advice.Engine, agent.Asker, error) {
	if kind, own, _ := strings.Cut(name, ":"); kind == codexModel {
		return p.openAsker(environ, name, own)
	}
	spec, err := model.Parse(name)
	if err != nil {
		return advice.Engine{}, nil, err
	}
	spec.BaseURL, spec.KeyEnv = p.Config.Decision.Address(name), p.Config.Decision.KeyEnvs[name]
	getenv := func(name string) string { return proc.Getenv(environ, name) }
	client, err := model.Open(spec, model.Environment{Getenv: getenv})
	if err != nil {
		return advice.Engine{}, nil, err
	}
	return advice.Engine{Name: name, Client: client, Price: p.modelPrice(spec)}, nil, nil
}

// openAsker opens the configured Codex as a model.
func (p *Parts) openAsker(environ []string, name, own string) (advice.Engine, agent.Asker, error) {
	spec, ok := p.Config.AgentSpec(codexModel)
	if !ok || len(spec.Command) == 0 {
		return advice.Engine{}, nil, fmt.Errorf("there is no agent %s in the settings", codexModel)
	}
	if _, err := proc.LookPath(spec.Command[0], p.Root, environ); err != nil {
		return advice.Engine{}, nil, notThere(spec, err)
	}
	if own != "" {
		spec.Model = own
	}
	asker, ok, err := agent.AskerOf(spec, p.Around(p.Procs), append(workspace.BaseEnv(environ), workspace.AgentEnv(spec, environ)...))
	if err == nil && !ok {
		err = fmt.Errorf("its driver %s does not answer questions: agents.%s.driver must be codex", spec.Driver, codexModel)
	}
	if err != nil {
		return advice.Engine{}, nil, err
	}
	e := advice.Engine{Name: name, Client: askerClient{asker, model.Spec{Provider: codexModel, Model: spec.Model}}}
	e.PriceOf = func(answered string) *advice.Price {
		for _, m := range []string{answered, spec.Model} {
			if x, ok := p.Config.Prices[m]; ok {
				return &advice.Price{Input: x.Input, Cached: x.Cached, Output: x.Output}
			}
		}
		return nil
	}
	return e, asker, nil
}

// askerClient is an agent that answers as a model.
type askerClient struct {
	agent agent.Asker
	spec  model.Spec
}

// Complete implements model.Client. An agent has no conversation with us: what was said before
// goes along in its one prompt.
func (c askerClient) Complete(ctx context.Context, r model.Request) (model.Response, error) {
	q := agent.Question{System: r.System, Model: c.spec.Model}
	if r.Schema != nil {
		q.Schema = r.Schema.JSON
	}
	var prompt strings.Builder
	for _, m := range r.Messages {
		if m.Role == model.Assistant {
			prompt.WriteString("\n\nYou answered:\n\n" + m.Text + "\n\n")
			continue
		}
		prompt.WriteString(m.Text)
	}
	q.Prompt = prompt.String()
	a, err := c.agent.Ask(ctx, q)
	u := a.Usage
	res := model.Response{
		Text: a.Text, Model: a.Model, Stop: model.End, Tries: 1,
		Usage: model.Usage{Input: u.Input + u.CacheRead + u.CacheWrite, Cached: u.CacheRead, Written: u.CacheWrite, Output: u.Output},
	}
	switch {
	case ctx.Err() != nil:
		return res, &model.Error{Kind: model.TimedOut, Spec: c.spec, Tries: 1, Err: context.Cause(ctx)}
	case err != nil:
		return res, &model.Error{Kind: model.Unreachable, Spec: c.spec, Tries: 1, Err: err, Do: "`ralph doctor` looks at the agent."}
	case a.Err != nil:
		return res, c.failed(a.Err)
	}
	return res, nil
}

// failed is the error of a model by that of an agent.
func (c askerClient) failed(e *ralph.AgentError) error {
	kinds := map[ralph.ErrorClass]model.Kind{
		ralph.ErrClassLimit: model.Limit, ralph.ErrClassBusy: model.Overloaded, ralph.ErrClassAuth: model.SignIn, ralph.ErrClassRequest: model.Rejected,
		ralph.ErrClassContext: model.TooLong, ralph.ErrClassNetwork: model.Unreachable, ralph.ErrClassServer: model.Overloaded,
		ralph.ErrClassRefusal: model.Refused, ralph.ErrClassSpawn: model.Unreachable,
	}
	out := &model.Error{Kind: kinds[e.Class], Spec: c.spec, Status: e.Status, Text: e.Message, Tries: 1}
	if out.Kind == "" {
		out.Kind = model.Malformed
	}
	if !e.ResetAt.IsZero() {
		out.RetryAfter = max(0, time.Until(e.ResetAt))
	}
	switch out.Kind {
	case model.SignIn:
		out.Do = "Log in with `codex login`."
	case model.Unreachable, model.Malformed, model.NotFound:
		out.Do = "`ralph doctor` looks at the agent."
	}
	return out
}
