package landing

import (
	"context"
	"fmt"
	"strings"

	"github.com/ralph-loop/ralph/internal/git"
)

// A person rebases, amends or resets the branch that work has landed on: its commits are
// other ones now, and the integration branch holds the old ones. Git would merge the two from
// where they last were the same, long ago: what both have changed alike conflicts with
// itself, and what the person took back is there again. In truth they were the same when the
// branch was merged or landed on last.

// mergeRewritten merges a side that does not follow what it was when it was merged last, as
// a change of that. It reports false when it is no such side, when a commit of ralph's is
// neither in it nor in another form, which only a person can want, and when that conflicts.
func mergeRewritten(ctx context.Context, r *git.Repo, to MergeResult, side Side, tree string) (merged, bool, error) {
	if side.Was == "" {
		return merged{}, false, nil
	}
	if follows, err := r.Descends(ctx, side.Commit, side.Was); err != nil || follows {
		return merged{}, false, err
	}
	if holds, err := r.Descends(ctx, to.Commit, side.Was); err != nil || !holds {
		return merged{}, false, err
	}
	if kept, err := keepsOurs(ctx, r, side.Was, side.Commit); err != nil || !kept {
		return merged{}, false, err
	}
	// for the merge alone: older gits cannot be told where to merge from
	change, err := r.CommitTree(ctx, tree, "what the branch is, after what it was\n", side.Was)
	if err != nil {
		return merged{}, false, err
	}
	res, err := mergeTree(ctx, r, to.Commit, change)
	if err != nil {
		return merged{}, false, err
	}
	res.files = res.open()
	return res, len(res.files) == 0, nil
}

// keepsOurs reports whether every commit of ralph's in was is in now, if in another form.
func keepsOurs(ctx context.Context, r *git.Repo, was, now string) (bool, error) {
	out, err := r.Run(ctx, git.Call{Args: []string{
		"log", "-z", "--cherry-pick", "--right-only", "--no-merges", "--no-show-signature", "--no-color", "--format=%B", now + "..." + was,
	}, Conf: []string{"i18n.logOutputEncoding=UTF-8"}})
	if err != nil {
		return false, fmt.Errorf("look for what a branch has lost: %w", err)
	}
	for line := range strings.FieldsFuncSeq(out, func(c rune) bool { return c == '\n' || c == 0 }) {
		if strings.HasPrefix(line, "Ralph-") {
			return false, nil
		}
	}
	return true, nil
}
