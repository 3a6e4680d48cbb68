package git

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestMakeBranch(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	base := b.head()
	other := b.branch("other", base, write("x", ""))
	b.must(b.repo.MakeBranch(t.Context(), integration, base))
	b.must(b.repo.MakeBranch(t.Context(), integration, base))
	if err := b.repo.MakeBranch(t.Context(), integration, other); !errors.Is(err, ErrMovedOn) {
		t.Errorf("at another commit: %v", err)
	}
	b.equal("branch", b.git("rev-parse", integration), base)
	for _, bad := range []string{"", "-x", "a b", "a..b"} {
		if err := b.repo.MakeBranch(t.Context(), bad, base); err == nil {
			t.Errorf("made %q", bad)
		}
	}
	b.git("branch", "-m", integration, "ralph")
	b.refused(b.repo.MakeBranch(t.Context(), integration, base), "ralph")
}

func TestAdvance(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	base := b.head()
	one := b.branch("one", base, write("1", ""))
	two := b.branch("two", base, write("2", ""))
	b.must(b.repo.MakeBranch(t.Context(), integration, base))
	b.must(b.repo.Advance(t.Context(), integration, base, one))
	b.must(b.repo.Advance(t.Context(), integration, base, one))
	if err := b.repo.Advance(t.Context(), integration, base, two); !errors.Is(err, ErrMovedOn) {
		t.Errorf("from elsewhere: %v", err)
	}
	for _, pack := range []bool{false, true} { // the candidate goes, packed or not
		b.git("update-ref", mergeRef("k"), two)
		if pack {
			b.git("pack-refs", "--all")
		}
		b.git("update-ref", "refs/heads/"+integration, one)
		b.must(b.repo.Advance(t.Context(), integration, one, two))
		b.equal("candidates", b.git("for-each-ref", mergeRefs), "")
	}
	b.must(b.repo.MakeBranch(t.Context(), "theirs", two)) // not ralph's: its lock is for a person to judge
	b.write(".git/refs/heads/theirs.lock", "")
	b.repo.env = append(b.repo.env, "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=core.filesRefLockTimeout", "GIT_CONFIG_VALUE_0=1")
	b.refused(b.repo.Advance(t.Context(), "theirs", two, one), "locked")
}

// B-069: only what is proved merged goes.
func TestDropBranches(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	base := b.head()
	merged := b.branch("ralph/t-1", base, write("1", ""))
	b.branch("ralph/t-2", base, write("2", ""))
	b.git("branch", "ralph/t-3", base)
	open := b.linked("ralph/t-4", base)
	names := []string{"ralph/t-1", "ralph/t-2", "ralph/t-3", "ralph/t-4", "ralph/t-9"}
	var kept []string
	n := b.starts(func() {
		var err error
		kept, err = b.repo.DropBranches(t.Context(), merged, names)
		b.must(err)
	})
	if want := []string{"ralph/t-2", "ralph/t-4"}; !slices.Equal(kept, want) || n > 3 {
		t.Errorf("kept %q with %d processes", kept, n)
	}
	b.equal("branches", b.git("for-each-ref", "--format=%(refname:short)", "refs/heads/ralph"), "ralph/t-2\nralph/t-4")
	b.equal("the open one", open.git("rev-parse", "HEAD"), base)
	if kept, err := b.repo.DropBranches(t.Context(), merged, nil); err != nil || kept != nil {
		t.Errorf("none: %q %v", kept, err)
	}
}

// B-078, X-73: unmerged work goes back to its base and is kept.
func TestResetBranch(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	base := b.head()
	in := ResetInput{Branch: "ralph/t-1", Base: base, ID: "t-1"}
	if ref, err := b.repo.ResetBranch(t.Context(), in); err != nil || ref != "" {
		t.Errorf("no branch: %q %v", ref, err)
	}
	tip := b.branch("ralph/t-1", base, write("x", "1"))
	ref, err := b.repo.ResetBranch(t.Context(), in)
	b.must(err)
	b.equal("branch", b.git("rev-parse", "ralph/t-1"), base)
	b.equal("kept", b.git("rev-parse", ref), tip)
	if ref, err := b.repo.ResetBranch(t.Context(), in); err != nil || ref != "" {
		t.Errorf("again: %q %v", ref, err)
	}

	dir := b.path("ralph/.worktrees/1")
	b.git("worktree", "add", "-q", dir, "ralph/t-1")
	w := &testRepo{t: t, p: b.p, dir: dir, env: b.env}
	w.write("committed", "1")
	w.git("add", "-A")
	w.git("commit", "-q", "-m", "work")
	head := w.head()
	w.write("a.txt", "dirty")
	w.write("untracked", "2")
	w.write("ralph/specs/x.md", "3")
	b.write(".git/info/exclude", "*.ignored\n")
	w.write("x.ignored", "node_modules")
	in.ID, in.Dir = "t-1-again", dir
	ref, err = b.repo.ResetBranch(t.Context(), in)
	b.must(err)
	b.equal("branch", w.git("rev-parse", "HEAD", "ralph/t-1"), base+"\n"+base)
	b.equal("status", w.git("status", "--porcelain"), "")
	w.want("x.ignored", "node_modules")
	b.equal("below it", b.git("rev-parse", ref+"^"), head)
	b.equal("kept", b.git("ls-tree", "-r", "--name-only", ref), "a.txt\ncommitted\ndir/b.txt\ndir/sub/c.txt\nralph/specs/x.md\nuntracked")
	b.equal("kept text", b.git("show", ref+":a.txt"), "dirty")

	person := filepath.Join(t.TempDir(), "person")
	b.git("worktree", "add", "-q", "-b", "ralph/t-2", person)
	_, err = b.repo.ResetBranch(t.Context(), ResetInput{Branch: "ralph/t-2", Base: base, ID: "x"})
	b.refused(err, person)
}

