package step

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/policy"
)

// emptyWords tell an agent what an empty diff means.
const emptyWords = "Nothing has changed since the task began. Do the task. If it was done before, look once more that " +
	"all that it asks for is there, say where, and say COMPLETE again. " +
	"If it cannot be done, say BLOCKED or NEEDS_HUMAN with the reason.\n"

// checkDiff looks at what a task itself has changed, since its branch or its first turn
// began: that there is anything, that no test was weakened, that no secret came in.
// The patch is kept for people. base is the
// commit that the job in the checkout began at. empty is said only where it is looked at.
func (x *Executor) checkDiff(ctx context.Context, s *ralph.State, t *ralph.Task, tree string) (results []ralph.CheckResult, empty bool, junk []string, err error) {
	base, from := s.Job.Base, t.Run.Worktree.Base
	if t.Run.Worktree.Dir == "" {
		from = t.Run.Began
	}
	if !t.IsBuild() || !x.Config.Diff.Any() || from == "" {
		return nil, false, nil, nil
	}
	trees, err := x.trees(x.dir(t))
	if err != nil {
		return nil, false, nil, err
	}
	if red, err := x.inside(ctx, s, t, trees); err != nil || red != nil {
		return red, false, nil, err
	}
	patch, err := trees.Patch(ctx, from, tree, maxPatch)
	if err != nil && from == t.Run.Began && base != "" && ctx.Err() == nil {
		patch, err = trees.Patch(ctx, base, tree, maxPatch) // git has forgotten the tree: no branch holds it
	}
	if err != nil {
		return nil, false, nil, fmt.Errorf("look at what the task has changed: %w", err)
	}
	if err := writeRecord(filepath.Join(x.Root, taskDir(t.ID), "diff.patch"), patch); err != nil {
		return nil, false, nil, err
	}
	look := func(name string, find func() ralph.CheckResult) {
		if x.Config.Diff.Looks(name) {
			begin := x.Now()
			r := find()
			r.Name, r.Pass, r.Took = name, r.Exit == 0, x.Now().Sub(begin)
			results = append(results, r)
		}
	}
	look(ralph.CheckEmpty, func() ralph.CheckResult {
		switch {
		case len(patch) > 0:
			return ralph.CheckResult{}
		case policy.DoneBefore(t, x.Config):
			return ralph.CheckResult{Why: "nothing has changed since the task began, as its agent knows"}
		}
		return ralph.CheckResult{Exit: 1, Why: "nothing has changed since the task began", Output: emptyWords}
	})
	settings, err := x.checkSettings(ctx, s, t, from, tree)
	if err != nil && from == t.Run.Began && base != "" && ctx.Err() == nil {
		settings, err = x.checkSettings(ctx, s, t, base, tree)
	}
	if err != nil {
		return nil, false, nil, err
	}
	results = append(results, settings...)
	if len(patch) == 0 {
		return results, len(results) > 0, nil, nil
	}
	look(ralph.CheckWeakened, func() ralph.CheckResult {
		return found(weakenedIn(patch), "the diff removes, skips or weakens tests")
	})
	if x.Secrets == nil {
		return results, false, junkIn(patch), nil
	}
	look(ralph.CheckSecrets, func() ralph.CheckResult {
		list, err := x.Secrets(patch)
		if err != nil {
			list = append(list, ralph.Finding{Kind: "secret", What: "a part of the diff could not be read: " + err.Error()})
		}
		return found(list, "the diff adds what looks like a secret")
	})
	return results, false, junkIn(patch), nil
}

// unproven makes an empty diff red again where a command is red and does not count: that
// says nothing of work that is said to have been there before.
func unproven(ran *ralph.ChecksRan) {
	i := slices.IndexFunc(ran.Results, func(r ralph.CheckResult) bool { return r.Name == ralph.CheckEmpty && r.Pass })
	if i < 0 || !ran.Empty || len(ran.Known) == 0 {
		return
	}
	ran.Results[i].Pass, ran.Results[i].Exit, ran.Pass = false, 1, false
	ran.Results[i].Why = "nothing has changed since the task began, and not every check is green"
}

// inside is red when files in submodules are changed and committed nowhere: a commit of
// the repository has the submodule's commit alone, so the work would be lost with the
// worktree, or stay behind unseen. What was so before the work began is not its.
func (x *Executor) inside(ctx context.Context, s *ralph.State, t *ralph.Task, trees Trees) ([]ralph.CheckResult, error) {
	begin := x.Now()
	files, nested, err := trees.Inside(ctx, cmp.Or(t.Run.Worktree.Base, s.Job.Base))
	if t.Run.Worktree.Dir == "" {
		before := func(f string) bool { return slices.Contains(s.Job.Inside, f) }
		files, nested = slices.DeleteFunc(files, before), slices.DeleteFunc(nested, before)
	}
	if err != nil || len(files) == 0 && len(nested) == 0 {
		return nil, err
	}
	var list []ralph.Finding
	why, help := "changes inside a submodule are not committed", ""
	for _, f := range files {
		list = append(list, ralph.Finding{Kind: "submodule", Path: f, What: "changed inside a submodule, and not committed there"})
	}
	if len(files) > 0 {
		help = "Commit them inside the submodule (git -C <submodule> add, git -C <submodule> commit); the new commit of the submodule is taken along then. Do not push.\n"
	}
	for _, f := range nested {
		list = append(list, ralph.Finding{Kind: "repository", Path: f, What: "a git repository of its own: a commit has none of its files"})
	}
	if len(nested) > 0 {
		why = "a repository inside the repository: its files would be in no commit"
		help += "Remove its .git folder, and its files are committed like all others; or remove it, or ignore it. Do not make it a submodule unless the task says so.\n"
	}
	red := found(list, why)
	red.Name, red.Took = ralph.CheckSubmodules, x.Now().Sub(begin)
	red.Output += help
	return []ralph.CheckResult{red}, nil
}

// found is the result of a check that is red with its findings.
func found(list []ralph.Finding, why string) ralph.CheckResult {
	if len(list) == 0 {
		return ralph.CheckResult{}
	}
	var b strings.Builder
	for _, f := range list {
		switch {
		case f.Line > 0:
			fmt.Fprintf(&b, "%s:%d: ", f.Path, f.Line)
		case f.Path != "": // the file as a whole, as one that is deleted
			fmt.Fprintf(&b, "%s: ", f.Path)
		}
		fmt.Fprintf(&b, "%s: %s\n", f.Kind, f.What)
	}
	return ralph.CheckResult{Exit: 1, Why: why, Output: b.String(), Findings: list}
}
