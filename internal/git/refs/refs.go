// Package refs owns branches as the engine moves them: making them, advancing them by compare and swap, landing
// candidates, dropping what is merged, and which branch is checked out where.
//
// It does NOT own how a reference is written (git.UpdateRefs), or when a branch moves (landing, worktree).
package refs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph/internal/git"
	"github.com/ralph-loop/ralph/internal/lazyregexp"
	"github.com/ralph-loop/ralph/internal/regular"
)

// MergeRefs is where merged commits wait for their checks.
const MergeRefs = "refs/ralph/merge/"

// MergeRef returns the ref that holds the candidate of a key.
func MergeRef(key string) string {
	return MergeRefs + strings.TrimPrefix(git.RecoveryRef(key), git.RecoveryRefs)
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
	said := git.StderrOf(err)
	if m := refInTheWay.FindStringSubmatch(said); m != nil {
		return git.Refuse("there cannot be a branch "+branch+" beside the branch "+m[1], "rename that one: git branch -m "+m[1]+" another-name")
	}
	if m := RefLocked.FindStringSubmatch(said); m != nil {
		return git.Refuse("the branch "+branch+" is locked, so another git command is at work or was killed",
			"when no git is running in this repository, remove what it left: rm "+m[1])
	}
	if MovedOn(err) {
		return fmt.Errorf("%s %s: %w", doing, branch, ErrMovedOn)
	}
	return fmt.Errorf("%s %s: %w", doing, branch, err)
}

// MovedOn reports an update of a ref that was no longer as expected.
func MovedOn(err error) bool { return notAsExpected.MatchString(git.StderrOf(err)) }

// CheckBranchAt checks the name of a branch, and commits for it.
func CheckBranchAt(branch string, commits ...string) error {
	if branch == "" {
		return errors.New("no branch is named")
	}
	err := git.CheckBranch(branch)
	for _, c := range commits {
		err = errors.Join(err, git.CheckHash("commit", c))
	}
	return err
}

// RestoreBranch makes the branch that is checked out again, at a commit, when somebody has deleted it
// (`git update-ref -d`): HEAD is then on a branch without commits. back is false when there is
// nothing to do.
func RestoreBranch(ctx context.Context, r *git.Repo, branch, at string) (back bool, err error) {
	h, err := r.Head(ctx)
	if !errors.Is(err, git.ErrNoCommits) || h.Branch != branch || branch == "" || at == "" {
		return false, nil // whoever looks next says what is wrong
	}
	return true, MakeBranch(ctx, r, branch, at)
}

