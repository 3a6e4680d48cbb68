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

	"github.com/ralph-loop/ralph/internal/git/index"
)

// once is what a git of its own says of two trees.
func (b *testRepo) once(from, to string, form ...string) string {
	b.T.Helper()
	out, err := b.repo.compare(b.T.Context(), 1<<20, form, from, to)
	b.Must(err)
	return string(out)
}

// Issue 17, row 1: patches, lists and trees of a git that stays are those of one that is
// started for them, and it goes on when everything around it changes.
func TestTalkSaysWhatAnotherGitSays(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	from := b.snapshot()
	for i, step := range []func(){
		func() { b.Write("a.txt", "changed\n") },
		func() { b.Write("new/er/x.txt", "x"); b.Remove("dir/sub") },
		func() { b.Git("gc", "-q", "--prune=never"); b.Write("a.txt", "again\n") },
		func() { b.Must(os.Symlink("a.txt", b.Path("link"))); b.Must(os.Chmod(b.Path("a.txt"), 0o755)) },
		func() { b.repo.p.Kill(); b.Write("a.txt", "after a kill\n") },
		func() { b.Remove("link"); b.Write("link/x", "a folder now\n") },
		func() { b.Git("config", "diff.noprefix", "true"); b.Write("ünï\nx", "odd name\n") },
		func() { b.Must(os.Rename(b.Path("a.txt"), b.Path("b.txt"))) },
		func() {
			b.Git("add", "-A")
			b.Git("commit", "-q", "-m", "x")
			b.Git("repack", "-Adq")
			b.Write("b.txt", "packed\n")
		},
		func() { b.Write("large.txt", strings.Repeat("line after line\n", 20_000)) },
		func() { b.Write("long.txt", strings.Repeat("x", 200_000)) },
	} {
		step()
		to, err := b.repo.TreeKept(t.Context())
		b.Must(err)
		b.Equal(fmt.Sprint(i, " kept"), b.Git("cat-file", "-t", to), "tree")
		patch, err := b.repo.Patch(t.Context(), from, to, 1<<20)
		b.Must(err)
		b.Equal(fmt.Sprint(i, " patch"), string(patch), b.once(from, to, "-p", "-M", "-U10"))
		plain, err := b.repo.Diff(t.Context(), from, to, 1<<20)
		b.Must(err)
		b.Equal(fmt.Sprint(i, " diff"), string(plain), b.once(from, to, "-p"))
		list, err := b.repo.Changes(t.Context(), from, to)
		b.Must(err)
		raw := ""
		for _, c := range list {
			raw += c.Modes + " " + c.IDs + " " + string(c.Status) + "\x00" + c.Path + "\x00"
		}
		b.Equal(fmt.Sprint(i, " list"), raw, b.once(from, to, "--raw", "-z", "--no-abbrev", "--no-renames"))
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
	b.Write("large.txt", strings.Repeat("line after line\n", 20_000))
	to, err := b.repo.TreeKept(t.Context())
	b.Must(err)
	whole := b.once(from, to, "-p")
	for range 3 {
		cut, err := b.repo.Diff(t.Context(), from, to, 1000)
		b.Must(err)
		if len(cut) == 0 || len(cut) > 1000 || !strings.HasPrefix(whole, string(cut)) || !strings.HasSuffix(string(cut), "\n") {
			t.Errorf("cut to %d bytes: %q", len(cut), cut)
		}
		all, err := b.repo.Diff(t.Context(), from, to, 1<<20)
		b.Must(err)
		b.Equal("the next", string(all), whole)
	}
}

// What is asked is an error where git has no answer, and the next question has one.
func TestTalkOfWhatIsNotThere(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	tree := b.snapshot()
	none := strings.Repeat("1", 40)
	if _, err := b.repo.Changes(t.Context(), tree, none); !errors.Is(err, errObject) {
		t.Errorf("changes: %v", err)
	}
	if _, err := b.repo.Diff(t.Context(), none, tree, 100); !errors.Is(err, errObject) {
		t.Errorf("diff: %v", err)
	}
	if err := b.repo.makeTrees(t.Context(), []index.Tree{{ID: none, Body: []byte("100644 x\x00" + strings.Repeat("\x01", 20))}}); err == nil {
		t.Error("a tree was made of a file that is not there")
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.repo.Diff(gone, tree, b.Git("mktree"), 100); err == nil {
		t.Error("an answer after the end")
	}
	b.Write("new.txt", "x")
	to, err := b.repo.TreeKept(t.Context())
	b.Must(err)
	if patch, err := b.repo.Diff(t.Context(), tree, to, 1<<20); err != nil || !strings.Contains(string(patch), "new.txt") {
		t.Errorf("%v\n%s", err, patch)
	}
}

// Worktrees ask the same git, also when one of them is gone.
func TestTalkOfWorktrees(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	for i := range 3 {
		dir := b.Path(fmt.Sprint("ralph/.worktrees/", i))
		b.Git("worktree", "add", "-q", "--detach", dir)
		tree, err := b.repo.Tree(dir)
		b.Must(err)
		from, err := tree.TreeID(t.Context())
		b.Must(err)
		b.Must(os.WriteFile(filepath.Join(dir, "new.txt"), []byte{'x', byte('0' + i), '\n'}, 0o644))
		to, err := tree.TreeID(t.Context())
		b.Must(err)
		if patch, err := tree.Patch(t.Context(), from, to, 1<<20); err != nil || !strings.Contains(string(patch), fmt.Sprint("+x", i)) {
			t.Errorf("%v\n%s", err, patch)
		}
		b.Git("worktree", "remove", "--force", dir)
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
	b.Write("new.txt", "x")
	to, err := b.repo.TreeKept(t.Context())
	b.Must(err)
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
