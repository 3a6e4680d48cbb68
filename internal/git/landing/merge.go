package landing

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph/internal/git"
	"github.com/ralph-loop/ralph/internal/git/info"
	"github.com/ralph-loop/ralph/internal/git/refs"
)

// The oldest git that merges without a work tree (merge-tree --write-tree).
const mergeMajor, mergeMinor = 2, 38

// CanMerge reports whether git can merge beside all work trees, as a
// *ralph.Refusal that names the version needed. Work in place does not need it.
func CanMerge(r *git.Repo) error { return canMerge(r.Version()) }

func canMerge(version [2]int) error {
	if slices.Compare(version[:], []int{mergeMajor, mergeMinor}) >= 0 {
		return nil
	}
	return git.Refuse(fmt.Sprintf("git %d.%d cannot merge without a checkout", version[0], version[1]),
		fmt.Sprintf("install git %d.%d or newer, or work on one task at a time (--parallel 1)", mergeMajor, mergeMinor))
}

// MergeInput says what to merge into an integration branch.
type MergeInput struct {
	Into   string   // commit: the integration tip
	Sides  []Side   // merged one after another
	Branch string   // the integration branch, without refs/heads/, expected at Into
	Green  []string // trees whose checks passed: with one of these as the result the branch moves at once
	Free   bool     // there are no checks: the branch moves at once
}

// Side is one branch to merge.
type Side struct {
	Commit  string
	Message string // of the merge commit, complete
	Trailer string // name of the trailer in it that identifies the merge
	Key     string // its value; it names the candidate's ref too
	Was     string // a branch that others may rewrite: where it was when it was merged last; "": none such
}

// MergeResult is what came of merging.
type MergeResult struct {
	Commit, Tree string    // of the result; "" with conflicts
	FastForward  bool      // no merge commit was needed: the result is a side's own commit
	Nothing      bool      // Into contains every side already
	Advanced     bool      // the branch is at Commit
	Conflict     *Conflict // of the first side that does not merge
	At           int       // index of that side
}

func (in MergeInput) check() error {
	if len(in.Sides) == 0 || in.Branch == "" {
		return errors.New("nothing to merge, or no branch to merge into")
	}
	err := errors.Join(git.CheckHash("integration tip", in.Into), git.CheckBranch(in.Branch))
	for _, s := range in.Sides {
		line := s.Trailer + ": " + s.Key
		if s.Trailer == "" || !git.OneLine(s.Key) || !git.HasLine(s.Message, line) {
			err = errors.Join(err, fmt.Errorf("the message lacks the trailer line %q", line))
		}
		err = errors.Join(err, git.CheckHash("side", s.Commit))
	}
	return err
}

// Merge merges the sides into the integration tip, as objects only: no checkout
// is looked at or touched, and where no check has to come first the branch moves,
// compare and swap. ralph/progress.md keeps the lines of both sides; ralph's own
// files stay as Into has them. Attributes are those of the work tree that r
// is, and a merge driver of the person's own, if there is one, runs in it. The result that waits for its checks is held by a
// ref below refs/ralph/merge/ until Advance or Drop. Called again after a crash
// it finds what was done; ErrMovedOn when the branch is elsewhere.
func Merge(ctx context.Context, r *git.Repo, in MergeInput) (MergeResult, error) {
	if err := in.check(); err != nil {
		return MergeResult{}, fmt.Errorf("merge: %w", err)
	}
	if err := info.Attributes(r, unionLines()); err != nil {
		return MergeResult{}, fmt.Errorf("merge: %w", err)
	}
	tip, err := r.BranchTip(ctx, in.Branch)
	if err != nil {
		return MergeResult{}, fmt.Errorf("merge: %w", err)
	}
	if tip != in.Into {
		return mergedBefore(ctx, r, in, tip)
	}
	m, err := candidate(ctx, r, in)
	if err == nil && m.Commit == "" {
		m, err = mergeSides(ctx, r, in)
	}
	if err != nil {
		return MergeResult{}, fmt.Errorf("merge: %w", err)
	}
	if m.Conflict != nil || m.Nothing {
		return m, nil
	}
	return settle(ctx, r, in, m)
}

