package git

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// settledFiles makes the files of a box older than git's index, and has them looked at.
func (b *testRepo) settledFiles() {
	b.t.Helper()
	past := time.Now().Add(-time.Hour)
	for name := range b.files() {
		b.must(os.Chtimes(b.path(name), past, past))
	}
	b.snapshot()
}

// Issue 17, row 1: as long as nothing changes, looking again and again starts no process.
func TestSnapshotOfAnUnchangedTreeStartsNoProcess(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.write(".gitignore", "*.log\nout/\n")
	b.write("out/deep/er.txt", "x")
	b.write("x.log", "1")
	b.write("empty/x.log", "1")
	b.ownFiles()
	b.settledFiles()
	tree := b.snapshot()
	n := b.spawns(func() {
		b.equal("tree", b.snapshot(), tree)
		b.write("x.log", "2")                       // what git ignores may change,
		b.write("ralph/plan.jsonl", "p2\n")         // and what is ralph's own, as it does with each fact
		b.write("ralph/.state/journal.jsonl", "j2") //
		b.must(os.Chtimes(b.path("a.txt"), time.Now(), time.Now()))
		b.equal("tree", b.snapshot(), tree)
	})
	if n != 0 {
		t.Errorf("%d processes", n)
	}
}

// Whatever git would find, a look finds: each of these after a look that found nothing.
func TestLooksFindWhatGitFinds(t *testing.T) {
	t.Parallel()
	link := func(to string) func(*testRepo) {
		return func(b *testRepo) {
			b.must(os.Rename(b.path("dir"), b.path(to)))
			b.must(os.Symlink(to, b.path("dir")))
		}
	}
	for name, change := range map[string]func(*testRepo){
		"new file":                 func(b *testRepo) { b.write("new.txt", "x") },
		"new file below":           func(b *testRepo) { b.write("dir/sub/new.txt", "x") },
		"new file in a new folder": func(b *testRepo) { b.write("new/er/x.txt", "x") },
		"new file where there was an empty folder": func(b *testRepo) { b.write("empty/x.txt", "x") },
		"new file in ralph":                        func(b *testRepo) { b.write("ralph/notes.md", "x") },
		"deleted":                                  func(b *testRepo) { b.remove("a.txt") },
		"folder deleted":                           func(b *testRepo) { b.remove("dir") },
		"same size":                                func(b *testRepo) { b.write("a.txt", strings.Repeat("y", len(b.read("a.txt")))) },
		"replaced": func(b *testRepo) {
			b.write("out/a", strings.Repeat("z", len(b.read("a.txt"))))
			b.must(os.Rename(b.path("out/a"), b.path("a.txt")))
		},
		"can be run":                                func(b *testRepo) { b.must(os.Chmod(b.path("a.txt"), 0o755)) },
		"file becomes a link":                       func(b *testRepo) { b.remove("a.txt"); b.must(os.Symlink("dir/b.txt", b.path("a.txt"))) },
		"file becomes a folder":                     func(b *testRepo) { b.remove("a.txt"); b.write("a.txt/x", "x") },
		"folder becomes a link":                     link("elsewhere"),
		"folder becomes a link to what git ignores": link("out/elsewhere"),
		"ignored no more":                           func(b *testRepo) { b.write(".gitignore", "out/\n") },
		"ignored no more, below":                    func(b *testRepo) { b.write("out2/.gitignore", "") },
		"ignored no more, by the repository":        func(b *testRepo) { b.write(".git/info/exclude", "#\n") },
		"staged away":                               func(b *testRepo) { b.git("rm", "-q", "--cached", "a.txt"); b.remove("a.txt") },
		"other content is staged": func(b *testRepo) {
			was := b.read("a.txt")
			b.write("a.txt", "staged")
			b.git("add", "a.txt")
			b.write("a.txt", was+"and more")
		},
		"added by force": func(b *testRepo) { b.git("add", "-f", "x.log") },
		"repository inside": func(b *testRepo) {
			b.git("init", "-q", b.path("dir/inner"))
			b.git("-C", b.path("dir/inner"), "commit", "-q", "--allow-empty", "-m", "x")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBox(t)
			b.must(os.MkdirAll(b.path(".git/info"), 0o755))
			b.write(".git/info/exclude", "private.txt\n")
			b.write("private.txt", "x")
			b.write(".gitignore", "*.log\nout/\n")
			b.write("x.log", "1")
			b.write("out/x", "1")
			b.write("out2/x.bin", "1")
			b.write("out2/.gitignore", "*\n")
			b.write("ralph/specs/x.md", "spec")
			b.must(os.MkdirAll(b.path("empty"), 0o755))
			b.settledFiles()
			before := b.snapshot()
			if n := b.spawns(func() { b.equal("tree", b.snapshot(), before) }); n != 0 {
				t.Fatalf("%d processes although nothing changed", n)
			}
			change(b)
			got := b.snapshot()
			b.equal("tree", got, b.open(b.dir).mustSnapshot(b)) // another one, that knows nothing yet
			if got == before {
				t.Error("nothing was found")
			}
		})
	}
}

