package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/config/setting"
	"github.com/ralph-loop/ralph/internal/notice"
)

// validate checks what no single value can show. Each problem is put where the
// setting that a person wrote stands.
func validate(c Config) []setting.Problem {
	var problems []setting.Problem
	complain := func(what string, keys ...string) {
		p := setting.Problem{Key: keys[0], What: what, Source: c.Where(keys[0])}
		for _, k := range keys {
			if src := c.Where(k); src.Given() {
				p.Source = src
				break
			}
		}
		problems = append(problems, p)
	}
	t, n := c.Task, c.Construct
	if t.NoProgressTurns > 0 && t.NoProgressTurns < t.StuckThreshold {
		complain(fmt.Sprintf("must not be below `task.stuck_threshold` (%d), or 0 for never, not %d: the warning comes before the stop",
			t.StuckThreshold, t.NoProgressTurns), "task.no_progress_turns", "task.stuck_threshold")
	}
	if n.ContextWarn >= n.ContextCompact {
		complain(fmt.Sprintf("must be below `construct.context_compact` (%v), not %v", n.ContextCompact, n.ContextWarn),
			"construct.context_warn", "construct.context_compact")
	}
	if n.ContextCompact >= n.ContextKill {
		complain(fmt.Sprintf("must be below `construct.context_kill` (%v), not %v", n.ContextKill, n.ContextCompact),
			"construct.context_compact", "construct.context_kill")
	}
	if c.Decision.Engine == "llm" && c.Decision.Model == "" {
		complain("must name a model when `decision.engine` is llm", "decision.model", "decision.engine")
	}
	if j := c.Sync.Jira; j.Enabled && j.URL == "" {
		complain("must be set when `sync.jira.enabled` is true", "sync.jira.url", "sync.jira.enabled")
	}
	if j := c.Sync.Jira; j.Enabled && j.Project == "" {
		complain("must be set when `sync.jira.enabled` is true", "sync.jira.project", "sync.jira.enabled")
	}
	if a := c.Sync.ADO; a.Enabled && a.URL == "" {
		complain("must be set when `sync.ado.enabled` is true", "sync.ado.url", "sync.ado.enabled")
	}
	if a := c.Sync.ADO; a.Enabled && a.Project == "" {
		complain("must be set when `sync.ado.enabled` is true", "sync.ado.project", "sync.ado.enabled")
	}
	if g := c.Sync.GitHub; len(g.Fields) > 0 && g.Board == "" {
		complain("must name the project whose fields `sync.github.fields` sets", "sync.github.board", "sync.github.fields")
	}
	if a, b, event := sameEvent(c.Notify.Events); event != "" {
		complain(fmt.Sprintf("has the event %s twice, as %s and as %s", event, setting.Quote(a), setting.Quote(b)), "notify.events")
	}
	validateAgents(c, complain)
	return problems
}

func validateAgents(c Config, complain func(what string, keys ...string)) {
	exists := func(key, name string) {
		if c.agentIndex(name) < 0 {
			complain(setting.Mismatch("one of the agents "+strings.Join(c.AgentNames(), ", "), setting.Quote(name)).Error(), key)
		}
	}
	exists("agent.primary", c.Agent.Primary)
	for _, name := range c.Agent.Fallback {
		exists("agent.fallback", name)
	}
	chain := c.Chain()
	for _, a := range c.Agents {
		at := "agents." + a.Name + "."
		if a.Driver == "" {
			complain("must be set: one of codex, claude, acp, exec, api, scripted", at+"driver", "agents."+a.Name)
			continue
		}
		if !slices.Contains(chain, a.Name) {
			continue // an agent that nobody uses may be half written
		}
		validateInUse(a, at, complain)
	}
}

func validateInUse(a ralph.AgentSpec, at string, complain func(what string, keys ...string)) {
	self := "agents." + a.Name
	if a.Driver == "scripted" {
		if a.Scenario == "" {
			complain("must name a built-in scenario or a YAML file", at+"scenario", at+"driver", self)
		}
		return
	}
	if a.Driver == "api" {
		if provider, name, found := strings.Cut(a.Model, ":"); !found || provider == "" || name == "" {
			complain("must name the model as provider:model, such as ollama:qwen3", at+"model", at+"driver", self)
		}
		return
	}
	if len(a.Command) == 0 {
		complain("must name the program to start, such as ["+a.Name+"]", at+"command", at+"driver", self, "agent.primary", "agent.fallback")
	}
	if a.Driver != "exec" {
		return
	}
	if a.Output == "jsonl" && len(a.Events) == 0 {
		complain("must have rows, as `output` is jsonl", at+"events", at+"output")
	}
	if len(a.Resume) > 0 && !slices.ContainsFunc(a.Resume, func(s string) bool { return strings.Contains(s, "{session}") }) {
		complain("must hold `{session}`", at+"resume")
	}
	holds := func(mark string) bool {
		has := func(s string) bool { return strings.Contains(s, mark) }
		return slices.ContainsFunc(a.Command, has) || slices.ContainsFunc(a.Args, has)
	}
	if a.Prompt == "arg" && !holds("{prompt}") {
		complain("is arg, so `{prompt}` must stand in command or args", at+"prompt", at+"args", at+"command")
	}
	if a.Prompt == "file" && !holds("{prompt_file}") {
		complain("is file, so `{prompt_file}` must stand in command or args", at+"prompt", at+"args", at+"command")
	}
}

// sameEvent finds two names of one event: which one holds would be chance.
func sameEvent(events map[string]string) (a, b, event string) {
	seen := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(events)) {
		e, _ := notice.Named(name)
		if before, twice := seen[e.Name]; twice {
			return before, name, e.Name
		}
		seen[e.Name] = name
	}
	return "", "", ""
}
