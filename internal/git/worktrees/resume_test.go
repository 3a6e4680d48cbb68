package worktrees

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph/internal/git"
	"github.com/ralph-loop/ralph/internal/git/commits"
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
			w.Git("checkout", "-q", "--detach")
			w.Write("more", "more")
			w.Git("add", "more")
			w.Git("commit", "-q", "-m", "more")
		}, true, true, false, false},
		{"a branch of its own", func(w, _ *testRepo) { w.Git("checkout", "-q", "-b", "mine") }, true, true, false, false},
		{"an older commit", func(w, _ *testRepo) { w.Git("checkout", "-q", "--detach", "main") }, true, true, true, false},
		{"an older commit, other changes", func(w, _ *testRepo) {
			w.Git("checkout", "-q", "--detach", "main")
			w.Write("work.txt", "in the way")
		}, true, false, true, false},
		{"orphan", func(w, _ *testRepo) { w.Git("checkout", "-q", "--orphan", "other") }, true, true, false, false},
		{"branch deleted", func(w, _ *testRepo) { w.Git("update-ref", "-d", "refs/heads/ralph/t-1") }, true, true, false, false},
		{"branch deleted elsewhere", func(w, _ *testRepo) {
			w.Git("checkout", "-q", "--detach", "main")
			w.Git("branch", "-q", "-D", "ralph/t-1")
			w.Git("gc", "-q", "--prune=now")
		}, true, true, true, false},
		{".git file deleted", func(w, _ *testRepo) { w.Remove(".git") }, true, true, false, false},
		{"folder deleted", func(w, _ *testRepo) { w.Remove("") }, true, false, false, true},
		{"worktree removed", func(w, root *testRepo) { root.Git("worktree", "remove", "--force", w.Dir) }, true, false, false, true},
		{"worktree and branch removed", func(w, root *testRepo) {
			root.Git("worktree", "remove", "--force", w.Dir)
			root.Git("branch", "-q", "-D", "ralph/t-1")
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
			w.Write("work.txt", "committed")
			c := w.mustCommit("k", func(in *commits.Input) { in.Squash = false })
			w.Write("a.txt", "precious")
			tt.do(w, b)
			in.Mine = true
			e := b.mustEnter(in)
			w = b.in(dir)
			b.Equal("branch", w.Git("rev-parse", "--abbrev-ref", "HEAD"), "ralph/t-1")
			b.Equal("head", e.Head, w.Head())
			b.Equal("tree", e.Tree, w.Git("rev-parse", "HEAD^{tree}"))
			_, err := w.Try("merge-base", "--is-ancestor", c.Hash, "HEAD")
			if (err == nil) != tt.commits {
				t.Errorf("the branch has its commits: %v", err)
			}
			if has := w.Read("a.txt") == "precious"; has != tt.changes || e.Fresh != tt.fresh {
				t.Errorf("changes there: %v, want %v; fresh: %v", has, tt.changes, e.Fresh)
			}
			if tt.commits {
				w.Want("work.txt", "committed")
			}
			if got := b.recovered("precious"); got != tt.precious {
				t.Errorf("recovered: %v; saved %+v", got, e.Saved)
			}
			if strings.Contains(w.Status(), "D ") {
				t.Errorf("status: %s", w.Status())
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
	w.Write("a.txt", "one\n")
	w.Git("commit", "-qam", "one")
	b.Write("a.txt", "two\n")
	b.Git("commit", "-qam", "two")
	_, _ = w.Try("merge", "main")
	text, status := w.Read("a.txt"), w.Status()
	in.Mine = true
	b.mustEnter(in)
	w.Want("a.txt", text)
	b.Equal("status", w.Status(), status)
}

func TestEnterMineRefuses(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	dir := b.pool("1")[0]
	in := b.task(dir, "t-1")
	b.mustEnter(in)
	b.in(dir).Git("checkout", "-q", "--detach")
	b.Git("worktree", "add", "-q", filepath.Join(b.Dir, "../person"), "ralph/t-1")
	in.Mine = true
	_, err := Enter(t.Context(), b.repo, in)
	b.Refused(err, "is checked out in")
}

// B-005: which branch a task gets when its name is taken.
func TestEnterBranches(t *testing.T) {
	t.Parallel()
	commit := func(b *testRepo, text string) string {
		b.Git("checkout", "-q", "-b", "ralph/t-1")
		b.Write("c.txt", text)
		b.Git("add", "c.txt")
		b.Git("commit", "-q", "-m", text)
		tip := b.Head()
		b.Git("checkout", "-q", "main")
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
			b.Git("merge", "-q", "ralph/t-1")
		}, "ralph/t-1", "ralph/t-1", false},
		{"not merged", func(b *testRepo) { commit(b, "precious") }, "ralph/t-1", "ralph/t-1", true},
		{"packed", func(b *testRepo) {
			commit(b, "precious")
			b.Git("pack-refs", "--all")
		}, "ralph/t-1", "ralph/t-1", true},
		{"checked out by a person", func(b *testRepo) {
			commit(b, "x")
			b.Git("worktree", "add", "-q", "../person", "ralph/t-1")
		}, "ralph/t-1", "ralph/t-1-2", false},
		{"the second name is taken too", func(b *testRepo) {
			commit(b, "x")
			b.Git("worktree", "add", "-q", "../person", "ralph/t-1")
			b.Git("branch", "ralph/t-1-2", "ralph/t-1")
		}, "ralph/t-1", "ralph/t-1-2", true},
		{"not ralph's", func(b *testRepo) { b.Git("branch", "feature") }, "feature", "feature-2", false},
		{"a folder of that name", func(b *testRepo) { b.Git("branch", "ralph/t-1/x") }, "ralph/t-1", "ralph/t-1-2", false},
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
			before := b.Git("for-each-ref", "refs/heads/feature", "refs/heads/ralph/t-1")
			e := b.mustEnter(in)
			at := tt.branch
			if at == "" {
				at = "HEAD"
			}
			b.Equal("branch", e.Branch, tt.branch)
			b.Equal("branch in it", b.in(dir).Git("rev-parse", "--abbrev-ref", "HEAD"), at)
			b.Equal("HEAD in it", b.in(dir).Head(), b.Head())
			if got := len(e.Saved) > 0; got != tt.saved {
				t.Errorf("saved: %+v", e.Saved)
			}
			if tt.branch != tt.ask {
				b.Equal("the branch in the way", b.Git("for-each-ref", "refs/heads/feature", "refs/heads/ralph/t-1"), before)
			}
		})
	}
	b := newBox(t)
	dir := b.pool("1")[0]
	b.Git("branch", "ralph")
	_, err := Enter(t.Context(), b.repo, b.task(dir, "t-1"))
	b.Refused(err, "leaves no room")
	b.Git("branch", "-m", "ralph", "other")
	b.ready(b.mustEnter(b.task(dir, "t-1")), "ralph/t-1", b.Head())
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
		b.Must(markUnready(w.repo, why))
		w.Write("a.txt", "half")
		w.Write("of another commit", "x")
		e := b.mustEnter(b.task(dir, "t-2"))
		b.ready(e, "ralph/t-2", b.Head())
		if len(e.Saved) > 0 || e.Fresh != (why == unreadyNew) {
			t.Errorf("%s: %+v", why, e)
		}
	}
}

