package hook

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/proc"
	"github.com/ralph-loop/ralph/internal/text"
)

const (
	// Limit is how long a hook may take; then its process group is ended.
	Limit = 30 * time.Second
	// grace is the time between TERM and KILL.
	grace = 2 * time.Second
	// maxOutput is what is kept of each stream of a hook's output, in bytes: its end.
	maxOutput = 2 << 10
	// ExitStop is the exit code by which a pre- hook stops the loop.
	ExitStop = 2
)

// Runner starts hooks.
type Runner struct {
	Proc *proc.Runner
	Root string   // the repository: where hooks run
	Env  []string // the environment that all of them get, K=V
	// Limit is how long each may take; 0: the usual Limit.
	Limit time.Duration
}

// Call is one hook to run, with its input.
type Call struct {
	Hook  Hook
	Seq   int64 // of the fact that it is told of; 0 for a pre- hook
	Task  ralph.TaskID
	Env   []string // besides Runner.Env
	Input []byte   // JSON
}

// run runs a hook to its end. What is wrong with it is in the fact (Error); the
// error is ctx's cause alone.
func (r *Runner) run(ctx context.Context, c Call) (ralph.HookRan, error) {
	limit := r.Limit
	if limit == 0 {
		limit = Limit
	}
	ran := ralph.HookRan{Hook: c.Hook.Name, Seq: c.Seq, Task: c.Task}
	if why := c.Hook.changed(); why != "" {
		// One that may hold the work back holds it: taking a guard away is no way past it.
		ran.Exit, ran.Error, ran.Output = ExitStop, "not run: "+why, why
		return ran, nil
	}
	var out, errs tail
	end, err := r.Proc.Run(ctx, proc.Command{
		Args: []string{c.Hook.Path}, Dir: r.Root, Env: append(append([]string{}, r.Env...), c.Env...),
		Stdin: bytes.NewReader(append(c.Input, '\n')), Stdout: &out, Stderr: &errs,
		Timeout: limit, Grace: grace, Tracked: true,
	})
	ran.Exit, ran.Took, ran.Output = end.Code, end.Took, joined(out, errs)
	var start *proc.StartError
	switch {
	case errors.As(err, &start):
		ran.Error = "it could not be started: " + start.Error()
	case err != nil:
		ran.Error = err.Error()
	case end.Ended == proc.EndedCancelled:
		return ran, context.Cause(ctx)
	case end.Ended == proc.EndedTimeout:
		ran.Exit, ran.Error = -1, fmt.Sprintf("it took longer than %s and was ended", limit)
	case end.Signal != "":
		ran.Error = "ended by " + end.Signal
	case end.Code != 0:
		ran.Error = fmt.Sprintf("exit code %d", end.Code)
	}
	return ran, nil
}

// tail keeps the end of what is written to it.
type tail []byte

func (t *tail) Write(p []byte) (int, error) {
	*t = append(*t, p...)
	if cut := len(*t) - maxOutput; cut > 0 {
		*t = append((*t)[:0], (*t)[cut:]...)
	}
	return len(p), nil
}

// text is what a hook printed, its errors last: the last line says most.
func joined(out, errs tail) string {
	var parts []string
	for _, t := range []tail{out, errs} {
		if part := strings.TrimSpace(strings.ToValidUTF8(string(t), "\uFFFD")); part != "" {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, "\n")
}

// lastLine is the last line of a hook's output, fit for a line of a log.
func lastLine(output string) string { return text.Cut(text.SafeLine(text.LastLine(output)), 200) }
