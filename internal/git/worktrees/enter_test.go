package worktrees

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/ralph-loop/ralph/internal/git"
	"github.com/ralph-loop/ralph/internal/ralphtest"
	"github.com/ralph-loop/ralph/internal/ralphtest/gittest"
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
			w.Write("ralph/inbox.jsonl", "x")
			w.Git("add", "-f", "ralph/inbox.jsonl")
		}},
		{"changed", true, false, func(w, _ *testRepo) { w.Write("a.txt", "precious") }},
		{"untracked", true, false, func(w, _ *testRepo) { w.Write("new dir/ö\n.txt", "precious") }},
		{"staged, then changed", true, false, func(w, _ *testRepo) {
			w.Write("a.txt", "precious")
			w.Git("add", "a.txt")
			w.Write("a.txt", "a\n")
		}},
		{"staged, then removed", true, false, func(w, _ *testRepo) {
			w.Write("x.txt", "precious")
			w.Git("add", "x.txt")
			w.Remove("x.txt")
		}},
		{"deleted", false, false, func(w, _ *testRepo) { w.Remove("dir") }},
		{"assumed unchanged", true, false, func(w, _ *testRepo) {
			w.Git("update-index", "--assume-unchanged", "a.txt")
			w.Write("a.txt", "precious")
		}},
		{"skipped", true, false, func(w, _ *testRepo) {
			w.Git("update-index", "--skip-worktree", "a.txt")
			w.Write("a.txt", "precious")
		}},
		{"repository inside", true, false, func(w, _ *testRepo) {
			w.Git("init", "-q", "deep/inner")
			w.Write("deep/inner/x", "precious")
			w.Git("-C", "deep/inner", "add", "x")
			w.Git("-C", "deep/inner", "commit", "-q", "-m", "x")
		}},
		{"repository inside, committed", true, false, func(w, _ *testRepo) {
			w.Git("init", "-q", "inner")
			w.Write("inner/x", "precious")
			w.Git("-C", "inner", "add", "x")
			w.Git("-C", "inner", "commit", "-q", "-m", "x")
			w.Git("add", "-A")
			w.Git("commit", "-q", "-m", "x")
		}},
		{"repository without commits inside", true, false, func(w, _ *testRepo) {
			w.Git("init", "-q", "inner")
			w.Write("inner/x", "precious")
		}},
		{"read-only file and folder", true, false, func(w, _ *testRepo) {
			w.Write("shut/x", "precious")
			w.Must(os.Chmod(w.Path("shut/x"), 0))
			w.Must(os.Chmod(w.Path("shut"), 0o500))
			w.Must(os.Chmod(w.Path("a.txt"), 0o444))
		}},
		{"unreadable folder", true, false, func(w, _ *testRepo) {
			w.Write("shut/x", "precious")
			w.Must(os.Chmod(w.Path("shut"), 0))
		}},
		{"pipe", false, false, func(w, _ *testRepo) { w.Must(syscall.Mkfifo(w.Path("pipe"), 0o644)) }},
	}
}

func unfinishedWork() []terrible {
	conflict := func(w *testRepo) {
		w.Write("a.txt", "one\n")
		w.Git("commit", "-qam", "one")
		w.Git("checkout", "-q", "-b", "side", "HEAD~")
		w.Write("a.txt", "two, precious\n")
		w.Git("commit", "-qam", "two")
	}
	return []terrible{
		{"merge", true, false, func(w, _ *testRepo) {
			conflict(w)
			_, _ = w.Try("merge", "ralph/t-1")
			w.Git("branch", "-f", "-q", "side2")
			w.Write("a.txt", "resolving, precious\n")
		}},
		{"rebase", true, false, func(w, _ *testRepo) {
			conflict(w)
			_, _ = w.Try("rebase", "ralph/t-1")
			w.Write("a.txt", "resolving, precious\n")
		}},
		{"cherry-pick", true, false, func(w, _ *testRepo) {
			conflict(w)
			_, _ = w.Try("cherry-pick", "ralph/t-1")
		}},
		{"bisect", false, false, func(w, _ *testRepo) {
			w.Git("commit", "-q", "--allow-empty", "-m", "x")
			w.Git("bisect", "start", "HEAD", "HEAD~")
		}},
		{"detached commits", true, false, func(w, _ *testRepo) {
			w.Git("checkout", "-q", "--detach")
			w.Write("x", "precious")
			w.Git("add", "x")
			w.Git("commit", "-q", "-m", "x")
		}},
		{"orphan", true, false, func(w, _ *testRepo) {
			w.Git("checkout", "-q", "--orphan", "other")
			w.Write("x", "precious")
		}},
		{"branch deleted after commits", true, false, func(w, _ *testRepo) {
			w.Write("x", "precious")
			w.Git("add", "x")
			w.Git("commit", "-q", "-m", "x")
			w.Git("update-ref", "-d", "refs/heads/ralph/t-1")
		}},
		{"branch deleted, collected", true, false, func(w, _ *testRepo) {
			w.Write("x", "precious")
			w.Git("add", "x")
			w.Git("commit", "-q", "-m", "x")
			w.Git("checkout", "-q", "--detach")
			w.Git("branch", "-q", "-D", "ralph/t-1")
			w.Git("gc", "-q", "--prune=now")
		}},
		{"locks of a killed git", false, false, func(w, _ *testRepo) {
			for _, name := range w.repo.LockNames() {
				w.Must(os.WriteFile(name, nil, 0o644))
				w.Must(os.Chtimes(name, time.Time{}, time.Now().Add(-time.Hour)))
			}
		}},
	}
}

