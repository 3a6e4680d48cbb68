package git

import (
	"fmt"
	"math/rand/v2"
	"os"
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
