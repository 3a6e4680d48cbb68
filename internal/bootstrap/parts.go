// Package bootstrap is where the concrete types meet: it puts git, agents, checks, the sandbox and
// the executor of steps together by the settings, and refuses a place where ralph cannot work
// before anything is changed.
//
// It does NOT own when any of it runs (session, doctor), or what the settings mean (config).
package bootstrap

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/agent"
	"github.com/ralph-loop/ralph/internal/agentsock"
	"github.com/ralph-loop/ralph/internal/approval"
	"github.com/ralph-loop/ralph/internal/check"
	"github.com/ralph-loop/ralph/internal/config"
	"github.com/ralph-loop/ralph/internal/config/setting"
	"github.com/ralph-loop/ralph/internal/git"
	"github.com/ralph-loop/ralph/internal/git/commits"
	"github.com/ralph-loop/ralph/internal/git/push"
	"github.com/ralph-loop/ralph/internal/interceptor"
	"github.com/ralph-loop/ralph/internal/livingdocs"
	"github.com/ralph-loop/ralph/internal/outgoing"
	"github.com/ralph-loop/ralph/internal/policy"
	"github.com/ralph-loop/ralph/internal/proc"
	"github.com/ralph-loop/ralph/internal/profile"
	"github.com/ralph-loop/ralph/internal/redact"
	"github.com/ralph-loop/ralph/internal/sandbox"
	"github.com/ralph-loop/ralph/internal/secrets"
	"github.com/ralph-loop/ralph/internal/shim"
	"github.com/ralph-loop/ralph/internal/step"
	"github.com/ralph-loop/ralph/internal/text"
	"github.com/ralph-loop/ralph/internal/thread"
	"github.com/ralph-loop/ralph/internal/workspace"
	"github.com/ralph-loop/ralph/internal/worktree"
)

// Parts is everything an engine command works with.
type Parts struct {
	Root    string
	Config  config.Config
	Repo    *git.Repo
	Procs   *proc.Runner
	Sandbox *profile.Sandbox // nil: no sandbox
	Checks  []ralph.CheckSpec
	Agents  map[string]step.ConfiguredAgent
	Chain   []string // agents in use, in order
	Redact  *redact.Redactor
	Notices []string // for the person, before the work begins
	kind    string   // of the sandbox that agents run in; sandbox.Off for none
	models  *Models  // that are asked about threads; nil: the rules alone decide
	// guidance are the models that make the guidance of threads; nil: there is none.
	guidance *Models

	// Fence is what every push goes through, where this is one of several that may be the one who
	// pushes; nil: it is the only one.
	Fence *push.Fence

	// Lines are those of the turns, for a session that ends them; nil: each turn has one of its own.
	Lines *agentsock.Lines

	Approvals, Why string // what gate.approvals comes to here, and why
}

// AgentGrace is how long an agent that is ended may take to end by itself.
const AgentGrace = 5 * time.Second

// Open checks everything that a run needs before anything is changed, so that a
// place where ralph cannot work is refused with nothing half done.
func Open(ctx context.Context, env workspace.Env, flags map[string]string) (*Parts, error) {
	if _, err := workspace.FindRoot(env); err != nil {
		return nil, err
	}
	plain := proc.NewRunner("")
	repo, err := git.Open(ctx, plain, env.Dir, env.Environ)
	if err != nil {
		return nil, err
	}
	p := &Parts{Root: repo.Root(), Repo: repo}
	if err := commits.Ready(ctx, repo); err != nil {
		return nil, err
	}
	if err := workspace.NeedsSetup(p.Root); err != nil {
		return nil, err
	}
	if p.Config, err = workspace.LoadConfig(env, p.Root, flags); err != nil {
		return nil, err
	}
	p.Notices = append(p.Notices, HeldAnyway(p.Config)...)
	p.Procs = proc.NewRunner(filepath.Join(p.Root, "ralph/.state/procs"))
	p.Redact = workspace.Redactor(env.Environ, p.Root, p.Config)
	p.Checks = workspace.ChecksOf(p.Config, p.Root)
	for i := range p.Checks { // a check is known by its name, in facts too
		p.Checks[i].Name = p.Redact.String(p.Checks[i].Name)
	}
	if len(p.Checks) == 0 {
		p.Notices = append(p.Notices, "no checks: an agent's COMPLETE is believed as it is; set quality.commands in ralph/config.yaml")
	}
	return p, p.openAgents(env)
}

