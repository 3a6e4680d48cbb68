package git

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/ralph-loop/ralph/internal/ralphtest/gittest"
)

func TestMakeBranch(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	base := b.Head()
	other := b.branch("other", base, write("x", ""))
	b.Must(b.repo.MakeBranch(t.Context(), integration, base))
	b.Must(b.repo.MakeBranch(t.Context(), integration, base))
	if err := b.repo.MakeBranch(t.Context(), integration, other); !errors.Is(err, ErrMovedOn) {
		t.Errorf("at another commit: %v", err)
	}
	b.Equal("branch", b.Git("rev-parse", integration), base)
	for _, bad := range []string{"", "-x", "a b", "a..b"} {
		if err := b.repo.MakeBranch(t.Context(), bad, base); err == nil {
			t.Errorf("made %q", bad)
		}
	}
	b.Git("branch", "-m", integration, "ralph")
	b.Refused(b.repo.MakeBranch(t.Context(), integration, base), "ralph")
}

func TestAdvance(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	base := b.Head()
	one := b.branch("one", base, write("1", ""))
	two := b.branch("two", base, write("2", ""))
	b.Must(b.repo.MakeBranch(t.Context(), integration, base))
	b.Must(b.repo.Advance(t.Context(), integration, base, one))
	b.Must(b.repo.Advance(t.Context(), integration, base, one))
	if err := b.repo.Advance(t.Context(), integration, base, two); !errors.Is(err, ErrMovedOn) {
		t.Errorf("from elsewhere: %v", err)
	}
	for _, pack := range []bool{false, true} { // the candidate goes, packed or not
		b.Git("update-ref", MergeRef("k"), two)
		if pack {
			b.Git("pack-refs", "--all")
		}
		b.Git("update-ref", "refs/heads/"+integration, one)
		b.Must(b.repo.Advance(t.Context(), integration, one, two))
		b.Equal("candidates", b.Git("for-each-ref", MergeRefs), "")
	}
	b.Must(b.repo.MakeBranch(t.Context(), "theirs", two)) // not ralph's: its lock is for a person to judge
	b.Write(".git/refs/heads/theirs.lock", "")
	b.repo.env = append(b.repo.env, "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=core.filesRefLockTimeout", "GIT_CONFIG_VALUE_0=1")
	b.Refused(b.repo.Advance(t.Context(), "theirs", two, one), "locked")
}

// B-069: only what is proved merged goes.
func TestDropBranches(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	base := b.Head()
	merged := b.branch("ralph/t-1", base, write("1", ""))
	b.branch("ralph/t-2", base, write("2", ""))
	b.Git("branch", "ralph/t-3", base)
	open := b.linked("ralph/t-4", base)
	names := []string{"ralph/t-1", "ralph/t-2", "ralph/t-3", "ralph/t-4", "ralph/t-9"}
	var kept []string
	n := b.program.Starts(func() {
		var err error
		kept, err = b.repo.DropBranches(t.Context(), merged, names)
		b.Must(err)
	})
	if want := []string{"ralph/t-2", "ralph/t-4"}; !slices.Equal(kept, want) || n > 3 {
		t.Errorf("kept %q with %d processes", kept, n)
	}
	b.Equal("branches", b.Git("for-each-ref", "--format=%(refname:short)", "refs/heads/ralph"), "ralph/t-2\nralph/t-4")
	b.Equal("the open one", open.Git("rev-parse", "HEAD"), base)
	if kept, err := b.repo.DropBranches(t.Context(), merged, nil); err != nil || kept != nil {
		t.Errorf("none: %q %v", kept, err)
	}
}

