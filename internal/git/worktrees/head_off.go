package worktrees

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/ralph-loop/ralph/internal/git"
)

// offBranch detaches HEAD of a worktree at the tip of a branch, if it still is on
// that branch, and touches neither index nor files. It holds git's own lock on
// HEAD between the look and the change, so it is one step for every git, also
// for that of an engine which checks out the next task's branch there. (git has
// no command that detaches only a HEAD which names a given branch.)
func offBranch(ctx context.Context, r *git.Repo, gitDir, branch string) error {
	head := filepath.Join(gitDir, "HEAD")
	lock, err := lockFile(ctx, r, head)
	if err != nil || lock == nil {
		return err
	}
	done := false
	defer func() {
		if !done {
			_ = os.Remove(lock.Name())
		}
	}()
	tip := ""
	if git.HeadBranch(git.ReadSmall(head)) == branch {
		tip, err = r.BranchTip(ctx, branch)
	}
	if err != nil || tip == "" { // it left, or there is no commit to stay at
		return errors.Join(err, lock.Close())
	}
	_, err = lock.WriteString(tip + "\n")
	if err := errors.Join(err, lock.Sync(), lock.Close()); err != nil {
		return fmt.Errorf("leave branch %s: %w", branch, err)
	}
	if err := os.Rename(lock.Name(), head); err != nil {
		return fmt.Errorf("leave branch %s: %w", branch, err)
	}
	done = true
	return nil
}

// lockFile takes the lock of a file in a worktree's git folder as git does, nil
// when the worktree is gone.
func lockFile(ctx context.Context, r *git.Repo, name string) (*os.File, error) {
	lock := name + ".lock"
	for end := time.Now().Add(git.RefLockWait); ; {
		git.FreeFiles(ctx, lock)
		f, err := os.OpenFile(lock, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		switch {
		case err == nil:
			return f, nil
		case errors.Is(err, fs.ErrNotExist):
			return nil, nil //nolint:nilnil // said above
		case !errors.Is(err, fs.ErrExist):
			return nil, err
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case time.Now().After(end):
			return nil, git.Refuse("HEAD of a worktree is locked, so another git command is at work or was killed",
				"when no git is running there, remove what it left: rm '"+lock+"'")
		}
	}
}
