package worktrees

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph/internal/git"
)

// Submodules come into a worktree from what the checkout has of them, never over a
// network, and what is committed inside one goes back there: the checkout's own
// `git submodule update` then finds it.

// publishedRefs keep commits that were made in a submodule of a worktree, in the
// repository of that submodule, so that git does not take them for rubbish.
const publishedRefs = "refs/ralph/submodules/"

// moduleLink is a submodule of a tree: its path, its name in .gitmodules, and the commit that
// the index has for it.
type moduleLink struct{ path, name, commit string }

// submodules reads those of the index that .gitmodules names.
func submodules(ctx context.Context, r *git.Repo) ([]moduleLink, error) {
	if git.Stat(r.File(".gitmodules")) == nil {
		return nil, nil
	}
	staged, err := r.Run(ctx, git.Call{Args: []string{"ls-files", "-z", "--stage"}, Index: r.RealIndex()})
	if err != nil {
		return nil, fmt.Errorf("look for submodules: %w", err)
	}
	settings, err := r.Settings(ctx, r.File(".gitmodules"))
	if err != nil {
		return nil, fmt.Errorf("read .gitmodules: %w", err)
	}
	named := map[string]string{}
	for record := range strings.SplitSeq(settings, "\x00") {
		key, path, ok := strings.Cut(record, "\n")
		name, isPath := strings.CutSuffix(key, ".path")
		if name, isModule := strings.CutPrefix(name, "submodule."); ok && isPath && isModule {
			named[path] = name
		}
	}
	var list []moduleLink
	for record := range strings.SplitSeq(staged, "\x00") {
		head, path, ok := strings.Cut(record, "\t")
		fields := strings.Fields(head)
		if !ok || len(fields) != 3 || fields[0] != git.ModeLink || fields[2] != "0" {
			continue
		}
		if name := named[path]; name != "" && filepath.IsLocal(filepath.FromSlash(name)) {
			list = append(list, moduleLink{path, name, fields[1]})
		}
	}
	return list, nil
}

// fillLinks gives the submodules of a worktree their files. Those that have some stay as
// they are. One that the checkout has not either stays empty and is named in out.Empty;
// one whose commit is not at hand is a *ralph.Refusal.
func fillLinks(ctx context.Context, r *git.Repo, out *Entered) error {
	return fillFrom(ctx, r, sources(r.Home()), "", out)
}

// sources finds the repository of a submodule that a checkout has: in its git folder, or,
// made by an old git, in the submodule itself. "" when the checkout has none.
func sources(r *git.Repo) func(moduleLink) string {
	return func(l moduleLink) string { return l.source(r.Root(), r.GitDir(), r.Common()) }
}

// source looks for it where a work tree and its folders of git are.
func (l moduleLink) source(root string, gitDirs ...string) string {
	var dirs []string
	for _, dir := range gitDirs {
		dirs = append(dirs, filepath.Join(dir, git.ModulesName, filepath.FromSlash(l.name)))
	}
	for _, dir := range append(dirs, filepath.Join(root, filepath.FromSlash(l.path), ".git")) {
		if git.GoodHead(dir) {
			return dir
		}
	}
	return ""
}

func fillFrom(ctx context.Context, r *git.Repo, source func(moduleLink) string, within string, out *Entered) error {
	list, err := submodules(ctx, r)
	if err != nil {
		return err
	}
	for _, l := range list {
		from, shown := source(l), within+l.path
		if r.Inner(l.path) == nil {
			if from == "" {
				out.Empty = append(out.Empty, shown)
				continue
			}
			if err := cloneLink(ctx, r, l, from, shown); err != nil {
				return err
			}
		}
		sub := r.Inner(l.path)
		if sub == nil || from == "" {
			continue
		}
		if err := fillFrom(ctx, sub, func(l moduleLink) string { return l.source(sub.Root(), from) }, shown+"/", out); err != nil {
			return err
		}
	}
	return nil
}

// has reports whether another repository on this disk has a commit.
func has(ctx context.Context, r *git.Repo, gitDir, commit string) bool {
	_, err := r.Run(ctx, git.Call{Repo: gitDir, Args: []string{"cat-file", "-e", commit + "^{commit}"}})
	return err == nil
}

// cloneLink makes a submodule from a repository on this disk.
func cloneLink(ctx context.Context, r *git.Repo, l moduleLink, from, shown string) error {
	if !has(ctx, r, from, l.commit) {
		return git.Refuse(fmt.Sprintf("the submodule %s is not at hand at %.7s", shown, l.commit),
			"`git submodule update --init --recursive` in your checkout fetches it; then try again")
	}
	// What an earlier task's worktree had of it may come from elsewhere.
	update := quietly(r, "submodule", "--quiet", "update", "--init", "--force", "--checkout", "--", l.path)
	update.Index = ""
	update.Conf = append(update.Conf, "protocol.file.allow=always", "submodule."+l.name+".url="+from)
	if err := r.TrimModules(ctx); err != nil {
		return err
	}
	if _, err := r.Run(ctx, update); err != nil {
		return fmt.Errorf("bring submodule %s into the worktree: %w", shown, err)
	}
	sub := r.Inner(l.path)
	if sub == nil {
		return nil
	}
	if err := lendIdentity(ctx, r, sub); err != nil {
		return err
	}
	return markPublished(ctx, sub, l.commit)
}

