package workspace

import (
	"slices"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/agent"
	"github.com/ralph-loop/ralph/internal/check"
	"github.com/ralph-loop/ralph/internal/config"
	"github.com/ralph-loop/ralph/internal/config/setting"
	"github.com/ralph-loop/ralph/internal/policy"
)

// PolicyConfig is what policy needs of the settings.
func PolicyConfig(c config.Config) policy.Config {
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
		ThreadCommit: c.Auto.Commit, ThreadReview: c.Auto.Review, MinConfidence: c.Decision.MinConfidence, Guidance: c.Guidance.Mode == "demo", Cooldown: c.Decision.Cooldown, MaxCompactions: c.Decision.MaxCompactions,
		Approvals: c.Gate.Approvals, Allow: c.Gate.Allow, GateTimeout: c.Gate.Timeout, OnTimeout: c.Gate.OnTimeout, GateScope: c.Gate.Scope,
	}
}

// PolicyUnder are recorded settings under other ones of a person: what the command line, the
// machine and the repository had set then stays as it was.
func PolicyUnder(recorded policy.Config, c config.Config) policy.Config {
	p, r := PolicyConfig(c), recorded
	p.Revision, p.Session, p.Only, p.PlanOnly, p.Commit = r.Revision, r.Session, r.Only, r.PlanOnly, r.Commit
	p.Isolated, p.Unattended, p.Sandbox, p.Write, p.Logins = r.Isolated, r.Unattended, r.Sandbox, r.Write, r.Logins
	p.Checks, p.Commands, p.CheckNames = r.Checks, r.Commands, r.CheckNames
	p.AutoCommit = p.AutoCommit && r.Session == "construct"
	p.Agents = r.Agents
	if chain := c.Chain(); !within(r.Agents, chain) {
		p.Agents = chain
	}
	p.Parallel = r.Parallel
	if r.Isolated && c.Where("parallel").Given() {
		p.Parallel = c.Parallel
	}
	if !c.Where("guidance.mode").Given() {
		p.Guidance = r.Guidance
	}
	if p.Approvals == "auto" && r.Approvals == "ask" { // no sandbox was there
		p.Approvals = r.Approvals
	}
	if r.Session == ralph.ModeAuto && !c.Where("gate.on_timeout").Given() {
		p.OnTimeout = "stop"
	}
	return p
}

// within reports whether all agents that worked are of a chain, in its order: the others of it
// could not be used then.
func within(used, chain []string) bool {
	for _, name := range used {
		at := slices.Index(chain, name)
		if at < 0 {
			return false
		}
		chain = chain[at+1:]
	}
	return len(used) > 0
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

// ChecksOf are the commands that prove a claim: quality commands in order, the test
// command last, also where it is one of them: the same command never twice.
func ChecksOf(c config.Config, root string) []ralph.CheckSpec {
	detected := check.Detect(root)
	commands, test := c.Quality.Commands, c.Test.Command
	if len(commands) == 0 && c.Where("quality.commands").Kind == setting.FromDefault {
		commands = detected.Quality
	}
	if test == "" && c.Where("test.command").Kind == setting.FromDefault {
		test = detected.Test
	}
	var specs []ralph.CheckSpec
	for _, command := range append(slices.DeleteFunc(slices.Clone(commands), func(s string) bool { return s == test }), test) {
		same := func(g ralph.CheckSpec) bool { return g.Command == command }
		if command != "" && !slices.ContainsFunc(specs, same) {
			specs = append(specs, ralph.CheckSpec{Name: command, Command: command, Timeout: c.Quality.Timeout, Test: command == test})
		}
	}
	return specs
}

// diffChecks says what becomes of a doubtful diff. What changes settings is a person's to
// see, never its agent's to mend: gate.self only says whether anybody looks (S2).
func diffChecks(c config.Config) policy.DiffChecks {
	d := policy.DiffChecks{Empty: c.Diff.Empty, Weakened: c.Diff.Weakened, Secrets: c.Diff.Secrets}
	if d.Settings = policy.DiffOff; c.Gate.Self == "hold" {
		d.Settings = policy.DiffGate
	}
	return d
}

// ScheduleConfig is what the scheduler decides with: the settings of the session
// that runs, else those a start of `ralph autopilot` would have now.
func ScheduleConfig(env Env, s *ralph.State) (policy.Config, error) {
	if s.Session.Live() && len(s.Session.Config) > 0 {
		return policy.Decode(s.Session.Config)
	}
	c, err := SettingsOf(env)
	if err != nil {
		return policy.Config{}, err
	}
	pc := PolicyConfig(c)
	pc.Session, pc.Parallel, pc.Isolated = "autopilot", SlotsOf(c), true
	return pc, nil
}

// SlotsOf is the number of slots of `ralph autopilot`.
func SlotsOf(c config.Config) int {
	if c.Where("parallel").Given() {
		return c.Parallel
	}
	return DefaultSlots
}

// DefaultSlots is how many agents `ralph autopilot` has at work at the same time
// unless a person said otherwise.
const DefaultSlots = 3
