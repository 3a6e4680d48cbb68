package step

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph"
)

// setupName is how a failed set-up is called where check results are listed.
const setupName = "worktree.setup"

// setupError says that a worktree could not be set up. What is wrong is the
// person's command or what a merge made of it, not ralph's machinery.
type setupError struct{ why, output string }

func (e *setupError) Error() string { return setupName + ": " + e.why }

// setUp carries out worktree.copy and worktree.setup in a worktree that has not
// had them, before an agent sees it.
func (x *Executor) setUp(ctx context.Context, task ralph.TaskID, dir string, anew bool) error {
	if x.Setup.none() {
		return nil
	}
	return x.Worktrees.SetUp(dir, x.Setup.how(), anew, func() error {
		if err := x.Worktrees.Copy(ctx, dir, x.Setup.Copy); err != nil {
			if ctx.Err() != nil {
				return err
			}
			return &setupError{why: "worktree.copy: " + err.Error()}
		}
		return x.runSetup(ctx, task, dir)
	})
}

// runSetup runs the commands in order, as checks are run, and keeps what they say
// in setup.log.
func (x *Executor) runSetup(ctx context.Context, task ralph.TaskID, dir string) (err error) {
	var log strings.Builder
	defer func() {
		path := filepath.Join(x.Root, taskDir(task), "setup.log")
		if failed := writeRecord(path, []byte(log.String())); err == nil {
			err = failed
		}
	}()
	begin := x.Now()
	for _, command := range x.Setup.Commands {
		spec := ralph.CheckSpec{Name: command, Command: command, Timeout: x.Setup.Timeout}
		if spec.Timeout > 0 {
			if spec.Timeout -= x.Now().Sub(begin); spec.Timeout <= 0 {
				return &setupError{why: fmt.Sprintf("no time was left for `%s` (worktree.setup_timeout is %s)", command, x.Setup.Timeout)}
			}
		}
		results, err := x.Checker.Run(ctx, dir, []ralph.CheckSpec{spec})
		if err != nil {
			return fmt.Errorf("%s: %w", setupName, err)
		}
		for _, r := range results {
			fmt.Fprintf(&log, "$ %s\n%s", x.Redact.String(command), r.Output)
			if !r.Pass {
				return &setupError{why: failedSetup(r), output: r.Output}
			}
		}
	}
	return nil
}

// failedSetup says which command failed, how, and its last words.
func failedSetup(r ralph.CheckResult) string {
	how := r.Why
	if how == "" {
		how = fmt.Sprintf("exit code %d", r.Exit)
	}
	why := fmt.Sprintf("`%s` failed (%s)", r.Command, how)
	lines := strings.Split(strings.TrimSpace(r.Output), "\n")
	lines = slices.DeleteFunc(lines, func(l string) bool {
		return l == "--- stderr ---" || l == "--- stdout ---" || strings.TrimSpace(l) == ""
	})
	const most = 5
	if last := strings.Join(lines[max(0, len(lines)-most):], "\n"); last != "" {
		why += ": " + last
	}
	return why
}

// writeRecord writes a file for people below ralph/.state, whose folders an agent
// may have deleted.
func writeRecord(path string, b []byte) error {
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = os.WriteFile(path, b, 0o600)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// DoBrought is Do for a task whose worktree was brought here from another machine: what it needs
// before anybody works in it is done first. anew: its files were written anew.
func (x *Executor) DoBrought(ctx context.Context, s *ralph.State, id ralph.TaskID, step ralph.Step, anew bool) ([]ralph.Fact, error) {
	t := s.Task(id)
	if err := x.setUp(ctx, id, x.dir(t), anew); err != nil {
		if turn, ok := step.(ralph.Turn); ok {
			return x.cannotStart(ctx, s, t, turn, err)
		}
		return nil, fmt.Errorf("step %s of %s: %w", step.StepName(), id, err)
	}
	return x.Do(ctx, s, id, step)
}