// lendIdentity gives a submodule the name and address that commits are made with here,
// where it has none: those in the settings of a repository are not its submodules'.
func lendIdentity(ctx context.Context, r *git.Repo, sub *git.Repo) error {
	for _, key := range []string{"user.name", "user.email"} {
		if value, err := sub.Line(ctx, git.Call{Args: []string{"config", key}}); err == nil && value != "" {
			continue
		}
		value, err := r.Line(ctx, git.Call{Args: []string{"config", key}})
		if err != nil || value == "" {
			continue // git says itself what is missing
		}
		if _, err := sub.Run(ctx, git.Call{Args: []string{"config", "--local", key, value}, Write: true}); err != nil {
			return fmt.Errorf("give a submodule the name of who commits: %w", err)
		}
	}
	return nil
}

// markPublished notes in a submodule of a worktree that its origin has a commit: so it
// needs no keeping when the worktree goes.
func markPublished(ctx context.Context, r *git.Repo, commit string) error {
	_, err := r.Run(ctx, git.Call{Args: []string{"update-ref", "refs/remotes/origin/ralph/" + commit, commit}, Write: true})
	if err != nil {
		return fmt.Errorf("note the commit of a submodule: %w", err)
	}
	return nil
}

// Publish gives the commits that were made in the submodules of a worktree to the
// checkout's own repositories of them: the commit that names them is nothing without.
func Publish(ctx context.Context, r *git.Repo) error {
	if r.Home() == nil || git.Stat(filepath.Join(r.GitDir(), git.ModulesName)) == nil {
		return nil
	}
	return publishTo(ctx, r, sources(r.Home()))
}

func publishTo(ctx context.Context, r *git.Repo, source func(moduleLink) string) error {
	list, err := submodules(ctx, r)
	if err != nil {
		return err
	}
	for _, l := range list {
		sub, to := r.Inner(l.path), source(l)
		if sub == nil || to == "" {
			continue
		}
		if err := publishTo(ctx, sub, func(l moduleLink) string { return l.source(sub.Root(), to) }); err != nil {
			return err
		}
		head, err := sub.Head(ctx)
		if errors.Is(err, git.ErrNoCommits) {
			continue
		}
		if err != nil {
			return err
		}
		if has(ctx, r, to, head.Commit) {
			continue
		}
		fetch := quietly(sub, "fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", sub.GitDir(), "HEAD:"+publishedRefs+head.Commit)
		fetch.Index, fetch.Repo = "", to
		fetch.Conf = append(fetch.Conf, "protocol.file.allow=always")
		if _, err := sub.Run(ctx, fetch); err != nil {
			return fmt.Errorf("keep what was committed in submodule %s: %w", l.path, err)
		}
		if err := markPublished(ctx, sub, head.Commit); err != nil {
			return err
		}
	}
	return nil
}

// Nested returns the repositories in the work tree that are neither submodules nor in the commit at which
// the work began (git.Repo.WorkFrom), by the newest look at all files: a commit here would have none of their files.
func Nested(ctx context.Context, r *git.Repo) ([]string, error) {
	links, err := r.NewLinks(ctx)
	if err != nil {
		return nil, err
	}
	if len(links) > 0 {
		modules, err := submodules(ctx, r)
		if err != nil {
			return nil, err
		}
		links = slices.DeleteFunc(links, func(path string) bool {
			return slices.ContainsFunc(modules, func(l moduleLink) bool { return l.path == path })
		})
	}
	return append(links, r.Unborn()...), nil
}

// Inside returns the files that are changed inside submodules and that no commit of
// theirs has, relative to the root, sorted: a commit here would leave them out.
func Inside(ctx context.Context, r *git.Repo) ([]string, error) {
	list, err := submodules(ctx, r)
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, l := range list {
		if _, err := os.Lstat(filepath.Join(r.File(l.path), ".git")); err != nil {
			continue // it has no files
		}
		sub := r.Looked(l.path)
		if sub == nil {
			continue
		}
		c := quietly(sub, "status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames", "--ignore-submodules=dirty")
		c.Index, c.Write = "", false
		out, err := sub.Run(ctx, c)
		if err != nil {
			return nil, fmt.Errorf("look into submodule %s: %w", l.path, err)
		}
		for record := range strings.SplitSeq(out, "\x00") {
			if len(record) > 3 {
				paths = append(paths, l.path+"/"+record[3:])
			}
		}
		below, err := Inside(ctx, sub) // git would go there with the settings that it finds
		if err != nil {
			return nil, err
		}
		for _, name := range below {
			paths = append(paths, l.path+"/"+name)
		}
	}
	slices.Sort(paths)
	return paths, nil
}