// HeldAnyway warns of entries that name what is on the never list: they have no effect.
func HeldAnyway(c config.Config) []string {
	var out []string
	for _, entry := range approval.NeverApproved(c.Gate.PreApproved) {
		out = append(out, "gate.pre_approved has "+strconv.Quote(entry)+", which is on the never list: it waits for a person all the same")
	}
	for _, entry := range approval.NeverApproved(c.Gate.Allow) {
		out = append(out, "gate.allow has "+strconv.Quote(entry)+", which is on the never list: it waits for a person all the same")
	}
	return out
}

// openAgents opens the chain of agents. The primary must be there; a fallback
// that cannot be used is left out with a notice.
func (p *Parts) openAgents(env workspace.Env) error {
	if err := p.OpenSandbox(env); err != nil {
		return err
	}
	p.settle(env.Environ)
	procs := p.Around(p.Procs)
	p.Agents = map[string]step.ConfiguredAgent{}
	for i, name := range p.Config.Chain() {
		switch err := p.openAgent(env, procs, name); {
		case err != nil && i == 0:
			return err
		case err != nil:
			if _, ok := p.Config.AgentSpec(name); !ok {
				return err
			}
			if p.Config.Where("agent.fallback").Kind != setting.FromDefault {
				p.Notices = append(p.Notices, "fallback left out: "+err.Error())
			}
			continue
		}
		p.Chain = append(p.Chain, name)
	}
	return nil
}

// OpenAgent opens an agent beside the chain: one that a thread was given to.
func (p *Parts) OpenAgent(env workspace.Env, name string) error {
	if _, ok := p.Agents[name]; ok {
		return nil
	}
	return p.openAgent(env, p.Around(p.Procs), name)
}

func (p *Parts) openAgent(env workspace.Env, procs *proc.Runner, name string) error {
	spec, ok := p.Config.AgentSpec(name)
	if !ok {
		return &ralph.Refusal{Why: "agent " + name + " is not configured", Hint: "take one of " + strings.Join(p.Config.AgentNames(), ", ") + ", or describe it under agents in ralph/config.yaml", Kind: ralph.ErrUsage}
	}
	spec.Approvals = p.Approvals // drivers keep a copy: it tells them whether their agent may ask
	if p.kind != sandbox.Off {
		spec.Sandbox = p.kind
	}
	driver, err := agent.Open(spec, procs, env.Self)
	if err == nil && spec.Driver != "scripted" && len(spec.Command) > 0 {
		_, err = proc.LookPath(spec.Command[0], p.Root, env.Environ)
		if err != nil {
			err = notThere(spec, err)
		}
	}
	if err != nil {
		return err
	}
	supports, _ := agent.Of(spec)
	p.Agents[name] = step.ConfiguredAgent{
		Agent: driver, Spec: spec, Structured: supports.Structured, Asks: supports.Ask, Reviews: supports.Review, Price: price(p.Config, spec.Model), Env: workspace.AgentEnv(spec, env.Environ),
	}
	if costLimited(p.Config) && !supports.Cost && p.Agents[name].Price == nil {
		p.Notices = append(p.Notices, unpriced(spec))
	}
	return nil
}

// CloseAgents ends what agents' drivers keep running between turns. What does not end
// by itself is ended with this process.
func (p *Parts) CloseAgents() {
	for _, m := range []*Models{p.models, p.guidance} {
		if m != nil {
			m.Close()
		}
	}
	for _, a := range p.Agents {
		if d, ok := a.Agent.(agent.Driver); ok {
			_ = agent.Close(d)
		}
	}
}

// costLimited reports whether any limit in dollars is set.
func costLimited(c config.Config) bool {
	return c.AgentMode.MaxCost+c.Budget.Cost+c.Budget.Spec.Cost+c.Budget.Task.Cost > 0
}

// unpriced warns of an agent whose first turn will count as over a cost limit.
func unpriced(spec ralph.AgentSpec) string {
	model := spec.Model
	if model == "" {
		model = "its model"
	}
	return fmt.Sprintf("agent %s is not known to say what it costs, and `prices` has nothing for %s: with a cost limit, a turn of unknown cost counts as over it", spec.Name, model)
}

