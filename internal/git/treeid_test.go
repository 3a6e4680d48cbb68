package git

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
)

func (b *testRepo) treeID() string {
	b.T.Helper()
	id, err := b.repo.TreeID(b.T.Context())
	b.Must(err)
	return id
}

// The id is git's own, whatever names and folders there are, in both kinds of
// repositories: it is compared with ids that git made.
func TestTreeIDIsGits(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"sha1", "sha256"} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			b := newBox(t, "--object-format="+format)
			names := []string{
				"a", "a.b/c", "a-b", "a0", "x/y/z/1", "x/y.z", "x-y/1", "x/y/z.1", "sp ace/ü", "ralph/specs/a.md", "ralph.txt", "dir.txt", "dir-b/c",
			}
			rng := rand.New(rand.NewPCG(1, 2))
			for round := range 8 {
				for i, name := range names {
					switch rng.IntN(4) {
					case 0:
						b.Remove(name)
					case 1, 2:
						b.Write(name, fmt.Sprint(round, i))
					}
				}
				id := b.treeID()
				b.Equal(fmt.Sprint("round ", round), b.snapshot(), id)
				b.Equal("once it is written", b.treeID(), id)
			}
			b.Must(os.Symlink("a", b.Path("link")))
			b.Must(os.Chmod(b.Path("dir/b.txt"), 0o755))
			id := b.treeID()
			b.Equal("modes", b.snapshot(), id)
		})
	}
}

// What an index can hold besides files in a tree is left to git.
func TestTreeIDOfOtherIndexes(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(b *testRepo){
		"version 4":      func(b *testRepo) { b.Git("update-index", "--index-version=4") },
		"split":          func(b *testRepo) { b.Git("update-index", "--split-index") },
		"intent to add":  func(b *testRepo) { b.Write("n", "new"); b.Git("add", "-N", "n") },
		"skip worktree":  func(b *testRepo) { b.Git("update-index", "--skip-worktree", "dir/b.txt") },
		"all taken away": func(b *testRepo) { b.Remove("a.txt"); b.Remove("dir") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBox(t)
			prepare(b)
			b.Write("dir/sub/x.txt", "x")
			if name == "all taken away" {
				b.Remove("dir")
			}
			id := b.treeID()
			b.Equal("tree", b.snapshot(), id)
		})
	}
}

// TreeID writes no tree; a commit takes it as it is, and Diff has it written.
func TestTreeIDCostsOneProcess(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	first := b.snapshot()
	base := b.Head()
	for i := range 3 {
		b.Write("a.txt", fmt.Sprint(i))
		key := strings.Repeat(fmt.Sprint(i), 8)
		n := b.spawns(func() {
			tree := b.treeID()
			c := b.mustCommit(key, func(in *CommitInput) { in.Base, in.Tree, in.Fresh, in.Squash = base, tree, true, false })
			b.Equal("tree", c.Tree, tree)
		})
		if n != 2 { // also on top of a commit that is not the base
			t.Errorf("commit %d starts %d processes, want 2: add and commit", i, n)
		}
	}
	b.Write("a.txt", "for the diff")
	tree := b.treeID()
	if _, err := b.Try("cat-file", "-e", tree); err == nil {
		t.Error("the tree is written although nobody asked")
	}
	patch, err := b.repo.Diff(t.Context(), first, tree, 1<<20)
	b.Must(err)
	if !strings.Contains(string(patch), "+for the diff") {
		t.Errorf("diff: %s", patch)
	}
	b.Git("cat-file", "-e", tree)
}

// A file that changed after TreeID is not what the id stands for, but it is in
// the work tree: it goes into the commit only through an add.
func TestTreeIDDoesNotHideLaterSnapshots(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.Write("x", "1")
	old := b.treeID()
	b.Write("x", "2")
	b.treeID()
	b.mustCommit("k", func(in *CommitInput) { in.Tree = old })
	b.Equal("x", b.Git("show", "HEAD:x"), "2")
}
