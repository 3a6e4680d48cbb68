package landing

import (
	"strings"
	"testing"

	"github.com/ralph-loop/ralph/internal/git"
	"github.com/ralph-loop/ralph/internal/git/refs"
	"github.com/ralph-loop/ralph/internal/git/worktrees"
)

// Concluding a merge is a commit too.
func TestConcludePastALeftLock(t *testing.T) {
	t.Parallel()
	b, tree, theirs := halfMerged(t)
	b.Write("ralph/.worktrees/1/a.txt", "both\n")
	b.Git("-C", tree.Root(), "add", "-A")
	b.LeftLocks("refs/heads/ralph/t-1.lock")
	_, err := Conclude(t.Context(), tree, concludeInput(theirs))
	b.Must(err)
	b.NoLocks("refs/heads/ralph/t-1.lock")
}

// The integration branch, candidates and what is kept are ralph's own as well. A
// branch that is not stays locked until a person has looked.
func TestLocksOfAKilledGitOnTheIntegrationBranch(t *testing.T) {
	t.Parallel()
	b := mergeBox(t)
	base := b.Tip(integration)
	one := b.branch("ralph/t-1", base, write("1", ""))
	locks := []string{"refs/heads/" + integration + ".lock", refs.MergeRef(b.input(one).last().Key) + ".lock"}
	b.LeftLocks(locks...)
	in := b.input(one)
	in.Free, in.Green = false, nil // it waits for its checks
	m, err := Merge(t.Context(), b.repo, in)
	b.Must(err)
	b.Must(refs.Advance(t.Context(), b.repo, integration, base, m.Commit))
	b.Equal("branch", b.Tip(integration), m.Commit)
	b.NoLocks(locks...)

	b.LeftLocks("refs/heads/ralph/t-1.lock", git.RecoveryRefs+"t-1.lock")
	ref, err := worktrees.ResetBranch(t.Context(), b.repo, worktrees.ResetInput{Branch: "ralph/t-1", Base: base, ID: "t-1"})
	b.Must(err)
	b.Equal("kept", ref, git.RecoveryRefs+"t-1")
	b.LeftLocks("refs/heads/ralph/t-1.lock")
	kept, err := refs.DropBranches(t.Context(), b.repo, base, []string{"ralph/t-1"})
	b.Must(err)
	b.Equal("branches kept", strings.Join(kept, " "), "")
}
