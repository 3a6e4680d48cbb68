package git

import (
	"slices"
	"strings"
	"testing"
)

// R-H3: what checks write in a clean checkout is given back, by name and whole; what was
// in it is kept first, for a person may have written there too. New files stay.
func TestPutBack(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.write("od d/[x]*.txt", "one\n")
	b.git("add", "-A")
	b.git("commit", "-q", "-m", "odd")
	index := stat(b.repo.realIndex())
	tree := b.snapshot()

	back, err := b.repo.PutBack(t.Context(), tree, "baseline-1")
	if err != nil || len(back.Restored)+len(back.Left)+len(back.Saved) != 0 || back.Tree != tree {
		t.Fatalf("nothing was written: %+v, %v", back, err)
	}
	b.write("od d/[x]*.txt", "two\n")
	b.write("od d/new.txt", "new\n")
	b.remove("a.txt")
	back, err = b.repo.PutBack(t.Context(), tree, "baseline-1")
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(back.Restored, []string{"a.txt", "od d/[x]*.txt"}) || !slices.Equal(back.Left, []string{"od d/new.txt"}) || len(back.Saved) != 1 {
		t.Errorf("%+v", back)
	}
	if got := strings.TrimSpace(b.git("status", "--porcelain")); got != `?? "od d/new.txt"` {
		t.Errorf("the work tree has %q", got)
	}
	if got := b.git("show", back.Saved[0].Ref+":od d/[x]*.txt"); strings.TrimSpace(got) != "two" {
		t.Errorf("kept is %q", got)
	}
	if back.Tree != b.snapshot() || back.Tree == tree {
		t.Errorf("the tree after it is %s", back.Tree)
	}
	if sameFile(index, stat(b.repo.realIndex())) {
		return
	}
	if got := b.git("diff", "--cached", "--name-only"); strings.TrimSpace(got) != "" {
		t.Errorf("staged now: %s", got)
	}
}
