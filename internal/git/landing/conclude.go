package landing

import (
	"context"
	"fmt"
	"strings"

	"github.com/ralph-loop/ralph/internal/git"
	"github.com/ralph-loop/ralph/internal/git/commits"
)

// Conclude commits the merge that MergeHere left open in this worktree of
// ralph's, with hooks and signing as in a commit by hand: one process besides
// `git add -A`. in.Base is the commit that is merged in. Paths that are not
// resolved are a *ralph.Refusal. Without a merge under way (the agent committed
// it, or it fitted at once) it is Commit. Called again after a crash it finds
// the commit by its trailer.
func Conclude(ctx context.Context, r *git.Repo, in commits.Input) (commits.Commit, error) {
	open, err := Unresolved(ctx, r)
	if err != nil {
		return commits.Commit{}, fmt.Errorf("conclude the merge: %w", err)
	}
	if len(open) > 0 {
		return commits.Commit{}, git.Refuse("conflicts are left in "+strings.Join(open, ", "), "resolve them, and take the conflict markers out")
	}
	c, ok, err := conclude(ctx, r, in)
	if err != nil {
		return commits.Commit{}, fmt.Errorf("conclude the merge: %w", err)
	}
	if !ok {
		return commits.Make(ctx, r, in)
	}
	return c, nil
}

// conclude reports with ok whether there was a merge to conclude.
func conclude(ctx context.Context, r *git.Repo, in commits.Input) (c commits.Commit, ok bool, err error) {
	r.Lock()
	defer r.Unlock()
	if mergeHead(r) == "" || r.Unfinished() != "merge" {
		return commits.Commit{}, false, nil
	}
	if _, err := in.TrailerLine(); err != nil {
		return commits.Commit{}, false, err
	}
	h, err := r.Head(ctx)
	if err != nil {
		return commits.Commit{}, false, err
	}
	if in.Branch != "" && h.Branch != in.Branch {
		return commits.Commit{}, false, git.Refuse("HEAD left the branch "+in.Branch+" in the middle of a merge", "go back with `git switch "+in.Branch+"`")
	}
	defer r.ForgetIndex()
	r.FreeLocks(ctx)
	if err := r.RestoreOwn(ctx, h.Commit); err != nil { // whatever the agent staged
		return commits.Commit{}, false, err
	}
	if err := r.AddAll(ctx, git.WithoutOwn()); err != nil {
		return commits.Commit{}, false, err
	}
	before, merged := commits.StagedIn(r.PrivateIndex()), mergeHead(r)
	if err := commits.RunCommit(ctx, r, in.Message, "-F", "-"); err != nil {
		return commits.Commit{}, false, err
	}
	if c, err = commits.Made(ctx, r, h.Commit); err != nil {
		return commits.Commit{}, false, err
	}
	files, err := commits.Rewritten(ctx, r, before, in.Tree, c, nil)
	if err == nil && len(files) > 0 {
		err = commits.UndoCommit(ctx, r, c, h.Commit, merged, files)
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
func Merging(ctx context.Context, r *git.Repo, commit string) (MergeState, error) {
	if mergeHead(r) != "" {
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
