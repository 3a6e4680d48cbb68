package shelve

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph/internal/git"
	"github.com/ralph-loop/ralph/internal/git/commits"
)

func TestSubmodulesAreNotEntered(t *testing.T) {
	t.Parallel()
	lib := newBox(t)
	b := newBox(t)
	b.Git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", lib.Dir, "lib")
	b.Git("commit", "-q", "-m", "submodule")
	b.Git("config", "submodule.recurse", "true")
	base := b.Head()
	b.Write("lib/a.txt", "inside")
	paths, err := b.repo.Dirty(t.Context())
	b.Must(err)
	b.Equal("dirty", strings.Join(paths, "|"), "")
	b.Equal("tree", b.snapshot(), b.Git("rev-parse", "HEAD^{tree}"))
	b.Write("x", "x")
	_, err = Shelve(t.Context(), b.repo, ShelveInput{How: "stash", Base: base, Message: "m", ID: "i"})
	b.Must(err)
	b.Want("lib/a.txt", "inside")
	b.Want("x", "<open "+b.Path("x")+": no such file or directory>")
}

func TestSparseCheckout(t *testing.T) {
	t.Parallel()
	for _, index := range []string{"--no-sparse-index", "--sparse-index"} {
		t.Run(index, func(t *testing.T) {
			t.Parallel()
			b := newBox(t)
			b.Write("out/side/x", "x")
			b.Write("ralph/specs/x.md", "x")
			b.mustCommit("k0", nil)
			b.Git("sparse-checkout", "set", "--cone", index, "dir", "ralph/specs")
			base := b.Head()
			b.Equal("snapshot", b.snapshot(), b.Git("rev-parse", "HEAD^{tree}"))
			b.Write("dir/new", "1")
			c := b.mustCommit("k1", nil)
			b.Equal("files", b.Git("show", "--name-only", "--format=", c.Hash), "dir/new")
			b.Write("dir/new", "2")
			s, err := Shelve(t.Context(), b.repo, ShelveInput{How: "stash", Base: base, Message: "m", ID: "i", Agents: commits.Agents{Commits: []string{c.Hash}}})
			b.Must(err)
			b.Equal("in the stash", b.Git("diff", "--name-only", base, s.Stash), "dir/new")
			b.Equal("status", b.Status(), "")
			b.Equal("HEAD", b.Head(), base)
			if git.Stat(b.Path("out")) != nil {
				t.Error("files outside the sparse checkout were written")
			}
		})
	}
}

// A stash takes all that changed, however many files it is, and the checkout is as it was.
func TestShelveOfAWholeFolder(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	const files = 400
	name := func(i int) string { return fmt.Sprintf("d%d/f%03d", i/200, i%200) }
	for i := range files {
		b.Write(name(i), name(i))
	}
	c := b.mustCommit("k", nil)
	b.Remove("d0")
	b.Write("d1/f001", "changed")
	s, err := Shelve(t.Context(), b.repo, ShelveInput{How: "stash", Base: c.Hash, Message: "m", ID: "i"})
	b.Must(err)
	b.Equal("status", b.Status(), "")
	for i := range files {
		if got := b.Read(name(i)); got != name(i) {
			t.Fatalf("%s came back as %q", name(i), got)
		}
	}
	if got := strings.Count(b.Git("diff", "--name-status", c.Hash, s.Stash), "\nD\td0/"); got != 199 { // the first line has no newline before it
		t.Errorf("the stash has %d of the 199 files that were removed after the first", got)
	}
	b.Equal("what was changed, in the stash", b.Git("show", s.Stash+":d1/f001"), "changed")
}

// R-C2: HEAD stays where somebody took it, whatever is to be done; an agent's own switch is
// taken back.
func TestAwayFromHome(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		leave func(b *testRepo)
		words string
	}{
		"another branch": {func(b *testRepo) { b.Git("switch", "-q", "-c", "side") }, "is on side, the work began on main"},
		"detached":       {func(b *testRepo) { b.Git("switch", "-q", "--detach") }, "(detached), the work began on main"},
		"a rebase": {func(b *testRepo) {
			b.Git("switch", "-q", "-c", "side")
			b.Write("a.txt", "side\n")
			b.Git("commit", "-q", "-am", "side")
			b.Git("switch", "-q", "main")
			b.Write("a.txt", "main\n")
			b.Git("commit", "-q", "-am", "main")
			_, _ = b.Try("rebase", "side")
		}, "a git rebase is unfinished"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBox(t)
			b.agents = false
			base := b.Head()
			tt.leave(b)
			b.Write("work", "agent")
			before, head, branch := b.Files(), b.Head(), b.Read(".git/HEAD")
			_, err := b.commit("k1", func(in *commits.Input) { in.Base, in.Branch = base, "main" })
			if _, ok := errors.AsType[*commits.AwayError](err); !ok || !strings.Contains(err.Error(), tt.words) {
				t.Errorf("error is %v, want %q", err, tt.words)
			}
			b.Refused(err, tt.words)
			s, err := b.shelve("stash", base, func(in *ShelveInput) { in.Branch = "main" })
			if op := b.repo.Unfinished(); op != "" {
				b.Refused(err, "nothing was put away")
				if len(b.Files()) != len(before) {
					t.Error("files have changed")
				}
			} else {
				b.Must(err)
				b.Equal("stashed", b.Git("show", s.Stash+":work"), "agent")
				b.Equal("status", b.Status(), "")
			}
			b.Equal("HEAD", b.Head()+b.Read(".git/HEAD"), head+branch)
		})
	}
	b := newBox(t)
	b.agents = false
	base := b.Head()
	b.Git("switch", "-q", "-c", "side")
	b.Write("work", "x")
	c := b.mustCommit("here", func(in *commits.Input) { in.Base, in.Branch, in.Here = base, "main", true })
	b.Equal("side", b.Tip("side"), c.Hash)
	b.Equal("main", b.Tip("main"), base)
	b.Git("switch", "-q", "main")
	b.Git("switch", "-q", "side")
	b.mustCommit("k2", func(in *commits.Input) {
		in.Base, in.Branch, in.Agents.On, in.Agents.Commits = base, "main", "side", []string{c.Hash}
	})
	b.Equal("HEAD", b.Git("symbolic-ref", "--short", "HEAD"), "main")
}

func TestShelveChecksHashes(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	for _, bad := range []string{"", "HEAD", "--output=x", strings.Repeat("g", 40), strings.Repeat("a", 41)} {
		if _, err := Shelve(t.Context(), b.repo, ShelveInput{How: "stash", Base: bad, Message: "m", ID: "i"}); err == nil {
			t.Errorf("Shelve to %q worked", bad)
		}
	}
}
