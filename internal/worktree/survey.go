package worktree

import (
	"context"
	"strings"

	"github.com/ralph-loop/ralph/internal/git"
	"github.com/ralph-loop/ralph/internal/thread"
)

// maxSurveyed is how many files a survey lists.
const maxSurveyed = 5000

// Survey is what git says of a place of work, for the research of guidance.
func Survey(ctx context.Context, repo *git.Repo, dir string) (thread.Survey, error) {
	var v thread.Survey
	if dir != repo.Root() {
		tree, err := repo.Tree(dir)
		if err != nil {
			return v, err
		}
		repo = tree
	}
	files, err := repo.Run(ctx, git.Call{Args: []string{"ls-files", "-z"}})
	if err != nil {
		return v, err
	}
	v.Files = strings.Split(strings.TrimSuffix(files, "\x00"), "\x00")
	v.Files = v.Files[:min(len(v.Files), maxSurveyed)]
	log, err := repo.Run(ctx, git.Call{Args: []string{"log", "--format=%s", "-n", "10"}})
	if err != nil {
		return v, err
	}
	v.Commits = strings.Split(strings.TrimSpace(log), "\n")
	v.Dirty, err = repo.Dirty(ctx)
	return v, err
}
