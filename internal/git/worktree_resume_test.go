package git

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// work that goes on is found as it was left, on its branch, whatever
// the agent did with HEAD.
func TestEnterMine(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		do       func(w, root *testRepo)
		commits  bool // the branch has the agent's commits
		changes  bool // its uncommitted changes are in the files
		precious bool // they are in a recovery ref, at least
		fresh    bool
	}{
		{"nothing", func(_, _ *testRepo) {}, true, true, false, false},
		{"commits beside the branch", func(w, _ *testRepo) {
			w.git("checkout", "-q", "--detach")
			w.write("more", "more")
			w.git("add", "more")
			w.git("commit", "-q", "-m", "more")
		}, true, true, false, false},
		{"a branch of its own", func(w, _ *testRepo) { w.git("checkout", "-q", "-b", "mine") }, true, true, false, false},
		{"an older commit", func(w, _ *testRepo) { w.git("checkout", "-q", "--detach", "main") }, true, true, true, false},
		{"an older commit, other changes", func(w, _ *testRepo) {
			w.git("checkout", "-q", "--detach", "main")
			w.write("work.txt", "in the way")
		}, true, false, true, false},
		{"orphan", func(w, _ *testRepo) { w.git("checkout", "-q", "--orphan", "other") }, true, true, false, false},
		{"branch deleted", func(w, _ *testRepo) { w.git("update-ref", "-d", "refs/heads/ralph/t-1") }, true, true, false, false},
		{"branch deleted elsewhere", func(w, _ *testRepo) {
			w.git("checkout", "-q", "--detach", "main")
			w.git("branch", "-q", "-D", "ralph/t-1")
			w.git("gc", "-q", "--prune=now")
		}, true, true, true, false},
		{".git file deleted", func(w, _ *testRepo) { w.remove(".git") }, true, true, false, false},
		{"folder deleted", func(w, _ *testRepo) { w.remove("") }, true, false, false, true},
		{"worktree removed", func(w, root *testRepo) { root.git("worktree", "remove", "--force", w.dir) }, true, false, false, true},
		{"worktree and branch removed", func(w, root *testRepo) {
			root.git("worktree", "remove", "--force", w.dir)
			root.git("branch", "-q", "-D", "ralph/t-1")
		}, false, false, false, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBox(t)
			dir := b.pool("1")[0]
			in := b.task(dir, "t-1")
			b.mustEnter(in)
			w := b.in(dir)
			w.write("work.txt", "committed")
			c := w.mustCommit("k", func(in *CommitInput) { in.Squash = false })
			w.write("a.txt", "precious")
			tt.do(w, b)
			in.Mine = true
			e := b.mustEnter(in)
			w = b.in(dir)
			b.equal("branch", w.git("rev-parse", "--abbrev-ref", "HEAD"), "ralph/t-1")
			b.equal("head", e.Head, w.head())
			b.equal("tree", e.Tree, w.git("rev-parse", "HEAD^{tree}"))
			_, err := w.try("merge-base", "--is-ancestor", c.Hash, "HEAD")
			if (err == nil) != tt.commits {
				t.Errorf("the branch has its commits: %v", err)
			}
			if has := w.read("a.txt") == "precious"; has != tt.changes || e.Fresh != tt.fresh {
				t.Errorf("changes there: %v, want %v; fresh: %v", has, tt.changes, e.Fresh)
			}
			if tt.commits {
				w.want("work.txt", "committed")
			}
			if got := b.recovered("precious"); got != tt.precious {
				t.Errorf("recovered: %v; saved %+v", got, e.Saved)
			}
			if strings.Contains(w.status(), "D ") {
				t.Errorf("status: %s", w.status())
			}
		})
	}
}

// Conflicts that are left for an agent to resolve are part of the work.
func TestEnterMineDuringMerge(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	dir := b.pool("1")[0]
	in := b.task(dir, "t-1")
	b.mustEnter(in)
	w := b.in(dir)
	w.write("a.txt", "one\n")
	w.git("commit", "-qam", "one")
	b.write("a.txt", "two\n")
	b.git("commit", "-qam", "two")
	_, _ = w.try("merge", "main")
	text, status := w.read("a.txt"), w.status()
	in.Mine = true
	b.mustEnter(in)
	w.want("a.txt", text)
	b.equal("status", w.status(), status)
}

func TestEnterMineRefuses(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	dir := b.pool("1")[0]
	in := b.task(dir, "t-1")
	b.mustEnter(in)
	b.in(dir).git("checkout", "-q", "--detach")
	b.git("worktree", "add", "-q", filepath.Join(b.dir, "../person"), "ralph/t-1")
	in.Mine = true
	_, err := b.repo.Enter(t.Context(), in)
	b.refused(err, "is checked out in")
}

