package config

import (
	"math"
	"time"

	"github.com/ralph-loop/ralph"
)

// key is one setting: its dotted path in the file, where it lies in a Config,
// and what it means. The table of keys is the one place that knows them: the
// reader, the overrides, the schema, `config show` and the page of
// documentation are all made from it.
type key struct {
	path string
	v    value
	doc  string
	// mask hides what must not be shown; nil shows all.
	mask func(plain any) any
}

// maxCount bounds counts, so that sums of them cannot overflow.
const maxCount = 1_000_000_000

func count(p *int, lowest int) value { return number[int]{p, lowest, maxCount} }

func upTo(p *int, lowest, highest int) value               { return number[int]{p, lowest, highest} }
func share(p *float64) value                               { return amount{p, 0, 1} }
func dollars(p *float64) value                             { return amount{p, 0, math.MaxFloat64} }
func onOff(p *bool) value                                  { return toggle{p} }
func oneOf(p *string, words ...string) value               { return text{p: p, words: words} }
func plainText(p *string, check func(string) string) value { return text{p: p, check: check} }
func duration(p *time.Duration) value                      { return span{p: p} }
func commands(p *[]string) value                           { return list{p: p} }

// keys returns every setting bound to c, agents included, in the order of the
// file. It is built on call: nothing is paid by commands that need no settings.
func (c *Config) keys() []key {
	k := make([]key, 0, 192)
	k = append(k, c.topKeys()...)
	for i := range c.Agents {
		k = append(k, agentKeys(&c.Agents[i])...)
	}
	k = append(k, key{path: "prices", v: priceList{&c.Prices}, doc: "dollars per million tokens by model, for agents that report no cost: `{input: , cached: , output: }`"})
	k = append(k, c.workKeys()...)
	k = append(k, c.checkKeys()...)
	k = append(k, c.modeKeys()...)
	k = append(k, c.serviceKeys()...)
	return k
}

func (c *Config) topKeys() []key {
	return []key{
		{path: "version", v: number[int]{&c.Version, 1, 1}, doc: "the format of this file; always 1"},
		{path: "mode", v: oneOf(&c.Mode, "manual", "step", "semi", "autopilot"), doc: "`manual`: full speed, stop on the first error; `step`: each task waits for approval; `semi`: a person assigns tasks; `autopilot`: autonomous"},
		{path: "parallel", v: upTo(&c.Parallel, 1, ralph.MostParallel), doc: "agents at work at the same time; `ralph autopilot` uses 3 unless this is set"},
		{path: "isolation", v: oneOf(&c.Isolation, "none", "worktree", "auto"), doc: "where agents work: in your checkout, in a worktree each, or a worktree only when `parallel` is above 1"},
		{path: "require_approval_to_start", v: onOff(&c.RequireApprovalToStart), doc: "a start waits until someone approves it"},
		{path: "base_branch", v: plainText(&c.BaseBranch, checkBranch), doc: "the branch that work starts from and lands on; empty: the one checked out at the start"},
		{path: "agent.primary", v: plainText(&c.Agent.Primary, nil), doc: "the agent that works, one of the names under `agents`"},
		{path: "agent.fallback", v: list{p: &c.Agent.Fallback}, doc: "agents tried in this order while the one before is rate limited"},
		{path: "agent.recover_primary", v: onOff(&c.Agent.RecoverPrimary), doc: "try the primary again between tasks"},
		{path: "agent.context", v: oneOf(&c.Agent.Context, "fresh", "continue"), doc: "a new agent session for each iteration, or one for the whole task"},
		{path: "agent.mcp", v: onOff(&c.Agent.MCP), doc: "agents whose program takes MCP servers get ralph's own: signal, progress, ask_human, learnings, task_info"},
	}
}

