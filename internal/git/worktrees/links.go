package worktrees

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/ralph-loop/ralph/internal/git"
)

// Submodules of a worktree have git folders of their own inside the worktree's,
// so what an agent does there is lost with it, and no command for the worktree
// looks into them.

// inners opens the submodules of the index that have files.
func inners(ctx context.Context, r *git.Repo) []*git.Repo {
	if git.Stat(filepath.Join(r.GitDir(), git.ModulesName)) == nil {
		return nil
	}
	var list []*git.Repo
	names, _ := r.LinksIn(ctx, r.RealIndex()) // one that cannot be read has none that ralph made
	for _, name := range names {
		if sub := r.Inner(name); sub != nil {
			list = append(list, sub)
		}
	}
	return list
}

// tidyLinks keeps what submodules hold that no branch of theirs does, in their
// own recovery refs, and makes them clean.
func tidyLinks(ctx context.Context, r *git.Repo, id string, head git.Head, out *Entered) error {
	for _, sub := range inners(ctx, r) {
		if err := tidy(ctx, sub, id, out); err != nil {
			return fmt.Errorf("submodule %s: %w", filepath.Base(sub.Root()), err)
		}
	}
	return nil
}

func tidy(ctx context.Context, r *git.Repo, id string, out *Entered) error {
	head, err := standing(ctx, r, lastCommit(r.GitDir()))
	if err != nil {
		return err
	}
	kept, err := holdHead(ctx, r, id, head)
	if err != nil {
		return err
	}
	if err := tidyLinks(ctx, r, id, head, out); err != nil {
		return err
	}
	look := r.LookAtIndex(head)
	clean, err := isClean(ctx, r, look)
	if err != nil {
		return err
	}
	if !clean || look.Hidden || underWay(r) != "" {
		if err := openUp(r.Root()); err != nil {
			return err
		}
		saved, err := save(ctx, r, id, head)
		if err != nil {
			return err
		}
		kept = append(kept, saved...)
		if _, err := wipe(ctx, r, id, out); err != nil {
			return err
		}
	}
	for _, s := range kept {
		s.Path, s.What = r.GitDir(), s.What+", in submodule "+filepath.Base(r.Root())
		out.Saved = append(out.Saved, s)
	}
	return nil
}

// followLinks brings the submodules to the commits of the branch that was just
// checked out: one left at the last task's would get into the next commit. What
// cannot be had without fetching is emptied, for `worktree.setup` to fill. A
// repository that is no submodule any more moves out.
func followLinks(ctx context.Context, r *git.Repo, in EnterInput, out *Entered) error {
	if err := updateLinks(ctx, r, inners(ctx, r), out); err != nil {
		return err
	}
	list, _, err := status(ctx, r)
	if err != nil {
		return err
	}
	for _, c := range list {
		if !c.untracked {
			continue
		}
		moved, err := moveOut(r, c.path, in.ID)
		if err != nil {
			return err
		}
		out.Saved = append(out.Saved, moved)
	}
	return nil
}

func updateLinks(ctx context.Context, r *git.Repo, subs []*git.Repo, out *Entered) error {
	if len(subs) == 0 {
		return nil
	}
	args := []string{"submodule", "--quiet", "update", "--force", "--checkout", "--no-fetch", "--recursive", "--"}
	for _, sub := range subs {
		rel, err := filepath.Rel(r.Root(), sub.Root())
		if err != nil {
			return err
		}
		args = append(args, filepath.ToSlash(rel))
	}
	update := quietly(r, args...)
	update.Index = ""
	err := r.TrimModules(ctx)
	if err == nil {
		_, err = r.Run(ctx, update)
	}
	if err == nil || ctx.Err() != nil {
		return err
	}
	out.Fresh = true
	for _, sub := range subs {
		if err := discard(sub.Root()); err != nil {
			return err
		}
		if err := os.Mkdir(sub.Root(), 0o777); err != nil {
			return err
		}
	}
	return nil
}

// keepModules moves the git folders of submodules away that hold commits which
// no remote of theirs has: the worktree that they belong to is about to go.
func keepModules(ctx context.Context, r *git.Repo, id string, out *Entered) error {
	var list []string
	modules := filepath.Join(r.GitDir(), git.ModulesName)
	err := filepath.WalkDir(modules, func(name string, d os.DirEntry, err error) error {
		switch {
		case os.IsNotExist(err):
			return nil
		case err != nil:
			return err
		case !d.IsDir() || !git.GoodHead(name) || git.Stat(filepath.Join(name, "objects")) == nil:
			return nil
		}
		if err := r.TrimConfig(ctx, name, ""); err != nil {
			return err
		}
		alone, failed := r.Line(ctx, git.Call{Repo: name, Args: []string{"rev-list", "--max-count=1", "--all", "HEAD", "--not", "--remotes"}})
		if failed != nil || alone != "" { // what cannot be asked is kept
			list = append(list, name)
			return filepath.SkipDir
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("look for commits in submodules: %w", err)
	}
	for _, name := range list {
		to, err := setAside(r, name, id)
		if err != nil {
			return err
		}
		// Without its files it can only be read when it does not name them.
		_, err = r.Run(ctx, git.Call{Args: []string{"config", "--file", filepath.Join(to, "config"), "--unset", "core.worktree"}, Repo: os.DevNull, Plain: true})
		if code := git.ExitOf(err); err != nil && code != 5 { // 5: it did not
			return fmt.Errorf("keep a submodule's commits: %w", err)
		}
		out.Saved = append(out.Saved, git.Saved{Path: to, What: "the git folder of submodule " + filepath.Base(name) + ", which has commits that no remote has"})
	}
	return nil
}
