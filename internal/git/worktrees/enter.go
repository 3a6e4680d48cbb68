// Package worktrees makes, keeps and cleans the worktrees that tasks work in: entering one for a
// task, resuming it, its submodules, leaving its branch, removing it, and bringing back what was
// kept of it. Whatever only a worktree holds is kept for recovery before anything is cleaned.
//
// It does NOT own which task works where (internal/policy), nor what a repository is
// (internal/git).
package worktrees

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/ralph-loop/ralph/internal/git"
	"github.com/ralph-loop/ralph/internal/git/registry"
)

// EnterInput says which task a worktree is for.
type EnterInput struct {
	Dir    string // absolute, directly below ralph/.worktrees
	Branch string // "ralph/t-1a2b"; "" for none: HEAD is detached (merges, stages)
	Mine   bool   // the branch is this task's and its work goes on: everything stays as it is
	From   string // commit to start from
	Merged string // ref or commit that holds what is merged; "" for From
	ID     string // for recovery refs: one line
	Stash  string // commit of a stash to give back; "" for none
}

// Entered is a worktree that is ready for a turn.
type Entered struct {
	Dir       string
	Branch    string // perhaps the next free name after the one asked for
	Head      string // commit
	Tree      string // of Head
	Saved     []git.Saved
	Fresh     bool // its files were written anew: `worktree.setup` is due
	Restored  bool // the stash was given back, or had been before
	Conflicts []string
	Empty     []string // submodules without files, as in the checkout
}

func (in EnterInput) check() error {
	err := errors.Join(git.CheckHash("commit to start from", in.From), git.CheckBranch(in.Branch))
	if in.Merged != "" && !strings.HasPrefix(in.Merged, "refs/") {
		err = errors.Join(err, git.CheckHash("merged commit", in.Merged))
	}
	if in.Stash != "" {
		err = errors.Join(err, git.CheckHash("stash", in.Stash))
	}
	if !git.OneLine(in.ID) {
		err = errors.Join(err, errors.New("the id must be one line"))
	}
	if in.Mine && in.Branch == "" {
		err = errors.Join(err, errors.New("work that goes on needs its branch"))
	}
	return err
}

// Enter makes a worktree ready for a task's turn (B-005); one that is missing
// is made. Work that goes on (Mine) is found as it was left, on its branch, for
// no process at all when the agent left HEAD alone. For a new task the worktree
// is verified to be clean and gets the branch at From, for one process, or two
// when cleanness cannot be proved without git. Whatever is found that no commit
// or branch holds is put below refs/ralph/recovery/ first and returned; ignored
// files stay. A branch of that name is reused when it is merged; else its tip is
// kept, or the next free name taken when somebody has it checked out. What
// cannot be put right without a person is a *ralph.Refusal. It may be called
// again after a crash.
func Enter(ctx context.Context, r *git.Repo, in EnterInput) (Entered, error) {
	if err := in.check(); err != nil {
		return Entered{}, fmt.Errorf("enter worktree: %w", err)
	}
	out, err := enter(ctx, r, in)
	if err != nil {
		return out, fmt.Errorf("enter worktree %s: %w", filepath.Base(in.Dir), err)
	}
	return out, nil
}

func enter(ctx context.Context, r *git.Repo, in EnterInput) (Entered, error) {
	out := Entered{Dir: in.Dir, Branch: in.Branch}
	start := in.From
	if t, err := r.Tree(in.Dir); in.Mine && (err != nil || unready(t) != "") { // its files have to be written again
		tip, err := r.Ref(ctx, "refs/heads/"+in.Branch)
		if err != nil {
			return out, err
		}
		if tip != "" {
			start = tip
		}
	}
	t, fresh, err := ensure(ctx, r, in.Dir, start)
	if err != nil {
		return out, err
	}
	out.Fresh = fresh
	t.Lock()
	defer t.Unlock()
	if in.Mine {
		err = resume(ctx, t, in, &out)
	} else {
		err = startTask(ctx, t, in, &out)
	}
	if err == nil {
		err = fillLinks(ctx, t, &out)
	}
	if err != nil {
		return out, err
	}
	if in.Stash != "" {
		if err := giveBack(ctx, t, in.Stash, &out); err != nil {
			return out, err
		}
	}
	if out.Tree == "" {
		out.Tree, err = t.TreeOf(ctx, out.Head)
	}
	return out, err
}

