package worktrees

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ralph-loop/ralph/internal/git"
	"github.com/ralph-loop/ralph/internal/git/registry"
)

// goneName is how the file gitdir of a worktree's git folder is called once it is
// removed, which takes it off git's list in one step. The rest is deleted later:
// a git command that had read the list just before dies when it is not there.
const goneName = "ralph-gone"

// goneFor is how long it stays at least.
const goneFor = 5 * time.Second

// Remove takes a worktree away (B-079). What no commit or branch holds is
// kept for recovery first, under the id, and returned; branches stay. It works
// when the files, or git's entry, are gone already, and does nothing when both
// are. A folder that is no worktree of ours, and one that is locked (git
// worktree lock), is a *ralph.Refusal.
func Remove(ctx context.Context, r *git.Repo, dir, id string) ([]git.Saved, error) {
	err := r.Below(dir)
	if err == nil && !git.OneLine(id) {
		err = errors.New("the id must be one line")
	}
	if err != nil {
		return nil, fmt.Errorf("remove worktree: %w", err)
	}
	saved, err := removeTree(ctx, r, dir, id)
	if err != nil {
		return saved, fmt.Errorf("remove worktree %s: %w", filepath.Base(dir), err)
	}
	return saved, nil
}

func removeTree(ctx context.Context, r *git.Repo, dir, id string) ([]git.Saved, error) {
	gitDir, err := registeredAt(r, dir)
	if err != nil {
		return nil, err
	}
	empty, err := isEmpty(dir)
	if err != nil {
		return nil, err
	}
	if gitDir == "" && empty && git.GitFile(dir) == "" {
		return nil, discard(dir)
	}
	if gitDir != "" && isLocked(gitDir) {
		return nil, git.Refuse("the worktree "+dir+" is locked", "unlock it when nobody needs it: git worktree unlock "+dir)
	}
	out := &Entered{}
	t, err := openForRemoval(ctx, r, dir, gitDir)
	if err != nil {
		return nil, err
	}
	t.Lock()
	defer t.Unlock()
	if err := keepAll(ctx, t, id, empty, out); err != nil {
		return out.Saved, err
	}
	return out.Saved, unregister(ctx, r, t, dir)
}

// isLocked reports whether somebody asked for a worktree to be left alone. git
// does so itself for a moment while it makes one.
func isLocked(gitDir string) bool {
	name := filepath.Join(gitDir, "locked")
	return git.Stat(name) != nil && strings.TrimSpace(git.ReadSmall(name)) != "initializing"
}

// openForRemoval opens a worktree whatever is left of it. One whose files are
// gone gets no new ones.
func openForRemoval(ctx context.Context, r *git.Repo, dir, gitDir string) (*git.Repo, error) {
	if t, err := r.Tree(dir); err == nil {
		return t, nil
	}
	commit := lastCommit(gitDir)
	if commit == "" {
		head, err := r.Head(ctx)
		if err != nil {
			return nil, err
		}
		commit = head.Commit
	}
	var adopted bool
	err := registry.Locked(ctx, r, func() (err error) {
		adopted, err = register(ctx, r, dir, commit)
		return err
	})
	if err != nil {
		return nil, err
	}
	t, err := r.Tree(dir)
	if err == nil && adopted {
		_, err = t.Run(ctx, quietly(t, "reset", "-q"))
	}
	return t, err
}

// keepAll keeps for recovery what a worktree holds alone. Without files that is
// a commit at most.
func keepAll(ctx context.Context, r *git.Repo, id string, empty bool, out *Entered) error {
	r.FreeLocks(ctx)
	head, err := standing(ctx, r, r.EnteredAt().Commit)
	if err != nil {
		return err
	}
	kept, err := holdHead(ctx, r, id, head)
	if err != nil {
		return err
	}
	out.Saved = append(out.Saved, kept...)
	if !empty && unready(r) == "" {
		if err := tidyLinks(ctx, r, id, head, out); err != nil {
			return err
		}
		if err := keepFiles(ctx, r, id, head, out); err != nil {
			return err
		}
	}
	return keepModules(ctx, r, id, out)
}

