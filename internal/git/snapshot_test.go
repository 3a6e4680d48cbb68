package git

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph/internal/git/index"
)

// X-71, D-068
func TestSnapshotTakesEverythingButOwnFiles(t *testing.T) {
	t.Parallel()
	for _, exclude := range []bool{false, true} {
		t.Run(fmt.Sprintf("excluded=%v", exclude), func(t *testing.T) {
			t.Parallel()
			b := newBox(t)
			if exclude {
				b.Write(".git/info/exclude", "ralph/.state/\nralph/.worktrees/\nralph/.agent-session\nbuild/ralph-logs/\n")
			}
			b.OwnFiles()
			b.Write("ralph/specs/x.md", "spec")
			b.Write("ralph/inbox.jsonl.md", "not ours")
			b.Write("sp ace/ünï.txt", "x")
			b.Write("build/out.txt", "x")
			b.Write("sub/ralph/inbox.jsonl", "somebody else's")
			b.Remove("dir/sub")
			b.Write("a.txt", "changed")
			b.Must(os.Symlink("a.txt", b.Path("link")))
			b.Must(os.Chmod(b.Path("dir/b.txt"), 0o755))
			before := Stat(b.repo.RealIndex())
			tree := b.snapshot()
			if !SameFile(before, Stat(b.repo.RealIndex())) {
				t.Error("the user's index was written")
			}
			got := b.Git("-c", "core.quotepath=off", "ls-tree", "-r", "--format=%(objectmode) %(path)", tree)
			b.Equal("tree", got, strings.Join([]string{
				"100644 a.txt", "100644 build/out.txt", "100755 dir/b.txt", "120000 link",
				"100644 ralph/inbox.jsonl.md", "100644 ralph/specs/x.md", "100644 sp ace/ünï.txt", "100644 sub/ralph/inbox.jsonl",
			}, "\n"))
			b.Equal("again", b.snapshot(), tree)
		})
	}
}

func TestSnapshotKeepsTrackedOwnFilesAsHeadHasThem(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	own := b.OwnFiles()
	b.Git("add", "-A", "-f")
	b.Git("commit", "-q", "-m", "track them")
	for name := range own {
		b.Write(name, "changed")
	}
	b.Remove("ralph/plan.jsonl")
	b.Git("add", "ralph/inbox.jsonl") // also when staged
	b.Equal("tree", b.snapshot(), b.Git("rev-parse", "HEAD^{tree}"))
}

func TestSnapshotSeesWhatAnAgentStaged(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.Must(b.repo.Begin(t.Context()))
	b.Write(".gitignore", "*.env\n*.bin\n")
	b.Write("forced.bin", "x")
	b.Git("add", "-f", "forced.bin")
	names := b.Git("ls-tree", "-r", "--name-only", b.snapshot())
	if !strings.Contains(names, "forced.bin") {
		t.Errorf("a file added by force is missing:\n%s", names)
	}
}

// A file written in the same tick of the clock as the index, to the same size,
// is only told by the time of the index.
func TestSnapshotSeesChangesInTheTickOfTheIndex(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	for i := range 5 {
		text := fmt.Sprint(i)
		b.Write("same", text)
		b.Git("add", "-A")
		b.Write("same", "x")
		b.Must(b.repo.Begin(t.Context()))
		b.Equal("content", b.Git("cat-file", "-p", b.snapshot()+":same"), "x")
	}
}

func TestReadEntries(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.OwnFiles()
	b.Git("add", "-f", "-A")
	for _, version := range []string{"2", "3", "4"} {
		b.Git("update-index", "--index-version="+version)
		raw, err := os.ReadFile(b.repo.RealIndex())
		b.Must(err)
		e, err := index.Read(raw, 20, IsOwn)
		b.Must(err)
		if n := strings.Count(e.Own, "ralph/") + strings.Count(e.Own, "build/ralph-logs/"); n != 7 {
			t.Errorf("version %s: own entries: %q", version, e.Own)
		}
		b.Equal("tree not written yet", e.Tree, "")
		tree := b.Git("write-tree")
		if raw, err = os.ReadFile(b.repo.RealIndex()); err != nil {
			t.Fatal(err)
		}
		e, err = index.Read(raw, 20, IsOwn)
		b.Must(err)
		b.Equal("tree", e.Tree, tree)
		b.Write("changes", version)
		b.Git("add", "changes")
		for cut := range raw { // never a panic, whatever the file holds
			_, _ = index.Read(raw[:cut], 20, IsOwn)
		}
	}
	if _, err := index.Read([]byte("something else, long enough to be an index"), 20, IsOwn); err == nil {
		t.Error("any text passes for an index")
	}
}

func TestDirty(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	paths, err := b.repo.Dirty(t.Context())
	b.Must(err)
	b.Equal("clean", strings.Join(paths, "|"), "")
	b.OwnFiles()
	b.Write("ralph/specs/x.md", "x")
	b.Write("new dir/ö \"quoted\".txt", "x")
	b.Write("a.txt", "changed")
	b.Git("mv", "dir/b.txt", "moved.txt")
	b.Remove("dir/sub/c.txt")
	paths, err = b.open(b.Path("dir")).Dirty(t.Context())
	b.Must(err)
	b.Equal("dirty", strings.Join(paths, "|"), "a.txt|dir/b.txt|dir/sub/c.txt|moved.txt|new dir/ö \"quoted\".txt")
}
