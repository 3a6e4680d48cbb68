package diff

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph/internal/git"
	"github.com/ralph-loop/ralph/internal/ralphtest/gittest"
)

// testRepo is a repository, with what ralph has of it.
type testRepo struct {
	gittest.Box
	repo *git.Repo
}

func newBox(t testing.TB) *testRepo {
	t.Helper()
	b := &testRepo{Box: gittest.New(t)}
	r, err := git.Open(t.Context(), b.P, b.Dir, b.Env)
	b.Must(err)
	b.repo = r
	return b
}

func (b *testRepo) snapshot() string {
	b.T.Helper()
	tree, err := b.repo.Snapshot(b.T.Context())
	b.Must(err)
	return tree
}

// once is what a git of its own says of two trees.
func (b *testRepo) once(from, to string, form ...string) string {
	b.T.Helper()
	out, err := b.repo.AskOnce(b.T.Context(), 1<<20, slices.Concat(diffTree(), form, []string{from, to})...)
	b.Must(err)
	return string(out)
}

// Issue 17, row 1: patches, lists and trees of a git that stays are those of one that is
// started for them, and it goes on when everything around it changes.
func TestPatchesSayWhatAnotherGitSays(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	from := b.snapshot()
	for i, step := range []func(){
		func() { b.Write("a.txt", "changed\n") },
		func() { b.Write("new/er/x.txt", "x"); b.Remove("dir/sub") },
		func() { b.Git("gc", "-q", "--prune=never"); b.Write("a.txt", "again\n") },
		func() { b.Must(os.Symlink("a.txt", b.Path("link"))); b.Must(os.Chmod(b.Path("a.txt"), 0o755)) },
		func() { b.P.Kill(); b.Write("a.txt", "after a kill\n") },
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
		patch, err := Patch(t.Context(), b.repo, from, to, 1<<20)
		b.Must(err)
		b.Equal(fmt.Sprint(i, " patch"), string(patch), b.once(from, to, "-p", "-M", "-U10"))
		plain, err := Plain(t.Context(), b.repo, from, to, 1<<20)
		b.Must(err)
		b.Equal(fmt.Sprint(i, " diff"), string(plain), b.once(from, to, "-p"))
		list, err := Changes(t.Context(), b.repo, from, to)
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
func TestPatchesAreCut(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	from := b.snapshot()
	b.Write("large.txt", strings.Repeat("line after line\n", 20_000))
	to, err := b.repo.TreeKept(t.Context())
	b.Must(err)
	whole := b.once(from, to, "-p")
	for range 3 {
		cut, err := Plain(t.Context(), b.repo, from, to, 1000)
		b.Must(err)
		if len(cut) == 0 || len(cut) > 1000 || !strings.HasPrefix(whole, string(cut)) || !strings.HasSuffix(string(cut), "\n") {
			t.Errorf("cut to %d bytes: %q", len(cut), cut)
		}
		all, err := Plain(t.Context(), b.repo, from, to, 1<<20)
		b.Must(err)
		b.Equal("the next", string(all), whole)
	}
}

// What is asked is an error where git has no answer, and the next question has one.
func TestDiffOfWhatIsNotThere(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	tree := b.snapshot()
	none := strings.Repeat("1", 40)
	if _, err := Changes(t.Context(), b.repo, tree, none); !errors.Is(err, git.ErrObject) {
		t.Errorf("changes: %v", err)
	}
	if _, err := Plain(t.Context(), b.repo, none, tree, 100); !errors.Is(err, git.ErrObject) {
		t.Errorf("diff: %v", err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Plain(gone, b.repo, tree, b.Git("mktree"), 100); err == nil {
		t.Error("an answer after the end")
	}
	b.Write("new.txt", "x")
	to, err := b.repo.TreeKept(t.Context())
	b.Must(err)
	if patch, err := Plain(t.Context(), b.repo, tree, to, 1<<20); err != nil || !strings.Contains(string(patch), "new.txt") {
		t.Errorf("%v\n%s", err, patch)
	}
}

// Worktrees are asked of too, also when another is gone.
func TestPatchesOfWorktrees(t *testing.T) {
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
		if patch, err := Patch(t.Context(), tree, from, to, 1<<20); err != nil || !strings.Contains(string(patch), fmt.Sprint("+x", i)) {
			t.Errorf("%v\n%s", err, patch)
		}
		b.Git("worktree", "remove", "--force", dir)
	}
}

func TestDiffIsBounded(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	from := b.snapshot()
	b.Write("big.txt", strings.Repeat("a line of text\n", 100_000))
	b.Write("ünï.txt", "x\n")
	to := b.snapshot()
	patch, err := Plain(t.Context(), b.repo, from, to, 10_000)
	b.Must(err)
	if len(patch) > 10_000 || len(patch) < 9_000 || patch[len(patch)-1] != '\n' {
		t.Errorf("%d bytes, ends with %q", len(patch), patch[len(patch)-5:])
	}
	patch, err = Plain(t.Context(), b.repo, from, to, 10<<20)
	b.Must(err)
	if !strings.Contains(string(patch), "+++ b/ünï.txt") || len(patch) < 1_500_000 {
		t.Errorf("the whole patch has %d bytes", len(patch))
	}
	patch, err = Plain(t.Context(), b.repo, to, to, 100)
	b.Must(err)
	b.Equal("no difference", string(patch), "")
}

// What git could read as an option is kept out of its arguments.
func TestTreesAreNamedByHash(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	for _, bad := range []string{"", "HEAD", "--output=x", strings.Repeat("g", 40), strings.Repeat("a", 41)} {
		if _, err := Plain(t.Context(), b.repo, bad, bad, 1); err == nil {
			t.Errorf("Plain(%q) worked", bad)
		}
	}
}