// agentKeys are the settings of one agent. Its name is no setting.
func agentKeys(a *ralph.AgentSpec) []key {
	at := "agents." + a.Name + "."
	return []key{
		{path: at + "driver", v: oneOf(&a.Driver, "codex", "claude", "acp", "exec", "api", "scripted"), doc: "how ralph talks to the agent"},
		{path: at + "command", v: commands(&a.Command), doc: "the program and its first arguments"},
		{path: at + "model", v: plainText(&a.Model, nil), doc: "the model; empty: the agent's own default. Driver `api`: `provider:model`, such as `ollama:qwen3`; providers are openai, responses, anthropic, ollama"},
		{path: at + "base_url", v: plainText(&a.BaseURL, nil), doc: "driver `api`: where the model is asked, such as `https://host/v1`; empty: the provider's own address"},
		{path: at + "key_env", v: plainText(&a.KeyEnv, noneOrEnvName), doc: "driver `api`: the environment variable that holds the key; empty: the provider's own, which other addresses never get"},
		{path: at + "window", v: count(&a.Window, 0), doc: "driver `api`: tokens that the model can hold; 0: 128000, of Ollama 32768"},
		{path: at + "args", v: commands(&a.Args), doc: "further arguments"},
		{path: at + "env", v: table{p: &a.Env, want: "variables with their values, such as {NAME: value}", checkKey: checkEnvName}, doc: "environment variables set for the agent", mask: maskEnv},
		{path: at + "pass_env", v: list{&a.PassEnv, checkEnvName}, doc: "names of your environment variables that the agent may see"},
		{path: at + "prompt", v: oneOf(&a.Prompt, "", "stdin", "arg", "file"), doc: "driver `exec`: the prompt comes on standard input (also when empty), replaces `{prompt}`, or lies in the file `{prompt_file}`"},
		{path: at + "project", v: onOff(&a.Project), doc: "drivers `claude` and `acp`: the repository's own settings count, so its hooks and MCP servers run without a question; otherwise they do not"},
		{path: at + "output", v: oneOf(&a.Output, append([]string{""}, ralph.ExecOutputs()...)...), doc: "driver `exec`: how its output is read: as `text` (also when empty), as `jsonl` by the rows of `events`, or as that of a program that ralph knows"},
		{path: at + "events", v: eventRows{&a.Events}, doc: "driver `exec`: what the lines of JSON that the agent prints mean: rows of `{match: {path: value}, kind: , text: path, ...}` (docs/agents.md)"},
		{path: at + "resume", v: commands(&a.Resume), doc: "driver `exec`: the arguments by which the agent goes on with `{session}`; none: it cannot"},
		{path: at + "scenario", v: plainText(&a.Scenario, nil), doc: "driver `scripted`: a built-in scenario or a YAML file"},
	}
}