// MakeBranch makes a branch at a commit, without checking it out. One that is
// there already is fine; at another commit it is ErrMovedOn.
func MakeBranch(ctx context.Context, r *git.Repo, branch, at string) error {
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
func Advance(ctx context.Context, r *git.Repo, branch, from, to string) error {
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
	drop := candidatesAt(r, to)
	if tip == to && len(drop) == 0 {
		return nil
	}
	var lines []string
	if tip != to {
		if err := MayMove(r, branch); err != nil {
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

// MayMove refuses a branch that is checked out outside ralph's own worktrees.
func MayMove(r *git.Repo, branch string) error {
	for _, c := range Checkouts(r) {
		if c.Branch == branch && !c.ours() {
			return git.Refuse("the branch "+branch+" is checked out in "+c.Dir+", whose files would not follow it",
				"check out something else there, for instance `git switch --detach`")
		}
	}
	return nil
}

// candidatesAt returns the refs of merged commits that hold a commit. Their files
// are looked at, and packed refs; a leftover elsewhere does no harm.
func candidatesAt(r *git.Repo, commit string) []string {
	var refs []string
	dir := filepath.Join(r.Common(), filepath.FromSlash(MergeRefs))
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if held, ok := r.LooseRef(MergeRefs + e.Name()); ok && held == commit {
			refs = append(refs, MergeRefs+e.Name())
		}
	}
	packed, _ := regular.ReadFile(filepath.Join(r.Common(), "packed-refs"), regular.Large)
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
func Drop(ctx context.Context, r *git.Repo, key string) error {
	if err := r.UpdateRefs(ctx, "dropped", "delete "+MergeRef(key)); err != nil {
		return fmt.Errorf("drop a merged commit: %w", err)
	}
	return nil
}

// DropBranches deletes the branches whose every commit is in into, and returns
// those that it kept: not merged, or checked out somewhere. One that is not there
// is neither. (B-069)
func DropBranches(ctx context.Context, r *git.Repo, into string, branches []string) (kept []string, err error) {
	if len(branches) == 0 {
		return nil, nil
	}
	args := []string{"for-each-ref", "--merged=" + into, "--format=%(refname) %(objectname)"}
	err = git.CheckHash("commit", into)
	for _, b := range branches {
		err = errors.Join(err, CheckBranchAt(b))
		args = append(args, "refs/heads/"+b)
	}
	if err != nil {
		return branches, fmt.Errorf("delete merged branches: %w", err)
	}
	out, err := r.Run(ctx, git.Call{Args: args})
	if err != nil {
		return branches, fmt.Errorf("delete merged branches: %w", err)
	}
	merged := map[string]string{}
	for line := range strings.Lines(out) {
		ref, commit, _ := strings.Cut(strings.TrimSpace(line), " ")
		merged[strings.TrimPrefix(ref, "refs/heads/")] = commit
	}
	for _, c := range Checkouts(r) {
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

// ErrMovedOn is a branch that is not where the caller last saw it: somebody else
// moved it, so what was decided about it has to be decided again.
var ErrMovedOn = errors.New("the branch has moved on")

// BaseTip returns where work lands: the commit of the branch, or for "" that of
// the detached HEAD of this checkout. A branch that is gone is a *ralph.Refusal.
func BaseTip(ctx context.Context, r *git.Repo, branch string) (string, error) {
	if branch != "" {
		tip, err := r.BranchTip(ctx, branch)
		if err == nil && tip == "" {
			err = git.Refuse("the branch "+branch+" is gone", "look for it in `git reflog`, or make it again with `git branch "+branch+"`")
		}
		return tip, err
	}
	h, err := r.Head(ctx)
	if err == nil && h.Branch != "" {
		err = git.Refuse("HEAD was detached when the work began and is on branch "+h.Branch+" now", "go back with `git switch --detach`")
	}
	return h.Commit, err
}

// Tip returns the commit of a branch, "" when there is no such branch.
func Tip(ctx context.Context, r *git.Repo, branch string) (string, error) {
	if err := CheckBranchAt(branch); err != nil {
		return "", err
	}
	return r.BranchTip(ctx, branch)
}

// Checkout is a work tree of the repository, as its git folder shows it.
type Checkout struct {
	GitDir string
	Dir    string // the work tree; "" for the main one when only git can tell
	Branch string // what is checked out, "" when HEAD is detached
	// rebasing is the branch that a rebase under way will move at its end, while
	// HEAD is detached.
	Rebasing string
}

// ours reports whether ralph made the work tree.
func (c Checkout) ours() bool {
	up := filepath.Dir(c.Dir)
	return filepath.Base(up) == ".worktrees" && filepath.Base(filepath.Dir(up)) == "ralph"
}

// Checkouts lists the work trees by reading their files: `git worktree list` may
// fail while somebody adds or removes one.
func Checkouts(r *git.Repo) []Checkout {
	gitDirs := []string{r.Common()}
	entries, _ := os.ReadDir(filepath.Join(r.Common(), "worktrees"))
	for _, e := range entries {
		gitDir := filepath.Join(r.Common(), "worktrees", e.Name())
		if git.Stat(filepath.Join(gitDir, "gitdir")) != nil { // without it the worktree is taken away
			gitDirs = append(gitDirs, gitDir)
		}
	}
	var list []Checkout
	for _, gitDir := range gitDirs {
		head, err := regular.ReadFile(filepath.Join(gitDir, "HEAD"), regular.Large)
		if err != nil {
			continue
		}
		c := Checkout{GitDir: gitDir, Branch: git.HeadBranch(string(head))}
		for _, state := range []string{"rebase-merge", "rebase-apply"} {
			if name, err := regular.ReadFile(filepath.Join(gitDir, state, "head-name"), regular.Large); err == nil {
				c.Rebasing = strings.TrimPrefix(strings.TrimSpace(string(name)), "refs/heads/")
			}
		}
		c.Dir = workTree(r, gitDir)
		list = append(list, c)
	}
	return list
}

// workTree returns the folder that a git folder belongs to.
func workTree(r *git.Repo, gitDir string) string {
	if gitDir == r.GitDir() {
		return r.Root()
	}
	if gitDir == r.Common() {
		return filepath.Dir(gitDir) // the usual place; git.Open tells when it is not
	}
	if file := git.Backlink(gitDir); file != "" {
		return filepath.Dir(file)
	}
	return ""
}

// OpenCheckout opens the work tree that a checkout is, r itself when that is it.
func OpenCheckout(ctx context.Context, r *git.Repo, c Checkout) (*git.Repo, error) {
	if c.GitDir == r.GitDir() {
		return r, nil
	}
	if c.ours() {
		if t, err := r.Tree(c.Dir); err == nil {
			return t, nil
		}
	}
	t, err := r.OpenAt(ctx, c.Dir)
	if err != nil {
		return nil, err
	}
	if !git.Same(t.GitDir(), c.GitDir) {
		return nil, fmt.Errorf("%s is not the work tree of %s", c.Dir, c.GitDir)
	}
	return t, nil
}
