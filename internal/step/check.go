package step

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
)

// Gates runs check commands.
type Gates interface {
	Run(ctx context.Context, dir string, gates []ralph.GateSpec) ([]ralph.GateResult, error)
}

// check runs the checks; their result is bound to the tree they ran on.
func (x *Executor) check(ctx context.Context, s *ralph.State, t *ralph.Task, step ralph.Check) ([]ralph.Fact, error) {
	if t.Kind == ralph.KindMerge {
		return x.checkMerged(ctx, t, step)
	}
	tree, _, err := x.snapshot(ctx, s, t)
	if err != nil {
		return nil, err
	}
	ran := ralph.ChecksRan{Task: t.ID, Tree: tree}
	begin := x.Now()
	if t.Kind == ralph.KindResolve {
		if ran.Results, err = x.conflicts(ctx, t); err != nil {
			return nil, err
		}
	}
	if len(ran.Results) == 0 {
		if ran.Results, err = x.runChecks(ctx, x.dir(t), stopUnless(step.Known)); err != nil {
			return nil, err
		}
	}
	judge(&ran, step.Known)
	ran.Took = x.Now().Sub(begin)
	if t.Run.Last != nil && t.Run.Last.Dir != "" {
		if err := x.keep(filepath.Join(t.Run.Last.Dir, "checks.json"), ran); err != nil {
			return nil, err
		}
	}
	return []ralph.Fact{ran}, nil
}

// judge says whether the results let the work pass: what was red before does not count.
func judge(ran *ralph.ChecksRan, known []string) {
	ran.Pass = true
	for _, r := range ran.Results {
		switch {
		case r.Pass:
		case slices.Contains(known, r.Name):
			ran.Known = append(ran.Known, r.Name)
		default:
			ran.Pass = false
		}
	}
}

// stopUnless ends a run of checks at the first that is red and was not before.
func stopUnless(known []string) func(ralph.GateResult) bool {
	return func(r ralph.GateResult) bool { return !r.Pass && !slices.Contains(known, r.Name) }
}

// runChecks runs the checks in order, up to the one that stops them.
func (x *Executor) runChecks(ctx context.Context, dir string, stops func(ralph.GateResult) bool) ([]ralph.GateResult, error) {
	var results []ralph.GateResult
	for _, g := range x.Checks {
		res, err := x.Gates.Run(ctx, dir, []ralph.GateSpec{g})
		if err != nil {
			return nil, fmt.Errorf("run the checks: %w", err)
		}
		results = append(results, res...)
		if slices.ContainsFunc(res, stops) {
			break
		}
	}
	return results, nil
}

// conflicts is the check of a resolve that comes before all others: a red result
// while conflicts are left, none otherwise.
func (x *Executor) conflicts(ctx context.Context, t *ralph.Task) ([]ralph.GateResult, error) {
	left, undone, err := x.Resolving.Left(ctx, x.dir(t), t.Run.Place.Base)
	if err != nil {
		return nil, fmt.Errorf("look for conflicts: %w", err)
	}
	red := ralph.GateResult{Name: ralph.CheckConflicts, Exit: 1}
	switch {
	case undone:
		red.Output = "The merge is not there any more: bring it back with `git merge " + t.Run.Place.Base + "`, and resolve it.\n"
	case len(left) > 0:
		red.Output = "Conflict markers are left in:\n" + strings.Join(left, "\n") + "\n"
	default:
		return nil, nil
	}
	return []ralph.GateResult{red}, nil
}

// checkMerged runs the checks on a merged commit, in the merge worktree (product.md
// 14: on exactly the commit that is to become the integration tip).
func (x *Executor) checkMerged(ctx context.Context, t *ralph.Task, step ralph.Check) ([]ralph.Fact, error) {
	m := t.Run.Queue.Merged
	if m == nil || m.Commit == "" {
		return nil, errors.New("run the checks: the stage has merged nothing")
	}
	ran := ralph.ChecksRan{Task: t.ID, Tree: m.Tree}
	if len(x.Checks) > 0 {
		var err error
		if ran.Results, ran.Took, err = x.checkCommit(ctx, t.ID, m.Commit, stopUnless(step.Known)); err != nil {
			return nil, err
		}
	}
	judge(&ran, step.Known)
	return []ralph.Fact{ran}, nil
}

// checkCommit runs checks on a commit. One at a time has the merge worktree; took
// leaves the wait for it out. That it cannot be set up is a red result: it is the
// commit that is looked at.
func (x *Executor) checkCommit(ctx context.Context, task ralph.TaskID, commit string, stops func(ralph.GateResult) bool) (results []ralph.GateResult, took time.Duration, err error) {
	x.merge.Lock()
	defer x.merge.Unlock()
	begin := x.Now()
	err = x.enterMergeDir(ctx, task, commit)
	if failed, ok := errors.AsType[*setupError](err); ok {
		return []ralph.GateResult{{Name: setupName, Exit: 1, Why: failed.why, Output: failed.output}}, x.Now().Sub(begin), nil
	}
	if err != nil {
		return nil, 0, err
	}
	dir := filepath.Join(x.Root, mergeDir)
	if results, err = x.runChecks(ctx, dir, stops); err != nil {
		return nil, 0, err
	}
	return results, x.Now().Sub(begin), x.Worktrees.Tidy(ctx, dir)
}

// baseline finds out what is red at a commit without anybody's work. Tasks that
// began at the same commit ask at about the same time: the second gets the answer
// of the first.
func (x *Executor) baseline(ctx context.Context, t *ralph.Task, step ralph.Baseline) ([]ralph.Fact, error) {
	x.base.Lock()
	defer x.base.Unlock()
	known := x.base.ran.Commit == step.Commit
	if !known {
		all := func(ralph.GateResult) bool { return false }
		results, took, err := x.checkCommit(ctx, t.ID, step.Commit, all)
		if err != nil {
			return nil, err
		}
		x.base.ran = ralph.BaselineRan{Commit: step.Commit, Results: results, Took: took}
		for _, r := range results {
			if !r.Pass && r.Name != setupName { // without its set-up nothing is known of a commit
				x.base.ran.Red = append(x.base.ran.Red, r.Name)
			}
		}
	}
	ran := x.base.ran
	ran.Task = t.ID
	if known {
		ran.Took = 0
	}
	return []ralph.Fact{ran}, nil
}
