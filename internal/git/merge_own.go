package git

import (
	"context"
	"fmt"
	"os"
	"slices"
)

// ownDiffers reports whether two trees have different versions of ralph's own
// files. Loose trees, as new ones are, tell it without a process.
func (r *Repo) ownDiffers(ctx context.Context, a, b string) (bool, error) {
	if a == b {
		return false, nil
	}
	differs, ok := r.looseDiffers(a, b, []string{"ralph", "build"})
	if ok {
		return differs, nil
	}
	args := append([]string{"diff-tree", "-r", "--no-renames", "--name-only", "-z", a, b, "--"}, ownPaths()...)
	out, err := r.git(ctx, call{args: args})
	if err != nil {
		return false, fmt.Errorf("compare ralph's own files: %w", err)
	}
	return out != "", nil
}

// looseDiffers compares members of two trees, and within ralph/ and build/ those
// that are ralph's own. ok is false when a tree is not loose.
func (r *Repo) looseDiffers(a, b string, names []string) (differs, ok bool) {
	ma, okA := r.looseTree(a)
	mb, okB := r.looseTree(b)
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
		if within == nil || x.mode != "" && x.mode != modeDir || y.mode != "" && y.mode != modeDir {
			return true, true
		}
		if d, ok := r.looseDiffers(x.id, y.id, within); d || !ok {
			return d, ok
		}
	}
	return false, true
}

// looseTree reads a tree's members by name from its own file; "" is a folder that
// is not there, with no members.
func (r *Repo) looseTree(id string) (map[string]version, bool) {
	if id == "" {
		return nil, true
	}
	text, err := r.loose(id, "tree")
	if err != nil {
		return nil, false
	}
	return membersIn(text, len(id)/2)
}

// withOwnOf returns the tree with ralph's own files, and more paths, as another tree has them.
func (r *Repo) withOwnOf(ctx context.Context, own, tree string, more ...string) (string, error) {
	differs, err := r.ownDiffers(ctx, own, tree)
	if err != nil || !differs && len(more) == 0 {
		return tree, err
	}
	f, err := os.CreateTemp(r.gitDir, "ralph-index.merge-*")
	if err != nil {
		return "", fmt.Errorf("leave ralph's own files out of a merge: %w", err)
	}
	index := f.Name()
	_ = f.Close()
	_ = os.Remove(index) // git takes an empty file for a broken index
	defer os.Remove(index)
	for _, args := range [][]string{
		{"read-tree", tree},
		append([]string{"reset", "-q", "--no-refresh", own, "--"}, slices.Concat(ownPaths(), more)...),
	} {
		if _, err := r.git(ctx, call{args: args, index: index, write: true}); err != nil {
			return "", fmt.Errorf("leave ralph's own files out of a merge: %w", err)
		}
	}
	return r.writeTree(ctx, index)
}
