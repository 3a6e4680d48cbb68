package git

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// treeDir is the folder of a worktree of the box's checkout.
func (b *testRepo) treeDir(name string) string { return b.path("ralph/.worktrees/" + name) }

// pool excludes ralph's own files, as `ralph init` does, and makes worktrees.
func (b *testRepo) pool(names ...string) []string {
	b.t.Helper()
	b.must(b.repo.Exclude([]string{"/ralph/.worktrees/", "/ralph/.state/"}))
	var dirs []string
	for _, n := range names {
		dirs = append(dirs, b.treeDir(n))
	}
	_, err := b.repo.MakeTrees(b.t.Context(), dirs, b.head())
	b.must(err)
	return dirs
}

// in is the same box in one of its worktrees.
func (b *testRepo) in(dir string) *testRepo {
	b.t.Helper()
	t, err := b.repo.Tree(dir)
	b.must(err)
	return &testRepo{t: b.t, p: b.p, dir: dir, env: append(b.env[:len(b.env):len(b.env)], b.repo.CeilingEnv()), repo: t}
}

// task is what Enter gets for a new task.
func (b *testRepo) task(dir, id string) EnterInput {
	return EnterInput{Dir: dir, Branch: "ralph/" + id, From: b.head(), Merged: "refs/heads/main", ID: id}
}

func (b *testRepo) mustEnter(in EnterInput) Entered {
	b.t.Helper()
	e, err := b.repo.Enter(b.t.Context(), in)
	b.must(err)
	return e
}

// ready checks that a worktree is just as a new task must find it.
func (b *testRepo) ready(e Entered, branch, from string) {
	b.t.Helper()
	w := b.in(e.Dir)
	b.equal("branch", e.Branch, branch)
	b.equal("head", e.Head, from)
	b.equal("tree", e.Tree, b.git("rev-parse", from+"^{tree}"))
	b.equal("HEAD in it", w.git("rev-parse", "HEAD", "--abbrev-ref", "HEAD"), from+"\n"+branch)
	b.equal("status in it", w.status(), "")
	if op := w.repo.underWay(); op != "" {
		b.t.Errorf("a %s is under way", op)
	}
	if why := w.repo.unready(); why != "" {
		b.t.Errorf("it is marked as %s", why)
	}
}

// recovered reports whether a text is in a commit below refs/ralph/recovery or
// in a file that was moved out of a worktree.
func (b *testRepo) recovered(text string) bool {
	b.t.Helper()
	if commits := strings.Fields(b.git("rev-list", "--max-count=50", "--glob="+recoveryRefs+"*")); len(commits) > 0 {
		if _, err := b.try(append([]string{"grep", "-q", "-F", text}, commits...)...); err == nil {
			return true
		}
	}
	found := false
	kept, _ := filepath.Glob(escape(b.path("ralph/.worktrees")) + "/.kept-*")
	for _, dir := range kept {
		for name := range (&testRepo{t: b.t, dir: dir}).files() {
			raw, _ := os.ReadFile(filepath.Join(dir, name))
			found = found || strings.Contains(string(raw), text)
		}
	}
	return found
}