func (c *Config) workKeys() []key {
	t, n, e, s := &c.Task, &c.Construct, &c.Errors, &c.Scoring
	keys := []key{
		{path: "task.max_iterations", v: count(&t.MaxIterations, 1), doc: "agent turns that one task may take; then it ends as timeout"},
		{path: "task.stuck_threshold", v: count(&t.StuckThreshold, 0), doc: "turns without progress before a warning; 0: never"},
		{path: "task.timeout", v: duration(&t.Timeout), doc: "time that one task may take; 0s: no limit"},
		{path: "task.no_progress_turns", v: count(&t.NoProgressTurns, 0), doc: "turns in a row without a change after which the task fails; not below `task.stuck_threshold`, or 0: never"},
		{path: "task.progress", v: oneOf(&t.Progress, "commit", "change"), doc: "what counts as progress: only a commit, or any change"},
		{path: "task.same_error_turns", v: count(&t.SameErrorTurns, 0), doc: "turns with the same kind of error before a stop; 0: never"},
		{path: "task.delay", v: duration(&t.Delay), doc: "pause between two tasks in the same slot"},
		{path: "task.auto_commit", v: onOff(&t.AutoCommit), doc: "commit after each task; agent mode commits once per spec instead"},
		{path: "construct.stage_timeout", v: duration(&n.StageTimeout), doc: "time for one turn of INVESTIGATE, VERIFY or DECOMPOSE; 0s: no limit"},
		{path: "construct.max_rounds", v: count(&n.MaxRounds, 1), doc: "rounds of INVESTIGATE, BUILD and VERIFY that one spec may take"},
		{path: "construct.context_warn", v: share(&n.ContextWarn), doc: "share of the model's window at which to warn"},
		{path: "construct.context_compact", v: share(&n.ContextCompact), doc: "share at which the agent's context is compacted"},
		{path: "construct.context_kill", v: share(&n.ContextKill), doc: "share at which the turn is ended"},
		{path: "errors.strategy", v: oneOf(&e.Strategy, "retry", "skip", "abort"), doc: "what happens when a turn fails"},
		{path: "errors.max_retries", v: upTo(&e.MaxRetries, 0, 100), doc: "retries after the first attempt"},
		{path: "errors.retry_base", v: duration(&e.RetryBase), doc: "wait before the first retry; doubles each time"},
		{path: "errors.max_rate_limit_retries", v: upTo(&e.MaxRateLimitRetries, 0, 100), doc: "waits for a rate limit before the next agent takes over"},
		{path: "errors.rate_limit_base", v: duration(&e.RateLimitBase), doc: "first wait for a rate limit that names no time; triples each time"},
		{path: "errors.rate_limit_patience", v: duration(&e.RateLimitPatience), doc: "how long an agent may try again by itself, at a limit or without a connection, before ralph ends its turn and another agent takes over; 0s: not at all"},
		{path: "errors.network_retry", v: duration(&e.NetworkRetry), doc: "wait between two tries of an agent that has no connection; 0s: a minute"},
		{path: "errors.max_consecutive", v: count(&e.MaxConsecutive, 1), doc: "tasks that may fail in a row before a pause"},
		{path: "errors.count_timeouts", v: onOff(&e.CountTimeouts), doc: "tasks that ran out of time count into `errors.max_consecutive` as well"},
		{path: "log.level", v: oneOf(&c.Log.Level, "info", "debug"), doc: "what `ralph log` and the log file of a run have: what is worth a line (`info`), or every fact with what it moved and why (`debug`)"},
		{path: "limits.wait", v: oneOf(&c.Limits.Wait, "auto", "ask", "off"), doc: "when every agent is at its limit: pause and go on by itself (`auto`), pause until `ralph resume` (`ask`), or end (`off`)"},
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
		{path: at + "tokens", v: number[int64]{&b.Tokens, 0, 1 << 50}, doc: "tokens per " + scope + "; 0: no limit"},
		{path: at + "cost", v: dollars(&b.Cost), doc: "dollars per " + scope + "; 0: no limit"},
		{path: at + "time", v: duration(&b.Time), doc: "running time per " + scope + "; 0s: no limit"},
		{path: at + "iterations", v: count(&b.Iterations, 0), doc: "agent turns per " + scope + "; 0: no limit"},
	}
}

func points(p *int) value { return upTo(p, -1_000_000, 1_000_000) }

