package measure

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// agentScript is an agent that needs no model: it appends a line to a file of its task.
const agentScript = `#!/bin/sh
case "$RALPH_STAGE" in
verify) printf '%s\n' '` + "```json" + `' '{"verdicts":[]}' '` + "```" + `' ;;
*) mkdir -p ralph-bench && echo x >>"ralph-bench/$RALPH_TASK" && echo '<ralph>COMPLETE</ralph>' ;;
esac
`

// tasks does whole specs with that agent, a few tasks and some more: what more tasks take
// is what a task costs, without the start and the end of the session.
func (b *copied) tasks(ctx context.Context, r *rounds) Task {
	var t Task
	add, okA := of(r.figures, "git.add")
	commit, okC := of(r.figures, "git.commit")
	start, okS := of(r.figures, "start")
	if okA && okC && okS {
		t.Floor = start + add + commit
	}
	few, more := 2, 10
	if tree, ok := of(r.figures, "worktree.add"); !ok || tree > 500 || t.Floor > 500 {
		few, more = 1, 3
	}
	if err := b.setUp(ctx); err != nil {
		r.skip(err, "task.in_place", "a whole task in the checkout", "task.worktree", "a whole task in a worktree")
		return t
	}
	t.InPlace = b.whole(ctx, r, "task.in_place", "a whole task in the checkout, with a commit", few, more, "construct")
	t.Worktree = b.whole(ctx, r, "task.worktree", fmt.Sprintf("a whole task in a worktree, merged, %d slots", b.slots()), few, more, "autopilot", "--parallel", fmt.Sprint(b.slots()))
	return t
}

func (b *copied) slots() int { return max(2, min(b.Settings.Slots, 4)) }

// setUp is ralph in the copy with the settings that it comes with, and those of this
// repository that figures depend on.
func (b *copied) setUp(ctx context.Context) error {
	agent := filepath.Join(b.dir, "agent")
	if err := errors.Join(os.RemoveAll(filepath.Join(b.repo, "ralph")), os.WriteFile(agent, []byte(agentScript), 0o700)); err != nil {
		return err
	}
	kind := b.Settings.Kind
	for _, args := range [][]string{
		{b.Self, "init"},
		{
			b.Self, "config", "edit", "agent.primary=bench", "agents.bench.driver=exec", fmt.Sprintf("agents.bench.command=[%q]", agent),
			"task.auto_commit=true", "task.delay=0s", "quality.commands=['true']", "diff.secrets=off", "test.coverage=0", "sandbox.kind=" + kind,
		},
		{"git", "add", "-A"},
		{"git", "commit", "-q", "-m", "ralph bench"},
	} {
		if err := b.run(args...)(ctx); err != nil {
			return fmt.Errorf("set ralph up in the copy: %w", err)
		}
	}
	return nil
}

// whole is what one task takes, in milliseconds.
func (b *copied) whole(ctx context.Context, r *rounds, id, what string, few, more int, command ...string) float64 {
	took := map[int]time.Duration{}
	for _, n := range []int{few, more} {
		r.say(fmt.Sprintf("%s: %d of them", what, n))
		if !r.now().Before(r.until) {
			r.skip(errLate, id, what)
			return 0
		}
		d, err := b.session(ctx, r, fmt.Sprintf("%s-%d", strings.ReplaceAll(id, ".", "-"), n), n, command)
		if err != nil {
			r.skip(err, id, what)
			return 0
		}
		took[n] = d
	}
	each := Milliseconds(took[more]-took[few]) / float64(more-few)
	if each <= 0 {
		r.skip(fmt.Errorf("%d tasks took no longer than %d: the machine is too busy to tell", more, few), id, what)
		return 0
	}
	r.figures = append(r.figures, Figure{ID: id, What: what, Spread: Spread{each, each, each}, Runs: more - few})
	return each
}

// session is a spec with n tasks that are planned already.
func (b *copied) session(ctx context.Context, r *rounds, name string, n int, command []string) (time.Duration, error) {
	spec := name + ".md"
	var plan strings.Builder
	fmt.Fprintf(&plan, `{"t":"spec","spec":%q}`+"\n", spec)
	for i := range n {
		fmt.Fprintf(&plan, `{"t":"task","id":"t-%s%d","spec":%q,"name":"Append a line to file %d","status":"pending"}`+"\n", strings.ReplaceAll(name, "-", ""), i, spec, i)
	}
	err := errors.Join(
		write(filepath.Join(b.repo, "ralph/specs", spec), "# Lines\n\nAppend a line to each file.\n"),
		write(filepath.Join(b.repo, "ralph/plan.jsonl"), plan.String()),
		b.run("git", "add", "-A")(ctx), b.run("git", "commit", "-q", "--allow-empty", "-m", name)(ctx),
	)
	if err != nil {
		return 0, err
	}
	args := append([]string{b.Self}, command...)
	if command[0] == "construct" {
		args = append(args, spec)
	}
	begin := r.now()
	if err := b.run(args...)(ctx); err != nil {
		return 0, err
	}
	took := r.now().Sub(begin)
	done, err := b.output(ctx, b.procs, b.repo, "git", "ls-tree", "--name-only", "HEAD", "ralph-bench/")
	if err == nil && strings.Count(done, strings.ReplaceAll(name, "-", "")) != n {
		err = fmt.Errorf("ralph %s did %d of %d tasks", command[0], strings.Count(done, strings.ReplaceAll(name, "-", "")), n)
	}
	return took, err
}
