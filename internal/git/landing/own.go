package landing

import (
	"context"
	"fmt"
	"os"
	"slices"

	"github.com/ralph-loop/ralph/internal/git"
)

// ownDiffers reports whether two trees have different versions of ralph's own
// files. Loose trees, as new ones are, tell it without a process.
func ownDiffers(ctx context.Context, r *git.Repo, a, b string) (bool, error) {
	if a == b {
		return false, nil
	}
	differs, ok := looseDiffers(r, a, b, []string{"ralph", "build"})
	if ok {
		return differs, nil
	}
	args := append([]string{"diff-tree", "-r", "--no-renames", "--name-only", "-z", a, b, "--"}, git.OwnPaths()...)
	out, err := r.Run(ctx, git.Call{Args: args})
	if err != nil {
		return false, fmt.Errorf("compare ralph's own files: %w", err)
	}
	return out != "", nil
}

// looseDiffers compares members of two trees, and within ralph/ and build/ those
// that are ralph's own. ok is false when a tree is not loose.
func looseDiffers(r *git.Repo, a, b string, names []string) (differs, ok bool) {
	ma, okA := looseTree(r, a)
	mb, okB := looseTree(r, b)
	if !okA || !okB {
		return false, false
	}
	for _, name := range names {
		x, y := ma[name], mb[name]
		if x == y {
			continue
		}
		within := map[string][]string{
			"ralph": {"inbox.jsonl", "plan.jsonl", ".agent-session", ".state", ".worktrees"}, "build": {"ralph-logs"},
		}[name]
		if within == nil || x.Mode != "" && x.Mode != git.ModeDir || y.Mode != "" && y.Mode != git.ModeDir {
			return true, true
		}
		if d, ok := looseDiffers(r, x.ID, y.ID, within); d || !ok {
			return d, ok
		}
	}
	return false, true
}

// looseTree reads a tree's members by name from its own file; "" is a folder that
// is not there, with no members.
func looseTree(r *git.Repo, id string) (map[string]git.TreeEntry, bool) {
	if id == "" {
		return nil, true
	}
	text, err := r.ReadLoose(id, "tree")
	if err != nil {
		return nil, false
	}
	return git.MembersIn(text, len(id)/2)
}

// withOwnOf returns the tree with ralph's own files, and more paths, as another tree has them.
func withOwnOf(ctx context.Context, r *git.Repo, own, tree string, more ...string) (string, error) {
	differs, err := ownDiffers(ctx, r, own, tree)
	if err != nil || !differs && len(more) == 0 {
		return tree, err
	}
	f, err := os.CreateTemp(r.GitDir(), "ralph-index.merge-*")
	if err != nil {
		return "", fmt.Errorf("leave ralph's own files out of a merge: %w", err)
	}
	index := f.Name()
	_ = f.Close()
	_ = os.Remove(index) // git takes an empty file for a broken index
	defer os.Remove(index)
	for _, args := range [][]string{
		{"read-tree", tree},
		append([]string{"reset", "-q", "--no-refresh", own, "--"}, slices.Concat(git.OwnPaths(), more)...),
	} {
		if _, err := r.Run(ctx, git.Call{Args: args, Index: index, Write: true}); err != nil {
			return "", fmt.Errorf("leave ralph's own files out of a merge: %w", err)
		}
	}
	return r.WriteTree(ctx, index)
}