// notThere explains that an agent's program cannot be started.
func notThere(spec ralph.AgentSpec, err error) error {
	why, do := fmt.Sprintf("agent %s: %v", spec.Name, err), "mend it"
	if errors.Is(err, fs.ErrNotExist) {
		why, do = fmt.Sprintf("agent %s: there is no program %s", spec.Name, spec.Command[0]), "install it"
	}
	hint := fmt.Sprintf("%s, or change agents.%s.command or agent.primary in ralph/config.yaml (`ralph doctor` shows what is there)", do, spec.Name)
	return &ralph.Refusal{Why: why, Hint: hint, Kind: ralph.ErrUsage}
}

// price makes dollars from tokens where config.yaml has a price for the model.
func price(c config.Config, model string) func(ralph.Usage) ralph.Usage {
	p, ok := c.Prices[model]
	if !ok {
		return nil
	}
	return func(u ralph.Usage) ralph.Usage {
		if u.Input+u.Output+u.CacheRead+u.CacheWrite == 0 {
			return u // no tokens reported either: still unknown
		}
		const million = 1e6
		u.Cost = (float64(u.Input+u.CacheWrite)*p.Input + float64(u.CacheRead)*p.Cached + float64(u.Output)*p.Output) / million
		u.Known = true
		return u
	}
}

// Executor puts the effects together.
func (p *Parts) Executor(env workspace.Env, pc policy.Config, live step.Live) *step.Executor {
	x := &step.Executor{
		Root: p.Root, Config: pc, Agents: p.Agents, Checks: p.Checks, Live: live, Env: env.OfPerson(workspace.BaseEnv(env.Environ)),
		Trees: &worktree.Trees{Repo: p.Repo}, Message: p.Config.Commit.Message, KeepChanges: p.Config.Quality.Changes == "keep", NewID: workspace.NewID, Now: time.Now, Grace: AgentGrace, SkipDiffs: pc.AutoCommit || pc.Isolated,
	}
	x.PutBack = func(ctx context.Context, dir string, in step.PutBackInput) (step.PutBack, error) {
		return worktree.PutBack(ctx, p.Repo, dir, in)
	}
	x.Publishing = p.Branches()
	if p.Config.Sync.LivingDocs.Enabled {
		x.Docs = livingdocs.Docs{Folder: p.Config.Sync.LivingDocs.Path, Redact: p.Redact}
	}
	if p.Config.Agent.MCP {
		x.MCP = []string{env.Self, "mcp"}
	}
	x.Signal = signalCommand(env, x.Env, p.Root)
	x.Listen, x.Interceptor = interceptor.ListenOn(p.Lines), interceptor.Interceptor{Self: env.Self, Programs: p.Config.Gate.Shims, Policy: pc, Pushes: true, Plain: new(interceptor.PlainCalls), Lookups: new(shim.Lookups)}
	x.Push = worktree.Pushing{Repo: p.Repo, Fence: p.Fence}.Push
	x.Aliases = func(dir string) map[string]string { return worktree.GitAliases(dir, workspace.BaseEnv(env.Environ)) }
	x.Reported, x.Checkout = interceptor.Reported, &worktree.Trees{Repo: p.Repo}
	forChecks := p.CheckEnv(env)
	if pc.Isolated {
		w := worktree.Worktrees{Repo: p.Repo}
		x.Worktrees, x.Merging, x.Resolving, x.CeilingEnv = w, worktree.Merging{Worktrees: w, Base: p.Config.BaseBranch}, worktree.Resolving{Repo: p.Repo}, p.Repo.CeilingEnv()
		x.Setup = step.Setup{Commands: p.Config.Worktree.Setup, Copy: p.Config.Worktree.Copy, Timeout: p.Config.Worktree.SetupTimeout}
		forChecks = append(forChecks, x.CeilingEnv) // of two the last one counts
	}
	x.Coverage, x.Secrets, x.Touched, x.Redact = Coverage{}, secrets.Scan, touched(p.Repo), p.Redact
	x.Advisor, x.Suggester, x.Guider = p.advisor(), p.suggester(), p.guider()
	x.Survey = func(ctx context.Context, dir string) (thread.Survey, error) { return worktree.Survey(ctx, p.Repo, dir) }
	x.Checker = check.New(p.Around(p.Procs), p.Config.Quality.MaxOutput, AgentGrace, forChecks).Redact(p.Redact)
	return x
}

