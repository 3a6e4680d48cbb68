package doctor

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/bootstrap"
	"github.com/ralph-loop/ralph/internal/check"
	"github.com/ralph-loop/ralph/internal/config"
	"github.com/ralph-loop/ralph/internal/git"
	"github.com/ralph-loop/ralph/internal/git/commits"
	"github.com/ralph-loop/ralph/internal/git/info"
	"github.com/ralph-loop/ralph/internal/git/worktrees"
	"github.com/ralph-loop/ralph/internal/policy"
	"github.com/ralph-loop/ralph/internal/proc"
	"github.com/ralph-loop/ralph/internal/step"
	"github.com/ralph-loop/ralph/internal/text"
	"github.com/ralph-loop/ralph/internal/workspace"
	"github.com/ralph-loop/ralph/internal/worktree"
)

// checkRun runs the checks once at HEAD, without an agent and without a session.
type checkRun struct {
	env    workspace.Env
	config config.Config
	repo   *git.Repo
	head   git.Head
	gates  *check.Runner
}

// RunChecks finds out what is red before any work. Where the examination has found
// that nothing can work here, there is nothing to run.
func (x *examination) RunChecks(ctx context.Context, env workspace.Env) error {
	repo, err := git.Open(ctx, proc.NewRunner(""), env.Dir, env.Environ)
	if err != nil || commits.Ready(ctx, repo) != nil {
		return nil //nolint:nilerr // a finding says so already
	}
	c, err := workspace.LoadConfig(env, repo.Root(), nil)
	if err != nil {
		return nil //nolint:nilerr // so does one about the settings
	}
	r := &checkRun{env: env, config: c, repo: repo}
	if r.head, err = repo.Head(ctx); err != nil {
		return fmt.Errorf("look for the commit to check: %w", err)
	}
	if len(workspace.ChecksOf(c, repo.Root())) == 0 {
		x.note("run", "there is no check to run", "")
		return nil
	}
	dirty, err := repo.Dirty(ctx)
	if err != nil {
		return fmt.Errorf("look whether the checkout is clean: %w", err)
	}
	if len(dirty) == 0 && !r.engineRuns() {
		return r.inPlace(ctx, x)
	}
	return r.inWorktree(ctx, x)
}

// engineRuns: its agents change the checkout while checks would run.
func (r *checkRun) engineRuns() bool {
	_, j, err := workspace.ReadState(r.env, false, false)
	return err == nil && j.Holder() != nil
}

func (r *checkRun) inPlace(ctx context.Context, x *examination) error {
	if err := r.run(ctx, x, r.repo.Root(), "in the checkout", nil); err != nil {
		return err
	}
	changed, err := r.repo.Dirty(ctx)
	if err != nil {
		return fmt.Errorf("look what the checks have changed: %w", err)
	}
	if len(changed) > 0 {
		x.note("run", fmt.Sprintf("the checks change files: %s", text.List(changed, 5)), "what checks write comes into commits: have git ignore it, or have them write elsewhere")
	}
	return nil
}

// inWorktree runs them on what is committed, beside a checkout that has changes.
func (r *checkRun) inWorktree(ctx context.Context, x *examination) (err error) {
	if err := info.Exclude(r.repo, workspace.RuntimePaths()); err != nil {
		return fmt.Errorf("keep the worktree out of git's sight: %w", err)
	}
	r.sweep(ctx)
	dir := filepath.Join(r.repo.Root(), worktree.TreesFolder, doctorTree+strconv.Itoa(os.Getpid()))
	defer func() {
		if failed := r.remove(context.WithoutCancel(ctx), dir); err == nil {
			err = failed
		}
	}()
	if _, err := worktrees.Make(ctx, r.repo, []string{dir}, r.head.Commit); err != nil {
		return fmt.Errorf("make a worktree for the checks: %w", err)
	}
	return r.run(ctx, x, dir, "in a worktree, as the checkout has changes", []string{r.repo.CeilingEnv()})
}

// doctorTree begins the names of its worktrees; the pid is behind it.
const doctorTree = "doctor-"

// sweep removes worktrees of runs that were killed. One that stays is in nobody's way.
func (r *checkRun) sweep(ctx context.Context) {
	entries, err := os.ReadDir(filepath.Join(r.repo.Root(), worktree.TreesFolder))
	if err != nil {
		return
	}
	for _, e := range entries {
		rest, ok := strings.CutPrefix(e.Name(), doctorTree)
		pid, err := strconv.Atoi(rest)
		if !ok || err != nil {
			continue
		}
		if _, err := proc.Identity(pid); err != nil {
			_ = r.remove(ctx, filepath.Join(r.repo.Root(), worktree.TreesFolder, e.Name()))
		}
	}
}

