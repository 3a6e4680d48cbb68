package worktrees

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph/internal/git"
	"github.com/ralph-loop/ralph/internal/git/registry"
	"github.com/ralph-loop/ralph/internal/git/shelve"
	"github.com/ralph-loop/ralph/internal/git/unchanged"
	"github.com/ralph-loop/ralph/internal/proc"
)

// found is what the checkout that follows has to know about a cleared worktree.
type found struct {
	// force: git sees changes even in files that it has just written (line ends,
	// filters), so they must be overwritten.
	force bool
	links bool // repositories inside it may have to follow
}

// clearOut makes a worktree clean for the next task: what no commit or branch
// holds is kept first, then files and index become those of HEAD. Ignored files
// stay, they are what makes a used worktree worth it.
func clearOut(ctx context.Context, r *git.Repo, in EnterInput, out *Entered) (before found, err error) {
	r.FreeLocks(ctx)
	head, err := standing(ctx, r, in.From)
	if err != nil {
		return before, err
	}
	kept, err := holdHead(ctx, r, in.ID, head, in.From, in.Merged)
	if err != nil {
		return before, err
	}
	out.Saved = append(out.Saved, kept...)
	look := r.LookAtIndex(head)
	before.links = look.Links
	if look.Links {
		if err := tidyLinks(ctx, r, in.ID, head, out); err != nil {
			return before, err
		}
	}
	if !look.Hidden && underWay(r) == "" {
		if clean, err := isClean(ctx, r, look); err != nil || clean {
			return before, err
		}
	}
	if err := openUp(r.Root()); err != nil {
		return before, err
	}
	saved, err := save(ctx, r, in.ID, head)
	if err != nil {
		return before, err
	}
	out.Saved = append(out.Saved, saved...)
	before.force, err = wipe(ctx, r, in.ID, out)
	return before, err
}

// isClean reports whether a worktree is just as HEAD's commit: by what its index
// proves, or else by asking git.
func isClean(ctx context.Context, r *git.Repo, look unchanged.Proof) (bool, error) {
	if look.Proved {
		return true, nil
	}
	list, unseen, err := status(ctx, r)
	if git.ExitOf(err) > 0 {
		return false, nil //nolint:nilerr // an index that git cannot read is made anew
	}
	return len(list) == 0 && !unseen, err
}

// standing returns HEAD, after one without a commit (its branch was deleted, or
// an agent began another history) was set to where it was before.
func standing(ctx context.Context, r *git.Repo, from string) (git.Head, error) {
	head, err := r.Head(ctx)
	if !errors.Is(err, git.ErrNoCommits) {
		return head, err
	}
	for _, commit := range []string{lastCommit(r.GitDir()), from} {
		if _, missing := r.ReadCommit(ctx, commit); missing != nil {
			continue
		}
		_, err = r.Run(ctx, git.Call{Args: []string{"update-ref", "--no-deref", "-m", "ralph: back to a commit", "HEAD", commit}, Write: true})
		if err == nil {
			return git.Head{Commit: commit}, nil
		}
	}
	return head, err
}

// underWay returns the operation that waits for an answer here, "" for none.
func underWay(r *git.Repo) string {
	if op := r.Unfinished(); op != "" {
		return op
	}
	if git.Stat(filepath.Join(r.GitDir(), "BISECT_LOG")) != nil {
		return "bisect"
	}
	return ""
}

// holdHead keeps HEAD's commit for recovery when no branch and none of the
// commits does.
func holdHead(ctx context.Context, r *git.Repo, id string, head git.Head, tips ...string) ([]git.Saved, error) {
	tips = slices.DeleteFunc(tips, func(tip string) bool { return tip == "" })
	if head.Branch != "" || slices.Contains(append(tips, r.EnteredAt().Commit, landedAt(r)), head.Commit) {
		return nil, nil
	}
	for _, tip := range tips {
		if ok, err := r.Descends(ctx, tip, head.Commit); err != nil || ok {
			return nil, err
		}
	}
	held, err := r.Line(ctx, git.Call{Args: []string{"for-each-ref", "--count=1", "--format=%(refname)", "--contains", head.Commit}})
	if err != nil || held != "" {
		return nil, err
	}
	ref, err := r.Keep(ctx, id, head.Commit)
	if err != nil {
		return nil, err
	}
	return []git.Saved{{Ref: ref, Commit: head.Commit, What: "commits that were on no branch"}}, nil
}

