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
	b.T.Helper()
	past := time.Now().Add(-time.Hour)
	for name := range b.Files() {
		b.Must(os.Chtimes(b.Path(name), past, past))
	}
	b.snapshot()
}

// Issue 17, row 1: as long as nothing changes, looking again and again starts no process.
func TestSnapshotOfAnUnchangedTreeStartsNoProcess(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.Write(".gitignore", "*.log\nout/\n")
	b.Write("out/deep/er.txt", "x")
	b.Write("x.log", "1")
	b.Write("empty/x.log", "1")
	b.OwnFiles()
	b.settledFiles()
	tree := b.snapshot()
	n := b.spawns(func() {
		b.Equal("tree", b.snapshot(), tree)
		b.Write("x.log", "2")                       // what git ignores may change,
		b.Write("ralph/plan.jsonl", "p2\n")         // and what is ralph's own, as it does with each fact
		b.Write("ralph/.state/journal.jsonl", "j2") //
		b.Must(os.Chtimes(b.Path("a.txt"), time.Now(), time.Now()))
		b.Equal("tree", b.snapshot(), tree)
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
			b.Must(os.Rename(b.Path("dir"), b.Path(to)))
			b.Must(os.Symlink(to, b.Path("dir")))
		}
	}
	for name, change := range map[string]func(*testRepo){
		"new file":                 func(b *testRepo) { b.Write("new.txt", "x") },
		"new file below":           func(b *testRepo) { b.Write("dir/sub/new.txt", "x") },
		"new file in a new folder": func(b *testRepo) { b.Write("new/er/x.txt", "x") },
		"new file where there was an empty folder": func(b *testRepo) { b.Write("empty/x.txt", "x") },
		"new file in ralph":                        func(b *testRepo) { b.Write("ralph/notes.md", "x") },
		"deleted":                                  func(b *testRepo) { b.Remove("a.txt") },
		"folder deleted":                           func(b *testRepo) { b.Remove("dir") },
		"same size":                                func(b *testRepo) { b.Write("a.txt", strings.Repeat("y", len(b.Read("a.txt")))) },
		"replaced": func(b *testRepo) {
			b.Write("out/a", strings.Repeat("z", len(b.Read("a.txt"))))
			b.Must(os.Rename(b.Path("out/a"), b.Path("a.txt")))
		},
		"can be run":                                func(b *testRepo) { b.Must(os.Chmod(b.Path("a.txt"), 0o755)) },
		"file becomes a link":                       func(b *testRepo) { b.Remove("a.txt"); b.Must(os.Symlink("dir/b.txt", b.Path("a.txt"))) },
		"file becomes a folder":                     func(b *testRepo) { b.Remove("a.txt"); b.Write("a.txt/x", "x") },
		"folder becomes a link":                     link("elsewhere"),
		"folder becomes a link to what git ignores": link("out/elsewhere"),
		"ignored no more":                           func(b *testRepo) { b.Write(".gitignore", "out/\n") },
		"ignored no more, below":                    func(b *testRepo) { b.Write("out2/.gitignore", "") },
		"ignored no more, by the repository":        func(b *testRepo) { b.Write(".git/info/exclude", "#\n") },
		"staged away":                               func(b *testRepo) { b.Git("rm", "-q", "--cached", "a.txt"); b.Remove("a.txt") },
		"other content is staged": func(b *testRepo) {
			was := b.Read("a.txt")
			b.Write("a.txt", "staged")
			b.Git("add", "a.txt")
			b.Write("a.txt", was+"and more")
		},
		"added by force": func(b *testRepo) { b.Git("add", "-f", "x.log") },
		"repository inside": func(b *testRepo) {
			b.Git("init", "-q", b.Path("dir/inner"))
			b.Git("-C", b.Path("dir/inner"), "commit", "-q", "--allow-empty", "-m", "x")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBox(t)
			b.Must(os.MkdirAll(b.Path(".git/info"), 0o755))
			b.Write(".git/info/exclude", "private.txt\n")
			b.Write("private.txt", "x")
			b.Write(".gitignore", "*.log\nout/\n")
			b.Write("x.log", "1")
			b.Write("out/x", "1")
			b.Write("out2/x.bin", "1")
			b.Write("out2/.gitignore", "*\n")
			b.Write("ralph/specs/x.md", "spec")
			b.Must(os.MkdirAll(b.Path("empty"), 0o755))
			b.settledFiles()
			before := b.snapshot()
			if n := b.spawns(func() { b.Equal("tree", b.snapshot(), before) }); n != 0 {
				t.Fatalf("%d processes although nothing changed", n)
			}
			change(b)
			got := b.snapshot()
			b.Equal("tree", got, b.open(b.Dir).mustSnapshot(b)) // another one, that knows nothing yet
			if got == before {
				t.Error("nothing was found")
			}
		})
	}
}

// quiet has the work tree looked at until a look makes no file to learn what time it is: then all that
// was read is known to be as it was.
func (b *testRepo) quiet() {
	b.T.Helper()
	for began := time.Now(); ; {
		before, err := os.Stat(b.Path(".git"))
		b.Must(err)
		b.snapshot()
		after, err := os.Stat(b.Path(".git"))
		b.Must(err)
		if before.ModTime().Equal(after.ModTime()) {
			return
		}
		if time.Since(began) > time.Minute {
			b.T.Fatal("each look writes into .git")
		}
	}
}

