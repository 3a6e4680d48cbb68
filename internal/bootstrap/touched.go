package bootstrap

import (
	"context"

	"github.com/ralph-loop/ralph/internal/git"
	"github.com/ralph-loop/ralph/internal/git/diff"
	"github.com/ralph-loop/ralph/internal/step"
)

// touched is the files that differ between two trees, for the checkout and each worktree.
func touched(repo *git.Repo) func(ctx context.Context, dir, from, to string, want func(string) bool) ([]step.Touched, []byte, error) {
	const most = 64 << 10
	return func(ctx context.Context, dir, from, to string, want func(string) bool) ([]step.Touched, []byte, error) {
		in := repo
		if dir != repo.Root() {
			var err error
			if in, err = repo.Tree(dir); err != nil {
				return nil, nil, err
			}
		}
		files, patch, err := diff.Touched(ctx, in, from, to, want, most)
		out := make([]step.Touched, len(files))
		for i, f := range files {
			out[i] = step.Touched(f)
		}
		return out, patch, err
	}
}
