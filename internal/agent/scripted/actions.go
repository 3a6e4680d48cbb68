package scripted

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"text/template"
	"time"

	"github.com/ralph-loop/ralph/internal/agent/wire"
	"github.com/ralph-loop/ralph/internal/lazyregexp"
	"github.com/ralph-loop/ralph/internal/proc"
	"github.com/ralph-loop/ralph/internal/text"
	"go.yaml.in/yaml/v3"
)

// action is one step of a rule, ready to be carried out.
type action struct {
	line int
	name string
	do   func(*player) error
}

// parseAction reads one action; the scenario type describes all of them.
func parseAction(name string, v *yaml.Node) (action, error) {
	do, err := parseOutput(name, v)
	if do == nil && err == nil {
		do, err = parseWork(name, v)
	}
	if do == nil && err == nil {
		do, err = parseTrouble(name, v)
	}
	if do == nil && err == nil {
		err = fmt.Errorf("unknown action %q", name)
	}
	if err != nil && !strings.HasPrefix(err.Error(), "line ") {
		err = fmt.Errorf("line %d: %s: %w", v.Line, name, err)
	}
	return action{v.Line, name, do}, err
}

// parseOutput reads the actions that print.
func parseOutput(name string, v *yaml.Node) (func(*player) error, error) {
	switch name {
	case "say":
		return printing(v, func(p *player, s string) error { return line(p.stdout, s) })
	case "stderr":
		return printing(v, func(p *player, s string) error { return line(p.stderr, s) })
	case "signal":
		return printing(v, func(p *player, s string) error { return line(p.stdout, "<ralph>"+s+"</ralph>") })
	case "answer":
		return parseAnswer(v)
	case "cost", "usage":
		return parseUsage(name, v)
	case "context":
		return parseContext(v)
	case "ask":
		return parseAsk(v)
	case "event":
		return parseEvent(v)
	case "echo":
		return func(p *player) error { return line(p.stdout, p.values.Prompt) }, nil
	case "raw":
		b, err := hex.DecodeString(strings.Join(strings.Fields(v.Value), ""))
		return func(p *player) error {
			_, err := p.stdout.Write(b)
			return err
		}, err
	case "flood":
		return parseFlood(v)
	}
	return nil, nil
}

// parseWork reads the actions that change the work tree, and waiting.
func parseWork(name string, v *yaml.Node) (func(*player) error, error) {
	switch name {
	case "write":
		return files(v, os.O_TRUNC)
	case "append":
		return files(v, os.O_APPEND)
	case "delete":
		return paths(v, os.RemoveAll)
	case "mkdir":
		return paths(v, func(path string) error { return os.MkdirAll(path, 0o755) })
	case "run":
		return printing(v, func(p *player, s string) error { return p.shell(s, io.Discard) })
	case "show":
		return printing(v, func(p *player, s string) error { return p.shell(s, p.stdout) })
	case "think", "sleep":
		d, err := time.ParseDuration(v.Value)
		return func(p *player) error { return p.wait(d * time.Duration(p.pace)) }, err
	}
	return nil, nil
}

// parseTrouble reads the actions of an agent that does not behave.
func parseTrouble(name string, v *yaml.Node) (func(*player) error, error) {
	switch name {
	case "hang":
		if v.Value != "true" && v.Value != "hard" {
			return nil, errors.New("want true or hard")
		}
		return func(p *player) error { return p.hang(v.Value == "hard") }, nil
	case "crash":
		return func(*player) error {
			if err := syscall.Kill(os.Getpid(), syscall.SIGKILL); err != nil {
				return err
			}
			select {} // the signal is on its way
		}, nil
	case "exit":
		var code int
		err := v.Decode(&code)
		return func(*player) error { return exit{code} }, err
	case "rate_limit":
		text := v.Value
		if text == "true" {
			text = "Error: 429 Too Many Requests: rate limit reached, try again later"
		}
		return func(p *player) error {
			if err := line(p.stderr, text); err != nil {
				return err
			}
			return exit{1}
		}, nil
	case "error":
		return parseError(v)
	case "background":
		return parseBackground(v)
	case "close":
		if v.Value != "stdout" {
			return nil, errors.New("only stdout can be closed")
		}
		return func(p *player) error {
			if c, ok := p.stdout.(io.Closer); ok {
				return c.Close()
			}
			return nil
		}, nil
	}
	return nil, nil
}

