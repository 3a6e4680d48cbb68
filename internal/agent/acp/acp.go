// Package acp is the driver of agents that speak the Agent Client Protocol: OpenCode,
// Gemini CLI, Copilot, Goose, and the adapters of Claude and Codex.
//
// It does not own the connection, which is the protocol's own library; it owns what stands
// between that and the process, and what is read of the updates.
package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ralph-loop/ralph/internal/agent/wire"

	acp "github.com/coder/acp-go-sdk"
	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/proc"
)

const (
	// startLimit is how long an agent may take to get ready: until it has answered
	// initialize and has a session. The slowest that was seen took 10 s.
	startLimit = 2 * time.Minute
	// leaveLimit is how long an agent may stay after its turn, once its input is closed.
	leave = 3 * time.Second
	// settle is how long an adapter is left alone after its answer. It speaks for another program, which notes
	// the turn in its session a little later (Claude Code 0.1 s) and ends with it: in a sandbox at once, by
	// SIGKILL. What was not noted by then the next turn would not know (claude-agent-acp 0.49.0).
	settle = 500 * time.Millisecond
	// cancelLimit is how long an agent may take to end a turn that is cancelled, where
	// the turn has no grace of its own.
	cancelLimit = 5 * time.Second
)

// errGone is what a conversation meets that outlives the agent's process.
var errGone = errors.New("the agent's process has ended")

// driver speaks the Agent Client Protocol with any agent that knows it: one process
// for each turn (ADR 0019). The response to session/prompt is the end of a turn.
//
// ralph offers the agent no files and no terminals: agents edit and run by themselves,
// which git and the leftover hunt see. What the agent asks goes to TurnHooks.Ask.
//
// For programs that it knows by name it adds variables to the environment (environ),
// unless they are set.
type driver struct {
	spec ralph.AgentSpec
	proc *proc.Runner

	mu    sync.Mutex
	spent map[string]float64 // by session: its cost so far, as its agent says
	usage map[string]bool    // by the agent's name: it has reported tokens before
}

// Supports: the protocol has a place for dollars; Claude's adapter always fills it,
// opencode where its settings have a price of the model, others never. Gemini 0.61.0 has
// no session to go on with (docs/agents.md).
func Supports(spec ralph.AgentSpec) wire.Supports {
	name := ""
	if len(spec.Command) > 0 {
		name = filepath.Base(spec.Command[0])
	}
	return wire.Supports{
		Resume: name != "gemini", Cost: name == claudeACP,
		Usage: true, Tools: true, Context: true, Ask: true,
	}
}

// ReadLines reads the words of an agent that speaks the Agent Client Protocol.
func ReadLines(_ ralph.AgentSpec, t *wire.Turn) (line func([]byte), end func()) {
	l := newLog(t)
	l.live = true
	return func(b []byte) {
		if m, ok := wire.ReadRPC(b); ok && m.ID == nil {
			l.update(m.Params)
		}
	}, l.close
}

// Open makes the driver of one agent; without a command there is nothing to start.
func Open(spec ralph.AgentSpec, p *proc.Runner, _ string) (wire.Driver, error) {
	if len(spec.Command) == 0 {
		return nil, fmt.Errorf("agents.%s: the acp driver needs a command, such as [opencode, acp]", spec.Name)
	}
	return &driver{spec: spec, proc: p, spent: map[string]float64{}, usage: map[string]bool{}}, nil
}

// turn is one turn of an acpDriver: the process, the connection and what came of it.
type turn struct {
	driver *driver
	t      *wire.Turn
	conn   *acp.Connection
	wire   reader
	log    *log
	asking *wire.Asking
	end    context.CancelCauseFunc // ends the process
	stdin  *io.PipeWriter
	talked chan struct{} // closed when the conversation is over
	gone   chan struct{} // closed when the process has ended

	prompted bool // the last request was the prompt; under the turn's lock

	// asks ends when no request needs an answer any more; handlers counts those open.
	asks     context.Context
	stopAsks context.CancelFunc
	handlers sync.WaitGroup

	mu      sync.Mutex
	halted  error  // why the turn was ended from outside
	session string // that a prompt runs in, "" outside of it
	askErr  error  // of the machinery that answers
}

