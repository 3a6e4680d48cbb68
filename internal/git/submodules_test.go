package git

import (
	"path/filepath"
	"strings"
	"testing"
)

// withLib is a repository with a submodule, in which there is another one, as a person has
// it who cloned both: their remotes are gone, so that nothing can come over a network.
func withLib(t *testing.T) (b *testRepo, inner string) {
	t.Helper()
	deep, lib := newBox(t), newBox(t)
	b = newBox(t)
	for _, add := range []struct {
		to   *testRepo
		from *testRepo
		name string
	}{{lib, deep, "deep"}, {b, lib, "vendor/lib"}} {
		add.to.Git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", add.from.Dir, add.name)
		add.to.Git("commit", "-q", "-m", "with "+add.name)
	}
	b.Git("-c", "protocol.file.allow=always", "submodule", "--quiet", "update", "--init", "--recursive")
	lib.Git("branch", "-m", "elsewhere") // what is fetched from it now fails
	for _, gone := range []*testRepo{deep, lib} {
		gone.Must(discard(filepath.Join(gone.Dir, ".git")))
	}
	return b, "vendor/lib"
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
	saved, err := b.repo.RemoveTree(t.Context(), dir, "end")
	b.Must(err)
	if len(saved) > 0 {
		t.Errorf("nothing was done in it, and it left %+v", saved)
	}
}

// R-H2: what is committed inside a submodule of a worktree is in the checkout's own
// repository of it when the commit that names it is there: `git submodule update` finds
// it. Nothing has to be kept aside when the worktree goes.
func TestCommitsInSubmodulesAreAtHand(t *testing.T) {
	t.Parallel()
	b, lib := withLib(t)
	dir := b.pool("1")[0]
	b.mustEnter(b.task(dir, "t-1"))
	w := b.in(dir)
	tree, err := b.repo.Tree(dir)
	b.Must(err)
	w.Write(lib+"/deep/a.txt", "deeper\n")
	w.Write(lib+"/new", "new\n")
	inside, err := tree.Inside(t.Context())
	b.Must(err)
	b.Equal("changed inside", strings.Join(inside, " "), lib+"/deep/a.txt "+lib+"/new")
	for _, at := range []string{lib + "/deep", lib} {
		w.Git("-C", at, "add", "-A")
		w.Git("-C", at, "commit", "-q", "-m", "work in "+at)
	}
	inside, err = tree.Inside(t.Context())
	b.Must(err)
	b.Equal("all is committed", strings.Join(inside, " "), "")
	b.Must(tree.Publish(t.Context()))
	w.Git("commit", "-q", "-a", "-m", "take the submodule along")
	saved, err := b.repo.RemoveTree(t.Context(), dir, "end")
	b.Must(err)
	if len(saved) > 0 {
		t.Errorf("kept aside: %+v", saved)
	}
	landed, err := b.repo.Land(t.Context(), LandInput{Branch: "main", From: b.Head(), To: b.Git("rev-parse", "ralph/t-1")})
	b.Must(err)
	b.Equal("how it landed", landed.How, LandedForward)
	b.Equal("submodules that are where they were", strings.Join(landed.Behind, " "), lib)
	b.Git("submodule", "--quiet", "update", "--no-fetch", "--recursive")
	b.Want(lib+"/deep/a.txt", "deeper\n")
	b.Want(lib+"/new", "new\n")
	b.Git("-C", lib, "gc", "--quiet", "--prune=now")
	b.Git("submodule", "--quiet", "update", "--no-fetch", "--recursive")
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
	_, err := b.repo.Enter(t.Context(), in)
	b.Refused(err, "the submodule vendor/lib is not at hand at 1111111")

	b.Git("reset", "-q", "--hard", "HEAD~1")
	b.Git("submodule", "--quiet", "deinit", "-f", "--all")
	b.Must(discard(filepath.Join(b.Dir, ".git", modulesName)))
	in = b.task(dir, "t-2")
	in.From = b.Head()
	if e := b.mustEnter(in); len(e.Empty) != 1 || e.Empty[0] != lib {
		t.Errorf("empty: %q", e.Empty)
	}
}