// settle moves the branch to the result, or keeps the result for its checks.
func settle(ctx context.Context, r *git.Repo, in MergeInput, m MergeResult) (MergeResult, error) {
	if in.Free || slices.Contains(in.Green, m.Tree) {
		if err := refs.Advance(ctx, r, in.Branch, in.Into, m.Commit); err != nil {
			return MergeResult{}, err
		}
		m.Advanced = true
		return m, nil
	}
	if held, _ := r.LooseRef(refs.MergeRef(in.last().Key)); held == m.Commit {
		return m, nil
	}
	if err := r.UpdateRefs(ctx, "merged, checks to come", "update "+refs.MergeRef(in.last().Key)+" "+m.Commit); err != nil {
		return MergeResult{}, fmt.Errorf("merge: keep the result: %w", err)
	}
	return m, nil
}

func (in MergeInput) last() Side { return in.Sides[len(in.Sides)-1] }

// mergeSides merges one side after the other.
func mergeSides(ctx context.Context, r *git.Repo, in MergeInput) (MergeResult, error) {
	at, err := r.ReadCommit(ctx, in.Into)
	if err != nil {
		return MergeResult{}, fmt.Errorf("read the integration tip: %w", err)
	}
	m := MergeResult{Commit: in.Into, Tree: at.Tree, Nothing: true, Advanced: true}
	made := false
	for i, side := range in.Sides {
		next, err := mergeSide(ctx, r, m, side)
		if err != nil {
			return MergeResult{}, err
		}
		if next.Conflict != nil {
			return MergeResult{Conflict: next.Conflict, At: i}, nil
		}
		if !next.Nothing {
			made = made || !next.FastForward
			m = MergeResult{Commit: next.Commit, Tree: next.Tree, FastForward: !made}
		}
	}
	return m, nil
}

// mergeSide merges one side into the result so far. What the objects' own files
// show without a process is looked at first: that one commit follows the other.
func mergeSide(ctx context.Context, r *git.Repo, to MergeResult, side Side) (MergeResult, error) {
	if side.Commit == to.Commit {
		return MergeResult{Nothing: true}, nil
	}
	at, err := r.ReadCommit(ctx, side.Commit)
	if err != nil {
		return MergeResult{}, fmt.Errorf("read the side to merge: %w", err)
	}
	if r.FollowsFirst(side.Commit, to.Commit) {
		return forward(ctx, r, to, side, at.Tree)
	}
	if res, ok, err := mergeRewritten(ctx, r, to, side, at.Tree); err != nil {
		return MergeResult{}, err
	} else if ok {
		return mergeCommit(ctx, r, to, side, res)
	}
	if tree, ok, err := trivialMerge(ctx, r, to, side, at); err == nil && ok && tree != to.Tree {
		return mergeCommit(ctx, r, to, side, merged{tree: tree, clean: true})
	} else if ctx.Err() != nil {
		return MergeResult{}, err
	}
	res, err := mergeTree(ctx, r, to.Commit, side.Commit)
	if err != nil {
		return MergeResult{}, err
	}
	if res.clean && res.tree == to.Tree {
		if ok, err := r.Descends(ctx, to.Commit, side.Commit); err != nil || ok {
			return MergeResult{Nothing: true}, err
		}
	}
	if res.clean && res.tree == at.Tree {
		if ok, err := r.Descends(ctx, side.Commit, to.Commit); err != nil {
			return MergeResult{}, err
		} else if ok {
			return forward(ctx, r, to, side, at.Tree)
		}
	}
	if res.files = res.open(); len(res.files) > 0 {
		c, err := conflict(ctx, r, res, to.Commit, side.Commit)
		return MergeResult{Conflict: c}, err
	}
	return mergeCommit(ctx, r, to, side, res)
}

