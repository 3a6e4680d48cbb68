// Package carry makes what is in a worktree travel: its commits, its files as they are, and a
// sealed note beside them become one commit, and a worktree elsewhere becomes just so.
//
// It does NOT own how commits get to another machine (internal/git/push), or what the note says
// (internal/fleet).
package carry

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/ralph-loop/ralph/internal/git"
	"github.com/ralph-loop/ralph/internal/git/refs"
)

// Snapshot is where a worktree stands: the commit that HEAD is at, on its branch, and all files as a tree.
type Snapshot struct {
	Branch, Head, Tree string
}

// Look is where the worktree stands now.
func Look(ctx context.Context, r *git.Repo) (Snapshot, error) {
	tree, err := r.TreeID(ctx)
	if err == nil {
		err = r.Written(ctx, tree)
	}
	if err != nil {
		return Snapshot{}, err
	}
	head, err := r.Head(ctx)
	return Snapshot{Branch: head.Branch, Head: head.Commit, Tree: tree}, err
}

// Empty is a snapshot without files, on a commit that has nothing before it.
func Empty(ctx context.Context, r *git.Repo) (Snapshot, error) {
	tree, err := r.Line(ctx, git.Call{Args: []string{"mktree"}, Write: true})
	if err != nil {
		return Snapshot{}, fmt.Errorf("make an empty snapshot: %w", err)
	}
	head, err := commit(ctx, r, tree, "", "ralph: nothing")
	return Snapshot{Head: head, Tree: tree}, err
}

// noteName is the file of the note.
const noteName = "note"

// Pack makes a commit of a snapshot with a note. It is on no branch: only who is told its name finds it.
func Pack(ctx context.Context, r *git.Repo, p Snapshot, note []byte) (string, error) {
	files, err := commit(ctx, r, p.Tree, p.Head, "ralph: files under way")
	if err != nil {
		return "", err
	}
	blob, err := r.WriteObject(ctx, "blob", string(note))
	if err != nil {
		return "", fmt.Errorf("pack work: %w", err)
	}
	tree, err := r.MakeTree(ctx, map[string]git.TreeEntry{noteName: {Mode: "100644", ID: blob}})
	if err != nil {
		return "", fmt.Errorf("pack work: %w", err)
	}
	return commit(ctx, r, tree, files, "ralph: work under way")
}

// commit makes a commit object by nobody in particular: its name depends on what is in it alone.
func commit(ctx context.Context, r *git.Repo, tree, parent, message string) (string, error) {
	const nobody = "ralph <ralph@localhost> 0 +0000"
	text := "tree " + tree + "\n"
	if parent != "" {
		text += "parent " + parent + "\n"
	}
	id, err := r.WriteObject(ctx, "commit", text+"author "+nobody+"\ncommitter "+nobody+"\n\n"+message+"\n")
	if err != nil {
		return "", fmt.Errorf("pack work: %w", err)
	}
	return id, nil
}

// Unpack reads what Pack made; the branch is not in it.
func Unpack(ctx context.Context, r *git.Repo, packed string) (p Snapshot, note []byte, err error) {
	top, err := r.ReadCommit(ctx, packed)
	if err == nil && len(top.Parents) != 1 {
		err = fmt.Errorf("commit %s is none that ralph packed", packed)
	}
	if err != nil {
		return p, nil, fmt.Errorf("unpack work: %w", err)
	}
	files, err := r.ReadCommit(ctx, top.Parents[0])
	if err == nil && len(files.Parents) != 1 {
		err = fmt.Errorf("commit %s is none that ralph packed", packed)
	}
	if err != nil {
		return p, nil, fmt.Errorf("unpack work: %w", err)
	}
	p = Snapshot{Head: files.Parents[0], Tree: files.Tree}
	if members, err := r.Members(ctx, top.Tree); err == nil { // most often it has just come, by itself
		if text, err := r.ReadLoose(members[noteName].ID, "blob"); err == nil {
			return p, []byte(text), nil
		}
	}
	out, err := r.Run(ctx, git.Call{Args: []string{"cat-file", "blob", packed + ":" + noteName}})
	return p, []byte(out), err
}

// Become makes a worktree of ralph's just as a snapshot: HEAD, branch and files. What was there of
// another state is gone, but for ignored files, which are what makes a used worktree worth it.
// is is where it was found by Look, the zero Place where that could not be told. It may be done again after a crash.
func Become(ctx context.Context, r *git.Repo, is, p Snapshot) error {
	if !r.Ours() {
		return fmt.Errorf("become %s: %s is no worktree of ralph's", p.Head, r.Root())
	}
	if err := refs.CheckBranchAt(p.Branch, p.Head, p.Tree); err != nil {
		return err
	}
	if is.Tree != "" {
		err := run(ctx, r, steps(ctx, r, is, p))
		if now, lookErr := Look(ctx, r); err == nil && lookErr == nil && now == p || ctx.Err() != nil {
			return err
		}
		// Something that was ignored there is not here, or it was changed meanwhile.
	}
	return run(ctx, r, steps(ctx, r, Snapshot{}, p))
}

func run(ctx context.Context, r *git.Repo, commands [][]string) error {
	r.Lock()
	defer r.Unlock()
	r.DropLocks()
	for _, args := range commands {
		c := git.Call{Args: args, Write: true, Index: r.RealIndex(), Conf: []string{
			"core.hooksPath=" + os.DevNull, "core.fsmonitor=false", "submodule.recurse=false", "maintenance.auto=false", "gc.auto=0", "core.safecrlf=false",
		}}
		if _, err := r.Run(ctx, c); err != nil {
			return fmt.Errorf("bring the worktree %s to where its work is: %w", filepath.Base(r.Root()), err)
		}
	}
	return nil
}

// steps are the commands of git that it takes. Where Look has found the worktree, its index has every file that is not
// ignored: what goes over to another tree by it takes away what is not in that one, and nothing is left to be cleaned.
func steps(ctx context.Context, r *git.Repo, is, p Snapshot) [][]string {
	checkout := []string{"checkout", "-q", "-f", "--no-track", "--ignore-other-worktrees", "-B", p.Branch, p.Head}
	clean := []string{"clean", "-q", "-f", "-d"}
	files := []string{"read-tree", "-q", "--reset", "-u", p.Tree}
	switch tree, err := r.TreeOf(ctx, p.Head); {
	case is.Tree == "":
		return [][]string{checkout, clean, files}
	case is.Branch == p.Branch && is.Head == p.Head:
		return [][]string{files}
	case err == nil && tree == p.Tree:
		return [][]string{checkout}
	}
	return [][]string{checkout, files}
}

// Links knows which trees have repositories inside them, which do not travel. Each step asks, of trees that
// differ little from those before.
type Links struct{ none sync.Map }

// In reports whether a commit has repositories inside it.
func (l *Links) In(ctx context.Context, r *git.Repo, commit string) (bool, error) {
	tree, err := r.TreeOf(ctx, commit)
	if err != nil {
		return false, err
	}
	return l.in(ctx, r, tree)
}

func (l *Links) in(ctx context.Context, r *git.Repo, tree string) (bool, error) {
	if _, ok := l.none.Load(tree); ok {
		return false, nil
	}
	list, err := r.Members(ctx, tree)
	if err != nil {
		return false, err
	}
	for _, m := range list {
		switch m.Mode {
		case git.ModeLink:
			return true, nil
		case git.ModeDir:
			if has, err := l.in(ctx, r, m.ID); has || err != nil {
				return has, err
			}
		}
	}
	l.none.Store(tree, true)
	return false, nil
}
