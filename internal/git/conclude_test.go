package git

import (
	"strings"
	"testing"
)

// halfMerged is a worktree in which main is being merged into a task's branch, with
// a conflict in a.txt.
func halfMerged(t *testing.T) (b *testRepo, tree *Repo, theirs string) {
	t.Helper()
	b = newBox(t)
	dir := b.path("ralph/.worktrees/1")
	base := b.head()
	e, err := b.repo.Enter(t.Context(), EnterInput{Dir: dir, Branch: "ralph/t-1", From: base, ID: "x"})
	b.must(err)
	b.write("a.txt", "theirs\n")
	b.git("commit", "-q", "-a", "-m", "theirs")
	tree, err = b.repo.Tree(e.Dir)
	b.must(err)
	b.write("ralph/.worktrees/1/a.txt", "ours\n")
	b.git("-C", dir, "commit", "-q", "-a", "-m", "ours")
	files, err := tree.MergeHere(t.Context(), b.head(), "merge\n")
	b.must(err)
	if len(files) != 1 || files[0].Path != "a.txt" {
		t.Fatalf("conflicts: %+v", files)
	}
	return b, tree, b.head()
}

func concludeInput(base string) CommitInput {
	return CommitInput{Base: base, Branch: "ralph/t-1", Message: "both\n\nRalph-Receipt: k1\n", Trailer: "Ralph-Receipt", Key: "k1"}
}

// the merge that an agent resolved is concluded by one commit with both
// parents, once; while markers are left it is refused.
func TestConclude(t *testing.T) {
	t.Parallel()
	b, tree, theirs := halfMerged(t)
	in := concludeInput(theirs)
	_, err := tree.Conclude(t.Context(), in)
	b.refused(err, "conflicts are left in a.txt")
	if state, err := tree.Merging(t.Context(), theirs); err != nil || state != MergeOpen {
		t.Errorf("the merge is %q, %v", state, err)
	}
	b.write("ralph/.worktrees/1/a.txt", "both\n")
	b.write("ralph/.worktrees/1/ralph/plan.jsonl", "{}\n")
	b.git("-C", tree.root, "add", "-f", "-A")
	ours := b.git("rev-parse", "ralph/t-1")
	c, err := tree.Conclude(t.Context(), in)
	b.must(err)
	b.equal("parents", b.git("log", "-1", "--format=%P", c.Hash), ours+" "+theirs)
	b.equal("files", b.git("diff", "--name-only", theirs, c.Hash), "a.txt")
	b.equal("branch", b.git("rev-parse", "ralph/t-1"), c.Hash)
	again, err := tree.Conclude(t.Context(), in)
	b.must(err)
	if again.Hash != c.Hash || !again.Found {
		t.Errorf("again: %+v, want %s", again, c.Hash)
	}
	if state, err := tree.Merging(t.Context(), theirs); err != nil || state != MergeDone {
		t.Errorf("the merge is %q, %v", state, err)
	}
}

// A hook that refuses the merge leaves it open; an agent that left the branch in
// the middle of it is told how to go back; one that undid it is found out.
func TestConcludeCannot(t *testing.T) {
	t.Parallel()
	b, tree, theirs := halfMerged(t)
	b.write("ralph/.worktrees/1/a.txt", "both\n")
	b.git("-C", tree.root, "add", "-A")
	b.hook("pre-commit", "echo no >&2; exit 1")
	if _, err := tree.Conclude(t.Context(), concludeInput(theirs)); err == nil || !strings.Contains(err.Error(), "no") {
		t.Errorf("with a hook that refuses: %v", err)
	}
	b.remove(".git/hooks/pre-commit")
	b.git("-C", tree.root, "symbolic-ref", "HEAD", "refs/heads/elsewhere")
	b.git("branch", "elsewhere", "ralph/t-1")
	_, err := tree.Conclude(t.Context(), concludeInput(theirs))
	b.refused(err, "HEAD left the branch ralph/t-1")
	b.git("-C", tree.root, "symbolic-ref", "HEAD", "refs/heads/ralph/t-1")
	b.git("-C", tree.root, "reset", "-q", "--merge")
	if state, err := tree.Merging(t.Context(), theirs); err != nil || state != MergeNone {
		t.Errorf("the merge is %q, %v", state, err)
	}
}

