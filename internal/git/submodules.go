package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Submodules come into a worktree from what the checkout has of them, never over a
// network, and what is committed inside one goes back there: the checkout's own
// `git submodule update` then finds it (R-H2).

// publishedRefs keep commits that were made in a submodule of a worktree, in the
// repository of that submodule, so that git does not take them for rubbish.
const publishedRefs = "refs/ralph/submodules/"

// moduleLink is a submodule of a tree: its path, its name in .gitmodules, and the commit that
// the index has for it.
type moduleLink struct{ path, name, commit string }

// submodules reads those of the index that .gitmodules names.
func (r *Repo) submodules(ctx context.Context) ([]moduleLink, error) {
	if Stat(r.File(".gitmodules")) == nil {
		return nil, nil
	}
	staged, err := r.Run(ctx, Call{Args: []string{"ls-files", "-z", "--stage"}, Index: r.RealIndex()})
	if err != nil {
		return nil, fmt.Errorf("look for submodules: %w", err)
	}
	names, err := r.Run(ctx, Call{Args: []string{"config", "-z", "--file", r.File(".gitmodules"), "--get-regexp", `^submodule\..*\.path$`}})
	if code := ExitOf(err); err != nil && code != 1 { // 1: it names none
		return nil, fmt.Errorf("read .gitmodules: %w", err)
	}
	named := map[string]string{}
	for record := range strings.SplitSeq(names, "\x00") {
		if key, path, ok := strings.Cut(record, "\n"); ok {
			named[path] = strings.TrimSuffix(strings.TrimPrefix(key, "submodule."), ".path")
		}
	}
	var list []moduleLink
	for record := range strings.SplitSeq(staged, "\x00") {
		head, path, ok := strings.Cut(record, "\t")
		fields := strings.Fields(head)
		if !ok || len(fields) != 3 || fields[0] != "160000" || fields[2] != "0" {
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
func (r *Repo) fillLinks(ctx context.Context, out *Entered) error {
	return r.fillFrom(ctx, r.Home().sources(), "", out)
}

// sources finds the repository of a submodule that a checkout has: in its git folder, or,
// made by an old git, in the submodule itself. "" when the checkout has none.
func (r *Repo) sources() func(moduleLink) string {
	return func(l moduleLink) string {
		name := filepath.Join(modulesName, filepath.FromSlash(l.name))
		for _, dir := range []string{filepath.Join(r.gitDir, name), filepath.Join(r.common, name), filepath.Join(r.File(l.path), ".git")} {
			if goodHead(dir) {
				return dir
			}
		}
		return ""
	}
}

func (r *Repo) fillFrom(ctx context.Context, source func(moduleLink) string, within string, out *Entered) error {
	list, err := r.submodules(ctx)
	if err != nil {
		return err
	}
	for _, l := range list {
		from, shown := source(l), within+l.path
		if r.inner(l.path) == nil {
			if from == "" {
				out.Empty = append(out.Empty, shown)
				continue
			}
			if err := r.cloneLink(ctx, l, from, shown); err != nil {
				return err
			}
		}
		sub := r.inner(l.path)
		if sub == nil || from == "" {
			continue
		}
		if err := sub.fillFrom(ctx, (&Repo{gitDir: from, common: from, root: sub.root}).sources(), shown+"/", out); err != nil {
			return err
		}
	}
	return nil
}

// has reports whether another repository on this disk has a commit.
func (r *Repo) has(ctx context.Context, gitDir, commit string) bool {
	_, err := r.Run(ctx, Call{repo: gitDir, Args: []string{"cat-file", "-e", commit + "^{commit}"}})
	return err == nil
}

// cloneLink makes a submodule from a repository on this disk.
func (r *Repo) cloneLink(ctx context.Context, l moduleLink, from, shown string) error {
	if !r.has(ctx, from, l.commit) {
		return Refuse(fmt.Sprintf("the submodule %s is not at hand at %.7s", shown, l.commit),
			"`git submodule update --init --recursive` in your checkout fetches it; then try again")
	}
	// What an earlier task's worktree had of it may come from elsewhere.
	update := r.quietly("submodule", "--quiet", "update", "--init", "--force", "--checkout", "--", l.path)
	update.Index = ""
	update.Conf = append(update.Conf, "protocol.file.allow=always", "submodule."+l.name+".url="+from)
	if err := r.trimModules(ctx); err != nil {
		return err
	}
	if _, err := r.Run(ctx, update); err != nil {
		return fmt.Errorf("bring submodule %s into the worktree: %w", shown, err)
	}
	sub := r.inner(l.path)
	if sub == nil {
		return nil
	}
	if err := r.lendIdentity(ctx, sub); err != nil {
		return err
	}
	return sub.markPublished(ctx, l.commit)
}

// lendIdentity gives a submodule the name and address that commits are made with here,
// where it has none: those in the settings of a repository are not its submodules'.
func (r *Repo) lendIdentity(ctx context.Context, sub *Repo) error {
	for _, key := range []string{"user.name", "user.email"} {
		if value, err := sub.Line(ctx, Call{Args: []string{"config", key}}); err == nil && value != "" {
			continue
		}
		value, err := r.Line(ctx, Call{Args: []string{"config", key}})
		if err != nil || value == "" {
			continue // git says itself what is missing
		}
		if _, err := sub.Run(ctx, Call{Args: []string{"config", "--local", key, value}, Write: true}); err != nil {
			return fmt.Errorf("give a submodule the name of who commits: %w", err)
		}
	}
	return nil
}

// markPublished notes in a submodule of a worktree that its origin has a commit: so it
// needs no keeping when the worktree goes.
func (r *Repo) markPublished(ctx context.Context, commit string) error {
	_, err := r.Run(ctx, Call{Args: []string{"update-ref", "refs/remotes/origin/ralph/" + commit, commit}, Write: true})
	if err != nil {
		return fmt.Errorf("note the commit of a submodule: %w", err)
	}
	return nil
}

// Publish gives the commits that were made in the submodules of a worktree to the
// checkout's own repositories of them: the commit that names them is nothing without.
func (r *Repo) Publish(ctx context.Context) error {
	if r.Home() == nil || Stat(filepath.Join(r.gitDir, modulesName)) == nil {
		return nil
	}
	return r.publishTo(ctx, r.Home().sources())
}

func (r *Repo) publishTo(ctx context.Context, source func(moduleLink) string) error {
	list, err := r.submodules(ctx)
	if err != nil {
		return err
	}
	for _, l := range list {
		sub, to := r.inner(l.path), source(l)
		if sub == nil || to == "" {
			continue
		}
		if err := sub.publishTo(ctx, (&Repo{gitDir: to, common: to, root: sub.root}).sources()); err != nil {
			return err
		}
		head, err := sub.Head(ctx)
		if errors.Is(err, ErrNoCommits) {
			continue
		}
		if err != nil {
			return err
		}
		if r.has(ctx, to, head.Commit) {
			continue
		}
		fetch := sub.quietly("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", sub.gitDir, "HEAD:"+publishedRefs+head.Commit)
		fetch.Index, fetch.repo = "", to
		fetch.Conf = append(fetch.Conf, "protocol.file.allow=always")
		if _, err := sub.Run(ctx, fetch); err != nil {
			return fmt.Errorf("keep what was committed in submodule %s: %w", l.path, err)
		}
		if err := sub.markPublished(ctx, head.Commit); err != nil {
			return err
		}
	}
	return nil
}

// Inside returns the files that are changed inside submodules and that no commit of
// theirs has, relative to the root, sorted: a commit here would leave them out.
func (r *Repo) Inside(ctx context.Context) ([]string, error) {
	list, err := r.submodules(ctx)
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, l := range list {
		if _, err := os.Lstat(filepath.Join(r.File(l.path), ".git")); err != nil {
			continue // it has no files
		}
		sub := r.looked(l.path)
		if sub == nil {
			continue
		}
		c := sub.quietly("status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames", "--ignore-submodules=dirty")
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
		below, err := sub.Inside(ctx) // git would go there with the settings that it finds
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
