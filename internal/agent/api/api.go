// Package api is an agent of ralph's own, and its driver, for who has a model but no agent
// program: a loop over internal/model with one tool, the shell.
//
// The driver starts the loop as a process like any other agent (`ralph api-agent`), so that
// sandbox, shims, time limits and the hunt for leftovers hold it; they talk in lines of JSON
// (lines.go). The driver owns the session's record and the key of the model; the loop owns
// the conversation. Neither owns a wire format of a model: those are internal/model's.
package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/agent/wire"
	"github.com/ralph-loop/ralph/internal/model"
	"github.com/ralph-loop/ralph/internal/proc"
)

// driver runs one process of the loop for each turn.
type driver struct {
	proc  *proc.Runner
	self  string
	model model.Spec
	pass  []string // variables that the agent's commands may see as well
}

// Supports: tokens are always reported; dollars are known of what costs none.
func Supports(spec ralph.AgentSpec) wire.Supports {
	m, err := Model(spec)
	return wire.Supports{Structured: true, Resume: true, Cost: err == nil && free(m), Usage: true, Tools: true, Context: true, Ask: true, Compact: true}
}

// free reports whether nobody is paid for the model: it runs on this machine.
func free(m model.Spec) bool {
	return m.Provider == model.Ollama && !m.Remote() && !strings.HasSuffix(m.Model, "cloud")
}

// Model is the model that an agent is set to.
func Model(spec ralph.AgentSpec) (model.Spec, error) {
	m, err := model.Parse(spec.Model)
	if err != nil {
		return m, fmt.Errorf("agents.%s.model: %w", spec.Name, err)
	}
	m.BaseURL, m.KeyEnv, m.Context = spec.BaseURL, spec.KeyEnv, spec.Window
	if m.Context == 0 && m.Provider == model.Ollama {
		m.Context = model.OllamaContext
	}
	return m, nil
}

// Key is the variable that holds the key of an agent's model, "" for none.
func Key(spec ralph.AgentSpec) string {
	m, err := Model(spec)
	if err != nil {
		return ""
	}
	return m.Key()
}

// Describe says which model is asked and where, and what is wrong with its settings or key.
func Describe(spec ralph.AgentSpec, getenv func(string) string) (string, error) {
	m, err := Model(spec)
	if err != nil {
		return "", err
	}
	if _, err = model.Open(m, model.Environment{Getenv: getenv}); err != nil {
		return "", err
	}
	where := "on this machine"
	if m.Remote() {
		where = "over the network"
	}
	if key := m.Key(); key != "" {
		where += ", key in " + key
	}
	return m.String() + " " + where, nil
}

// ReadLines reads the events of a turn whose output was kept.
func ReadLines(_ ralph.AgentSpec, t *wire.Turn) (read func([]byte), end func()) {
	return func(b []byte) {
		var l line
		if json.Unmarshal(b, &l) == nil && l.Event != nil {
			t.Emit(*l.Event)
		}
	}, func() {}
}

// Open returns the driver. It asks nothing, but refuses settings that cannot work.
func Open(spec ralph.AgentSpec, p *proc.Runner, self string) (wire.Driver, error) {
	m, err := Model(spec)
	if err != nil {
		return nil, err
	}
	if _, err := model.Open(m, model.Environment{Getenv: func(string) string { return "a key" }}); err != nil {
		return nil, fmt.Errorf("agents.%s: %w", spec.Name, err)
	}
	if len(spec.Command)+len(spec.Args) > 0 {
		return nil, fmt.Errorf("agents.%s: the api driver starts no program of yours: leave command and args out", spec.Name)
	}
	return &driver{proc: p, self: self, model: m, pass: spec.PassEnv}, nil
}

// errStopped is the cause with which a turn ends whose question ends it.
var errStopped = errors.New("what the agent asked ends its turn")

func (d *driver) Turn(ctx context.Context, in ralph.TurnInput, on ralph.TurnHooks) (ralph.TurnResult, error) {
	s, err := openSession(in)
	if lost := (*lostError)(nil); errors.As(err, &lost) {
		return ralph.TurnResult{Exit: ralph.ExitFailed, Err: &ralph.AgentError{Class: ralph.ErrClassOther, Message: lost.Error()}}, nil
	}
	if err != nil {
		return ralph.TurnResult{}, err
	}
	defer s.close()
	limit := in.Timeout
	in.Timeout = 0 // kept by asking: it stands still while somebody is asked
	stdin, toLoop := io.Pipe()
	a := &turn{t: wire.NewTurn(in, on), on: on, session: s, free: free(d.model), toLoop: toLoop, noise: wire.Tail{Max: wire.MaxErrors}}
	a.lines.Line = a.line
	a.stderr.Emit = a.wrong
	a.ctx, a.stop = context.WithCancelCause(ctx)
	a.asking = wire.NewAsking(on.Ask, limit, func() { a.stop(wire.ErrOverTime) }).Tell(on)
	env, key := d.environ(in.Env)
	a.send(begin{Model: d.model, Key: key, Prompt: in.Prompt, History: s.history, Session: s.id, Schema: in.Schema, Compact: in.Compact})
	res, _, err := a.t.Run(a.ctx, d.proc, wire.Launch{
		Args: []string{d.self, "api-agent"}, Env: env, Stdin: stdin, Stdout: a.lines.Write, Stderr: a.stderr.Write,
	})
	_ = stdin.CloseWithError(errGone)
	a.stop(context.Canceled)
	a.work.Wait()
	res.Waited = a.asking.Stop()
	if err = errors.Join(a.broken(nil), err); err != nil {
		return res, err
	}
	a.conclude(&res)
	return res, nil
}

// errGone is what a write meets that outlives the loop.
var errGone = errors.New("the agent's process has ended")

// environ is the environment without the key, which is told on stdin: the commands that the
// model runs have no use for it. pass_env hands it on all the same.
func (d *driver) environ(env []string) (left []string, key string) {
	name := d.model.Key()
	if name == "" {
		return env, ""
	}
	left = slices.DeleteFunc(slices.Clone(env), func(kv string) bool {
		value, found := strings.CutPrefix(kv, name+"=")
		if found {
			key = value
		}
		return found && !slices.Contains(d.pass, name)
	})
	return left, key
}