func (r *Repo) mustSnapshot(b *testRepo) string {
	b.t.Helper()
	r.still.off = true // git itself, each time
	tree, err := r.Snapshot(b.t.Context())
	b.must(err)
	return tree
}

// More folders than can be looked at: git says which of them it ignores, once.
func TestLooksPassIgnoredFolders(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.write(".gitignore", "modules/\n")
	for i := range maxBare + 1 {
		b.must(os.MkdirAll(b.path(fmt.Sprintf("modules/%d", i)), 0o755))
	}
	b.write("modules/1/x.txt", "x")
	b.settledFiles()
	tree := b.snapshot()
	if n := b.spawns(func() { b.equal("tree", b.snapshot(), tree) }); n != 0 {
		t.Errorf("%d processes", n)
	}
	b.write("new/x.txt", "x")
	b.equal("with a file more", b.snapshot(), b.open(b.dir).mustSnapshot(b))
	b.write(".gitignore", "")
	b.equal("ignored no more", b.snapshot(), b.open(b.dir).mustSnapshot(b))
	if !strings.Contains(b.git("ls-tree", "-r", "--name-only", b.snapshot()), "modules/1/x.txt") {
		t.Error("the file of a folder that is ignored no more is missing")
	}
}

// Many changes, one at once after the other, in the same ticks of the clock.
func TestLooksAmongChanges(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		b := newBox(t)
		names := []string{"a.txt", "dir/b.txt", "dir/sub/c.txt", "new", "new2/x", "x.log", "out/x", "dir/x.log"}
		b.write(".gitignore", "*.log\nout/\n")
		for range 12 {
			name := rapid.SampledFrom(names).Draw(rt, "name")
			path := b.path(name)
			switch rapid.IntRange(0, 5).Draw(rt, "change") {
			case 0:
				_ = os.RemoveAll(path)
			case 1:
				_ = os.RemoveAll(filepath.Dir(path))
				b.write(name, "a")
				if filepath.Dir(path) == b.dir {
					rt.Skip("that was the repository")
				}
			case 2:
				_ = os.Remove(path)
				_ = os.Symlink("a.txt", path)
			case 3: // looked at, unchanged
			default:
				if info, err := os.Lstat(path); err != nil || info.Mode().IsRegular() {
					b.write(name, rapid.SampledFrom([]string{"a", "b", "c", "dd"}).Draw(rt, "text"))
				}
			}
			got, err := b.repo.Snapshot(t.Context())
			b.must(err)
			if want := b.open(b.dir).mustSnapshot(b); got != want {
				rt.Fatalf("a look gives\n%s\ngit\n%s", b.git("ls-tree", "-r", got), b.git("ls-tree", "-r", want))
			}
		}
	})
}
