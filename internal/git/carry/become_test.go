package carry

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/ralph-loop/ralph/internal/git"
	"github.com/ralph-loop/ralph/internal/git/worktrees"
	"github.com/ralph-loop/ralph/internal/ralphtest/gittest"
)

// A worktree that has been looked at goes over to another state by as few gits as that takes, whatever was in it: files
// that were added, changed, taken away, a file for a folder, and what is ignored in one of both alone.
func TestBecomeStartsFewGits(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	box := gittest.New(t)
	box.Write("a", "1\n")
	box.Write("folder/b", "1\n")
	box.Write(".gitignore", "cache\n")
	box.Git("add", "-A")
	box.Git("commit", "-q", "-m", "start")
	first := box.Head()
	program, env := gittest.NewProgram(t, box.Env)
	r, err := git.Open(ctx, box.P, box.Dir, env)
	box.Must(err)
	dir := filepath.Join(box.Dir, "ralph/.worktrees/1")
	_, err = worktrees.Make(ctx, r, []string{dir}, first)
	box.Must(err)
	tree, err := r.Tree(dir)
	box.Must(err)
	at := box
	at.Dir = dir
	at.Git("checkout", "-q", "-B", "ralph/t-1")
	look := func() Snapshot {
		t.Helper()
		p, err := Look(ctx, tree)
		box.Must(err)
		return p
	}
	start := look()
	at.Write("a", "2\n")
	at.Write("new/file", "3\n")
	box.Must(os.RemoveAll(at.Path("folder")))
	at.Write("folder", "a file\n")
	changed := look()
	at.Git("add", "-A")
	at.Git("commit", "-q", "-m", "by an agent")
	at.Write("cache", "of an earlier turn\n")
	at.Write(".gitignore", "other\n")
	at.Write("other", "ignored there alone\n")
	committed := look()
	elsewhere := Snapshot{Branch: "ralph/t-2", Head: first, Tree: start.Tree}
	mixed := Snapshot{Branch: "ralph/t-3", Head: committed.Head, Tree: changed.Tree}
	for i, x := range []struct {
		to   Snapshot
		gits int
	}{{changed, 7}, {start, 1}, {changed, 1}, {committed, 4}, {elsewhere, 3}, {mixed, 4}, {committed, 4}, {start, 3}} {
		is := look()
		n := program.Starts(func() { box.Must(Become(ctx, tree, is, x.to)) })
		if got := look(); got != x.to {
			t.Errorf("%d: it is %+v, want %+v", i, got, x.to)
		}
		if n > x.gits { // where HEAD moves, two are of a look at it; the first is ignored otherwise, and goes the long way
			t.Errorf("%d: %d gits started, want %d", i, n, x.gits)
		}
		if n := program.Starts(func() { look() }); n > 0 {
			t.Errorf("%d: a look at what has not changed since starts %d gits", i, n)
		}
	}
}
