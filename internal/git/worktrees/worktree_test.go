package worktrees

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph/internal/git"
	"github.com/ralph-loop/ralph/internal/git/commits"
	"github.com/ralph-loop/ralph/internal/git/diff"
	"github.com/ralph-loop/ralph/internal/git/info"
	"github.com/ralph-loop/ralph/internal/git/registry"
	"github.com/ralph-loop/ralph/internal/ralphtest/gittest"
)

// pool excludes ralph's own files, as `ralph init` does, and makes worktrees.
func (b *testRepo) pool(names ...string) []string {
	b.T.Helper()
	b.Must(info.Exclude(b.repo, []string{"/ralph/.worktrees/", "/ralph/.state/"}))
	var dirs []string
	for _, n := range names {
		dirs = append(dirs, b.TreeDir(n))
	}
	_, err := Make(b.T.Context(), b.repo, dirs, b.Head())
	b.Must(err)
	return dirs
}

// in is the same box in one of its worktrees.
func (b *testRepo) in(dir string) *testRepo {
	b.T.Helper()
	t, err := b.repo.Tree(dir)
	b.Must(err)
	return &testRepo{Box: gittest.Box{T: b.T, P: b.P, Dir: dir, Env: append(b.Env[:len(b.Env):len(b.Env)], b.repo.CeilingEnv())}, repo: t}
}

// task is what Enter gets for a new task.
func (b *testRepo) task(dir, id string) EnterInput {
	return EnterInput{Dir: dir, Branch: "ralph/" + id, From: b.Head(), Merged: "refs/heads/main", ID: id}
}

func (b *testRepo) mustEnter(in EnterInput) Entered {
	b.T.Helper()
	e, err := Enter(b.T.Context(), b.repo, in)
	b.Must(err)
	return e
}

// ready checks that a worktree is just as a new task must find it.
func (b *testRepo) ready(e Entered, branch, from string) {
	b.T.Helper()
	w := b.in(e.Dir)
	b.Equal("branch", e.Branch, branch)
	b.Equal("head", e.Head, from)
	b.Equal("tree", e.Tree, b.Git("rev-parse", from+"^{tree}"))
	b.Equal("HEAD in it", w.Git("rev-parse", "HEAD", "--abbrev-ref", "HEAD"), from+"\n"+branch)
	b.Equal("status in it", w.Status(), "")
	if op := underWay(w.repo); op != "" {
		b.T.Errorf("a %s is under way", op)
	}
	if why := unready(w.repo); why != "" {
		b.T.Errorf("it is marked as %s", why)
	}
}

// recovered reports whether a text is in a commit below refs/ralph/recovery or
// in a file that was moved out of a worktree.
func (b *testRepo) recovered(text string) bool {
	b.T.Helper()
	if commits := strings.Fields(b.Git("rev-list", "--max-count=50", "--glob="+git.RecoveryRefs+"*")); len(commits) > 0 {
		if _, err := b.Try(append([]string{"grep", "-q", "-F", text}, commits...)...); err == nil {
			return true
		}
	}
	found := false
	kept, _ := filepath.Glob(escape(b.Path("ralph/.worktrees")) + "/.kept-*")
	for _, dir := range kept {
		for name := range (&testRepo{Box: gittest.Box{T: b.T, Dir: dir}}).Files() {
			raw, _ := os.ReadFile(filepath.Join(dir, name))
			found = found || strings.Contains(string(raw), text)
		}
	}
	return found
}

