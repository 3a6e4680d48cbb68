package git

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

func (b *testRepo) ownFiles() map[string]string {
	own := map[string]string{
		"ralph/inbox.jsonl": "i1\n", "ralph/plan.jsonl": "p1\n", "ralph/.agent-session": "s1\n",
		"ralph/.state/journal.jsonl": "j1\n", "ralph/.state/tasks/t-1/1/output.log": "o1\n",
		"ralph/.worktrees/t-1/x.txt": "w1\n", "build/ralph-logs/agent-1.log": "l1\n",
	}
	for name, text := range own {
		b.write(name, text)
	}
	return own
}

// X-71, D-068
func TestSnapshotTakesEverythingButOwnFiles(t *testing.T) {
	t.Parallel()
	for _, exclude := range []bool{false, true} {
		t.Run(fmt.Sprintf("excluded=%v", exclude), func(t *testing.T) {
			t.Parallel()
			b := newBox(t)
			if exclude {
				b.must(b.repo.Exclude([]string{"ralph/.state/", "ralph/.worktrees/", "ralph/.agent-session", "build/ralph-logs/"}))
			}
			b.ownFiles()
			b.write("ralph/specs/x.md", "spec")
			b.write("ralph/inbox.jsonl.md", "not ours")
			b.write("sp ace/ünï.txt", "x")
			b.write("build/out.txt", "x")
			b.write("sub/ralph/inbox.jsonl", "somebody else's")
			b.remove("dir/sub")
			b.write("a.txt", "changed")
			b.must(os.Symlink("a.txt", b.path("link")))
			b.must(os.Chmod(b.path("dir/b.txt"), 0o755))
			before := stat(b.repo.realIndex())
			tree := b.snapshot()
			if !sameFile(before, stat(b.repo.realIndex())) {
				t.Error("the user's index was written")
			}
			got := b.git("-c", "core.quotepath=off", "ls-tree", "-r", "--format=%(objectmode) %(path)", tree)
			b.equal("tree", got, strings.Join([]string{
				"100644 a.txt", "100644 build/out.txt", "100755 dir/b.txt", "120000 link",
				"100644 ralph/inbox.jsonl.md", "100644 ralph/specs/x.md", "100644 sp ace/ünï.txt", "100644 sub/ralph/inbox.jsonl",
			}, "\n"))
			b.equal("again", b.snapshot(), tree)
		})
	}
}

func TestSnapshotKeepsTrackedOwnFilesAsHeadHasThem(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	own := b.ownFiles()
	b.git("add", "-A", "-f")
	b.git("commit", "-q", "-m", "track them")
	for name := range own {
		b.write(name, "changed")
	}
	b.remove("ralph/plan.jsonl")
	b.git("add", "ralph/inbox.jsonl") // also when staged
	b.equal("tree", b.snapshot(), b.git("rev-parse", "HEAD^{tree}"))
}

func TestSnapshotSeesWhatAnAgentStaged(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.must(b.repo.Begin(t.Context()))
	b.write(".gitignore", "*.env\n*.bin\n")
	b.write("forced.bin", "x")
	b.git("add", "-f", "forced.bin")
	names := b.git("ls-tree", "-r", "--name-only", b.snapshot())
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
		b.write("same", text)
		b.git("add", "-A")
		b.write("same", "x")
		b.must(b.repo.Begin(t.Context()))
		b.equal("content", b.git("cat-file", "-p", b.snapshot()+":same"), "x")
	}
}

func TestSnapshotIndexKinds(t *testing.T) {
	t.Parallel()
	kinds := map[string][]string{
		"version 4": {"update-index", "--index-version=4"},
		"split":     {"update-index", "--split-index"},
		"untracked": {"update-index", "--force-untracked-cache"},
	}
	for name, args := range kinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBox(t)
			b.ownFiles()
			b.git("add", "-f", "ralph/inbox.jsonl", "ralph/plan.jsonl")
			b.git("commit", "-q", "-m", "own")
			b.git(args...)
			b.write("ralph/inbox.jsonl", "staged")
			b.git("add", "ralph/inbox.jsonl")
			b.write("new", "x")
			c := b.mustCommit("k", nil)
			b.equal("files", b.git("show", "--name-only", "--format=", c.Hash), "new")
			b.equal("tracked files in status", b.git("status", "--porcelain", "-uno"), " M ralph/inbox.jsonl")
			b.git("fsck")
		})
	}
}

func TestReadEntries(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.ownFiles()
	b.git("add", "-f", "-A")
	for _, version := range []string{"2", "3", "4"} {
		b.git("update-index", "--index-version="+version)
		raw, err := os.ReadFile(b.repo.realIndex())
		b.must(err)
		e, err := readEntries(raw, 20)
		b.must(err)
		if n := strings.Count(e.own, "ralph/") + strings.Count(e.own, "build/ralph-logs/"); n != 7 {
			t.Errorf("version %s: own entries: %q", version, e.own)
		}
		b.equal("tree not written yet", e.tree, "")
		tree := b.git("write-tree")
		if raw, err = os.ReadFile(b.repo.realIndex()); err != nil {
			t.Fatal(err)
		}
		e, err = readEntries(raw, 20)
		b.must(err)
		b.equal("tree", e.tree, tree)
		b.write("changes", version)
		b.git("add", "changes")
		for cut := range raw { // never a panic, whatever the file holds
			_, _ = readEntries(raw[:cut], 20)
		}
	}
	if _, err := readEntries([]byte("something else, long enough to be an index"), 20); err == nil {
		t.Error("any text passes for an index")
	}
}

