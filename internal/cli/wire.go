package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/agent"
	"github.com/ralph-loop/ralph/internal/attempt"
	"github.com/ralph-loop/ralph/internal/config"
	"github.com/ralph-loop/ralph/internal/gate"
	"github.com/ralph-loop/ralph/internal/git"
	"github.com/ralph-loop/ralph/internal/journal"
	"github.com/ralph-loop/ralph/internal/policy"
	"github.com/ralph-loop/ralph/internal/proc"
	"github.com/ralph-loop/ralph/internal/redact"
	"github.com/ralph-loop/ralph/internal/sandbox"
	"github.com/ralph-loop/ralph/internal/secrets"
	"github.com/ralph-loop/ralph/internal/step"
)

// runtimePaths are ralph's own files that git must never see (product.md 2).
func runtimePaths() []string {
	return []string{"/ralph/.state/", "/ralph/.worktrees/", "/ralph/.agent-session", "/ralph/.agent-session.tmp", "/build/ralph-logs/"}
}

// excludeRuntime lists them in .git/info/exclude, once per repository.
func excludeRuntime(root string, environ []string) error {
	if _, err := os.Stat(filepath.Join(root, "ralph/.state")); err == nil {
		return nil
	}
	repo, err := git.Open(context.Background(), proc.NewRunner(""), root, environ)
	if err != nil {
		return err
	}
	return repo.Exclude(runtimePaths())
}

