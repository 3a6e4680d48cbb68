package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/proc"
)

const (
	maxText   = 1 << 20 // TurnResult.Text of an exec agent
	maxErrors = 4 << 10 // stderr kept for the error's message

	// maxArg is what Linux takes as one argument, its final zero byte included
	// (MAX_ARG_STRLEN).
	maxArg = 128 << 10
)

// execDriver runs any command as an agent: the prompt goes in by stdin, as an
// argument or in a file; stdout is what the agent says. The scripted agent runs
// through it too, as a child process like any other; it can do more (scripted.go).
//
// With a table of events (AgentSpec.Output and Events) stdout is JSON, a value on each
// line, and becomes the normalised stream; see jsonl.
//
// It adds nothing to the environment, but for the scripted agent and for opencode, which
// would run the repository's own code.
//
// An agent that knows its cost prints it on lines of their own, which add up
// and are not part of what it said:
//
//	<ralph-usage>{"input":1200,"output":80,"cache_read":0,"cache_write":0,"cost":0.82}</ralph-usage>
//
// Tokens may be left out; without "cost" in each line the cost is unknown, as it
// is without any line.
type execDriver struct {
	proc    *proc.Runner
	command []string
	prompt  string // stdin, arg, file; "" is stdin
	played  bool   // it is the scripted agent
	spec    ralph.AgentSpec
	read    preset // how its output is read; no rows: as text
}

