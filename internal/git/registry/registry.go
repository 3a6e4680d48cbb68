// Package registry owns the list of worktrees that git keeps of a repository: reading it, and
// changing it alone, since git itself dies of another's half-written entry.
//
// It does NOT own worktrees: internal/git/worktrees makes and removes those of tasks.
package registry

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/ralph-loop/ralph/internal/git"
	"github.com/ralph-loop/ralph/internal/lazyregexp"
)

const (
	// lockName, in the common git folder, is held by whoever adds or takes
	// away a worktree, in whichever checkout of the repository.
	lockName = "ralph-worktrees.lock"
	// lockTick is how often a lock that another engine holds is tried.
	lockTick = 2 * time.Millisecond
)

// Worktree is one that git has registered, whoever made it.
type Worktree struct {
	Path     string // absolute
	Head     string // commit, "" when its branch has none
	Branch   string // without refs/heads/, "" when detached
	Bare     bool   // no work tree: the repository itself
	Locked   bool
	Prunable bool // its files are gone
}

// List returns the worktrees of the repository, the main one first.
func List(ctx context.Context, r *git.Repo) ([]Worktree, error) {
	var out string
	err := Patiently(ctx, func() (err error) {
		out, err = r.Run(ctx, git.Call{Args: []string{"worktree", "list", "--porcelain", "-z"}})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list worktrees: %w", err)
	}
	var list []Worktree
	for line := range strings.SplitSeq(out, "\x00") {
		name, value, _ := strings.Cut(line, " ")
		if name == "worktree" {
			list = append(list, Worktree{Path: filepath.FromSlash(value)})
		}
		if len(list) == 0 {
			continue
		}
		w := &list[len(list)-1]
		switch name {
		case "HEAD":
			if strings.Trim(value, "0") != "" {
				w.Head = value
			}
		case "branch":
			w.Branch = strings.TrimPrefix(value, "refs/heads/")
		case "bare":
			w.Bare = true
		case "locked":
			w.Locked = true
		case "prunable":
			w.Prunable = true
		}
	}
	return list, nil
}

// Locked does something to the list of worktrees, alone.
func Locked(ctx context.Context, r *git.Repo, do func() error) error {
	r.LockRegistry()
	defer r.UnlockRegistry()
	lock := flock.New(filepath.Join(r.Common(), lockName))
	if _, err := lock.TryLockContext(ctx, lockTick); err != nil {
		return fmt.Errorf("lock the list of worktrees: %w", err)
	}
	return errors.Join(do(), lock.Unlock())
}

// halfWritten is what git says of a worktree that another git command is just
// adding or removing: it dies although nothing is wrong.
var halfWritten = lazyregexp.New(`worktrees/[^\n]*/(commondir|gitdir|HEAD)\b`)

const (
	patience     = 20
	patienceTick = 10 * time.Millisecond
)

// Patiently repeats a git command that met somebody else's half-written worktree.
func Patiently(ctx context.Context, do func() error) error {
	for try := 1; ; try++ {
		err := do()
		if err == nil || try == patience || !halfWritten.MatchString(git.StderrOf(err)) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(patienceTick):
		}
	}
}
