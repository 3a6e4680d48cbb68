package worktrees

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"sync"

	"github.com/ralph-loop/ralph/internal/git"
	"github.com/ralph-loop/ralph/internal/git/registry"
)

const (
	// What it says: files were never written, or are just being replaced.
	unreadyNew      = "new"
	unreadyEntering = "entering"
	// draftPrefix is how a worktree's git folder is called until it is complete.
	draftPrefix = "ralph-worktree-"
	// trashPrefix is how files are called that are about to be deleted.
	trashPrefix = ".trash-"
)

// Make makes the worktrees that are missing among dirs, each detached at
// commit, and finishes or mends those that a crash or an agent left half there.
// It returns the ones whose files it wrote, for which `worktree.setup` is due.
// What an earlier task left in a worktree stays for Enter to look at. A folder
// in the way that is no worktree of ours is a *ralph.Refusal. It belongs before
// the agents start, though git commands of theirs do no harm to it nor it to
// them: a worktree comes into git's list complete or not at all.
func Make(ctx context.Context, r *git.Repo, dirs []string, commit string) (made []string, err error) {
	if err := git.CheckHash("commit", commit); err != nil {
		return nil, fmt.Errorf("make worktrees: %w", err)
	}
	if err := sweep(ctx, r, goneFor); err != nil {
		return nil, fmt.Errorf("make worktrees: %w", err)
	}
	var (
		wg   sync.WaitGroup
		mu   sync.Mutex
		free = make(chan struct{}, runtime.GOMAXPROCS(0))
	)
	for _, dir := range dirs {
		wg.Go(func() {
			free <- struct{}{}
			defer func() { <-free }()
			_, fresh, failed := ensure(ctx, r, dir, commit)
			mu.Lock()
			defer mu.Unlock()
			if fresh {
				made = append(made, dir)
			}
			if failed != nil {
				err = errors.Join(err, fmt.Errorf("make worktree %s: %w", filepath.Base(dir), failed))
			}
		})
	}
	wg.Wait()
	slices.SortFunc(made, func(a, b string) int { return slices.Index(dirs, a) - slices.Index(dirs, b) })
	return made, err
}

// ensure opens the worktree in dir, and makes or mends it before where that is
// needed. fresh says that its files were written anew, detached at commit.
func ensure(ctx context.Context, r *git.Repo, dir, commit string) (t *git.Repo, fresh bool, err error) {
	t, err = r.Tree(dir)
	if err != nil {
		if _, err := r.ReadCommit(ctx, commit); err != nil {
			return nil, false, fmt.Errorf("read the commit to start from: %w", err)
		}
		var adopted bool
		err = registry.Locked(ctx, r, func() (err error) {
			adopted, err = register(ctx, r, dir, commit)
			return err
		})
		if err != nil {
			return nil, false, err
		}
		if t, err = r.Tree(dir); err != nil {
			return nil, false, err
		}
		if adopted { // without an index every file would count as deleted
			if _, err := t.Run(ctx, quietly(t, "reset", "-q")); err != nil {
				return nil, false, fmt.Errorf("read the files of a worktree again: %w", err)
			}
		}
	}
	switch unready(t) {
	case unreadyNew:
		return t, true, fill(ctx, t, commit)
	case unreadyEntering:
		return t, false, fill(ctx, t, commit)
	}
	return t, false, nil
}

func unready(r *git.Repo) string { return git.ReadSmall(filepath.Join(r.GitDir(), git.UnreadyName)) }

func markUnready(r *git.Repo, why string) error {
	return git.WriteFile(filepath.Join(r.GitDir(), git.UnreadyName), why)
}

