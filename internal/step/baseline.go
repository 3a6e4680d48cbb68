package step

import (
	"context"
	"fmt"

	"github.com/ralph-loop/ralph"
)

// baseline finds out what is red at a commit without anybody's work. Tasks that
// began at the same commit ask at about the same time: the second gets the answer
// of the first.
func (x *Executor) baseline(ctx context.Context, s *ralph.State, t *ralph.Task, step ralph.Baseline) ([]ralph.Fact, error) {
	if !x.Config.Isolated {
		return x.baselineHere(ctx, t, step)
	}
	x.base.Lock()
	defer x.base.Unlock()
	known := x.base.ran.Commit == step.Commit
	if !known {
		results, took, err := x.checkCommit(ctx, step.Commit, checking{task: t, all: true})
		if err != nil {
			return nil, err
		}
		x.base.ran = baselineOf(step.Commit, results)
		x.base.ran.Took = took
	}
	ran := x.base.ran
	ran.Task = t.ID
	if i := s.Plan.Integration; i != nil && i.Tip == step.Commit {
		ran.Tree = i.Tree
	}
	if known {
		ran.Took = 0
	}
	return x.keepBaseline(ran)
}

// baselineOf is what the results say of a commit.
func baselineOf(commit string, results []ralph.CheckResult) ralph.BaselineRan {
	ran := ralph.BaselineRan{Commit: commit, Results: results}
	for _, r := range results {
		if !r.Pass && r.Name != setupName { // without its set-up nothing is known of a commit
			ran.Red = append(ran.Red, r.Name)
		}
	}
	return ran
}

// baselineHere runs the checks in the checkout, before any work, while it holds nothing
// but the commit. Tracked files that they change are given back what the commit has in
// them: the work's commit must not take them along unseen. A checkout that has changes by
// now, a person's or of checks that were cut, says nothing of the commit.
func (x *Executor) baselineHere(ctx context.Context, t *ralph.Task, step ralph.Baseline) ([]ralph.Fact, error) {
	skipped := func(why string) ([]ralph.Fact, error) {
		return []ralph.Fact{ralph.BaselineRan{Task: t.ID, Commit: step.Commit, Skipped: why}}, nil
	}
	begin := x.Now()
	tree, head, err := x.Trees.Snapshot(ctx)
	switch {
	case err != nil:
		return nil, err
	case head != step.Commit || tree != t.Run.Tree:
		return skipped("the checkout has changes by now")
	}
	results, err := x.runChecks(ctx, checking{task: t, dir: x.Root, all: true})
	if err != nil {
		return nil, err
	}
	ran := baselineOf(step.Commit, results)
	ran.Task, ran.Tree = t.ID, tree
	after, _, err := x.Trees.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	if after != tree && x.PutBack != nil {
		back, err := x.PutBack(ctx, x.Root, PutBackInput{Tree: tree, ID: "baseline-" + plain(t.ID)})
		if err != nil {
			return nil, fmt.Errorf("give back the files that the checks of %.9s changed: %w", step.Commit, err)
		}
		ran.Restored, ran.Saved, ran.Left, ran.Out, ran.After = back.Restored, back.Saved, back.Left, back.Out, back.Tree
		if ran.After == tree {
			ran.After = ""
		}
	}
	ran.Took = x.Now().Sub(begin)
	return x.keepBaseline(ran)
}