// save commits what is in the work tree and in the index, on top of HEAD, and
// keeps that for recovery. It stages everything.
func save(ctx context.Context, r *git.Repo, id string, head git.Head) ([]git.Saved, error) {
	var out []git.Saved
	left, err := unheld(ctx, r, head)
	if err != nil {
		return out, fmt.Errorf("look for work that no commit holds: %w", err)
	}
	if left.None() {
		return out, nil
	}
	in := shelve.ShelveInput{Base: head.Commit, Message: "ralph: what a task left uncommitted in a worktree", ID: id}
	shelved, err := shelve.Aside(ctx, r, in, head, left)
	if err != nil {
		return out, fmt.Errorf("keep uncommitted work: %w", err)
	}
	if shelved.Ref == "" {
		return out, nil
	}
	commit, err := r.Ref(ctx, shelved.Ref)
	if err != nil {
		return out, err
	}
	return append(out, git.Saved{Ref: shelved.Ref, Commit: commit, What: "uncommitted changes"}), nil
}

// unheld returns what the files and the index of a worktree hold that HEAD does
// not, ralph's own files left out. It stages everything.
func unheld(ctx context.Context, r *git.Repo, head git.Head) (shelve.Leftover, error) {
	var left shelve.Leftover
	at, err := r.ReadCommit(ctx, head.Commit)
	if err != nil {
		return left, err
	}
	left.Base, left.Index = at.Tree, at.Tree
	hidden := r.LookAtIndex(head).Hidden
	r.DropIndex()
	if err := r.HoldOwn(ctx, head.Commit); err != nil {
		hidden = true // an index that git cannot read
	}
	if staged, err := r.WriteTree(ctx, r.RealIndex()); err == nil {
		left.Index = staged // with conflicts there is none; their text is in the files
	}
	if hidden {
		if err := os.Remove(r.RealIndex()); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return left, err
		}
		if _, err := r.Run(ctx, quietly(r, "reset", "-q")); err != nil {
			return left, err
		}
	}
	if err := r.AddAll(ctx, git.WithoutOwn()); err != nil {
		return left, err
	}
	left.Files, err = r.WriteTree(ctx, r.RealIndex())
	return left, err
}

// wipe makes files and index those of HEAD; what they held is kept already. Git
// leaves repositories inside the worktree where they are: those move out of it.
func wipe(ctx context.Context, r *git.Repo, id string, out *Entered) (force bool, err error) {
	if op := underWay(r); op != "" {
		quit(ctx, r, op)
	}
	for _, args := range [][]string{{"reset", "-q", "--hard"}, {"clean", "-q", "-f", "-d"}} {
		if _, err := r.Run(ctx, quietly(r, args...)); err != nil {
			return false, errors.Join(git.Refuse("the worktree "+r.Root()+" cannot be cleaned", "look whether files in it belong to somebody else or a program still writes there"), err)
		}
	}
	list, _, err := status(ctx, r)
	if err != nil || len(list) == 0 {
		return false, err
	}
	for _, c := range list {
		if c.untracked {
			moved, err := moveOut(r, c.path, id)
			if err != nil {
				return false, err
			}
			out.Saved = append(out.Saved, moved)
		} else {
			force = true
		}
	}
	if force {
		return true, dropSame(ctx, r, out)
	}
	return false, nil
}

// quit ends an operation and leaves files as they are. What git cannot end any
// more goes with the files that it is known by.
func quit(ctx context.Context, r *git.Repo, op string) {
	args := []string{op, "--quit"}
	if op == "bisect" {
		args = []string{"bisect", "reset", "HEAD"}
	}
	if _, err := r.Run(ctx, quietly(r, args...)); err == nil && underWay(r) == "" {
		return
	}
	for _, name := range []string{"rebase-merge", "rebase-apply", "sequencer", "MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "BISECT_LOG", "BISECT_START"} {
		_ = os.RemoveAll(filepath.Join(r.GitDir(), name))
	}
}

