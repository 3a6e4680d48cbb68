package landing

import (
	"strings"
	"testing"

	"github.com/ralph-loop/ralph/internal/git"
	"github.com/ralph-loop/ralph/internal/git/commits"
	"github.com/ralph-loop/ralph/internal/git/diff"
	"github.com/ralph-loop/ralph/internal/git/refs"
	"github.com/ralph-loop/ralph/internal/git/worktrees"
)

// halfMerged is a worktree in which main is being merged into a task's branch, with
// a conflict in a.txt.
func halfMerged(t *testing.T) (b *testRepo, tree *git.Repo, theirs string) {
	t.Helper()
	b = newBox(t)
	dir := b.Path("ralph/.worktrees/1")
	base := b.Head()
	e, err := worktrees.Enter(t.Context(), b.repo, worktrees.EnterInput{Dir: dir, Branch: "ralph/t-1", From: base, ID: "x"})
	b.Must(err)
	b.Write("a.txt", "theirs\n")
	b.Git("commit", "-q", "-a", "-m", "theirs")
	tree, err = b.repo.Tree(e.Dir)
	b.Must(err)
	b.Write("ralph/.worktrees/1/a.txt", "ours\n")
	b.Git("-C", dir, "commit", "-q", "-a", "-m", "ours")
	files, err := MergeHere(t.Context(), tree, b.Head(), "merge\n")
	b.Must(err)
	if len(files) != 1 || files[0].Path != "a.txt" {
		t.Fatalf("conflicts: %+v", files)
	}
	return b, tree, b.Head()
}

func concludeInput(base string) commits.Input {
	return commits.Input{Base: base, Branch: "ralph/t-1", Message: "both\n\nRalph-Receipt: k1\n", Trailer: "Ralph-Receipt", Key: "k1"}
}

// the merge that an agent resolved is concluded by one commit with both
// parents, once; while markers are left it is refused.
func TestConclude(t *testing.T) {
	t.Parallel()
	b, tree, theirs := halfMerged(t)
	in := concludeInput(theirs)
	_, err := Conclude(t.Context(), tree, in)
	b.Refused(err, "conflicts are left in a.txt")
	if state, err := Merging(t.Context(), tree, theirs); err != nil || state != MergeOpen {
		t.Errorf("the merge is %q, %v", state, err)
	}
	b.Write("ralph/.worktrees/1/a.txt", "both\n")
	b.Write("ralph/.worktrees/1/ralph/plan.jsonl", "{}\n")
	b.Git("-C", tree.Root(), "add", "-f", "-A")
	ours := b.Tip("ralph/t-1")
	c, err := Conclude(t.Context(), tree, in)
	b.Must(err)
	b.Equal("parents", b.Git("log", "-1", "--format=%P", c.Hash), ours+" "+theirs)
	b.Equal("files", b.Git("diff", "--name-only", theirs, c.Hash), "a.txt")
	b.Equal("branch", b.Tip("ralph/t-1"), c.Hash)
	again, err := Conclude(t.Context(), tree, in)
	b.Must(err)
	if again.Hash != c.Hash || !again.Found {
		t.Errorf("again: %+v, want %s", again, c.Hash)
	}
	if state, err := Merging(t.Context(), tree, theirs); err != nil || state != MergeDone {
		t.Errorf("the merge is %q, %v", state, err)
	}
}

// A hook that refuses the merge leaves it open; an agent that left the branch in
// the middle of it is told how to go back; one that undid it is found out.
func TestConcludeCannot(t *testing.T) {
	t.Parallel()
	b, tree, theirs := halfMerged(t)
	b.Write("ralph/.worktrees/1/a.txt", "both\n")
	b.Git("-C", tree.Root(), "add", "-A")
	b.Hook("pre-commit", "echo no >&2; exit 1")
	if _, err := Conclude(t.Context(), tree, concludeInput(theirs)); err == nil || !strings.Contains(err.Error(), "no") {
		t.Errorf("with a hook that refuses: %v", err)
	}
	b.Remove(".git/hooks/pre-commit")
	b.Git("-C", tree.Root(), "symbolic-ref", "HEAD", "refs/heads/elsewhere")
	b.Git("branch", "elsewhere", "ralph/t-1")
	_, err := Conclude(t.Context(), tree, concludeInput(theirs))
	b.Refused(err, "HEAD left the branch ralph/t-1")
	b.Git("-C", tree.Root(), "symbolic-ref", "HEAD", "refs/heads/ralph/t-1")
	b.Git("-C", tree.Root(), "reset", "-q", "--merge")
	if state, err := Merging(t.Context(), tree, theirs); err != nil || state != MergeNone {
		t.Errorf("the merge is %q, %v", state, err)
	}
}

