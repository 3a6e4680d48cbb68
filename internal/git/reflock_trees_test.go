package git

import (
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const taskLock = "refs/heads/ralph/t-1.lock"

// A git that was killed leaves locks on a task's branch and on HEAD of its
// worktree. No commit, no next turn and no cleanup fails by that (B-076, B-079).
func TestLocksOfAKilledGitInAWorktree(t *testing.T) {
	t.Parallel()
	treeLock := func(b *testRepo, dir string) string {
		return "worktrees/" + filepath.Base(b.in(dir).repo.gitDir) + "/HEAD.lock"
	}
	commit := func(b *testRepo, w *testRepo) {
		w.mustCommit("k1", func(in *CommitInput) { in.Branch = "ralph/t-1" })
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
			b.Equal("branch", b.Git("rev-parse", "ralph/t-1"), e.Head)
		},
		"remove": func(b, w *testRepo, _ EnterInput) {
			saved, err := b.repo.RemoveTree(b.T.Context(), w.Dir, "t-1")
			b.Must(err)
			if len(saved) != 1 {
				b.T.Errorf("saved %+v", saved)
			}
		},
		"stash": func(b, w *testRepo, _ EnterInput) {
			_, _, err := b.repo.StashTree(b.T.Context(), w.Dir, "ralph: stopped", "t-1")
			b.Must(err)
		},
		"free": func(b, _ *testRepo, in EnterInput) {
			b.Must(b.repo.FreeBranch(b.T.Context(), in.Branch, ""))
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
	if took := time.Since(begin); took < lockWait {
		t.Errorf("the lock was taken away after %s", took)
	}
}

// Concluding a merge is a commit too.
func TestConcludePastALeftLock(t *testing.T) {
	t.Parallel()
	b, tree, theirs := halfMerged(t)
	b.Write("ralph/.worktrees/1/a.txt", "both\n")
	b.Git("-C", tree.root, "add", "-A")
	b.LeftLocks(taskLock)
	_, err := tree.Conclude(t.Context(), concludeInput(theirs))
	b.Must(err)
	b.NoLocks(taskLock)
}

// The integration branch, candidates and what is kept are ralph's own as well. A
// branch that is not stays locked until a person has looked.
func TestLocksOfAKilledGitOnTheIntegrationBranch(t *testing.T) {
	t.Parallel()
	b := mergeBox(t)
	base := b.Git("rev-parse", integration)
	one := b.branch("ralph/t-1", base, write("1", ""))
	locks := []string{"refs/heads/" + integration + ".lock", mergeRef(b.input(one).last().Key) + ".lock"}
	b.LeftLocks(locks...)
	in := b.input(one)
	in.Free, in.Green = false, nil // it waits for its checks
	m, err := b.repo.Merge(t.Context(), in)
	b.Must(err)
	b.Must(b.repo.Advance(t.Context(), integration, base, m.Commit))
	b.Equal("branch", b.Git("rev-parse", integration), m.Commit)
	b.NoLocks(locks...)

	b.LeftLocks(taskLock, recoveryRefs+"t-1.lock")
	ref, err := b.repo.ResetBranch(t.Context(), ResetInput{Branch: "ralph/t-1", Base: base, ID: "t-1"})
	b.Must(err)
	b.Equal("kept", ref, recoveryRefs+"t-1")
	b.LeftLocks(taskLock)
	kept, err := b.repo.DropBranches(t.Context(), base, []string{"ralph/t-1"})
	b.Must(err)
	b.Equal("branches kept", strings.Join(kept, " "), "")
}

// A lock that cannot go does not make ralph wait for ever.
func TestLockThatCannotGo(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.Write(".git/"+taskLock+"/x", "")
	begin := time.Now()
	b.repo.freeRefs(t.Context(), "refs/heads/ralph/t-1")
	if took := time.Since(begin); took > refLockWait+time.Minute {
		t.Errorf("waited %s", took)
	}
}
