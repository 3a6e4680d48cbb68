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

// Checker runs check commands.
type Checker interface {
	Run(ctx context.Context, dir string, gates []ralph.CheckSpec) ([]ralph.CheckResult, error)
}

// check runs the checks; their result is bound to the tree they ran on. Those of the
// diff come first: what they send back to the agent needs no command.
func (x *Executor) check(ctx context.Context, s *ralph.State, t *ralph.Task, step ralph.Check) ([]ralph.Fact, error) {
	if t.Kind == ralph.KindMerge {
		return x.checkMerged(ctx, t, step)
	}
	tree, _, err := x.snapshot(ctx, s, t)
	if err != nil {
		return nil, err
	}
	ran, junk, err := x.checkTree(ctx, s, t, step, tree)
	if err == nil {
		err = x.afterChecks(ctx, s, t, step, &ran)
	}
	if err != nil {
		return nil, err
	}
	dir := ""
	if t.Run.Last != nil {
		dir = t.Run.Last.Dir
	}
	if ran, err = x.keepChecks(ran, dir); err != nil {
		return nil, err
	}
	facts := append([]ralph.Fact{ran}, x.remarks(t, ran)...)
	if ran.Pass && len(junk) > 0 {
		text := fmt.Sprintf("the work adds files that nobody wants in git: %s; put them into .gitignore", strings.Join(junk, ", "))
		facts = append(facts, ralph.Noted{Task: t.ID, Text: text})
	}
	return facts, nil
}

// checkTree runs the checks on the work tree, which has that tree. junk are the files in
// the work that nobody wants in git.
func (x *Executor) checkTree(ctx context.Context, s *ralph.State, t *ralph.Task, step ralph.Check, tree string) (ran ralph.ChecksRan, junk []string, err error) {
	ran = ralph.ChecksRan{Task: t.ID, Tree: tree, Covered: step.Covered}
	o := checking{task: t, dir: x.dir(t), tree: tree, before: step.Before, let: step.Let, covered: step.Covered}
	begin := x.Now()
	if t.Kind == ralph.KindResolve {
		ran.Results, err = x.conflicts(ctx, t)
	} else {
		ran.Results, ran.Empty, junk, err = x.checkDiff(ctx, s, t, tree)
	}
	if err != nil {
		return ran, nil, err
	}
	if w := t.Run.Waived; w != nil && w.Tree == tree {
		o.waived, o.let = w.Checks, append(slices.Clone(step.Let), w.Reds...)
	}
	if !slices.ContainsFunc(ran.Results, func(r ralph.CheckResult) bool { return x.stops(o, r) }) {
		results, err := x.runChecks(ctx, o)
		if err != nil {
			return ran, nil, err
		}
		ran.Results = append(ran.Results, results...)
	}
	judge(&ran, o)
	unproven(&ran)
	ran.Took = x.Now().Sub(begin)
	return ran, junk, nil
}

// checking says which checks run where, and what does not count.
type checking struct {
	task    *ralph.Task
	dir     string
	tree    string           // "": not known, nothing is reused
	before  []ralph.RedCheck // red before the work: what is so in the same way does not count
	let     []ralph.RedCheck // nor what a person let pass in this way
	waived  []string         // by name, what a person let pass on this very tree
	covered float64          // the coverage that is enough to keep, 0: none is known
	all     bool             // a red check stops nothing
}

// excused reports whether a red result does not count. What was red before says nothing
// of a diff, nor of a conflict: there only a person's word counts.
func (o checking) excused(r ralph.CheckResult) bool {
	return o.waives(r) || ralph.SameWay(o.before, r)
}

// waives reports whether a person let a red result pass.
func (o checking) waives(r ralph.CheckResult) bool {
	switch {
	case ralph.IsDiffCheck(r.Name):
		return slices.Contains(o.waived, r.Name)
	case r.Name == ralph.CheckCoverage:
		return slices.Contains(o.waived, r.Name) || o.lets(r.Name)
	}
	return ralph.SameWay(o.let, r)
}

// lets reports whether a person let a check with the name pass in some way.
func (o checking) lets(name string) bool {
	return slices.ContainsFunc(o.let, func(r ralph.RedCheck) bool { return r.Name == name })
}

// red reports whether it would be no surprise that a check is red.
func (o checking) red(name string) bool {
	return o.lets(name) || slices.ContainsFunc(o.before, func(r ralph.RedCheck) bool { return r.Name == name })
}

// stops reports whether no further check runs after a result.
func (x *Executor) stops(o checking, r ralph.CheckResult) bool {
	if ralph.IsDiffCheck(r.Name) && !x.Config.Diff.Stops(r.Name) {
		return false
	}
	return !r.Pass && !o.all && !o.excused(r)
}

// judge says whether the results let the work pass.
func judge(ran *ralph.ChecksRan, o checking) {
	ran.Pass = true
	for _, r := range ran.Results {
		switch {
		case r.Pass:
		case o.excused(r):
			ran.Known = append(ran.Known, r.Name)
			if o.waives(r) && !ralph.SameWay(o.before, r) {
				ran.Waived = append(ran.Waived, r.Name)
			}
		default:
			ran.Pass = false
		}
	}
}

