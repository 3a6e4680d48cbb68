package demo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/journal"
	"github.com/ralph-loop/ralph/internal/proc"
	"github.com/ralph-loop/ralph/internal/report"
	"github.com/ralph-loop/ralph/internal/workspace"
)

// RunParallel is Run with three agents on seven tasks that depend on each other.
func RunParallel(ctx context.Context, env workspace.Env, dir string, web bool) error {
	begin := time.Now()
	dir, mode, err := Make(ctx, env, dir, true, 1)
	if err != nil {
		return err
	}
	fmt.Fprintf(env.Stdout, "A small repository with a plan of seven tasks, and checks that are red: %s\n\n", dir)
	x, err := playDemo(ctx, env, dir, mode, web)
	defer x.HoldWeb(ctx)
	if err != nil {
		return err
	}
	return demoParallelEnd(ctx, x.Env, dir, time.Since(begin))
}

// demoTasks are the plan of the demo: the first mends what is red before any work, two of
// them add a line at the same place.
func demoTasks() []ralph.Task {
	task := func(id ralph.TaskID, name, accept string, deps ...ralph.TaskID) ralph.Task {
		return ralph.Task{ID: id, Spec: "till.md", Name: name, Accept: accept, Deps: deps, Status: ralph.TaskPending}
	}
	return []ralph.Task{
		task("t-mend", "Mend the version", "`sh till.sh version` prints `till 1`: the checks were red for it"),
		task("t-sum1", "Add up prices", "`sh till.sh sum 10 20 30` prints `60`", "t-mend"),
		task("t-tax1", "Work out the tax", "`sh till.sh tax 100` prints `119`", "t-mend"),
		task("t-help", "Explain an unknown command", "an unknown command is explained on stderr, exit code 2", "t-mend"),
		task("t-disc", "Give a discount", "`sh till.sh discount 10 20 30` prints `54`", "t-sum1", "t-tax1"),
		task("t-read", "Describe the till in the README", "the README shows each command", "t-help", "t-tax1"),
		task("t-rcpt", "Print a receipt", "sum and tax in one line", "t-disc"),
	}
}

func planDemo(ctx context.Context, dir string, environ []string) error {
	if err := workspace.ExcludeRuntime(dir, environ); err != nil {
		return err
	}
	j, err := journal.Open(journal.Options{Root: dir, Plan: true, NewID: workspace.NewID})
	if err != nil {
		return err
	}
	err = j.Update(ctx, "cli", func(s *ralph.State) ([]ralph.Fact, error) { return s.SetPlan("till.md", demoTasks()), nil })
	return errors.Join(err, j.Close())
}

// demoParallelEnd tells what came of it and what to try next.
func demoParallelEnd(ctx context.Context, env workspace.Env, dir string, d time.Duration) error {
	s, _, err := workspace.ReadState(env, false, true)
	if err != nil {
		return err
	}
	log, stderr, res, err := proc.NewRunner("").Output(ctx, proc.Command{
		Args: []string{"git", "log", "--graph", "--format=%h  %s"}, Dir: dir, Env: env.Environ,
	})
	if err != nil {
		return fmt.Errorf("read the demo's commits: %w", err)
	}
	if res.Code != 0 {
		return fmt.Errorf("read the demo's commits: %s", stderr)
	}
	c := s.Session.Count
	_, err = fmt.Fprintf(env.Stdout, `
Done in %s: %s by 3 agents at a time, %d iterations, %s mended, %d merges and %s resolved, %s (made-up money).

Commits:
%s
Repository:
  %s

Try next:
  %[10]s -C %[9]s report
  %[10]s -C %[9]s task show t-tax1
  %[10]s -C %[9]s verify     (every link, from decisions over checks to commits)

Then, in a repository of yours: ralph init
`, ralph.Elapsed(d), report.Tasks(c.TasksDone), s.Session.Turns, report.RedChecks(c.ChecksRed), c.MergesClean+c.MergesResolved,
		conflicts(c.MergesResolved), ralph.Dollars(s.Session.Usage.Cost), log, dir, selfWords(env))
	return err
}

func conflicts(n int) string {
	if n == 1 {
		return "1 conflict"
	}
	return fmt.Sprintf("%d conflicts", n)
}