func destroyed() []terrible {
	return []terrible{
		{".git file deleted", true, false, func(w, _ *testRepo) {
			w.Write("a.txt", "precious")
			w.Remove(".git")
		}},
		{".git file overwritten", true, false, func(w, _ *testRepo) {
			w.Write("a.txt", "precious")
			w.Write(".git", "gitdir: /nowhere\n")
		}},
		{"git folder deleted", true, false, func(w, _ *testRepo) {
			w.Write("a.txt", "precious")
			w.Must(os.RemoveAll(w.repo.GitDir()))
		}},
		{"HEAD spoilt", true, false, func(w, _ *testRepo) {
			w.Write("a.txt", "precious")
			w.Must(os.WriteFile(filepath.Join(w.repo.GitDir(), "HEAD"), []byte("what?"), 0o644))
		}},
		{"index spoilt", true, false, func(w, _ *testRepo) {
			w.Write("a.txt", "precious")
			w.Must(os.WriteFile(w.repo.RealIndex(), []byte("what?"), 0o644))
		}},
		{"index deleted", true, false, func(w, _ *testRepo) {
			w.Write("a.txt", "precious")
			w.Must(os.Remove(w.repo.RealIndex()))
		}},
		{"folder deleted", false, true, func(w, _ *testRepo) { w.Remove("") }},
		{"folder deleted with detached commits", true, true, func(w, _ *testRepo) {
			w.Git("checkout", "-q", "--detach")
			w.Write("x", "precious")
			w.Git("add", "x")
			w.Git("commit", "-q", "-m", "x")
			w.Remove("")
		}},
		{"folder emptied", false, true, func(w, _ *testRepo) {
			w.Remove("")
			w.Must(os.Mkdir(w.Dir, 0o755))
		}},
		{"worktree removed", false, true, func(w, root *testRepo) { root.Git("worktree", "remove", "--force", w.Dir) }},
		{"worktree removed and pruned", false, true, func(w, root *testRepo) {
			w.Remove("")
			root.Git("worktree", "prune")
		}},
		{"worktree moved", false, true, func(w, root *testRepo) { root.Git("worktree", "move", w.Dir, root.Path("ralph/.worktrees/moved")) }},
	}
}

// outside is the checkout without its worktrees.
func (b *testRepo) outside() map[string]string {
	b.T.Helper()
	list := map[string]string{}
	entries, err := os.ReadDir(b.Dir)
	b.Must(err)
	for _, e := range entries {
		if e.Name() == "ralph" || e.Name() == ".git" {
			continue
		}
		if !e.IsDir() {
			list[e.Name()] = b.Read(e.Name())
			continue
		}
		for name, text := range (&testRepo{Box: gittest.Box{T: b.T, Dir: b.Path(e.Name())}}).Files() {
			list[e.Name()+"/"+name] = text
		}
	}
	return list
}

