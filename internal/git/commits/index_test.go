package commits

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph/internal/git"
	"github.com/ralph-loop/ralph/internal/git/diff"
)

// ralph may be started by a hook, where git has set these.
func TestOpenIgnoresInheritedVariables(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	other := newBox(t)
	env := append(b.Env, "GIT_DIR="+other.Path(".git"), "GIT_WORK_TREE="+other.Dir,
		"GIT_INDEX_FILE="+other.Path(".git/index"), "GIT_LITERAL_PATHSPECS=1", "GIT_PREFIX=dir/")
	r, err := git.Open(t.Context(), b.P, b.Dir, env)
	b.Must(err)
	b.repo = r
	b.Write("new.txt", "x")
	c := b.mustCommit("k1", nil)
	b.Equal("HEAD", b.Head(), c.Hash)
	b.Equal("status", b.Status(), "")
	b.Equal("other's status", other.Status(), "")
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
		n := b.program.Starts(func() {
			tree := b.treeID()
			c := b.mustCommit(key, func(in *Input) { in.Base, in.Tree, in.Fresh, in.Squash = base, tree, true, false })
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
	patch, err := diff.Plain(t.Context(), b.repo, first, tree, 1<<20)
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
	b.mustCommit("k", func(in *Input) { in.Tree = old })
	b.Equal("x", b.Git("show", "HEAD:x"), "2")
}

func TestSnapshotIndexKinds(t *testing.T) {
	t.Parallel()
	kinds := map[string][]string{
		"version 4": {"update-index", "--index-version=4"},
		"split":     {"update-index", "--split-index"},
		"untracked": {"update-index", "--force-untracked-cache"},
	}
	for name, args := range kinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBox(t)
			b.OwnFiles()
			b.Git("add", "-f", "ralph/inbox.jsonl", "ralph/plan.jsonl")
			b.Git("commit", "-q", "-m", "own")
			b.Git(args...)
			b.Write("ralph/inbox.jsonl", "staged")
			b.Git("add", "ralph/inbox.jsonl")
			b.Write("new", "x")
			c := b.mustCommit("k", nil)
			b.Equal("files", b.Git("show", "--name-only", "--format=", c.Hash), "new")
			b.Equal("tracked files in status", b.Git("status", "--porcelain", "-uno"), " M ralph/inbox.jsonl")
			b.Git("fsck")
		})
	}
}

func TestHashesOfACommitAreChecked(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	for _, bad := range []string{"", "HEAD", "--output=x", strings.Repeat("g", 40), strings.Repeat("a", 41)} {
		if _, err := b.commit("k", func(in *Input) { in.Base = bad }); err == nil {
			t.Errorf("Commit on %q worked", bad)
		}
	}
}
