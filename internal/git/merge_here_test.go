package git

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// hereBox is a worktree with a task's branch checked out, and the integration
// branch that it has to take in.
func hereBox(t *testing.T, base, ours, theirs func(*testRepo)) (w *testRepo, commit string) {
	t.Helper()
	b := newBox(t)
	at := b.branch("base", b.head(), base)
	commit = b.branch(integration, at, theirs)
	w = b.linked("ralph/t-1", at)
	ours(w)
	w.git("add", "-A", "-f")
	w.git("commit", "-q", "--allow-empty", "-m", "ours")
	return w, commit
}

func (b *testRepo) mergeHere(commit string) []string {
	b.t.Helper()
	files, err := b.repo.MergeHere(b.t.Context(), commit, "ralph: take in\n\nRalph-Task: t-1\n")
	b.must(err)
	var paths []string
	for _, f := range files {
		paths = append(paths, f.Path)
	}
	return paths
}

func (b *testRepo) unresolved() []string {
	b.t.Helper()
	paths, err := b.repo.Unresolved(b.t.Context())
	b.must(err)
	return paths
}

func TestMergeHereCommitsWhatMerges(t *testing.T) {
	t.Parallel()
	w, commit := hereBox(t, nothing, write("ours.txt", "o"), both(write("theirs.txt", "t"), write("ralph/plan.jsonl", "x"), write("build/ralph-logs/x", "")))
	before := w.head()
	if paths := w.mergeHere(commit); paths != nil {
		t.Fatalf("conflicts: %q", paths)
	}
	w.equal("parents", w.git("log", "-1", "--format=%P"), before+" "+commit)
	w.equal("message", w.git("log", "-1", "--format=%B"), "ralph: take in\n\nRalph-Task: t-1")
	w.equal("files", w.git("ls-tree", "-r", "--name-only", "HEAD"), "a.txt\ndir/b.txt\ndir/sub/c.txt\nours.txt\ntheirs.txt")
	w.equal("status", w.status(), "")
	done := w.head()
	if paths := w.mergeHere(commit); paths != nil || w.head() != done {
		t.Error("merged twice")
	}
	if paths := w.unresolved(); len(paths) > 0 {
		t.Errorf("unresolved: %q", paths)
	}
}

// A branch that could be moved forward gets a merge commit with the trailer too.
func TestMergeHereOfWhatIsAhead(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	ahead := b.branch(integration, b.head(), write("x", ""))
	if paths := b.mergeHere(ahead); paths != nil || b.git("log", "-1", "--format=%P %s") == "" {
		t.Errorf("conflicts %q", paths)
	}
	b.equal("subject", b.git("log", "-1", "--format=%s"), "ralph: take in")
}

func TestMergeHereLeavesConflicts(t *testing.T) {
	t.Parallel()
	base := both(write("doc.md", "<<<<<<< an example\n"), write("gone.txt", "0\n"), write(progressFile, "start\n"), write("ralph/plan.jsonl", "0\n"))
	ours := both(write("a.txt", "ours\n"), write("doc.md", "<<<<<<< an example\nours\n"), remove("gone.txt"), write(progressFile, "start\nours\n"), write("ralph/plan.jsonl", "ours\n"))
	theirs := both(write("a.txt", "theirs\n"), write("doc.md", "<<<<<<< an example\ntheirs\n"), write("gone.txt", "1\n"), write(progressFile, "start\ntheirs\n"), write("ralph/plan.jsonl", "theirs\n"))
	w, commit := hereBox(t, base, ours, theirs)
	all := []string{"a.txt", "doc.md", "gone.txt"}
	if paths := w.mergeHere(commit); !slices.Equal(paths, all) {
		t.Fatalf("conflicts %q", paths)
	}
	w.want(progressFile, "start\nours\ntheirs\n")
	w.want("ralph/plan.jsonl", "ours\n")
	if paths := w.mergeHere(commit); !slices.Equal(paths, all) { // the engine was killed
		t.Errorf("again %q", paths)
	}
	if paths := w.unresolved(); !slices.Equal(paths, all) {
		t.Errorf("unresolved %q", paths)
	}
	w.git("add", "-A") // an agent that thinks it is done
	if paths := w.unresolved(); !slices.Equal(paths, all[:2]) {
		t.Errorf("unresolved after git add %q", paths)
	}
	w.git("commit", "-q", "-m", "done, says the agent")
	w.write("more.txt", "")
	w.git("add", "-A")
	w.git("commit", "-q", "-m", "and more")
	if paths := w.unresolved(); !slices.Equal(paths, all[:2]) {
		t.Errorf("unresolved after the commit %q", paths)
	}
	w.write("a.txt", "both\n")
	w.write("doc.md", "<<<<<<< an example\nboth\n")
	if paths := w.unresolved(); len(paths) > 0 {
		t.Errorf("resolved, but %q", paths)
	}
	w.git("switch", "-q", "-f", "--detach", commit) // the worktree's next task
	w.write("doc.md", "<<<<<<< an example\n>>>>>>> another\n")
	if paths := w.unresolved(); len(paths) > 0 {
		t.Errorf("of another task: %q", paths)
	}
}

func TestMergeHereRefuses(t *testing.T) {
	t.Parallel()
	w, commit := hereBox(t, nothing, write("a.txt", "ours\n"), write("a.txt", "theirs\n"))
	w.write("a.txt", "not committed\n")
	head := w.head()
	if paths, err := w.repo.MergeHere(t.Context(), commit, "m"); err == nil {
		t.Errorf("over changes that no commit has: %q", paths)
	}
	w.want("a.txt", "not committed\n")
	w.equal("HEAD", w.head(), head)
	w.git("checkout", "-q", "a.txt")
	w.mergeHere(commit)
	_, err := w.repo.MergeHere(t.Context(), head, "m")
	w.refused(err, "merge is unfinished")
}