// remove takes a worktree away with all that checks have written in it.
func (r *checkRun) remove(ctx context.Context, dir string) error {
	_ = (worktree.Worktrees{Repo: r.repo}).Tidy(ctx, dir) // RemoveTree says what is wrong
	_, err := worktrees.Remove(ctx, r.repo, dir, "doctor")
	_ = os.Remove(filepath.Dir(dir)) // only when it is empty
	if err != nil {
		return fmt.Errorf("remove the worktree of the checks: %w", err)
	}
	return nil
}

// run sets a folder up, if it is a new one, runs the checks and tells what they said.
func (r *checkRun) run(ctx context.Context, x *examination, dir, where string, more []string) error {
	p := inSandbox(r.env, r.repo.Root(), r.config)
	r.gates = check.New(p.Around(p.Procs), r.config.Quality.MaxOutput, bootstrap.AgentGrace, append(p.CheckEnv(r.env), more...))
	at := r.head.Commit[:min(7, len(r.head.Commit))]
	r.say("checks of %s, %s", at, where)
	if dir != r.repo.Root() {
		if red, err := r.setUp(ctx, dir); err != nil || red != nil {
			if red != nil {
				x.red(*red, "mend worktree.setup or worktree.copy in ralph/config.yaml: worktrees of tasks need it too")
			}
			return err
		}
	}
	executor := &step.Executor{
		Root: r.repo.Root(), Config: policy.Config{Coverage: r.config.Test.Coverage}, Checks: workspace.ChecksOf(r.config, r.repo.Root()),
		Checker: r, Coverage: bootstrap.Coverage{}, Now: time.Now,
	}
	results, err := executor.TryChecks(ctx, dir)
	if err != nil {
		return err
	}
	for _, result := range results {
		if result.Pass {
			x.green(result)
			r.covered(x, result)
			continue
		}
		x.red(result, "mend it before the first spec, or change quality.commands or test.command in ralph/config.yaml")
	}
	return nil
}

// Run runs commands for the executor, and says which one.
func (r *checkRun) Run(ctx context.Context, dir string, specs []ralph.CheckSpec) ([]ralph.CheckResult, error) {
	for _, s := range specs {
		r.say("running %s", s.Name)
	}
	return r.gates.Run(ctx, dir, specs)
}

// say shows what goes on. It is no part of the answer.
func (r *checkRun) say(format string, args ...any) {
	fmt.Fprintln(r.env.Stderr, text.Visible(fmt.Sprintf(format, args...)))
}

// setUp makes a new worktree ready as those of tasks are: worktree.copy, worktree.setup.
func (r *checkRun) setUp(ctx context.Context, dir string) (red *ralph.CheckResult, err error) {
	w := r.config.Worktree
	if _, err := worktrees.CopyInto(ctx, r.repo.Root(), dir, w.Copy); err != nil {
		return nil, fmt.Errorf("worktree.copy: %w", err)
	}
	for _, command := range w.Setup {
		results, err := r.Run(ctx, dir, []ralph.CheckSpec{{Name: command, Command: command, Timeout: w.SetupTimeout}})
		if err != nil {
			return nil, fmt.Errorf("worktree.setup: %w", err)
		}
		if !results[0].Pass {
			return &results[0], nil
		}
	}
	return nil, nil
}

func (x *examination) green(r ralph.CheckResult) {
	x.ok("run", "%s is green (%s)", r.Name, took(r.Took))
	x.attach(r)
}

// maxFailing are named of the tests that failed; --json has all.
const maxFailing = 10

func (x *examination) red(r ralph.CheckResult, fix string) {
	saw := fmt.Sprintf("%s is red (%s), %s", r.Name, r.WhyRed(), took(r.Took))
	if len(r.Failed) > 0 {
		saw += "\n                   failed: " + text.List(r.Failed, maxFailing)
	}
	x.problem("run", text.Visible(saw), fix)
	x.attach(r)
}

// attach gives the last finding its result. The output would be most of it.
func (x *examination) attach(r ralph.CheckResult) {
	r.Output = ""
	x.Findings[len(x.Findings)-1].Check = &r
}

// covered says what the tests reach, held against test.coverage.
func (r *checkRun) covered(x *examination, result ralph.CheckResult) {
	c, least := result.Coverage, r.config.Test.Coverage
	switch {
	case !result.Test || least == 0:
	case c == nil:
		x.note("coverage", "the tests wrote no report that ralph reads", "")
	case c.Percent < least:
		x.note("coverage", fmt.Sprintf("%.1f %% of %d statements or lines are covered, below test.coverage %g", c.Percent, c.Total, least),
			"set test.coverage in ralph/config.yaml to what is wanted here; 0 switches it off")
	default:
		x.ok("coverage", "%.1f %% of %d statements or lines are covered", c.Percent, c.Total)
	}
}

// took is a time as people read it: checks take from milliseconds to an hour.
func took(d time.Duration) string {
	if d < 10*time.Second {
		return d.Round(10 * time.Millisecond).String()
	}
	return ralph.Elapsed(d)
}
