// Package checkout is what a worker has on its disk, apart from what is in its repositories: where the clone for one
// coordinator is, which step is in which worktree, and which sessions of agents are at home here.
//
// It does NOT own what is done there (internal/fleet), nor worktrees (internal/git/worktrees).
package checkout

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/ralph-loop/ralph/internal/git"
	"github.com/ralph-loop/ralph/internal/proc"
)

// Folder names the folder of a clone.
func Folder(repo, journal string) string {
	sum := sha256.Sum256([]byte(repo + "\n" + journal))
	return hex.EncodeToString(sum[:8])
}

// Open opens a clone; a new one is an empty repository. It is made under another name first: it is there whole
// or not at all. procs is where its making is noted, should it be killed.
func Open(ctx context.Context, dir, procs string, environ []string) (*git.Repo, error) {
	_, err := os.Stat(filepath.Join(dir, ".git", "config"))
	if errors.Is(err, fs.ErrNotExist) {
		draft := dir + ".draft"
		err = errors.Join(os.RemoveAll(draft), os.RemoveAll(dir), os.MkdirAll(filepath.Join(draft, "ralph"), 0o700))
		if err == nil {
			err = initRepo(ctx, procs, draft, environ)
		}
		if err == nil {
			err = os.Rename(draft, dir)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("open the worker's clone: %w", err)
	}
	return git.Open(ctx, proc.NewRunner(filepath.Join(dir, "ralph/.state/procs")), dir, environ)
}

// initRepo makes an empty repository, on a branch that no task has.
func initRepo(ctx context.Context, procs, dir string, environ []string) error {
	_, said, res, err := proc.NewRunner(procs).Output(ctx, proc.Command{Args: []string{"git", "init", "-q", "-b", "worker", dir}, Dir: dir, Env: environ})
	if err == nil && (res.Ended != proc.EndedSelf || res.Code != 0) {
		err = fmt.Errorf("git init: %s", said)
	}
	return err
}

// ErrNewer ends a step: a newer one has come for its worktree.
var ErrNewer = errors.New("a newer step has the same worktree")

// Worktrees knows which step is in which worktree.
type Worktrees struct {
	mu   sync.Mutex
	busy map[string]*step
}

type step struct {
	end  context.CancelCauseFunc
	done chan struct{}
}

// Enter waits until a worktree is free. Who is in it is ended: its coordinator has given it up.
func (w *Worktrees) Enter(ctx context.Context, dir string) (context.Context, func(), error) {
	ctx, end := context.WithCancelCause(ctx)
	me := &step{end: end, done: make(chan struct{})}
	w.mu.Lock()
	if w.busy == nil {
		w.busy = map[string]*step{}
	}
	before := w.busy[dir]
	w.busy[dir] = me
	w.mu.Unlock()
	leave := func() {
		w.mu.Lock()
		if w.busy[dir] == me {
			delete(w.busy, dir)
		}
		w.mu.Unlock()
		end(nil)
		close(me.done)
	}
	if before == nil {
		return ctx, leave, nil
	}
	before.end(ErrNewer)
	select {
	case <-before.done:
		return ctx, leave, nil
	case <-ctx.Done():
		go func() { <-before.done; leave() }() // the worktree is still the other's
		return nil, nil, context.Cause(ctx)
	}
}

// Sessions are those of agents that are in the home of whoever runs this worker: an empty file each, in
// this folder.
type Sessions string

func (s Sessions) file(id string) string {
	sum := sha256.Sum256([]byte(id))
	return filepath.Join(string(s), hex.EncodeToString(sum[:16]))
}

// Has reports whether a session is here.
func (s Sessions) Has(id string) bool {
	_, err := os.Stat(s.file(id))
	return err == nil
}

// Keep notes that it is; "" is none.
func (s Sessions) Keep(id string) error {
	if id == "" {
		return nil
	}
	if err := os.MkdirAll(string(s), 0o700); err != nil {
		return fmt.Errorf("remember the session of an agent: %w", err)
	}
	return os.WriteFile(s.file(id), nil, 0o600)
}
