package config

import (
	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/config/setting"
)

// key is one setting: its dotted path in the file, where it lies in a Config,
// and what it means. The table of keys is the one place that knows them: the
// reader, the overrides, the schema, `config show` and the page of
// documentation are all made from it.
type key struct {
	path string
	v    setting.Value
	doc  string
	// mask hides what must not be shown; nil shows all.
	mask func(plain any) any
}

// keys returns every setting bound to c, agents included, in the order of the
// file. It is built on call: nothing is paid by commands that need no settings.
func (c *Config) keys() []key {
	k := make([]key, 0, 192)
	k = append(k, c.topKeys()...)
	for i := range c.Agents {
		k = append(k, agentKeys(&c.Agents[i])...)
	}
	k = append(k, key{path: "prices", v: setting.Prices(&c.Prices), doc: "dollars per million tokens by model, for agents that report no cost: `{input: , cached: , output: }`"})
	k = append(k, c.workKeys()...)
	k = append(k, c.checkKeys()...)
	k = append(k, c.modeKeys()...)
	k = append(k, c.serviceKeys()...)
	return k
}

func (c *Config) topKeys() []key {
	return []key{
		{path: "version", v: setting.UpTo(&c.Version, 1, 1), doc: "the format of this file; always 1"},
		{path: "mode", v: setting.OneOf(&c.Mode, "manual", "step", "semi", "autopilot"), doc: "`manual`: full speed, stop on the first error; `step`: each task waits for approval; `semi`: a person assigns tasks; `autopilot`: autonomous"},
		{path: "parallel", v: setting.UpTo(&c.Parallel, 1, ralph.MostParallel), doc: "agents at work at the same time; `ralph autopilot` uses 3 unless this is set"},
		{path: "isolation", v: setting.OneOf(&c.Isolation, "none", "worktree", "auto"), doc: "where agents work: in your checkout, in a worktree each, or a worktree only when `parallel` is above 1"},
		{path: "require_approval_to_start", v: setting.OnOff(&c.RequireApprovalToStart), doc: "a start waits until someone approves it"},
		{path: "base_branch", v: setting.Text(&c.BaseBranch, setting.CheckBranch), doc: "the branch that work starts from and lands on; empty: the one checked out at the start"},
		{path: "agent.primary", v: setting.Text(&c.Agent.Primary, nil), doc: "the agent that works, one of the names under `agents`"},
		{path: "agent.fallback", v: setting.List(&c.Agent.Fallback, nil), doc: "agents tried in this order while the one before is rate limited"},
		{path: "agent.recover_primary", v: setting.OnOff(&c.Agent.RecoverPrimary), doc: "try the primary again between tasks"},
		{path: "agent.context", v: setting.OneOf(&c.Agent.Context, "fresh", "continue"), doc: "a new agent session for each iteration, or one for the whole task"},
		{path: "agent.mcp", v: setting.OnOff(&c.Agent.MCP), doc: "agents whose program takes MCP servers get ralph's own: signal, progress, ask_human, learnings, task_info"},
	}
}