// A worktree of the pool that stands on a branch gets off it, with its files as
// they are; a person's own checkout of it stays.
func TestFreeBranch(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	one, two := b.Path("ralph/.worktrees/1"), b.Path("ralph/.worktrees/2")
	for dir, branch := range map[string]string{one: "ralph/t-1", two: ""} {
		_, err := worktrees.Enter(t.Context(), b.repo, worktrees.EnterInput{Dir: dir, Branch: branch, From: b.Head(), ID: "x"})
		b.Must(err)
	}
	b.Write("ralph/.worktrees/1/new.txt", "new\n")
	b.Must(worktrees.FreeBranch(t.Context(), b.repo, "ralph/t-1", one))
	b.Equal("its own", b.Git("-C", one, "rev-parse", "--abbrev-ref", "HEAD"), "ralph/t-1")
	b.Must(worktrees.FreeBranch(t.Context(), b.repo, "ralph/t-1", two))
	b.Equal("another's", b.Git("-C", one, "rev-parse", "--abbrev-ref", "HEAD"), "HEAD")
	b.Equal("its files", b.Git("-C", one, "status", "--porcelain"), "?? new.txt")
	b.Must(worktrees.FreeBranch(t.Context(), b.repo, "main", one))
	b.Equal("a person's", b.Git("rev-parse", "--abbrev-ref", "HEAD"), "main")
}

// What checks drop goes, ignored files stay; a clean worktree costs no process.
func TestTidy(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.Write(".gitignore", "cache/\n")
	b.Git("add", "-A")
	b.Git("commit", "-q", "-m", "ignore")
	dir := b.Path("ralph/.worktrees/merge")
	_, err := worktrees.Enter(t.Context(), b.repo, worktrees.EnterInput{Dir: dir, From: b.Head(), ID: "x"})
	b.Must(err)
	tree, err := b.repo.Tree(dir)
	b.Must(err)
	for _, name := range []string{"cache/x", "dropped/y", "a.txt"} {
		b.Write("ralph/.worktrees/merge/"+name, "of a check\n")
	}
	b.Must(worktrees.Tidy(t.Context(), tree))
	b.Equal("what is left", b.Git("-C", dir, "status", "--porcelain", "--ignored"), "!! cache/")
	b.Want("ralph/.worktrees/merge/a.txt", "a\n")
}

// The note that a worktree was set up goes with the worktree.
func TestNoteSetUp(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	dir := b.Path("ralph/.worktrees/1")
	enter := func() *git.Repo {
		_, err := worktrees.Enter(t.Context(), b.repo, worktrees.EnterInput{Dir: dir, Branch: "ralph/t-1", From: b.Head(), ID: "x"})
		b.Must(err)
		tree, err := b.repo.Tree(dir)
		b.Must(err)
		return tree
	}
	tree := enter()
	b.Equal("at first", worktrees.SetUpAs(tree), "")
	b.Must(worktrees.NoteSetUp(tree, "abc"))
	b.Equal("noted", worktrees.SetUpAs(tree), "abc")
	b.Must(worktrees.NoteSetUp(tree, ""))
	b.Must(worktrees.NoteSetUp(tree, ""))
	b.Equal("taken away", worktrees.SetUpAs(tree), "")
	b.Must(worktrees.NoteSetUp(tree, "abc"))
	if _, err := worktrees.Remove(t.Context(), b.repo, dir, "x"); err != nil {
		t.Fatal(err)
	}
	b.Equal("in a new one", worktrees.SetUpAs(enter()), "")
}

