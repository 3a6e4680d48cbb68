package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/agent"
	"github.com/ralph-loop/ralph/internal/attempt"
	"github.com/ralph-loop/ralph/internal/config"
	"github.com/ralph-loop/ralph/internal/gate"
	"github.com/ralph-loop/ralph/internal/git"
	"github.com/ralph-loop/ralph/internal/policy"
	"github.com/ralph-loop/ralph/internal/proc"
	"github.com/ralph-loop/ralph/internal/profile"
	"github.com/ralph-loop/ralph/internal/redact"
	"github.com/ralph-loop/ralph/internal/report"
	"github.com/ralph-loop/ralph/internal/sandbox"
	"github.com/ralph-loop/ralph/internal/secrets"
	"github.com/ralph-loop/ralph/internal/step"
	"github.com/ralph-loop/ralph/internal/workspace"
	"github.com/ralph-loop/ralph/internal/worktree"
)

// parts is everything an engine command works with.
type parts struct {
	root    string
	config  config.Config
	repo    *git.Repo
	procs   *proc.Runner
	cage    *profile.Sandbox // nil: no sandbox
	checks  []ralph.GateSpec
	agents  map[string]step.ConfiguredAgent
	chain   []string // agents in use, in order
	redact  *redact.Redactor
	notices []string // for the person, before the work begins
	kind    string   // of the sandbox that agents run in; sandbox.Off for none

	approvals, why string // what gate.approvals comes to here, and why
}

// agentGrace is how long an agent that is ended may take to end by itself.
const agentGrace = 5 * time.Second

// wire checks everything that a run needs before anything is changed, so that a
// place where ralph cannot work is refused with nothing half done.
func wire(ctx context.Context, env workspace.Env, flags map[string]string) (*parts, error) {
	if _, err := workspace.FindRoot(env); err != nil {
		return nil, err
	}
	plain := proc.NewRunner("")
	repo, err := git.Open(ctx, plain, env.Dir, env.Environ)
	if err != nil {
		return nil, err
	}
	p := &parts{root: repo.Root(), repo: repo}
	if err := repo.Ready(ctx); err != nil {
		return nil, err
	}
	if err := workspace.NeedsSetup(p.root); err != nil {
		return nil, err
	}
	if p.config, err = workspace.LoadConfig(env, p.root, flags); err != nil {
		return nil, err
	}
	p.notices = append(p.notices, config.Later(p.config)...)
	p.notices = append(p.notices, heldAnyway(p.config)...)
	p.procs = proc.NewRunner(filepath.Join(p.root, "ralph/.state/procs"))
	p.redact = workspace.Redactor(env.Environ, p.root, p.config)
	p.checks = workspace.ChecksOf(p.config, p.root)
	for i := range p.checks { // a check is known by its name, in facts too
		p.checks[i].Name = p.redact.String(p.checks[i].Name)
	}
	if len(p.checks) == 0 {
		p.notices = append(p.notices, "no checks: an agent's COMPLETE is believed as it is; set quality.commands in ralph/config.yaml")
	}
	return p, p.openAgents(env)
}

// heldAnyway warns of entries that name what is on the never list: they have no effect (C-035).
func heldAnyway(c config.Config) []string {
	var out []string
	for _, entry := range policy.NeverApproved(c.Gate.PreApproved) {
		out = append(out, "gate.pre_approved has "+strconv.Quote(entry)+", which is on the never list: it waits for a person all the same")
	}
	for _, entry := range policy.NeverApproved(c.Gate.Allow) {
		out = append(out, "gate.allow has "+strconv.Quote(entry)+", which is on the never list: it waits for a person all the same")
	}
	return out
}

// openAgents opens the chain of agents. The primary must be there; a fallback
// that cannot be used is left out with a notice.
func (p *parts) openAgents(env workspace.Env) error {
	if err := p.openSandbox(env); err != nil {
		return err
	}
	p.settle(env.Environ)
	procs := p.around(p.procs)
	p.agents = map[string]step.ConfiguredAgent{}
	for i, name := range p.config.Chain() {
		spec, ok := p.config.AgentSpec(name)
		if !ok {
			return &ralph.Refusal{Why: "agent " + name + " is not configured", Hint: "set agent.primary in ralph/config.yaml", Kind: ralph.ErrUsage}
		}
		spec.Approvals = p.approvals // drivers keep a copy: it tells them whether their agent may ask
		if p.kind != sandbox.Off {
			spec.Sandbox = p.kind
		}
		driver, err := agent.Open(spec, procs, env.Self)
		if err == nil && spec.Driver != "scripted" && len(spec.Command) > 0 {
			_, err = proc.LookPath(spec.Command[0], p.root, env.Environ)
			if err != nil {
				err = notThere(spec, err)
			}
		}
		switch {
		case err != nil && i == 0:
			return err
		case err != nil:
			if p.config.Where("agent.fallback").Kind != config.FromDefault {
				p.notices = append(p.notices, "fallback left out: "+err.Error())
			}
			continue
		}
		supports, _ := agent.Of(spec)
		p.agents[name] = step.ConfiguredAgent{
			Agent: driver, Spec: spec, Structured: supports.Structured, Asks: supports.Ask, Price: price(p.config, spec.Model), Env: workspace.AgentEnv(spec, env.Environ),
		}
		p.chain = append(p.chain, name)
		if costLimited(p.config) && !supports.Cost && p.agents[name].Price == nil {
			p.notices = append(p.notices, unpriced(spec))
		}
	}
	return nil
}

