package git

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
)

// B-074, X-27: what a stopped task had uncommitted is an ordinary stash, and
// comes back at its next start, also in another worktree.
func TestStashTreeAndBack(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.write("mine.txt", "the user's")
	b.git("stash", "push", "-q", "-u", "-m", "mine")
	dirs := b.pool("1", "2")
	in := b.task(dirs[0], "t-1")
	b.mustEnter(in)
	w := b.in(dirs[0])
	w.write("work.txt", "committed")
	w.mustCommit("k", func(in *CommitInput) { in.Squash = false })
	w.edit()
	w.write("ralph/specs/x.md", "a spec")
	edited := w.files()
	stash, _, err := b.repo.StashTree(t.Context(), dirs[0], "ralph: stopped t-1", "stop-1")
	b.must(err)
	b.equal("status", w.status(), "")
	b.equal("stashes", b.stashes(), "stash@{0}: ralph: stopped t-1\nstash@{1}: On main: mine")
	again, _, err := b.repo.StashTree(t.Context(), dirs[0], "ralph: stopped t-1", "stop-1")
	b.must(err)
	b.equal("again", again, stash)
	b.equal("stashes", b.stashes(), "stash@{0}: ralph: stopped t-1\nstash@{1}: On main: mine")

	b.mustEnter(b.task(dirs[0], "t-9")) // the branch is free for another worktree
	in.Mine, in.Dir, in.Stash = true, dirs[1], stash
	e := b.mustEnter(in)
	if !e.Restored || len(e.Conflicts) > 0 {
		t.Errorf("entered: %+v", e)
	}
	w = b.in(dirs[1])
	files := w.files()
	delete(files, ".git")
	delete(edited, ".git")
	if d := cmp.Diff(edited, files); d != "" {
		t.Errorf("given back (-want +got):\n%s", d)
	}
	b.equal("stashes", b.stashes(), "stash@{0}: On main: mine")
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
	b.in(dir).edit()
	stash, _, err := b.repo.StashTree(t.Context(), dir, "stopped", "s")
	b.must(err)
	b.in(dir).git("stash", "apply", "-q", stash)
	want := b.in(dir).files()
	in.Mine, in.Stash = true, stash
	if e := b.mustEnter(in); !e.Restored {
		t.Errorf("entered: %+v", e)
	}
	if d := cmp.Diff(want, b.in(dir).files()); d != "" {
		t.Errorf("files (-want +got):\n%s", d)
	}
	b.equal("stashes", b.stashes(), "")
}

// eight tasks that were stopped go on at once. git takes a stash off its list by
// a position that the others move; nobody gets another's work, or goes on without.
func TestStashesGivenBackAtOnce(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.write("mine.txt", "the user's")
	b.git("stash", "push", "-q", "-u", "-m", "mine")
	var ins []EnterInput
	for i, dir := range b.pool("1", "2", "3", "4", "5", "6", "7", "8") {
		in := b.task(dir, fmt.Sprint("t-", i))
		b.mustEnter(in)
		b.in(dir).write("work.txt", in.ID)
		ins = append(ins, in)
	}
	for round := range 3 {
		var all sync.WaitGroup
		for i := range ins {
			all.Go(func() {
				stash, _, err := b.repo.StashTree(t.Context(), ins[i].Dir, "ralph: stopped "+ins[i].ID, fmt.Sprint(ins[i].ID, "-", round))
				if err != nil || stash == "" {
					t.Errorf("stash %s: %q %v", ins[i].ID, stash, err)
				}
				ins[i].Mine, ins[i].Stash = true, stash
			})
		}
		all.Wait()
		for _, in := range ins {
			all.Go(func() {
				if e, err := b.repo.Enter(t.Context(), in); err != nil || !e.Restored {
					t.Errorf("enter %s: %+v %v", in.ID, e, err)
				}
			})
		}
		all.Wait()
		for _, in := range ins {
			b.in(in.Dir).want("work.txt", in.ID)
		}
		b.equal("stashes", b.stashes(), "stash@{0}: On main: mine")
	}
}

func TestStashGivenBackWithConflicts(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	dir := b.pool("1")[0]
	in := b.task(dir, "t-1")
	b.mustEnter(in)
	w := b.in(dir)
	w.write("a.txt", "mine\n")
	stash, _, err := b.repo.StashTree(t.Context(), dir, "stopped", "s")
	b.must(err)
	w.write("a.txt", "other\n")
	in.Mine, in.Stash = true, stash
	if e := b.mustEnter(in); e.Restored {
		t.Errorf("over changes: %+v", e)
	}
	w.want("a.txt", "other\n")
	w.git("commit", "-qam", "other")
	e := b.mustEnter(in)
	if !e.Restored || strings.Join(e.Conflicts, " ") != "a.txt" {
		t.Errorf("entered: %+v", e)
	}
	if text := w.read("a.txt"); !strings.Contains(text, "mine") || !strings.Contains(text, "other") {
		t.Errorf("conflict: %q", text)
	}
	b.equal("stashes", b.stashes(), "stash@{0}: stopped")
}

