package measure

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/ralph-loop/ralph/internal/proc"
)

// Subject is what is measured.
type Subject struct {
	Root string // of the repository
	Self string // the ralph program
	Path string // of the person: PATH
	// Boxed starts processes as agents and checks are started, in the sandbox; nil: there is none.
	Boxed *proc.Runner
	// Agents start without a model: their programs say their version.
	Agents   []Agent
	Settings Settings
	Say      func(string)     // what is measured now
	Now      func() time.Time // the clock
	// Within is how long all of it may take, about: what has not begun after two thirds of that is
	// left out.
	Within time.Duration
}

// Agent is one that may be started.
type Agent struct {
	Name  string
	Start func(ctx context.Context) error
}

// Settings are those that figures depend on.
type Settings struct {
	Sandbox string        `json:"sandbox"` // sandbox.kind, as it was chosen
	Kind    string        `json:"-"`       // sandbox.kind, as it is written
	Slots   int           `json:"slots"`
	Delay   time.Duration `json:"-"` // task.delay
}

// Report is what came of it.
type Report struct {
	Machine string   `json:"machine"`
	Load    string   `json:"load"` // before
	Files   int      `json:"files"`
	Figures []Figure `json:"figures"`
	Task    Task     `json:"task"`
	Advice  []Advice `json:"advice,omitempty"`
	TookMS  float64  `json:"took_ms"`
}

// Task is what a task costs beside its agent and its checks, in milliseconds; 0: not measured.
type Task struct {
	Floor    float64 `json:"floor_ms"`    // git add and git commit alone
	InPlace  float64 `json:"in_place_ms"` // in the checkout, with a commit
	Worktree float64 `json:"worktree_ms"` // in a worktree, merged
}

