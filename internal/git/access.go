package git

import (
	"context"
	"path/filepath"

	"github.com/ralph-loop/ralph/internal/proc"
)

// What packages that stand on a Repo (internal/git/...) use of it beside its methods for
// everybody. Only they may: a test of the architecture holds the list of who imports whom.

// Lock takes the turn of whoever writes here, or reads what several commands must agree on.
func (r *Repo) Lock() { r.mu.Lock() }

// Unlock gives the turn back.
func (r *Repo) Unlock() { r.mu.Unlock() }

// GitDir is the folder of git of this work tree: HEAD, the index.
func (r *Repo) GitDir() string { return r.gitDir }

// Common is the folder of git of all work trees: objects, refs, info/exclude.
func (r *Repo) Common() string { return r.common }

// Ours reports whether this is a worktree that ralph made: its index is ralph's too.
func (r *Repo) Ours() bool { return r.ours }

// Outside runs git in any folder, with an environment that is all it gets: none of this
// repository's settings and safeguards apply.
func (r *Repo) Outside(ctx context.Context, dir string, env []string, args ...string) (stdout, stderr []byte, res proc.Result, err error) {
	return r.p.Output(ctx, proc.Command{Args: append([]string{r.program}, args...), Dir: dir, Env: env})
}

// LockStashes takes the turn of whoever changes the list of stashes, which all worktrees share.
func (r *Repo) LockStashes() { r.stashes.Lock() }

// UnlockStashes gives it back.
func (r *Repo) UnlockStashes() { r.stashes.Unlock() }

// Home is the checkout that a worktree of ralph's belongs to, nil for a checkout.
func (r *Repo) Home() *Repo { return r.home }

// OpenAt opens another checkout, with the environment of this one.
func (r *Repo) OpenAt(ctx context.Context, dir string) (*Repo, error) {
	return Open(ctx, r.p, dir, r.env)
}

// File is where a file of the work tree is.
func (r *Repo) File(name string) string { return filepath.Join(r.root, filepath.FromSlash(name)) }

// LockRegistry takes the turn of whoever changes the list of worktrees, among the goroutines of
// one process.
func (r *Repo) LockRegistry() { r.pool.write.Lock() }

// UnlockRegistry gives it back.
func (r *Repo) UnlockRegistry() { r.pool.write.Unlock() }
