package worktrees

import (
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"github.com/ralph-loop/ralph/internal/git/commits"
	"github.com/ralph-loop/ralph/internal/ralphtest"
)

// failedResolve is a worktree of the pool that is still on the branch of a task
// which does not own it any more.
func failedResolve(t *testing.T) (b, w *testRepo, in ResetInput, tip string) {
	t.Helper()
	b = newBox(t)
	dir := b.pool("1")[0]
	base := b.Head()
	b.mustEnter(b.task(dir, "t-1"))
	w = b.in(dir)
	w.Write("work", "1")
	tip = w.mustCommit("k1", nil).Hash
	return b, w, ResetInput{Branch: "ralph/t-1", Base: base, ID: "t-1"}, tip
}

// B-078: whatever is in a worktree that is not the task's any more stays, and
// comes to light when the next task enters.
func TestResetBranchLeavesAFreedWorktreeAlone(t *testing.T) {
	t.Parallel()
	b, w, in, tip := failedResolve(t)
	w.Write("a.txt", "half resolved")
	w.Write("new", "2")
	before := w.Files()
	log := len(headLog(w.repo.GitDir()))
	ref, err := ResetBranch(t.Context(), b.repo, in)
	b.Must(err)
	b.Equal("branch", b.Tip("ralph/t-1"), in.Base)
	b.Equal("kept", b.Git("rev-parse", ref), tip)
	b.Equal("HEAD", w.Git("rev-parse", "HEAD", "--abbrev-ref", "HEAD"), tip+"\nHEAD")
	b.Equal("files", fmt.Sprint(w.Files()), fmt.Sprint(before))
	b.Equal("changes", w.Status(), " M a.txt\n?? new")
	if len(headLog(w.repo.GitDir())) < log {
		t.Error("the log of HEAD is gone")
	}
	e := b.mustEnter(b.task(w.Dir, "t-2"))
	b.ready(e, "ralph/t-2", in.Base)
	if len(e.Saved) != 1 || b.Git("rev-parse", e.Saved[0].Commit+"^") != tip || b.Git("show", e.Saved[0].Commit+":new") != "2" {
		t.Errorf("saved %+v", e.Saved)
	}
}

// Its own worktree is cleaned, another's that has the branch too is only detached.
func TestResetBranchInTwoWorktrees(t *testing.T) {
	t.Parallel()
	b, w, in, _ := failedResolve(t)
	own := b.TreeDir("2")
	b.Git("worktree", "add", "-q", "--force", own, "ralph/t-1")
	o := b.in(own)
	o.Write("a.txt", "own")
	w.Write("a.txt", "another's")
	in.Dir = own
	ref, err := ResetBranch(t.Context(), b.repo, in)
	b.Must(err)
	b.Equal("own", o.Git("rev-parse", "--abbrev-ref", "HEAD")+o.Status(), "ralph/t-1")
	b.Equal("kept", b.Git("show", ref+":a.txt"), "own")
	w.Want("a.txt", "another's")
	b.Equal("another's", w.Git("rev-parse", "--abbrev-ref", "HEAD"), "HEAD")
}

// HEAD goes off the branch only if it is still on it, also when the look at it
// was a while ago.
func TestOffBranchComparesAndSwaps(t *testing.T) {
	t.Parallel()
	b, w, in, _ := failedResolve(t)
	b.mustEnter(b.task(w.Dir, "t-2"))
	b.Must(offBranch(t.Context(), b.repo, w.repo.GitDir(), in.Branch))
	b.Equal("HEAD", w.Git("rev-parse", "--abbrev-ref", "HEAD"), "ralph/t-2")
	lock := "worktrees/" + filepath.Base(w.repo.GitDir()) + "/HEAD.lock"
	b.LeftLocks(lock)
	b.Must(offBranch(t.Context(), b.repo, w.repo.GitDir(), "ralph/t-2"))
	b.Equal("HEAD", w.Git("rev-parse", "HEAD", "--abbrev-ref", "HEAD"), in.Base+"\nHEAD")
	b.NoLocks(lock)
}

// B-078, X-73: a person rolls a task back in one process while the engine, in
// another, enters the worktree for the next task and an agent begins there. That
// task gets a clean worktree, keeps what it does, and nothing is lost.
func TestResetBranchBesideEnter(t *testing.T) {
	t.Parallel()
	b, w, in, tip := failedResolve(t)
	for n := range ralphtest.Rounds(4, 25) {
		next := b.task(w.Dir, fmt.Sprintf("t-%d", n+2))
		person := b.open(b.Dir) // knows nothing of the engine's
		dirty := n%2 == 1
		if dirty {
			w.Write("left", in.Branch)
		}
		var entered Entered
		var failed error
		var both sync.WaitGroup
		both.Go(func() {
			if entered, failed = Enter(t.Context(), b.repo, next); failed == nil {
				w.Write("begun", next.Branch)
			}
		})
		ref, err := ResetBranch(t.Context(), person, in)
		both.Wait()
		b.Must(failed)
		b.Must(err)
		b.Equal("branch", b.Git("rev-parse", in.Branch), in.Base)
		b.Equal("kept", b.Git("rev-parse", ref), tip)
		b.Equal("next", w.Git("rev-parse", "HEAD", "--abbrev-ref", "HEAD"), in.Base+"\n"+next.Branch)
		b.Equal("changes", w.Status(), "?? begun")
		w.Want("begun", next.Branch)
		switch s := entered.Saved; {
		case !dirty && len(s) > 0, dirty && len(s) != 1:
			t.Errorf("round %d: saved %+v", n, s)
		case dirty:
			b.Equal("left", b.Git("show", s[0].Commit+":left"), in.Branch)
		}
		in = ResetInput{Branch: next.Branch, Base: in.Base, ID: next.ID}
		tip = w.mustCommit("k"+next.ID, func(c *commits.Input) { c.Branch = next.Branch }).Hash
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
	next := b.task(w.Dir, "t-2")
	var out Entered
	before, err := clearOut(t.Context(), w.repo, next, &out)
	b.Must(err)
	ref, err := ResetBranch(t.Context(), b.open(b.Dir), in)
	b.Must(err)
	b.Equal("kept", b.Git("rev-parse", ref), tip)
	_, err = takeBranch(t.Context(), w.repo, next, before.force, &out)
	b.Must(err)
	b.Equal("next", w.Git("rev-parse", "HEAD", "--abbrev-ref", "HEAD"), in.Base+"\nralph/t-2")
	b.Equal("its changes", w.Status(), "")
	if len(out.Saved) > 0 {
		t.Errorf("saved %+v", out.Saved)
	}
}
