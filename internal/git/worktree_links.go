package git

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// Submodules of a worktree have git folders of their own inside the worktree's,
// so what an agent does there is lost with it, and no command for the worktree
// looks into them.

// tidyLinks keeps what submodules hold that no branch of theirs does, in their
// own recovery refs, and makes them clean.
func (r *Repo) tidyLinks(ctx context.Context, id string, head Head, out *Entered) error {
	for _, sub := range r.inners() {
		if err := sub.tidy(ctx, id, out); err != nil {
			return fmt.Errorf("submodule %s: %w", filepath.Base(sub.root), err)
		}
	}
	return nil
}

func (r *Repo) tidy(ctx context.Context, id string, out *Entered) error {
	head, err := r.standing(ctx, lastCommit(r.gitDir))
	if err != nil {
		return err
	}
	kept, err := r.holdHead(ctx, id, head)
	if err != nil {
		return err
	}
	if err := r.tidyLinks(ctx, id, head, out); err != nil {
		return err
	}
	look := r.lookAtIndex(head)
	clean, err := r.isClean(ctx, look)
	if err != nil {
		return err
	}
	if !clean || look.hidden || r.underWay() != "" {
		if err := r.openUp(); err != nil {
			return err
		}
		saved, err := r.save(ctx, id, head)
		if err != nil {
			return err
		}
		kept = append(kept, saved...)
		if _, err := r.wipe(ctx, id, out); err != nil {
			return err
		}
	}
	for _, s := range kept {
		s.Path, s.What = r.gitDir, s.What+", in submodule "+filepath.Base(r.root)
		out.Saved = append(out.Saved, s)
	}
	return nil
}

// followLinks brings the submodules to the commits of the branch that was just
// checked out: one left at the last task's would get into the next commit. What
// cannot be had without fetching is emptied, for `worktree.setup` to fill. A
// repository that is no submodule any more moves out.
func (r *Repo) followLinks(ctx context.Context, in EnterInput, out *Entered) error {
	if err := r.updateLinks(ctx, r.inners(), out); err != nil {
		return err
	}
	list, _, err := r.status(ctx)
	if err != nil {
		return err
	}
	for _, c := range list {
		if !c.untracked {
			continue
		}
		moved, err := r.moveOut(c.path, in.ID)
		if err != nil {
			return err
		}
		out.Saved = append(out.Saved, moved)
	}
	return nil
}

func (r *Repo) updateLinks(ctx context.Context, subs []*Repo, out *Entered) error {
	if len(subs) == 0 {
		return nil
	}
	args := []string{"submodule", "--quiet", "update", "--force", "--checkout", "--no-fetch", "--recursive", "--"}
	for _, sub := range subs {
		rel, err := filepath.Rel(r.root, sub.root)
		if err != nil {
			return err
		}
		args = append(args, filepath.ToSlash(rel))
	}
	update := r.quietly(args...)
	update.Index = ""
	err := r.trimModules(ctx)
	if err == nil {
		_, err = r.Run(ctx, update)
	}
	if err == nil || ctx.Err() != nil {
		return err
	}
	out.Fresh = true
	for _, sub := range subs {
		if err := discard(sub.root); err != nil {
			return err
		}
		if err := os.Mkdir(sub.root, 0o777); err != nil {
			return err
		}
	}
	return nil
}

// keepModules moves the git folders of submodules away that hold commits which
// no remote of theirs has: the worktree that they belong to is about to go.
func (r *Repo) keepModules(ctx context.Context, id string, out *Entered) error {
	var list []string
	modules := filepath.Join(r.gitDir, modulesName)
	err := filepath.WalkDir(modules, func(name string, d os.DirEntry, err error) error {
		switch {
		case os.IsNotExist(err):
			return nil
		case err != nil:
			return err
		case !d.IsDir() || !goodHead(name) || Stat(filepath.Join(name, "objects")) == nil:
			return nil
		}
		if err := r.trimConfig(ctx, name, ""); err != nil {
			return err
		}
		alone, failed := r.Line(ctx, Call{repo: name, Args: []string{"rev-list", "--max-count=1", "--all", "HEAD", "--not", "--remotes"}})
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
		to, err := r.setAside(name, id)
		if err != nil {
			return err
		}
		// Without its files it can only be read when it does not name them.
		_, err = r.Run(ctx, Call{Args: []string{"config", "--file", filepath.Join(to, "config"), "--unset", "core.worktree"}, repo: os.DevNull, plain: true})
		if code := ExitOf(err); err != nil && code != 5 { // 5: it did not
			return fmt.Errorf("keep a submodule's commits: %w", err)
		}
		out.Saved = append(out.Saved, Saved{Path: to, What: "the git folder of submodule " + filepath.Base(name) + ", which has commits that no remote has"})
	}
	return nil
}
