package commits

import (
	"context"
	"errors"
	"slices"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/git"
	"github.com/ralph-loop/ralph/internal/git/diff"
)

// Look says what is otherwise in the user's checkout than known says, which no agent did:
// nobody but people and their tools was at work since. ok is false when all is as it was.
// Nothing is changed.
func Look(ctx context.Context, r *git.Repo, known ralph.Checkout, agents Agents) (f ralph.CheckoutFound, ok bool, err error) {
	tree, err := r.TreeKept(ctx)
	if err != nil {
		return f, false, err
	}
	h, err := r.Head(ctx)
	if err != nil {
		return f, false, err
	}
	f = ralph.CheckoutFound{Head: h.Commit, Branch: h.Branch, Tree: tree}
	if known.Tree == "" || known.Head == "" || h == (git.Head{Commit: known.Head, Branch: known.Branch}) && tree == known.Tree {
		f.Left = known.Left
		return f, false, nil
	}
	if h.Branch != known.Branch && agents.On != h.Branch {
		f.From = known.Branch
		if f.From == "" {
			f.From = known.Head[:7]
		}
	}
	if h.Commit != known.Head {
		s, err := LookSince(ctx, r, known.Head, h.Commit, agents)
		if err != nil {
			return f, false, err
		}
		f.Commits, f.More, f.Gone = s.Kept, s.More, s.gone && !s.reset
	}
	err = sortOut(ctx, r, known, &f)
	return f, err == nil, err
}

// sortOut says which of the changes that are not committed are somebody else's.
func sortOut(ctx context.Context, r *git.Repo, known ralph.Checkout, f *ralph.CheckoutFound) error {
	dirty, err := diff.Changes(ctx, r, f.Head, f.Tree)
	if err != nil {
		return err
	}
	before, err1 := ByPath(ctx, r, known.Head, known.Tree) // what agents had changed
	since, err2 := ByPath(ctx, r, known.Tree, f.Tree)
	moved, err3 := ByPath(ctx, r, known.Head, f.Head)
	if err := errors.Join(err1, err2, err3); err != nil {
		if ctx.Err() != nil {
			return err
		}
		f.Left = known.Left // git has forgotten the tree: nobody can tell
		return nil
	}
	old := map[string]ralph.LeftFile{}
	for _, l := range known.Left {
		old[l.Path] = l
	}
	// What somebody took away of an agent's work may come back (git stash, git stash pop).
	for path, c := range since {
		if b, agents := before[path]; agents && c.After() != b.After() && !slices.ContainsFunc(dirty, func(d diff.Change) bool { return d.Path == path }) {
			if _, theirs := old[path]; !theirs && !git.IsOwn(path) {
				f.Left = append(f.Left, ralph.LeftFile{Path: path, Now: c.After(), Was: b.After(), At: c.After()})
			}
		}
	}
	for _, l := range known.Left {
		is := func(d diff.Change) bool { return d.Path == l.Path }
		if _, again := since[l.Path]; l.Was != "" && l.Now == l.At && !again && !slices.ContainsFunc(dirty, is) {
			f.Left = append(f.Left, l)
		}
	}
	for _, c := range dirty {
		if git.IsOwn(c.Path) {
			continue
		}
		now := c.After()
		prior, theirs := old[c.Path]
		b, agents := before[c.Path]
		_, changed := since[c.Path]
		_, head := moved[c.Path]
		switch {
		case theirs && prior.Was != "" && now == prior.Was: // an agent's version is back
			continue
		case theirs && now == prior.Now:
			f.Left = append(f.Left, prior)
			continue
		case !changed && agents: // as the agent left it
			continue
		case known.Cut && changed:
			f.Mixed = append(f.Mixed, c.Path)
			continue
		}
		l := ralph.LeftFile{Path: c.Path, Now: now, At: c.Before()}
		switch {
		case theirs && prior.At == l.At:
			l.Was = prior.Was
		case !theirs && agents && !head:
			l.Was = b.After()
		}
		f.Left = append(f.Left, l)
		f.Files = append(f.Files, c.Path)
	}
	return nil
}

// ByPath lists what differs between two trees, by path.
func ByPath(ctx context.Context, r *git.Repo, from, to string) (map[string]diff.Change, error) {
	list, err := diff.Changes(ctx, r, from, to)
	out := make(map[string]diff.Change, len(list))
	for _, c := range list {
		out[c.Path] = c
	}
	return out, err
}