// agentKeys are the settings of one agent. Its name is no setting.
func agentKeys(a *ralph.AgentSpec) []key {
	at := "agents." + a.Name + "."
	return []key{
		{path: at + "driver", v: setting.OneOf(&a.Driver, "codex", "claude", "acp", "exec", "api", "scripted"), doc: "how ralph talks to the agent"},
		{path: at + "command", v: setting.List(&a.Command, nil), doc: "the program and its first arguments"},
		{path: at + "model", v: setting.Text(&a.Model, nil), doc: "the model; empty: the agent's own default. Driver `api`: `provider:model`, such as `ollama:qwen3`; providers are openai, responses, anthropic, ollama"},
		{path: at + "base_url", v: setting.Text(&a.BaseURL, nil), doc: "driver `api`: where the model is asked, such as `https://host/v1`; empty: the provider's own address"},
		{path: at + "key_env", v: setting.Text(&a.KeyEnv, setting.NoneOrEnvName), doc: "driver `api`: the environment variable that holds the key; empty: the provider's own, which other addresses never get"},
		{path: at + "window", v: setting.Count(&a.Window, 0), doc: "driver `api`: tokens that the model can hold; 0: 128000, of Ollama 32768"},
		{path: at + "args", v: setting.List(&a.Args, nil), doc: "further arguments"},
		{path: at + "env", v: setting.Table(&a.Env, "variables with their values, such as {NAME: value}", setting.CheckEnvName, nil), doc: "environment variables set for the agent", mask: maskEnv},
		{path: at + "pass_env", v: setting.List(&a.PassEnv, setting.CheckEnvName), doc: "names of your environment variables that the agent may see"},
		{path: at + "prompt", v: setting.OneOf(&a.Prompt, "", "stdin", "arg", "file"), doc: "driver `exec`: the prompt comes on standard input (also when empty), replaces `{prompt}`, or lies in the file `{prompt_file}`"},
		{path: at + "project", v: setting.OnOff(&a.Project), doc: "drivers `claude` and `acp`: the repository's own settings count, so its hooks and MCP servers run without a question; otherwise they do not"},
		{path: at + "output", v: setting.OneOf(&a.Output, append([]string{""}, ralph.ExecOutputs()...)...), doc: "driver `exec`: how its output is read: as `text` (also when empty), as `jsonl` by the rows of `events`, or as that of a program that ralph knows"},
		{path: at + "events", v: setting.Events(&a.Events), doc: "driver `exec`: what the lines of JSON that the agent prints mean: rows of `{match: {path: value}, kind: , text: path, ...}` (docs/agents.md)"},
		{path: at + "resume", v: setting.List(&a.Resume, nil), doc: "driver `exec`: the arguments by which the agent goes on with `{session}`; none: it cannot"},
		{path: at + "scenario", v: setting.Text(&a.Scenario, nil), doc: "driver `scripted`: a built-in scenario or a YAML file"},
	}
}

