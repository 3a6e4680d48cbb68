package landing

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph/internal/git"
)

// WithFiles returns a commit on top of another one that has these files as well, and the names
// of those that git ignores in r's work tree: they are in no commit. Nothing is checked out. Where
// nothing changes it is the commit itself.
func WithFiles(ctx context.Context, r *git.Repo, commit, message string, files map[string][]byte) (with string, ignored []string, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("add files to %.12s: %w", commit, err)
		}
	}()
	at, err := r.ReadCommit(ctx, commit)
	if err != nil {
		return "", nil, err
	}
	names := slices.Sorted(maps.Keys(files))
	out, err := r.Run(ctx, git.Call{Args: []string{"check-ignore", "--stdin", "-z"}, Stdin: strings.Join(names, "\x00") + "\x00"})
	if err != nil && git.ExitOf(err) != 1 { // 1: none is ignored
		return "", nil, err
	}
	for name := range strings.SplitSeq(out, "\x00") {
		if name != "" {
			ignored = append(ignored, name)
		}
	}
	f, err := os.CreateTemp(r.GitDir(), "ralph-index.files-*")
	if err != nil {
		return "", nil, err
	}
	index := f.Name()
	_ = f.Close()
	_ = os.Remove(index) // git takes an empty file for a broken index
	defer os.Remove(index)
	if _, err := r.Run(ctx, git.Call{Args: []string{"read-tree", commit}, Index: index, Write: true}); err != nil {
		return "", nil, err
	}
	for _, name := range names {
		if slices.Contains(ignored, name) {
			continue
		}
		id, err := r.Line(ctx, git.Call{Args: []string{"hash-object", "-w", "--stdin", "--path", name}, Stdin: string(files[name]), Write: true})
		if err != nil {
			return "", nil, err
		}
		if _, err := r.Run(ctx, git.Call{Args: []string{"update-index", "--add", "--cacheinfo", "100644," + id + "," + name}, Index: index, Write: true}); err != nil {
			return "", nil, err
		}
	}
	tree, err := r.Line(ctx, git.Call{Args: []string{"write-tree"}, Index: index, Write: true})
	if err != nil || tree == at.Tree {
		return commit, ignored, err
	}
	with, err = r.CommitTree(ctx, tree, message, commit)
	return with, ignored, err
}