func TestRemoveTreeLocked(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	dir := b.pool("1")[0]
	b.git("worktree", "lock", dir)
	_, err := b.repo.RemoveTree(t.Context(), dir, "x")
	b.refused(err, "locked")
	b.git("worktree", "unlock", dir)
	_, err = b.repo.RemoveTree(t.Context(), dir, "x")
	b.must(err)
}

// B-079: removing costs what cleanness costs, not what the files cost.
func TestRemoveTreeProcesses(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	dir := b.pool("1")[0]
	b.mustEnter(b.task(dir, "t-1"))
	settleClock(b.in(dir))
	if n := b.treeSpawns(dir, func() { _, err := b.repo.RemoveTree(t.Context(), dir, "x"); b.must(err) }); n != 0 {
		t.Errorf("%d processes, want none", n)
	}
	b.equal("worktrees", b.git("worktree", "list", "--porcelain"), "worktree "+b.dir+"\nHEAD "+b.head()+"\nbranch refs/heads/main")
}

func TestCopyInto(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	dir := b.pool("1")[0]
	old := time.Unix(1_000_000_000, 0)
	b.write(".env", "secret")
	b.write("deps/a/x.js", "x")
	b.write("deps/.bin/tool", "tool")
	b.must(os.Chmod(b.path("deps/.bin/tool"), 0o750))
	b.must(os.Symlink("../a/x.js", b.path("deps/.bin/link")))
	b.must(os.Symlink("/etc/passwd", b.path("deps/outside")))
	b.must(syscall.Mkfifo(b.path("deps/pipe"), 0o644))
	b.must(os.Chtimes(b.path("deps/a/x.js"), old, old))
	b.must(os.Chmod(b.path("deps/a"), 0o550))
	t.Cleanup(func() { _ = os.Chmod(b.path("deps/a"), 0o750); _ = os.Chmod(filepath.Join(dir, "deps/a"), 0o750) })
	b.write("sub/deep/local.cfg", "cfg")
	b.write("a.txt", "changed in the root")
	copied, err := CopyInto(t.Context(), b.dir, dir, []string{".env*", "deps/", "sub/*/*.cfg", "a.txt", "ralph"})
	b.must(err)
	b.equal("copied", strings.Join(copied, " "), ".env a.txt deps ralph sub/deep/local.cfg")
	w := b.in(dir)
	w.want(".env", "secret")
	w.want("deps/.bin/link", "x")
	w.want("sub/deep/local.cfg", "cfg")
	w.want("a.txt", "a\n") // git's stays
	for name, mode := range map[string]fs.FileMode{"deps/.bin/tool": 0o750, "deps/a": fs.ModeDir | 0o550, "deps/outside": fs.ModeSymlink | 0o777} {
		if info, err := os.Lstat(w.path(name)); err != nil || info.Mode() != mode {
			t.Errorf("%s: %v %v", name, info.Mode(), err)
		}
	}
	if !stat(w.path("deps/a/x.js")).ModTime().Equal(old) {
		t.Error("times are lost")
	}
	for _, name := range []string{"deps/pipe", "ralph/.worktrees", "deps/a/x.js" + partSuffix} {
		if _, err := os.Lstat(w.path(name)); err == nil {
			t.Errorf("%s was copied", name)
		}
	}
	_, err = CopyInto(t.Context(), b.dir, dir, []string{".env"}) // again, as after a crash
	b.must(err)
}

func TestCopyIntoRefuses(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	dir := b.pool("1")[0]
	b.must(os.WriteFile(filepath.Join(b.dir, "../secret"), []byte("x"), 0o644))
	b.must(os.Symlink("..", b.path("up")))
	for _, p := range []string{"../secret", "/etc/passwd", ".", "", "none*", "up/secret", "[", ".git", "ralph/.worktrees/1"} {
		copied, err := CopyInto(t.Context(), b.dir, dir, []string{p, "a.txt"})
		if err == nil || len(copied) > 0 || !strings.Contains(err.Error(), `"`+p+`"`) {
			t.Errorf("%q: %q, %v", p, copied, err)
		}
	}
	// A link in the worktree does not lead the copy out of it.
	b.write("cfg/x", "x")
	outside := t.TempDir()
	b.must(os.Symlink(outside, filepath.Join(dir, "cfg")))
	if _, err := CopyInto(t.Context(), b.dir, dir, []string{"cfg/x"}); err == nil {
		t.Error("copied through a link")
	}
	if list, _ := os.ReadDir(outside); len(list) > 0 {
		t.Error("wrote outside the worktree")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := CopyInto(ctx, b.dir, dir, []string{"a.txt"}); err == nil {
		t.Error("a cancelled copy succeeded")
	}
}
