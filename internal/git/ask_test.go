package git

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph/internal/git/index"
)

// Worktrees ask the same git, also when one of them is gone.
func TestWorktreesAskTheSameGit(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	blob := b.Git("rev-parse", "HEAD:a.txt")
	for i := range 3 {
		dir := b.Path(fmt.Sprint("ralph/.worktrees/", i))
		b.Git("worktree", "add", "-q", "--detach", dir)
		tree, err := b.repo.Tree(dir)
		b.Must(err)
		id, err := tree.MakeTree(t.Context(), map[string]TreeEntry{fmt.Sprint("x", i): {"100644", blob}})
		b.Must(err)
		b.Equal("members", b.Git("ls-tree", "--name-only", id), fmt.Sprint("x", i))
		b.Git("worktree", "remove", "--force", dir)
	}
	if names, running := b.repo.asked.Running(); names != 1 || len(running) > 1 {
		t.Errorf("%d kinds of git, %d there", names, len(running))
	}
}

// A git that nobody asks ends by itself.
func TestAGitThatNobodyAsksEnds(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	_, err := b.repo.MakeTree(t.Context(), map[string]TreeEntry{"x": {"100644", b.Git("rev-parse", "HEAD:a.txt")}})
	b.Must(err)
	_, running := b.repo.asked.Running()
	for _, ended := range running {
		select {
		case <-ended:
		case <-time.After(time.Minute):
			t.Fatal("it waits still")
		}
	}
}

// A tree of what is not there is not made, and the next one is.
func TestNoTreeOfWhatIsNotThere(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	none := strings.Repeat("1", 40)
	if err := b.repo.makeTrees(t.Context(), []index.Tree{{ID: none, Body: []byte("100644 x\x00" + strings.Repeat("\x01", 20))}}); err == nil {
		t.Error("a tree was made of a file that is not there")
	}
	if _, err := b.repo.MakeTree(t.Context(), map[string]TreeEntry{"x": {"100644", b.Git("rev-parse", "HEAD:a.txt")}}); err != nil {
		t.Error(err)
	}
}
