package landing

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph/internal/git"
	"github.com/ralph-loop/ralph/internal/git/refs"
)

// hereBox is a worktree with a task's branch checked out, and the integration
// branch that it has to take in.
func hereBox(t *testing.T, base, ours, theirs func(*testRepo)) (w *testRepo, commit string) {
	t.Helper()
	b := newBox(t)
	at := b.branch("base", b.Head(), base)
	commit = b.branch(integration, at, theirs)
	w = b.linked("ralph/t-1", at)
	ours(w)
	w.Git("add", "-A", "-f")
	w.Git("commit", "-q", "--allow-empty", "-m", "ours")
	return w, commit
}

func (b *testRepo) mergeHere(commit string) []string {
	b.T.Helper()
	files, err := MergeHere(b.T.Context(), b.repo, commit, "ralph: take in\n\nRalph-Task: t-1\n")
	b.Must(err)
	var paths []string
	for _, f := range files {
		paths = append(paths, f.Path)
	}
	return paths
}

func (b *testRepo) unresolved() []string {
	b.T.Helper()
	paths, err := Unresolved(b.T.Context(), b.repo)
	b.Must(err)
	return paths
}

func TestMergeHereCommitsWhatMerges(t *testing.T) {
	t.Parallel()
	w, commit := hereBox(t, nothing, write("ours.txt", "o"), both(write("theirs.txt", "t"), write("ralph/plan.jsonl", "x"), write("build/ralph-logs/x", "")))
	before := w.Head()
	if paths := w.mergeHere(commit); paths != nil {
		t.Fatalf("conflicts: %q", paths)
	}
	w.Equal("parents", w.Git("log", "-1", "--format=%P"), before+" "+commit)
	w.Equal("message", w.Git("log", "-1", "--format=%B"), "ralph: take in\n\nRalph-Task: t-1")
	w.Equal("files", w.Git("ls-tree", "-r", "--name-only", "HEAD"), "a.txt\ndir/b.txt\ndir/sub/c.txt\nours.txt\ntheirs.txt")
	w.Equal("status", w.Status(), "")
	done := w.Head()
	if paths := w.mergeHere(commit); paths != nil || w.Head() != done {
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
	ahead := b.branch(integration, b.Head(), write("x", ""))
	if paths := b.mergeHere(ahead); paths != nil || b.Git("log", "-1", "--format=%P %s") == "" {
		t.Errorf("conflicts %q", paths)
	}
	b.Equal("subject", b.Git("log", "-1", "--format=%s"), "ralph: take in")
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
	w.Want(progressFile, "start\nours\ntheirs\n")
	w.Want("ralph/plan.jsonl", "ours\n")
	if paths := w.mergeHere(commit); !slices.Equal(paths, all) { // the engine was killed
		t.Errorf("again %q", paths)
	}
	if paths := w.unresolved(); !slices.Equal(paths, all) {
		t.Errorf("unresolved %q", paths)
	}
	w.Git("add", "-A") // an agent that thinks it is done
	if paths := w.unresolved(); !slices.Equal(paths, all[:2]) {
		t.Errorf("unresolved after git add %q", paths)
	}
	w.Git("commit", "-q", "-m", "done, says the agent")
	w.Write("more.txt", "")
	w.Git("add", "-A")
	w.Git("commit", "-q", "-m", "and more")
	if paths := w.unresolved(); !slices.Equal(paths, all[:2]) {
		t.Errorf("unresolved after the commit %q", paths)
	}
	w.Write("a.txt", "both\n")
	w.Write("doc.md", "<<<<<<< an example\nboth\n")
	if paths := w.unresolved(); len(paths) > 0 {
		t.Errorf("resolved, but %q", paths)
	}
	w.Git("switch", "-q", "-f", "--detach", commit) // the worktree's next task
	w.Write("doc.md", "<<<<<<< an example\n>>>>>>> another\n")
	if paths := w.unresolved(); len(paths) > 0 {
		t.Errorf("of another task: %q", paths)
	}
}

func TestMergeHereRefuses(t *testing.T) {
	t.Parallel()
	w, commit := hereBox(t, nothing, write("a.txt", "ours\n"), write("a.txt", "theirs\n"))
	w.Write("a.txt", "not committed\n")
	head := w.Head()
	if paths, err := MergeHere(t.Context(), w.repo, commit, "m"); err == nil {
		t.Errorf("over changes that no commit has: %q", paths)
	}
	w.Want("a.txt", "not committed\n")
	w.Equal("HEAD", w.Head(), head)
	w.Git("checkout", "-q", "a.txt")
	w.mergeHere(commit)
	_, err := MergeHere(t.Context(), w.repo, head, "m")
	w.Refused(err, "merge is unfinished")
}

// A spec lands as one commit, with hooks, on top of the base (X-69, D-068).
func TestSquashOnto(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	base := b.Head()
	one := b.branch("ralph/t-1", base, both(write("one.txt", "1\n"), remove("dir/b.txt")))
	b.branch("ralph/t-2", one, write("two.txt", "2\n"))
	tip := b.Tip("ralph/t-2")
	w := b.linked("scratch", base)
	w.Git("checkout", "-q", "--detach")
	b.Hook("pre-commit", "git diff --cached --name-only >hooked; ls >listed")
	in := SquashInput{Base: base, Tip: tip, Trailer: "Ralph-Receipt", Key: "r1", Message: "ralph: complete x\n\nRalph-Receipt: r1\n"}
	c, err := SquashOnto(t.Context(), w.repo, in)
	b.Must(err)
	b.Equal("parent", b.Git("log", "-1", "--format=%P", c.Hash), base)
	b.Equal("tree", c.Tree, b.Git("rev-parse", tip+"^{tree}"))
	b.Equal("message", b.Git("log", "-1", "--format=%B", c.Hash), "ralph: complete x\n\nRalph-Receipt: r1")
	w.Want("hooked", "dir/b.txt\none.txt\ntwo.txt\n")
	if !strings.Contains(w.Read("listed"), "two.txt") {
		t.Error("the hook did not see the files")
	}
	b.Equal("held", b.Git("rev-parse", refs.MergeRef("r1")), c.Hash)
	for _, prepare := range []func(){
		func() {},
		func() { b.Git("update-ref", "-d", refs.MergeRef("r1")) }, // killed before it was held
		func() { w.Git("checkout", "-q", "--detach", base) },
	} {
		prepare()
		again, err := SquashOnto(t.Context(), w.repo, in)
		b.Must(err)
		if !again.Found || again.Hash != c.Hash {
			t.Errorf("again %+v", again)
		}
	}
	in.Key, in.Message = "r2", strings.ReplaceAll(in.Message, "r1", "r2")
	w.Git("checkout", "-q", "--detach", tip)
	w.Git("reset", "-q", "--soft", base) // killed before the commit
	if c, err = SquashOnto(t.Context(), w.repo, in); err != nil || c.Tree != b.Git("rev-parse", tip+"^{tree}") {
		t.Errorf("after a kill: %+v %v", c, err)
	}
	w.Write("a.txt", "changed by a check\n")
	in.Key, in.Message = "r3", strings.ReplaceAll(in.Message, "r2", "r3")
	_, err = SquashOnto(t.Context(), w.repo, in)
	b.Refused(err, "a.txt")
	w.Git("checkout", "-q", "a.txt")
	b.Hook("pre-commit", "echo no >&2; exit 1")
	if _, err := SquashOnto(t.Context(), w.repo, in); git.ExitOf(err) != 1 {
		t.Errorf("a hook that refuses: %v", err)
	}
	b.Must(os.Remove(b.Path(".git/hooks/pre-commit")))
	if _, err := SquashOnto(t.Context(), w.repo, in); err != nil {
		t.Errorf("after the hook was mended: %v", err)
	}
}

// B-078, X-73: a merge, or a range that was fast-forwarded, is undone as one.
func TestRevert(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	base := b.Head()
	w := b.linked("range", base)
	for _, text := range []string{"1\n", "2\n"} {
		w.Write("a.txt", text)
		w.Write("new"+text[:1], text)
		w.Git("add", "-A")
		w.Git("commit", "-q", "-m", text)
	}
	tip := w.Head()
	w.Write("later.txt", "")
	w.Git("add", "-A")
	w.Git("commit", "-q", "-m", "later")
	onto := w.Head()
	before := b.All()
	in := RevertInput{Onto: onto, From: base, To: tip, Message: "Revert \"t-1\"\n\nRalph-Revert: t-1\n", Key: "v1"}
	c, err := Revert(t.Context(), b.repo, in)
	b.Must(err)
	b.Untouched(before)
	b.Equal("parent", b.Git("log", "-1", "--format=%P", c), onto)
	b.Equal("what is left", b.Git("diff", "--name-only", base, c), "later.txt")
	b.Equal("message", b.Git("log", "-1", "--format=%s", c), `Revert "t-1"`)
	b.Equal("held", b.Git("rev-parse", refs.MergeRef("v1")), c)
	in.Onto = c
	again, err := Revert(t.Context(), b.repo, in)
	b.Must(err)
	b.Equal("nothing left to undo", again, c)

	// The same as git's own, for a merge.
	side := b.branch("side", base, write("dir/b.txt", "side\n"))
	w.Git("merge", "-q", "-m", "m", side)
	merge := w.Head()
	first := w.Git("rev-parse", "HEAD^1")
	c, err = Revert(t.Context(), b.repo, RevertInput{Onto: merge, From: first, To: merge, Message: "r", Key: "v2"})
	b.Must(err)
	w.Git("revert", "--no-edit", "-m", "1", merge)
	b.Equal("as git does it", b.Git("rev-parse", c+"^{tree}"), w.Git("rev-parse", "HEAD^{tree}"))

	b.Git("update-ref", "refs/heads/range", onto)
	clash := b.branch("clash", onto, write("a.txt", "more\n"))
	_, err = Revert(t.Context(), b.repo, RevertInput{Onto: clash, From: base, To: tip, Message: "r", Key: "v3"})
	b.Refused(err, "a.txt")
	_, err = Revert(t.Context(), b.repo, RevertInput{Onto: side, From: base, To: tip, Message: "r", Key: "v4"})
	b.Refused(err, "not in the branch")
	b.Fsck()
}
