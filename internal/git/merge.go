package git

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ralph-loop/ralph/internal/lazyregexp"
)

// The oldest git that merges without a work tree (merge-tree --write-tree).
const (
	mergeMajor = 2
	mergeMinor = 38
)

var versionText = lazyregexp.New(`^git version (\d+)\.(\d+)`)

// CanMerge reports whether git can merge beside all work trees, as a
// *ralph.Refusal that names the version needed. Work in place does not need it.
func (r *Repo) CanMerge(ctx context.Context) error {
	out, err := r.one(ctx, call{args: []string{"version"}})
	if err != nil {
		return fmt.Errorf("ask for git's version: %w", err)
	}
	m := versionText.FindStringSubmatch(out)
	if m == nil {
		return fmt.Errorf("ask for git's version: cannot read %q", out)
	}
	major, _ := strconv.Atoi(m[1])
	minor, _ := strconv.Atoi(m[2])
	if major < mergeMajor || major == mergeMajor && minor < mergeMinor {
		need := fmt.Sprintf("%d.%d", mergeMajor, mergeMinor)
		return refuse(fmt.Sprintf("git %d.%d cannot merge without a checkout", major, minor),
			"install git "+need+" or newer, or work on one task at a time (--parallel 1)")
	}
	return nil
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

// Merge is what came of merging.
type Merge struct {
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
	err := errors.Join(checkHash("integration tip", in.Into), checkBranch(in.Branch))
	for _, s := range in.Sides {
		line := s.Trailer + ": " + s.Key
		if s.Trailer == "" || !oneLine(s.Key) || !hasLine(s.Message, line) {
			err = errors.Join(err, fmt.Errorf("the message lacks the trailer line %q", line))
		}
		err = errors.Join(err, checkHash("side", s.Commit))
	}
	return err
}

// Merge merges the sides into the integration tip, as objects only: no checkout
// is looked at or touched, and where no check has to come first the branch moves,
// compare and swap. ralph/progress.md keeps the lines of both sides; ralph's own
// files stay as Into has them. Attributes are those of the work tree that r
// is, and a merge driver of the person's own, if there is one, runs in it. The result that waits for its checks is held by a
// ref below refs/ralph/merge/ until Advance or Drop. Called again after a crash
// it finds what was done; ErrMovedOn when the branch is elsewhere. (B-052, B-069)
func (r *Repo) Merge(ctx context.Context, in MergeInput) (Merge, error) {
	if err := in.check(); err != nil {
		return Merge{}, fmt.Errorf("merge: %w", err)
	}
	if err := r.Attributes(unionLines()); err != nil {
		return Merge{}, fmt.Errorf("merge: %w", err)
	}
	tip, err := r.branchTip(ctx, in.Branch)
	if err != nil {
		return Merge{}, fmt.Errorf("merge: %w", err)
	}
	if tip != in.Into {
		return r.mergedBefore(ctx, in, tip)
	}
	m, err := r.candidate(ctx, in)
	if err == nil && m.Commit == "" {
		m, err = r.mergeSides(ctx, in)
	}
	if err != nil {
		return Merge{}, fmt.Errorf("merge: %w", err)
	}
	if m.Conflict != nil || m.Nothing {
		return m, nil
	}
	return r.settle(ctx, in, m)
}

// settle moves the branch to the result, or keeps the result for its checks.
func (r *Repo) settle(ctx context.Context, in MergeInput, m Merge) (Merge, error) {
	if in.Free || slices.Contains(in.Green, m.Tree) {
		if err := r.Advance(ctx, in.Branch, in.Into, m.Commit); err != nil {
			return Merge{}, err
		}
		m.Advanced = true
		return m, nil
	}
	if held, _ := r.looseRef(mergeRef(in.last().Key)); held == m.Commit {
		return m, nil
	}
	r.freeRefs(ctx, mergeRef(in.last().Key))
	args := []string{"update-ref", "-m", "ralph: merged, checks to come", mergeRef(in.last().Key), m.Commit}
	if _, err := r.git(ctx, call{args: args, write: true, conf: refConf()}); err != nil {
		return Merge{}, fmt.Errorf("merge: keep the result: %w", err)
	}
	return m, nil
}

func (in MergeInput) last() Side { return in.Sides[len(in.Sides)-1] }

// mergeSides merges one side after the other.
func (r *Repo) mergeSides(ctx context.Context, in MergeInput) (Merge, error) {
	at, err := r.commit(ctx, in.Into)
	if err != nil {
		return Merge{}, fmt.Errorf("read the integration tip: %w", err)
	}
	m := Merge{Commit: in.Into, Tree: at.tree, Nothing: true, Advanced: true}
	made := false
	for i, side := range in.Sides {
		next, err := r.mergeSide(ctx, m, side)
		if err != nil {
			return Merge{}, err
		}
		if next.Conflict != nil {
			return Merge{Conflict: next.Conflict, At: i}, nil
		}
		if !next.Nothing {
			made = made || !next.FastForward
			m = Merge{Commit: next.Commit, Tree: next.Tree, FastForward: !made}
		}
	}
	return m, nil
}

// mergeSide merges one side into the result so far. What the objects' own files
// show without a process is looked at first: that one commit follows the other.
func (r *Repo) mergeSide(ctx context.Context, to Merge, side Side) (Merge, error) {
	if side.Commit == to.Commit {
		return Merge{Nothing: true}, nil
	}
	at, err := r.commit(ctx, side.Commit)
	if err != nil {
		return Merge{}, fmt.Errorf("read the side to merge: %w", err)
	}
	if r.followsFirst(side.Commit, to.Commit) {
		return r.forward(ctx, to, side, at.tree)
	}
	if res, ok, err := r.mergeRewritten(ctx, to, side, at.tree); err != nil {
		return Merge{}, err
	} else if ok {
		return r.mergeCommit(ctx, to, side, res)
	}
	res, err := r.mergeTree(ctx, to.Commit, side.Commit)
	if err != nil {
		return Merge{}, err
	}
	if res.clean && res.tree == to.Tree {
		if ok, err := r.descends(ctx, to.Commit, side.Commit); err != nil || ok {
			return Merge{Nothing: true}, err
		}
	}
	if res.clean && res.tree == at.tree {
		if ok, err := r.descends(ctx, side.Commit, to.Commit); err != nil {
			return Merge{}, err
		} else if ok {
			return r.forward(ctx, to, side, at.tree)
		}
	}
	if res.files = res.open(); len(res.files) > 0 {
		c, err := r.conflict(ctx, res, to.Commit, side.Commit)
		return Merge{Conflict: c}, err
	}
	return r.mergeCommit(ctx, to, side, res)
}

// forward takes a side that already contains the result so far. One that changes
// ralph's own files gets a merge commit in spite of that, without those changes.
func (r *Repo) forward(ctx context.Context, to Merge, side Side, tree string) (Merge, error) {
	own, err := r.ownDiffers(ctx, to.Tree, tree)
	if err != nil {
		return Merge{}, err
	}
	if !own {
		return Merge{Commit: side.Commit, Tree: tree, FastForward: true}, nil
	}
	res, err := r.mergeTree(ctx, to.Commit, side.Commit) // says whether to sign
	if err != nil {
		return Merge{}, err
	}
	return r.mergeCommit(ctx, to, side, res)
}

func (r *Repo) mergeCommit(ctx context.Context, to Merge, side Side, res merged) (Merge, error) {
	tree, err := r.withOwnOf(ctx, to.Tree, res.tree)
	if err != nil {
		return Merge{}, err
	}
	commit, err := r.commitMerged(ctx, tree, side.Message, res.sign, to.Commit, side.Commit)
	return Merge{Commit: commit, Tree: tree}, err
}

// commitMerged makes a commit object. commit-tree signs only when it is told to,
// so commit.gpgSign is passed on.
func (r *Repo) commitMerged(ctx context.Context, tree, message string, sign bool, parents ...string) (string, error) {
	args := []string{"commit-tree", tree}
	for _, p := range parents {
		args = append(args, "-p", p)
	}
	if sign {
		args = append(args, "-S")
	}
	commit, err := r.one(ctx, call{args: args, stdin: message, write: true, conf: []string{"i18n.commitEncoding=UTF-8"}})
	if err != nil {
		return "", fmt.Errorf("make the merge commit: %w", err)
	}
	return commit, checkHash("commit", commit)
}

// mergedBefore is for a branch that is no longer at Into: the work of an earlier
// call that was killed before anybody heard of it, or somebody else's.
func (r *Repo) mergedBefore(ctx context.Context, in MergeInput, tip string) (Merge, error) {
	moved := fmt.Errorf("merge into %s, expected at %.12s and found at %.12s: %w", in.Branch, in.Into, tip, ErrMovedOn)
	if tip == "" {
		return Merge{}, moved
	}
	need := []string{in.Into}
	for _, side := range in.Sides {
		need = append(need, side.Commit)
	}
	for _, commit := range need {
		if ok, err := r.Contains(ctx, commit, tip); err != nil {
			return Merge{}, fmt.Errorf("merge: %w", err)
		} else if !ok {
			return Merge{}, moved
		}
	}
	line := in.last().Trailer + ": " + in.last().Key
	commit, err := r.carrier(ctx, in.Into, tip, line)
	if err != nil {
		return Merge{}, fmt.Errorf("merge: %w", err)
	}
	m := Merge{Commit: commit, Advanced: true}
	if commit == "" { // no merge commit was made: the tip holds every side
		m.Commit, m.FastForward = tip, tip == in.last().Commit
	}
	m.Tree, err = r.TreeOf(ctx, m.Commit)
	return m, err
}

// carrier returns the commit between two that carries the trailer line, "" when
// there is none.
func (r *Repo) carrier(ctx context.Context, base, tip, line string) (string, error) {
	out, err := r.git(ctx, call{
		args: []string{"log", "-z", "--first-parent", "--no-show-signature", "--no-color", "--format=%H%n%B", base + ".." + tip},
		conf: []string{"i18n.logOutputEncoding=UTF-8"},
	})
	if err != nil {
		return "", fmt.Errorf("look for the merge commit: %w", err)
	}
	for record := range strings.SplitSeq(out, "\x00") {
		if hash, message, _ := strings.Cut(record, "\n"); hasLine(message, line) {
			return hash, nil
		}
	}
	return "", nil
}

// candidate returns the result that an earlier call made of just these commits
// and that waits for its checks.
func (r *Repo) candidate(ctx context.Context, in MergeInput) (Merge, error) {
	held, ok := r.looseRef(mergeRef(in.last().Key))
	if !ok {
		return Merge{}, nil
	}
	m := Merge{Commit: held}
	for _, side := range slices.Backward(in.Sides) {
		at, err := r.commit(ctx, held)
		if err != nil || len(at.parents) != 2 || at.parents[1] != side.Commit || !at.carries(side.Trailer+": "+side.Key) {
			return Merge{}, nil //nolint:nilerr // whatever it is, it is not that, and a new one will do
		}
		if m.Tree == "" {
			m.Tree = at.tree
		}
		held = at.parents[0]
	}
	if held != in.Into {
		return Merge{}, nil
	}
	return m, nil
}
