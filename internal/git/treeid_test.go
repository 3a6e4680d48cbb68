package git

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
)

func (b *testRepo) treeID() string {
	b.t.Helper()
	id, err := b.repo.TreeID(b.t.Context())
	b.must(err)
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
						b.remove(name)
					case 1, 2:
						b.write(name, fmt.Sprint(round, i))
					}
				}
				id := b.treeID()
				b.equal(fmt.Sprint("round ", round), b.snapshot(), id)
				b.equal("once it is written", b.treeID(), id)
			}
			b.must(os.Symlink("a", b.path("link")))
			b.must(os.Chmod(b.path("dir/b.txt"), 0o755))
			id := b.treeID()
			b.equal("modes", b.snapshot(), id)
		})
	}
}

// What an index can hold besides files in a tree is left to git.
func TestTreeIDOfOtherIndexes(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(b *testRepo){
		"version 4":      func(b *testRepo) { b.git("update-index", "--index-version=4") },
		"split":          func(b *testRepo) { b.git("update-index", "--split-index") },
		"intent to add":  func(b *testRepo) { b.write("n", "new"); b.git("add", "-N", "n") },
		"skip worktree":  func(b *testRepo) { b.git("update-index", "--skip-worktree", "dir/b.txt") },
		"all taken away": func(b *testRepo) { b.remove("a.txt"); b.remove("dir") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBox(t)
			prepare(b)
			b.write("dir/sub/x.txt", "x")
			if name == "all taken away" {
				b.remove("dir")
			}
			id := b.treeID()
			b.equal("tree", b.snapshot(), id)
		})
	}
}

// TreeID writes no tree; a commit takes it as it is, and Diff has it written.
func TestTreeIDCostsOneProcess(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	first := b.snapshot()
	base := b.head()
	for i := range 3 {
		b.write("a.txt", fmt.Sprint(i))
		key := strings.Repeat(fmt.Sprint(i), 8)
		n := b.spawns(func() {
			tree := b.treeID()
			c := b.mustCommit(key, func(in *CommitInput) { in.Base, in.Tree, in.Fresh, in.Squash = base, tree, true, false })
			b.equal("tree", c.Tree, tree)
		})
		if n != 2 { // also on top of a commit that is not the base
			t.Errorf("commit %d starts %d processes, want 2: add and commit", i, n)
		}
	}
	b.write("a.txt", "for the diff")
	tree := b.treeID()
	if _, err := b.try("cat-file", "-e", tree); err == nil {
		t.Error("the tree is written although nobody asked")
	}
	patch, err := b.repo.Diff(t.Context(), first, tree, 1<<20)
	b.must(err)
	if !strings.Contains(string(patch), "+for the diff") {
		t.Errorf("diff: %s", patch)
	}
	b.git("cat-file", "-e", tree)
}

// A file that changed after TreeID is not what the id stands for, but it is in
// the work tree: it goes into the commit only through an add.
func TestTreeIDDoesNotHideLaterSnapshots(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.write("x", "1")
	old := b.treeID()
	b.write("x", "2")
	b.treeID()
	b.mustCommit("k", func(in *CommitInput) { in.Tree = old })
	b.equal("x", b.git("show", "HEAD:x"), "2")
}
