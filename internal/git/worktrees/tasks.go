package worktrees

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/ralph-loop/ralph/internal/git"
	"github.com/ralph-loop/ralph/internal/git/refs"
)

// FreeBranch takes HEAD off a branch in the worktrees of this checkout other than
// dir, so that dir can check it out: a worktree of the pool stands on the branch
// of the task that last worked there. Files stay as they are.
func FreeBranch(ctx context.Context, r *git.Repo, branch, dir string) error {
	if branch == "" {
		return nil
	}
	for _, c := range refs.Checkouts(r) {
		if c.Branch != branch || git.Same(c.Dir, dir) || r.Below(c.Dir) != nil {
			continue
		}
		if err := offBranch(ctx, r, c.GitDir, branch); err != nil {
			return fmt.Errorf("free branch %s: %w", branch, err)
		}
	}
	return nil
}

// Tidy takes away what a program left in this worktree of ralph's since it was
// entered: nobody's work, but droppings of checks. Ignored files stay.
func Tidy(ctx context.Context, r *git.Repo) error {
	r.Lock()
	defer r.Unlock()
	h, err := r.Head(ctx)
	if err != nil {
		return fmt.Errorf("tidy a worktree: %w", err)
	}
	if clean, err := isClean(ctx, r, r.LookAtIndex(h)); err != nil || clean {
		return err
	}
	for _, args := range [][]string{{"reset", "-q", "--hard"}, {"clean", "-q", "-f", "-d"}} {
		if _, err := r.Run(ctx, quietly(r, args...)); err != nil {
			return fmt.Errorf("tidy a worktree: %w", err)
		}
	}
	r.LeftAt(h.Commit)
	return nil
}

// SetUpAs returns what NoteSetUp last noted in this worktree, "" when it was not
// set up since it was made.
func SetUpAs(r *git.Repo) string {
	return strings.TrimSpace(git.ReadSmall(filepath.Join(r.GitDir(), git.SetUpName)))
}

// NoteSetUp notes that this worktree has been set up, and how; "" takes the note
// away.
func NoteSetUp(r *git.Repo, how string) error {
	name := filepath.Join(r.GitDir(), git.SetUpName)
	if how == "" {
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("note that a worktree is not set up: %w", err)
		}
		return nil
	}
	if err := git.WriteFile(name, how+"\n"); err != nil {
		return fmt.Errorf("note that a worktree is set up: %w", err)
	}
	return nil
}

// NoteLanded notes in the worktrees below this checkout that stand at a commit of tip's history
// that it has landed, as a part of one commit: no branch holds it any more, and no work is lost
// with it. Of one that cannot be told, or noted, the commit is kept for recovery as any other.
func NoteLanded(ctx context.Context, r *git.Repo, tip string) error {
	var errs []error
	for _, c := range refs.Checkouts(r) {
		at := strings.TrimSpace(git.ReadSmall(filepath.Join(c.GitDir, "HEAD")))
		if c.Branch != "" || r.Below(c.Dir) != nil || git.CheckHash("commit", at) != nil {
			continue
		}
		ok, err := r.Contains(ctx, at, tip)
		if err == nil && ok {
			err = git.WriteFile(filepath.Join(c.GitDir, git.LandedName), at+"\n")
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("note in %s what has landed: %w", filepath.Base(c.Dir), err))
		}
	}
	return errors.Join(errs...)
}

// landedAt is the commit that NoteLanded last noted in this worktree, "" for none.
func landedAt(r *git.Repo) string {
	return strings.TrimSpace(git.ReadSmall(filepath.Join(r.GitDir(), git.LandedName)))
}
