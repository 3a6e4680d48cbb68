package git

import (
	"context"
	"path/filepath"

	"github.com/ralph-loop/ralph/internal/git/index"
	"github.com/ralph-loop/ralph/internal/git/unchanged"
	"github.com/ralph-loop/ralph/internal/regular"
)

// HoldOwn sees to it that the index of a worktree has ralph's own files as the
// commit has them on which the task began (head, when that is not known),
// whatever an agent staged or committed.
func (r *Repo) HoldOwn(ctx context.Context, head string) error {
	r.FreeLocks(ctx)
	x := &r.index
	e, err := r.readPrivate(head)
	if x.head != "" {
		head = x.head
	}
	if err != nil || x.head == "" || e.Own != x.own {
		if err := r.RestoreOwn(ctx, head); err != nil {
			return err
		}
	}
	x.begun, x.real = true, Stat(r.RealIndex())
	return nil
}

// LookAtIndex tells whether commit, index and files of a work tree are the same, as far as that
// can be told without git.
func (r *Repo) LookAtIndex(head Head) unchanged.Proof {
	at := unchanged.Layout{Root: r.root, Index: r.RealIndex(), IDLen: len(head.Commit) / 2}
	return unchanged.Prove(at, Stat(filepath.Join(r.gitDir, "info", "sparse-checkout")) != nil, func() string { return r.knownTree(head.Commit) })
}

// knownTree returns the tree of a commit when no process is needed for it.
func (r *Repo) knownTree(commit string) string {
	if r.at.Commit == commit {
		return r.at.Tree
	}
	text, err := r.ReadLooseCommit(commit)
	if err != nil {
		return ""
	}
	c, err := ParseCommit(text)
	if err != nil {
		return ""
	}
	return c.Tree
}

// linkPaths returns the repositories inside this one that an index names. The id of HEAD's
// kind of object tells the length of ids.
func (r *Repo) linkPaths(file string) ([]string, error) {
	b, err := regular.ReadFile(file, regular.Large)
	if err != nil || len(b) == 0 {
		return nil, nil // none yet
	}
	idLen := 20
	if r.wideIDs() {
		idLen = 32
	}
	return index.Links(b, idLen)
}

// LeftAt notes what the index says after a checkout of the commit, which saves
// asking for it before the next commit and at the next Enter.
func (r *Repo) LeftAt(commit string) {
	r.index, r.at = private{}, EnteredPlace{Commit: commit}
	if e, err := r.readPrivate(commit); err == nil {
		r.index = private{begun: true, real: Stat(r.RealIndex()), head: commit, own: e.Own}
		r.at.Tree = e.Tree
	}
}

// EnteredAt is what leftAt noted.
func (r *Repo) EnteredAt() EnteredPlace { return r.at }

// DropIndex forgets what was known of the index.
func (r *Repo) DropIndex() { r.index = private{} }