// closeAgents ends what agents' drivers keep running between turns. What does not end
// by itself is ended with this process.
func (p *parts) closeAgents() {
	for _, name := range p.chain {
		if d, ok := p.agents[name].Agent.(agent.Driver); ok {
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

// executor puts the effects together.
func (p *parts) executor(env workspace.Env, pc policy.Config, live step.Live) *step.Executor {
	x := &step.Executor{
		Root: p.root, Config: pc, Agents: p.agents, Checks: p.checks, Live: live, Env: env.OfPerson(workspace.BaseEnv(env.Environ)),
		Trees: &worktree.Trees{Repo: p.repo}, Message: p.config.Commit.Message, KeepChanges: p.config.Quality.Changes == "keep", NewID: workspace.NewID, Now: time.Now, Grace: agentGrace, SkipDiffs: pc.AutoCommit || pc.Isolated,
	}
	x.PutBack = func(ctx context.Context, dir string, in step.PutBackInput) (step.PutBack, error) {
		return worktree.PutBack(ctx, p.repo, dir, in)
	}
	if p.config.Agent.MCP {
		x.MCP = []string{env.Self, "mcp"}
	}
	x.Signal = signalCommand(env, x.Env, p.root)
	x.Listen, x.Below = attempt.Listen, belowAgents{env.Self, p.config.Gate.Shims, pc, true, new(plainCalls)}
	x.Push = worktree.Pushing{Repo: p.repo}.Push
	x.Aliases = func(dir string) map[string]string { return worktree.GitAliases(dir, workspace.BaseEnv(env.Environ)) }
	x.Reported, x.Checkout = reported, &worktree.Trees{Repo: p.repo}
	forChecks := p.checkEnv(env)
	if pc.Isolated {
		w := worktree.Worktrees{Repo: p.repo}
		x.Worktrees, x.Merging, x.Resolving, x.Fence = w, worktree.Merging{Worktrees: w, Base: p.config.BaseBranch}, worktree.Resolving{Repo: p.repo}, p.repo.Fence()
		x.Setup = step.Setup{Commands: p.config.Worktree.Setup, Copy: p.config.Worktree.Copy, Timeout: p.config.Worktree.SetupTimeout}
		forChecks = append(forChecks, x.Fence) // of two the last one counts
	}
	x.Coverage, x.Secrets, x.Touched, x.Redact = covering{}, secrets.Scan, touched(p.repo), p.redact
	x.Gates = gate.New(p.around(p.procs), p.config.Quality.MaxOutput, agentGrace, forChecks).Redact(p.redact)
	return x
}

// checkEnv is the environment of checks and set-up commands.
func (p *parts) checkEnv(env workspace.Env) []string {
	own, _ := workspace.CheckEnv(env.Environ, p.config.Quality.PassEnv, p.cage != nil)
	return env.OfPerson(own)
}

// secretless tells what of the environment checks do not get in the sandbox.
func (p *parts) secretless(environ []string) {
	if _, left := workspace.CheckEnv(environ, p.config.Quality.PassEnv, true); len(left) > 0 && len(p.checks) > 0 {
		p.notices = append(p.notices, "checks run in the sandbox without "+report.Few(left, 5, ", ")+" of your environment: they run what agents wrote; quality.pass_env passes one on")
	}
}

// openSandbox looks which sandbox there is. cage is nil for none.
func (p *parts) openSandbox(env workspace.Env) error {
	if p.config.Sandbox.Kind == sandbox.Off {
		return nil
	}
	o := profile.Offers(env.Environ)
	kind, err := o.Choose(p.config.Sandbox.Kind)
	if err != nil {
		return err
	}
	if kind == sandbox.Off {
		p.notices = append(p.notices, "no sandbox: "+o.Words()+"; agents can write wherever you can")
		return nil
	}
	p.cage = &profile.Sandbox{
		Kind: kind, Bwrap: o.Bwrap, Self: env.Self, Set: p.config.Sandbox, Root: p.root, Doors: profile.DoorsOf(env.Environ),
	}
	for _, name := range p.config.Chain() {
		if spec, ok := p.config.AgentSpec(name); ok && agent.Known(spec) {
			p.cage.Programs = append(p.cage.Programs, spec.Command[0])
		}
	}
	p.secretless(env.Environ)
	profile.MakeCaches(p.config, env.Environ)
	// What is not there cannot be hidden, and a terminal server that a person starts later types
	// for whoever reaches it. tmux makes the folder of its sockets the same way.
	_ = os.Mkdir(profile.TmuxFolder(), 0o700) // it is there, or there is no /tmp
	return nil
}

// around is the runner of agents, checks and set-up commands: inside the sandbox.
func (p *parts) around(procs *proc.Runner) *proc.Runner {
	if p.cage == nil {
		return procs
	}
	return procs.Wrapped(func(c proc.Command) proc.Command {
		return p.cage.Wrap(c, p.cage.Tree(c.Dir, proc.Getenv(c.Env, attempt.EnvSocket) != ""))
	})
}

// aroundHooks is the runner of the hooks in ralph/hooks. Those that are about a task meet
// what its agent wrote, and run it as they like: they may write the repository and the
// task's worktree. The others are as free as the person who wrote them.
func (p *parts) aroundHooks(procs *proc.Runner) *proc.Runner {
	if p.cage == nil {
		return procs
	}
	return procs.Wrapped(func(c proc.Command) proc.Command {
		if proc.Getenv(c.Env, "RALPH_TASK") == "" {
			return c
		}
		write, keep := sandbox.Tree(p.root)
		if dir := proc.Getenv(c.Env, "RALPH_TASK_DIR"); dir != "" && dir != p.root {
			w, k := sandbox.Tree(dir)
			write, keep = append(write, w...), append(keep, k...)
		}
		return p.cage.Wrap(c, profile.Place{Write: write, Keep: keep})
	})
}