// B-005: which branch a task gets when its name is taken.
func TestEnterBranches(t *testing.T) {
	t.Parallel()
	commit := func(b *testRepo, text string) string {
		b.git("checkout", "-q", "-b", "ralph/t-1")
		b.write("c.txt", text)
		b.git("add", "c.txt")
		b.git("commit", "-q", "-m", text)
		tip := b.head()
		b.git("checkout", "-q", "main")
		return tip
	}
	tests := []struct {
		name   string
		do     func(b *testRepo)
		ask    string
		branch string
		saved  bool
	}{
		{"free", func(_ *testRepo) {}, "ralph/t-1", "ralph/t-1", false},
		{"merged", func(b *testRepo) {
			commit(b, "x")
			b.git("merge", "-q", "ralph/t-1")
		}, "ralph/t-1", "ralph/t-1", false},
		{"not merged", func(b *testRepo) { commit(b, "precious") }, "ralph/t-1", "ralph/t-1", true},
		{"packed", func(b *testRepo) {
			commit(b, "precious")
			b.git("pack-refs", "--all")
		}, "ralph/t-1", "ralph/t-1", true},
		{"checked out by a person", func(b *testRepo) {
			commit(b, "x")
			b.git("worktree", "add", "-q", "../person", "ralph/t-1")
		}, "ralph/t-1", "ralph/t-1-2", false},
		{"the second name is taken too", func(b *testRepo) {
			commit(b, "x")
			b.git("worktree", "add", "-q", "../person", "ralph/t-1")
			b.git("branch", "ralph/t-1-2", "ralph/t-1")
		}, "ralph/t-1", "ralph/t-1-2", true},
		{"not ralph's", func(b *testRepo) { b.git("branch", "feature") }, "feature", "feature-2", false},
		{"a folder of that name", func(b *testRepo) { b.git("branch", "ralph/t-1/x") }, "ralph/t-1", "ralph/t-1-2", false},
		{"detached", func(_ *testRepo) {}, "", "", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBox(t)
			dir := b.pool("1")[0]
			tt.do(b)
			in := b.task(dir, "t-1")
			in.Branch = tt.ask
			before := b.git("for-each-ref", "refs/heads/feature", "refs/heads/ralph/t-1")
			e := b.mustEnter(in)
			at := tt.branch
			if at == "" {
				at = "HEAD"
			}
			b.equal("branch", e.Branch, tt.branch)
			b.equal("branch in it", b.in(dir).git("rev-parse", "--abbrev-ref", "HEAD"), at)
			b.equal("HEAD in it", b.in(dir).head(), b.head())
			if got := len(e.Saved) > 0; got != tt.saved {
				t.Errorf("saved: %+v", e.Saved)
			}
			if tt.branch != tt.ask {
				b.equal("the branch in the way", b.git("for-each-ref", "refs/heads/feature", "refs/heads/ralph/t-1"), before)
			}
		})
	}
	b := newBox(t)
	dir := b.pool("1")[0]
	b.git("branch", "ralph")
	_, err := b.repo.Enter(t.Context(), b.task(dir, "t-1"))
	b.refused(err, "leaves no room")
	b.git("branch", "-m", "ralph", "other")
	b.ready(b.mustEnter(b.task(dir, "t-1")), "ralph/t-1", b.head())
}

// A crash inside Enter or MakeTrees leaves files half written; they are no work
// of anybody's.
func TestEnterAfterACrashInside(t *testing.T) {
	t.Parallel()
	for _, why := range []string{unreadyNew, unreadyEntering} {
		b := newBox(t)
		dir := b.pool("1")[0]
		b.mustEnter(b.task(dir, "t-1"))
		w := b.in(dir)
		b.must(w.repo.markUnready(why))
		w.write("a.txt", "half")
		w.write("of another commit", "x")
		e := b.mustEnter(b.task(dir, "t-2"))
		b.ready(e, "ralph/t-2", b.head())
		if len(e.Saved) > 0 || e.Fresh != (why == unreadyNew) {
			t.Errorf("%s: %+v", why, e)
		}
	}
}

// Cleanness is proved only when no doubt is left (racy-git).
func TestProofOfCleanness(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.write("empty", "")
	b.git("add", "empty")
	b.git("commit", "-q", "-m", "empty")
	dir := b.pool("1")[0]
	w := b.in(dir)
	proved := func() bool {
		h, err := w.repo.Head(t.Context())
		b.must(err)
		return w.repo.lookAtIndex(h).proved
	}
	settleClock(w)
	if !proved() {
		t.Error("a clean worktree was not proved to be")
	}
	same := stat(w.path("a.txt")).ModTime()
	b.must(os.Chtimes(w.repo.realIndex(), same, same))
	if proved() {
		t.Error("a file as new as the index was taken for unchanged")
	}
	settleClock(w)
	reset := func() {
		w.git("reset", "-q", "--hard", b.head())
		w.git("clean", "-fdq")
		settleClock(w)
	}
	for _, tt := range []struct {
		name string
		do   func()
	}{
		{"untracked", func() { w.write("dir/x", "") }},
		{"same size", func() { w.write("a.txt", "b\n") }},
		{"executable", func() { b.must(os.Chmod(w.path("a.txt"), 0o755)) }},
		{"deleted", func() { w.remove("dir") }},
		{"staged", func() { w.write("a.txt", "b\n"); w.git("add", "a.txt") }},
		{"HEAD moved", func() { w.git("update-ref", "--no-deref", "HEAD", "HEAD~") }},
		{"assumed unchanged", func() { w.git("update-index", "--assume-unchanged", "a.txt"); w.write("a.txt", "b\n") }},
	} {
		reset()
		if !proved() {
			t.Errorf("before %s: not proved", tt.name)
		}
		tt.do()
		settleClock(w)
		if proved() {
			t.Errorf("%s: taken for clean", tt.name)
		}
		w.git("update-index", "--no-assume-unchanged", "a.txt")
	}
}
