package worktrees

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ralph-loop/ralph/internal/git"
	"github.com/ralph-loop/ralph/internal/git/commits"
	"github.com/ralph-loop/ralph/internal/ralphtest"
)

// B-074, X-27: what a stopped task had uncommitted is an ordinary stash, and
// comes back at its next start, also in another worktree.
func TestStashTreeAndBack(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.Write("mine.txt", "the user's")
	b.Git("stash", "push", "-q", "-u", "-m", "mine")
	dirs := b.pool("1", "2")
	in := b.task(dirs[0], "t-1")
	b.mustEnter(in)
	w := b.in(dirs[0])
	w.Write("work.txt", "committed")
	w.mustCommit("k", func(in *commits.Input) { in.Squash = false })
	w.Edit()
	w.Write("ralph/specs/x.md", "a spec")
	edited := w.Files()
	stash, _, err := Stash(t.Context(), b.repo, dirs[0], "ralph: stopped t-1", "stop-1")
	b.Must(err)
	b.Equal("status", w.Status(), "")
	b.Equal("stashes", b.Stashes(), "stash@{0}: ralph: stopped t-1\nstash@{1}: On main: mine")
	again, _, err := Stash(t.Context(), b.repo, dirs[0], "ralph: stopped t-1", "stop-1")
	b.Must(err)
	b.Equal("again", again, stash)
	b.Equal("stashes", b.Stashes(), "stash@{0}: ralph: stopped t-1\nstash@{1}: On main: mine")

	b.mustEnter(b.task(dirs[0], "t-9")) // the branch is free for another worktree
	in.Mine, in.Dir, in.Stash = true, dirs[1], stash
	e := b.mustEnter(in)
	if !e.Restored || len(e.Conflicts) > 0 {
		t.Errorf("entered: %+v", e)
	}
	w = b.in(dirs[1])
	files := w.Files()
	delete(files, ".git")
	delete(edited, ".git")
	if d := cmp.Diff(edited, files); d != "" {
		t.Errorf("given back (-want +got):\n%s", d)
	}
	b.Equal("stashes", b.Stashes(), "stash@{0}: On main: mine")
	if e := b.mustEnter(in); !e.Restored {
		t.Errorf("a second time: %+v", e)
	}
}

// Killed between giving a stash back and taking it off the list.
func TestStashGivenBackTwice(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	dir := b.pool("1")[0]
	in := b.task(dir, "t-1")
	b.mustEnter(in)
	b.in(dir).Edit()
	stash, _, err := Stash(t.Context(), b.repo, dir, "stopped", "s")
	b.Must(err)
	b.in(dir).Git("stash", "apply", "-q", stash)
	want := b.in(dir).Files()
	in.Mine, in.Stash = true, stash
	if e := b.mustEnter(in); !e.Restored {
		t.Errorf("entered: %+v", e)
	}
	if d := cmp.Diff(want, b.in(dir).Files()); d != "" {
		t.Errorf("files (-want +got):\n%s", d)
	}
	b.Equal("stashes", b.Stashes(), "")
}

// eight tasks that were stopped go on at once. git takes a stash off its list by
// a position that the others move; nobody gets another's work, or goes on without.
func TestStashesGivenBackAtOnce(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.Write("mine.txt", "the user's")
	b.Git("stash", "push", "-q", "-u", "-m", "mine")
	var ins []EnterInput
	for i, dir := range b.pool("1", "2", "3", "4", "5", "6", "7", "8") {
		in := b.task(dir, fmt.Sprint("t-", i))
		b.mustEnter(in)
		b.in(dir).Write("work.txt", in.ID)
		ins = append(ins, in)
	}
	for round := range ralphtest.Rounds(1, 3) {
		var all sync.WaitGroup
		for i := range ins {
			all.Go(func() {
				stash, _, err := Stash(t.Context(), b.repo, ins[i].Dir, "ralph: stopped "+ins[i].ID, fmt.Sprint(ins[i].ID, "-", round))
				if err != nil || stash == "" {
					t.Errorf("stash %s: %q %v", ins[i].ID, stash, err)
				}
				ins[i].Mine, ins[i].Stash = true, stash
			})
		}
		all.Wait()
		for _, in := range ins {
			all.Go(func() {
				if e, err := Enter(t.Context(), b.repo, in); err != nil || !e.Restored {
					t.Errorf("enter %s: %+v %v", in.ID, e, err)
				}
			})
		}
		all.Wait()
		for _, in := range ins {
			b.in(in.Dir).Want("work.txt", in.ID)
		}
		b.Equal("stashes", b.Stashes(), "stash@{0}: On main: mine")
	}
}

func TestStashGivenBackWithConflicts(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	dir := b.pool("1")[0]
	in := b.task(dir, "t-1")
	b.mustEnter(in)
	w := b.in(dir)
	w.Write("a.txt", "mine\n")
	stash, _, err := Stash(t.Context(), b.repo, dir, "stopped", "s")
	b.Must(err)
	w.Write("a.txt", "other\n")
	in.Mine, in.Stash = true, stash
	if e := b.mustEnter(in); e.Restored {
		t.Errorf("over changes: %+v", e)
	}
	w.Want("a.txt", "other\n")
	w.Git("commit", "-qam", "other")
	e := b.mustEnter(in)
	if !e.Restored || strings.Join(e.Conflicts, " ") != "a.txt" {
		t.Errorf("entered: %+v", e)
	}
	if text := w.Read("a.txt"); !strings.Contains(text, "mine") || !strings.Contains(text, "other") {
		t.Errorf("conflict: %q", text)
	}
	b.Equal("stashes", b.Stashes(), "stash@{0}: stopped")
}