func (c *Config) workKeys() []key {
	t, n, e, s := &c.Task, &c.Construct, &c.Errors, &c.Scoring
	keys := []key{
		{path: "task.max_iterations", v: setting.Count(&t.MaxIterations, 1), doc: "agent turns that one task may take; then it ends as timeout"},
		{path: "task.stuck_threshold", v: setting.Count(&t.StuckThreshold, 0), doc: "turns without progress before a warning; 0: never"},
		{path: "task.timeout", v: setting.Duration(&t.Timeout), doc: "time that one task may take; 0s: no limit"},
		{path: "task.no_progress_turns", v: setting.Count(&t.NoProgressTurns, 0), doc: "turns in a row without a change after which the task fails; not below `task.stuck_threshold`, or 0: never"},
		{path: "task.progress", v: setting.OneOf(&t.Progress, "commit", "change"), doc: "what counts as progress: only a commit, or any change"},
		{path: "task.same_error_turns", v: setting.Count(&t.SameErrorTurns, 0), doc: "turns with the same kind of error before a stop; 0: never"},
		{path: "task.delay", v: setting.Duration(&t.Delay), doc: "pause between two tasks in the same slot"},
		{path: "task.auto_commit", v: setting.OnOff(&t.AutoCommit), doc: "commit after each task; agent mode commits once per spec instead"},
		{path: "construct.stage_timeout", v: setting.Duration(&n.StageTimeout), doc: "time for one turn of INVESTIGATE, VERIFY or DECOMPOSE; 0s: no limit"},
		{path: "construct.max_rounds", v: setting.Count(&n.MaxRounds, 1), doc: "rounds of INVESTIGATE, BUILD and VERIFY that one spec may take"},
		{path: "construct.context_warn", v: setting.Share(&n.ContextWarn), doc: "share of the model's window at which to warn"},
		{path: "construct.context_compact", v: setting.Share(&n.ContextCompact), doc: "share at which the agent's context is compacted"},
		{path: "construct.context_kill", v: setting.Share(&n.ContextKill), doc: "share at which the turn is ended"},
		{path: "errors.strategy", v: setting.OneOf(&e.Strategy, "retry", "skip", "abort"), doc: "what happens when a turn fails"},
		{path: "errors.max_retries", v: setting.UpTo(&e.MaxRetries, 0, 100), doc: "retries after the first attempt"},
		{path: "errors.retry_base", v: setting.Duration(&e.RetryBase), doc: "wait before the first retry; doubles each time"},
		{path: "errors.max_rate_limit_retries", v: setting.UpTo(&e.MaxRateLimitRetries, 0, 100), doc: "waits for a rate limit before the next agent takes over"},
		{path: "errors.rate_limit_base", v: setting.Duration(&e.RateLimitBase), doc: "first wait for a rate limit that names no time; triples each time"},
		{path: "errors.rate_limit_patience", v: setting.Duration(&e.RateLimitPatience), doc: "how long an agent may try again by itself, at a limit or without a connection, before ralph ends its turn and another agent takes over; 0s: not at all"},
		{path: "errors.network_retry", v: setting.Duration(&e.NetworkRetry), doc: "wait between two tries of an agent that has no connection; 0s: a minute"},
		{path: "errors.max_consecutive", v: setting.Count(&e.MaxConsecutive, 1), doc: "tasks that may fail in a row before a pause"},
		{path: "errors.count_timeouts", v: setting.OnOff(&e.CountTimeouts), doc: "tasks that ran out of time count into `errors.max_consecutive` as well"},
		{path: "log.level", v: setting.OneOf(&c.Log.Level, "info", "debug"), doc: "what `ralph log` and the log file of a run have: what is worth a line (`info`), or every fact with what it moved and why (`debug`)"},
		{path: "limits.wait", v: setting.OneOf(&c.Limits.Wait, "auto", "ask", "off"), doc: "when every agent is at its limit: pause and go on by itself (`auto`), pause until `ralph resume` (`ask`), or end (`off`)"},
	}
	keys = append(keys, budgetKeys("budget.", "session", &c.Budget.Budget)...)
	keys = append(keys, budgetKeys("budget.spec.", "spec", &c.Budget.Spec)...)
	keys = append(keys, budgetKeys("budget.task.", "task", &c.Budget.Task)...)
	return append(keys, []key{
		{path: "scoring.unblocks", v: points(&s.Unblocks), doc: "points of a ready task for each task that waits for it"},
		{path: "scoring.critical", v: points(&s.Critical), doc: "points for the tag `critical`"},
		{path: "scoring.quick_win", v: points(&s.QuickWin), doc: "points for the tag `quick-win`"},
		{path: "scoring.near_complete", v: points(&s.NearComplete), doc: "points when more than half of the parent's tasks are done"},
		{path: "scoring.retry", v: points(&s.Retry), doc: "points for each retry so far"},
	}...)
}

func budgetKeys(at, scope string, b *Budget) []key {
	return []key{
		{path: at + "tokens", v: setting.Tokens(&b.Tokens, 1<<50), doc: "tokens per " + scope + "; 0: no limit"},
		{path: at + "cost", v: setting.Dollars(&b.Cost), doc: "dollars per " + scope + "; 0: no limit"},
		{path: at + "time", v: setting.Duration(&b.Time), doc: "running time per " + scope + "; 0s: no limit"},
		{path: at + "iterations", v: setting.Count(&b.Iterations, 0), doc: "agent turns per " + scope + "; 0: no limit"},
	}
}

func points(p *int) setting.Value { return setting.UpTo(p, -1_000_000, 1_000_000) }

