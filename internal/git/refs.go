package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph/internal/lazyregexp"
)

// MergeRefs is where merged commits wait for their checks.
const MergeRefs = "refs/ralph/merge/"

// MergeRef returns the ref that holds the candidate of a key.
func MergeRef(key string) string {
	return MergeRefs + strings.TrimPrefix(RecoveryRef(key), RecoveryRefs)
}

// RefConf lets git itself wait for whoever holds a reference or its log.
func RefConf() []string {
	ms := fmt.Sprint(RefLockWait.Milliseconds())
	return []string{"core.filesRefLockTimeout=" + ms, "core.packedRefsTimeout=" + ms}
}

var (
	// notAsExpected is what update-ref says when the compare of its compare and
	// swap fails. (git translates none of it.)
	notAsExpected = lazyregexp.New(`but expected [0-9a-f]{40}|unable to resolve reference|reference already exists|reference is missing but expected`)
	RefLocked     = lazyregexp.New(`Unable to create '([^']+\.lock)'`)
	refInTheWay   = lazyregexp.New(`'refs/heads/([^']+)' exists; cannot create`)
)

// RefError explains why a branch could not be moved or made.
func RefError(doing, branch string, err error) error {
	said := StderrOf(err)
	if m := refInTheWay.FindStringSubmatch(said); m != nil {
		return Refuse("there cannot be a branch "+branch+" beside the branch "+m[1], "rename that one: git branch -m "+m[1]+" another-name")
	}
	if m := RefLocked.FindStringSubmatch(said); m != nil {
		return Refuse("the branch "+branch+" is locked, so another git command is at work or was killed",
			"when no git is running in this repository, remove what it left: rm "+m[1])
	}
	if MovedOn(err) {
		return fmt.Errorf("%s %s: %w", doing, branch, ErrMovedOn)
	}
	return fmt.Errorf("%s %s: %w", doing, branch, err)
}

// MovedOn reports an update of a ref that was no longer as expected.
func MovedOn(err error) bool { return notAsExpected.MatchString(StderrOf(err)) }

// BranchTip returns the commit of a branch, "" when there is no such branch.
func (r *Repo) BranchTip(ctx context.Context, branch string) (string, error) {
	ref := "refs/heads/" + branch
	if tip, ok := r.LooseRef(ref); ok {
		return tip, nil
	}
	tip, err := r.Ref(ctx, ref)
	if err != nil {
		return "", fmt.Errorf("read branch %s: %w", branch, err)
	}
	return tip, nil
}

// UpdateRefs carries out lines of `update-ref --stdin`, all or none.
func (r *Repo) UpdateRefs(ctx context.Context, why string, lines ...string) error {
	var refs []string
	for _, line := range lines {
		if f := strings.Fields(line); len(f) > 1 {
			refs = append(refs, f[1])
		}
	}
	r.FreeRefs(ctx, refs...)
	_, err := r.Run(ctx, Call{
		Args: []string{"update-ref", "-m", "ralph: " + why, "--stdin"}, Stdin: strings.Join(lines, "\n") + "\n",
		Write: true, Conf: RefConf(),
	})
	return err
}

// CheckBranchAt checks the name of a branch, and commits for it.
func CheckBranchAt(branch string, commits ...string) error {
	if branch == "" {
		return errors.New("no branch is named")
	}
	err := CheckBranch(branch)
	for _, c := range commits {
		err = errors.Join(err, CheckHash("commit", c))
	}
	return err
}

// RestoreBranch makes the branch that is checked out again, at a commit, when somebody has deleted it
// (`git update-ref -d`): HEAD is then on a branch without commits. back is false when there is
// nothing to do.
func (r *Repo) RestoreBranch(ctx context.Context, branch, at string) (back bool, err error) {
	h, err := r.Head(ctx)
	if !errors.Is(err, ErrNoCommits) || h.Branch != branch || branch == "" || at == "" {
		return false, nil // whoever looks next says what is wrong
	}
	return true, r.MakeBranch(ctx, branch, at)
}

// MakeBranch makes a branch at a commit, without checking it out. One that is
// there already is fine; at another commit it is ErrMovedOn.
func (r *Repo) MakeBranch(ctx context.Context, branch, at string) error {
	if err := CheckBranchAt(branch, at); err != nil {
		return fmt.Errorf("make a branch: %w", err)
	}
	if tip, err := r.BranchTip(ctx, branch); err != nil || tip == at {
		return err
	}
	if err := r.UpdateRefs(ctx, "begin", "create refs/heads/"+branch+" "+at); err != nil {
		return RefError("make branch", branch, err)
	}
	return nil
}

// Advance moves an integration branch from one commit to another, if it still is
// at the first, and lets go of the candidate that the second was. At the second
// already is fine; anything else is ErrMovedOn. It is a refusal to move a branch
// that a person has checked out: the files would not follow it.
func (r *Repo) Advance(ctx context.Context, branch, from, to string) error {
	if err := CheckBranchAt(branch, from, to); err != nil {
		return fmt.Errorf("advance: %w", err)
	}
	tip, err := r.BranchTip(ctx, branch)
	if err != nil {
		return fmt.Errorf("advance: %w", err)
	}
	if tip != from && tip != to {
		return fmt.Errorf("advance %s, expected at %.12s and found at %.12s: %w", branch, from, tip, ErrMovedOn)
	}
	drop := r.candidatesAt(to)
	if tip == to && len(drop) == 0 {
		return nil
	}
	var lines []string
	if tip != to {
		if err := r.mayMove(branch); err != nil {
			return err
		}
		lines = append(lines, "update refs/heads/"+branch+" "+to+" "+from)
	}
	for _, ref := range drop {
		lines = append(lines, "delete "+ref+" "+to)
	}
	if err := r.UpdateRefs(ctx, "advance", lines...); err != nil {
		return RefError("advance", branch, err)
	}
	return nil
}