// B-078, X-73: unmerged work goes back to its base and is kept.
func TestResetBranch(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	base := b.Head()
	in := ResetInput{Branch: "ralph/t-1", Base: base, ID: "t-1"}
	if ref, err := b.repo.ResetBranch(t.Context(), in); err != nil || ref != "" {
		t.Errorf("no branch: %q %v", ref, err)
	}
	tip := b.branch("ralph/t-1", base, write("x", "1"))
	ref, err := b.repo.ResetBranch(t.Context(), in)
	b.Must(err)
	b.Equal("branch", b.Git("rev-parse", "ralph/t-1"), base)
	b.Equal("kept", b.Git("rev-parse", ref), tip)
	if ref, err := b.repo.ResetBranch(t.Context(), in); err != nil || ref != "" {
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
	ref, err = b.repo.ResetBranch(t.Context(), in)
	b.Must(err)
	b.Equal("branch", w.Git("rev-parse", "HEAD", "ralph/t-1"), base+"\n"+base)
	b.Equal("status", w.Git("status", "--porcelain"), "")
	w.Want("x.ignored", "node_modules")
	b.Equal("below it", b.Git("rev-parse", ref+"^"), head)
	b.Equal("kept", b.Git("ls-tree", "-r", "--name-only", ref), "a.txt\ncommitted\ndir/b.txt\ndir/sub/c.txt\nralph/specs/x.md\nuntracked")
	b.Equal("kept text", b.Git("show", ref+":a.txt"), "dirty")

	person := filepath.Join(t.TempDir(), "person")
	b.Git("worktree", "add", "-q", "-b", "ralph/t-2", person)
	_, err = b.repo.ResetBranch(t.Context(), ResetInput{Branch: "ralph/t-2", Base: base, ID: "x"})
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
	ref, err := b.repo.ResetBranch(t.Context(), ResetInput{Branch: "ralph/t-1", Base: base, ID: "t-1"})
	b.Must(err)
	b.Equal("branch", b.Git("rev-parse", "ralph/t-1"), base)
	b.Equal("kept", b.Git("rev-parse", ref), tip)
	w.Want("of-the-next", "task")
	w.Want("x", "1")
	got, err := b.repo.Enter(t.Context(), EnterInput{Dir: dir, Branch: "ralph/t-2", From: base, Merged: base, ID: "t-2"})
	b.Must(err)
	b.Equal("entered", w.Git("status", "--porcelain")+w.Git("rev-parse", "HEAD"), base)
	if len(got.Saved) == 0 {
		t.Error("what was there is not kept")
	}
}

func TestRecoverableAndBring(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	base := b.Head()
	task := b.branch("ralph/t-1", base, write("x", "1"))
	kept, err := b.repo.keep(t.Context(), "t-2", b.branch("gone", base, write("y", "2")))
	b.Must(err)
	b.Git("branch", "-D", "-q", "gone")
	b.Git("update-ref", MergeRef("t-3"), task)
	b.Git("update-ref", RecoveryRefs+"odd", b.Git("rev-parse", "HEAD^{tree}"))
	b.Write("a.txt", "the person's own")
	b.Git("stash", "-q")
	b.Write("a.txt", "ralph's")
	_, err = b.repo.Shelve(t.Context(), ShelveInput{How: ShelveStash, Base: base, Message: "ralph: failed x", ID: "x1"})
	b.Must(err)
	list, err := b.repo.Recoverable(t.Context())
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
		back, err := b.repo.Bring(t.Context(), k, "")
		b.Must(err)
		switch {
		case k.Kind == KeptStash:
			b.Equal("stash", back.Command, "git stash apply "+k.Commit)
			b.Equal("its text", b.Git("show", k.Commit+":a.txt"), "ralph's")
		case k.Ref == kept:
			b.Equal("branch", back.Branch, "recovered/t-2")
			b.Equal("commit", b.Git("rev-parse", back.Branch), k.Commit)
		}
		if again, err := b.repo.Bring(t.Context(), k, ""); err != nil || again != back {
			t.Errorf("again: %+v %v", again, err)
		}
		if k.Kind == KeptRecovery {
			_, err := b.repo.Bring(t.Context(), k, "main")
			b.Refused(err, "main")
		}
	}
	b.Untouched(before)
	if _, err := os.Stat(b.Path(".git/refs/heads/recovered/t-1")); err != nil {
		t.Errorf("branch of the task: %v", err)
	}
}