// dropSame takes back what was kept when it turns out to be what git makes of
// the files of HEAD itself, and nobody's work.
func dropSame(ctx context.Context, r *git.Repo, out *Entered) error {
	tree, err := filesAsTree(ctx, r)
	if err != nil {
		return err
	}
	for i, s := range slices.Backward(out.Saved) {
		if s.Ref == "" {
			continue
		}
		if c, err := r.ReadCommit(ctx, s.Commit); err != nil || c.Tree != tree || len(c.Parents) != 1 || !strings.Contains(c.Message, shelve.ShelveTrailer+": ") {
			continue
		}
		if _, err := r.Run(ctx, git.Call{Args: []string{"update-ref", "-d", s.Ref, s.Commit}, Write: true}); err != nil {
			return err
		}
		out.Saved = slices.Delete(out.Saved, i, i+1)
	}
	return nil
}

// moveOut moves what git does not delete, a repository of an agent's, out of the
// worktree.
func moveOut(r *git.Repo, name, id string) (git.Saved, error) {
	to, err := setAside(r, r.File(strings.TrimSuffix(name, "/")), id)
	if err != nil {
		return git.Saved{}, err
	}
	return git.Saved{Path: to, What: "a repository that was made inside the worktree, " + name}, nil
}

// filesAsTree writes the files as a tree and leaves the index as it is.
func filesAsTree(ctx context.Context, r *git.Repo) (string, error) {
	index := filepath.Join(r.GitDir(), git.StagedName)
	defer os.Remove(index)
	if _, err := git.CopyIndex(r.RealIndex(), index); err != nil {
		return "", err
	}
	add := quietly(r)
	add.Index = index
	if err := r.Add(ctx, add, git.WithoutOwn()); err != nil {
		return "", err
	}
	return r.WriteTree(ctx, index)
}

// setAside moves a folder to a new one beside the worktrees, where nothing
// deletes it.
func setAside(r *git.Repo, dir, id string) (string, error) {
	kept := filepath.Join(filepath.Dir(r.Root()), ".kept-"+filepath.Base(git.RecoveryRef(id))+"-"+rand.Text()[:8])
	to := filepath.Join(kept, filepath.Base(dir))
	err := os.Mkdir(kept, 0o777)
	if err == nil {
		err = os.Rename(dir, to)
	}
	if err != nil {
		return "", fmt.Errorf("move %s out of the worktree: %w", filepath.Base(dir), err)
	}
	return to, nil
}

// changed is one line of git status.
type changed struct {
	path      string
	untracked bool
}

// status asks git what is changed. unseen says that it could not look
// everywhere, which to git is no failure.
func status(ctx context.Context, r *git.Repo) (list []changed, unseen bool, err error) {
	c := quietly(r, "status", "--porcelain=v1", "-z", "--untracked-files=normal", "--no-renames", "--ignore-submodules=dirty")
	c.Write, c.Index = false, ""
	var stdout, stderr []byte
	err = registry.Patiently(ctx, func() (err error) {
		var res proc.Result
		stdout, stderr, res, err = r.Output(ctx, c)
		return git.Failed(ctx, c.Args, res, err, stderr)
	})
	if err != nil {
		return nil, false, fmt.Errorf("look for changes: %w", err)
	}
	for record := range strings.SplitSeq(string(stdout), "\x00") {
		if len(record) > 3 { // two letters, a space, the path
			list = append(list, changed{record[3:], record[:2] == "??"})
		}
	}
	return list, len(stderr) > 0, nil
}

// openUp lets us read and write all folders and read all files of a worktree:
// where an agent took the right away, git neither sees nor deletes what is there.
func openUp(root string) error {
	return filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // git says what it cannot read
		}
		info, err := d.Info()
		if err != nil {
			return nil //nolint:nilerr // gone meanwhile
		}
		need := fs.FileMode(0)
		switch {
		case d.IsDir():
			need = 0o700
		case info.Mode().IsRegular():
			need = 0o400
		}
		if mode := info.Mode().Perm(); mode&need != need {
			_ = os.Chmod(name, mode|need) // git says what stays shut
		}
		return nil
	})
}
