// Package agent owns the drivers: how one turn of a coding agent is started,
// fed, listened to and ended, and how the agent's own protocol becomes Said
// values and one ralph.TurnResult. It also plays the scripted agent.
//
// It does not own what an agent is told (internal/prompt), what is concluded
// from a turn (internal/policy), how processes are killed (internal/proc) or
// where raw output is kept (the RawSink of the caller).
package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/proc"
)

// Driver carries out turns of one configured agent. A Driver keeps nothing of
// a turn beyond its end and may be used from several goroutines. One that keeps a
// process between turns has a Close() error as well, see Close.
//
// The error is for machinery only: the raw sink that refuses a write, a scratch
// file that cannot be written; and ralph.ErrUnsupported, for a Compact that the
// driver cannot do. What the agent did, being stopped by a person or not
// starting at all included, is in the result's Exit and Err.
type Driver interface {
	Turn(ctx context.Context, in ralph.TurnInput, on ralph.TurnHooks) (ralph.TurnResult, error)
}

// Supports says what a driver can do beyond running a prompt.
type Supports struct {
	Structured bool // answers by JSON Schema, TurnResult.Answer
	Resume     bool // goes on in an earlier session, TurnInput.Resume
	Cost       bool // reports dollars by itself
	Usage      bool // reports tokens by itself
	Tools      bool // tells tool calls apart from its words
	Context    bool // says how full its window is, TurnResult.Context
	Ask        bool // asks in the middle of a turn, TurnHooks.Ask
	Compact    bool // makes a session shorter when asked, TurnInput.Compact
}

// Of returns what an agent supports, by its driver and by how it is configured; false
// when its driver is not built in. Cost is only claimed of what is known to report it:
// a budget in dollars warns of all others before they begin.
func Of(spec ralph.AgentSpec) (Supports, bool) {
	switch spec.Driver {
	case "exec":
		return execSupports(spec), true
	case "scripted":
		return Supports{Resume: true, Cost: true, Usage: true, Context: true, Compact: true, Ask: true}, true
	case "acp":
		return acpSupports(spec), true
	case "claude":
		return Supports{Structured: true, Resume: true, Cost: true, Usage: true, Tools: true, Context: true, Compact: true, Ask: true}, true
	case "codex":
		return Supports{Structured: true, Resume: true, Usage: true, Tools: true, Context: true, Compact: true, Ask: true}, true
	}
	return Supports{}, false
}

// execSupports is what the rows of the table read. Text may hold a line of usage, which
// nobody knows before; so with dollars of opencode, which go by the prices in its settings.
func execSupports(spec ralph.AgentSpec) (s Supports) {
	read, _ := presetOf(spec.Output)
	if len(spec.Events) > 0 {
		read.rows = spec.Events
	}
	s.Resume = read.rows != nil && len(spec.Resume)+len(read.resume) > 0
	for _, r := range read.rows {
		switch r.Kind {
		case ralph.RowTool, ralph.RowToolDone, ralph.RowToolFail:
			s.Tools = true
		case ralph.RowUsage, ralph.RowTotal:
			s.Usage = true
			s.Cost = s.Cost || len(spec.Events) > 0 && r.Read["cost"] != ""
		}
	}
	return s
}

// acpSupports: the protocol has a place for dollars; Claude's adapter always fills it,
// opencode where its settings have a price of the model, others never. Gemini 0.61.0 has
// no session to go on with (docs/agents.md).
func acpSupports(spec ralph.AgentSpec) Supports {
	k, _ := lookUp(spec)
	return Supports{
		Resume: k.name != "gemini", Cost: k.name == "claude-agent-acp",
		Usage: true, Tools: true, Context: true, Ask: true,
	}
}

// Close ends what drivers keep between turns: those that have a Close. It waits until
// that is gone.
func Close(drivers ...Driver) error {
	var all error
	for _, d := range drivers {
		if c, ok := d.(interface{ Close() error }); ok {
			all = errors.Join(all, c.Close())
		}
	}
	return all
}

// Open returns the driver of an agent. self is the path of the ralph binary,
// which the scripted driver runs as its agent.
func Open(spec ralph.AgentSpec, p *proc.Runner, self string) (Driver, error) {
	switch spec.Driver {
	case "exec":
		return openExec(spec, p)
	case "scripted":
		if spec.Scenario == "" {
			return nil, fmt.Errorf("agents.%s: the scripted driver needs a scenario: a YAML file or one of %s",
				spec.Name, strings.Join(builtins(), ", "))
		}
		if !looksLikeFile(spec.Scenario) && !slices.Contains(builtins(), spec.Scenario) {
			return nil, fmt.Errorf("agents.%s: no built-in scenario %q; there are %s, or name a .yaml file",
				spec.Name, spec.Scenario, strings.Join(builtins(), ", "))
		}
		return &execDriver{proc: p, command: []string{self, "scripted-agent", spec.Scenario}, played: true}, nil
	case "acp":
		return openACP(spec, p)
	case "claude":
		return openClaude(spec, p)
	case "codex":
		return openCodex(spec, p), nil
	case "":
		return nil, fmt.Errorf("agents.%s has no driver (ralph/config.yaml); use exec, scripted, claude, codex or acp", spec.Name)
	}
	return nil, fmt.Errorf("driver %s is not known (agents.%s in ralph/config.yaml); use exec, claude, codex or acp",
		spec.Driver, spec.Name)
}