func (c *Config) checkKeys() []key {
	q, t, g, w, m := &c.Quality, &c.Test, &c.Gate, &c.Worktree, &c.Merge
	return []key{
		{path: "commit.message", v: setting.Text(&c.Commit.Message, ralph.BadSubject), doc: "the subject of ralph's commits of tasks, specs and merges, with `{summary}`, `{spec}`, `{task}` (empty for the commit of a spec) and `{id}`, such as `PROJ-123 {summary}`"},
		{path: "commit.anchors", v: setting.OneOf(&c.Commit.Anchors, "unsigned", "signed"), doc: "at the end of a session git is told how far the journal has come, for `ralph verify`: `signed`: by the key that git signs commits with (`gpg.format`, `user.signingKey`)"},
		{path: "quality.commands", v: setting.List(&q.Commands, nil), doc: "commands that must pass before a task is done, in this order; none: detected"},
		{path: "quality.timeout", v: setting.Duration(&q.Timeout), doc: "time for each command; 0s: no limit"},
		{path: "quality.max_output", v: setting.Size(&q.MaxOutput, 1<<10, 64<<20), doc: "output kept for the next prompt, head and tail"},
		{path: "quality.baseline", v: setting.OneOf(&q.Baseline, "strict", "known"), doc: "checks that were red before the work: `strict`: red is red, and a person is asked when nothing else is; `known`: what failed before in the same way, by the names of tests, is let pass, and told"},
		{path: "quality.pass_env", v: setting.List(&q.PassEnv, setting.CheckEnvName), doc: "names of your environment variables that read like secrets and that checks and set-up commands may see all the same; in a sandbox they run what agents wrote, so that others are left out"},
		{path: "quality.changes", v: setting.OneOf(&q.Changes, "restore", "keep"), doc: "what checks write in files that git sees: `restore`: the commit holds the tree that was checked, what they wrote is put back; `keep`: it becomes part of the work, and is checked again"},
		{path: "test.command", v: setting.Text(&t.Command, nil), doc: "the test command; empty: detected"},
		{path: "test.coverage", v: setting.Percent(&t.Coverage), doc: "percent of coverage that tests must reach where the project reports it; unless you set it, work that lowers nothing is not red; 0: off"},
		{path: "test.retries", v: setting.Count(&t.Retries, 0), doc: "red test runs that are tried again before a person is asked"},
		{path: "test.retry", v: setting.OneOf(&t.Retry, "agent", "rerun"), doc: "`agent`: the output goes into the next iteration; `rerun`: the tests run again at once, for flaky suites"},
		{path: "diff.empty", v: setting.OneOf(&c.Diff.Empty, "red", "gate", "off"), doc: "a task that is said to be done and has changed nothing: `red` tells its agent, and at the second time it is done if the checks are green (a person is asked where there are none); `gate` asks a person at once; `off`: nobody looks"},
		{path: "diff.weakened", v: setting.OneOf(&c.Diff.Weakened, "red", "gate", "off"), doc: "a diff that removes, skips or weakens tests: `red` sends it back to its agent; `gate` asks a person, once all else is green; `off`: nobody looks, nor before the merge"},
		{path: "diff.secrets", v: setting.OneOf(&c.Diff.Secrets, "red", "gate", "off"), doc: "a diff that adds what looks like a key, a token or a password: `red` sends it back to its agent; `gate` asks a person; `off`: nobody looks"},
		{path: "gate.patterns", v: setting.List(&g.Patterns, setting.CheckPattern), doc: "regular expressions, without regard to case, of commands and tool calls that wait for a person"},
		{path: "gate.extra_patterns", v: setting.List(&g.ExtraPatterns, setting.CheckPattern), doc: "more of them, beside the list above"},
		{path: "gate.pre_approved", v: setting.List(&g.PreApproved, nil), doc: "patterns of the list above, or the first words of commands, that need nobody all the same; the never list still holds"},
		{path: "gate.timeout", v: setting.Duration(&g.Timeout), doc: "how long a gate waits; 0s: without limit"},
		{path: "gate.on_timeout", v: setting.OneOf(&g.OnTimeout, "skip", "stop"), doc: "an expired gate skips the operation or stops the run; `ralph auto` stops unless set"},
		{path: "gate.scope", v: setting.OneOf(&g.Scope, "agent", "session"), doc: "what waits while a gate is open"},
		{path: "gate.approvals", v: setting.OneOf(&g.Approvals, "auto", "ask", "policy", "never"), doc: "who answers what an agent wants to do: nobody, as long as it stays in the sandbox, and else a person (`auto`; `ask` where there is no sandbox), a person (`ask`), the rules and then a person (`policy`), or ralph with yes (`never`); the never list and `gate.patterns` wait for a person in each case"},
		{path: "gate.allow", v: setting.List(&g.Allow, nil), doc: "with `policy`: commands and paths that need nobody"},
		{path: "gate.self", v: setting.OneOf(&g.Self, "hold", "off"), doc: "work that changes settings of ralph, git, CI or agents: `hold` asks a person before it is committed or merged; `off`: nobody looks"},
		{path: "gate.input_timeout", v: setting.Duration(&g.InputTimeout), doc: "how long an agent's question waits; 0s: without limit"},
		{path: "gate.shims", v: setting.List(&g.Shims, setting.CheckProgram), doc: "programs that get a command shim in front of an agent's `PATH`; `[]`: none"},
		{path: "sandbox.kind", v: setting.OneOf(&c.Sandbox.Kind, "off", "auto", "landlock", "bubblewrap"), doc: "what keeps agents, checks, set-up commands and hooks from writing outside their work tree and temporary folders: nothing, whatever the system has (bubblewrap before landlock), or one of both"},
		{path: "sandbox.write", v: setting.List(&c.Sandbox.Write, setting.CheckFolder), doc: "what they may write all the same, caches above all; `~/` is your home, what is not there is passed over, and so is what a link leads to that lies where agents may write"},
		{path: "sandbox.extra_write", v: setting.List(&c.Sandbox.ExtraWrite, setting.CheckFolder), doc: "more of it, beside the list above; sockets that lie in it can be reached"},
		{path: "sandbox.hide", v: setting.List(&c.Sandbox.Hide, setting.CheckFolder), doc: "what they cannot read: keys, tokens and sockets that give power elsewhere; `~/` is your home, `*` any part of a name"},
		{path: "sandbox.extra_hide", v: setting.List(&c.Sandbox.ExtraHide, setting.CheckFolder), doc: "more of it, beside the list above"},
		{path: "sandbox.hide_private", v: setting.OnOff(&c.Sandbox.HidePrivate), doc: "hide each file among the dot files of your home that you alone may read, too: whatever the tool is called, its login is one"},
		{path: "sandbox.show", v: setting.List(&c.Sandbox.Show, setting.CheckFolder), doc: "what they can read all the same, of the lists above and of private files"},
		{path: "worktree.setup", v: setting.List(&w.Setup, nil), doc: "commands that every new worktree needs"},
		{path: "worktree.copy", v: setting.List(&w.Copy, setting.CheckLocal), doc: "files that every new worktree gets, such as `.env`"},
		{path: "worktree.setup_timeout", v: setting.Duration(&w.SetupTimeout), doc: "time for all of `worktree.setup`; 0s: no limit"},
		{path: "merge.auto", v: setting.OnOff(&m.Auto), doc: "merge finished tasks without asking"},
		{path: "merge.batch", v: setting.Count(&m.Batch, 1), doc: "tasks tested together; a red batch is bisected"},
		{path: "merge.conflict_retries", v: setting.UpTo(&m.ConflictRetries, 0, 100), doc: "tries to resolve a conflict before a person is asked"},
		{path: "land.how", v: setting.OneOf(&c.Land.How, "commit", "branch", "pr"), doc: "how the work of a spec reaches people: `commit`: on the base branch; `branch`: on a branch for each spec, pushed to `land.remote` and never forced, with the text of its pull request in a file; `pr`: that branch, and its pull request at GitHub. A spec may say so itself (docs/issues.md). `branch` and `pr` work in worktrees"},
		{path: "land.per", v: setting.OneOf(&c.Land.Per, "spec", "task"), doc: "`task`: each task goes out on a branch of its own, with a pull request of its own, instead of one for all of its spec (docs/issues.md)"},
		{path: "land.branch", v: setting.Text(&c.Land.Branch, setting.CheckTemplate), doc: "the name of that branch, with `{spec}` (its file without .md), `{id}` and `{date}`"},
		{path: "land.remote", v: setting.Text(&c.Land.Remote, setting.CheckRemote), doc: "the git remote that it is pushed to"},
		{path: "land.draft", v: setting.OnOff(&c.Land.Draft), doc: "pull requests are opened as drafts"},
		{path: "land.labels", v: setting.List(&c.Land.Labels, nil), doc: "labels that pull requests get"},
		{path: "land.reviewers", v: setting.List(&c.Land.Reviewers, nil), doc: "who is asked to review them"},
		{path: "land.auto_merge", v: setting.OneOf(&c.Land.AutoMerge, "off", "when_green"), doc: "`when_green`: ralph merges its pull request when the checks of the service are green, and nobody asked for changes"},
		{path: "land.follow", v: setting.OnOff(&c.Land.Follow), doc: "red checks of the service and what reviewers say become another round of the spec on the same branch, up to `construct.max_rounds` rounds"},
		{path: "land.allow", v: setting.List(&c.Land.Allow, nil), doc: "whose reviews: `team` (owners, members and collaborators of the repository), `anyone`, or names"},
		{path: "land.poll", v: setting.Positive(&c.Land.Poll), doc: "time between two looks at a pull request"},
		{path: "inbox.sources", v: setting.Sources(&c.Inbox.Sources), doc: "issues that become specs: `[{service: github, query: 'label:ralph is:open', every: 5m, allow: [team]}]`; `service` may be jira or ado; `repo` is another than `sync.github.repo` (docs/issues.md)"},
		{path: "merge.resolver", v: setting.OneOf(&m.Resolver, "agent", "human"), doc: "who resolves conflicts that git cannot"},
	}
}