func escape(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// treeSpawns counts the git processes that ralph starts, for the checkout and
// one worktree.
func (b *testRepo) treeSpawns(dir string, do func()) int {
	b.t.Helper()
	log := filepath.Join(b.t.TempDir(), "trace")
	for _, r := range []*Repo{b.repo, b.in(dir).repo} {
		env := r.env
		r.env = append(env[:len(env):len(env)], "GIT_TRACE2_EVENT="+log)
		defer func() { r.env = env }()
	}
	do()
	raw, _ := os.ReadFile(log) // none: no process
	n := 0
	for line := range strings.Lines(string(raw)) {
		if strings.Contains(line, `"event":"start"`) && !strings.Contains(strings.SplitN(line, `"thread"`, 2)[0], "/") {
			n++
		}
	}
	return n
}

// B-005, B-009: a worktree is a checkout with everything that a Repo can do.
func TestTreeDoesAllThatARepoDoes(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	dirs := b.pool("1", "2")
	before, status := b.files(), b.status()
	base := b.head()
	b.mustEnter(b.task(dirs[0], "t-1"))
	w := b.in(dirs[0])
	if again, err := b.repo.Tree(dirs[0]); err != nil || again != w.repo {
		t.Errorf("opened twice: %p and %p, %v", w.repo, again, err)
	}
	w.write("a.txt", "changed\n")
	w.write("new dir/ö.txt", "new\n")
	clean, err := w.repo.TreeOf(t.Context(), base)
	b.must(err)
	id, err := w.repo.TreeID(t.Context())
	b.must(err)
	b.equal("TreeID and Snapshot", id, w.snapshot())
	patch, err := w.repo.Diff(t.Context(), clean, id, 1<<20)
	b.must(err)
	if !strings.Contains(string(patch), "+changed") {
		t.Errorf("diff is %q", patch)
	}
	dirty, err := w.repo.Dirty(t.Context())
	b.must(err)
	b.equal("dirty", strings.Join(dirty, " "), "a.txt new dir/ö.txt")
	s := w.mustShelve("stash", base)
	b.equal("status after Shelve", w.status(), "")
	w.git("stash", "apply", "-q", s.Stash)
	c := w.mustCommit("k1", func(in *CommitInput) { in.Base, in.Branch, in.Squash = base, "ralph/t-1", false })
	b.equal("status after Commit", w.status(), "")
	b.equal("committed tree", c.Tree, id)
	b.equal("branch", b.git("rev-parse", "ralph/t-1"), c.Hash)
	b.equal("again", w.mustCommit("k1", func(in *CommitInput) { in.Base = base }).Hash, c.Hash)
	b.equal("the user's HEAD", b.head(), base)
	b.equal("the user's status", b.status(), status)
	after := b.files()
	for name, text := range before {
		if !strings.HasPrefix(name, "ralph/") {
			b.equal(name, after[name], text)
		}
	}
	if stat(filepath.Join(w.repo.gitDir, privateName)) != nil && stat(filepath.Join(w.repo.gitDir, "index")) == nil {
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
		w.write("a.txt", key)
		w.mustCommit(key, func(in *CommitInput) { in.Base, in.Fresh = base, true })
	}
	b.mustEnter(b.task(dir, "t-0"))
	from := b.head()
	count := func(what string, want int, do func()) {
		t.Helper()
		if n := b.treeSpawns(dir, do); n != want {
			t.Errorf("%s took %d processes, want %d", what, n, want)
		}
	}
	count("a commit", 2, func() { commit("k0", from) })
	settleClock(b.in(dir))
	next := b.task(dir, "t-1")
	count("Enter", 1, func() { b.mustEnter(next) })
	b.ready(Entered{Dir: dir, Branch: "ralph/t-1", Head: from, Tree: b.git("rev-parse", from+"^{tree}")}, "ralph/t-1", from)
	b.must(b.repo.Exclude([]string{"*.o"}))
	b.in(dir).write("cache.o", "ignored")
	next = b.task(dir, "t-2")
	count("Enter beside ignored files", 2, func() { b.mustEnter(next) })
	b.in(dir).want("cache.o", "ignored")
	next.Mine = true
	count("Enter of work that goes on", 0, func() { b.mustEnter(next) })
	count("Tree", 0, func() {
		_, err := b.repo.Tree(dir)
		b.must(err)
	})
}

// settleClock makes the index later than all files, as it is once the clock has
// ticked.
func settleClock(w *testRepo) {
	w.t.Helper()
	w.must(os.Chtimes(w.repo.realIndex(), time.Time{}, stat(w.repo.realIndex()).ModTime().Add(time.Second)))
}

// whatever an agent stages or commits of ralph's own files stays out.
func TestTreeKeepsOwnFilesOut(t *testing.T) {
	t.Parallel()
	for _, tracked := range []bool{false, true} {
		t.Run(strconv.FormatBool(tracked), func(t *testing.T) {
			t.Parallel()
			b := newBox(t)
			if tracked {
				b.ownFiles()
				b.git("add", "-f", "ralph/inbox.jsonl")
				b.git("commit", "-q", "-m", "own")
			}
			dir := b.pool("1")[0]
			base := b.head()
			b.mustEnter(b.task(dir, "t-1"))
			w := b.in(dir)
			for i, forced := range []string{"add", "commit"} {
				w.write("ralph/inbox.jsonl", "mine "+forced)
				w.write("ralph/.state/x", forced)
				w.write("work.txt", forced)
				w.git("add", "-A", "-f")
				if forced == "commit" {
					w.git("commit", "-q", "-m", "all of it")
				}
				tree, err := w.repo.TreeID(t.Context())
				b.must(err)
				c := w.mustCommit("k"+strconv.Itoa(i), func(in *CommitInput) { in.Base, in.Squash, in.Tree = base, false, tree })
				b.equal("what changed", b.git("diff-tree", "-r", "--name-only", base, c.Hash), "work.txt")
				b.equal("tree", c.Tree, tree)
			}
		})
	}
}

func TestTreeRefuses(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.pool("1")
	b.git("worktree", "add", "-q", "--detach", b.path("elsewhere"))
	for _, dir := range []string{b.path("elsewhere"), b.path("ralph/.worktrees"), b.treeDir("1/dir"), b.treeDir("../.."), "ralph/.worktrees/1"} {
		if _, err := b.repo.Tree(dir); err == nil {
			t.Errorf("opened %s", dir)
		}
		if _, err := b.repo.RemoveTree(t.Context(), dir, "x"); err == nil {
			t.Errorf("removed %s", dir)
		}
	}
	_, err := b.repo.Tree(b.treeDir("2"))
	b.refused(err, "no worktree")
	b.must(os.MkdirAll(b.treeDir("3"), 0o755))
	other := newBox(t)
	b.must(os.WriteFile(filepath.Join(b.treeDir("3"), ".git"), []byte("gitdir: "+other.path(".git")+"\n"), 0o644))
	_, err = b.repo.Tree(b.treeDir("3"))
	b.refused(err, "no worktree")
	list, err := b.repo.ListTrees(t.Context())
	b.must(err)
	paths := []string{}
	for _, w := range list {
		paths = append(paths, w.Path+" "+w.Branch)
		b.equal("head of "+w.Path, w.Head, b.head())
	}
	slices.Sort(paths)
	b.equal("list", strings.Join(paths, "\n"), strings.Join([]string{b.dir + " main", b.path("elsewhere") + " ", b.treeDir("1") + " "}, "\n"))
}