// B-005: the next task finds a clean worktree, whatever the last one left; and
// nothing that was there is lost.
func TestEnterAfterTerribleThings(t *testing.T) {
	t.Parallel()
	for _, tt := range ralphtest.Cases(4, terribles()) {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBox(t)
			dir := b.pool("1")[0]
			b.mustEnter(b.task(dir, "t-1"))
			tt.do(b.in(dir), b)
			before := b.outside()
			e := b.mustEnter(b.task(dir, "t-2"))
			b.ready(e, "ralph/t-2", b.Head())
			if e.Fresh != tt.fresh {
				t.Errorf("fresh is %v", e.Fresh)
			}
			if got := b.recovered("precious"); got != tt.precious {
				t.Errorf("recovered: %v, want %v; saved %+v", got, tt.precious, e.Saved)
			}
			for _, s := range e.Saved {
				if s.Ref != "" {
					b.Equal(s.What, b.Git("rev-parse", s.Ref), s.Commit)
				}
				if s.What == "" || s.Ref == "" && s.Path == "" {
					t.Errorf("saved where? %+v", s)
				}
			}
			if d := cmp.Diff(before, b.outside()); d != "" {
				t.Errorf("the user's files (-before +after):\n%s", d)
			}
			saved, err := Remove(t.Context(), b.repo, dir, "end")
			b.Must(err)
			if len(saved) > 0 {
				t.Errorf("saved from a clean worktree: %+v", saved)
			}
			if git.Stat(dir) != nil {
				t.Error("it is still there")
			}
		})
	}
}

// B-079: removed at once, whatever was left, and nothing lost.
func TestRemoveAfterTerribleThings(t *testing.T) {
	t.Parallel()
	for _, tt := range ralphtest.Cases(4, terribles()) {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBox(t)
			dir := b.pool("1")[0]
			b.mustEnter(b.task(dir, "t-1"))
			tt.do(b.in(dir), b)
			saved, err := Remove(t.Context(), b.repo, dir, "t-1")
			b.Must(err)
			found := b.recovered("precious")
			for _, branch := range strings.Fields(b.Git("for-each-ref", "--format=%(objectname)", "refs/heads")) {
				_, err := b.Try("grep", "-q", "precious", branch)
				found = found || err == nil
			}
			if found != tt.precious && !tt.fresh {
				t.Errorf("found: %v, want %v; saved %+v", found, tt.precious, saved)
			}
			if git.Stat(dir) != nil {
				t.Error("its folder is there")
			}
			if out := b.Git("worktree", "list", "--porcelain"); strings.Contains(out, dir+"\n") {
				t.Errorf("git lists it: %s", out)
			}
			left, _ := os.ReadDir(b.Path("ralph/.worktrees"))
			for _, e := range left {
				if !strings.HasPrefix(e.Name(), ".kept-") && e.Name() != "moved" {
					t.Errorf("left over: %s", e.Name())
				}
			}
			saved, err = Remove(t.Context(), b.repo, dir, "t-1")
			b.Must(err)
			if len(saved) > 0 {
				t.Errorf("saved again: %+v", saved)
			}
			b.Git("fsck", "--no-dangling")
		})
	}
}

// A spec lands as one commit, and the branches of its tasks go: what a worktree stands at then is
// no lost work, at the next task as at the end. What was committed on top of it is.
func TestEnterAfterItsCommitLanded(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name        string
		noted, more bool
		saved       int
	}{
		{"landed", true, false, 0},
		{"landed, and a commit on top", true, true, 1},
		{"not landed", false, false, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBox(t)
			dirs := b.pool("1", "2")
			for i, dir := range dirs {
				b.mustEnter(b.task(dir, "t-"+strconv.Itoa(i)))
				w := b.in(dir)
				w.Write("work", dir)
				w.Git("add", "work")
				w.Git("commit", "-q", "-m", "work")
				w.Git("checkout", "-q", "--detach")
				tip := w.Head()
				b.Git("branch", "-q", "-D", "ralph/t-"+strconv.Itoa(i))
				if tt.noted {
					b.Must(NoteLanded(t.Context(), b.repo, tip))
				}
				if tt.more {
					w.Git("commit", "-q", "--allow-empty", "-m", "stray")
				}
			}
			if e := b.mustEnter(b.task(dirs[0], "t-3")); len(e.Saved) != tt.saved {
				t.Errorf("entered, and saved %+v, want %d", e.Saved, tt.saved)
			}
			saved, err := Remove(t.Context(), b.repo, dirs[1], "end")
			b.Must(err)
			if len(saved) != tt.saved {
				t.Errorf("removed, and saved %+v, want %d", saved, tt.saved)
			}
			if refs := b.Git("for-each-ref", "refs/ralph/recovery"); tt.saved == 0 && refs != "" {
				t.Errorf("kept: %s", refs)
			}
		})
	}
}
