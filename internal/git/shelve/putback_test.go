package shelve

import (
	"slices"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph/internal/git"
)

// R-H1, R-H3: what checks write in a checkout is given back, by name and whole; what was in
// it is kept first, for a person may have written there too. New files stay, and so does
// what may be somebody else's.
func TestPutBack(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.Write("od d/[x]*.txt", "one\n")
	b.Write("theirs.txt", "one\n")
	b.Git("add", "-A")
	b.Git("commit", "-q", "-m", "odd")
	b.Write("theirs.txt", "the agent's\n")
	index := git.Stat(b.repo.RealIndex())
	tree := b.snapshot()
	in := PutBackInput{Tree: tree, ID: "baseline-1", Mine: func(p string) bool { return p != "theirs.txt" }, Keep: func(p string) bool { return p == "wanted.txt" }}

	back, err := PutBack(t.Context(), b.repo, in)
	if err != nil || len(back.Restored)+len(back.Left)+len(back.Saved) != 0 || back.Tree != tree {
		t.Fatalf("nothing was written: %+v, %v", back, err)
	}
	for _, name := range []string{"od d/[x]*.txt", "od d/new.txt", "theirs.txt", "wanted.txt"} {
		b.Write(name, "two\n")
	}
	b.Remove("a.txt")
	back, err = PutBack(t.Context(), b.repo, in)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(back.Restored, []string{"a.txt", "od d/[x]*.txt"}) || !slices.Equal(back.Left, []string{"od d/new.txt"}) ||
		!slices.Equal(back.Other, []string{"theirs.txt"}) || !slices.Equal(back.Kept, []string{"wanted.txt"}) || len(back.Saved) != 1 {
		t.Errorf("%+v", back)
	}
	if got := strings.TrimSpace(b.Git("status", "--porcelain")); got != "M theirs.txt\n?? \"od d/new.txt\"\n?? wanted.txt" {
		t.Errorf("the work tree has %q", got)
	}
	if got := b.Git("show", back.Saved[0].Ref+":od d/[x]*.txt"); strings.TrimSpace(got) != "two" {
		t.Errorf("kept is %q", got)
	}
	if back.Tree != b.snapshot() || back.Tree == tree {
		t.Errorf("the tree after it is %s", back.Tree)
	}
	if len(back.Out) != 2 || back.Out[0].Path != "od d/new.txt" || back.Out[0].Was+back.Out[0].At != "" || back.Out[0].Now == "" ||
		back.Out[1].Was == "" || back.Out[1].At == "" || back.Out[1].At == back.Out[1].Was {
		t.Errorf("left out: %+v", back.Out)
	}
	if git.SameFile(index, git.Stat(b.repo.RealIndex())) {
		return
	}
	if got := b.Git("diff", "--cached", "--name-only"); strings.TrimSpace(got) != "" {
		t.Errorf("staged now: %s", got)
	}
}

// R-H1: in a worktree of ralph's own the tree that was checked is there again, whole.
func TestPutBackInWorktree(t *testing.T) {
	t.Parallel()
	home := newBox(t)
	dir := home.TreeDir("1")
	home.Git("worktree", "add", "-q", "--detach", dir)
	r, err := home.repo.Tree(dir)
	home.Must(err)
	b := &testRepo{Box: home.At(dir), repo: r}
	b.Write("kept/x.txt", "the agent's\n")
	tree := b.snapshot()
	b.Write("a.txt", "changed\n")
	b.Write("lib/__pycache__/a.pyc", "code\n")
	b.Write("kept/y.txt", "made\n")
	back, err := PutBack(t.Context(), b.repo, PutBackInput{Tree: tree, ID: "checks-1", Mine: func(string) bool { return false }})
	if err != nil || back.Tree != tree || len(back.Out)+len(back.Saved)+len(back.Other) != 0 {
		t.Errorf("%+v, %v", back, err)
	}
	if !slices.Equal(back.Left, []string{"kept/y.txt", "lib/__pycache__/a.pyc"}) || git.Stat(b.repo.File("lib")) != nil || git.Stat(b.repo.File("kept/x.txt")) == nil {
		t.Errorf("left: %+v", back)
	}
}
