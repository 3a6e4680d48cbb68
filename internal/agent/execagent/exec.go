// Package execagent is the driver of any command as an agent: the prompt goes in by stdin,
// as an argument or in a file, and what comes out is text, or JSON that a table of rows
// makes the normalised stream of. It has the tables of the programs that are known.
//
// It owns no protocol: such an agent cannot ask anything in the middle of a turn.
package execagent

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/agent/wire"
	"github.com/ralph-loop/ralph/internal/proc"
)

const (
	// maxArg is what Linux takes as one argument, its final zero byte included
	// (MAX_ARG_STRLEN).
	maxArg = 128 << 10
)

// driver runs any command as an agent: the prompt goes in by stdin, as an
// argument or in a file; stdout is what the agent says.
//
// With a table of events (AgentSpec.Output and Events) stdout is JSON, a value on each
// line, and becomes the normalised stream; see jsonl.
//
// It adds nothing to the environment, but for opencode, which would run the repository's
// own code.
type driver struct {
	proc    *proc.Runner
	command []string
	prompt  string // stdin, arg, file; "" is stdin
	spec    ralph.AgentSpec
	read    preset // how its output is read; no rows: as text
}

// Supports is what the rows of the table read. Text may hold a line of usage, which
// nobody knows before; so with dollars of opencode, which go by the prices in its settings.
func Supports(spec ralph.AgentSpec) (s wire.Supports) {
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

// ReadLines reads the words of an agent that prints JSON by a table of rows; a nil line:
// it prints text.
func ReadLines(spec ralph.AgentSpec, t *wire.Turn) (line func([]byte), end func()) {
	rows := spec.Events
	if known, ok := presetOf(spec.Output); ok && len(rows) == 0 {
		rows = known.rows
	}
	if len(rows) == 0 {
		return nil, nil
	}
	j := newJSONL(t, rows)
	return j.line, j.close
}

// Open makes the driver of one agent: any command. How it takes the prompt and how its output is read must fit.
func Open(spec ralph.AgentSpec, p *proc.Runner, _ string) (wire.Driver, error) {
	command := slices.Concat(spec.Command, spec.Args)
	if len(command) == 0 {
		return nil, fmt.Errorf("agents.%s: the exec driver needs a command, such as [./my-agent, --print]", spec.Name)
	}
	switch spec.Prompt {
	case "", "stdin":
	case "arg", "file":
		if mark := promptMark(spec.Prompt); !slices.ContainsFunc(command, func(a string) bool { return strings.Contains(a, mark) }) {
			return nil, fmt.Errorf("agents.%s: prompt: %s needs %s somewhere in command or args", spec.Name, spec.Prompt, mark)
		}
	default:
		return nil, fmt.Errorf("agents.%s: prompt: %q is none of stdin, arg, file", spec.Name, spec.Prompt)
	}
	d := &driver{proc: p, command: command, prompt: spec.Prompt, spec: spec}
	switch spec.Output {
	case "", "text":
	case "jsonl":
		if len(spec.Events) == 0 {
			return nil, fmt.Errorf("agents.%s: output: jsonl needs rows under events", spec.Name)
		}
	default:
		known := false
		if d.read, known = presetOf(spec.Output); !known {
			return nil, fmt.Errorf("agents.%s: output: %q is none of %s", spec.Name, spec.Output, strings.Join(ralph.ExecOutputs(), ", "))
		}
	}
	if len(spec.Events) > 0 {
		d.read.rows = spec.Events
	}
	if len(spec.Resume) > 0 {
		d.read.resume = spec.Resume
	}
	return d, nil
}

func promptMark(how string) string {
	if how == "file" {
		return "{prompt_file}"
	}
	return "{prompt}"
}

func (d *driver) Turn(ctx context.Context, in ralph.TurnInput, on ralph.TurnHooks) (ralph.TurnResult, error) {
	if in.Compact {
		return ralph.TurnResult{}, fmt.Errorf("compact a session of an exec agent: %w", ralph.ErrUnsupported)
	}
	args, stdin, done, err := d.give(in)
	if err != nil {
		return ralph.TurnResult{}, err
	}
	defer done()
	if i := slices.IndexFunc(args, func(a string) bool { return len(a) >= maxArg }); i >= 0 {
		return ralph.TurnResult{Exit: ralph.ExitSpawn, Err: &ralph.AgentError{Class: ralph.ErrClassSpawn, Lasting: true, Message: fmt.Sprintf(
			"start %s: the prompt makes an argument of %d bytes, more than the system takes (%d); set prompt: stdin or file",
			args[0], len(args[i]), maxArg-1)}}, nil
	}
	args = d.resumed(args, in)
	t := wire.NewTurn(in, on)
	if d.read.rows != nil {
		return d.structured(ctx, t, on, wire.Launch{Args: args, Env: d.environ(in), Stdin: stdin})
	}
	out := NewTextOutput(t, nil)
	res, err := d.run(ctx, t, on, wire.Launch{Args: args, Env: d.environ(in), Stdin: stdin, Stdout: out.Stdout, Stderr: out.Stderr})
	if err != nil {
		return res, err
	}
	t.Mu.Lock()
	defer t.Mu.Unlock()
	out.Conclude(&res, args[0])
	if res.Exit == ralph.ExitOK && d.read.failed != nil {
		if e := d.read.failed(res.Text); e != nil {
			res.Exit, res.Err = ralph.ExitFailed, e
		}
	}
	return res, nil
}

// run carries out the process. Its time limit is a clock of its own: the agent itself
// asks nothing, but the programs that it starts may, and meanwhile it stands still.
func (d *driver) run(ctx context.Context, t *wire.Turn, on ralph.TurnHooks, l wire.Launch) (ralph.TurnResult, error) {
	limit := t.In.Timeout
	t.In.Timeout = 0
	run, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	clock := wire.NewAsking(on.Ask, limit, func() { stop(wire.ErrOverTime) }).Tell(on)
	res, _, err := t.Run(run, d.proc, l)
	res.Waited = clock.Stop()
	return res, err
}

// structured runs an agent that prints JSON.
func (d *driver) structured(ctx context.Context, t *wire.Turn, on ralph.TurnHooks, l wire.Launch) (ralph.TurnResult, error) {
	j := newJSONL(t, d.read.rows)
	errs := wire.Tail{Max: wire.MaxErrors}
	stderr := &wire.Pieces{Emit: func(s string, more bool) {
		errs.Add(s)
		if !more {
			errs.Add("\n")
		}
		t.PrintError(s, more)
	}}
	l.Stdout, l.Stderr = j.lines.Write, stderr.Write
	t.Emit(ralph.StreamEvent{Kind: ralph.StreamTurn})
	res, err := d.run(ctx, t, on, l)
	if err != nil {
		return res, err
	}
	t.Mu.Lock()
	defer t.Mu.Unlock()
	j.lines.Close()
	j.close()
	stderr.Close()
	res.Events, res.Dropped = j.lines.N+stderr.N, j.lines.Dropped
	if res.Exit != ralph.ExitSpawn {
		j.conclude(&res, errs.String())
		if res.Exit == ralph.ExitFailed && res.Err.Message == "" {
			res.Err.Message = fmt.Sprintf("%s ended with exit code %d and said nothing", l.Args[0], res.Code)
		}
		if d.read.resume == nil {
			res.Session = "" // nobody could go on with it
		}
	}
	t.Emit(ralph.StreamEvent{Kind: ralph.StreamTurnDone, Thread: res.Session, Status: wire.EndStatus(res.Exit), Err: res.Err})
	return res, nil
}

// resumed adds what makes the agent go on in its earlier session.
func (d *driver) resumed(args []string, in ralph.TurnInput) []string {
	if in.Resume == "" {
		return args
	}
	args = slices.Clone(args)
	for _, a := range d.read.resume {
		args = append(args, strings.ReplaceAll(a, "{session}", in.Resume))
	}
	return args
}

func (d *driver) environ(in ralph.TurnInput) []string {
	if filepath.Base(d.command[0]) == "opencode" {
		return wire.AddEnv(in.Env, wire.OpencodeEnv(d.spec))
	}
	return in.Env
}

// give hands the prompt over in the way the agent takes it. done removes what
// it left.
func (d *driver) give(in ralph.TurnInput) (args []string, stdin io.Reader, done func(), err error) {
	done = func() {}
	switch d.prompt {
	case "arg":
		return d.fill(strings.ReplaceAll(in.Prompt, "\x00", "")), nil, done, nil
	case "file":
		f, err := os.CreateTemp(in.Scratch, "prompt-*.txt") // created 0600
		if err != nil {
			return nil, nil, done, fmt.Errorf("write the agent's prompt file: %w", err)
		}
		name := f.Name()
		done = func() { _ = os.Remove(name) }
		_, err = f.WriteString(in.Prompt)
		if cerr := f.Close(); err == nil {
			err = cerr
		}
		if err != nil {
			done()
			return nil, nil, func() {}, fmt.Errorf("write the agent's prompt file: %w", err)
		}
		return d.fill(name), nil, done, nil
	}
	return d.command, strings.NewReader(in.Prompt), done, nil
}

func (d *driver) fill(value string) []string {
	args := slices.Clone(d.command)
	for i, a := range args {
		args[i] = strings.ReplaceAll(a, promptMark(d.prompt), value)
	}
	return args
}