// A spec lands as one commit, with hooks, on top of the base (X-69, D-068).
func TestSquashOnto(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	base := b.head()
	one := b.branch("ralph/t-1", base, both(write("one.txt", "1\n"), remove("dir/b.txt")))
	b.branch("ralph/t-2", one, write("two.txt", "2\n"))
	tip := b.git("rev-parse", "ralph/t-2")
	w := b.linked("scratch", base)
	w.git("checkout", "-q", "--detach")
	b.hook("pre-commit", "git diff --cached --name-only >hooked; ls >listed")
	in := SquashInput{Base: base, Tip: tip, Trailer: "Ralph-Receipt", Key: "r1", Message: "ralph: complete x\n\nRalph-Receipt: r1\n"}
	c, err := w.repo.SquashOnto(t.Context(), in)
	b.must(err)
	b.equal("parent", b.git("log", "-1", "--format=%P", c.Hash), base)
	b.equal("tree", c.Tree, b.git("rev-parse", tip+"^{tree}"))
	b.equal("message", b.git("log", "-1", "--format=%B", c.Hash), "ralph: complete x\n\nRalph-Receipt: r1")
	w.want("hooked", "dir/b.txt\none.txt\ntwo.txt\n")
	if !strings.Contains(w.read("listed"), "two.txt") {
		t.Error("the hook did not see the files")
	}
	b.equal("held", b.git("rev-parse", mergeRef("r1")), c.Hash)
	for _, prepare := range []func(){
		func() {},
		func() { b.git("update-ref", "-d", mergeRef("r1")) }, // killed before it was held
		func() { w.git("checkout", "-q", "--detach", base) },
	} {
		prepare()
		again, err := w.repo.SquashOnto(t.Context(), in)
		b.must(err)
		if !again.Found || again.Hash != c.Hash {
			t.Errorf("again %+v", again)
		}
	}
	in.Key, in.Message = "r2", strings.ReplaceAll(in.Message, "r1", "r2")
	w.git("checkout", "-q", "--detach", tip)
	w.git("reset", "-q", "--soft", base) // killed before the commit
	if c, err = w.repo.SquashOnto(t.Context(), in); err != nil || c.Tree != b.git("rev-parse", tip+"^{tree}") {
		t.Errorf("after a kill: %+v %v", c, err)
	}
	w.write("a.txt", "changed by a check\n")
	in.Key, in.Message = "r3", strings.ReplaceAll(in.Message, "r2", "r3")
	_, err = w.repo.SquashOnto(t.Context(), in)
	b.refused(err, "a.txt")
	w.git("checkout", "-q", "a.txt")
	b.hook("pre-commit", "echo no >&2; exit 1")
	if _, err := w.repo.SquashOnto(t.Context(), in); exitOf(err) != 1 {
		t.Errorf("a hook that refuses: %v", err)
	}
	b.must(os.Remove(b.path(".git/hooks/pre-commit")))
	if _, err := w.repo.SquashOnto(t.Context(), in); err != nil {
		t.Errorf("after the hook was mended: %v", err)
	}
}

// B-078, X-73: a merge, or a range that was fast-forwarded, is undone as one.
func TestRevert(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	base := b.head()
	w := b.linked("range", base)
	for _, text := range []string{"1\n", "2\n"} {
		w.write("a.txt", text)
		w.write("new"+text[:1], text)
		w.git("add", "-A")
		w.git("commit", "-q", "-m", text)
	}
	tip := w.head()
	w.write("later.txt", "")
	w.git("add", "-A")
	w.git("commit", "-q", "-m", "later")
	onto := w.head()
	before := b.all()
	in := RevertInput{Onto: onto, From: base, To: tip, Message: "Revert \"t-1\"\n\nRalph-Revert: t-1\n", Key: "v1"}
	c, err := b.repo.Revert(t.Context(), in)
	b.must(err)
	b.untouched(before)
	b.equal("parent", b.git("log", "-1", "--format=%P", c), onto)
	b.equal("what is left", b.git("diff", "--name-only", base, c), "later.txt")
	b.equal("message", b.git("log", "-1", "--format=%s", c), `Revert "t-1"`)
	b.equal("held", b.git("rev-parse", mergeRef("v1")), c)
	in.Onto = c
	again, err := b.repo.Revert(t.Context(), in)
	b.must(err)
	b.equal("nothing left to undo", again, c)

	// The same as git's own, for a merge.
	side := b.branch("side", base, write("dir/b.txt", "side\n"))
	w.git("merge", "-q", "-m", "m", side)
	merge := w.head()
	first := w.git("rev-parse", "HEAD^1")
	c, err = b.repo.Revert(t.Context(), RevertInput{Onto: merge, From: first, To: merge, Message: "r", Key: "v2"})
	b.must(err)
	w.git("revert", "--no-edit", "-m", "1", merge)
	b.equal("as git does it", b.git("rev-parse", c+"^{tree}"), w.git("rev-parse", "HEAD^{tree}"))

	b.git("update-ref", "refs/heads/range", onto)
	clash := b.branch("clash", onto, write("a.txt", "more\n"))
	_, err = b.repo.Revert(t.Context(), RevertInput{Onto: clash, From: base, To: tip, Message: "r", Key: "v3"})
	b.refused(err, "a.txt")
	_, err = b.repo.Revert(t.Context(), RevertInput{Onto: side, From: base, To: tip, Message: "r", Key: "v4"})
	b.refused(err, "not in the branch")
	b.fsck()
}
