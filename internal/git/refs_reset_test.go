package git

import (
	"fmt"
	"path/filepath"
	"sync"
	"testing"
)

// failedResolve is a worktree of the pool that is still on the branch of a task
// which does not own it any more.
func failedResolve(t *testing.T) (b, w *testRepo, in ResetInput, tip string) {
	t.Helper()
	b = newBox(t)
	dir := b.pool("1")[0]
	base := b.head()
	b.mustEnter(b.task(dir, "t-1"))
	w = b.in(dir)
	w.write("work", "1")
	tip = w.mustCommit("k1", nil).Hash
	return b, w, ResetInput{Branch: "ralph/t-1", Base: base, ID: "t-1"}, tip
}

// B-078: whatever is in a worktree that is not the task's any more stays, and
// comes to light when the next task enters.
func TestResetBranchLeavesAFreedWorktreeAlone(t *testing.T) {
	t.Parallel()
	b, w, in, tip := failedResolve(t)
	w.write("a.txt", "half resolved")
	w.write("new", "2")
	before := w.files()
	log := len(headLog(w.repo.gitDir))
	ref, err := b.repo.ResetBranch(t.Context(), in)
	b.must(err)
	b.equal("branch", b.git("rev-parse", "ralph/t-1"), in.Base)
	b.equal("kept", b.git("rev-parse", ref), tip)
	b.equal("HEAD", w.git("rev-parse", "HEAD", "--abbrev-ref", "HEAD"), tip+"\nHEAD")
	b.equal("files", fmt.Sprint(w.files()), fmt.Sprint(before))
	b.equal("changes", w.status(), " M a.txt\n?? new")
	if len(headLog(w.repo.gitDir)) < log {
		t.Error("the log of HEAD is gone")
	}
	e := b.mustEnter(b.task(w.dir, "t-2"))
	b.ready(e, "ralph/t-2", in.Base)
	if len(e.Saved) != 1 || b.git("rev-parse", e.Saved[0].Commit+"^") != tip || b.git("show", e.Saved[0].Commit+":new") != "2" {
		t.Errorf("saved %+v", e.Saved)
	}
}

// Its own worktree is cleaned, another's that has the branch too is only detached.
func TestResetBranchInTwoWorktrees(t *testing.T) {
	t.Parallel()
	b, w, in, _ := failedResolve(t)
	own := b.treeDir("2")
	b.git("worktree", "add", "-q", "--force", own, "ralph/t-1")
	o := b.in(own)
	o.write("a.txt", "own")
	w.write("a.txt", "another's")
	in.Dir = own
	ref, err := b.repo.ResetBranch(t.Context(), in)
	b.must(err)
	b.equal("own", o.git("rev-parse", "--abbrev-ref", "HEAD")+o.status(), "ralph/t-1")
	b.equal("kept", b.git("show", ref+":a.txt"), "own")
	w.want("a.txt", "another's")
	b.equal("another's", w.git("rev-parse", "--abbrev-ref", "HEAD"), "HEAD")
}

// HEAD goes off the branch only if it is still on it, also when the look at it
// was a while ago.
func TestOffBranchComparesAndSwaps(t *testing.T) {
	t.Parallel()
	b, w, in, _ := failedResolve(t)
	b.mustEnter(b.task(w.dir, "t-2"))
	b.must(b.repo.offBranch(t.Context(), w.repo.gitDir, in.Branch))
	b.equal("HEAD", w.git("rev-parse", "--abbrev-ref", "HEAD"), "ralph/t-2")
	lock := "worktrees/" + filepath.Base(w.repo.gitDir) + "/HEAD.lock"
	b.leftLocks(lock)
	b.must(b.repo.offBranch(t.Context(), w.repo.gitDir, "ralph/t-2"))
	b.equal("HEAD", w.git("rev-parse", "HEAD", "--abbrev-ref", "HEAD"), in.Base+"\nHEAD")
	b.noLocks(lock)
}

// B-078, X-73: a person rolls a task back in one process while the engine, in
// another, enters the worktree for the next task and an agent begins there. That
// task gets a clean worktree, keeps what it does, and nothing is lost.
func TestResetBranchBesideEnter(t *testing.T) {
	t.Parallel()
	b, w, in, tip := failedResolve(t)
	for n := range 25 {
		next := b.task(w.dir, fmt.Sprintf("t-%d", n+2))
		person := b.open(b.dir) // knows nothing of the engine's
		dirty := n%2 == 1
		if dirty {
			w.write("left", in.Branch)
		}
		var entered Entered
		var failed error
		var both sync.WaitGroup
		both.Go(func() {
			if entered, failed = b.repo.Enter(t.Context(), next); failed == nil {
				w.write("begun", next.Branch)
			}
		})
		ref, err := person.ResetBranch(t.Context(), in)
		both.Wait()
		b.must(failed)
		b.must(err)
		b.equal("branch", b.git("rev-parse", in.Branch), in.Base)
		b.equal("kept", b.git("rev-parse", ref), tip)
		b.equal("next", w.git("rev-parse", "HEAD", "--abbrev-ref", "HEAD"), in.Base+"\n"+next.Branch)
		b.equal("changes", w.status(), "?? begun")
		w.want("begun", next.Branch)
		switch s := entered.Saved; {
		case !dirty && len(s) > 0, dirty && len(s) != 1:
			t.Errorf("round %d: saved %+v", n, s)
		case dirty:
			b.equal("left", b.git("show", s[0].Commit+":left"), in.Branch)
		}
		in = ResetInput{Branch: next.Branch, Base: in.Base, ID: next.ID}
		tip = w.mustCommit("k"+next.ID, func(c *CommitInput) { c.Branch = next.Branch }).Hash
		if t.Failed() {
			return
		}
	}
}

// The same at its worst moment: the engine has found the worktree clean and has
// not yet checked out the next branch. What the failed task did must not become
// the next one's changes.
func TestResetBranchInTheMiddleOfEnter(t *testing.T) {
	t.Parallel()
	b, w, in, tip := failedResolve(t)
	next := b.task(w.dir, "t-2")
	var out Entered
	before, err := w.repo.clear(t.Context(), next, &out)
	b.must(err)
	ref, err := b.open(b.dir).ResetBranch(t.Context(), in)
	b.must(err)
	b.equal("kept", b.git("rev-parse", ref), tip)
	_, err = w.repo.takeBranch(t.Context(), next, before.force, &out)
	b.must(err)
	b.equal("next", w.git("rev-parse", "HEAD", "--abbrev-ref", "HEAD"), in.Base+"\nralph/t-2")
	b.equal("its changes", w.status(), "")
	if len(out.Saved) > 0 {
		t.Errorf("saved %+v", out.Saved)
	}
}
