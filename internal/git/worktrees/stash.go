package worktrees

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph/internal/git"
	"github.com/ralph-loop/ralph/internal/git/shelve"
	"github.com/ralph-loop/ralph/internal/lazyregexp"
)

// Stash puts everything that is uncommitted in a worktree, ignored and
// ralph's own files left out, into an ordinary stash with a message of one line,
// and leaves the worktree clean at its HEAD (B-074, X-27). It returns the
// stash's commit, "" when there was nothing. The same id after a crash finds
// what the earlier call stashed. Repositories that an agent made inside move out
// of the worktree and are returned.
func Stash(ctx context.Context, r *git.Repo, dir, message, id string) (stash string, moved []git.Saved, err error) {
	if !git.OneLine(message) || !git.OneLine(id) {
		return "", nil, errors.New("stash worktree: message and id must be one line each")
	}
	t, err := r.Tree(dir)
	if err != nil {
		return "", nil, err
	}
	t.Lock()
	defer t.Unlock()
	out := &Entered{}
	stash, err = stashAll(ctx, t, shelve.ShelveInput{Message: message, ID: id}, out)
	if err != nil {
		return stash, out.Saved, fmt.Errorf("stash worktree %s: %w", filepath.Base(dir), err)
	}
	return stash, out.Saved, nil
}

func stashAll(ctx context.Context, r *git.Repo, in shelve.ShelveInput, out *Entered) (string, error) {
	r.FreeLocks(ctx)
	if unready(r) != "" {
		return "", nil // no task has begun here
	}
	head, err := r.Settled(ctx)
	if err != nil {
		return "", err
	}
	in.Base = head.Commit
	if err := openUp(r.Root()); err != nil {
		return "", err
	}
	left, err := unheld(ctx, r, head)
	if err != nil {
		return "", err
	}
	shelved, err := shelve.Stash(ctx, r, in, head, left)
	if err != nil {
		return "", err
	}
	_, err = wipe(ctx, r, in.ID, out)
	r.DropIndex()
	return shelved.Stash, err
}

// giveBack applies a stash to the worktree of the task that it is from,
// and takes it off the list unless there are conflicts, which are left in the
// files. A stash that is not on the list was given back before. One that git
// will not apply, since files have changes of their own, stays.
func giveBack(ctx context.Context, r *git.Repo, stash string, out *Entered) error {
	r.LockStashes() // one that another drop has taken off by mistake is back before this looks
	at, err := stashAt(ctx, r, stash)
	r.UnlockStashes()
	if err != nil {
		return err
	}
	if at < 0 {
		out.Restored = true
		return nil
	}
	done, err := hasAll(ctx, r, stash)
	if err != nil {
		return err
	}
	if !done {
		_, failed := r.Run(ctx, quietly(r, "stash", "apply", "-q", stash))
		if ctx.Err() != nil {
			return failed
		}
		if out.Conflicts, err = r.Unmerged(ctx, len(stash)/2); err != nil {
			return err
		}
		if out.Restored = failed == nil || len(out.Conflicts) > 0; !out.Restored || len(out.Conflicts) > 0 {
			return nil
		}
	}
	out.Restored = true
	return dropStash(ctx, r, stash)
}

// hasAll reports whether the files are just those of a stash: a call before this
// one was cut off after it had given them back.
func hasAll(ctx context.Context, r *git.Repo, stash string) (bool, error) {
	list, _, err := status(ctx, r)
	if err != nil || len(list) == 0 {
		return false, err
	}
	c, err := r.ReadCommit(ctx, stash)
	if err != nil {
		return false, err
	}
	tree, err := filesAsTree(ctx, r)
	return tree == c.Tree, err
}

// stashAt returns the position of a stash in the list, -1 when it is not there.
func stashAt(ctx context.Context, r *git.Repo, stash string) (int, error) {
	out, err := r.Run(ctx, git.Call{Args: []string{"stash", "list", "--no-show-signature", "--no-color", "--format=%H"}})
	if err != nil {
		return -1, fmt.Errorf("list stashes: %w", err)
	}
	return slices.Index(strings.Fields(out), stash), nil
}

var dropped = lazyregexp.New(`\(([0-9a-f]{40,64})\)`)

// maxDrops is how often a stash is tried to be taken off the list while agents
// change that at the same moment.
const maxDrops = 5

// dropStash takes a stash off the list. git knows them by position alone, which
// changes when an agent stashes at the same moment: one that was dropped in its
// place comes back, and this one is tried again.
func dropStash(ctx context.Context, r *git.Repo, stash string) error {
	r.LockStashes()
	defer r.UnlockStashes()
	for n := 1; ; n++ {
		at, err := stashAt(ctx, r, stash)
		if err != nil || at < 0 {
			return err
		}
		out, err := r.Run(ctx, git.Call{Args: []string{"stash", "drop", fmt.Sprintf("stash@{%d}", at)}, Write: true})
		if err != nil && (n == maxDrops || ctx.Err() != nil) {
			return fmt.Errorf("take the stash off the list: %w", err)
		}
		if err != nil {
			continue
		}
		m := dropped.FindStringSubmatch(out)
		if m == nil || m[1] == stash {
			return nil
		}
		if err := putBack(ctx, r, m[1]); err != nil || n == maxDrops {
			return err // it stays on the list, which costs no more than a line there
		}
	}
}

// putBack puts a stash of somebody else's back on the list.
func putBack(ctx context.Context, r *git.Repo, stash string) error {
	c, err := r.ReadCommit(ctx, stash)
	if err != nil {
		return err
	}
	subject, _, _ := strings.Cut(c.Message, "\n")
	if _, err := r.Run(ctx, git.Call{Args: []string{"stash", "store", "-q", "-m", subject, stash}, Write: true}); err != nil {
		return fmt.Errorf("put back a stash of somebody else's: %w", err)
	}
	return nil
}
