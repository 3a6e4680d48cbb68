package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// FreeBranch takes HEAD off a branch in the worktrees of this checkout other than
// dir, so that dir can check it out: a worktree of the pool stands on the branch
// of the task that last worked there. Files stay as they are.
func (r *Repo) FreeBranch(ctx context.Context, branch, dir string) error {
	if branch == "" {
		return nil
	}
	for _, c := range r.Checkouts() {
		if c.Branch != branch || same(c.Dir, dir) || r.below(c.Dir) != nil {
			continue
		}
		if err := r.offBranch(ctx, c.GitDir, branch); err != nil {
			return fmt.Errorf("free branch %s: %w", branch, err)
		}
	}
	return nil
}

// Tidy takes away what a program left in this worktree of ralph's since it was
// entered: nobody's work, but droppings of checks. Ignored files stay.
func (r *Repo) Tidy(ctx context.Context) error {
	r.Lock()
	defer r.Unlock()
	h, err := r.Head(ctx)
	if err != nil {
		return fmt.Errorf("tidy a worktree: %w", err)
	}
	if clean, err := r.isClean(ctx, r.lookAtIndex(h)); err != nil || clean {
		return err
	}
	for _, args := range [][]string{{"reset", "-q", "--hard"}, {"clean", "-q", "-f", "-d"}} {
		if _, err := r.Run(ctx, r.quietly(args...)); err != nil {
			return fmt.Errorf("tidy a worktree: %w", err)
		}
	}
	r.leftAt(h.Commit)
	return nil
}

// SetUpAs returns what NoteSetUp last noted in this worktree, "" when it was not
// set up since it was made.
func (r *Repo) SetUpAs() string {
	return strings.TrimSpace(ReadSmall(filepath.Join(r.gitDir, setUpName)))
}

// NoteSetUp notes that this worktree has been set up, and how; "" takes the note
// away.
func (r *Repo) NoteSetUp(how string) error {
	name := filepath.Join(r.gitDir, setUpName)
	if how == "" {
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("note that a worktree is not set up: %w", err)
		}
		return nil
	}
	if err := WriteFile(name, how+"\n"); err != nil {
		return fmt.Errorf("note that a worktree is set up: %w", err)
	}
	return nil
}