// Measure takes all figures. What cannot be measured is said in its place; an error is that
// nothing could.
func Measure(ctx context.Context, p Subject) (*Report, error) {
	begin := p.Now()
	r := &rounds{now: p.Now, say: p.Say, until: begin.Add(p.Within * 2 / 3)}
	report := &Report{Machine: Machine(), Load: Load()}
	dir, err := scratch(p.Root)
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	b := &copied{Subject: p, dir: dir, repo: filepath.Join(dir, "repo"), procs: proc.NewRunner(""), env: environ(p.Path, dir)}
	b.machine(ctx, r)
	if report.Files, err = b.clone(ctx, r); err != nil {
		r.skip(err, "git", "git in this repository", "worktree", "worktrees", "task", "whole tasks of ralph")
	} else {
		b.git(ctx, r)
		b.worktrees(ctx, r)
		report.Task = b.tasks(ctx, r)
	}
	for _, a := range p.Agents {
		r.take(ctx, "agent."+a.Name, "start of agent "+a.Name+" (without a model)", 3, nil, a.Start)
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	report.Figures = r.figures
	report.Advice = advise(report, p.Settings)
	report.TookMS = Milliseconds(p.Now().Sub(begin))
	return report, nil
}

// copied is the copy that is measured in.
type copied struct {
	Subject
	dir, repo string
	procs     *proc.Runner
	env       []string
}

// environ is one of no person: their settings of git (signing, a monitor of files) do not
// count, and nothing of theirs is written.
func environ(path, home string) []string {
	return []string{
		"PATH=" + path, "HOME=" + home, "XDG_CONFIG_HOME=" + home, "TMPDIR=" + home, "LC_ALL=C", "GIT_CONFIG_NOSYSTEM=1", "GIT_LFS_SKIP_SMUDGE=1", "GIT_TERMINAL_PROMPT=0",
		"GIT_AUTHOR_NAME=ralph bench", "GIT_AUTHOR_EMAIL=bench@ralph.invalid", "GIT_COMMITTER_NAME=ralph bench", "GIT_COMMITTER_EMAIL=bench@ralph.invalid",
	}
}

// scratch is a folder on the repository's own file system, outside of it: the one for
// temporary files where that is the same, or beside the repository.
func scratch(root string) (string, error) {
	parent := os.TempDir()
	if !sameDevice(root, parent) {
		parent = filepath.Dir(root)
	}
	dir, err := os.MkdirTemp(parent, ".ralph-bench-")
	if err != nil {
		dir, err = os.MkdirTemp("", "ralph-bench-") // another file system is better than no figures
	}
	if err != nil {
		return "", fmt.Errorf("make a folder to measure in: %w", err)
	}
	return filepath.EvalSymlinks(dir)
}

func sameDevice(a, b string) bool {
	var x, y syscall.Stat_t
	return syscall.Stat(a, &x) == nil && syscall.Stat(b, &y) == nil && x.Dev == y.Dev
}

// machine is what costs the same in every repository.
func (b *copied) machine(ctx context.Context, r *rounds) {
	r.take(ctx, "start", "start of a process (true)", 20, nil, b.command(b.procs, b.dir, "true"))
	r.take(ctx, "start.git", "start of git (git --version)", 20, nil, b.command(b.procs, b.dir, "git", "--version"))
	r.take(ctx, "start.ralph", "start of ralph (ralph version)", 20, nil, b.command(b.procs, b.dir, b.Self, "version"))
	if b.Boxed == nil {
		r.skip(errors.New("no sandbox: sandbox.kind is off, or there is none on this system"), "start.sandbox", "start in the sandbox (true)")
	} else {
		r.take(ctx, "start.sandbox", "start in the sandbox (true)", 10, nil, b.command(b.Boxed, b.dir, "true"))
	}
	r.take(ctx, "fsync", "a line on the disk (write and fsync)", 30, nil, fsync(b.dir))
}

// clone makes the copy, which has the objects of the repository and a work tree of its own.
func (b *copied) clone(ctx context.Context, r *rounds) (files int, err error) {
	// the place of the repository's own commands: its own environment, and nothing is written
	head, err := b.output(ctx, b.procs, b.Root, "git", "-c", "safe.directory=*", "rev-parse", "--verify", "HEAD^{commit}")
	if err != nil {
		return 0, fmt.Errorf("there is no commit to measure with: %w", err)
	}
	head = strings.TrimSpace(head)
	r.say("a copy that shares the objects of this repository")
	steps := [][]string{
		{"git", "-c", "safe.directory=*", "clone", "-q", "--shared", "--no-checkout", "--no-tags", b.Root, b.repo},
		{"git", "-C", b.repo, "update-ref", "refs/heads/bench", head},
		{"git", "-C", b.repo, "symbolic-ref", "HEAD", "refs/heads/bench"},
		{"git", "-C", b.repo, "remote", "remove", "origin"},
	}
	for _, args := range steps {
		if _, err := b.output(ctx, b.procs, b.dir, args...); err != nil {
			return 0, err
		}
	}
	r.take(ctx, "git.checkout", "checkout of all files (git reset --hard)", 1, nil, b.run("git", "reset", "-q", "--hard"))
	if f := r.figures[len(r.figures)-1]; f.Skipped != "" {
		return 0, errors.New(f.Skipped)
	}
	list, err := b.output(ctx, b.procs, b.repo, "git", "ls-files", "-z")
	return strings.Count(list, "\x00"), err
}

// run is a command in the copy.
func (b *copied) run(args ...string) func(context.Context) error {
	return b.command(b.procs, b.repo, args...)
}

// changed is the file that is changed in the copy.
const changed = "ralph-bench.txt"

func (b *copied) git(ctx context.Context, r *rounds) {
	edit := func(context.Context) error {
		return write(filepath.Join(b.repo, changed), time.Now().String()+"\n"+strings.Repeat("a line\n", 20))
	}
	r.take(ctx, "git.status", "git status", 5, nil, b.run("git", "status", "--porcelain"))
	r.take(ctx, "git.add", "git add -A, one file changed", 5, edit, b.run("git", "add", "-A"))
	r.take(ctx, "git.commit", "git commit, one file changed", 5, func(ctx context.Context) error {
		return errors.Join(edit(ctx), b.run("git", "add", "-A")(ctx))
	}, b.run("git", "commit", "-q", "-m", "bench"))
	r.take(ctx, "git.diff", "git diff of that commit", 5, nil, b.run("git", "diff-tree", "-p", "HEAD"))
}

func (b *copied) worktrees(ctx context.Context, r *rounds) {
	tree := filepath.Join(b.dir, "tree")
	most := 3
	if first, ok := of(r.figures, "git.checkout"); ok && first > 5000 {
		most = 1
	}
	remove := func(ctx context.Context) error {
		if _, err := os.Stat(tree); err != nil {
			return nil //nolint:nilerr // there is none: nothing to take away
		}
		return b.run("git", "worktree", "remove", "--force", tree)(ctx)
	}
	add := b.run("git", "worktree", "add", "-q", "--detach", tree)
	r.take(ctx, "worktree.add", "a new worktree (git worktree add)", most, remove, add)
	r.take(ctx, "worktree.remove", "a worktree removed", most, func(ctx context.Context) error {
		return errors.Join(remove(ctx), add(ctx))
	}, b.run("git", "worktree", "remove", "--force", tree))
}

func write(name, text string) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return os.WriteFile(name, []byte(text), 0o644)
}