func (c *Config) checkKeys() []key {
	q, t, g, w, m := &c.Quality, &c.Test, &c.Gate, &c.Worktree, &c.Merge
	return []key{
		{path: "commit.message", v: plainText(&c.Commit.Message, ralph.BadSubject), doc: "the subject of ralph's commits of tasks, specs and merges, with `{summary}`, `{spec}`, `{task}` (empty for the commit of a spec) and `{id}`, such as `PROJ-123 {summary}`"},
		{path: "commit.anchors", v: oneOf(&c.Commit.Anchors, "unsigned", "signed"), doc: "at the end of a session git is told how far the journal has come, for `ralph verify`: `signed`: by the key that git signs commits with (`gpg.format`, `user.signingKey`)"},
		{path: "quality.commands", v: commands(&q.Commands), doc: "commands that must pass before a task is done, in this order; none: detected"},
		{path: "quality.timeout", v: duration(&q.Timeout), doc: "time for each command; 0s: no limit"},
		{path: "quality.max_output", v: size{&q.MaxOutput, 1 << 10, 64 << 20}, doc: "output kept for the next prompt, head and tail"},
		{path: "quality.baseline", v: oneOf(&q.Baseline, "strict", "known"), doc: "checks that were red before the work: `strict`: red is red, and a person is asked when nothing else is; `known`: what failed before in the same way, by the names of tests, is let pass, and told"},
		{path: "quality.pass_env", v: list{&q.PassEnv, checkEnvName}, doc: "names of your environment variables that read like secrets and that checks and set-up commands may see all the same; in a sandbox they run what agents wrote, so that others are left out"},
		{path: "quality.changes", v: oneOf(&q.Changes, "restore", "keep"), doc: "what checks write in files that git sees: `restore`: the commit holds the tree that was checked, what they wrote is put back; `keep`: it becomes part of the work, and is checked again"},
		{path: "test.command", v: plainText(&t.Command, nil), doc: "the test command; empty: detected"},
		{path: "test.coverage", v: amount{&t.Coverage, 0, 100}, doc: "percent of coverage that tests must reach where the project reports it; unless you set it, work that lowers nothing is not red; 0: off"},
		{path: "test.retries", v: count(&t.Retries, 0), doc: "red test runs that are tried again before a person is asked"},
		{path: "test.retry", v: oneOf(&t.Retry, "agent", "rerun"), doc: "`agent`: the output goes into the next iteration; `rerun`: the tests run again at once, for flaky suites"},
		{path: "diff.empty", v: oneOf(&c.Diff.Empty, "red", "gate", "off"), doc: "a task that is said to be done and has changed nothing: `red` tells its agent, and at the second time it is done if the checks are green (a person is asked where there are none); `gate` asks a person at once; `off`: nobody looks"},
		{path: "diff.weakened", v: oneOf(&c.Diff.Weakened, "red", "gate", "off"), doc: "a diff that removes, skips or weakens tests: `red` sends it back to its agent; `gate` asks a person, once all else is green; `off`: nobody looks, nor before the merge"},
		{path: "diff.secrets", v: oneOf(&c.Diff.Secrets, "red", "gate", "off"), doc: "a diff that adds what looks like a key, a token or a password: `red` sends it back to its agent; `gate` asks a person; `off`: nobody looks"},
		{path: "gate.patterns", v: list{&g.Patterns, checkPattern}, doc: "regular expressions, without regard to case, of commands and tool calls that wait for a person"},
		{path: "gate.extra_patterns", v: list{&g.ExtraPatterns, checkPattern}, doc: "more of them, beside the list above"},
		{path: "gate.pre_approved", v: list{p: &g.PreApproved}, doc: "patterns of the list above, or the first words of commands, that need nobody all the same; the never list still holds"},
		{path: "gate.timeout", v: duration(&g.Timeout), doc: "how long a gate waits; 0s: without limit"},
		{path: "gate.on_timeout", v: oneOf(&g.OnTimeout, "skip", "stop"), doc: "an expired gate skips the operation or stops the run; `ralph auto` stops unless set"},
		{path: "gate.scope", v: oneOf(&g.Scope, "agent", "session"), doc: "what waits while a gate is open"},
		{path: "gate.approvals", v: oneOf(&g.Approvals, "auto", "ask", "policy", "never"), doc: "who answers what an agent wants to do: nobody, as long as it stays in the sandbox, and else a person (`auto`; `ask` where there is no sandbox), a person (`ask`), the rules and then a person (`policy`), or ralph with yes (`never`); the never list and `gate.patterns` wait for a person in each case"},
		{path: "gate.allow", v: list{p: &g.Allow}, doc: "with `policy`: commands and paths that need nobody"},
		{path: "gate.self", v: oneOf(&g.Self, "hold", "off"), doc: "work that changes settings of ralph, git, CI or agents: `hold` asks a person before it is committed or merged; `off`: nobody looks"},
		{path: "gate.input_timeout", v: duration(&g.InputTimeout), doc: "how long an agent's question waits; 0s: without limit"},
		{path: "gate.shims", v: list{&g.Shims, checkProgram}, doc: "programs that get a command shim in front of an agent's `PATH`; `[]`: none"},
		{path: "sandbox.kind", v: oneOf(&c.Sandbox.Kind, "off", "auto", "landlock", "bubblewrap"), doc: "what keeps agents, checks, set-up commands and hooks from writing outside their work tree and temporary folders: nothing, whatever the system has (bubblewrap before landlock), or one of both"},
		{path: "sandbox.write", v: list{&c.Sandbox.Write, checkFolder}, doc: "what they may write all the same, caches above all; `~/` is your home, what is not there is passed over"},
		{path: "sandbox.extra_write", v: list{&c.Sandbox.ExtraWrite, checkFolder}, doc: "more of it, beside the list above; sockets that lie in it can be reached"},
		{path: "sandbox.hide", v: list{&c.Sandbox.Hide, checkFolder}, doc: "what they cannot read: keys, tokens and sockets that give power elsewhere; `~/` is your home, `*` any part of a name"},
		{path: "sandbox.extra_hide", v: list{&c.Sandbox.ExtraHide, checkFolder}, doc: "more of it, beside the list above"},
		{path: "sandbox.hide_private", v: onOff(&c.Sandbox.HidePrivate), doc: "hide each file among the dot files of your home that you alone may read, too: whatever the tool is called, its login is one"},
		{path: "sandbox.show", v: list{&c.Sandbox.Show, checkFolder}, doc: "what they can read all the same, of the lists above and of private files"},
		{path: "worktree.setup", v: commands(&w.Setup), doc: "commands that every new worktree needs"},
		{path: "worktree.copy", v: list{&w.Copy, checkLocal}, doc: "files that every new worktree gets, such as `.env`"},
		{path: "worktree.setup_timeout", v: duration(&w.SetupTimeout), doc: "time for all of `worktree.setup`; 0s: no limit"},
		{path: "merge.auto", v: onOff(&m.Auto), doc: "merge finished tasks without asking"},
		{path: "merge.batch", v: count(&m.Batch, 1), doc: "tasks tested together; a red batch is bisected"},
		{path: "merge.conflict_retries", v: upTo(&m.ConflictRetries, 0, 100), doc: "tries to resolve a conflict before a person is asked"},
		{path: "land.how", v: oneOf(&c.Land.How, "commit", "branch", "pr"), doc: "how the work of a spec reaches people: `commit`: on the base branch; `branch`: on a branch for each spec, pushed to `land.remote` and never forced, with the text of its pull request in a file; `pr`: that branch, and its pull request at GitHub. A spec may say so itself (docs/issues.md). `branch` and `pr` work in worktrees"},
		{path: "land.per", v: oneOf(&c.Land.Per, "spec", "task"), doc: "`task`: each task goes out on a branch of its own, with a pull request of its own, instead of one for all of its spec (docs/issues.md)"},
		{path: "land.branch", v: plainText(&c.Land.Branch, checkTemplate), doc: "the name of that branch, with `{spec}` (its file without .md), `{id}` and `{date}`"},
		{path: "land.remote", v: plainText(&c.Land.Remote, checkRemote), doc: "the git remote that it is pushed to"},
		{path: "land.draft", v: onOff(&c.Land.Draft), doc: "pull requests are opened as drafts"},
		{path: "land.labels", v: list{p: &c.Land.Labels}, doc: "labels that pull requests get"},
		{path: "land.reviewers", v: list{p: &c.Land.Reviewers}, doc: "who is asked to review them"},
		{path: "land.auto_merge", v: oneOf(&c.Land.AutoMerge, "off", "when_green"), doc: "`when_green`: ralph merges its pull request when the checks of the service are green, and nobody asked for changes"},
		{path: "land.follow", v: onOff(&c.Land.Follow), doc: "red checks of the service and what reviewers say become another round of the spec on the same branch, up to `construct.max_rounds` rounds"},
		{path: "land.allow", v: list{p: &c.Land.Allow}, doc: "whose reviews: `team` (owners, members and collaborators of the repository), `anyone`, or names"},
		{path: "land.poll", v: span{&c.Land.Poll, true}, doc: "time between two looks at a pull request"},
		{path: "inbox.sources", v: sourceList{&c.Inbox.Sources}, doc: "issues that become specs: `[{service: github, query: 'label:ralph is:open', every: 5m, allow: [team]}]`; `service` may be jira or ado; `repo` is another than `sync.github.repo` (docs/issues.md)"},
		{path: "merge.resolver", v: oneOf(&m.Resolver, "agent", "human"), doc: "who resolves conflicts that git cannot"},
	}
}