// printing makes an action of one text, which is a template.
func printing(v *yaml.Node, do func(*player, string) error) (func(*player) error, error) {
	render, err := textOf(v)
	return func(p *player) error {
		s, err := render(p)
		if err != nil {
			return err
		}
		return do(p, s)
	}, err
}

// textOf reads a template and tries it, so that a wrong name in it is found
// when the scenario is read.
func textOf(v *yaml.Node) (func(*player) (string, error), error) {
	if v.Kind != yaml.ScalarNode {
		return nil, fmt.Errorf("line %d: want a text", v.Line)
	}
	t, err := template.New("text").Parse(v.Value)
	if err == nil {
		err = t.Execute(io.Discard, values{})
	}
	return func(p *player) (string, error) {
		var b strings.Builder
		err := t.Execute(&b, p.values)
		return b.String(), err
	}, err
}

// line prints s with an end of line.
func line(w io.Writer, s string) error {
	if !strings.HasSuffix(s, "\n") {
		s += "\n"
	}
	_, err := io.WriteString(w, s)
	return err
}

func parseAnswer(v *yaml.Node) (func(*player) error, error) {
	var answer any
	err := v.Decode(&answer)
	return func(p *player) error {
		filled, err := p.fill(answer)
		if err != nil {
			return err
		}
		b, err := json.MarshalIndent(filled, "", "  ")
		if err != nil {
			return err
		}
		return line(p.stdout, "```json\n"+string(b)+"\n```")
	}, err
}

// The ids that a prompt tells of.
var (
	issueIDs = lazyregexp.New(`\bi-[a-z0-9]{4}\b`)
	taskIDs  = lazyregexp.New(`\bt-[a-z0-9]{4}\b`)

	codeFence = lazyregexp.New("^(`{3,}|~{3,})")
)

