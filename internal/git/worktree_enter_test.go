package git

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// terrible is what an agent left in a worktree on branch ralph/t-1. precious
// says whether it left the word "precious" somewhere that must not be lost.
type terrible struct {
	name     string
	precious bool
	fresh    bool
	do       func(w *testRepo, root *testRepo)
}

func terribles() []terrible {
	list := append(uncommitted(), unfinishedWork()...)
	return append(list, destroyed()...)
}

func uncommitted() []terrible {
	return []terrible{
		{"nothing", false, false, func(_, _ *testRepo) {}},
		{"own files alone", false, false, func(w, _ *testRepo) {
			w.write("ralph/inbox.jsonl", "x")
			w.git("add", "-f", "ralph/inbox.jsonl")
		}},
		{"changed", true, false, func(w, _ *testRepo) { w.write("a.txt", "precious") }},
		{"untracked", true, false, func(w, _ *testRepo) { w.write("new dir/ö\n.txt", "precious") }},
		{"staged, then changed", true, false, func(w, _ *testRepo) {
			w.write("a.txt", "precious")
			w.git("add", "a.txt")
			w.write("a.txt", "a\n")
		}},
		{"staged, then removed", true, false, func(w, _ *testRepo) {
			w.write("x.txt", "precious")
			w.git("add", "x.txt")
			w.remove("x.txt")
		}},
		{"deleted", false, false, func(w, _ *testRepo) { w.remove("dir") }},
		{"assumed unchanged", true, false, func(w, _ *testRepo) {
			w.git("update-index", "--assume-unchanged", "a.txt")
			w.write("a.txt", "precious")
		}},
		{"skipped", true, false, func(w, _ *testRepo) {
			w.git("update-index", "--skip-worktree", "a.txt")
			w.write("a.txt", "precious")
		}},
		{"repository inside", true, false, func(w, _ *testRepo) {
			w.git("init", "-q", "deep/inner")
			w.write("deep/inner/x", "precious")
			w.git("-C", "deep/inner", "add", "x")
			w.git("-C", "deep/inner", "commit", "-q", "-m", "x")
		}},
		{"repository inside, committed", true, false, func(w, _ *testRepo) {
			w.git("init", "-q", "inner")
			w.write("inner/x", "precious")
			w.git("-C", "inner", "add", "x")
			w.git("-C", "inner", "commit", "-q", "-m", "x")
			w.git("add", "-A")
			w.git("commit", "-q", "-m", "x")
		}},
		{"repository without commits inside", true, false, func(w, _ *testRepo) {
			w.git("init", "-q", "inner")
			w.write("inner/x", "precious")
		}},
		{"read-only file and folder", true, false, func(w, _ *testRepo) {
			w.write("shut/x", "precious")
			w.must(os.Chmod(w.path("shut/x"), 0))
			w.must(os.Chmod(w.path("shut"), 0o500))
			w.must(os.Chmod(w.path("a.txt"), 0o444))
		}},
		{"unreadable folder", true, false, func(w, _ *testRepo) {
			w.write("shut/x", "precious")
			w.must(os.Chmod(w.path("shut"), 0))
		}},
		{"pipe", false, false, func(w, _ *testRepo) { w.must(syscall.Mkfifo(w.path("pipe"), 0o644)) }},
	}
}

