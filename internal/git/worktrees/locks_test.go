package worktrees

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph/internal/git"
	"github.com/ralph-loop/ralph/internal/git/commits"
	"github.com/ralph-loop/ralph/internal/ralphtest"
)

const taskLock = "refs/heads/ralph/t-1.lock"

// A git that was killed leaves locks on a task's branch and on HEAD of its
// worktree. No commit, no next turn and no cleanup fails by that (B-076, B-079).
func TestLocksOfAKilledGitInAWorktree(t *testing.T) {
	t.Parallel()
	treeLock := func(b *testRepo, dir string) string {
		return "worktrees/" + filepath.Base(b.in(dir).repo.GitDir()) + "/HEAD.lock"
	}
	commit := func(b *testRepo, w *testRepo) {
		w.mustCommit("k1", func(in *commits.Input) { in.Branch = "ralph/t-1" })
	}
	for name, do := range map[string]func(b *testRepo, w *testRepo, in EnterInput){
		"commit": func(b, w *testRepo, _ EnterInput) { commit(b, w) },
		"commit after the agent left the branch": func(b, w *testRepo, _ EnterInput) {
			w.Git("symbolic-ref", "HEAD", "refs/heads/other")
			commit(b, w)
			b.Equal("branch", b.Git("log", "-1", "--format=%s", "ralph/t-1"), "ralph: complete x")
		},
		"resume": func(b, _ *testRepo, in EnterInput) {
			in.Mine = true
			b.mustEnter(in)
		},
		"resume after the agent went on beside the branch": func(b, w *testRepo, in EnterInput) {
			w.Git("update-ref", "--no-deref", "HEAD", b.Git("commit-tree", "-p", in.From, "-m", "beside", in.From+"^{tree}"))
			in.Mine = true
			e := b.mustEnter(in)
			b.Equal("branch", b.Tip("ralph/t-1"), e.Head)
		},
		"remove": func(b, w *testRepo, _ EnterInput) {
			saved, err := Remove(b.T.Context(), b.repo, w.Dir, "t-1")
			b.Must(err)
			if len(saved) != 1 {
				b.T.Errorf("saved %+v", saved)
			}
		},
		"stash": func(b, w *testRepo, _ EnterInput) {
			_, _, err := Stash(b.T.Context(), b.repo, w.Dir, "ralph: stopped", "t-1")
			b.Must(err)
		},
		"free": func(b, _ *testRepo, in EnterInput) {
			b.Must(FreeBranch(b.T.Context(), b.repo, in.Branch, ""))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBox(t)
			dir := b.pool("1")[0]
			in := b.task(dir, "t-1")
			b.mustEnter(in)
			b.Git("branch", "other")
			w := b.in(dir)
			w.Write("work", "1")
			lock := treeLock(b, dir)
			b.LeftLocks(taskLock)
			if !strings.Contains(name, " after ") { // there the agent's own git comes first
				b.LeftLocks(lock)
			}
			do(b, w, in)
			b.NoLocks(lock)
			if name != "free" { // which needs no more than HEAD
				b.NoLocks(taskLock)
			}
		})
	}
}

// A lock may belong to a git that is still at work: it is waited for.
func TestYoungLockOfABranchIsWaitedFor(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	dir := b.pool("1")[0]
	b.mustEnter(b.task(dir, "t-1"))
	w := b.in(dir)
	w.Write("work", "1")
	b.Write(".git/"+taskLock, "")
	begin := time.Now()
	w.mustCommit("k1", nil)
	if took := time.Since(begin); took < git.LockWait {
		t.Errorf("the lock was taken away after %s", took)
	}
}

// A lock that cannot go does not make ralph wait for ever.
func TestLockThatCannotGo(t *testing.T) {
	t.Parallel()
	ralphtest.NeedsTime(t)
	b := newBox(t)
	b.Write(".git/"+taskLock+"/x", "")
	begin := time.Now()
	b.repo.FreeRefs(t.Context(), "refs/heads/ralph/t-1")
	if took := time.Since(begin); took > git.RefLockWait+time.Minute {
		t.Errorf("waited %s", took)
	}
}