// A worktree of the pool that still has the branch checked out is another task's by
// now: only the branch moves, and whoever enters the worktree next puts away what is
// in it.
func TestResetBranchBesideAnotherTask(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	base := b.head()
	tip := b.branch("ralph/t-1", base, write("x", "1"))
	dir := b.path("ralph/.worktrees/4")
	b.git("worktree", "add", "-q", dir, "ralph/t-1")
	w := &testRepo{t: t, p: b.p, dir: dir, env: b.env}
	w.write("of-the-next", "task")
	ref, err := b.repo.ResetBranch(t.Context(), ResetInput{Branch: "ralph/t-1", Base: base, ID: "t-1"})
	b.must(err)
	b.equal("branch", b.git("rev-parse", "ralph/t-1"), base)
	b.equal("kept", b.git("rev-parse", ref), tip)
	w.want("of-the-next", "task")
	w.want("x", "1")
	got, err := b.repo.Enter(t.Context(), EnterInput{Dir: dir, Branch: "ralph/t-2", From: base, Merged: base, ID: "t-2"})
	b.must(err)
	b.equal("entered", w.git("status", "--porcelain")+w.git("rev-parse", "HEAD"), base)
	if len(got.Saved) == 0 {
		t.Error("what was there is not kept")
	}
}

// A merge that an agent left half done goes too.
func TestResetBranchInTheMiddleOfAMerge(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	base := b.head()
	other := b.branch("other", base, write("a.txt", "other\n"))
	dir := b.path("ralph/.worktrees/1")
	b.git("worktree", "add", "-q", "-b", "ralph/t-1", dir)
	w := &testRepo{t: t, p: b.p, dir: dir, env: b.env}
	w.write("a.txt", "ours\n")
	w.git("commit", "-q", "-a", "-m", "ours")
	w.repo = w.open(dir)
	w.mergeHere(other)
	ref, err := b.repo.ResetBranch(t.Context(), ResetInput{Branch: "ralph/t-1", Base: base, ID: "t-1", Dir: dir})
	b.must(err)
	if text := b.git("show", ref+":a.txt"); !strings.Contains(text, "ours") {
		t.Errorf("kept %q", text)
	}
	b.equal("status", w.git("status"), "On branch ralph/t-1\nnothing to commit, working tree clean")
}

func TestRecoverableAndBring(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	base := b.head()
	task := b.branch("ralph/t-1", base, write("x", "1"))
	kept, err := b.repo.keep(t.Context(), "t-2", b.branch("gone", base, write("y", "2")))
	b.must(err)
	b.git("branch", "-D", "-q", "gone")
	b.git("update-ref", mergeRef("t-3"), task)
	b.git("update-ref", recoveryRefs+"odd", b.git("rev-parse", "HEAD^{tree}"))
	b.write("a.txt", "the person's own")
	b.git("stash", "-q")
	b.write("a.txt", "ralph's")
	_, err = b.repo.Shelve(t.Context(), ShelveInput{How: ShelveStash, Base: base, Message: "ralph: failed x", ID: "x1"})
	b.must(err)
	list, err := b.repo.Recoverable(t.Context())
	b.must(err)
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
	before := b.all()
	for _, k := range list {
		back, err := b.repo.Bring(t.Context(), k, "")
		b.must(err)
		switch {
		case k.Kind == KeptStash:
			b.equal("stash", back.Command, "git stash apply "+k.Commit)
			b.equal("its text", b.git("show", k.Commit+":a.txt"), "ralph's")
		case k.Ref == kept:
			b.equal("branch", back.Branch, "recovered/t-2")
			b.equal("commit", b.git("rev-parse", back.Branch), k.Commit)
		}
		if again, err := b.repo.Bring(t.Context(), k, ""); err != nil || again != back {
			t.Errorf("again: %+v %v", again, err)
		}
		if k.Kind == KeptRecovery {
			_, err := b.repo.Bring(t.Context(), k, "main")
			b.refused(err, "main")
		}
	}
	b.untouched(before)
	if _, err := os.Stat(b.path(".git/refs/heads/recovered/t-1")); err != nil {
		t.Errorf("branch of the task: %v", err)
	}
}