// forward takes a side that already contains the result so far. One that changes
// ralph's own files gets a merge commit in spite of that, without those changes.
func forward(ctx context.Context, r *git.Repo, to MergeResult, side Side, tree string) (MergeResult, error) {
	own, err := ownDiffers(ctx, r, to.Tree, tree)
	if err != nil {
		return MergeResult{}, err
	}
	if !own {
		return MergeResult{Commit: side.Commit, Tree: tree, FastForward: true}, nil
	}
	res, err := mergeTree(ctx, r, to.Commit, side.Commit)
	if err != nil {
		return MergeResult{}, err
	}
	return mergeCommit(ctx, r, to, side, res)
}

func mergeCommit(ctx context.Context, r *git.Repo, to MergeResult, side Side, res merged) (MergeResult, error) {
	tree, err := withOwnOf(ctx, r, to.Tree, res.tree)
	if err != nil {
		return MergeResult{}, err
	}
	commit, err := r.CommitTreeSigned(ctx, tree, side.Message, to.Commit, side.Commit)
	if err != nil {
		return MergeResult{}, fmt.Errorf("make the merge commit: %w", err)
	}
	return MergeResult{Commit: commit, Tree: tree}, nil
}

// mergedBefore is for a branch that is no longer at Into: the work of an earlier
// call that was killed before anybody heard of it, or somebody else's.
func mergedBefore(ctx context.Context, r *git.Repo, in MergeInput, tip string) (MergeResult, error) {
	moved := fmt.Errorf("merge into %s, expected at %.12s and found at %.12s: %w", in.Branch, in.Into, tip, refs.ErrMovedOn)
	if tip == "" {
		return MergeResult{}, moved
	}
	need := []string{in.Into}
	for _, side := range in.Sides {
		need = append(need, side.Commit)
	}
	for _, commit := range need {
		if ok, err := r.Contains(ctx, commit, tip); err != nil {
			return MergeResult{}, fmt.Errorf("merge: %w", err)
		} else if !ok {
			return MergeResult{}, moved
		}
	}
	line := in.last().Trailer + ": " + in.last().Key
	commit, err := carrier(ctx, r, in.Into, tip, line)
	if err != nil {
		return MergeResult{}, fmt.Errorf("merge: %w", err)
	}
	m := MergeResult{Commit: commit, Advanced: true}
	if commit == "" { // no merge commit was made: the tip holds every side
		m.Commit, m.FastForward = tip, tip == in.last().Commit
	}
	m.Tree, err = r.TreeOf(ctx, m.Commit)
	return m, err
}

// carrier returns the commit between two that carries the trailer line, "" when
// there is none.
func carrier(ctx context.Context, r *git.Repo, base, tip, line string) (string, error) {
	out, err := r.Run(ctx, git.Call{
		Args: []string{"log", "-z", "--first-parent", "--no-show-signature", "--no-color", "--format=%H%n%B", base + ".." + tip},
		Conf: []string{"i18n.logOutputEncoding=UTF-8"},
	})
	if err != nil {
		return "", fmt.Errorf("look for the merge commit: %w", err)
	}
	for record := range strings.SplitSeq(out, "\x00") {
		if hash, message, _ := strings.Cut(record, "\n"); git.HasLine(message, line) {
			return hash, nil
		}
	}
	return "", nil
}

// candidate returns the result that an earlier call made of just these commits
// and that waits for its checks.
func candidate(ctx context.Context, r *git.Repo, in MergeInput) (MergeResult, error) {
	held, ok := r.LooseRef(refs.MergeRef(in.last().Key))
	if !ok {
		return MergeResult{}, nil
	}
	m := MergeResult{Commit: held}
	for _, side := range slices.Backward(in.Sides) {
		at, err := r.ReadCommit(ctx, held)
		if err != nil || len(at.Parents) != 2 || at.Parents[1] != side.Commit || !at.Carries(side.Trailer+": "+side.Key) {
			return MergeResult{}, nil //nolint:nilerr // whatever it is, it is not that, and a new one will do
		}
		if m.Tree == "" {
			m.Tree = at.Tree
		}
		held = at.Parents[0]
	}
	if held != in.Into {
		return MergeResult{}, nil
	}
	return m, nil
}
