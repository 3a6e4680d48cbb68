package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// once is what a git of its own says of two trees.
func (b *testRepo) once(from, to string, form ...string) string {
	b.t.Helper()
	out, err := b.repo.compare(b.t.Context(), 1<<20, form, from, to)
	b.must(err)
	return string(out)
}

// Issue 17, row 1: patches, lists and trees of a git that stays are those of one that is
// started for them, and it goes on when everything around it changes.
func TestTalkSaysWhatAnotherGitSays(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	from := b.snapshot()
	for i, step := range []func(){
		func() { b.write("a.txt", "changed\n") },
		func() { b.write("new/er/x.txt", "x"); b.remove("dir/sub") },
		func() { b.git("gc", "-q", "--prune=never"); b.write("a.txt", "again\n") },
		func() { b.must(os.Symlink("a.txt", b.path("link"))); b.must(os.Chmod(b.path("a.txt"), 0o755)) },
		func() { b.repo.p.Kill(); b.write("a.txt", "after a kill\n") },
		func() { b.remove("link"); b.write("link/x", "a folder now\n") },
		func() { b.git("config", "diff.noprefix", "true"); b.write("ünï\nx", "odd name\n") },
		func() { b.must(os.Rename(b.path("a.txt"), b.path("b.txt"))) },
		func() {
			b.git("add", "-A")
			b.git("commit", "-q", "-m", "x")
			b.git("repack", "-Adq")
			b.write("b.txt", "packed\n")
		},
		func() { b.write("large.txt", strings.Repeat("line after line\n", 20_000)) },
		func() { b.write("long.txt", strings.Repeat("x", 200_000)) },
	} {
		step()
		to, err := b.repo.TreeKept(t.Context())
		b.must(err)
		b.equal(fmt.Sprint(i, " kept"), b.git("cat-file", "-t", to), "tree")
		patch, err := b.repo.Patch(t.Context(), from, to, 1<<20)
		b.must(err)
		b.equal(fmt.Sprint(i, " patch"), string(patch), b.once(from, to, "-p", "-M", "-U10"))
		plain, err := b.repo.Diff(t.Context(), from, to, 1<<20)
		b.must(err)
		b.equal(fmt.Sprint(i, " diff"), string(plain), b.once(from, to, "-p"))
		list, err := b.repo.changes(t.Context(), from, to)
		b.must(err)
		raw := ""
		for _, c := range list {
			raw += c.modes + " " + c.ids + " " + string(c.status) + "\x00" + c.path + "\x00"
		}
		b.equal(fmt.Sprint(i, " list"), raw, b.once(from, to, "--raw", "-z", "--no-abbrev", "--no-renames"))
		if i%2 == 0 {
			from = to
		}
	}
}

// A patch that is longer than asked for is cut after a whole line, and the next is whole.
func TestTalkCutsPatches(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	from := b.snapshot()
	b.write("large.txt", strings.Repeat("line after line\n", 20_000))
	to, err := b.repo.TreeKept(t.Context())
	b.must(err)
	whole := b.once(from, to, "-p")
	for range 3 {
		cut, err := b.repo.Diff(t.Context(), from, to, 1000)
		b.must(err)
		if len(cut) == 0 || len(cut) > 1000 || !strings.HasPrefix(whole, string(cut)) || !strings.HasSuffix(string(cut), "\n") {
			t.Errorf("cut to %d bytes: %q", len(cut), cut)
		}
		all, err := b.repo.Diff(t.Context(), from, to, 1<<20)
		b.must(err)
		b.equal("the next", string(all), whole)
	}
}

// What is asked is an error where git has no answer, and the next question has one.
func TestTalkOfWhatIsNotThere(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	tree := b.snapshot()
	none := strings.Repeat("1", 40)
	if _, err := b.repo.changes(t.Context(), tree, none); !errors.Is(err, errObject) {
		t.Errorf("changes: %v", err)
	}
	if _, err := b.repo.Diff(t.Context(), none, tree, 100); !errors.Is(err, errObject) {
		t.Errorf("diff: %v", err)
	}
	if err := b.repo.makeTrees(t.Context(), []treeObject{{none, []byte("100644 x\x00" + strings.Repeat("\x01", 20))}}); err == nil {
		t.Error("a tree was made of a file that is not there")
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.repo.Diff(gone, tree, b.git("mktree"), 100); err == nil {
		t.Error("an answer after the end")
	}
	b.write("new.txt", "x")
	to, err := b.repo.TreeKept(t.Context())
	b.must(err)
	if patch, err := b.repo.Diff(t.Context(), tree, to, 1<<20); err != nil || !strings.Contains(string(patch), "new.txt") {
		t.Errorf("%v\n%s", err, patch)
	}
}

// Worktrees ask the same git, also when one of them is gone.
func TestTalkOfWorktrees(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	for i := range 3 {
		dir := b.path(fmt.Sprint("ralph/.worktrees/", i))
		_, err := b.repo.MakeTrees(t.Context(), []string{dir}, b.head())
		b.must(err)
		tree, err := b.repo.Tree(dir)
		b.must(err)
		from, err := tree.TreeID(t.Context())
		b.must(err)
		b.must(os.WriteFile(filepath.Join(dir, "new.txt"), []byte{'x', byte('0' + i), '\n'}, 0o644))
		to, err := tree.TreeID(t.Context())
		b.must(err)
		if patch, err := tree.Patch(t.Context(), from, to, 1<<20); err != nil || !strings.Contains(string(patch), fmt.Sprint("+x", i)) {
			t.Errorf("%v\n%s", err, patch)
		}
		b.git("worktree", "remove", "--force", dir)
	}
	if n := len(b.repo.talks.kept); n != 2 { // mktree, diff-tree
		t.Errorf("%d gits", n)
	}
}

// A git that nobody asks ends by itself.
func TestTalkEndsWhenNobodyAsks(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	from := b.snapshot()
	b.write("new.txt", "x")
	to, err := b.repo.TreeKept(t.Context())
	b.must(err)
	if _, err := b.repo.Diff(t.Context(), from, to, 100); err != nil {
		t.Fatal(err)
	}
	for _, k := range b.repo.talks.kept {
		k.mu.Lock()
		done := k.done
		k.mu.Unlock()
		select {
		case <-done:
		case <-time.After(time.Minute):
			t.Fatal("it waits still")
		}
	}
}
