package commits

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/proc"
	"github.com/ralph-loop/ralph/internal/text"
)

// made makes a file and a commit of it, and returns the commit.
func (b *testRepo) made(name string) string {
	b.T.Helper()
	b.Write(name, name)
	b.Git("add", name)
	b.Git("commit", "-q", "-m", name)
	return b.Head()
}

// F-02: of what came since the work began only agents' commits at the end of the branch
// become part of ralph's; those of others, and what a remote has, stay as they are.
func TestCommitKeepsWhatOthersMade(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		do   func(b *testRepo) (agents []string)
		want string // subjects, newest first
		kept string
	}{
		"between two of the agent": {func(b *testRepo) []string {
			return []string{b.made("one"), b.skip("mine"), b.made("two"), b.made("three")}
		}, "spec mine one start", "mine"},
		"last": {func(b *testRepo) []string { return []string{b.made("one"), b.skip("mine")} }, "spec mine one start", "mine"},
		"none": {func(b *testRepo) []string { return []string{b.made("one"), b.made("two")} }, "spec start", ""},
		"published": {func(b *testRepo) []string {
			one := b.made("one")
			b.Git("update-ref", "refs/remotes/origin/main", one)
			return []string{one, b.made("two")}
		}, "spec one start", "one"},
		"merged in by the agent": {func(b *testRepo) []string {
			b.Git("switch", "-q", "-c", "theirs")
			b.made("mine")
			b.Git("switch", "-q", "main")
			one := b.made("one")
			b.Git("merge", "-q", "--no-edit", "-m", "merge", "theirs")
			return []string{one, b.Head(), b.made("two")}
		}, "spec merge mine one start", "mine"},
		"reset below the beginning": {func(b *testRepo) []string {
			b.made("mine")
			b.Git("reset", "-q", "--hard", "HEAD~1")
			return nil
		}, "spec start", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBox(t)
			b.agents = false
			base := b.Head()
			agents := tt.do(b)
			b.Write("uncommitted", "x")
			c := b.mustCommit("k1", func(in *Input) {
				in.Base, in.Branch, in.Agents.Commits, in.Message = base, "main", agents, "spec\n\nRalph-Receipt: k1\n"
			})
			b.Equal("history", text.OneLine(b.Git("log", "--topo-order", "--format=%s")), tt.want)
			var kept []string
			for _, k := range c.Kept {
				kept = append(kept, k.Subject)
			}
			b.Equal("told", strings.Join(kept, " "), tt.kept)
			b.Equal("status", b.Status(), "")
		})
	}
}

// skip makes a commit of somebody else's: it is not the agent's.
func (b *testRepo) skip(name string) string {
	b.made(name)
	return ""
}

// Somebody commits between ralph's look and its commit: theirs is not reverted by it.
func TestCommitAtTheSameMoment(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.agents = false
	base := b.Head()
	b.Must(b.repo.Begin(t.Context()))
	b.Write("work", "agent")
	real, err := proc.LookPath("git", "/", b.Env)
	b.Must(err)
	did := filepath.Join(t.TempDir(), "did")
	var c Commit
	b.program.As("case \" $* \" in *' commit '*) [ -e '"+did+"' ] || {\n"+
		"touch '"+did+"'; echo p > '"+b.Dir+"/person'; env -u GIT_INDEX_FILE "+real+" add person; env -u GIT_INDEX_FILE "+real+" commit -q -m person; } ;; esac\n"+
		"exec "+real+" \"$@\"\n", func() {
		c = b.mustCommit("k1", func(in *Input) { in.Base, in.Branch = base, "main" })
	})
	b.Equal("history", text.OneLine(b.Git("log", "--format=%s")), "ralph: complete x person start")
	b.Equal("files", b.Git("show", "--name-status", "--format=", c.Hash), "A\twork")
	b.Equal("status", b.Status(), "")
	b.Equal("told", c.Kept[0].Subject, "person")
}

// R-C1: files of others are left out of a commit, as they are and as they are staged; a
// version that an agent had made before them goes in.
func TestCommitLeavesFilesOfOthersOut(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.Must(b.repo.Begin(t.Context()))
	base := b.Head()
	b.Write("dir/b.txt", "b\nagent\n")
	b.Write("work", "agent")
	tree, err := b.repo.TreeKept(t.Context())
	b.Must(err)
	known := ralph.Checkout{Head: base, Branch: "main", Tree: tree}
	if _, ok, err := Look(t.Context(), b.repo, known, Agents{}); ok || err != nil {
		t.Errorf("nothing has changed: %t, %v", ok, err)
	}
	b.Write("dir/b.txt", "b\nagent\nperson\n")
	b.Write("a.txt", "staged\n")
	b.Git("add", "a.txt")
	b.Write("a.txt", "staged, then more\n")
	b.Remove("dir/sub/c.txt")
	b.Write("new *.txt", "new")
	f, ok, err := Look(t.Context(), b.repo, known, Agents{})
	b.Must(err)
	b.Equal("found", strings.Join(f.Files, " "), "a.txt dir/b.txt dir/sub/c.txt new *.txt")
	if !ok {
		t.Error("nothing was found")
	}
	files := b.Files()
	c := b.mustCommit("k1", func(in *Input) { in.Left = f.Left })
	b.Equal("commit", b.Git("show", "--name-status", "--format=", c.Hash), "M\tdir/b.txt\nA\twork")
	b.Equal("as the agent left it", b.Git("show", c.Hash+":dir/b.txt"), "b\nagent")
	b.Equal("staged", b.Git("show", ":a.txt"), "staged")
	b.Equal("status", b.Status(), "MM a.txt\n M dir/b.txt\n D dir/sub/c.txt\n?? \"new *.txt\"")
	for name, text := range b.Files() {
		if files[name] != text {
			t.Errorf("%s was %q and is %q", name, files[name], text)
		}
	}
	b.Must(os.Remove(b.Path("new *.txt")))
	again, ok, err := Look(t.Context(), b.repo, ralph.Checkout{Head: c.Hash, Branch: "main", Tree: f.Tree, Left: f.Left}, Agents{})
	b.Must(err)
	if !ok || len(again.Files) != 0 || len(again.Left) != 3 {
		t.Errorf("after the commit: %t %+v", ok, again)
	}
}