// A look that reads nothing anew writes nothing; and settings that were read once are read again when
// they change, also where a link leads to them.
func TestQuietLooks(t *testing.T) {
	t.Parallel()
	for _, link := range []bool{false, true} {
		b := newBox(t)
		home := t.TempDir()
		write := func(name, text string) string {
			name = filepath.Join(home, name)
			b.Must(os.WriteFile(name, []byte(text), 0o600))
			return name
		}
		one, two := write("one", "private.txt\n"), write("two", "#\n")
		config := b.Path(".git/config")
		was, err := os.ReadFile(config)
		b.Must(err)
		names := func(patterns string) string { return string(was) + "[core]\n\texcludesFile = " + patterns + "\n" }
		if link {
			b.Must(os.Remove(config))
			b.Must(os.Symlink(write("config", ""), config))
		}
		b.Must(os.WriteFile(config, []byte(names(one)), 0o600))
		b.Write("private.txt", "x")
		b.settledFiles()
		without := b.snapshot()
		b.quiet()
		write("one", "#rivate.txt\n")
		with := b.snapshot()
		if with == without {
			t.Errorf("link %v: other patterns were not found", link)
		}
		write("one", "private.txt\n")
		b.snapshot()
		b.Git("rm", "-q", "--cached", "--ignore-unmatch", "private.txt")
		b.quiet()
		b.Write("more/private.txt", "x")
		b.Must(os.WriteFile(config, []byte(names(one)), 0o600))
		b.quiet()
		ignored := b.snapshot()
		b.Must(os.WriteFile(config, []byte(names(two)), 0o600))
		if b.snapshot() == ignored {
			t.Errorf("link %v: other settings were not found", link)
		}
		b.quiet()
		b.snapshot()
		write("two", "later.txt\n")
		b.Write("later.txt", "x")
		ignored = b.snapshot()
		b.quiet()
		write("two", "#ater.txt\n")
		if b.snapshot() == ignored {
			t.Errorf("link %v: patterns that other settings name are not looked at", link)
		}
		b.Equal("tree", b.snapshot(), b.open(b.Dir).mustSnapshot(b))
	}
}

func (r *Repo) mustSnapshot(b *testRepo) string {
	b.T.Helper()
	r.files.GiveUp() // git itself, each time
	tree, err := r.Snapshot(b.T.Context())
	b.Must(err)
	return tree
}

// More folders than can be looked at: git says which of them it ignores, once.
func TestLooksPassIgnoredFolders(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.Write(".gitignore", "modules/\n")
	for i := range 1001 {
		b.Must(os.MkdirAll(b.Path(fmt.Sprintf("modules/%d", i)), 0o755))
	}
	b.Write("modules/1/x.txt", "x")
	b.settledFiles()
	tree := b.snapshot()
	if n := b.spawns(func() { b.Equal("tree", b.snapshot(), tree) }); n != 0 {
		t.Errorf("%d processes", n)
	}
	b.Write("new/x.txt", "x")
	b.Equal("with a file more", b.snapshot(), b.open(b.Dir).mustSnapshot(b))
	b.Write(".gitignore", "")
	b.Equal("ignored no more", b.snapshot(), b.open(b.Dir).mustSnapshot(b))
	if !strings.Contains(b.Git("ls-tree", "-r", "--name-only", b.snapshot()), "modules/1/x.txt") {
		t.Error("the file of a folder that is ignored no more is missing")
	}
}

// Many changes, one at once after the other, in the same ticks of the clock.
func TestLooksAmongChanges(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		b := newBox(t)
		names := []string{"a.txt", "dir/b.txt", "dir/sub/c.txt", "new", "new2/x", "x.log", "out/x", "dir/x.log"}
		b.Write(".gitignore", "*.log\nout/\n")
		for range 12 {
			name := rapid.SampledFrom(names).Draw(rt, "name")
			path := b.Path(name)
			switch rapid.IntRange(0, 5).Draw(rt, "change") {
			case 0:
				_ = os.RemoveAll(path)
			case 1:
				if filepath.Dir(path) != b.Dir { // else that would be the repository
					_ = os.RemoveAll(filepath.Dir(path))
					b.Write(name, "a")
				}
			case 2:
				_ = os.Remove(path)
				_ = os.Symlink("a.txt", path)
			case 3: // looked at, unchanged
			default:
				if info, err := os.Lstat(path); err != nil || info.Mode().IsRegular() {
					b.Write(name, rapid.SampledFrom([]string{"a", "b", "c", "dd"}).Draw(rt, "text"))
				}
			}
			got, err := b.repo.Snapshot(t.Context())
			b.Must(err)
			if want := b.open(b.Dir).mustSnapshot(b); got != want {
				rt.Fatalf("a look gives\n%s\ngit\n%s", b.Git("ls-tree", "-r", got), b.Git("ls-tree", "-r", want))
			}
		}
	})
}
