package git

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
)

// goneName is how the file gitdir of a worktree's git folder is called once it is
// removed, which takes it off git's list in one step. The rest is deleted later:
// a git command that had read the list just before dies when it is not there.
const goneName = "ralph-gone"

// goneFor is how long it stays at least.
const goneFor = 5 * time.Second

// RemoveTree takes a worktree away (B-079). What no commit or branch holds is
// kept for recovery first, under the id, and returned; branches stay. It works
// when the files, or git's entry, are gone already, and does nothing when both
// are. A folder that is no worktree of ours, and one that is locked (git
// worktree lock), is a *ralph.Refusal.
func (r *Repo) RemoveTree(ctx context.Context, dir, id string) ([]Saved, error) {
	err := r.below(dir)
	if err == nil && !OneLine(id) {
		err = errors.New("the id must be one line")
	}
	if err != nil {
		return nil, fmt.Errorf("remove worktree: %w", err)
	}
	saved, err := r.removeTree(ctx, dir, id)
	if err != nil {
		return saved, fmt.Errorf("remove worktree %s: %w", filepath.Base(dir), err)
	}
	return saved, nil
}

func (r *Repo) removeTree(ctx context.Context, dir, id string) ([]Saved, error) {
	gitDir, err := r.registered(dir)
	if err != nil {
		return nil, err
	}
	empty, err := isEmpty(dir)
	if err != nil {
		return nil, err
	}
	if gitDir == "" && empty && gitFile(dir) == "" {
		return nil, discard(dir)
	}
	if gitDir != "" && isLocked(gitDir) {
		return nil, Refuse("the worktree "+dir+" is locked", "unlock it when nobody needs it: git worktree unlock "+dir)
	}
	out := &Entered{}
	t, err := r.openForRemoval(ctx, dir, gitDir)
	if err != nil {
		return nil, err
	}
	t.Lock()
	defer t.Unlock()
	if err := t.keepAll(ctx, id, empty, out); err != nil {
		return out.Saved, err
	}
	return out.Saved, r.unregister(ctx, t, dir)
}

// isLocked reports whether somebody asked for a worktree to be left alone. git
// does so itself for a moment while it makes one.
func isLocked(gitDir string) bool {
	name := filepath.Join(gitDir, "locked")
	return Stat(name) != nil && strings.TrimSpace(ReadSmall(name)) != "initializing"
}

// openForRemoval opens a worktree whatever is left of it. One whose files are
// gone gets no new ones.
func (r *Repo) openForRemoval(ctx context.Context, dir, gitDir string) (*Repo, error) {
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
	err := r.registering(ctx, func() (err error) {
		adopted, err = r.register(ctx, dir, commit)
		return err
	})
	if err != nil {
		return nil, err
	}
	t, err := r.Tree(dir)
	if err == nil && adopted {
		_, err = t.Run(ctx, t.quietly("reset", "-q"))
	}
	return t, err
}

// keepAll keeps for recovery what a worktree holds alone. Without files that is
// a commit at most.
func (r *Repo) keepAll(ctx context.Context, id string, empty bool, out *Entered) error {
	r.FreeLocks(ctx)
	head, err := r.standing(ctx, r.enteredAt().commit)
	if err != nil {
		return err
	}
	kept, err := r.holdHead(ctx, id, head)
	if err != nil {
		return err
	}
	out.Saved = append(out.Saved, kept...)
	if !empty && r.unready() == "" {
		if err := r.tidyLinks(ctx, id, head, out); err != nil {
			return err
		}
		if err := r.keepFiles(ctx, id, head, out); err != nil {
			return err
		}
	}
	return r.keepModules(ctx, id, out)
}

// keepFiles keeps what is uncommitted, and moves repositories of an agent's out.
func (r *Repo) keepFiles(ctx context.Context, id string, head Head, out *Entered) error {
	look := r.lookAtIndex(head)
	if !look.hidden && r.underWay() == "" {
		if clean, err := r.isClean(ctx, look); err != nil || clean {
			return errors.Join(err, r.moveLinks(ctx, id, out))
		}
	}
	if err := r.openUp(); err != nil {
		return err
	}
	saved, err := r.save(ctx, id, head)
	if err != nil {
		return err
	}
	out.Saved = append(out.Saved, saved...)
	if err := r.moveLinks(ctx, id, out); err != nil {
		return err
	}
	_, err = r.wipe(ctx, id, out)
	return err
}

// moveLinks moves the repositories out that are no submodules: their commits are
// nowhere else. After save the index names all of them that are not ignored.
func (r *Repo) moveLinks(ctx context.Context, id string, out *Entered) error {
	links, err := r.linksIn(ctx, r.RealIndex())
	if err != nil {
		return fmt.Errorf("look for repositories inside a worktree: %w", err)
	}
	for _, name := range links {
		if info, err := os.Lstat(filepath.Join(r.File(name), ".git")); err != nil || !info.IsDir() {
			continue
		}
		moved, err := r.moveOut(name, id)
		if err != nil {
			return err
		}
		out.Saved = append(out.Saved, moved)
	}
	return nil
}

// unregister takes files and git's entry away, each in one step, then deletes.
// Killed in between it is found again by the entry, or by the sweep.
func (r *Repo) unregister(ctx context.Context, t *Repo, dir string) error {
	trash := filepath.Join(filepath.Dir(dir), trashPrefix+rand.Text())
	err := r.registering(ctx, func() error {
		if err := os.Rename(dir, trash); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		r.discardGone(goneFor)
		return os.Rename(filepath.Join(t.gitDir, "gitdir"), filepath.Join(t.gitDir, goneName))
	})
	if err != nil {
		return err
	}
	r.forget(dir)
	return discard(trash)
}

// SweepTrees deletes what RemoveTree left so that git commands at work meanwhile
// found it. It belongs at the end, when no agent runs any more; else the next
// MakeTrees or RemoveTree does it, or git itself.
func (r *Repo) SweepTrees(ctx context.Context) error { return r.sweep(ctx, 0) }

// sweep deletes what removed worktrees have left for longer than a time, and what
// engines that were killed had begun to make or to delete.
func (r *Repo) sweep(ctx context.Context, age time.Duration) error {
	discardAll(filepath.Join(r.root, treesFolder), trashPrefix)
	return r.registering(ctx, func() error { // under the lock nobody else is making one
		discardAll(r.common, draftPrefix)
		r.discardGone(age)
		return nil
	})
}

// discardGone deletes the git folders of worktrees that were removed for longer
// than a time.
func (r *Repo) discardGone(age time.Duration) {
	list, _ := os.ReadDir(filepath.Join(r.common, "worktrees"))
	for _, e := range list {
		gitDir := filepath.Join(r.common, "worktrees", e.Name())
		if info := Stat(gitDir); Stat(filepath.Join(gitDir, goneName)) != nil && info != nil && time.Since(info.ModTime()) >= age {
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
		_ = (&Repo{root: dir}).openUp()
		err = os.RemoveAll(dir)
	}
	if err != nil {
		return Refuse("the files in "+dir+" could not be deleted", fmt.Sprintf("nothing of them is needed, delete them: %v", err))
	}
	return nil
}