// Cleanness is proved only when no doubt is left (racy-git).
func TestProofOfCleanness(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.Write("empty", "")
	b.Git("add", "empty")
	b.Git("commit", "-q", "-m", "empty")
	dir := b.pool("1")[0]
	w := b.in(dir)
	proved := func() bool {
		h, err := w.repo.Head(t.Context())
		b.Must(err)
		return w.repo.LookAtIndex(h).Proved
	}
	settleClock(w)
	if !proved() {
		t.Error("a clean worktree was not proved to be")
	}
	same := git.Stat(w.Path("a.txt")).ModTime()
	b.Must(os.Chtimes(w.repo.RealIndex(), same, same))
	if proved() {
		t.Error("a file as new as the index was taken for unchanged")
	}
	settleClock(w)
	reset := func() {
		// git compares whole seconds, and the clock of its index was set forward here: it would
		// leave a file alone that was written twice within one.
		w.Remove("a.txt")
		w.Git("reset", "-q", "--hard", b.Head())
		w.Git("clean", "-fdq")
		settleClock(w)
	}
	for _, tt := range []struct {
		name string
		do   func()
	}{
		{"untracked", func() { w.Write("dir/x", "") }},
		{"same size", func() { w.Write("a.txt", "b\n") }},
		{"executable", func() { b.Must(os.Chmod(w.Path("a.txt"), 0o755)) }},
		{"deleted", func() { w.Remove("dir") }},
		{"staged", func() { w.Write("a.txt", "b\n"); w.Git("add", "a.txt") }},
		{"HEAD moved", func() { w.Git("update-ref", "--no-deref", "HEAD", "HEAD~") }},
		{"assumed unchanged", func() { w.Git("update-index", "--assume-unchanged", "a.txt"); w.Write("a.txt", "b\n") }},
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
		w.Git("update-index", "--no-assume-unchanged", "a.txt")
	}
}
