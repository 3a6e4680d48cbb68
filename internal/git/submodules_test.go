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
		add.to.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", add.from.dir, add.name)
		add.to.git("commit", "-q", "-m", "with "+add.name)
	}
	b.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "update", "--init", "--recursive")
	lib.git("branch", "-m", "elsewhere") // what is fetched from it now fails
	for _, gone := range []*testRepo{deep, lib} {
		gone.must(discard(filepath.Join(gone.dir, ".git")))
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
		w.want(lib+"/a.txt", "a\n")
		w.want(lib+"/deep/a.txt", "a\n")
		b.equal(id+": status", w.status(), "")
		if len(e.Empty) > 0 || len(e.Saved) > 0 {
			t.Errorf("%s: %+v", id, e)
		}
	}
	b.equal("the checkout", b.status(), "")
	saved, err := b.repo.RemoveTree(t.Context(), dir, "end")
	b.must(err)
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
	b.must(err)
	w.write(lib+"/deep/a.txt", "deeper\n")
	w.write(lib+"/new", "new\n")
	inside, err := tree.Inside(t.Context())
	b.must(err)
	b.equal("changed inside", strings.Join(inside, " "), lib+"/deep/a.txt "+lib+"/new")
	for _, at := range []string{lib + "/deep", lib} {
		w.git("-C", at, "add", "-A")
		w.git("-C", at, "commit", "-q", "-m", "work in "+at)
	}
	inside, err = tree.Inside(t.Context())
	b.must(err)
	b.equal("all is committed", strings.Join(inside, " "), "")
	b.must(tree.Publish(t.Context()))
	w.git("commit", "-q", "-a", "-m", "take the submodule along")
	saved, err := b.repo.RemoveTree(t.Context(), dir, "end")
	b.must(err)
	if len(saved) > 0 {
		t.Errorf("kept aside: %+v", saved)
	}
	landed, err := b.repo.Land(t.Context(), LandInput{Branch: "main", From: b.head(), To: b.git("rev-parse", "ralph/t-1")})
	b.must(err)
	b.equal("how it landed", landed.How, LandedForward)
	b.equal("submodules that are where they were", strings.Join(landed.Behind, " "), lib)
	b.git("submodule", "--quiet", "update", "--no-fetch", "--recursive")
	b.want(lib+"/deep/a.txt", "deeper\n")
	b.want(lib+"/new", "new\n")
	b.git("-C", lib, "gc", "--quiet", "--prune=now")
	b.git("submodule", "--quiet", "update", "--no-fetch", "--recursive")
}

// R-H2: a submodule that the checkout does not have is empty in a worktree too, and named;
// one whose commit is not at hand is refused with the command that fetches it.
func TestSubmodulesThatAreNotAtHand(t *testing.T) {
	t.Parallel()
	b, lib := withLib(t)
	dir := b.pool("1")[0]
	b.git("update-index", "--cacheinfo", "160000,"+strings.Repeat("1", 40)+","+lib)
	b.git("commit", "-q", "-m", "a commit that was not fetched")
	in := b.task(dir, "t-1")
	in.From = b.head()
	_, err := b.repo.Enter(t.Context(), in)
	b.refused(err, "the submodule vendor/lib is not at hand at 1111111")

	b.git("reset", "-q", "--hard", "HEAD~1")
	b.git("submodule", "--quiet", "deinit", "-f", "--all")
	b.must(discard(filepath.Join(b.dir, ".git", modulesName)))
	in = b.task(dir, "t-2")
	in.From = b.head()
	if e := b.mustEnter(in); len(e.Empty) != 1 || e.Empty[0] != lib {
		t.Errorf("empty: %q", e.Empty)
	}
}