func (c *Config) modeKeys() []key {
	a, d, g := &c.AgentMode, &c.Decision, &c.Guidance
	return []key{
		{path: "agent_mode.max_specs", v: setting.Count(&a.MaxSpecs, 0), doc: "`ralph agent` ends after so many done specs; 0: no limit"},
		{path: "agent_mode.max_cost", v: setting.Dollars(&a.MaxCost), doc: "`ralph agent` ends above so many dollars; 0: no limit"},
		{path: "agent_mode.max_failures", v: setting.Count(&a.MaxFailures, 1), doc: "`ralph agent` ends after so many failed specs in a row"},
		{path: "agent_mode.on_failure", v: setting.OneOf(&a.OnFailure, "stash", "reset", "keep"), doc: "what happens to the changes of a failed spec"},
		{path: "auto.commit", v: setting.OneOf(&c.Auto.Commit, "end", "turn", "never"), doc: "when a thread of `ralph auto` in your checkout commits: once when it is finished and its checks are green, after each turn, or never"},
		{path: "auto.review", v: setting.OneOf(&c.Auto.Review, "end", "off"), doc: "a finished thread that changed files is reviewed before it stops, or not"},
		{path: "decision.engine", v: setting.OneOf(&d.Engine, "rules", "llm"), doc: "who decides after a turn of `ralph auto`: the rules alone, or a model within the rules (docs/decisions.md)"},
		{path: "decision.model", v: setting.Text(&d.Model, setting.CheckModel), doc: "`ollama:<model>`, `openai:<model>`, `responses:<model>`, `anthropic:<model>`, or `codex` (`codex:<model>`), which is the agent of that name; the key of a service is in the variable that its provider names (`OPENAI_API_KEY`, `ANTHROPIC_API_KEY`)"},
		{path: "decision.fallback", v: setting.List(&d.Fallback, setting.CheckFallback), doc: "models that are asked in this order when that one cannot be asked; after the last the rules decide"},
		{path: "decision.base_url", v: setting.Text(&d.BaseURL, setting.CheckURL), doc: "address of the service of `decision.model`; empty: its usual one"},
		{path: "decision.base_urls", v: setting.Table(&d.BaseURLs, "addresses by model, such as {'ollama:qwen3': 'http://127.0.0.1:11434'}", setting.CheckFallback, setting.CheckURL), doc: "addresses by model, for those of `decision.fallback` and of `ralph decide --model`"},
		{path: "decision.key_envs", v: setting.Table(&d.KeyEnvs, "names of variables by model, such as {'openai:m1': MY_KEY}", setting.CheckFallback, setting.CheckTokenEnv), doc: "names of the environment variables with the keys, by model: an address of your own gets no key unless it is named here"},
		{path: "decision.timeout", v: setting.Positive(&d.Timeout), doc: "time that each model has for its answer, with all its tries"},
		{path: "decision.min_confidence", v: setting.Share(&d.MinConfidence), doc: "below it the run pauses"},
		{path: "decision.history", v: setting.Count(&d.History, 0), doc: "earlier decisions that the model sees"},
		{path: "decision.cooldown", v: setting.Duration(&d.Cooldown), doc: "rest of a thread after a turn that changed nothing; it doubles with each one more, up to a minute"},
		{path: "decision.max_compactions", v: setting.Count(&d.MaxCompactions, 0), doc: "compactions within 5 turns before a thread stops; 0: never"},
		{path: "guidance.mode", v: setting.OneOf(&g.Mode, "off", "demo"), doc: "`demo`: before its first turn a model understands and plans what a thread of `ralph auto` is asked for, and after each turn says what is next (docs/auto.md); also `OPENAGENTS_GUIDANCE_MODE`"},
		{path: "guidance.model", v: setting.Text(&g.Model, setting.CheckModel), doc: "its model, as in `decision.model`, before a local Ollama; empty: those of `decision` with the engine `llm`, else `codex`; also `OPENAGENTS_GUIDANCE_MODEL`"},
	}
}

