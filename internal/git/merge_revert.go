package git

import (
	"context"
	"fmt"
	"strings"
)

// RevertInput says what to undo: everything between two commits, of which the
// first is an ancestor of the second. For a merge commit that is from its first
// parent to itself.
type RevertInput struct {
	Onto     string // commit on top of which it is undone
	From, To string
	Message  string // complete
	Key      string // names the ref that holds the commit until Advance or Drop
}

// Revert makes one commit that undoes a range (B-078) as `git revert` would,
// as objects only: no worktree is needed or touched. It is a three-way merge with
// To as the base: what Onto has changed since, and From. When nothing is left to
// undo it returns Onto. A conflict is a *ralph.Refusal that names the files.
func (r *Repo) Revert(ctx context.Context, in RevertInput) (commit string, err error) {
	if err := checkBranchAt("HEAD", in.Onto, in.From, in.To); err != nil || !oneLine(in.Key) {
		return "", fmt.Errorf("revert: not three commits and a key: %w", err)
	}
	if err := r.Attributes(unionLines()); err != nil {
		return "", fmt.Errorf("revert: %w", err)
	}
	if ok, err := r.Contains(ctx, in.To, in.Onto); err != nil {
		return "", fmt.Errorf("revert: %w", err)
	} else if !ok {
		return "", refuse(in.To[:12]+" is not in the branch, so there is nothing to undo", "look for it with `git branch --contains "+in.To[:12]+"`")
	}
	tree, res, err := r.mergeTrees(ctx, in.To, in.Onto, in.From)
	if err != nil {
		return "", fmt.Errorf("revert: %w", err)
	}
	if open := res.open(); len(open) > 0 {
		var names []string
		for _, f := range open {
			names = append(names, f.path)
		}
		return "", refuse("later work changed the same lines, in "+strings.Join(names, ", "),
			"undo it by hand: git revert "+in.From[:12]+".."+in.To[:12])
	}
	onto, err := r.TreeOf(ctx, in.Onto)
	if err != nil {
		return "", fmt.Errorf("revert: %w", err)
	}
	if tree, err = r.withOwnOf(ctx, onto, tree); err != nil || tree == onto {
		return in.Onto, err
	}
	if commit, err = r.commitMerged(ctx, tree, in.Message, res.sign, in.Onto); err != nil {
		return "", fmt.Errorf("revert: %w", err)
	}
	c, err := r.hold(ctx, in.Key, Commit{Hash: commit})
	return c.Hash, err
}

// mergeTrees merges the trees of two commits with that of a third as their base.
// git takes the base from history alone before 2.40, so a small one is made for
// it, of commits that nothing refers to.
func (r *Repo) mergeTrees(ctx context.Context, base, ours, theirs string) (tree string, res merged, err error) {
	var made []string
	for _, c := range []string{base, ours, theirs} {
		tree, err := r.TreeOf(ctx, c)
		if err != nil {
			return "", res, err
		}
		commit, err := r.commitTree(ctx, tree, "ralph: to undo work\n", made[:min(1, len(made))]...)
		if err != nil {
			return "", res, err
		}
		made = append(made, commit)
	}
	res, err = r.mergeTree(ctx, made[1], made[2])
	return res.tree, res, err
}