// remarks are what people should know of the checks beside their results: tests that
// fail now and then (C-064), and once in a session that no report says what the tests
// cover (C-061).
func (x *Executor) remarks(t *ralph.Task, ran ralph.ChecksRan) []ralph.Fact {
	var facts []ralph.Fact
	for _, r := range ran.Results {
		if !r.Test || !r.Pass || r.Reused || r.Name == ralph.CheckCoverage {
			continue
		}
		if r.Tries > 1 {
			facts = append(facts, ralph.Noted{Task: t.ID, Rule: "C-064", Text: fmt.Sprintf("flaky: %s was red, and green at try %d on the same tree", r.Name, r.Tries)})
		}
		if r.Coverage == nil && x.Config.Coverage > 0 && x.Coverage != nil && !x.results.told.Swap(true) {
			facts = append(facts, ralph.Noted{Task: t.ID, Rule: "C-061", Text: "no coverage report: test.coverage has nothing to look at"})
		}
	}
	return facts
}

// runChecks runs the commands in order, up to the one that stops them.
func (x *Executor) runChecks(ctx context.Context, o checking) ([]ralph.CheckResult, error) {
	var results []ralph.CheckResult
	for _, g := range x.Checks {
		r, reused := x.results.find(o, g)
		if !reused {
			var err error
			if r, err = x.runCheck(ctx, o, g); err != nil {
				return nil, fmt.Errorf("run the checks: %w", err)
			}
			x.results.keep(o, g, r)
		}
		results = append(results, r)
		if g.Test && r.Pass && r.Coverage != nil && x.Config.Coverage > 0 && !o.all {
			results = append(results, coverageCheck(*r.Coverage, x.Config, o.covered))
		}
		if x.stops(o, results[len(results)-1]) {
			break
		}
	}
	return results, nil
}

// TryChecks runs all commands in a folder for a person who wants to know how they do before
// there is any work: a red one stops nothing, nothing is reused or remembered.
func (x *Executor) TryChecks(ctx context.Context, dir string) ([]ralph.CheckResult, error) {
	return x.runChecks(ctx, checking{task: &ralph.Task{}, dir: dir, all: true})
}

// conflicts is the check of a resolve that comes before all others: a red result
// while conflicts are left, none otherwise.
func (x *Executor) conflicts(ctx context.Context, t *ralph.Task) ([]ralph.CheckResult, error) {
	left, undone, err := x.Resolving.Left(ctx, x.dir(t), t.Run.Worktree.Base)
	if err != nil {
		return nil, fmt.Errorf("look for conflicts: %w", err)
	}
	red := ralph.CheckResult{Name: ralph.CheckConflicts, Exit: 1}
	switch {
	case undone:
		red.Output = "The merge is not there any more: bring it back with `git merge " + t.Run.Worktree.Base + "`, and resolve it.\n"
	case len(left) > 0:
		red.Output = "Conflict markers are left in:\n" + strings.Join(left, "\n") + "\n"
	default:
		return nil, nil
	}
	return []ralph.CheckResult{red}, nil
}

// checkMerged runs the checks on a merged commit, in the merge worktree: on
// exactly the commit that is to become the integration tip.
func (x *Executor) checkMerged(ctx context.Context, t *ralph.Task, step ralph.Check) ([]ralph.Fact, error) {
	m := t.Run.Queue.Merged
	if m == nil || m.Commit == "" {
		return nil, errors.New("run the checks: the stage has merged nothing")
	}
	ran := ralph.ChecksRan{Task: t.ID, Tree: m.Tree, Covered: step.Covered}
	o := checking{task: t, tree: m.Tree, before: step.Before, let: step.Let, covered: step.Covered}
	if len(x.Checks) > 0 {
		var err error
		if ran.Results, ran.Took, err = x.checkCommit(ctx, m.Commit, o); err != nil {
			return nil, err
		}
	}
	judge(&ran, o)
	ran, err := x.keepChecks(ran, "")
	if err != nil {
		return nil, err
	}
	return append([]ralph.Fact{ran}, x.remarks(t, ran)...), nil
}

// checkCommit runs checks on a commit. One at a time has the merge worktree; took
// leaves the wait for it out. That it cannot be set up is a red result: it is the
// commit that is looked at.
func (x *Executor) checkCommit(ctx context.Context, commit string, o checking) (results []ralph.CheckResult, took time.Duration, err error) {
	x.merge.Lock()
	defer x.merge.Unlock()
	begin := x.Now()
	err = x.enterMergeDir(ctx, o.task.ID, commit)
	if failed, ok := errors.AsType[*setupError](err); ok {
		return []ralph.CheckResult{{Name: setupName, Exit: 1, Why: failed.why, Output: failed.output}}, x.Now().Sub(begin), nil
	}
	if err != nil {
		return nil, 0, err
	}
	o.dir = filepath.Join(x.Root, mergeDir)
	if results, err = x.runChecks(ctx, o); err != nil {
		return nil, 0, err
	}
	return results, x.Now().Sub(begin), x.Worktrees.Tidy(ctx, o.dir)
}