// parts is everything an engine command works with.
type parts struct {
	root    string
	config  config.Config
	repo    *git.Repo
	procs   *proc.Runner
	cage    *cage // nil: no sandbox
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
func wire(ctx context.Context, env Env, flags map[string]string) (*parts, error) {
	if _, err := findRoot(env); err != nil {
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
	if err := needsSetup(p.root); err != nil {
		return nil, err
	}
	if p.config, err = loadConfig(env, p.root, flags); err != nil {
		return nil, err
	}
	p.notices = append(p.notices, config.Later(p.config)...)
	p.notices = append(p.notices, heldAnyway(p.config)...)
	p.procs = proc.NewRunner(filepath.Join(p.root, "ralph/.state/procs"))
	p.redact = redactor(env.Environ, p.root, p.config)
	p.checks = checksOf(p.config, p.root)
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
func (p *parts) openAgents(env Env) error {
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
			Agent: driver, Spec: spec, Structured: supports.Structured, Asks: supports.Ask, Price: price(p.config, spec.Model), Env: agentEnv(spec, env.Environ),
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

// checksOf are the commands that prove a claim: quality commands in order, the test
// command last, also where it is one of them: the same command never twice.
func checksOf(c config.Config, root string) []ralph.GateSpec {
	detected := gate.Detect(root)
	commands, test := c.Quality.Commands, c.Test.Command
	if len(commands) == 0 && c.Where("quality.commands").Kind == config.FromDefault {
		commands = detected.Quality
	}
	if test == "" && c.Where("test.command").Kind == config.FromDefault {
		test = detected.Test
	}
	var specs []ralph.GateSpec
	for _, command := range append(slices.DeleteFunc(slices.Clone(commands), func(s string) bool { return s == test }), test) {
		same := func(g ralph.GateSpec) bool { return g.Command == command }
		if command != "" && !slices.ContainsFunc(specs, same) {
			specs = append(specs, ralph.GateSpec{Name: command, Command: command, Timeout: c.Quality.Timeout, Test: command == test})
		}
	}
	return specs
}

// policyConfig is what policy needs of the settings.
func policyConfig(c config.Config) policy.Config {
	return policy.Config{
		Parallel: 1, MaxConsecutive: c.Errors.MaxConsecutive, Batch: c.Merge.Batch, ConflictRetries: c.Merge.ConflictRetries, Resolver: c.Merge.Resolver, AskToMerge: !c.Merge.Auto,
		Agents: c.Chain(), RecoverPrimary: c.Agent.RecoverPrimary, Continue: c.Agent.Context == "continue",
		MaxIterations: c.Task.MaxIterations, StuckThreshold: c.Task.StuckThreshold, NoProgressTurns: c.Task.NoProgressTurns, OnlyCommits: c.Task.Progress == "commit",
		SameErrorTurns: c.Task.SameErrorTurns, TaskTimeout: c.Task.Timeout, TaskDelay: c.Task.Delay, AutoCommit: c.Task.AutoCommit,
		StageTimeout: c.Construct.StageTimeout, MaxRounds: c.Construct.MaxRounds,
		Strategy: c.Errors.Strategy, MaxRetries: c.Errors.MaxRetries, RetryBase: c.Errors.RetryBase,
		MaxLimitRetries: c.Errors.MaxRateLimitRetries, LimitBase: c.Errors.RateLimitBase, Patience: c.Errors.RateLimitPatience, NetworkRetry: c.Errors.NetworkRetry, Logins: logins(c), InputTimeout: c.Gate.InputTimeout,
		OnFailure: c.AgentMode.OnFailure, MaxSpecs: c.AgentMode.MaxSpecs, MaxCost: c.AgentMode.MaxCost, MaxFailures: c.AgentMode.MaxFailures,
		LimitWait: c.Limits.Wait, CountTimeouts: c.Errors.CountTimeouts, ApproveStart: c.RequireApprovalToStart,
		ContextWarn: c.Construct.ContextWarn, ContextCompact: c.Construct.ContextCompact, ContextKill: c.Construct.ContextKill,
		Budget: policy.Budget(c.Budget.Budget), SpecBudget: policy.Budget(c.Budget.Spec), TaskBudget: policy.Budget(c.Budget.Task),
		Scoring:  policy.Scoring(c.Scoring),
		Patterns: slices.Concat(c.Gate.Patterns, c.Gate.ExtraPatterns), PreApproved: c.Gate.PreApproved,
		Coverage: c.Test.Coverage, CoverageSet: c.Where("test.coverage").Given(), Baseline: c.Quality.Baseline, TestRetries: c.Test.Retries, TestRetry: c.Test.Retry, Diff: diffChecks(c),
		Approvals: c.Gate.Approvals, Allow: c.Gate.Allow, GateTimeout: c.Gate.Timeout, OnTimeout: c.Gate.OnTimeout, GateScope: c.Gate.Scope,
	}
}

// logins are the commands that log in to the agents of the chain, where ralph knows them.
func logins(c config.Config) map[string]string {
	out := map[string]string{}
	for _, name := range c.Chain() {
		spec, _ := c.AgentSpec(name)
		if command := agent.LoginCommand(spec); command != "" {
			out[name] = command
		}
	}
	return out
}

// executor puts the effects together.
func (p *parts) executor(env Env, pc policy.Config, live step.Live) *step.Executor {
	x := &step.Executor{
		Root: p.root, Config: pc, Agents: p.agents, Checks: p.checks, Live: live, Env: env.ofPerson(baseEnv(env.Environ)),
		Trees: &trees{p.repo}, Message: p.config.Commit.Message, KeepChanges: p.config.Quality.Changes == "keep", NewID: newID, Now: time.Now, Grace: agentGrace, SkipDiffs: pc.AutoCommit || pc.Isolated,
	}
	x.PutBack = func(ctx context.Context, dir string, in step.PutBackInput) (step.PutBack, error) {
		return putBack(ctx, p.repo, dir, in)
	}
	if p.config.Agent.MCP {
		x.MCP = []string{env.Self, "mcp"}
	}
	x.Signal = signalCommand(env, x.Env, p.root)
	x.Listen, x.Below = attempt.Listen, belowAgents{env.Self, p.config.Gate.Shims, pc, true, new(plainCalls)}
	x.Push = pushing{p.repo}.push
	x.Aliases = func(dir string) map[string]string { return gitAliases(dir, baseEnv(env.Environ)) }
	x.Reported, x.Checkout = reported, &trees{p.repo}
	forChecks := env.ofPerson(checkEnv(env.Environ))
	if pc.Isolated {
		w := worktrees{p.repo}
		x.Worktrees, x.Merging, x.Resolving, x.Fence = w, merging{w, p.config.BaseBranch}, resolving{p.repo}, p.repo.Fence()
		x.Setup = step.Setup{Commands: p.config.Worktree.Setup, Copy: p.config.Worktree.Copy, Timeout: p.config.Worktree.SetupTimeout}
		forChecks = append(forChecks, x.Fence) // of two the last one counts
	}
	x.Coverage, x.Secrets, x.Touched, x.Redact = covering{}, secrets.Scan, touched(p.repo), p.redact
	x.Gates = gate.New(p.around(p.procs), p.config.Quality.MaxOutput, agentGrace, forChecks).Redact(p.redact)
	return x
}

// baseEnv is what every agent gets of the person's environment: what a program
// needs to run at all. Keys come only by pass_env (product.md 12).
func baseEnv(environ []string) []string {
	var out []string
	for _, kv := range environ {
		name, _, _ := strings.Cut(kv, "=")
		switch name {
		case "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TZ", "TMPDIR", "TERM":
			out = append(out, kv)
		default:
			if strings.HasPrefix(name, "LC_") || strings.HasPrefix(name, "XDG_") {
				out = append(out, kv)
			}
		}
	}
	return append(out, noCredentials()...)
}

// noKeys is ssh that offers no key.
const noKeys = "ssh -o IdentityAgent=none -o IdentitiesOnly=yes -o IdentityFile=/dev/null -o BatchMode=yes"

// noCredentials keeps the git of agents from what a person logs in with (S4): helpers, agents
// and keys of ssh, questions. Pushes are ralph's own (internal/git, PlanPush). What the
// settings of an agent pass on, as SSH_AUTH_SOCK or GIT_SSH_COMMAND, it has all the same.
func noCredentials() []string {
	return []string{
		"GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=", "SSH_ASKPASS=", "GCM_INTERACTIVE=never", "GH_PROMPT_DISABLED=1",
		"GIT_SSH_COMMAND=" + noKeys,
		"GIT_CONFIG_COUNT=2", "GIT_CONFIG_KEY_0=credential.helper", "GIT_CONFIG_VALUE_0=", "GIT_CONFIG_KEY_1=core.askPass", "GIT_CONFIG_VALUE_1=",
	}
}

// agentEnv is what one agent gets besides: pass_env by name, env as it stands.
func agentEnv(spec ralph.AgentSpec, environ []string) []string {
	var out []string
	for _, kv := range environ {
		name, _, _ := strings.Cut(kv, "=")
		if slices.Contains(spec.PassEnv, name) {
			out = append(out, kv)
		}
	}
	if slices.Contains(spec.PassEnv, "SSH_AUTH_SOCK") { // its keys are for the agent's git too
		out = append(out, "GIT_SSH_COMMAND=ssh -o BatchMode=yes")
	}
	names := make([]string, 0, len(spec.Env))
	for name := range spec.Env {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		out = append(out, name+"="+spec.Env[name])
	}
	return out
}

// checkEnv is the person's own environment: checks are their commands. ralph's
// variables for agents are left out, should it run inside one.
func checkEnv(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(kv string) bool {
		return strings.HasPrefix(kv, "RALPH")
	})
}

// me is this process, for looking at the session lock.
func me() journal.Owner {
	host, err := os.Hostname()
	if err != nil || host == "" {
		host = "localhost"
	}
	o := journal.Owner{Pid: os.Getpid(), Host: host}
	o.Boot, o.PidSpace = proc.Machine()
	return o
}

// owner is this process, for taking the session lock. Its session has no name yet.
func owner(now time.Time) (journal.Owner, error) {
	o := me()
	start, err := proc.Identity(o.Pid)
	if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return o, fmt.Errorf("read this process's start time: %w", err)
	}
	o.Start, o.StartedAt, o.HeartbeatAt = start, now.UTC(), now.UTC()
	return o, nil
}