func escape(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// treeSpawns counts the git processes that ralph starts, for the checkout and its worktrees.
func (b *testRepo) treeSpawns(do func()) int {
	b.T.Helper()
	return b.program.Starts(do)
}

// B-005, B-009: a worktree is a checkout with everything that a Repo can do.
func TestTreeDoesAllThatARepoDoes(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	dirs := b.pool("1", "2")
	before, status := b.Files(), b.Status()
	base := b.Head()
	b.mustEnter(b.task(dirs[0], "t-1"))
	w := b.in(dirs[0])
	if again, err := b.repo.Tree(dirs[0]); err != nil || again != w.repo {
		t.Errorf("opened twice: %p and %p, %v", w.repo, again, err)
	}
	w.Write("a.txt", "changed\n")
	w.Write("new dir/ö.txt", "new\n")
	clean, err := w.repo.TreeOf(t.Context(), base)
	b.Must(err)
	id, err := w.repo.TreeID(t.Context())
	b.Must(err)
	b.Equal("TreeID and Snapshot", id, w.snapshot())
	patch, err := diff.Plain(t.Context(), w.repo, clean, id, 1<<20)
	b.Must(err)
	if !strings.Contains(string(patch), "+changed") {
		t.Errorf("diff is %q", patch)
	}
	dirty, err := w.repo.Dirty(t.Context())
	b.Must(err)
	b.Equal("dirty", strings.Join(dirty, " "), "a.txt new dir/ö.txt")
	s := w.mustShelve("stash", base)
	b.Equal("status after Shelve", w.Status(), "")
	w.Git("stash", "apply", "-q", s.Stash)
	c := w.mustCommit("k1", func(in *commits.Input) { in.Base, in.Branch, in.Squash = base, "ralph/t-1", false })
	b.Equal("status after Commit", w.Status(), "")
	b.Equal("committed tree", c.Tree, id)
	b.Equal("branch", b.Tip("ralph/t-1"), c.Hash)
	b.Equal("again", w.mustCommit("k1", func(in *commits.Input) { in.Base = base }).Hash, c.Hash)
	b.Equal("the user's HEAD", b.Head(), base)
	b.Equal("the user's status", b.Status(), status)
	after := b.Files()
	for name, text := range before {
		if !strings.HasPrefix(name, "ralph/") {
			b.Equal(name, after[name], text)
		}
	}
	if git.Stat(filepath.Join(w.repo.GitDir(), git.PrivateName)) != nil && git.Stat(filepath.Join(w.repo.GitDir(), "index")) == nil {
		t.Error("the worktree has an index beside its own")
	}
}

// A task costs one process to enter and two to commit: performance.md's floor.
func TestTreeProcesses(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	dir := b.pool("1")[0]
	commit := func(key string, base string) {
		w := b.in(dir)
		w.Write("a.txt", key)
		w.mustCommit(key, func(in *commits.Input) { in.Base, in.Fresh = base, true })
	}
	b.mustEnter(b.task(dir, "t-0"))
	from := b.Head()
	count := func(what string, want int, do func()) {
		t.Helper()
		if n := b.treeSpawns(do); n != want {
			t.Errorf("%s took %d processes, want %d", what, n, want)
		}
	}
	count("a commit", 2, func() { commit("k0", from) })
	settleClock(b.in(dir))
	next := b.task(dir, "t-1")
	count("Enter", 1, func() { b.mustEnter(next) })
	b.ready(Entered{Dir: dir, Branch: "ralph/t-1", Head: from, Tree: b.Git("rev-parse", from+"^{tree}")}, "ralph/t-1", from)
	b.Must(info.Exclude(b.repo, []string{"*.o"}))
	b.in(dir).Write("cache.o", "ignored")
	next = b.task(dir, "t-2")
	count("Enter beside ignored files", 2, func() { b.mustEnter(next) })
	b.in(dir).Want("cache.o", "ignored")
	next.Mine = true
	count("Enter of work that goes on", 0, func() { b.mustEnter(next) })
	count("Tree", 0, func() {
		_, err := b.repo.Tree(dir)
		b.Must(err)
	})
}

// settleClock makes the index later than all files, as it is once the clock has
// ticked.
func settleClock(w *testRepo) {
	w.T.Helper()
	w.Must(os.Chtimes(w.repo.RealIndex(), time.Time{}, git.Stat(w.repo.RealIndex()).ModTime().Add(time.Second)))
}

// whatever an agent stages or commits of ralph's own files stays out.
func TestTreeKeepsOwnFilesOut(t *testing.T) {
	t.Parallel()
	for _, tracked := range []bool{false, true} {
		t.Run(strconv.FormatBool(tracked), func(t *testing.T) {
			t.Parallel()
			b := newBox(t)
			if tracked {
				b.OwnFiles()
				b.Git("add", "-f", "ralph/inbox.jsonl")
				b.Git("commit", "-q", "-m", "own")
			}
			dir := b.pool("1")[0]
			base := b.Head()
			b.mustEnter(b.task(dir, "t-1"))
			w := b.in(dir)
			for i, forced := range []string{"add", "commit"} {
				w.Write("ralph/inbox.jsonl", "mine "+forced)
				w.Write("ralph/.state/x", forced)
				w.Write("work.txt", forced)
				w.Git("add", "-A", "-f")
				if forced == "commit" {
					w.Git("commit", "-q", "-m", "all of it")
				}
				tree, err := w.repo.TreeID(t.Context())
				b.Must(err)
				c := w.mustCommit("k"+strconv.Itoa(i), func(in *commits.Input) { in.Base, in.Squash, in.Tree = base, false, tree })
				b.Equal("what changed", b.Git("diff-tree", "-r", "--name-only", base, c.Hash), "work.txt")
				b.Equal("tree", c.Tree, tree)
			}
		})
	}
}

func TestTreeRefuses(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.pool("1")
	b.Git("worktree", "add", "-q", "--detach", b.Path("elsewhere"))
	for _, dir := range []string{b.Path("elsewhere"), b.Path("ralph/.worktrees"), b.TreeDir("1/dir"), b.TreeDir("../.."), "ralph/.worktrees/1"} {
		if _, err := b.repo.Tree(dir); err == nil {
			t.Errorf("opened %s", dir)
		}
		if _, err := Remove(t.Context(), b.repo, dir, "x"); err == nil {
			t.Errorf("removed %s", dir)
		}
	}
	_, err := b.repo.Tree(b.TreeDir("2"))
	b.Refused(err, "no worktree")
	b.Must(os.MkdirAll(b.TreeDir("3"), 0o755))
	other := newBox(t)
	b.Must(os.WriteFile(filepath.Join(b.TreeDir("3"), ".git"), []byte("gitdir: "+other.Path(".git")+"\n"), 0o644))
	_, err = b.repo.Tree(b.TreeDir("3"))
	b.Refused(err, "no worktree")
	list, err := registry.List(t.Context(), b.repo)
	b.Must(err)
	paths := []string{}
	for _, w := range list {
		paths = append(paths, w.Path+" "+w.Branch)
		b.Equal("head of "+w.Path, w.Head, b.Head())
	}
	slices.Sort(paths)
	b.Equal("list", strings.Join(paths, "\n"), strings.Join([]string{b.Dir + " main", b.Path("elsewhere") + " ", b.TreeDir("1") + " "}, "\n"))
}