func (c *Config) modeKeys() []key {
	a, d, g := &c.AgentMode, &c.Decision, &c.Guidance
	return []key{
		{path: "agent_mode.max_specs", v: count(&a.MaxSpecs, 0), doc: "`ralph agent` ends after so many done specs; 0: no limit"},
		{path: "agent_mode.max_cost", v: dollars(&a.MaxCost), doc: "`ralph agent` ends above so many dollars; 0: no limit"},
		{path: "agent_mode.max_failures", v: count(&a.MaxFailures, 1), doc: "`ralph agent` ends after so many failed specs in a row"},
		{path: "agent_mode.on_failure", v: oneOf(&a.OnFailure, "stash", "reset", "keep"), doc: "what happens to the changes of a failed spec"},
		{path: "auto.commit", v: oneOf(&c.Auto.Commit, "end", "turn", "never"), doc: "when a thread of `ralph auto` in your checkout commits: once when it is finished and its checks are green, after each turn, or never"},
		{path: "auto.review", v: oneOf(&c.Auto.Review, "end", "off"), doc: "a finished thread that changed files is reviewed before it stops, or not"},
		{path: "decision.engine", v: oneOf(&d.Engine, "rules", "llm"), doc: "who decides after a turn of `ralph auto`: the rules alone, or a model within the rules (docs/decisions.md)"},
		{path: "decision.model", v: plainText(&d.Model, checkModel), doc: "`ollama:<model>`, `openai:<model>`, `responses:<model>`, `anthropic:<model>`, or `codex` (`codex:<model>`), which is the agent of that name; the key of a service is in the variable that its provider names (`OPENAI_API_KEY`, `ANTHROPIC_API_KEY`)"},
		{path: "decision.fallback", v: list{&d.Fallback, checkFallback}, doc: "models that are asked in this order when that one cannot be asked; after the last the rules decide"},
		{path: "decision.base_url", v: plainText(&d.BaseURL, checkURL), doc: "address of the service of `decision.model`; empty: its usual one"},
		{path: "decision.base_urls", v: table{p: &d.BaseURLs, want: "addresses by model, such as {'ollama:qwen3': 'http://127.0.0.1:11434'}", checkKey: checkFallback, checkValue: checkURL}, doc: "addresses by model, for those of `decision.fallback` and of `ralph decide --model`"},
		{path: "decision.key_envs", v: table{p: &d.KeyEnvs, want: "names of variables by model, such as {'openai:m1': MY_KEY}", checkKey: checkFallback, checkValue: checkTokenEnv}, doc: "names of the environment variables with the keys, by model: an address of your own gets no key unless it is named here"},
		{path: "decision.timeout", v: span{&d.Timeout, true}, doc: "time that each model has for its answer, with all its tries"},
		{path: "decision.min_confidence", v: share(&d.MinConfidence), doc: "below it the run pauses"},
		{path: "decision.history", v: count(&d.History, 0), doc: "earlier decisions that the model sees"},
		{path: "decision.cooldown", v: duration(&d.Cooldown), doc: "rest of a thread after a turn that changed nothing; it doubles with each one more, up to a minute"},
		{path: "decision.max_compactions", v: count(&d.MaxCompactions, 0), doc: "compactions within 5 turns before a thread stops; 0: never"},
		{path: "guidance.mode", v: oneOf(&g.Mode, "off", "demo"), doc: "`demo`: before its first turn a model understands and plans what a thread of `ralph auto` is asked for, and after each turn says what is next (docs/auto.md); also `OPENAGENTS_GUIDANCE_MODE`"},
		{path: "guidance.model", v: plainText(&g.Model, checkModel), doc: "its model, as in `decision.model`, before a local Ollama; empty: those of `decision` with the engine `llm`, else `codex`; also `OPENAGENTS_GUIDANCE_MODEL`"},
	}
}

