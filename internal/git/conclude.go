package git

import (
	"context"
	"fmt"
	"strings"
)

// Conclude commits the merge that MergeHere left open in this worktree of
// ralph's, with hooks and signing as in a commit by hand: one process besides
// `git add -A`. in.Base is the commit that is merged in. Paths that are not
// resolved are a *ralph.Refusal. Without a merge under way (the agent committed
// it, or it fitted at once) it is Commit. Called again after a crash it finds
// the commit by its trailer.
func (r *Repo) Conclude(ctx context.Context, in CommitInput) (Commit, error) {
	open, err := r.Unresolved(ctx)
	if err != nil {
		return Commit{}, fmt.Errorf("conclude the merge: %w", err)
	}
	if len(open) > 0 {
		return Commit{}, refuse("conflicts are left in "+strings.Join(open, ", "), "resolve them, and take the conflict markers out")
	}
	c, ok, err := r.conclude(ctx, in)
	if err != nil {
		return Commit{}, fmt.Errorf("conclude the merge: %w", err)
	}
	if !ok {
		return r.Commit(ctx, in)
	}
	return c, nil
}

// conclude reports with ok whether there was a merge to conclude.
func (r *Repo) conclude(ctx context.Context, in CommitInput) (c Commit, ok bool, err error) {
	r.Lock()
	defer r.Unlock()
	if r.mergeHead() == "" || r.unfinished() != "merge" {
		return Commit{}, false, nil
	}
	if _, err := in.trailer(); err != nil {
		return Commit{}, false, err
	}
	h, err := r.Head(ctx)
	if err != nil {
		return Commit{}, false, err
	}
	if in.Branch != "" && h.Branch != in.Branch {
		return Commit{}, false, refuse("HEAD left the branch "+in.Branch+" in the middle of a merge", "go back with `git switch "+in.Branch+"`")
	}
	defer r.forgetIndex()
	r.freeLocks(ctx)
	if err := r.restoreOwn(ctx, h.Commit); err != nil { // whatever the agent staged
		return Commit{}, false, err
	}
	if err := r.addAll(ctx, withoutOwn()); err != nil {
		return Commit{}, false, err
	}
	before, merged := stagedIn(r.privateIndex()), r.mergeHead()
	if err := r.runCommit(ctx, in.Message, "-F", "-"); err != nil {
		return Commit{}, false, err
	}
	if c, err = r.made(ctx, h.Commit); err != nil {
		return Commit{}, false, err
	}
	files, err := r.rewritten(ctx, before, in.Tree, c, nil)
	if err == nil && len(files) > 0 {
		err = r.takeBack(ctx, c, h.Commit, merged, files)
	}
	return c, err == nil, err
}

// MergeState says how far the merge of a commit into this worktree's branch is.
type MergeState string

// The states.
const (
	MergeOpen MergeState = "open" // under way, its conflicts resolved or not
	MergeDone MergeState = "done" // the branch contains the commit
	MergeNone MergeState = "none" // never begun, or undone
)

// Merging reports how far the merge of a commit into this worktree's branch is.
func (r *Repo) Merging(ctx context.Context, commit string) (MergeState, error) {
	if r.mergeHead() != "" {
		return MergeOpen, nil
	}
	h, err := r.Head(ctx)
	if err != nil {
		return "", fmt.Errorf("look for the merge: %w", err)
	}
	ok, err := r.Contains(ctx, commit, h.Commit)
	if err != nil {
		return "", fmt.Errorf("look for the merge: %w", err)
	}
	if ok {
		return MergeDone, nil
	}
	return MergeNone, nil
}