func TestDirty(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	paths, err := b.repo.Dirty(t.Context())
	b.must(err)
	b.equal("clean", strings.Join(paths, "|"), "")
	b.ownFiles()
	b.write("ralph/specs/x.md", "x")
	b.write("new dir/ö \"quoted\".txt", "x")
	b.write("a.txt", "changed")
	b.git("mv", "dir/b.txt", "moved.txt")
	b.remove("dir/sub/c.txt")
	paths, err = b.open(b.path("dir")).Dirty(t.Context())
	b.must(err)
	b.equal("dirty", strings.Join(paths, "|"), "a.txt|dir/b.txt|dir/sub/c.txt|moved.txt|new dir/ö \"quoted\".txt")
}

func TestDiffIsBounded(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	from := b.snapshot()
	b.write("big.txt", strings.Repeat("a line of text\n", 100_000))
	b.write("ünï.txt", "x\n")
	to := b.snapshot()
	patch, err := b.repo.Diff(t.Context(), from, to, 10_000)
	b.must(err)
	if len(patch) > 10_000 || len(patch) < 9_000 || patch[len(patch)-1] != '\n' {
		t.Errorf("%d bytes, ends with %q", len(patch), patch[len(patch)-5:])
	}
	patch, err = b.repo.Diff(t.Context(), from, to, 10<<20)
	b.must(err)
	if !strings.Contains(string(patch), "+++ b/ünï.txt") || len(patch) < 1_500_000 {
		t.Errorf("the whole patch has %d bytes", len(patch))
	}
	patch, err = b.repo.Diff(t.Context(), to, to, 100)
	b.must(err)
	b.equal("no difference", string(patch), "")
}

func TestSubmodulesAreNotEntered(t *testing.T) {
	t.Parallel()
	lib := newBox(t)
	b := newBox(t)
	b.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", lib.dir, "lib")
	b.git("commit", "-q", "-m", "submodule")
	b.git("config", "submodule.recurse", "true")
	base := b.head()
	b.write("lib/a.txt", "inside")
	paths, err := b.repo.Dirty(t.Context())
	b.must(err)
	b.equal("dirty", strings.Join(paths, "|"), "")
	b.equal("tree", b.snapshot(), b.git("rev-parse", "HEAD^{tree}"))
	b.write("x", "x")
	_, err = b.repo.Shelve(t.Context(), ShelveInput{How: "stash", Base: base, Message: "m", ID: "i"})
	b.must(err)
	b.want("lib/a.txt", "inside")
	b.want("x", "<open "+b.path("x")+": no such file or directory>")
}

func TestSparseCheckout(t *testing.T) {
	t.Parallel()
	for _, index := range []string{"--no-sparse-index", "--sparse-index"} {
		t.Run(index, func(t *testing.T) {
			t.Parallel()
			b := newBox(t)
			b.write("out/side/x", "x")
			b.write("ralph/specs/x.md", "x")
			b.mustCommit("k0", nil)
			b.git("sparse-checkout", "set", "--cone", index, "dir", "ralph/specs")
			base := b.head()
			b.equal("snapshot", b.snapshot(), b.git("rev-parse", "HEAD^{tree}"))
			b.write("dir/new", "1")
			c := b.mustCommit("k1", nil)
			b.equal("files", b.git("show", "--name-only", "--format=", c.Hash), "dir/new")
			b.write("dir/new", "2")
			s, err := b.repo.Shelve(t.Context(), ShelveInput{How: "stash", Base: base, Message: "m", ID: "i", Agents: Agents{Commits: []string{c.Hash}}})
			b.must(err)
			b.equal("in the stash", b.git("diff", "--name-only", base, s.Stash), "dir/new")
			b.equal("status", b.status(), "")
			b.equal("HEAD", b.head(), base)
			if stat(b.path("out")) != nil {
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
		b.write(name(i), name(i))
	}
	c := b.mustCommit("k", nil)
	b.remove("d0")
	b.write("d1/f001", "changed")
	s, err := b.repo.Shelve(t.Context(), ShelveInput{How: "stash", Base: c.Hash, Message: "m", ID: "i"})
	b.must(err)
	b.equal("status", b.status(), "")
	for i := range files {
		if got := b.read(name(i)); got != name(i) {
			t.Fatalf("%s came back as %q", name(i), got)
		}
	}
	if got := strings.Count(b.git("diff", "--name-status", c.Hash, s.Stash), "\nD\td0/"); got != 199 { // the first line has no newline before it
		t.Errorf("the stash has %d of the 199 files that were removed after the first", got)
	}
	b.equal("what was changed, in the stash", b.git("show", s.Stash+":d1/f001"), "changed")
}
