package step

import (
	"context"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/policy"
)

// Coverage reads what tests cover from the reports that test programs write.
type Coverage interface {
	// Prepare returns the command that makes the test program write a report, and where
	// it will be; the command as it is and "" where there is no safe way.
	Prepare(command, scratch string) (with, profile string)
	// Spoiled reports whether a run was red for its report alone: the command as it was
	// before Prepare is the one to believe then.
	Spoiled(output string) bool
	// Read returns the newest report since a time, of the profile or of those that lie
	// where programs put them in dir; nil for none.
	Read(dir string, since time.Time, profile string) (*ralph.Coverage, error)
}

// runCheck runs one command. The test command also tells its coverage, and with
// test.retry rerun a red one runs again at once, on the very same tree.
func (x *Executor) runCheck(ctx context.Context, o checking, g ralph.CheckSpec) (ralph.CheckResult, error) {
	if !g.Test {
		return x.runOnce(ctx, o.dir, g)
	}
	tries := 1
	if x.Config.TestRetry == "rerun" && !o.all && !o.red(g.Name) {
		tries += x.Config.TestRetries
	}
	var took time.Duration
	for try := 1; ; try++ {
		r, err := x.runTest(ctx, o.dir, g)
		if err != nil {
			return r, err
		}
		took += r.Took
		if r.Pass || r.Hung || try == tries {
			r.Took = took
			if try > 1 {
				r.Tries = try
			}
			return r, nil
		}
	}
}

// runTest runs the test command once, with a report of its coverage where there is one.
func (x *Executor) runTest(ctx context.Context, dir string, g ralph.CheckSpec) (ralph.CheckResult, error) {
	if x.Coverage == nil || x.Config.Coverage == 0 {
		r, err := x.runOnce(ctx, dir, g)
		r.Test = true
		return r, err
	}
	scratch, err := os.MkdirTemp("", "ralph-coverage-*")
	if err != nil {
		return ralph.CheckResult{}, fmt.Errorf("make a folder for the coverage report: %w", err)
	}
	defer os.RemoveAll(scratch)
	with, profile := x.Coverage.Prepare(g.Command, scratch)
	begin := time.Now() // of the files that are written: not the clock of facts
	run := g
	run.Command = with
	r, err := x.runOnce(ctx, dir, run)
	if err == nil && !r.Pass && profile != "" && x.Coverage.Spoiled(r.Output) {
		r, err = x.runOnce(ctx, dir, g)
		profile = ""
	}
	r.Test, r.Command = true, g.Command
	if err != nil || !r.Pass {
		return r, err
	}
	if r.Coverage, err = x.Coverage.Read(dir, begin, profile); err != nil {
		r.Output += "\nThe coverage report cannot be read: " + err.Error() + "\n"
	}
	return r, nil
}

func (x *Executor) runOnce(ctx context.Context, dir string, g ralph.CheckSpec) (ralph.CheckResult, error) {
	results, err := x.Checker.Run(ctx, dir, []ralph.CheckSpec{g})
	if err != nil {
		return ralph.CheckResult{}, err
	}
	return results[0], nil
}

// coverageTolerance is how far coverage that was too low before may go down without being
// blamed on the work, in percent points: deleting a covered line is no weaker test.
const coverageTolerance = 0.1

// coverageCheck holds a coverage against what it must be, unrounded. Where it was lower
// before the work, it is enough not to lower it. Unless a person set test.coverage, what
// the repository had before is its own mark, and without one nothing is red.
func coverageCheck(c ralph.Coverage, config policy.Config, before float64) ralph.CheckResult {
	want := config.Coverage
	r := ralph.CheckResult{Name: ralph.CheckCoverage, Test: true, Coverage: &c}
	r.Why = fmt.Sprintf("%s of %d statements or lines are covered", percent(c.Percent, want), c.Total)
	switch {
	case c.Percent >= want:
		r.Pass = true
	case before > 0 && before < want && c.Percent >= before-coverageTolerance:
		r.Pass = true
		r.Why += fmt.Sprintf(", below test.coverage %g as before the work", want)
	case before == 0 && !config.CoverageSet:
		r.Pass = true
		r.Why += fmt.Sprintf(", below %g, and nobody knows how many were before; set test.coverage to hold work to it", want)
	case before > 0 && (before < want || !config.CoverageSet):
		r.Exit = 1
		r.Why += fmt.Sprintf(", fewer than before the work (%.1f %%); test.coverage is %g", before, want)
	default:
		r.Exit = 1
		r.Why += fmt.Sprintf(", below test.coverage %g", want)
	}
	return r
}

// percent shows a figure with as many digits as it takes to tell it from the limit.
func percent(p, limit float64) string {
	for digits := 1; digits < 6; digits++ {
		if text := fmt.Sprintf("%.*f", digits, p); text != fmt.Sprintf("%.*f", digits, limit) || p == limit {
			return text + " %"
		}
	}
	return fmt.Sprint(p) + " %"
}

// results remembers what commands said of trees, so that none runs twice on the same.
// Green is green for everybody; red is remembered for the attempt that it was
// red in: for another one, the surroundings may have been mended.
type results struct {
	mu    sync.Mutex
	green map[string]ralph.CheckResult // by tree and command
	red   map[string]redResult         // by task and command, the newest
	told  atomic.Bool                  // that there is no coverage report
}

type redResult struct {
	tree, attempt string
	ralph.CheckResult
}

// attemptOf changes when a person sends a task back, and when one answers it.
func attemptOf(t *ralph.Task) string {
	return fmt.Sprintf("%d/%d", t.Run.StartedAt.UnixNano(), len(t.Run.Rejects))
}

// find returns the result of an earlier run of the command on the tree.
func (x *results) find(o checking, g ralph.CheckSpec) (ralph.CheckResult, bool) {
	if o.tree == "" {
		return ralph.CheckResult{}, false
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	r, ok := x.green[o.tree+" "+g.Command]
	if red, found := x.red[string(o.task.ID)+" "+g.Command]; !ok && found && red.tree == o.tree && red.attempt == attemptOf(o.task) {
		r, ok = red.CheckResult, true
	}
	r.Reused, r.Took = true, 0
	return r, ok
}

// keep remembers a result. A green one is remembered without what it printed.
func (x *results) keep(o checking, g ralph.CheckSpec, r ralph.CheckResult) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.green == nil {
		x.green, x.red = map[string]ralph.CheckResult{}, map[string]redResult{}
	}
	key := string(o.task.ID) + " " + g.Command
	switch {
	case o.tree == "":
	case r.Pass:
		r.Output, r.Cut = "", 0
		x.green[o.tree+" "+g.Command] = r
		delete(x.red, key)
	default:
		x.red[key] = redResult{o.tree, attemptOf(o.task), r}
	}
}