// startTask verifies the worktree, or cleans it, and puts it on the branch.
func startTask(ctx context.Context, r *git.Repo, in EnterInput, out *Entered) error {
	var before found
	if !out.Fresh {
		var err error
		if before, err = clearOut(ctx, r, in, out); err != nil {
			return err
		}
	}
	if err := markUnready(r, unreadyEntering); err != nil {
		return err
	}
	branch, err := takeBranch(ctx, r, in, before.force, out)
	if err != nil {
		return err
	}
	if before.links {
		if err := followLinks(ctx, r, in, out); err != nil {
			return err
		}
	}
	if err := markReady(r); err != nil {
		return err
	}
	r.LeftAt(in.From)
	out.Branch, out.Head, out.Tree = branch, in.From, r.EnteredAt().Tree
	return nil
}

// takeBranch checks out the branch for a new task at the commit to start from.
func takeBranch(ctx context.Context, r *git.Repo, in EnterInput, force bool, out *Entered) (string, error) {
	if in.Branch == "" {
		return "", checkout(ctx, r, force, "--detach", in.From)
	}
	// Most often the name is free, and trying is cheaper than asking.
	failed := checkout(ctx, r, force, "--no-track", "-b", in.Branch, in.From)
	if failed == nil {
		return in.Branch, nil
	}
	if err := branchInTheWay(ctx, r, in.Branch); err != nil {
		return "", err
	}
	for n := 1; n < 1000; n++ {
		name := in.Branch
		if n > 1 {
			name += "-" + strconv.Itoa(n)
		}
		r.FreeRefs(ctx, "refs/heads/"+name)
		tip, err := r.Ref(ctx, "refs/heads/"+name)
		if err != nil {
			return "", err
		}
		if tip == "" {
			err := checkout(ctx, r, force, "--no-track", "-b", name, in.From)
			if err == nil {
				return name, nil
			}
			if inside, looked := r.Line(ctx, git.Call{Args: []string{"for-each-ref", "--count=1", "--format=%(refname)", "refs/heads/" + name + "/"}}); looked != nil || inside == "" {
				return "", err
			}
			continue // branches are called as if it were a folder
		}
		mine, err := mayReset(ctx, r, name, tip, in, out)
		if err != nil {
			return "", err
		}
		if mine {
			return name, checkout(ctx, r, force, "--no-track", "-B", name, in.From)
		}
	}
	return "", failed
}

// mayReset reports whether a branch may be set to another commit: it is in
// ralph's part of the names and no other worktree is on it. What it has is
// merged, or kept for recovery before.
func mayReset(ctx context.Context, r *git.Repo, branch, tip string, in EnterInput, out *Entered) (bool, error) {
	if !strings.HasPrefix(branch, git.BranchSpace) {
		return false, nil
	}
	if elsewhere, err := checkedOutIn(ctx, r, branch); err != nil || elsewhere != "" {
		return false, err
	}
	merged, err := merged(ctx, r, tip, in)
	if err != nil || merged {
		return merged, err
	}
	ref, err := r.Keep(ctx, in.ID, tip)
	if err != nil {
		return false, err
	}
	out.Saved = append(out.Saved, git.Saved{Ref: ref, Commit: tip, What: "what an earlier branch " + branch + " had"})
	return true, nil
}

// merged reports whether a commit is part of what new work starts from.
func merged(ctx context.Context, r *git.Repo, commit string, in EnterInput) (bool, error) {
	for _, tip := range []string{in.From, in.Merged} {
		if tip == "" {
			continue
		}
		if ok, err := r.Descends(ctx, tip, commit); err != nil || ok {
			return ok, err
		}
	}
	return false, nil
}

// checkedOutIn returns the path of another worktree that has the branch checked
// out, "" for none.
func checkedOutIn(ctx context.Context, r *git.Repo, branch string) (string, error) {
	list, err := registry.List(ctx, r)
	if err != nil {
		return "", err
	}
	for _, w := range list {
		if w.Branch == branch && !git.Same(w.Path, r.Root()) && !w.Prunable {
			return w.Path, nil
		}
	}
	return "", nil
}

// branchInTheWay refuses when a branch is called like a folder of the branch
// name, which git cannot have both.
func branchInTheWay(ctx context.Context, r *git.Repo, branch string) error {
	for i, c := range branch {
		if c != '/' {
			continue
		}
		tip, err := r.Ref(ctx, "refs/heads/"+branch[:i])
		if err != nil {
			return err
		}
		if tip != "" {
			return git.Refuse("a branch called "+branch[:i]+" leaves no room for "+branch,
				"rename it: git branch -m "+branch[:i]+" "+strings.ReplaceAll(branch[:i], "/", "-")+"-old")
		}
	}
	return nil
}

// checkout changes files and HEAD. Local changes are in its way unless forced.
func checkout(ctx context.Context, r *git.Repo, force bool, args ...string) error {
	line := []string{"checkout", "-q"}
	if force {
		line = append(line, "-f")
	}
	return registry.Patiently(ctx, func() error {
		_, err := r.Run(ctx, quietly(r, append(line, args...)...))
		return err
	})
}
