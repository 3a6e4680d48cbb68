// Package diff tells how two trees of a repository differ: the list of files, and patches, for
// checks as for people who read.
//
// It does NOT own trees: package git makes them of work trees, and reads them.
package diff

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph/internal/git"
)

// Change is one file that differs between two trees.
type Change struct {
	Modes  string // ":100644 000000", before and after
	IDs    string // likewise
	Status byte   // A, D, M or T
	Path   string
}

// Link reports a repository inside this one, of which git knows the commit alone.
func (c Change) Link() bool { return strings.HasSuffix(c.Modes, " 160000") }

// Sides returns the two versions of a changed file.
func (c Change) Sides() (from, to git.TreeEntry) {
	a, b, _ := strings.Cut(strings.TrimPrefix(c.Modes, ":"), " ")
	x, y, _ := strings.Cut(c.IDs, " ")
	for _, s := range []struct {
		v        *git.TreeEntry
		mode, id string
	}{{&from, a, x}, {&to, b, y}} {
		if strings.Trim(s.mode, "0") != "" {
			*s.v = git.TreeEntry{Mode: s.mode, ID: s.id}
		}
	}
	return from, to
}

// Before and after are the two versions of a change: a mode and an id, "" for no file.
// Before is the version in the tree that is compared from.
func (c Change) Before() string {
	from, _ := c.Sides()
	return version(from)
}

// After is the version in the tree that it is compared with.
func (c Change) After() string {
	_, to := c.Sides()
	return version(to)
}

func version(e git.TreeEntry) string {
	if e.Mode == "" {
		return ""
	}
	return e.Mode + " " + e.ID
}

// Changes lists how one tree differs from another.
func Changes(ctx context.Context, r *git.Repo, from, to string) ([]Change, error) {
	if from == to {
		return nil, nil
	}
	list, err := differences(ctx, r, from, to)
	if err != nil {
		return nil, fmt.Errorf("compare trees: %w", err)
	}
	return list, nil
}

// differences lists how one tree differs from another, each with all folders below it, by path.
func differences(ctx context.Context, r *git.Repo, from, to string) ([]Change, error) {
	a, err := r.TreeAt(ctx, from)
	if err != nil {
		return nil, err
	}
	b, err := r.TreeAt(ctx, to)
	if err != nil {
		return nil, err
	}
	var list []Change
	if err := differ(ctx, r, "", a, b, len(from), &list); err != nil {
		return nil, err
	}
	slices.SortFunc(list, func(x, y Change) int { return cmp.Compare(x.Path, y.Path) })
	return list, nil
}

func differ(ctx context.Context, r *git.Repo, dir, a, b string, idLen int, list *[]Change) error {
	if a == b {
		return nil
	}
	was, err := r.Members(ctx, a)
	if err != nil {
		return err
	}
	now, err := r.Members(ctx, b)
	if err != nil {
		return err
	}
	names := maps.Clone(was)
	if names == nil {
		names = map[string]git.TreeEntry{}
	}
	maps.Copy(names, now)
	for name := range names {
		x, y := was[name], now[name]
		if x == y {
			continue
		}
		sub := [2]string{}
		if x.Mode == git.ModeDir {
			sub[0], x = x.ID, git.TreeEntry{}
		}
		if y.Mode == git.ModeDir {
			sub[1], y = y.ID, git.TreeEntry{}
		}
		if sub != [2]string{} {
			if err := differ(ctx, r, dir+name+"/", sub[0], sub[1], idLen, list); err != nil {
				return err
			}
		}
		if x != y {
			*list = append(*list, differsAt(dir+name, x, y, idLen))
		}
	}
	return nil
}

// differsAt is one file that differs, as `git diff-tree --raw` tells it.
func differsAt(path string, was, now git.TreeEntry, idLen int) Change {
	none := git.TreeEntry{Mode: "000000", ID: strings.Repeat("0", idLen)}
	status := byte('M')
	switch {
	case was.Mode == "":
		was, status = none, 'A'
	case now.Mode == "":
		now, status = none, 'D'
	case was.Mode[:2] != now.Mode[:2]:
		status = 'T'
	}
	return Change{":" + was.Mode + " " + now.Mode, was.ID + " " + now.ID, status, path}
}
