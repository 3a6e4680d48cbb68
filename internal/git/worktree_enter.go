package git

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
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
	Saved     []Saved
	Fresh     bool // its files were written anew: `worktree.setup` is due
	Restored  bool // the stash was given back, or had been before
	Conflicts []string
	Empty     []string // submodules without files, as in the checkout
}

func (in EnterInput) check() error {
	err := errors.Join(CheckHash("commit to start from", in.From), CheckBranch(in.Branch))
	if in.Merged != "" && !strings.HasPrefix(in.Merged, "refs/") {
		err = errors.Join(err, CheckHash("merged commit", in.Merged))
	}
	if in.Stash != "" {
		err = errors.Join(err, CheckHash("stash", in.Stash))
	}
	if !OneLine(in.ID) {
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
func (r *Repo) Enter(ctx context.Context, in EnterInput) (Entered, error) {
	if err := in.check(); err != nil {
		return Entered{}, fmt.Errorf("enter worktree: %w", err)
	}
	out, err := r.enter(ctx, in)
	if err != nil {
		return out, fmt.Errorf("enter worktree %s: %w", filepath.Base(in.Dir), err)
	}
	return out, nil
}

func (r *Repo) enter(ctx context.Context, in EnterInput) (Entered, error) {
	out := Entered{Dir: in.Dir, Branch: in.Branch}
	start := in.From
	if t, err := r.Tree(in.Dir); in.Mine && (err != nil || t.unready() != "") { // its files have to be written again
		tip, err := r.ref(ctx, "refs/heads/"+in.Branch)
		if err != nil {
			return out, err
		}
		if tip != "" {
			start = tip
		}
	}
	t, fresh, err := r.ensure(ctx, in.Dir, start)
	if err != nil {
		return out, err
	}
	out.Fresh = fresh
	t.Lock()
	defer t.Unlock()
	if in.Mine {
		err = t.resume(ctx, in, &out)
	} else {
		err = t.startTask(ctx, in, &out)
	}
	if err == nil {
		err = t.fillLinks(ctx, &out)
	}
	if err != nil {
		return out, err
	}
	if in.Stash != "" {
		if err := t.giveBack(ctx, in.Stash, &out); err != nil {
			return out, err
		}
	}
	if out.Tree == "" {
		out.Tree, err = t.TreeOf(ctx, out.Head)
	}
	return out, err
}

// startTask verifies the worktree, or cleans it, and puts it on the branch.
func (r *Repo) startTask(ctx context.Context, in EnterInput, out *Entered) error {
	var before found
	if !out.Fresh {
		var err error
		if before, err = r.clearOut(ctx, in, out); err != nil {
			return err
		}
	}
	if err := r.markUnready(unreadyEntering); err != nil {
		return err
	}
	branch, err := r.takeBranch(ctx, in, before.force, out)
	if err != nil {
		return err
	}
	if before.links {
		if err := r.followLinks(ctx, in, out); err != nil {
			return err
		}
	}
	if err := r.markReady(); err != nil {
		return err
	}
	r.leftAt(in.From)
	out.Branch, out.Head, out.Tree = branch, in.From, r.enteredAt().tree
	return nil
}

// takeBranch checks out the branch for a new task at the commit to start from.
func (r *Repo) takeBranch(ctx context.Context, in EnterInput, force bool, out *Entered) (string, error) {
	if in.Branch == "" {
		return "", r.checkout(ctx, force, "--detach", in.From)
	}
	// Most often the name is free, and trying is cheaper than asking.
	failed := r.checkout(ctx, force, "--no-track", "-b", in.Branch, in.From)
	if failed == nil {
		return in.Branch, nil
	}
	if err := r.branchInTheWay(ctx, in.Branch); err != nil {
		return "", err
	}
	for n := 1; n < 1000; n++ {
		name := in.Branch
		if n > 1 {
			name += "-" + strconv.Itoa(n)
		}
		r.FreeRefs(ctx, "refs/heads/"+name)
		tip, err := r.ref(ctx, "refs/heads/"+name)
		if err != nil {
			return "", err
		}
		if tip == "" {
			err := r.checkout(ctx, force, "--no-track", "-b", name, in.From)
			if err == nil {
				return name, nil
			}
			if inside, looked := r.Line(ctx, Call{Args: []string{"for-each-ref", "--count=1", "--format=%(refname)", "refs/heads/" + name + "/"}}); looked != nil || inside == "" {
				return "", err
			}
			continue // branches are called as if it were a folder
		}
		mine, err := r.mayReset(ctx, name, tip, in, out)
		if err != nil {
			return "", err
		}
		if mine {
			return name, r.checkout(ctx, force, "--no-track", "-B", name, in.From)
		}
	}
	return "", failed
}

// mayReset reports whether a branch may be set to another commit: it is in
// ralph's part of the names and no other worktree is on it. What it has is
// merged, or kept for recovery before.
func (r *Repo) mayReset(ctx context.Context, branch, tip string, in EnterInput, out *Entered) (bool, error) {
	if !strings.HasPrefix(branch, branchSpace) {
		return false, nil
	}
	if elsewhere, err := r.checkedOutIn(ctx, branch); err != nil || elsewhere != "" {
		return false, err
	}
	merged, err := r.merged(ctx, tip, in)
	if err != nil || merged {
		return merged, err
	}
	ref, err := r.keep(ctx, in.ID, tip)
	if err != nil {
		return false, err
	}
	out.Saved = append(out.Saved, Saved{Ref: ref, Commit: tip, What: "what an earlier branch " + branch + " had"})
	return true, nil
}

// merged reports whether a commit is part of what new work starts from.
func (r *Repo) merged(ctx context.Context, commit string, in EnterInput) (bool, error) {
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
func (r *Repo) checkedOutIn(ctx context.Context, branch string) (string, error) {
	list, err := r.ListTrees(ctx)
	if err != nil {
		return "", err
	}
	for _, w := range list {
		if w.Branch == branch && !same(w.Path, r.root) && !w.Prunable {
			return w.Path, nil
		}
	}
	return "", nil
}

// branchInTheWay refuses when a branch is called like a folder of the branch
// name, which git cannot have both.
func (r *Repo) branchInTheWay(ctx context.Context, branch string) error {
	for i, c := range branch {
		if c != '/' {
			continue
		}
		tip, err := r.ref(ctx, "refs/heads/"+branch[:i])
		if err != nil {
			return err
		}
		if tip != "" {
			return Refuse("a branch called "+branch[:i]+" leaves no room for "+branch,
				"rename it: git branch -m "+branch[:i]+" "+strings.ReplaceAll(branch[:i], "/", "-")+"-old")
		}
	}
	return nil
}

// checkout changes files and HEAD. Local changes are in its way unless forced.
func (r *Repo) checkout(ctx context.Context, force bool, args ...string) error {
	line := []string{"checkout", "-q"}
	if force {
		line = append(line, "-f")
	}
	return r.patiently(ctx, func() error {
		_, err := r.Run(ctx, r.quietly(append(line, args...)...))
		return err
	})
}