func openExec(spec ralph.AgentSpec, p *proc.Runner) (Driver, error) {
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
	d := &execDriver{proc: p, command: command, prompt: spec.Prompt, spec: spec}
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

func (d *execDriver) Turn(ctx context.Context, in ralph.TurnInput, on ralph.TurnHooks) (ralph.TurnResult, error) {
	if in.Compact && !d.played {
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
	t := newTurn(in, on)
	if d.read.rows != nil {
		return d.structured(ctx, t, on, launch{args: args, env: d.environ(in), stdin: stdin})
	}
	out := &execOutput{said: t.said, text: tail{max: maxText}, errs: tail{max: maxErrors}}
	env := d.environ(in)
	if d.played {
		out.report = &report{told: t.context, asks: newPlayedAsks(ctx, t, on)}
		env, ctx = out.report.environ(in), out.report.asks.ctx
	}
	stdout, stderr := &pieces{emit: out.stdout}, &pieces{emit: out.stderr}
	res, err := d.run(ctx, t, on, launch{args: args, env: env, stdin: stdin, stdout: stdout.Write, stderr: stderr.Write})
	if d.played {
		err = errors.Join(out.report.asks.close(&res), err)
	}
	if err != nil {
		return res, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	cut := stdout.Close()
	stderr.Close()
	res.Text, res.Dropped = out.text.String(), out.text.dropped
	if cut { // the line had no end, nor has the text
		res.Text = strings.TrimSuffix(res.Text, "\n")
	}
	res.Usage, res.Events = out.usage, stdout.n+stderr.n
	if res.Exit == ralph.ExitFailed {
		res.Err = failure(out.errs.String(), res.Text)
		if res.Err.Message == "" {
			res.Err.Message = fmt.Sprintf("%s ended with exit code %d and said nothing", args[0], res.Code)
		}
	}
	if res.Exit == ralph.ExitOK && d.read.failed != nil {
		if e := d.read.failed(res.Text); e != nil {
			res.Exit, res.Err = ralph.ExitFailed, e
		}
	}
	if d.played {
		out.report.conclude(&res, in)
	}
	return res, nil
}

// run carries out the process. Its time limit is a clock of its own: the agent itself
// asks nothing, but the programs that it starts may, and meanwhile it stands still.
func (d *execDriver) run(ctx context.Context, t *turn, on ralph.TurnHooks, l launch) (ralph.TurnResult, error) {
	if d.played { // has one already
		res, _, err := t.run(ctx, d.proc, l)
		return res, err
	}
	limit := t.in.Timeout
	t.in.Timeout = 0
	run, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	clock := newAsking(on.Ask, limit, func() { stop(errOverTime) }).tell(on)
	res, _, err := t.run(run, d.proc, l)
	res.Waited = clock.stop()
	return res, err
}

// structured runs an agent that prints JSON.
func (d *execDriver) structured(ctx context.Context, t *turn, on ralph.TurnHooks, l launch) (ralph.TurnResult, error) {
	j := newJSONL(t, d.read.rows)
	errs := tail{max: maxErrors}
	stderr := &pieces{emit: func(s string, more bool) {
		errs.add(s)
		if !more {
			errs.add("\n")
		}
		t.said(ralph.Said{Kind: ralph.SaidStderr, Text: s, More: more})
	}}
	l.stdout, l.stderr = j.lines.Write, stderr.Write
	t.emit(ralph.StreamEvent{Kind: ralph.StreamTurn})
	res, err := d.run(ctx, t, on, l)
	if err != nil {
		return res, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	j.lines.Close()
	j.close()
	stderr.Close()
	res.Events, res.Dropped = j.lines.n+stderr.n, j.lines.dropped
	if res.Exit != ralph.ExitSpawn {
		j.conclude(&res, errs.String())
		if res.Exit == ralph.ExitFailed && res.Err.Message == "" {
			res.Err.Message = fmt.Sprintf("%s ended with exit code %d and said nothing", l.args[0], res.Code)
		}
		if d.read.resume == nil {
			res.Session = "" // nobody could go on with it
		}
	}
	t.emit(ralph.StreamEvent{Kind: ralph.StreamTurnDone, Thread: res.Session, Status: acpTurnStatus(res.Exit), Err: res.Err})
	return res, nil
}

// resumed adds what makes the agent go on in its earlier session.
func (d *execDriver) resumed(args []string, in ralph.TurnInput) []string {
	if in.Resume == "" || d.played {
		return args
	}
	args = slices.Clone(args)
	for _, a := range d.read.resume {
		args = append(args, strings.ReplaceAll(a, "{session}", in.Resume))
	}
	return args
}

func (d *execDriver) environ(in ralph.TurnInput) []string {
	if !d.played && filepath.Base(d.command[0]) == "opencode" {
		return addEnv(in.Env, opencodeEnv(d.spec))
	}
	return in.Env
}

// give hands the prompt over in the way the agent takes it. done removes what
// it left.
func (d *execDriver) give(in ralph.TurnInput) (args []string, stdin io.Reader, done func(), err error) {
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

func (d *execDriver) fill(value string) []string {
	args := slices.Clone(d.command)
	for i, a := range args {
		args[i] = strings.ReplaceAll(a, promptMark(d.prompt), value)
	}
	return args
}

// execOutput gathers what an exec agent prints.
type execOutput struct {
	said  func(ralph.Said)
	text  tail
	errs  tail
	usage ralph.Usage
	inner bool // within a line that is handed on in pieces

	report *report // of the scripted agent, else nil
}

func (o *execOutput) stdout(text string, more bool) {
	if !o.inner && !more {
		if u, ok := readUsage(text); ok {
			o.usage = o.usage.Add(u)
			return
		}
		if o.report != nil && o.report.line(text) {
			return
		}
	}
	o.inner = more
	o.text.add(text)
	if !more {
		o.text.add("\n")
	}
	o.said(ralph.Said{Kind: ralph.SaidOutput, Text: text, More: more})
}

func (o *execOutput) stderr(text string, more bool) {
	o.errs.add(text)
	if !more {
		o.errs.add("\n")
	}
	o.said(ralph.Said{Kind: ralph.SaidStderr, Text: text, More: more})
}

// readUsage reads a usage line; a line that is not exactly one is output.
func readUsage(line string) (ralph.Usage, bool) {
	body, ok := strings.CutPrefix(strings.TrimSpace(line), "<ralph-usage>")
	if !ok {
		return ralph.Usage{}, false
	}
	body, ok = strings.CutSuffix(body, "</ralph-usage>")
	var u struct {
		Input      int64    `json:"input"`
		Output     int64    `json:"output"`
		CacheRead  int64    `json:"cache_read"`
		CacheWrite int64    `json:"cache_write"`
		Cost       *float64 `json:"cost"`
	}
	if !ok || json.Unmarshal([]byte(body), &u) != nil || min(u.Input, u.Output, u.CacheRead, u.CacheWrite) < 0 {
		return ralph.Usage{}, false
	}
	out := ralph.Usage{Input: u.Input, Output: u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite}
	if u.Cost != nil {
		if *u.Cost < 0 {
			return ralph.Usage{}, false
		}
		out.Cost, out.Known = *u.Cost, true
	}
	return out, true
}
