package git

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph/internal/git/unchanged"
)

// Snapshot writes the whole work tree (ignored and ralph's own files left out)
// as a git tree and returns its id. Equal ids mean equal trees. The user's
// index stays as it is; submodules count as the commit they are at. When
// nothing changed since the last call it costs one process, else two.
func (r *Repo) Snapshot(ctx context.Context) (tree string, err error) {
	r.Lock()
	defer r.Unlock()
	head, err := r.stage(ctx)
	if err != nil {
		return "", fmt.Errorf("snapshot: %w", err)
	}
	// After an add that found no change git's own note of the tree still holds.
	if e, err := r.readPrivate(head.Commit); err == nil && e.Tree != "" {
		return e.Tree, nil
	}
	tree, err = r.WriteTree(ctx, r.PrivateIndex())
	if err != nil {
		return "", fmt.Errorf("snapshot: %w", err)
	}
	return tree, nil
}

// stage brings the private index in line with HEAD's history and the work tree,
// ralph's own files left out, and returns HEAD.
func (r *Repo) stage(ctx context.Context) (Head, error) {
	head, err := r.Head(ctx)
	if err == nil {
		err = r.fresh(ctx)
	}
	if err == nil {
		err = r.stageAll(ctx, len(head.Commit)/2)
	}
	return head, err
}

// ignoredFolders are the folders that git does not look into.
func (r *Repo) ignoredFolders(ctx context.Context) (map[string]bool, error) {
	out, err := r.Run(ctx, Call{Args: []string{"ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory"}, Index: r.PrivateIndex()})
	if err != nil {
		return nil, fmt.Errorf("ask which folders git ignores: %w", err)
	}
	folders := map[string]bool{}
	for path := range strings.SplitSeq(out, "\x00") {
		if strings.HasSuffix(path, "/") {
			folders[path] = true
		}
	}
	return folders, nil
}

// stageAll brings the private index in line with the work tree, ralph's own files left out. Most
// often nothing has changed since the last time, which a look at the files tells.
func (r *Repo) stageAll(ctx context.Context, idLen int) error {
	l := r.files.Look(ctx, r.place(idLen))
	if l.Nothing() {
		return nil
	}
	if err := r.AddAll(ctx, WithoutOwn()); err != nil {
		return err
	}
	r.files.Accept(l)
	return nil
}

// place is the work tree with the private index.
func (r *Repo) place(idLen int) unchanged.Layout {
	home := r.Getenv("HOME")
	return unchanged.Layout{
		Root: r.root, GitDir: r.gitDir, Index: r.PrivateIndex(), IDLen: idLen, Home: home, Own: IsOwn, Ignored: r.ignoredFolders,
		Excludes: []string{
			filepath.Join(r.common, "info", "exclude"),
			filepath.Join(cmp.Or(r.Getenv("XDG_CONFIG_HOME"), filepath.Join(home, ".config")), "git", "ignore"),
		},
		Settings: append(r.settingsFiles(), "/etc/gitconfig"),
	}
}

// AddAll has git add what these pathspecs name to the private index.
func (r *Repo) AddAll(ctx context.Context, pathspecs []string) error {
	return r.Add(ctx, Call{Index: r.PrivateIndex(), Conf: []string{"advice.addEmbeddedRepo=false", "core.safecrlf=false"}}, pathspecs)
}

// WriteTree returns the tree of an index.
func (r *Repo) WriteTree(ctx context.Context, index string) (string, error) {
	tree, err := r.Line(ctx, Call{Args: []string{"write-tree"}, Index: index, Write: true})
	if err != nil {
		return "", err
	}
	return tree, CheckHash("tree", tree)
}

// Dirty returns the changed and untracked files outside ralph/ and
// build/ralph-logs/, relative to the root, with slashes, sorted. A submodule
// counts when it is at another commit; what is inside it does not.
func (r *Repo) Dirty(ctx context.Context) ([]string, error) {
	args := []string{
		"status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames", "--ignore-submodules=dirty", "--",
	}
	out, err := r.Run(ctx, Call{Args: append(args, WithoutOwnFolders()...), Conf: []string{"core.quotepath=off"}})
	if err != nil {
		return nil, fmt.Errorf("look for changes: %w", err)
	}
	var paths []string
	for record := range strings.SplitSeq(out, "\x00") {
		if len(record) > 3 { // two letters, a space, the path
			paths = append(paths, record[3:])
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths), nil
}
