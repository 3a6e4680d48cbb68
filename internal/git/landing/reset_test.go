package landing

import (
	"strings"
	"testing"

	"github.com/ralph-loop/ralph/internal/git/worktrees"
	"github.com/ralph-loop/ralph/internal/ralphtest/gittest"
)

// A merge that an agent left half done goes too.
func TestResetBranchInTheMiddleOfAMerge(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	base := b.Head()
	other := b.branch("other", base, write("a.txt", "other\n"))
	dir := b.Path("ralph/.worktrees/1")
	b.Git("worktree", "add", "-q", "-b", "ralph/t-1", dir)
	w := &testRepo{Box: gittest.Box{T: t, P: b.P, Dir: dir, Env: b.Env}}
	w.Write("a.txt", "ours\n")
	w.Git("commit", "-q", "-a", "-m", "ours")
	w.repo = w.open(dir)
	w.mergeHere(other)
	ref, err := worktrees.ResetBranch(t.Context(), b.repo, worktrees.ResetInput{Branch: "ralph/t-1", Base: base, ID: "t-1", Dir: dir})
	b.Must(err)
	if text := b.Git("show", ref+":a.txt"); !strings.Contains(text, "ours") {
		t.Errorf("kept %q", text)
	}
	b.Equal("status", w.Git("status"), "On branch ralph/t-1\nnothing to commit, working tree clean")
}
