package worktrees

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph/internal/git"
	"github.com/ralph-loop/ralph/internal/ralphtest/gittest"
)

// withLib is a repository with a submodule, in which there is another one.
func withLib(t *testing.T) (b *testRepo, inner string) {
	t.Helper()
	at, inner := gittest.WithLib(t)
	b = &testRepo{Box: at, agents: true}
	b.repo = b.open(b.Dir)
	return b, inner
}

// R-H2: a worktree has the files of submodules, nested ones too, from what the checkout
// has, without a network; a worktree that is used again as well.
func TestSubmodulesInWorktrees(t *testing.T) {
	t.Parallel()
	b, lib := withLib(t)
	dir := b.pool("1")[0]
	for _, id := range []string{"t-1", "t-2"} {
		e := b.mustEnter(b.task(dir, id))
		w := b.in(dir)
		w.Want(lib+"/a.txt", "a\n")
		w.Want(lib+"/deep/a.txt", "a\n")
		b.Equal(id+": status", w.Status(), "")
		if len(e.Empty) > 0 || len(e.Saved) > 0 {
			t.Errorf("%s: %+v", id, e)
		}
	}
	b.Equal("the checkout", b.Status(), "")
	saved, err := Remove(t.Context(), b.repo, dir, "end")
	b.Must(err)
	if len(saved) > 0 {
		t.Errorf("nothing was done in it, and it left %+v", saved)
	}
}

// R-H2: a submodule that the checkout does not have is empty in a worktree too, and named;
// one whose commit is not at hand is refused with the command that fetches it.
func TestSubmodulesThatAreNotAtHand(t *testing.T) {
	t.Parallel()
	b, lib := withLib(t)
	dir := b.pool("1")[0]
	b.Git("update-index", "--cacheinfo", "160000,"+strings.Repeat("1", 40)+","+lib)
	b.Git("commit", "-q", "-m", "a commit that was not fetched")
	in := b.task(dir, "t-1")
	in.From = b.Head()
	_, err := Enter(t.Context(), b.repo, in)
	b.Refused(err, "the submodule vendor/lib is not at hand at 1111111")

	b.Git("reset", "-q", "--hard", "HEAD~1")
	b.Git("submodule", "--quiet", "deinit", "-f", "--all")
	b.Must(discard(filepath.Join(b.Dir, ".git", git.ModulesName)))
	in = b.task(dir, "t-2")
	in.From = b.Head()
	if e := b.mustEnter(in); len(e.Empty) != 1 || e.Empty[0] != lib {
		t.Errorf("empty: %q", e.Empty)
	}
}
