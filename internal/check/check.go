// Package check runs the commands that stand between a task and its being done:
// quality and test commands. It owns how they are run, what is kept of their
// output, and what a repository offers when nothing is configured (Detect). It
// does not own what a red check leads to, which is policy's, nor processes,
// which are proc's, nor what output says, which is testoutput's.
package check

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/lazyregexp"
	"github.com/ralph-loop/ralph/internal/proc"
	"github.com/ralph-loop/ralph/internal/redact"
	"github.com/ralph-loop/ralph/internal/testoutput"
	"github.com/ralph-loop/ralph/internal/text"
)

// defaultOutput is what is kept of a command's output when nothing is said.
const defaultOutput = 64 << 10

// Runner runs checks.
type Runner struct {
	proc      *proc.Runner
	maxOutput int64
	grace     time.Duration
	env       []string
	redact    *redact.Redactor
}

// New returns a runner. maxOutput is how many bytes of each command's output
// are kept, head and tail (0: 64 KiB), grace the time between TERM and KILL,
// env the complete environment of the commands.
func New(p *proc.Runner, maxOutput int64, grace time.Duration, env []string) *Runner {
	if maxOutput <= 0 {
		maxOutput = defaultOutput
	}
	return &Runner{proc: p, maxOutput: maxOutput, grace: grace, env: env}
}

// Redact returns a runner of whose results the secrets are taken out; commands run as they are.
func (r *Runner) Redact(by *redact.Redactor) *Runner {
	out := *r
	out.redact = by
	return &out
}

// Run runs the checks in dir, in order; the first that fails is the last that
// runs. All pass when there is a passing result for each. The
// error is ctx's cause, or that a command could not even be started; the
// results before it are returned with it.
func (r *Runner) Run(ctx context.Context, dir string, checks []ralph.CheckSpec) ([]ralph.CheckResult, error) {
	results := make([]ralph.CheckResult, 0, len(checks))
	for _, c := range checks {
		res, err := r.run(ctx, dir, c)
		if err != nil {
			return results, fmt.Errorf("run check %q: %w", r.redact.String(c.Command), err)
		}
		results = append(results, res)
		if !res.Pass {
			break
		}
	}
	return results, nil
}

// maxBoxes is how often a check is started whose sandbox could not be made.
const maxBoxes = 3

// run runs one check. A sandbox covers what a person's programs have just now, their sockets above
// all: one that went between the look and its being covered is no word about the work, and a red
// result would stand until a file changes. So that is looked at anew.
func (r *Runner) run(ctx context.Context, dir string, c ralph.CheckSpec) (res ralph.CheckResult, err error) {
	for range maxBoxes {
		var unmade bool
		if res, unmade, err = r.once(ctx, dir, c); err != nil || !unmade {
			break
		}
	}
	return res, err
}

// once starts a check, and reports whether its sandbox could not be made.
func (r *Runner) once(ctx context.Context, dir string, c ralph.CheckSpec) (res ralph.CheckResult, unmade bool, err error) {
	stdout, stderr := text.NewHeadTail(r.maxOutput), text.NewHeadTail(r.maxOutput)
	read := testoutput.New(namesOf(dir)...) // it sees what is not kept as well
	// Before anything of them is cut: half a secret is not known as one.
	shownOut, shownErr := r.redact.Writer(io.MultiWriter(stdout, read.Stdout())), r.redact.Writer(io.MultiWriter(stderr, read.Stderr()))
	end, err := r.proc.Run(ctx, proc.Command{
		Args: []string{"sh", "-c", c.Command}, Dir: dir, Env: r.env,
		Stdout: shownOut, Stderr: shownErr,
		Timeout: c.Timeout, Grace: r.grace, Tracked: true,
	})
	if err = errors.Join(err, shownOut.Close(), shownErr.Close()); err != nil {
		return ralph.CheckResult{}, false, err
	}
	if end.Ended == proc.EndedCancelled {
		return ralph.CheckResult{}, false, context.Cause(ctx)
	}
	res = ralph.CheckResult{Name: c.Name, Command: r.redact.String(c.Command), Exit: end.Code, Took: end.Took}
	if res.Name == "" {
		res.Name = res.Command
	}
	switch {
	case end.Ended == proc.EndedTimeout:
		res.Exit, res.Hung, res.Why = -1, true, fmt.Sprintf("timed out after %s: it did not end", ralph.ClockTime(c.Timeout))
		res.Headline = res.Why
	case end.Signal != "":
		res.Why = "ended by " + end.Signal
	default:
		res.Pass = end.Code == 0
	}
	res.Output, res.Cut = render(stderr, stdout, r.maxOutput)
	if !res.Pass && !res.Hung {
		said := read.Result()
		res.Headline = said.Headline
		if said.Complete && end.Signal == "" {
			res.Failed = said.Failed
		}
	}
	words, _ := stderr.Ends()
	return res, end.Code == 1 && stdout.Total() == 0 && unmadeBox.Match(words), nil
}

// unmadeBox is what bubblewrap says when something that it was to mount is not there any more. A
// check that prints this itself is started three times, and ends as it does.
var unmadeBox = lazyregexp.New(`\Abwrap: Can't [^\n]*\n?\z`)

// namesOf are the names of a folder: programs write the one that they were started in, or
// what it is behind links.
func namesOf(dir string) []string {
	if real, err := filepath.EvalSymlinks(dir); err == nil && real != dir {
		return []string{dir, real}
	}
	return []string{dir}
}
