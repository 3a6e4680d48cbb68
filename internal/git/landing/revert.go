package landing

import (
	"context"
	"fmt"
	"strings"

	"github.com/ralph-loop/ralph/internal/git"
	"github.com/ralph-loop/ralph/internal/git/commits"
	"github.com/ralph-loop/ralph/internal/git/info"
	"github.com/ralph-loop/ralph/internal/git/refs"
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
func Revert(ctx context.Context, r *git.Repo, in RevertInput) (commit string, err error) {
	if err := refs.CheckBranchAt("HEAD", in.Onto, in.From, in.To); err != nil || !git.OneLine(in.Key) {
		return "", fmt.Errorf("revert: not three commits and a key: %w", err)
	}
	if err := info.Attributes(r, unionLines()); err != nil {
		return "", fmt.Errorf("revert: %w", err)
	}
	if ok, err := r.Contains(ctx, in.To, in.Onto); err != nil {
		return "", fmt.Errorf("revert: %w", err)
	} else if !ok {
		return "", git.Refuse(in.To[:12]+" is not in the branch, so there is nothing to undo", "look for it with `git branch --contains "+in.To[:12]+"`")
	}
	tree, res, err := mergeTrees(ctx, r, in.To, in.Onto, in.From)
	if err != nil {
		return "", fmt.Errorf("revert: %w", err)
	}
	if open := res.open(); len(open) > 0 {
		var names []string
		for _, f := range open {
			names = append(names, f.path)
		}
		return "", git.Refuse("later work changed the same lines, in "+strings.Join(names, ", "),
			"undo it by hand: git revert "+in.From[:12]+".."+in.To[:12])
	}
	onto, err := r.TreeOf(ctx, in.Onto)
	if err != nil {
		return "", fmt.Errorf("revert: %w", err)
	}
	if tree, err = withOwnOf(ctx, r, onto, tree); err != nil || tree == onto {
		return in.Onto, err
	}
	if commit, err = r.CommitTreeSigned(ctx, tree, in.Message, in.Onto); err != nil {
		return "", fmt.Errorf("revert: %w", err)
	}
	c, err := hold(ctx, r, in.Key, commits.Commit{Hash: commit})
	return c.Hash, err
}

// mergeTrees merges the trees of two commits with that of a third as their base.
// git takes the base from history alone before 2.40, so a small one is made for
// it, of commits that nothing refers to.
func mergeTrees(ctx context.Context, r *git.Repo, base, ours, theirs string) (tree string, res merged, err error) {
	var made []string
	for _, c := range []string{base, ours, theirs} {
		tree, err := r.TreeOf(ctx, c)
		if err != nil {
			return "", res, err
		}
		commit, err := r.CommitTree(ctx, tree, "ralph: to undo work\n", made[:min(1, len(made))]...)
		if err != nil {
			return "", res, err
		}
		made = append(made, commit)
	}
	res, err = mergeTree(ctx, r, made[1], made[2])
	return res.tree, res, err
}