// Branches are the branches that specs go out on.
func (p *Parts) Branches() outgoing.Branches {
	land := p.Config.Land
	return outgoing.Branches{Repo: p.Repo, Fence: p.Fence, Base: p.Config.BaseBranch, Redact: p.Redact, How: ralph.LandHow(land.How), PerTask: land.Per == "task", Name: land.Branch, Remote: land.Remote}
}

// CheckEnv is the environment of checks and set-up commands.
func (p *Parts) CheckEnv(env workspace.Env) []string {
	own, _ := workspace.CheckEnv(env.Environ, p.Config.Quality.PassEnv, p.Sandbox != nil)
	return env.OfPerson(own)
}

// secretless tells what of the environment checks do not get in the sandbox.
func (p *Parts) secretless(environ []string) {
	if _, left := workspace.CheckEnv(environ, p.Config.Quality.PassEnv, true); len(left) > 0 && len(p.Checks) > 0 {
		p.Notices = append(p.Notices, "checks run in the sandbox without "+text.List(left, 5)+" of your environment: they run what agents wrote; quality.pass_env passes one on")
	}
}

// OpenSandbox looks which sandbox there is. cage is nil for none.
func (p *Parts) OpenSandbox(env workspace.Env) error {
	if p.Config.Sandbox.Kind == sandbox.Off {
		return nil
	}
	o := profile.Offers(env.Environ)
	kind, err := o.Choose(p.Config.Sandbox.Kind)
	if err != nil {
		return err
	}
	if kind == sandbox.Off {
		p.Notices = append(p.Notices, "no sandbox: "+o.Words()+"; agents can write wherever you can")
		return nil
	}
	p.Sandbox = &profile.Sandbox{
		Kind: kind, Bwrap: o.Bwrap, Self: env.Self, Set: p.Config.Sandbox, Root: p.Root, Doors: profile.DoorsOf(env.Environ),
	}
	for _, name := range p.Config.Chain() {
		if spec, ok := p.Config.AgentSpec(name); ok && agent.Known(spec) {
			p.Sandbox.Programs = append(p.Sandbox.Programs, spec.Command[0])
		}
	}
	p.secretless(env.Environ)
	profile.MakeCaches(p.Config, env.Environ)
	// What is not there cannot be hidden, and a terminal server that a person starts later types
	// for whoever reaches it. tmux makes the folder of its sockets the same way.
	_ = os.Mkdir(profile.TmuxFolder(), 0o700) // it is there, or there is no /tmp
	return nil
}

// Around is the runner of agents, checks and set-up commands: inside the sandbox.
func (p *Parts) Around(procs *proc.Runner) *proc.Runner {
	if p.Sandbox == nil {
		return procs
	}
	return procs.Wrapped(func(c proc.Command) proc.Command {
		return p.Sandbox.Wrap(c, p.Sandbox.Tree(c.Dir, proc.Getenv(c.Env, agentsock.EnvSocket) != ""))
	})
}

// AroundHooks is the runner of the hooks in ralph/hooks. Those that are about a task meet
// what its agent wrote, and run it as they like: they may write the repository and the
// task's worktree. The others are as free as the person who wrote them.
func (p *Parts) AroundHooks(procs *proc.Runner) *proc.Runner {
	if p.Sandbox == nil {
		return procs
	}
	return procs.Wrapped(func(c proc.Command) proc.Command {
		if proc.Getenv(c.Env, "RALPH_TASK") == "" {
			return c
		}
		write, keep := sandbox.Tree(p.Root)
		if dir := proc.Getenv(c.Env, "RALPH_TASK_DIR"); dir != "" && dir != p.Root {
			w, k := sandbox.Tree(dir)
			write, keep = append(write, w...), append(keep, k...)
		}
		return p.Sandbox.Wrap(c, profile.Access{Write: write, Keep: keep})
	})
}