// A worktree of the pool that stands on a branch gets off it, with its files as
// they are; a person's own checkout of it stays.
func TestFreeBranch(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	one, two := b.path("ralph/.worktrees/1"), b.path("ralph/.worktrees/2")
	for dir, branch := range map[string]string{one: "ralph/t-1", two: ""} {
		_, err := b.repo.Enter(t.Context(), EnterInput{Dir: dir, Branch: branch, From: b.head(), ID: "x"})
		b.must(err)
	}
	b.write("ralph/.worktrees/1/new.txt", "new\n")
	b.must(b.repo.FreeBranch(t.Context(), "ralph/t-1", one))
	b.equal("its own", b.git("-C", one, "rev-parse", "--abbrev-ref", "HEAD"), "ralph/t-1")
	b.must(b.repo.FreeBranch(t.Context(), "ralph/t-1", two))
	b.equal("another's", b.git("-C", one, "rev-parse", "--abbrev-ref", "HEAD"), "HEAD")
	b.equal("its files", b.git("-C", one, "status", "--porcelain"), "?? new.txt")
	b.must(b.repo.FreeBranch(t.Context(), "main", one))
	b.equal("a person's", b.git("rev-parse", "--abbrev-ref", "HEAD"), "main")
}

// What checks drop goes, ignored files stay; a clean worktree costs no process.
func TestTidy(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.write(".gitignore", "cache/\n")
	b.git("add", "-A")
	b.git("commit", "-q", "-m", "ignore")
	dir := b.path("ralph/.worktrees/merge")
	_, err := b.repo.Enter(t.Context(), EnterInput{Dir: dir, From: b.head(), ID: "x"})
	b.must(err)
	tree, err := b.repo.Tree(dir)
	b.must(err)
	for _, name := range []string{"cache/x", "dropped/y", "a.txt"} {
		b.write("ralph/.worktrees/merge/"+name, "of a check\n")
	}
	b.must(tree.Tidy(t.Context()))
	b.equal("what is left", b.git("-C", dir, "status", "--porcelain", "--ignored"), "!! cache/")
	b.want("ralph/.worktrees/merge/a.txt", "a\n")
}

// The note that a worktree was set up goes with the worktree.
func TestNoteSetUp(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	dir := b.path("ralph/.worktrees/1")
	enter := func() *Repo {
		_, err := b.repo.Enter(t.Context(), EnterInput{Dir: dir, Branch: "ralph/t-1", From: b.head(), ID: "x"})
		b.must(err)
		tree, err := b.repo.Tree(dir)
		b.must(err)
		return tree
	}
	tree := enter()
	b.equal("at first", tree.SetUpAs(), "")
	b.must(tree.NoteSetUp("abc"))
	b.equal("noted", tree.SetUpAs(), "abc")
	b.must(tree.NoteSetUp(""))
	b.must(tree.NoteSetUp(""))
	b.equal("taken away", tree.SetUpAs(), "")
	b.must(tree.NoteSetUp("abc"))
	if _, err := b.repo.RemoveTree(t.Context(), dir, "x"); err != nil {
		t.Fatal(err)
	}
	b.equal("in a new one", enter().SetUpAs(), "")
}

// What a patch shows is not for its author to say: neither attributes nor settings nor
// replaced objects hide a file (issue 6: tests and secrets are looked for in it).
func TestPatchHidesNothing(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.write(".gitattributes", "*.old -diff\n")
	b.git("add", "-A")
	b.git("commit", "-q", "-m", "attributes")
	from := b.head()
	b.write(".gitattributes", "* -diff\n")
	b.write("sub/.gitattributes", "*.env binary\n")
	b.write("attributes", "* -diff\n")
	for _, name := range []string{"sub/a.env", "b.txt", "c.old", "d.txt"} {
		b.write(name, "added to "+name+"\n")
	}
	b.git("add", "-A")
	b.git("commit", "-q", "-m", "work")
	b.git("config", "core.attributesFile", "attributes")
	b.git("config", "core.bigFileThreshold", "1")
	b.write("d.txt", "harmless\n")
	b.git("replace", strings.TrimSpace(b.git("rev-parse", "HEAD:d.txt")), strings.TrimSpace(b.git("hash-object", "-w", "d.txt")))
	patch, err := b.repo.Patch(t.Context(), from, b.head(), 1<<20)
	b.must(err)
	for _, name := range []string{"sub/a.env", "b.txt", "c.old", "d.txt"} {
		if !strings.Contains(string(patch), "+added to "+name) {
			t.Errorf("the patch hides %s:\n%s", name, patch)
		}
	}
}

