package git

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const (
	// refLockWait is how long a reference may stay locked: git itself needs a
	// few milliseconds, its hooks may need more.
	refLockWait = 5 * time.Second
	refLockLook = 10 * time.Millisecond
)

// settled returns HEAD when no git command holds it, its branch or the stash.
// The git of an engine that was killed goes on, perhaps in a slow hook, and what
// it still does has to be seen before anything is decided by what is there. A
// lock that stays was left by a git that was killed itself, or belongs to the
// user's: that only a person can tell, so it is a refusal that names the file.
func (r *Repo) settled(ctx context.Context) (Head, error) {
	end := time.Now().Add(refLockWait)
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
			return h, refuse("references are locked, so another git command is at work or was killed",
				"when no git is running in this repository, remove what it left: rm "+locks)
		}
		select {
		case <-ctx.Done():
			return h, context.Cause(ctx)
		case <-time.After(refLockLook):
		}
	}
}

// refLocks returns the lock files of the references that ralph is about to change.
func (r *Repo) refLocks(branch string) []string {
	locks := []string{
		filepath.Join(r.gitDir, "HEAD.lock"), filepath.Join(r.common, "refs", "stash.lock"), filepath.Join(r.common, "packed-refs.lock"),
	}
	if branch != "" {
		locks = append(locks, filepath.Join(r.common, "refs", "heads", filepath.FromSlash(branch)+".lock"))
	}
	return slices.DeleteFunc(locks, func(lock string) bool { return stat(lock) == nil })
}