func unfinishedWork() []terrible {
	conflict := func(w *testRepo) {
		w.write("a.txt", "one\n")
		w.git("commit", "-qam", "one")
		w.git("checkout", "-q", "-b", "side", "HEAD~")
		w.write("a.txt", "two, precious\n")
		w.git("commit", "-qam", "two")
	}
	return []terrible{
		{"merge", true, false, func(w, _ *testRepo) {
			conflict(w)
			_, _ = w.try("merge", "ralph/t-1")
			w.git("branch", "-f", "-q", "side2")
			w.write("a.txt", "resolving, precious\n")
		}},
		{"rebase", true, false, func(w, _ *testRepo) {
			conflict(w)
			_, _ = w.try("rebase", "ralph/t-1")
			w.write("a.txt", "resolving, precious\n")
		}},
		{"cherry-pick", true, false, func(w, _ *testRepo) {
			conflict(w)
			_, _ = w.try("cherry-pick", "ralph/t-1")
		}},
		{"bisect", false, false, func(w, _ *testRepo) {
			w.git("commit", "-q", "--allow-empty", "-m", "x")
			w.git("bisect", "start", "HEAD", "HEAD~")
		}},
		{"detached commits", true, false, func(w, _ *testRepo) {
			w.git("checkout", "-q", "--detach")
			w.write("x", "precious")
			w.git("add", "x")
			w.git("commit", "-q", "-m", "x")
		}},
		{"orphan", true, false, func(w, _ *testRepo) {
			w.git("checkout", "-q", "--orphan", "other")
			w.write("x", "precious")
		}},
		{"branch deleted after commits", true, false, func(w, _ *testRepo) {
			w.write("x", "precious")
			w.git("add", "x")
			w.git("commit", "-q", "-m", "x")
			w.git("update-ref", "-d", "refs/heads/ralph/t-1")
		}},
		{"branch deleted, collected", true, false, func(w, _ *testRepo) {
			w.write("x", "precious")
			w.git("add", "x")
			w.git("commit", "-q", "-m", "x")
			w.git("checkout", "-q", "--detach")
			w.git("branch", "-q", "-D", "ralph/t-1")
			w.git("gc", "-q", "--prune=now")
		}},
		{"locks of a killed git", false, false, func(w, _ *testRepo) {
			for _, name := range w.repo.lockNames() {
				w.must(os.WriteFile(name, nil, 0o644))
				w.must(os.Chtimes(name, time.Time{}, time.Now().Add(-time.Hour)))
			}
		}},
	}
}

func destroyed() []terrible {
	return []terrible{
		{".git file deleted", true, false, func(w, _ *testRepo) {
			w.write("a.txt", "precious")
			w.remove(".git")
		}},
		{".git file overwritten", true, false, func(w, _ *testRepo) {
			w.write("a.txt", "precious")
			w.write(".git", "gitdir: /nowhere\n")
		}},
		{"git folder deleted", true, false, func(w, _ *testRepo) {
			w.write("a.txt", "precious")
			w.must(os.RemoveAll(w.repo.gitDir))
		}},
		{"HEAD spoilt", true, false, func(w, _ *testRepo) {
			w.write("a.txt", "precious")
			w.must(os.WriteFile(filepath.Join(w.repo.gitDir, "HEAD"), []byte("what?"), 0o644))
		}},
		{"index spoilt", true, false, func(w, _ *testRepo) {
			w.write("a.txt", "precious")
			w.must(os.WriteFile(w.repo.realIndex(), []byte("what?"), 0o644))
		}},
		{"index deleted", true, false, func(w, _ *testRepo) {
			w.write("a.txt", "precious")
			w.must(os.Remove(w.repo.realIndex()))
		}},
		{"folder deleted", false, true, func(w, _ *testRepo) { w.remove("") }},
		{"folder deleted with detached commits", true, true, func(w, _ *testRepo) {
			w.git("checkout", "-q", "--detach")
			w.write("x", "precious")
			w.git("add", "x")
			w.git("commit", "-q", "-m", "x")
			w.remove("")
		}},
		{"folder emptied", false, true, func(w, _ *testRepo) {
			w.remove("")
			w.must(os.Mkdir(w.dir, 0o755))
		}},
		{"worktree removed", false, true, func(w, root *testRepo) { root.git("worktree", "remove", "--force", w.dir) }},
		{"worktree removed and pruned", false, true, func(w, root *testRepo) {
			w.remove("")
			root.git("worktree", "prune")
		}},
		{"worktree moved", false, true, func(w, root *testRepo) { root.git("worktree", "move", w.dir, root.path("ralph/.worktrees/moved")) }},
	}
}