// A patch for reading shows renames as such and more than git's three lines.
func TestPatch(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	long := strings.Repeat("line\n", 30)
	b.write("long.txt", long+"x\n"+long)
	b.git("add", "-A")
	b.git("commit", "-q", "-m", "long")
	from := b.head()
	b.git("mv", "long.txt", "moved.txt")
	b.write("moved.txt", long+"y\n"+long)
	b.git("commit", "-q", "-a", "-m", "move")
	patch, err := b.repo.Patch(t.Context(), from, b.head(), 1<<20)
	b.must(err)
	text := string(patch)
	if !strings.Contains(text, "rename from long.txt") || strings.Count(text, "\n line") != 2*patchContext {
		t.Errorf("the patch:\n%s", text)
	}
	if cut, err := b.repo.Patch(t.Context(), from, b.head(), 60); err != nil || len(cut) == 0 || len(cut) > 60 || cut[len(cut)-1] != '\n' {
		t.Errorf("cut off: %q, %v", cut, err)
	}
	if tip, err := b.repo.Tip(t.Context(), "main"); err != nil || tip != b.head() {
		t.Errorf("main is at %s, %v", tip, err)
	}
	if tip, err := b.repo.Tip(t.Context(), "gone"); err != nil || tip != "" {
		t.Errorf("a branch that is not there is at %s, %v", tip, err)
	}
}

// R-H1: likewise the commit of a merge, which is under way again after it, and the one commit
// of a spec.
func TestHookThatRewritesAMerge(t *testing.T) {
	t.Parallel()
	b, tree, theirs := halfMerged(t)
	b.write("ralph/.worktrees/1/a.txt", "both\n")
	b.git("-C", tree.root, "add", "a.txt")
	ours := b.git("rev-parse", "ralph/t-1")
	b.hook("pre-commit", "echo formatted > a.txt; git add a.txt")
	_, err := tree.Conclude(t.Context(), concludeInput(theirs))
	b.equal("rewritten", strings.Join(Rewritten(err), " "), "a.txt")
	b.equal("branch", b.git("rev-parse", "ralph/t-1"), ours)
	if state, err := tree.Merging(t.Context(), theirs); err != nil || state != MergeOpen {
		t.Errorf("the merge is %q, %v", state, err)
	}
	c, err := tree.Conclude(t.Context(), concludeInput(theirs))
	b.must(err)
	b.equal("parents", b.git("log", "-1", "--format=%P", c.Hash), ours+" "+theirs)
	b.equal("the file", b.git("show", c.Hash+":a.txt"), "formatted")

	b.hook("pre-commit", "exit 0")
	tip := b.branch("ralph/t-2", theirs, write("new.txt", "new\n"))
	b.hook("pre-commit", "echo formatted > a.txt; git add a.txt")
	w := b.linked("scratch", theirs)
	w.git("checkout", "-q", "--detach")
	in := SquashInput{Base: theirs, Tip: tip, Trailer: "Ralph-Receipt", Key: "r1", Message: "ralph: complete x\n\nRalph-Receipt: r1\n"}
	for range 2 {
		_, err = w.repo.SquashOnto(t.Context(), in)
		b.equal("rewritten", strings.Join(Rewritten(err), " "), "a.txt")
		b.equal("held", b.git("for-each-ref", mergeRefs), "")
	}
	b.hook("pre-commit", "exit 0")
	c, err = w.repo.SquashOnto(t.Context(), in)
	b.must(err)
	b.equal("tree", c.Tree, b.git("rev-parse", tip+"^{tree}"))
}
