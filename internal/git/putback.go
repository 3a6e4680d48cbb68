package git

import (
	"context"
	"fmt"
	"strings"
)

// PutBack is what became of files that something wrote in a work tree.
type PutBack struct {
	Restored []string // tracked files, with the tree's content again
	Saved    []Saved  // what they held
	Left     []string // files that the tree does not have: they stay
	Tree     string   // the work tree after it
}

// PutBack gives files back what a tree has in them, a snapshot of the work tree as it was
// before something wrote in it. What they held is kept below refs/ralph/recovery first, by
// the name of id: a person may have written there at the same time. New files stay.
func (r *Repo) PutBack(ctx context.Context, tree, id string) (PutBack, error) {
	out := PutBack{}
	var err error
	if out.Tree, err = r.Snapshot(ctx); err != nil {
		return out, err
	}
	changed, err := r.changes(ctx, tree, out.Tree)
	if err != nil {
		return out, err
	}
	var paths strings.Builder
	for _, c := range changed {
		switch {
		case c.status == 'A':
			out.Left = append(out.Left, c.path)
		case !c.link():
			out.Restored = append(out.Restored, c.path)
			paths.WriteString(":(top,literal)" + c.path + "\x00")
		}
	}
	if len(out.Restored) == 0 {
		return out, nil
	}
	if out.Saved, err = r.saveTree(ctx, out.Tree, id); err != nil {
		return out, err
	}
	args := []string{"restore", "--source=" + tree, "--worktree", "--pathspec-from-file=-", "--pathspec-file-nul"}
	if _, err := r.git(ctx, call{args: args, stdin: paths.String(), write: true}); err != nil {
		return out, fmt.Errorf("restore files: %w", err)
	}
	out.Tree, err = r.Snapshot(ctx)
	return out, err
}

// saveTree keeps a tree on top of HEAD for recovery.
func (r *Repo) saveTree(ctx context.Context, tree, id string) ([]Saved, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	head, err := r.Head(ctx)
	if err != nil {
		return nil, err
	}
	commit, err := r.commitTree(ctx, tree, "ralph: what checks had written before the work", head.Commit)
	if err != nil {
		return nil, err
	}
	ref, err := r.keep(ctx, id, commit)
	return []Saved{{Ref: ref, Commit: commit, What: "files that checks changed"}}, err
}