// mayMove refuses a branch that is checked out outside ralph's own worktrees.
func (r *Repo) mayMove(branch string) error {
	for _, c := range r.Checkouts() {
		if c.Branch == branch && !c.ours() {
			return Refuse("the branch "+branch+" is checked out in "+c.Dir+", whose files would not follow it",
				"check out something else there, for instance `git switch --detach`")
		}
	}
	return nil
}

// candidatesAt returns the refs of merged commits that hold a commit. Their files
// are looked at, and packed refs; a leftover elsewhere does no harm.
func (r *Repo) candidatesAt(commit string) []string {
	var refs []string
	dir := filepath.Join(r.common, filepath.FromSlash(MergeRefs))
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if held, ok := r.LooseRef(MergeRefs + e.Name()); ok && held == commit {
			refs = append(refs, MergeRefs+e.Name())
		}
	}
	packed, _ := os.ReadFile(filepath.Join(r.common, "packed-refs"))
	for line := range strings.Lines(string(packed)) {
		hash, ref, _ := strings.Cut(strings.TrimSpace(line), " ")
		if hash != commit || !strings.HasPrefix(ref, MergeRefs) || slices.Contains(refs, ref) {
			continue
		}
		if _, loose := r.LooseRef(ref); !loose {
			refs = append(refs, ref)
		}
	}
	return refs
}

// Drop lets go of a candidate that will not land. None of that key is fine.
func (r *Repo) Drop(ctx context.Context, key string) error {
	if err := r.UpdateRefs(ctx, "dropped", "delete "+MergeRef(key)); err != nil {
		return fmt.Errorf("drop a merged commit: %w", err)
	}
	return nil
}

// DropBranches deletes the branches whose every commit is in into, and returns
// those that it kept: not merged, or checked out somewhere. One that is not there
// is neither. (B-069)
func (r *Repo) DropBranches(ctx context.Context, into string, branches []string) (kept []string, err error) {
	if len(branches) == 0 {
		return nil, nil
	}
	args := []string{"for-each-ref", "--merged=" + into, "--format=%(refname) %(objectname)"}
	err = CheckHash("commit", into)
	for _, b := range branches {
		err = errors.Join(err, CheckBranchAt(b))
		args = append(args, "refs/heads/"+b)
	}
	if err != nil {
		return branches, fmt.Errorf("delete merged branches: %w", err)
	}
	out, err := r.Run(ctx, Call{Args: args})
	if err != nil {
		return branches, fmt.Errorf("delete merged branches: %w", err)
	}
	merged := map[string]string{}
	for line := range strings.Lines(out) {
		ref, commit, _ := strings.Cut(strings.TrimSpace(line), " ")
		merged[strings.TrimPrefix(ref, "refs/heads/")] = commit
	}
	for _, c := range r.Checkouts() {
		delete(merged, c.Branch)
	}
	var lines []string
	for _, b := range branches {
		if commit, ok := merged[b]; ok {
			lines = append(lines, "delete refs/heads/"+b+" "+commit)
			continue
		}
		tip, err := r.BranchTip(ctx, b)
		if err != nil {
			return branches, err
		}
		if tip != "" {
			kept = append(kept, b)
		}
	}
	if len(lines) == 0 {
		return kept, nil
	}
	if err := r.UpdateRefs(ctx, "merged", slices.Compact(lines)...); err != nil {
		return branches, RefError("delete", strings.Join(branches, ", "), err)
	}
	return kept, nil
}

// LooseRef returns what a ref's own file says; packed refs have none.
func (r *Repo) LooseRef(name string) (string, bool) {
	b, err := os.ReadFile(filepath.Join(r.common, filepath.FromSlash(name)))
	if err != nil {
		return "", false
	}
	hash := string(bytes.TrimSpace(b))
	return hash, IsHash(hash)
}

// ErrMovedOn is a branch that is not where the caller last saw it: somebody else
// moved it, so what was decided about it has to be decided again.
var ErrMovedOn = errors.New("the branch has moved on")

// BaseTip returns where work lands: the commit of the branch, or for "" that of
// the detached HEAD of this checkout. A branch that is gone is a *ralph.Refusal.
func (r *Repo) BaseTip(ctx context.Context, branch string) (string, error) {
	if branch != "" {
		tip, err := r.BranchTip(ctx, branch)
		if err == nil && tip == "" {
			err = Refuse("the branch "+branch+" is gone", "look for it in `git reflog`, or make it again with `git branch "+branch+"`")
		}
		return tip, err
	}
	h, err := r.Head(ctx)
	if err == nil && h.Branch != "" {
		err = Refuse("HEAD was detached when the work began and is on branch "+h.Branch+" now", "go back with `git switch --detach`")
	}
	return h.Commit, err
}

// Tip returns the commit of a branch, "" when there is no such branch.
func (r *Repo) Tip(ctx context.Context, branch string) (string, error) {
	if err := CheckBranchAt(branch); err != nil {
		return "", err
	}
	return r.BranchTip(ctx, branch)
}

// BranchSpace is where branches of ralph's own are.
const BranchSpace = "ralph/"
