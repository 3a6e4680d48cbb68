// Package agent is the front door to the coding agents that ralph runs: it opens an
// agent's driver by the configuration, says what a driver can do before it runs, speaks
// the beginning of its protocol, reads its last words, and knows programs by name.
//
// It does not own a protocol: each driver has a package of its own below this one, over
// what they share (wire). drivers is the list of what a driver must have.
package agent

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/agent/acp"
	"github.com/ralph-loop/ralph/internal/agent/api"
	"github.com/ralph-loop/ralph/internal/agent/claude"
	"github.com/ralph-loop/ralph/internal/agent/codex"
	"github.com/ralph-loop/ralph/internal/agent/execagent"
	"github.com/ralph-loop/ralph/internal/agent/scripted"
	"github.com/ralph-loop/ralph/internal/agent/wire"
	"github.com/ralph-loop/ralph/internal/proc"
)

// What all drivers have in common is wire's; here are its names for who runs agents.
type (
	Driver     = wire.Driver
	Supports   = wire.Supports
	Handshaker = wire.Handshaker
	Handshake  = wire.Handshake
	Asker      = wire.Asker
	Question   = wire.Question
	Answered   = wire.Answered
)

// entry is what a driver must have.
type entry struct {
	name string // in the configuration, agents.<name>.driver
	// open makes the driver of an agent; self is the path of the ralph binary.
	open func(spec ralph.AgentSpec, p *proc.Runner, self string) (Driver, error)
	// supports is what it can do beyond running a prompt, as the agent is configured.
	supports func(ralph.AgentSpec) Supports
	// handshake speaks the beginning of its protocol; nil: it has none without a turn.
	handshake func(*proc.Runner) Handshaker
	// asker opens it for questions; nil: it is only for work.
	asker func(spec ralph.AgentSpec, p *proc.Runner, env []string) (Asker, error)
	// read reads the lines of its output as it was kept, and ends a message that goes on;
	// nil, or a nil line: the output is text.
	read   func(ralph.AgentSpec, *wire.Turn) (line func([]byte), end func())
	hidden bool // not offered to people: it is for the demo and for tests
}

// drivers are those that are built in, in the order in which people are told of them.
func drivers() []entry {
	return []entry{
		{name: "exec", open: execagent.Open, supports: execagent.Supports, read: execagent.ReadLines},
		{name: "claude", open: claude.Open, supports: claude.Supports, handshake: claude.NewHandshaker, read: claude.ReadLines},
		{name: "codex", open: codex.Open, supports: codex.Supports, handshake: codex.NewHandshaker, asker: codex.Asker, read: codex.ReadLines},
		{name: "acp", open: acp.Open, supports: acp.Supports, handshake: acp.NewHandshaker, read: acp.ReadLines},
		{name: "api", open: api.Open, supports: api.Supports, read: api.ReadLines},
		{name: "scripted", open: scripted.Open, supports: scripted.Supports, hidden: true},
	}
}

func entryOf(driver string) (entry, bool) {
	all := drivers()
	i := slices.IndexFunc(all, func(e entry) bool { return e.name == driver })
	if i < 0 {
		return entry{}, false
	}
	return all[i], true
}

// Of returns what an agent supports, by its driver and by how it is configured; false
// when its driver is not built in. Cost is only claimed of what is known to report it:
// a budget in dollars warns of all others before they begin.
func Of(spec ralph.AgentSpec) (Supports, bool) {
	e, ok := entryOf(spec.Driver)
	if !ok {
		return Supports{}, false
	}
	return e.supports(spec), true
}

// HandshakerOf returns what speaks a driver's protocol; false where the agent has none
// that can be spoken without a turn.
func HandshakerOf(driver string, p *proc.Runner) (Handshaker, bool) {
	e, _ := entryOf(driver)
	if e.handshake == nil {
		return nil, false
	}
	return e.handshake(p), true
}

// Open returns the driver of an agent. self is the path of the ralph binary,
// which the scripted driver runs as its agent.
func Open(spec ralph.AgentSpec, p *proc.Runner, self string) (Driver, error) {
	if e, ok := entryOf(spec.Driver); ok {
		return e.open(spec, p, self)
	}
	var offered []string
	for _, e := range drivers() {
		if !e.hidden {
			offered = append(offered, e.name)
		}
	}
	last := len(offered) - 1
	use := strings.Join(offered[:last], ", ") + " or " + offered[last]
	if spec.Driver == "" {
		return nil, fmt.Errorf("agents.%s has no driver (ralph/config.yaml); use %s", spec.Name, use)
	}
	return nil, fmt.Errorf("driver %s is not known (agents.%s in ralph/config.yaml); use %s", spec.Driver, spec.Name, use)
}

// AskerOf opens an agent for questions; env is its environment. false: its driver only works.
func AskerOf(spec ralph.AgentSpec, p *proc.Runner, env []string) (Asker, bool, error) {
	e, _ := entryOf(spec.Driver)
	if e.asker == nil {
		return nil, false, nil
	}
	a, err := e.asker(spec, p, env)
	return a, true, err
}

// PassEnv are the person's variables that an agent gets: those of pass_env, and the key of
// its model where the driver asks that itself.
func PassEnv(spec ralph.AgentSpec) []string {
	if spec.Driver != "api" {
		return spec.PassEnv
	}
	if key := api.Key(spec); key != "" {
		return append(slices.Clone(spec.PassEnv), key)
	}
	return spec.PassEnv
}

// ModelWords says which model is asked and where, of agents whose driver does that itself
// (ok), and what is wrong with its settings or its key.
func ModelWords(spec ralph.AgentSpec, environ []string) (words string, ok bool, err error) {
	if spec.Driver != "api" {
		return "", false, nil
	}
	words, err = api.Describe(spec, func(name string) string { return proc.Getenv(environ, name) })
	return words, true, err
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