// outside is the checkout without its worktrees.
func (b *testRepo) outside() map[string]string {
	b.t.Helper()
	list := map[string]string{}
	entries, err := os.ReadDir(b.dir)
	b.must(err)
	for _, e := range entries {
		if e.Name() == "ralph" || e.Name() == ".git" {
			continue
		}
		if !e.IsDir() {
			list[e.Name()] = b.read(e.Name())
			continue
		}
		for name, text := range (&testRepo{t: b.t, dir: b.path(e.Name())}).files() {
			list[e.Name()+"/"+name] = text
		}
	}
	return list
}

// B-005: the next task finds a clean worktree, whatever the last one left; and
// nothing that was there is lost.
func TestEnterAfterTerribleThings(t *testing.T) {
	t.Parallel()
	for _, tt := range terribles() {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBox(t)
			dir := b.pool("1")[0]
			b.mustEnter(b.task(dir, "t-1"))
			tt.do(b.in(dir), b)
			before := b.outside()
			e := b.mustEnter(b.task(dir, "t-2"))
			b.ready(e, "ralph/t-2", b.head())
			if e.Fresh != tt.fresh {
				t.Errorf("fresh is %v", e.Fresh)
			}
			if got := b.recovered("precious"); got != tt.precious {
				t.Errorf("recovered: %v, want %v; saved %+v", got, tt.precious, e.Saved)
			}
			for _, s := range e.Saved {
				if s.Ref != "" {
					b.equal(s.What, b.git("rev-parse", s.Ref), s.Commit)
				}
				if s.What == "" || s.Ref == "" && s.Path == "" {
					t.Errorf("saved where? %+v", s)
				}
			}
			if d := cmp.Diff(before, b.outside()); d != "" {
				t.Errorf("the user's files (-before +after):\n%s", d)
			}
			saved, err := b.repo.RemoveTree(t.Context(), dir, "end")
			b.must(err)
			if len(saved) > 0 {
				t.Errorf("saved from a clean worktree: %+v", saved)
			}
			if stat(dir) != nil {
				t.Error("it is still there")
			}
		})
	}
}

// B-079: removed at once, whatever was left, and nothing lost.
func TestRemoveAfterTerribleThings(t *testing.T) {
	t.Parallel()
	for _, tt := range terribles() {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBox(t)
			dir := b.pool("1")[0]
			b.mustEnter(b.task(dir, "t-1"))
			tt.do(b.in(dir), b)
			saved, err := b.repo.RemoveTree(t.Context(), dir, "t-1")
			b.must(err)
			found := b.recovered("precious")
			for _, branch := range strings.Fields(b.git("for-each-ref", "--format=%(objectname)", "refs/heads")) {
				_, err := b.try("grep", "-q", "precious", branch)
				found = found || err == nil
			}
			if found != tt.precious && !tt.fresh {
				t.Errorf("found: %v, want %v; saved %+v", found, tt.precious, saved)
			}
			if stat(dir) != nil {
				t.Error("its folder is there")
			}
			if out := b.git("worktree", "list", "--porcelain"); strings.Contains(out, dir+"\n") {
				t.Errorf("git lists it: %s", out)
			}
			left, _ := os.ReadDir(b.path("ralph/.worktrees"))
			for _, e := range left {
				if !strings.HasPrefix(e.Name(), ".kept-") && e.Name() != "moved" {
					t.Errorf("left over: %s", e.Name())
				}
			}
			saved, err = b.repo.RemoveTree(t.Context(), dir, "t-1")
			b.must(err)
			if len(saved) > 0 {
				t.Errorf("saved again: %+v", saved)
			}
			b.git("fsck", "--no-dangling")
		})
	}
}