func markReady(r *git.Repo) error {
	err := os.Remove(filepath.Join(r.GitDir(), git.UnreadyName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// quietly is a command about a worktree's files that is nobody's business but
// ralph's: without hooks, which may fail or ask for something, without what
// settings would start beside it, and without a look into submodules.
func quietly(r *git.Repo, args ...string) git.Call {
	return git.Call{Args: args, Write: true, Index: r.PrivateIndex(), Conf: []string{
		"core.hooksPath=" + os.DevNull, "core.fsmonitor=false", "submodule.recurse=false", "maintenance.auto=false", "gc.auto=0",
		"advice.detachedHead=false", "advice.addEmbeddedRepo=false", "core.safecrlf=false",
	}}
}

// fill writes all files of a worktree in which nothing is worth keeping but,
// perhaps, the commit it stands at.
func fill(ctx context.Context, r *git.Repo, commit string) error {
	r.Lock()
	defer r.Unlock()
	empty, err := isEmpty(r.Root())
	if err != nil {
		return err
	}
	r.DropLocks()
	if head, err := r.Head(ctx); err == nil {
		if _, err := holdHead(ctx, r, "worktree-"+filepath.Base(r.Root()), head, commit); err != nil {
			return err
		}
	}
	if _, err := r.Run(ctx, quietly(r, "checkout", "-q", "-f", "--detach", commit)); err != nil {
		return fmt.Errorf("write the files of a worktree: %w", err)
	}
	if !empty {
		if _, err := r.Run(ctx, quietly(r, "clean", "-q", "-f", "-d")); err != nil {
			return fmt.Errorf("clean a worktree: %w", err)
		}
	}
	if err := markReady(r); err != nil {
		return err
	}
	r.LeftAt(commit)
	return nil
}

// register makes git's list of worktrees say that dir is one, and dir's .git
// file to which entry it belongs. What is there stays and is only mended. The
// registry lock must be held. adopted says that dir has files which no entry
// was about any more.
func register(ctx context.Context, r *git.Repo, dir, commit string) (adopted bool, err error) {
	if r.Linked(dir) != "" {
		return false, nil // somebody else was first
	}
	r.Forget(dir)
	gitDir, err := registeredAt(r, dir)
	if err != nil {
		return false, err
	}
	empty, err := isEmpty(dir)
	if err != nil {
		return false, err
	}
	target := git.GitFile(dir)
	if gitDir == "" && target != "" {
		gitDir = moved(r, target)
	}
	orphan := target != "" && git.Same(filepath.Dir(filepath.Dir(target)), r.Common()) // its entry was deleted
	info, err := os.Lstat(filepath.Join(dir, ".git"))
	switch {
	case err == nil && !info.Mode().IsRegular():
		return false, inTheWayOf(dir, "a repository of its own")
	case gitDir == "" && !orphan && (!empty || git.Stat(target) != nil):
		return false, inTheWayOf(dir, "no worktree of this repository")
	case gitDir == "" && empty:
		return false, newTree(ctx, r, dir, commit)
	case gitDir == "":
		return true, draft(r, dir, commit, "")
	case empty:
		if err := git.WriteFile(filepath.Join(gitDir, git.UnreadyName), unreadyNew); err != nil {
			return false, err
		}
	}
	return false, mend(r, gitDir, dir, commit)
}

func inTheWayOf(dir, what string) error {
	return git.Refuse(dir+" is in the way of a worktree: it is "+what, "move it away, for instance `mv "+dir+" "+filepath.Join(filepath.Dir(filepath.Dir(dir)), "kept-"+filepath.Base(dir))+"`")
}

// isEmpty reports whether a folder has nothing in it but a link to a git
// folder, or is not there.
func isEmpty(dir string) (bool, error) {
	info, err := os.Lstat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	if err == nil && !info.IsDir() {
		return false, inTheWayOf(dir, "no folder")
	}
	if err == nil && info.Mode().Perm()&0o700 != 0o700 {
		err = os.Chmod(dir, info.Mode().Perm()|0o700)
	}
	if err != nil {
		return false, err
	}
	list, err := os.ReadDir(dir)
	only := len(list) == 1 && list[0].Name() == ".git" && list[0].Type().IsRegular()
	return len(list) == 0 || only, err
}

// moved finds the git folder of a worktree when the whole repository was moved
// or renamed: both ends of the link then name places that are no more.
func moved(r *git.Repo, target string) string {
	if target == "" || filepath.Base(filepath.Dir(target)) != "worktrees" || git.Stat(target) != nil {
		return ""
	}
	gitDir := filepath.Join(r.Common(), "worktrees", filepath.Base(target))
	if back := git.Backlink(gitDir); back == "" || git.Stat(back) != nil || filepath.Base(filepath.Dir(filepath.Dir(back))) != filepath.Base(git.TreesFolder) {
		return ""
	}
	return gitDir
}

// mend restores what links a worktree and its git folder, and a HEAD where
// there is none.
func mend(r *git.Repo, gitDir, dir, commit string) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	if !git.GoodHead(gitDir) {
		last := lastCommit(gitDir)
		if last == "" {
			last = commit
		}
		if err := git.WriteFile(filepath.Join(gitDir, "HEAD"), last+"\n"); err != nil {
			return err
		}
	}
	return errors.Join(link(gitDir, dir), git.WriteFile(filepath.Join(dir, ".git"), "gitdir: "+gitDir+"\n"))
}

// link writes the files of a worktree's git folder that name the two other places.
func link(gitDir, dir string) error {
	return errors.Join(
		git.WriteFile(filepath.Join(gitDir, "commondir"), "../..\n"),
		git.WriteFile(filepath.Join(gitDir, "gitdir"), filepath.Join(realPath(dir), ".git")+"\n"),
	)
}

// newTree registers a worktree without files. Where git would have to carry
// over more than a commit (sparse patterns, settings of this checkout, another
// kind of ref store) it does so itself.
func newTree(ctx context.Context, r *git.Repo, dir, commit string) error {
	plain := git.Stat(filepath.Join(r.Common(), "reftable")) == nil &&
		git.Stat(filepath.Join(r.GitDir(), "config.worktree")) == nil && git.Stat(filepath.Join(r.GitDir(), "info", "sparse-checkout")) == nil
	if plain {
		return draft(r, dir, commit, unreadyNew)
	}
	err := registry.Patiently(ctx, func() error {
		_, err := r.Run(ctx, git.Call{
			Args: []string{"worktree", "add", "-q", "--no-checkout", "--detach", dir, commit},
			Conf: []string{"core.hooksPath=" + os.DevNull}, Write: true,
		})
		return err
	})
	if err != nil {
		return err
	}
	gitDir := r.Linked(dir)
	if gitDir == "" {
		return errors.New("git made the worktree elsewhere")
	}
	return git.WriteFile(filepath.Join(gitDir, git.UnreadyName), unreadyNew)
}

// draft registers a worktree as `git worktree add --no-checkout --detach` does
// (gitrepository-layout, worktrees/), but in one step. git writes file after
// file, and every git command that reads the list meanwhile may die of it, an
// agent's `git branch` too; a folder that is renamed into the list is complete.
func draft(r *git.Repo, dir, commit, why string) error {
	tmp := filepath.Join(r.Common(), draftPrefix+rand.Text())
	err := errors.Join(os.Mkdir(tmp, 0o777), os.MkdirAll(dir, 0o777))
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	err = errors.Join(link(tmp, dir), git.WriteFile(filepath.Join(tmp, "HEAD"), commit+"\n"))
	if why != "" {
		err = errors.Join(err, git.WriteFile(filepath.Join(tmp, git.UnreadyName), why))
	}
	if err != nil {
		return err
	}
	list := filepath.Join(r.Common(), "worktrees")
	for n := 1; n < 10_000; n++ {
		gitDir := filepath.Join(list, "ralph-"+filepath.Base(dir))
		if n > 1 {
			gitDir += "-" + strconv.Itoa(n)
		}
		if git.Stat(gitDir) != nil {
			continue // of another checkout of this repository
		}
		if err := git.WriteFile(filepath.Join(dir, ".git"), "gitdir: "+gitDir+"\n"); err != nil {
			return err
		}
		if err := os.MkdirAll(list, 0o777); err != nil { // git takes it away when it is empty
			return err
		}
		err := os.Rename(tmp, gitDir)
		if err == nil || !errors.Is(err, fs.ErrExist) && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return errors.New("no name is free for it")
}

// registeredAt returns the git folder that says dir is its worktree, "" for none.
func registeredAt(r *git.Repo, dir string) (string, error) {
	want := filepath.Join(realPath(dir), ".git")
	list, err := os.ReadDir(filepath.Join(r.Common(), "worktrees"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	for _, e := range list {
		gitDir := filepath.Join(r.Common(), "worktrees", e.Name())
		if back := git.Backlink(gitDir); back != "" && filepath.Join(realPath(filepath.Dir(back)), ".git") == want {
			return gitDir, nil
		}
	}
	return "", nil
}

// realPath is a folder's name as git notes it; the folder itself may be gone.
func realPath(dir string) string {
	if parent, err := filepath.EvalSymlinks(filepath.Dir(dir)); err == nil {
		return filepath.Join(parent, filepath.Base(dir))
	}
	return dir
}