func (c *Config) serviceKeys() []key {
	s, n, f := &c.Sync, &c.Notify, &c.Fleet
	k := []key{
		{path: "sync.every_tasks", v: count(&s.EveryTasks, 0), doc: "push progress after so many tasks; 0: only at the end"},
		{path: "sync.living_docs.enabled", v: onOff(&s.LivingDocs.Enabled), doc: "keep a page about each spec that is done, and an index of them, committed with the spec (docs/issues.md)"},
		{path: "sync.living_docs.path", v: plainText(&s.LivingDocs.Path, checkLocal), doc: "the folder of these pages, relative to the repository"},
		{path: "sync.github.enabled", v: onOff(&s.GitHub.Enabled), doc: "push progress to GitHub"},
		{path: "sync.github.repo", v: plainText(&s.GitHub.Repo, checkRepo), doc: "`owner/name`; empty: from the remote `origin`"},
		{path: "sync.github.token_env", v: plainText(&s.GitHub.TokenEnv, checkTokenEnv), doc: "name of the environment variable with the token"},
		{path: "sync.github.base_url", v: plainText(&s.GitHub.BaseURL, checkURL), doc: "address of a GitHub Enterprise server"},
		{path: "sync.jira.enabled", v: onOff(&s.Jira.Enabled), doc: "push progress to Jira"},
		{path: "sync.jira.url", v: plainText(&s.Jira.URL, checkURL), doc: "address of the Jira site"},
		{path: "sync.jira.project", v: plainText(&s.Jira.Project, nil), doc: "key of the project"},
		{path: "sync.jira.user_env", v: plainText(&s.Jira.UserEnv, checkTokenEnv), doc: "name of the environment variable with the user"},
		{path: "sync.jira.token_env", v: plainText(&s.Jira.TokenEnv, checkTokenEnv), doc: "name of the environment variable with the token"},
		{path: "sync.ado.enabled", v: onOff(&s.ADO.Enabled), doc: "push progress to Azure DevOps"},
		{path: "sync.ado.url", v: plainText(&s.ADO.URL, checkURL), doc: "address of the organization"},
		{path: "sync.ado.project", v: plainText(&s.ADO.Project, nil), doc: "name of the project"},
		{path: "sync.ado.token_env", v: plainText(&s.ADO.TokenEnv, checkTokenEnv), doc: "name of the environment variable with the token"},
	}
	k = append(k, key{path: "sync.github.board", v: plainText(&s.GitHub.Board, checkBoard), doc: "the project whose fields `sync.github.fields` sets: `orgs/acme/7` or `users/anna/7`"})
	k = append(k, momentKeys("sync.github.", &s.GitHub.Labels, &s.GitHub.States, &s.GitHub.Fields)...)
	k = append(k, momentKeys("sync.jira.", &s.Jira.Labels, &s.Jira.States, &s.Jira.Fields)...)
	k = append(k, momentKeys("sync.ado.", &s.ADO.Labels, &s.ADO.States, &s.ADO.Fields)...)
	k = append(k, breakerKeys("breakers.github.", &c.Breakers.GitHub)...)
	k = append(k, breakerKeys("breakers.jira.", &c.Breakers.Jira)...)
	k = append(k, breakerKeys("breakers.ado.", &c.Breakers.ADO)...)
	return append(k,
		key{path: "notify.sounds", v: onOff(&n.Sounds), doc: "play sounds"},
		key{path: "notify.desktop", v: onOff(&n.Desktop), doc: "show desktop notifications"},
		key{path: "notify.webhooks", v: list{&n.Webhooks, checkWebhook}, doc: "addresses that get a message: of Slack, ntfy, Discord and others, or any https address, which gets JSON; see notifications.md", mask: maskWebhooks},
		key{path: "notify.events", v: table{p: &n.Events, want: "events with their sounds, such as {step-complete: aiComplete}", checkKey: checkNoticeEvent, checkValue: checkSound}, doc: "event to sound, `none` for silence; events that are not named keep their usual sounds, see notifications.md"},
		key{path: "web.addr", v: plainText(&c.Web.Addr, checkAddr), doc: "where the dashboard listens, host:port"},
		key{path: "web.open", v: onOff(&c.Web.Open), doc: "open the browser"},
		key{path: "ui.keys", v: keysOf(&c.UI.Keys), doc: "keys of `ralph ui` and of the dashboard by action, or by what they do on the screen: `{pause: P, skip: S}`; the others stay as they are (docs/ui.md)"},
		key{path: "fleet.engine", v: oneOf(&f.Engine, "temporal"), doc: "what carries work to other machines"},
		key{path: "fleet.address", v: plainText(&f.Address, checkAddr), doc: "its address, host:port"},
		key{path: "fleet.namespace", v: plainText(&f.Namespace, checkFilled), doc: "its namespace"},
		key{path: "fleet.task_queue", v: plainText(&f.TaskQueue, checkFilled), doc: "how the names of its queues begin: workers read those of one fleet"},
		key{path: "fleet.remote", v: plainText(&f.Remote, nil), doc: "the git remote by which all machines reach the repository: its name, or an address"},
		key{path: "fleet.labels", v: list{&f.Labels, checkLabel}, doc: "labels that a worker must have to get steps of this repository, such as `[gpu, os=linux]`; `worker:` in the head of a spec asks for more (docs/fleet.md)"},
	)
}

func breakerKeys(at string, b *Breaker) []key {
	return []key{
		{path: at + "failures", v: count(&b.Failures, 1), doc: "failures that open the breaker"},
		{path: at + "window", v: span{&b.Window, true}, doc: "the time in which they must happen"},
		{path: at + "reset", v: span{&b.Reset, true}, doc: "time until it tries again"},
		{path: at + "successes", v: count(&b.Successes, 1), doc: "successes that close it"},
	}
}
