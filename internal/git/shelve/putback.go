package shelve

import (
	"context"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/git"
	"github.com/ralph-loop/ralph/internal/git/commits"
	"github.com/ralph-loop/ralph/internal/git/diff"
)

// PutBackInput says what to give back.
type PutBackInput struct {
	Tree string // a snapshot of the work tree as it was before something wrote in it
	ID   string // names what is kept of it
	// Mine reports whether a tracked file may be given back what it had; nil: each may. In a
	// worktree of ralph's own nobody else writes, and nobody is asked.
	Mine func(path string) bool
	// Keep reports whether what was written to a file is wanted, and stays; nil: nothing is.
	Keep func(path string) bool
}

// PutBackResult is what became of files that something wrote in a work tree.
type PutBackResult struct {
	Restored []string    // tracked files, with the tree's content again
	Saved    []git.Saved // what they held
	// Left are files that the tree does not have. In a worktree of ralph's own they are gone,
	// in the checkout they stay.
	Left  []string
	Other []string // tracked files that may not be given back: somebody else may have written them
	Kept  []string // what is wanted, of both
	// Out are the files in Left and Other that stay, as a commit of the tree has to see them.
	Out  []ralph.LeftFile
	Tree string // the work tree after it
}

// PutBack gives files back what a tree has in them. In the user's checkout what they held is
// kept below refs/ralph/recovery first, by the name of the id: a person may have written
// there at the same time; files that the tree does not have stay. In a worktree of ralph's
// own the work tree is exactly that tree again, but for what is wanted.
func PutBack(ctx context.Context, r *git.Repo, in PutBackInput) (PutBackResult, error) {
	out := PutBackResult{}
	var err error
	if out.Tree, err = r.Snapshot(ctx); err != nil || out.Tree == in.Tree {
		return out, err
	}
	changed, err := diff.Changes(ctx, r, in.Tree, out.Tree)
	if err != nil {
		return out, err
	}
	var stay []diff.Change
	var paths strings.Builder
	for _, c := range changed {
		switch {
		case in.Keep != nil && in.Keep(c.Path):
			out.Kept = append(out.Kept, c.Path)
		case c.Status == 'A':
			out.Left = append(out.Left, c.Path)
			stay = append(stay, c)
		case c.Link():
		case !r.Ours() && in.Mine != nil && !in.Mine(c.Path):
			out.Other = append(out.Other, c.Path)
			stay = append(stay, c)
		default:
			out.Restored = append(out.Restored, c.Path)
			paths.WriteString(":(top,literal)" + c.Path + "\x00")
		}
	}
	if r.Ours() {
		if err := removeNew(r, out.Left); err != nil {
			return out, err
		}
	} else if out.Out, err = leftFiles(ctx, r, in.Tree, stay); err != nil {
		return out, err
	}
	if len(out.Restored) > 0 {
		if !r.Ours() {
			if out.Saved, err = saveTree(ctx, r, out.Tree, in.ID); err != nil {
				return out, err
			}
		}
		args := []string{"restore", "--source=" + in.Tree, "--worktree", "--pathspec-from-file=-", "--pathspec-file-nul"}
		if _, err := r.Run(ctx, git.Call{Args: args, Stdin: paths.String(), Write: true}); err != nil {
			return out, fmt.Errorf("restore files: %w", err)
		}
	}
	out.Tree, err = r.Snapshot(ctx)
	return out, err
}

// removeNew takes files away, and the folders that are empty without them.
func removeNew(r *git.Repo, files []string) error {
	for _, name := range files {
		if err := os.RemoveAll(r.File(name)); err != nil { // a repository inside is a folder
			return fmt.Errorf("take away what checks made: %w", err)
		}
		for dir := path.Dir(name); dir != "." && os.Remove(r.File(dir)) == nil; dir = path.Dir(dir) {
			continue
		}
	}
	return nil
}

// leftFiles says of files that stay which version a commit of the tree on top of HEAD has.
func leftFiles(ctx context.Context, r *git.Repo, tree string, stay []diff.Change) ([]ralph.LeftFile, error) {
	if len(stay) == 0 {
		return nil, nil
	}
	head, err := r.Head(ctx)
	if err != nil {
		return nil, err
	}
	work, err := commits.ByPath(ctx, r, head.Commit, tree)
	if err != nil {
		return nil, err
	}
	var list []ralph.LeftFile
	for _, c := range stay {
		l := ralph.LeftFile{Path: c.Path, Now: c.After(), At: c.Before(), ByChecks: true}
		if b, agents := work[c.Path]; agents {
			l.At, l.Was = b.Before(), b.After()
		}
		list = append(list, l)
	}
	slices.SortFunc(list, func(a, b ralph.LeftFile) int { return strings.Compare(a.Path, b.Path) })
	return list, nil
}

// saveTree keeps a tree on top of HEAD for recovery.
func saveTree(ctx context.Context, r *git.Repo, tree, id string) ([]git.Saved, error) {
	r.Lock()
	defer r.Unlock()
	head, err := r.Head(ctx)
	if err != nil {
		return nil, err
	}
	commit, err := r.CommitTree(ctx, tree, "ralph: what checks had written", head.Commit)
	if err != nil {
		return nil, err
	}
	ref, err := r.Keep(ctx, id, commit)
	return []git.Saved{{Ref: ref, Commit: commit, What: "files that checks changed"}}, err
}
