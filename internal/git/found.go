package git

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph"
)

// Look says what is otherwise in the user's checkout than known says, which no agent did:
// nobody but people and their tools was at work since. ok is false when all is as it was.
// Nothing is changed.
func (r *Repo) Look(ctx context.Context, known ralph.Checkout, agents Agents) (f ralph.CheckoutFound, ok bool, err error) {
	tree, err := r.TreeKept(ctx)
	if err != nil {
		return f, false, err
	}
	h, err := r.Head(ctx)
	if err != nil {
		return f, false, err
	}
	f = ralph.CheckoutFound{Head: h.Commit, Branch: h.Branch, Tree: tree}
	if known.Tree == "" || known.Head == "" || h == (Head{known.Head, known.Branch}) && tree == known.Tree {
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
		s, err := r.LookSince(ctx, known.Head, h.Commit, agents)
		if err != nil {
			return f, false, err
		}
		f.Commits, f.More, f.Gone = s.Kept, s.More, s.gone && !s.reset
	}
	err = r.sortOut(ctx, known, &f)
	return f, err == nil, err
}

// sortOut says which of the changes that are not committed are somebody else's.
func (r *Repo) sortOut(ctx context.Context, known ralph.Checkout, f *ralph.CheckoutFound) error {
	dirty, err := r.Changes(ctx, f.Head, f.Tree)
	if err != nil {
		return err
	}
	before, err1 := r.ByPath(ctx, known.Head, known.Tree) // what agents had changed
	since, err2 := r.ByPath(ctx, known.Tree, f.Tree)
	moved, err3 := r.ByPath(ctx, known.Head, f.Head)
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
		if b, agents := before[path]; agents && c.After() != b.After() && !slices.ContainsFunc(dirty, func(d Change) bool { return d.Path == path }) {
			if _, theirs := old[path]; !theirs && !IsOwn(path) {
				f.Left = append(f.Left, ralph.LeftFile{Path: path, Now: c.After(), Was: b.After(), At: c.After()})
			}
		}
	}
	for _, l := range known.Left {
		is := func(d Change) bool { return d.Path == l.Path }
		if _, again := since[l.Path]; l.Was != "" && l.Now == l.At && !again && !slices.ContainsFunc(dirty, is) {
			f.Left = append(f.Left, l)
		}
	}
	for _, c := range dirty {
		if IsOwn(c.Path) {
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
func (r *Repo) ByPath(ctx context.Context, from, to string) (map[string]Change, error) {
	list, err := r.Changes(ctx, from, to)
	out := make(map[string]Change, len(list))
	for _, c := range list {
		out[c.Path] = c
	}
	return out, err
}

// Before and after are the two versions of a change: a mode and an id, "" for no file.
// Before is the version in the tree that is compared from.
func (c Change) Before() string { return version2(c.Modes, c.IDs, 0) }

// After is the version in the tree that it is compared with.
func (c Change) After() string { return version2(c.Modes, c.IDs, 1) }

func version2(modes, ids string, side int) string {
	m, i := strings.Fields(strings.ReplaceAll(modes, ":", "")), strings.Fields(ids)
	if len(m) != 2 || len(i) != 2 || strings.Trim(m[side], "0") == "" {
		return ""
	}
	return m[side] + " " + i[side]
}
