package landing

import (
	"strings"
	"testing"

	"github.com/ralph-loop/ralph/internal/git/worktrees"
	"github.com/ralph-loop/ralph/internal/ralphtest/gittest"
)

// R-H2: what is committed inside a submodule of a worktree is in the checkout's own
// repository of it when the commit that names it is there: `git submodule update` finds
// it. Nothing has to be kept aside when the worktree goes.
func TestCommitsInSubmodulesAreAtHand(t *testing.T) {
	t.Parallel()
	at, lib := gittest.WithLib(t)
	b := boxOf(at)
	dir := b.pool("1")[0]
	b.mustEnter(b.task(dir, "t-1"))
	w := b.in(dir)
	tree, err := b.repo.Tree(dir)
	b.Must(err)
	w.Write(lib+"/deep/a.txt", "deeper\n")
	w.Write(lib+"/new", "new\n")
	inside, err := worktrees.Inside(t.Context(), tree)
	b.Must(err)
	b.Equal("changed inside", strings.Join(inside, " "), lib+"/deep/a.txt "+lib+"/new")
	for _, at := range []string{lib + "/deep", lib} {
		w.Git("-C", at, "add", "-A")
		w.Git("-C", at, "commit", "-q", "-m", "work in "+at)
	}
	inside, err = worktrees.Inside(t.Context(), tree)
	b.Must(err)
	b.Equal("all is committed", strings.Join(inside, " "), "")
	b.Must(worktrees.Publish(t.Context(), tree))
	w.Git("commit", "-q", "-a", "-m", "take the submodule along")
	saved, err := worktrees.Remove(t.Context(), b.repo, dir, "end")
	b.Must(err)
	if len(saved) > 0 {
		t.Errorf("kept aside: %+v", saved)
	}
	landed, err := Land(t.Context(), b.repo, LandInput{Branch: "main", From: b.Head(), To: b.Tip("ralph/t-1")})
	b.Must(err)
	b.Equal("how it landed", landed.How, LandedForward)
	b.Equal("submodules that are where they were", strings.Join(landed.Behind, " "), lib)
	b.Git("submodule", "--quiet", "update", "--no-fetch", "--recursive")
	b.Want(lib+"/deep/a.txt", "deeper\n")
	b.Want(lib+"/new", "new\n")
	b.Git("-C", lib, "gc", "--quiet", "--prune=now")
	b.Git("submodule", "--quiet", "update", "--no-fetch", "--recursive")
}
