package worktrees

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/ralph-loop/ralph/internal/git"
	"github.com/ralph-loop/ralph/internal/git/refs"
	"github.com/ralph-loop/ralph/internal/git/shelve"
	"github.com/ralph-loop/ralph/internal/ralphtest/gittest"
)

// B-078, X-73: unmerged work goes back to its base and is kept.
func TestResetBranch(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	base := b.Head()
	in := ResetInput{Branch: "ralph/t-1", Base: base, ID: "t-1"}
	if ref, err := ResetBranch(t.Context(), b.repo, in); err != nil || ref != "" {
		t.Errorf("no branch: %q %v", ref, err)
	}
	tip := b.branch("ralph/t-1", base, write("x", "1"))
	ref, err := ResetBranch(t.Context(), b.repo, in)
	b.Must(err)
	b.Equal("branch", b.Tip("ralph/t-1"), base)
	b.Equal("kept", b.Git("rev-parse", ref), tip)
	if ref, err := ResetBranch(t.Context(), b.repo, in); err != nil || ref != "" {
		t.Errorf("again: %q %v", ref, err)
	}

	dir := b.Path("ralph/.worktrees/1")
	b.Git("worktree", "add", "-q", dir, "ralph/t-1")
	w := &testRepo{Box: gittest.Box{T: t, P: b.P, Dir: dir, Env: b.Env}}
	w.Write("committed", "1")
	w.Git("add", "-A")
	w.Git("commit", "-q", "-m", "work")
	head := w.Head()
	w.Write("a.txt", "dirty")
	w.Write("untracked", "2")
	w.Write("ralph/specs/x.md", "3")
	b.Write(".git/info/exclude", "*.ignored\n")
	w.Write("x.ignored", "node_modules")
	in.ID, in.Dir = "t-1-again", dir
	ref, err = ResetBranch(t.Context(), b.repo, in)
	b.Must(err)
	b.Equal("branch", w.Git("rev-parse", "HEAD", "ralph/t-1"), base+"\n"+base)
	b.Equal("status", w.Git("status", "--porcelain"), "")
	w.Want("x.ignored", "node_modules")
	b.Equal("below it", b.Git("rev-parse", ref+"^"), head)
	b.Equal("kept", b.Git("ls-tree", "-r", "--name-only", ref), "a.txt\ncommitted\ndir/b.txt\ndir/sub/c.txt\nralph/specs/x.md\nuntracked")
	b.Equal("kept text", b.Git("show", ref+":a.txt"), "dirty")

	person := filepath.Join(t.TempDir(), "person")
	b.Git("worktree", "add", "-q", "-b", "ralph/t-2", person)
	_, err = ResetBranch(t.Context(), b.repo, ResetInput{Branch: "ralph/t-2", Base: base, ID: "x"})
	b.Refused(err, person)
}

// A worktree of the pool that still has the branch checked out is another task's by
// now: only the branch moves, and whoever enters the worktree next puts away what is
// in it.
func TestResetBranchBesideAnotherTask(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	base := b.Head()
	tip := b.branch("ralph/t-1", base, write("x", "1"))
	dir := b.Path("ralph/.worktrees/4")
	b.Git("worktree", "add", "-q", dir, "ralph/t-1")
	w := &testRepo{Box: gittest.Box{T: t, P: b.P, Dir: dir, Env: b.Env}}
	w.Write("of-the-next", "task")
	ref, err := ResetBranch(t.Context(), b.repo, ResetInput{Branch: "ralph/t-1", Base: base, ID: "t-1"})
	b.Must(err)
	b.Equal("branch", b.Tip("ralph/t-1"), base)
	b.Equal("kept", b.Git("rev-parse", ref), tip)
	w.Want("of-the-next", "task")
	w.Want("x", "1")
	got, err := Enter(t.Context(), b.repo, EnterInput{Dir: dir, Branch: "ralph/t-2", From: base, Merged: base, ID: "t-2"})
	b.Must(err)
	b.Equal("entered", w.Git("status", "--porcelain")+w.Head(), base)
	if len(got.Saved) == 0 {
		t.Error("what was there is not kept")
	}
}

func TestRecoverableAndBring(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	base := b.Head()
	task := b.branch("ralph/t-1", base, write("x", "1"))
	kept, err := b.repo.Keep(t.Context(), "t-2", b.branch("gone", base, write("y", "2")))
	b.Must(err)
	b.Git("branch", "-D", "-q", "gone")
	b.Git("update-ref", refs.MergeRef("t-3"), task)
	b.Git("update-ref", git.RecoveryRefs+"odd", b.Git("rev-parse", "HEAD^{tree}"))
	b.Write("a.txt", "the person's own")
	b.Git("stash", "-q")
	b.Write("a.txt", "ralph's")
	_, err = shelve.Shelve(t.Context(), b.repo, shelve.ShelveInput{How: shelve.ShelveStash, Base: base, Message: "ralph: failed x", ID: "x1"})
	b.Must(err)
	list, err := Recoverable(t.Context(), b.repo)
	b.Must(err)
	var kinds []string
	for _, k := range list {
		kinds = append(kinds, k.Kind)
		if k.At.IsZero() || k.Subject == "" || k.Commit == "" {
			t.Errorf("%+v", k)
		}
	}
	slices.Sort(kinds)
	if want := []string{KeptBranch, KeptMerge, KeptRecovery, KeptStash}; !slices.Equal(kinds, want) {
		t.Fatalf("kept %q", kinds)
	}
	if !slices.IsSortedFunc(list, func(a, b Kept) int { return b.At.Compare(a.At) }) {
		t.Error("not newest first")
	}
	before := b.All()
	for _, k := range list {
		back, err := Bring(t.Context(), b.repo, k, "")
		b.Must(err)
		switch {
		case k.Kind == KeptStash:
			b.Equal("stash", back.Command, "git stash apply "+k.Commit)
			b.Equal("its text", b.Git("show", k.Commit+":a.txt"), "ralph's")
		case k.Ref == kept:
			b.Equal("branch", back.Branch, "recovered/t-2")
			b.Equal("commit", b.Git("rev-parse", back.Branch), k.Commit)
		}
		if again, err := Bring(t.Context(), b.repo, k, ""); err != nil || again != back {
			t.Errorf("again: %+v %v", again, err)
		}
		if k.Kind == KeptRecovery {
			_, err := Bring(t.Context(), b.repo, k, "main")
			b.Refused(err, "main")
		}
	}
	b.Untouched(before)
	if _, err := os.Stat(b.Path(".git/refs/heads/recovered/t-1")); err != nil {
		t.Errorf("branch of the task: %v", err)
	}
}
