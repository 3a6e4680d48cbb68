// Package claude is the driver of Claude Code: `claude -p` with stream-json in both
// directions, its permission rules and hooks, its results and errors.
//
// It does not own what ralph answers when claude asks (TurnHooks.Ask), nor the hook that
// people install (internal/cli).
package claude

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/agent/wire"
	"github.com/ralph-loop/ralph/internal/proc"
)

// lingerDefault is how long claude may stay after its last result before it is
// ended. 2.1.329 would wait 600 s for a background command.
const lingerDefault = 15 * time.Second

// noBackground keeps claude from starting commands in the background, so that a
// run is over with its result.
const noBackground = "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS"

// driver runs one `claude -p` for each turn and speaks stream-json with it in
// both directions (ADR 0018): the prompt goes in as a user message, what claude asks
// in the middle of the turn is answered on its stdin, and stdin is closed with the
// result, so that nothing outlives the turn.
//
// `--setting-sources user` keeps the repository's own hooks and MCP servers from
// running without a question; the price is that claude does not read CLAUDE.md
// (ralph's prompt carries what it needs). AgentSpec.Project lets them in. A
// `--setting-sources`, `--permission-mode` or model flag in args wins.
//
// What it must not do without an answer stands on permission rules that make it ask
// (settings), in every mode: its hooks let a call pass when they fail (ADR 0027).
//
// It is ended by an interrupt on the control channel, then INT, then KILL: the first
// always brings a result with what the turn has cost. On INT 2.1.329 leaves without
// one while it waits for an answer; on TERM it never says anything more.
//
// It adds one variable to the environment: noBackground=1, unless it is set.
type driver struct {
	spec    ralph.AgentSpec
	proc    *proc.Runner
	linger  time.Duration
	windows windows // the sizes of context windows, as earlier turns were told
}

// Supports is all that there is: its protocol has a place for each.
func Supports(ralph.AgentSpec) wire.Supports {
	return wire.Supports{Structured: true, Resume: true, Cost: true, Usage: true, Tools: true, Context: true, Compact: true, Ask: true}
}

// ReadLines reads the words of claude's output.
func ReadLines(_ ralph.AgentSpec, t *wire.Turn) (line func([]byte), end func()) {
	c := newReader(t)
	return c.line, func() {}
}

// Open makes the driver of one agent. Args that would take its questions away from ralph are an error.
func Open(spec ralph.AgentSpec, p *proc.Runner, _ string) (wire.Driver, error) {
	d := &driver{spec: spec, proc: p, linger: lingerDefault}
	if d.given("--permission-prompt-tool") {
		return nil, fmt.Errorf("agents.%s.args: with --permission-prompt-tool claude would ask another program than ralph, which then could hold nothing; "+
			"take it out: what claude asks is answered as gate.approvals says", spec.Name)
	}
	return d, nil
}

// given reports whether the agent's command or args have one of some flags.
func (d *driver) given(flags ...string) bool {
	return slices.ContainsFunc(slices.Concat(d.spec.Command, d.spec.Args), func(a string) bool {
		name, _, _ := strings.Cut(a, "=")
		return slices.Contains(flags, name)
	})
}

// args is the command line. The error is a person's to mend: settings in the agent's
// args that cannot be read.
func (d *driver) args(in ralph.TurnInput, asked bool) ([]string, error) {
	args, own := slices.Clone(d.spec.Command), slices.Clone(d.spec.Args)
	if len(args) == 0 {
		args = []string{"claude"}
	}
	args = append(args, "-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose", "--permission-prompt-tool", "stdio")
	if !d.given("--setting-sources") {
		sources := "user"
		if d.spec.Project {
			sources = "user,project,local"
		}
		args = append(args, "--setting-sources", sources)
	}
	if !d.given("--permission-mode", "--dangerously-skip-permissions") {
		args = append(args, "--permission-mode", permissionMode(asked))
	}
	if len(in.MCP) > 0 {
		args = append(args, "--mcp-config", servers(in.MCP))
	}
	if asked {
		settings, rest, err := settings(own, in.Dir, d.spec.Sandbox != "")
		if err != nil {
			return nil, err
		}
		own = rest
		args = append(args, "--settings", settings)
	}
	if d.spec.Model != "" && !d.given("--model") {
		args = append(args, "--model", d.spec.Model) // on resume too: else the transcript's model is used
	}
	if in.Resume != "" {
		args = append(args, "--resume", in.Resume)
	}
	if in.MaxCost > 0 && !d.given("--max-budget-usd") {
		// Of this process alone, also on resume (seen in 2.1.329, whose total_cost_usd goes on).
		args = append(args, "--max-budget-usd", strconv.FormatFloat(in.MaxCost, 'f', -1, 64))
	}
	if len(in.Schema) > 0 && !in.Compact {
		args = append(args, "--json-schema", string(in.Schema))
	}
	return append(args, own...), nil
}