// fill renders the texts of an answer and puts the prompt's ids in place of the
// $ words.
func (p *player) fill(v any) (any, error) {
	switch v := v.(type) {
	case string:
		why, reject := strings.CutPrefix(v, "$reject ")
		switch {
		case v == "$issues":
			return p.ids(issueIDs), nil
		case v == "$accept", reject:
			verdicts := []any{}
			for _, id := range p.ids(taskIDs) {
				verdict := map[string]any{"task": id, "verdict": "accept"}
				if reject {
					verdict["verdict"], verdict["reason"] = "reject", why
				}
				verdicts = append(verdicts, verdict)
			}
			return verdicts, nil
		}
		render, err := textOf(&yaml.Node{Kind: yaml.ScalarNode, Value: v})
		if err != nil {
			return nil, err
		}
		return render(p)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			var err error
			if out[i], err = p.fill(v[i]); err != nil {
				return nil, err
			}
		}
		return out, nil
	case map[string]any:
		out := make(map[string]any, len(v))
		for k := range v {
			var err error
			if out[k], err = p.fill(v[k]); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	return v, nil
}

// ids returns what the pattern finds in the prompt, each once, in order. Code is
// left out, fenced or indented: it holds examples and diffs.
func (p *player) ids(pattern *lazyregexp.Regexp) []string {
	found := []string{}
	fence := ""
	for l := range strings.Lines(p.values.Prompt) {
		if mark := codeFence.FindString(strings.TrimSpace(l)); mark != "" {
			if fence == "" {
				fence = mark
			} else if strings.HasPrefix(mark, fence) {
				fence = ""
			}
			continue
		}
		if fence != "" || strings.HasPrefix(l, "    ") {
			continue
		}
		for _, id := range pattern.FindAllString(l, -1) {
			if !slices.Contains(found, id) {
				found = append(found, id)
			}
		}
	}
	return found
}

func parseFlood(v *yaml.Node) (func(*player) error, error) {
	var f struct {
		Bytes int64
		Line  int
		To    string
	}
	err := eachPair(v, func(key string, v *yaml.Node) error { return unknown(v, key, "bytes", "line", "to") })
	if err == nil {
		err = v.Decode(&f)
	}
	if err == nil && (f.Bytes < 1 || f.Line < 0 || f.To != "" && f.To != "stderr" && f.To != "stdout") {
		err = errors.New("want bytes > 0, line >= 0, to: stdout or stderr")
	}
	return func(p *player) error {
		w := p.stdout
		if f.To == "stderr" {
			w = p.stderr
		}
		block := bytes.Repeat([]byte("x"), 64<<10)
		if f.Line > 0 {
			row := append(bytes.Repeat([]byte("x"), f.Line-1), '\n')
			block = bytes.Repeat(row, max(1, len(block)/len(row)))
		}
		for left := f.Bytes; left > 0 && p.ctx.Err() == nil; {
			n, err := w.Write(block[:min(int64(len(block)), left)])
			if err != nil {
				return err
			}
			left -= int64(n)
		}
		_, err := io.WriteString(w, "\n")
		return err
	}, err
}

// within the agent's folder only: to leave it is what `run` is for.
func (p *player) path(name string) (string, error) {
	if !filepath.IsLocal(name) {
		return "", fmt.Errorf("%q is not within the working folder", name)
	}
	return filepath.Join(p.dir, name), nil
}

func files(v *yaml.Node, mode int) (func(*player) error, error) {
	var steps []func(*player) error
	err := eachPair(v, func(name string, v *yaml.Node) error {
		step, err := printing(v, func(p *player, s string) error { return p.write(name, s, mode) })
		steps = append(steps, step)
		return err
	})
	return func(p *player) error {
		for _, step := range steps {
			if err := step(p); err != nil {
				return err
			}
		}
		return nil
	}, err
}

func (p *player) write(name, s string, mode int) error {
	path, err := p.path(name)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	perm := os.FileMode(0o644)
	if strings.HasPrefix(s, "#!") {
		perm = 0o755
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|mode, perm)
	if err != nil {
		return err
	}
	_, err = f.WriteString(s)
	return errors.Join(err, f.Close())
}

func paths(v *yaml.Node, do func(string) error) (func(*player) error, error) {
	var names []string
	if v.Kind == yaml.ScalarNode {
		names = []string{v.Value}
	} else if err := v.Decode(&names); err != nil {
		return nil, err
	}
	return func(p *player) error {
		for _, name := range names {
			path, err := p.path(name)
			if err == nil {
				err = do(path)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}, nil
}

// shell runs a command as the agent's tool.
func (p *player) shell(command string, out io.Writer) error {
	var errs bytes.Buffer
	res, err := p.proc.Run(p.ctx, proc.Command{
		Args: []string{"sh", "-c", command}, Dir: p.dir, Env: p.env, Stdout: out, Stderr: &errs,
	})
	if err == nil && (res.Code != 0 || res.Signal != "") {
		err = fmt.Errorf("exit %d %s: %s", res.Code, res.Signal, text.Tail(errs.String(), wire.MaxMessage))
	}
	return err
}

func (p *player) wait(d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-p.ctx.Done():
		return p.ctx.Err()
	}
}

// hang does nothing until the process is ended. hard ignores what asks it to
// end, so that only KILL does.
func (p *player) hang(hard bool) error {
	if !hard {
		return p.wait(math.MaxInt64) // TERM ends the process, by its default or through ctx
	}
	signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	for {
		time.Sleep(time.Hour)
	}
}

func parseBackground(v *yaml.Node) (func(*player) error, error) {
	var b struct {
		Run          string
		Setsid, Hold bool
	}
	err := eachPair(v, func(key string, v *yaml.Node) error { return unknown(v, key, "run", "setsid", "hold") })
	if err == nil {
		err = v.Decode(&b)
	}
	return func(p *player) error { return p.background(b.Run, b.Setsid, b.Hold) }, err
}

// background leaves a process behind, as agents do with `&`. It is started here
// and not by internal/proc, which leaves nothing behind.
func (p *player) background(command string, setsid, hold bool) error {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	out := null
	if f, ok := p.stdout.(*os.File); ok && hold {
		out = f
	}
	sh, err := proc.LookPath("sh", p.dir, p.env)
	if err != nil {
		return err
	}
	child, err := os.StartProcess(sh, []string{"sh", "-c", command}, &os.ProcAttr{
		Dir: p.dir, Env: p.env, Files: []*os.File{null, out, out}, Sys: &syscall.SysProcAttr{Setsid: setsid},
	})
	if err != nil {
		return err
	}
	return child.Release()
}