// What a patch shows is not for its author to say: neither attributes nor settings nor
// replaced objects hide a file (issue 6: tests and secrets are looked for in it).
func TestPatchHidesNothing(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.Write(".gitattributes", "*.old -diff\n")
	b.Git("add", "-A")
	b.Git("commit", "-q", "-m", "attributes")
	from := b.Head()
	b.Write(".gitattributes", "* -diff\n")
	b.Write("sub/.gitattributes", "*.env binary\n")
	b.Write("attributes", "* -diff\n")
	for _, name := range []string{"sub/a.env", "b.txt", "c.old", "d.txt"} {
		b.Write(name, "added to "+name+"\n")
	}
	b.Git("add", "-A")
	b.Git("commit", "-q", "-m", "work")
	b.Git("config", "core.attributesFile", "attributes")
	b.Git("config", "core.bigFileThreshold", "1")
	b.Write("d.txt", "harmless\n")
	b.Git("replace", strings.TrimSpace(b.Git("rev-parse", "HEAD:d.txt")), strings.TrimSpace(b.Git("hash-object", "-w", "d.txt")))
	patch, err := diff.Patch(t.Context(), b.repo, from, b.Head(), 1<<20)
	b.Must(err)
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
	b.Write("long.txt", long+"x\n"+long)
	b.Git("add", "-A")
	b.Git("commit", "-q", "-m", "long")
	from := b.Head()
	b.Git("mv", "long.txt", "moved.txt")
	b.Write("moved.txt", long+"y\n"+long)
	b.Git("commit", "-q", "-a", "-m", "move")
	patch, err := diff.Patch(t.Context(), b.repo, from, b.Head(), 1<<20)
	b.Must(err)
	text := string(patch)
	if !strings.Contains(text, "rename from long.txt") || strings.Count(text, "\n line") != 2*diff.PatchContext {
		t.Errorf("the patch:\n%s", text)
	}
	if cut, err := diff.Patch(t.Context(), b.repo, from, b.Head(), 60); err != nil || len(cut) == 0 || len(cut) > 60 || cut[len(cut)-1] != '\n' {
		t.Errorf("cut off: %q, %v", cut, err)
	}
	if tip, err := refs.Tip(t.Context(), b.repo, "main"); err != nil || tip != b.Head() {
		t.Errorf("main is at %s, %v", tip, err)
	}
	if tip, err := refs.Tip(t.Context(), b.repo, "gone"); err != nil || tip != "" {
		t.Errorf("a branch that is not there is at %s, %v", tip, err)
	}
}

// R-H1: likewise the commit of a merge, which is under way again after it, and the one commit
// of a spec.
func TestHookThatRewritesAMerge(t *testing.T) {
	t.Parallel()
	b, tree, theirs := halfMerged(t)
	b.Write("ralph/.worktrees/1/a.txt", "both\n")
	b.Git("-C", tree.Root(), "add", "a.txt")
	ours := b.Tip("ralph/t-1")
	b.Hook("pre-commit", "echo formatted > a.txt; git add a.txt")
	_, err := Conclude(t.Context(), tree, concludeInput(theirs))
	b.Equal("rewritten", strings.Join(commits.FilesRewritten(err), " "), "a.txt")
	b.Equal("branch", b.Tip("ralph/t-1"), ours)
	if state, err := Merging(t.Context(), tree, theirs); err != nil || state != MergeOpen {
		t.Errorf("the merge is %q, %v", state, err)
	}
	c, err := Conclude(t.Context(), tree, concludeInput(theirs))
	b.Must(err)
	b.Equal("parents", b.Git("log", "-1", "--format=%P", c.Hash), ours+" "+theirs)
	b.Equal("the file", b.Git("show", c.Hash+":a.txt"), "formatted")

	b.Hook("pre-commit", "exit 0")
	tip := b.branch("ralph/t-2", theirs, write("new.txt", "new\n"))
	b.Hook("pre-commit", "echo formatted > a.txt; git add a.txt")
	w := b.linked("scratch", theirs)
	w.Git("checkout", "-q", "--detach")
	in := SquashInput{Base: theirs, Tip: tip, Trailer: "Ralph-Receipt", Key: "r1", Message: "ralph: complete x\n\nRalph-Receipt: r1\n"}
	for range 2 {
		_, err = SquashOnto(t.Context(), w.repo, in)
		b.Equal("rewritten", strings.Join(commits.FilesRewritten(err), " "), "a.txt")
		b.Equal("held", b.Git("for-each-ref", refs.MergeRefs), "")
	}
	b.Hook("pre-commit", "exit 0")
	c, err = SquashOnto(t.Context(), w.repo, in)
	b.Must(err)
	b.Equal("tree", c.Tree, b.Git("rev-parse", tip+"^{tree}"))
}
