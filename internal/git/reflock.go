package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const (
	// refLockWait is how long a reference may stay locked: git itself needs a
	// few milliseconds, its hooks may need more.
	RefLockWait = 5 * time.Second
	refLockLook = 10 * time.Millisecond
)

// ownRefs is where references are that only ralph makes.
const ownRefs = "refs/ralph/"

// Settle waits until no git command holds a reference that ralph changes. dead is
// since when an engine worked here that was killed, zero for none. Its git was
// ended with it (proc's Tied), most often with time to take its locks away: what
// is still locked since then, long after, is nobody's and is removed. Any other
// lock is a refusal.
func (r *Repo) Settle(ctx context.Context, dead time.Time) error {
	h, err := r.Settled(ctx)
	if err == nil || dead.IsZero() || ctx.Err() != nil {
		return err
	}
	for _, lock := range r.refLocks(h.Branch) {
		if info := Stat(lock); info == nil || info.ModTime().Before(dead) {
			continue
		}
		if err := os.Remove(lock); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove a lock that a killed git left: %w", err)
		}
	}
	if len(r.refLocks(h.Branch)) > 0 {
		return err
	}
	return nil
}

// Settled returns HEAD when no git command holds it, its branch or the stash.
// The git of an engine that was killed goes on, perhaps in a slow hook, and what
// it still does has to be seen before anything is decided by what is there. A
// lock that stays was left by a git that was killed itself, or belongs to the
// user's: that only a person can tell, so it is a refusal that names the file.
func (r *Repo) Settled(ctx context.Context) (Head, error) {
	end := time.Now().Add(RefLockWait)
	if r.ours { // nobody but its task works there: what is left for long was left by a killed git
		r.FreeLocks(ctx)
	}
	for {
		h, err := r.Head(ctx)
		if err != nil {
			return h, err
		}
		locks := strings.Join(r.refLocks(h.Branch), " ")
		switch {
		case locks == "":
			return r.Head(ctx) // it may have moved just before the lock went
		case time.Now().After(end):
			return h, Refuse("references are locked, so another git command is at work or was killed",
				"when no git is running in this repository, remove what it left: rm "+locks)
		}
		select {
		case <-ctx.Done():
			return h, context.Cause(ctx)
		case <-time.After(refLockLook):
		}
	}
}

// FreeRefs is freeLocks for references. Those of people stay locked: whether
// their git is at work only they can tell.
func (r *Repo) FreeRefs(ctx context.Context, refs ...string) { FreeFiles(ctx, r.ownLocks(refs...)...) }

// ownLocks returns the lock files of those references that are ralph's own.
func (r *Repo) ownLocks(refs ...string) []string {
	var locks []string
	for _, ref := range refs {
		if strings.HasPrefix(ref, "refs/heads/"+BranchSpace) || strings.HasPrefix(ref, ownRefs) {
			locks = append(locks, filepath.Join(r.common, filepath.FromSlash(ref)+".lock"))
		}
	}
	return locks
}

// refLocks returns the lock files of the references that ralph is about to change.
func (r *Repo) refLocks(branch string) []string {
	locks := []string{
		filepath.Join(r.gitDir, "HEAD.lock"), filepath.Join(r.common, "refs", "stash.lock"), filepath.Join(r.common, "packed-refs.lock"),
	}
	if branch != "" {
		locks = append(locks, filepath.Join(r.common, "refs", "heads", filepath.FromSlash(branch)+".lock"))
	}
	return slices.DeleteFunc(locks, func(lock string) bool { return Stat(lock) == nil })
}

// LockNames are the locks that a git which was killed leaves in a worktree's
// own git folder.
func (r *Repo) LockNames() []string {
	return []string{r.RealIndex() + ".lock", filepath.Join(r.gitDir, "HEAD.lock")}
}

// DropLocks takes those locks away at once.
func (r *Repo) DropLocks() {
	for _, name := range r.LockNames() {
		_ = os.Remove(name)
	}
}

// FreeLocks waits for a git command at work in a worktree of ours. Nobody but
// the task works there, and its processes have ended; so a lock that is older
// than any wait for one was left by a git that was killed, and goes.
// The same holds for the branch that is checked out, when it is ralph's.
func (r *Repo) FreeLocks(ctx context.Context) {
	locks := r.LockNames()
	if branch := HeadBranch(ReadSmall(filepath.Join(r.gitDir, "HEAD"))); branch != "" {
		locks = append(locks, r.ownLocks("refs/heads/"+branch)...)
	}
	FreeFiles(ctx, locks...)
}

// FreeFiles takes old locks away and waits for the others. One that cannot go, or
// comes back each time, is left for git to complain about.
func FreeFiles(ctx context.Context, names ...string) {
	for end := time.Now().Add(RefLockWait); ; {
		held := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return Stat(name) == nil })
		if len(held) == 0 || time.Now().After(end) {
			return
		}
		for _, name := range held {
			if info := Stat(name); info != nil && time.Since(info.ModTime()) > LockWait {
				_ = os.Remove(name)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(LockTick):
		}
	}
}