func (c *Config) serviceKeys() []key {
	s, n, f := &c.Sync, &c.Notify, &c.Fleet
	k := []key{
		{path: "sync.every_tasks", v: setting.Count(&s.EveryTasks, 0), doc: "push progress after so many tasks; 0: only at the end"},
		{path: "sync.living_docs.enabled", v: setting.OnOff(&s.LivingDocs.Enabled), doc: "keep a page about each spec that is done, and an index of them, committed with the spec (docs/issues.md)"},
		{path: "sync.living_docs.path", v: setting.Text(&s.LivingDocs.Path, setting.CheckLocal), doc: "the folder of these pages, relative to the repository"},
		{path: "sync.github.enabled", v: setting.OnOff(&s.GitHub.Enabled), doc: "push progress to GitHub"},
		{path: "sync.github.repo", v: setting.Text(&s.GitHub.Repo, setting.CheckRepo), doc: "`owner/name`; empty: from the remote `origin`"},
		{path: "sync.github.token_env", v: setting.Text(&s.GitHub.TokenEnv, setting.CheckTokenEnv), doc: "name of the environment variable with the token"},
		{path: "sync.github.base_url", v: setting.Text(&s.GitHub.BaseURL, setting.CheckURL), doc: "address of a GitHub Enterprise server"},
		{path: "sync.jira.enabled", v: setting.OnOff(&s.Jira.Enabled), doc: "push progress to Jira"},
		{path: "sync.jira.url", v: setting.Text(&s.Jira.URL, setting.CheckURL), doc: "address of the Jira site"},
		{path: "sync.jira.project", v: setting.Text(&s.Jira.Project, nil), doc: "key of the project"},
		{path: "sync.jira.user_env", v: setting.Text(&s.Jira.UserEnv, setting.CheckTokenEnv), doc: "name of the environment variable with the user"},
		{path: "sync.jira.token_env", v: setting.Text(&s.Jira.TokenEnv, setting.CheckTokenEnv), doc: "name of the environment variable with the token"},
		{path: "sync.ado.enabled", v: setting.OnOff(&s.ADO.Enabled), doc: "push progress to Azure DevOps"},
		{path: "sync.ado.url", v: setting.Text(&s.ADO.URL, setting.CheckURL), doc: "address of the organization"},
		{path: "sync.ado.project", v: setting.Text(&s.ADO.Project, nil), doc: "name of the project"},
		{path: "sync.ado.token_env", v: setting.Text(&s.ADO.TokenEnv, setting.CheckTokenEnv), doc: "name of the environment variable with the token"},
	}
	k = append(k, key{path: "sync.github.board", v: setting.Text(&s.GitHub.Board, setting.CheckBoard), doc: "the project whose fields `sync.github.fields` sets: `orgs/acme/7` or `users/anna/7`"})
	k = append(k, momentKeys("sync.github.", &s.GitHub.Labels, &s.GitHub.States, &s.GitHub.Fields)...)
	k = append(k, momentKeys("sync.jira.", &s.Jira.Labels, &s.Jira.States, &s.Jira.Fields)...)
	k = append(k, momentKeys("sync.ado.", &s.ADO.Labels, &s.ADO.States, &s.ADO.Fields)...)
	k = append(k, breakerKeys("breakers.github.", &c.Breakers.GitHub)...)
	k = append(k, breakerKeys("breakers.jira.", &c.Breakers.Jira)...)
	k = append(k, breakerKeys("breakers.ado.", &c.Breakers.ADO)...)
	return append(k,
		key{path: "notify.sounds", v: setting.OnOff(&n.Sounds), doc: "play sounds"},
		key{path: "notify.desktop", v: setting.OnOff(&n.Desktop), doc: "show desktop notifications"},
		key{path: "notify.webhooks", v: setting.List(&n.Webhooks, setting.CheckWebhook), doc: "addresses that get a message: of Slack, ntfy, Discord and others, or any https address, which gets JSON; see notifications.md", mask: maskWebhooks},
		key{path: "notify.events", v: setting.Table(&n.Events, "events with their sounds, such as {step-complete: aiComplete}", setting.CheckNoticeEvent, setting.CheckSound), doc: "event to sound, `none` for silence; events that are not named keep their usual sounds, see notifications.md"},
		key{path: "web.addr", v: setting.Text(&c.Web.Addr, setting.CheckAddr), doc: "where the dashboard listens, host:port"},
		key{path: "web.open", v: setting.OnOff(&c.Web.Open), doc: "open the browser"},
		key{path: "ui.keys", v: setting.Keys(&c.UI.Keys), doc: "keys of `ralph ui` and of the dashboard by action, or by what they do on the screen: `{pause: P, skip: S}`; the others stay as they are (docs/ui.md)"},
		key{path: "fleet.engine", v: setting.OneOf(&f.Engine, "temporal"), doc: "what carries work to other machines"},
		key{path: "fleet.address", v: setting.Text(&f.Address, setting.CheckAddr), doc: "its address, host:port"},
		key{path: "fleet.namespace", v: setting.Text(&f.Namespace, setting.CheckFilled), doc: "its namespace"},
		key{path: "fleet.task_queue", v: setting.Text(&f.TaskQueue, setting.CheckFilled), doc: "how the names of its queues begin: workers read those of one fleet"},
		key{path: "fleet.remote", v: setting.Text(&f.Remote, nil), doc: "the git remote by which all machines reach the repository: its name, or an address"},
		key{path: "fleet.labels", v: setting.List(&f.Labels, setting.CheckLabel), doc: "labels that a worker must have to get steps of this repository, such as `[gpu, os=linux]`; `worker:` in the head of a spec asks for more (docs/fleet.md)"},
	)
}

func breakerKeys(at string, b *Breaker) []key {
	return []key{
		{path: at + "failures", v: setting.Count(&b.Failures, 1), doc: "failures that open the breaker"},
		{path: at + "window", v: setting.Positive(&b.Window), doc: "the time in which they must happen"},
		{path: at + "reset", v: setting.Positive(&b.Reset), doc: "time until it tries again"},
		{path: at + "successes", v: setting.Count(&b.Successes, 1), doc: "successes that close it"},
	}
}
