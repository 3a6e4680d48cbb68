package carry

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/ralph-loop/ralph/internal/git"
)

// walk goes over what a snapshot has and another one has not. Who sends and who receives go the same way: what
// the one puts into a parcel is just what the other one asks of it.
type walk struct {
	r       *git.Repo
	get     func(id, kind string) (text string, err error) // an object that travels
	has     func(commit string) bool                       // who receives has it, with all before it
	seen    map[string]bool
	trees   map[string]map[string]git.TreeEntry // that travel
	commits map[string]git.CommitObject         // likewise
	met     map[string][]string                 // all that travel, by kind: what holds others after them
}

func newWalk(r *git.Repo, get func(id, kind string) (string, error)) *walk {
	return &walk{r: r, get: get, seen: map[string]bool{}, trees: map[string]map[string]git.TreeEntry{}, commits: map[string]git.CommitObject{}, met: map[string][]string{}}
}

func (w *walk) walk(ctx context.Context, since, p Snapshot) error {
	if err := w.commit(p.Head); err != nil {
		return err
	}
	for _, c := range w.met["commit"] {
		beside := []string{since.Tree}
		for _, parent := range w.commits[c].Parents {
			tree, err := w.treeOf(ctx, parent)
			if err != nil {
				return err
			}
			beside = append(beside, tree)
		}
		if err := w.tree(ctx, w.commits[c].Tree, beside, 0); err != nil {
			return err
		}
	}
	head, err := w.treeOf(ctx, p.Head)
	if err != nil {
		return err
	}
	return w.tree(ctx, p.Tree, []string{since.Tree, head}, 0)
}

// commit goes over a commit and those before it.
func (w *walk) commit(id string) error {
	if w.seen[id] || w.has(id) {
		return nil
	}
	if w.seen[id] = true; len(w.commits) >= maxCommits {
		return ErrBulky
	}
	text, err := w.get(id, "commit")
	if err != nil {
		return err
	}
	c, err := git.ParseCommit(text)
	if err != nil {
		return err
	}
	w.commits[id] = c
	for _, parent := range c.Parents {
		if err := w.commit(parent); err != nil {
			return err
		}
	}
	w.met["commit"] = append(w.met["commit"], id)
	return nil
}

func (w *walk) treeOf(ctx context.Context, commit string) (string, error) {
	if c, ok := w.commits[commit]; ok {
		return c.Tree, nil
	}
	return w.r.TreeOf(ctx, commit)
}

func (w *walk) members(ctx context.Context, tree string) (map[string]git.TreeEntry, error) {
	if m, ok := w.trees[tree]; ok {
		return m, nil
	}
	return w.r.Members(ctx, tree)
}

// deepest is how many folders below each other there may be.
const deepest = 200

// tree goes over what a tree has otherwise than those beside it, which are there.
func (w *walk) tree(ctx context.Context, id string, beside []string, depth int) error {
	if w.seen[id] || slices.Contains(beside, id) {
		return nil
	}
	w.seen[id] = true
	text, err := w.get(id, "tree")
	if err != nil {
		return err
	}
	list, ok := git.MembersIn(text, len(id)/2)
	if !ok || depth > deepest {
		return fmt.Errorf("%s is no tree", id)
	}
	w.trees[id] = list
	var there []map[string]git.TreeEntry
	for _, b := range beside {
		m, err := w.members(ctx, b)
		if err != nil {
			return err
		}
		there = append(there, m)
	}
	for _, name := range slices.Sorted(maps.Keys(list)) {
		if err := w.member(ctx, name, list[name], there, depth); err != nil {
			return err
		}
	}
	w.met["tree"] = append(w.met["tree"], id)
	return nil
}

func (w *walk) member(ctx context.Context, name string, is git.TreeEntry, there []map[string]git.TreeEntry, depth int) error {
	var beside []string
	for _, m := range there {
		switch other := m[name]; {
		case other.ID == is.ID && (other.Mode == git.ModeDir) == (is.Mode == git.ModeDir) && other.Mode != git.ModeLink:
			return nil
		case other.Mode == git.ModeDir:
			beside = append(beside, other.ID)
		}
	}
	switch {
	case is.Mode == git.ModeLink || w.seen[is.ID]:
		return nil
	case is.Mode == git.ModeDir:
		return w.tree(ctx, is.ID, beside, depth+1)
	}
	w.seen[is.ID] = true
	_, err := w.get(is.ID, "blob")
	w.met["blob"] = append(w.met["blob"], is.ID)
	return err
}