func (d *driver) Turn(ctx context.Context, in ralph.TurnInput, on ralph.TurnHooks) (ralph.TurnResult, error) {
	if in.Compact {
		return ralph.TurnResult{}, fmt.Errorf("compact a session of an acp agent: %w", ralph.ErrUnsupported)
	}
	limit := in.Timeout
	in.Timeout = 0 // kept by asking: it stands still while somebody is asked
	t := wire.NewTurn(in, on)
	a := &turn{driver: d, t: t, log: newLog(t), talked: make(chan struct{}), gone: make(chan struct{})}
	a.asks, a.stopAsks = context.WithCancel(context.WithoutCancel(ctx))
	defer a.stopAsks()
	// The process does not end with ctx: its turn is cancelled first.
	run, end := context.WithCancelCause(context.WithoutCancel(ctx))
	defer end(nil)
	a.end = end
	stdin, toAgent := io.Pipe()
	fromWire, toSDK := io.Pipe()
	a.stdin = toAgent
	a.wire.init(a, toSDK)
	a.conn = acp.NewConnection(a.handle, toAgent, fromWire)
	a.conn.SetLogger(slog.New(slog.DiscardHandler)) // it would write on ralph's stderr
	go func() {
		<-a.conn.Done()
		_ = fromWire.CloseWithError(errGone) // else the process's output would wait for a reader
	}()
	a.asking = wire.NewAsking(on.Ask, limit, func() { a.halt(wire.ErrOverTime) }).Tell(on)
	unwatch := context.AfterFunc(ctx, func() { a.halt(context.Cause(ctx)) })
	defer unwatch()
	go a.converse(run)
	res, _, err := t.Run(run, d.proc, wire.Launch{
		Args: slices.Concat(d.spec.Command, d.spec.Args), Env: environ(d.spec, in.Env), Stdin: stdin,
		Stdout: a.wire.Write, Stderr: a.log.stderr.Write,
	})
	close(a.gone)
	_ = stdin.CloseWithError(errGone)
	t.Mu.Lock()
	a.wire.Close()
	t.Mu.Unlock()
	<-a.talked
	a.mu.Lock() // so that no handler begins any more
	a.stopAsks()
	a.mu.Unlock()
	a.handlers.Wait()
	_ = toSDK.Close()
	res.Waited = a.asking.Stop()
	if err != nil {
		return res, err
	}
	return a.conclude(res)
}

// halt ends the turn from outside: the agent is told to cancel it and gets a while to
// do so, so that its session stays whole; then the process is ended.
func (a *turn) halt(cause error) {
	a.mu.Lock()
	if a.halted != nil {
		a.mu.Unlock()
		return
	}
	a.halted = cause
	session := a.session
	a.mu.Unlock()
	if session == "" {
		a.stopAsks()
		a.end(cause) // nothing that could be cancelled
		return
	}
	go func() {
		a.cancel(session)
		a.stopAsks() // after it: what was asked is answered as cancelled once the agent knows why
	}()
	wait := time.NewTimer(a.patience(cause))
	defer wait.Stop()
	select {
	case <-a.talked:
		wait.Reset(min(a.patience(cause), leave)) // it may leave by itself
		<-wait.C
	case <-wait.C:
	}
	a.end(cause)
}

// cancel tells the agent to end its turn. It blocks while the agent does not read; the
// end of the process ends that, and is the answer to any error.
func (a *turn) cancel(session string) {
	_ = a.conn.SendNotification(context.Background(), acp.AgentMethodSessionCancel, acp.CancelNotification{SessionId: acp.SessionId(session)})
}

func (a *turn) patience(cause error) time.Duration {
	var g interface{ Grace() time.Duration }
	switch {
	case errors.As(cause, &g):
		return g.Grace()
	case a.t.In.Grace > 0:
		return a.t.In.Grace
	}
	return cancelLimit
}

func (a *turn) ended() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.halted
}

// environ adds what keeps a known agent from running the repository's own code
// (AgentSpec.Project), from replacing itself, and what makes it ask. Variables that
// are set stay.
func environ(spec ralph.AgentSpec, env []string) []string {
	more := map[string]string{}
	if filepath.Base(spec.Command[0]) == "opencode" {
		maps.Copy(more, wire.OpencodeEnv(spec))
		env = askingEnv(env)
	}
	return wire.AddEnv(env, more)
}

// askingEnv has opencode ask: it allows everything by default, and has no mode that
// asks. What OPENCODE_PERMISSION says already stays, but for what it would let pass.
func askingEnv(env []string) []string {
	const name = "OPENCODE_PERMISSION"
	rules := map[string]any{}
	out := slices.DeleteFunc(slices.Clone(env), func(kv string) bool {
		value, found := strings.CutPrefix(kv, name+"=")
		if found {
			tolerant([]byte(value), &rules)
		}
		return found
	})
	if rules == nil { // the JSON null
		rules = map[string]any{}
	}
	for _, tool := range []string{"bash", "edit", "webfetch", "external_directory"} {
		if rules[tool] != "deny" {
			rules[tool] = "ask"
		}
	}
	text, err := json.Marshal(rules)
	if err != nil {
		panic(fmt.Sprintf("opencode: its permissions cannot be encoded: %v", err)) // they came from JSON
	}
	return append(out, name+"="+string(text))
}