// permissionMode is what claude's own rules are. Where somebody answers they ask for all
// that ralph's do not name either, such as reading elsewhere; where nobody does, what
// claude must not do by itself in its folder is denied.
func permissionMode(asked bool) string {
	if asked {
		return "default"
	}
	return "acceptEdits"
}

func (d *driver) Turn(ctx context.Context, in ralph.TurnInput, on ralph.TurnHooks) (ralph.TurnResult, error) {
	if in.Compact {
		if in.Resume == "" {
			return ralph.TurnResult{}, fmt.Errorf("compact a session of claude: there is none: %w", ralph.ErrUnsupported)
		}
		in.Prompt, on.Stopping = compactPrompt, nil
	}
	args, err := d.args(in, on.Ask != nil)
	if err != nil {
		return ralph.TurnResult{Exit: ralph.ExitSpawn, Code: -1, Err: &ralph.AgentError{
			Class: ralph.ErrClassSpawn, Lasting: true, Message: fmt.Sprintf("agents.%s: %v", d.spec.Name, err),
		}}, nil
	}
	env := in.Env
	if !slices.ContainsFunc(env, func(kv string) bool { return strings.HasPrefix(kv, noBackground+"=") }) {
		env = append(slices.Clone(env), noBackground+"=1")
	}
	limit := in.Timeout
	in.Timeout = 0 // the clock stands still while claude waits for an answer
	t := wire.NewTurn(in, on)
	c := newReader(t)
	c.fill.windows = &d.windows
	talk := openTalk(ctx, t, c, on, limit)
	defer talk.close()
	talk.shown = d.shownOnly
	talk.begin(in.Prompt)
	c.control = talk.heard
	stdout := &wire.Events{Line: c.line}
	stderr := &wire.Pieces{Emit: c.stderr}
	linger := time.AfterFunc(time.Hour, func() {
		t.Mu.Lock()
		c.settled = true
		t.Mu.Unlock()
		talk.end(wire.ErrEnough)
	})
	linger.Stop()
	defer linger.Stop()
	feed := func(p []byte) {
		if c.settled {
			return
		}
		before := c.results
		stdout.Write(p)
		if c.results > before {
			talk.in.Close()
		}
		switch {
		case c.open:
			linger.Stop() // a turn of claude's own after the result
		case c.results > before:
			linger.Reset(d.linger)
		}
	}
	res, over, err := t.Run(talk.run, d.proc, wire.Launch{
		Args: args, Env: env, Stdin: talk.in, Stdout: feed, Stderr: stderr.Write, Interrupt: true,
	})
	talkErr := talk.close()
	if err == nil {
		err = talkErr
	}
	if err != nil {
		return res, err
	}
	t.Mu.Lock()
	defer t.Mu.Unlock()
	stdout.Close()
	stderr.Close()
	res.Events, res.Dropped = stdout.N+stderr.N, stdout.Dropped
	res.Waited = talk.asks.Stop()
	talk.settle(&res)
	if res.Exit != ralph.ExitSpawn {
		c.conclude(&res, over)
		if in.Compact {
			c.concludeCompact(&res)
		}
	}
	t.Emit(turnDone(res))
	return res, nil
}

// turnDone is the end of a turn as an event.
func turnDone(res ralph.TurnResult) ralph.StreamEvent {
	e := ralph.StreamEvent{Kind: ralph.StreamTurnDone, Thread: res.Session, Status: ralph.TurnFailed}
	switch res.Exit {
	case ralph.ExitOK:
		e.Status = ralph.TurnCompleted
	case ralph.ExitUser, ralph.ExitTimeout:
		e.Status = ralph.TurnInterrupted
	}
	e.Err = res.Err
	return e
}
