package git

import (
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// leftLocks puts the locks there that a git which was killed left a while ago.
func (b *testRepo) leftLocks(names ...string) {
	b.t.Helper()
	for _, name := range names {
		b.write(".git/"+name, "")
	}
	ageLocks(b)
}

const taskLock = "refs/heads/ralph/t-1.lock"

// noLocks checks that none is left.
func (b *testRepo) noLocks(names ...string) {
	b.t.Helper()
	for _, name := range names {
		if stat(b.path(".git/"+name)) != nil {
			b.t.Errorf("%s is still there", name)
		}
	}
}

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
			w.git("symbolic-ref", "HEAD", "refs/heads/other")
			commit(b, w)
			b.equal("branch", b.git("log", "-1", "--format=%s", "ralph/t-1"), "ralph: complete x")
		},
		"resume": func(b, _ *testRepo, in EnterInput) {
			in.Mine = true
			b.mustEnter(in)
		},
		"resume after the agent went on beside the branch": func(b, w *testRepo, in EnterInput) {
			w.git("update-ref", "--no-deref", "HEAD", b.git("commit-tree", "-p", in.From, "-m", "beside", in.From+"^{tree}"))
			in.Mine = true
			e := b.mustEnter(in)
			b.equal("branch", b.git("rev-parse", "ralph/t-1"), e.Head)
		},
		"remove": func(b, w *testRepo, _ EnterInput) {
			saved, err := b.repo.RemoveTree(b.t.Context(), w.dir, "t-1")
			b.must(err)
			if len(saved) != 1 {
				b.t.Errorf("saved %+v", saved)
			}
		},
		"stash": func(b, w *testRepo, _ EnterInput) {
			_, _, err := b.repo.StashTree(b.t.Context(), w.dir, "ralph: stopped", "t-1")
			b.must(err)
		},
		"free": func(b, _ *testRepo, in EnterInput) {
			b.must(b.repo.FreeBranch(b.t.Context(), in.Branch, ""))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBox(t)
			dir := b.pool("1")[0]
			in := b.task(dir, "t-1")
			b.mustEnter(in)
			b.git("branch", "other")
			w := b.in(dir)
			w.write("work", "1")
			lock := treeLock(b, dir)
			b.leftLocks(taskLock)
			if !strings.Contains(name, " after ") { // there the agent's own git comes first
				b.leftLocks(lock)
			}
			do(b, w, in)
			b.noLocks(lock)
			if name != "free" { // which needs no more than HEAD
				b.noLocks(taskLock)
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
	w.write("work", "1")
	b.write(".git/"+taskLock, "")
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
	b.write("ralph/.worktrees/1/a.txt", "both\n")
	b.git("-C", tree.root, "add", "-A")
	b.leftLocks(taskLock)
	_, err := tree.Conclude(t.Context(), concludeInput(theirs))
	b.must(err)
	b.noLocks(taskLock)
}

// The integration branch, candidates and what is kept are ralph's own as well. A
// branch that is not stays locked until a person has looked.
func TestLocksOfAKilledGitOnTheIntegrationBranch(t *testing.T) {
	t.Parallel()
	b := mergeBox(t)
	base := b.git("rev-parse", integration)
	one := b.branch("ralph/t-1", base, write("1", ""))
	locks := []string{"refs/heads/" + integration + ".lock", mergeRef(b.input(one).last().Key) + ".lock"}
	b.leftLocks(locks...)
	in := b.input(one)
	in.Free, in.Green = false, nil // it waits for its checks
	m, err := b.repo.Merge(t.Context(), in)
	b.must(err)
	b.must(b.repo.Advance(t.Context(), integration, base, m.Commit))
	b.equal("branch", b.git("rev-parse", integration), m.Commit)
	b.noLocks(locks...)

	b.leftLocks(taskLock, recoveryRefs+"t-1.lock")
	ref, err := b.repo.ResetBranch(t.Context(), ResetInput{Branch: "ralph/t-1", Base: base, ID: "t-1"})
	b.must(err)
	b.equal("kept", ref, recoveryRefs+"t-1")
	b.leftLocks(taskLock)
	kept, err := b.repo.DropBranches(t.Context(), base, []string{"ralph/t-1"})
	b.must(err)
	b.equal("branches kept", strings.Join(kept, " "), "")
}

// A lock that cannot go does not make ralph wait for ever.
func TestLockThatCannotGo(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.write(".git/"+taskLock+"/x", "")
	begin := time.Now()
	b.repo.freeRefs(t.Context(), "refs/heads/ralph/t-1")
	if took := time.Since(begin); took > refLockWait+time.Minute {
		t.Errorf("waited %s", took)
	}
}