// keepFiles keeps what is uncommitted, and moves repositories of an agent's out.
func keepFiles(ctx context.Context, r *git.Repo, id string, head git.Head, out *Entered) error {
	look := r.LookAtIndex(head)
	if !look.Hidden && underWay(r) == "" {
		if clean, err := isClean(ctx, r, look); err != nil || clean {
			return errors.Join(err, moveLinks(ctx, r, id, out))
		}
	}
	if err := openUp(r.Root()); err != nil {
		return err
	}
	saved, err := save(ctx, r, id, head)
	if err != nil {
		return err
	}
	out.Saved = append(out.Saved, saved...)
	if err := moveLinks(ctx, r, id, out); err != nil {
		return err
	}
	_, err = wipe(ctx, r, id, out)
	return err
}

// moveLinks moves the repositories out that are no submodules: their commits are
// nowhere else. After save the index names all of them that are not ignored.
func moveLinks(ctx context.Context, r *git.Repo, id string, out *Entered) error {
	links, err := r.LinksIn(ctx, r.RealIndex())
	if err != nil {
		return fmt.Errorf("look for repositories inside a worktree: %w", err)
	}
	for _, name := range links {
		if info, err := os.Lstat(filepath.Join(r.File(name), ".git")); err != nil || !info.IsDir() {
			continue
		}
		moved, err := moveOut(r, name, id)
		if err != nil {
			return err
		}
		out.Saved = append(out.Saved, moved)
	}
	return nil
}

// unregister takes files and git's entry away, each in one step, then deletes.
// Killed in between it is found again by the entry, or by the sweep.
func unregister(ctx context.Context, r *git.Repo, t *git.Repo, dir string) error {
	trash := filepath.Join(filepath.Dir(dir), trashPrefix+rand.Text())
	err := registry.Locked(ctx, r, func() error {
		if err := os.Rename(dir, trash); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		discardGone(r, goneFor)
		return os.Rename(filepath.Join(t.GitDir(), "gitdir"), filepath.Join(t.GitDir(), goneName))
	})
	if err != nil {
		return err
	}
	r.Forget(dir)
	return discard(trash)
}

// Sweep deletes what RemoveTree left so that git commands at work meanwhile
// found it. It belongs at the end, when no agent runs any more; else the next
// MakeTrees or RemoveTree does it, or git itself.
func Sweep(ctx context.Context, r *git.Repo) error { return sweep(ctx, r, 0) }

// sweep deletes what removed worktrees have left for longer than a time, and what
// engines that were killed had begun to make or to delete.
func sweep(ctx context.Context, r *git.Repo, age time.Duration) error {
	discardAll(filepath.Join(r.Root(), git.TreesFolder), trashPrefix)
	return registry.Locked(ctx, r, func() error { // under the lock nobody else is making one
		discardAll(r.Common(), draftPrefix)
		discardGone(r, age)
		return nil
	})
}

// discardGone deletes the git folders of worktrees that were removed for longer
// than a time.
func discardGone(r *git.Repo, age time.Duration) {
	list, _ := os.ReadDir(filepath.Join(r.Common(), "worktrees"))
	for _, e := range list {
		gitDir := filepath.Join(r.Common(), "worktrees", e.Name())
		if info := git.Stat(gitDir); git.Stat(filepath.Join(gitDir, goneName)) != nil && info != nil && time.Since(info.ModTime()) >= age {
			_ = discard(gitDir) // the next one tries again
		}
	}
}

// discardAll deletes what begins with prefix in a folder.
func discardAll(dir, prefix string) {
	list, _ := os.ReadDir(dir)
	for _, e := range list {
		if strings.HasPrefix(e.Name(), prefix) {
			_ = discard(filepath.Join(dir, e.Name()))
		}
	}
}

// discard deletes a folder, also where an agent took away the right to.
func discard(dir string) error {
	err := os.RemoveAll(dir)
	for try := 0; err != nil && try < 3; try++ { // somebody may still write into it
		_ = openUp(dir)
		err = os.RemoveAll(dir)
	}
	if err != nil {
		return git.Refuse("the files in "+dir+" could not be deleted", fmt.Sprintf("nothing of them is needed, delete them: %v", err))
	}
	return nil
}