func TestRemoveTreeLocked(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	dir := b.pool("1")[0]
	b.Git("worktree", "lock", dir)
	_, err := Remove(t.Context(), b.repo, dir, "x")
	b.Refused(err, "locked")
	b.Git("worktree", "unlock", dir)
	_, err = Remove(t.Context(), b.repo, dir, "x")
	b.Must(err)
}

// B-079: removing costs what cleanness costs, not what the files cost.
func TestRemoveTreeProcesses(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	dir := b.pool("1")[0]
	b.mustEnter(b.task(dir, "t-1"))
	settleClock(b.in(dir))
	if n := b.treeSpawns(func() { _, err := Remove(t.Context(), b.repo, dir, "x"); b.Must(err) }); n != 0 {
		t.Errorf("%d processes, want none", n)
	}
	b.Equal("worktrees", b.Git("worktree", "list", "--porcelain"), "worktree "+b.Dir+"\nHEAD "+b.Head()+"\nbranch refs/heads/main")
}

func TestCopyInto(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	dir := b.pool("1")[0]
	old := time.Unix(1_000_000_000, 0)
	b.Write(".env", "secret")
	b.Write("deps/a/x.js", "x")
	b.Write("deps/.bin/tool", "tool")
	b.Must(os.Chmod(b.Path("deps/.bin/tool"), 0o750))
	b.Must(os.Symlink("../a/x.js", b.Path("deps/.bin/link")))
	b.Must(os.Symlink("/etc/passwd", b.Path("deps/outside")))
	b.Must(syscall.Mkfifo(b.Path("deps/pipe"), 0o644))
	b.Must(os.Chtimes(b.Path("deps/a/x.js"), old, old))
	b.Must(os.Chmod(b.Path("deps/a"), 0o550))
	t.Cleanup(func() { _ = os.Chmod(b.Path("deps/a"), 0o750); _ = os.Chmod(filepath.Join(dir, "deps/a"), 0o750) })
	b.Write("sub/deep/local.cfg", "cfg")
	b.Write("a.txt", "changed in the root")
	copied, err := CopyInto(t.Context(), b.Dir, dir, []string{".env*", "deps/", "sub/*/*.cfg", "a.txt", "ralph"})
	b.Must(err)
	b.Equal("copied", strings.Join(copied, " "), ".env a.txt deps ralph sub/deep/local.cfg")
	w := b.in(dir)
	w.Want(".env", "secret")
	w.Want("deps/.bin/link", "x")
	w.Want("sub/deep/local.cfg", "cfg")
	w.Want("a.txt", "a\n") // git's stays
	for name, mode := range map[string]fs.FileMode{"deps/.bin/tool": 0o750, "deps/a": fs.ModeDir | 0o550, "deps/outside": fs.ModeSymlink | 0o777} {
		if info, err := os.Lstat(w.Path(name)); err != nil || info.Mode() != mode {
			t.Errorf("%s: %v %v", name, info.Mode(), err)
		}
	}
	if !git.Stat(w.Path("deps/a/x.js")).ModTime().Equal(old) {
		t.Error("times are lost")
	}
	for _, name := range []string{"deps/pipe", "ralph/.worktrees", "deps/a/x.js" + partSuffix} {
		if _, err := os.Lstat(w.Path(name)); err == nil {
			t.Errorf("%s was copied", name)
		}
	}
	_, err = CopyInto(t.Context(), b.Dir, dir, []string{".env"}) // again, as after a crash
	b.Must(err)
}

func TestCopyIntoRefuses(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	dir := b.pool("1")[0]
	b.Must(os.WriteFile(filepath.Join(b.Dir, "../secret"), []byte("x"), 0o644))
	b.Must(os.Symlink("..", b.Path("up")))
	for _, p := range []string{"../secret", "/etc/passwd", ".", "", "none*", "up/secret", "[", ".git", "ralph/.worktrees/1"} {
		copied, err := CopyInto(t.Context(), b.Dir, dir, []string{p, "a.txt"})
		if err == nil || len(copied) > 0 || !strings.Contains(err.Error(), `"`+p+`"`) {
			t.Errorf("%q: %q, %v", p, copied, err)
		}
	}
	// A link in the worktree does not lead the copy out of it.
	b.Write("cfg/x", "x")
	outside := t.TempDir()
	b.Must(os.Symlink(outside, filepath.Join(dir, "cfg")))
	if _, err := CopyInto(t.Context(), b.Dir, dir, []string{"cfg/x"}); err == nil {
		t.Error("copied through a link")
	}
	if list, _ := os.ReadDir(outside); len(list) > 0 {
		t.Error("wrote outside the worktree")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := CopyInto(ctx, b.Dir, dir, []string{"a.txt"}); err == nil {
		t.Error("a cancelled copy succeeded")
	}
}
