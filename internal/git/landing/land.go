// Package landing brings the work of tasks together: it merges beside every checkout, or in a
// worktree where conflicts are to be resolved, tells conflicts, squashes, reverts, and lands the
// result on the base branch, with the files of a checkout of it.
//
// It does NOT own when that happens, or what is merged first. What it needs of a repository is
// internal/git's.
package landing

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/ralph-loop/ralph/internal/git"
	"github.com/ralph-loop/ralph/internal/git/diff"
	"github.com/ralph-loop/ralph/internal/git/refs"
	"github.com/ralph-loop/ralph/internal/git/registry"
	"github.com/ralph-loop/ralph/internal/regular"
)

// How a base branch came to its new commit.
const (
	LandedForward = "fast-forward" // in a checkout: files, index and branch
	LandedBranch  = "branch"       // checked out nowhere: the branch alone
	LandedAlready = "already"
)

// LandInput says what to bring to people.
type LandInput struct {
	Branch   string // the base branch; "" for the detached HEAD of r's checkout
	From, To string // commits
}

// Landed is how it went. Exactly one field is set, but that Behind comes with How;
// all but these mean that nothing was changed and that it can be tried again later.
type Landed struct {
	How string
	// Behind are submodules of the checkout that are at another commit than the one that
	// landed: their files are the person's, and `git submodule update` brings them along.
	Behind []string
	Dirty  []string // changed or in the way in the checkout, which is never touched then
	Moved  string   // the base branch is elsewhere: its commit
	Busy   string   // somebody is at work in the checkout: what, in words
}

// Land fast-forwards the base branch. Checked out nowhere, only the branch moves.
// In a checkout it needs every tracked file to be as committed, ralph's own files
// aside, and nothing untracked or ignored to be in the way; then files, index and
// branch move, and `git status` is clean after it. git's hooks run as they do
// with `git merge --ff-only`. A Land that was killed at any point is finished by
// calling it again.
func Land(ctx context.Context, r *git.Repo, in LandInput) (Landed, error) {
	err := errors.Join(git.CheckHash("from", in.From), git.CheckHash("to", in.To), git.CheckBranch(in.Branch))
	if err != nil {
		return Landed{}, fmt.Errorf("land: %w", err)
	}
	tip, err := refs.BaseTip(ctx, r, in.Branch)
	if err != nil {
		return Landed{}, fmt.Errorf("land: %w", err)
	}
	if tip != in.From && tip != in.To {
		return landedElse(ctx, r, in, tip)
	}
	if ok, err := r.Contains(ctx, in.From, in.To); err != nil {
		return Landed{}, fmt.Errorf("land: %w", err)
	} else if !ok {
		return Landed{}, fmt.Errorf("land: %.12s does not come after %.12s", in.To, in.From)
	}
	t, busy, err := holder(ctx, r, in.Branch)
	switch {
	case err != nil:
		return Landed{}, fmt.Errorf("land: %w", err)
	case busy != "":
		return Landed{Busy: busy}, nil
	case t != nil:
		return landHere(ctx, t, in, t == r)
	case tip == in.To:
		return Landed{How: LandedAlready}, nil
	}
	return landRef(ctx, r, in, "refs/heads/"+in.Branch, LandedBranch)
}

// landedElse is for a base that is neither where it was nor where it should go:
// somebody went on from the result, or committed something else.
func landedElse(ctx context.Context, r *git.Repo, in LandInput, tip string) (Landed, error) {
	if stray, err := Stray(ctx, r, in.Branch, tip); err != nil || stray != "" {
		return Landed{Busy: stray}, err
	}
	ok, err := r.Contains(ctx, in.To, tip)
	if err != nil {
		return Landed{}, fmt.Errorf("land: %w", err)
	}
	if ok {
		return Landed{How: LandedAlready}, nil
	}
	return Landed{Moved: tip}, nil
}

// Stray says that a branch was moved past the checkout that has it, "" when it was not or
// nobody can tell. A person's git notes in the reflog of that HEAD where it went. An agent
// in a worktree can write the branch, and not that log: what it put there would come to the
// base past every check and gate.
func Stray(ctx context.Context, r *git.Repo, branch, tip string) (string, error) {
	t, busy, err := holder(ctx, r, branch)
	if err != nil || busy != "" || t == nil || branch == "" {
		return "", err
	}
	b, err := regular.ReadFile(filepath.Join(t.GitDir(), "logs", "HEAD"), regular.Large)
	if err != nil || len(b) == 0 {
		return "", nil //nolint:nilerr // without a log (core.logAllRefUpdates, reftable) nobody can tell
	}
	lines := strings.Split(strings.TrimRight(string(b), "\n"), "\n")
	fields := strings.Fields(lines[len(lines)-1])
	if len(fields) < 2 || fields[1] == tip || git.CheckHash("log", fields[1]) != nil {
		return "", nil
	}
	was := fields[1]
	return fmt.Sprintf("%s, which was moved to %.12s by none of the commands in %s: look at `git log -p %.12s..%s`, take it back with `git reset --soft %.12s`, or keep it with `git reset --soft HEAD`",
		branch, tip, t.Root(), was, branch, was), nil
}

// holder returns the checkout that has the branch, nil for none; busy says why it
// cannot be worked in.
func holder(ctx context.Context, r *git.Repo, branch string) (t *git.Repo, busy string, err error) {
	if branch == "" {
		return r, "", nil
	}
	var found []refs.Checkout
	for _, c := range refs.Checkouts(r) {
		if c.Rebasing == branch {
			return nil, "a git rebase of " + branch + " is unfinished in " + c.Dir, nil
		}
		if c.Branch != branch {
			continue
		}
		if c.GitDir == r.Common() && c.GitDir != r.GitDir() { // a bare repository has no checkout
			list, err := registry.List(ctx, r)
			if err != nil {
				return nil, "", err
			}
			if len(list) == 0 || list[0].Bare {
				continue
			}
			c.Dir = list[0].Path
		}
		found = append(found, c)
	}
	switch {
	case len(found) == 0:
		return nil, "", nil
	case len(found) > 1:
		return nil, "the branch " + branch + " is checked out twice, in " + found[0].Dir + " and in " + found[1].Dir, nil
	case git.Stat(found[0].Dir) == nil:
		return nil, "the branch " + branch + " is checked out in " + found[0].Dir + ", which is not there", nil
	}
	t, err = refs.OpenCheckout(ctx, r, found[0])
	return t, "", err
}

// landRef moves the ref of the base.
func landRef(ctx context.Context, r *git.Repo, in LandInput, ref, how string) (Landed, error) {
	err := r.UpdateRefs(ctx, "land", "update "+ref+" "+in.To+" "+in.From)
	if err == nil {
		return Landed{How: how}, nil
	}
	if refs.MovedOn(err) {
		tip, err := refs.BaseTip(ctx, r, in.Branch)
		if err != nil {
			return Landed{}, fmt.Errorf("land: %w", err)
		}
		if tip == in.To {
			return Landed{How: how}, nil
		}
		return Landed{Moved: tip}, nil
	}
	if m := refs.RefLocked.FindStringSubmatch(git.StderrOf(err)); m != nil {
		return Landed{Busy: "another git command holds " + m[1] + ", or was killed and left it"}, nil
	}
	return Landed{}, fmt.Errorf("land: %w", err)
}

// landHere is Land in the checkout that has the base; mine says that it is the one
// that this process works for. Looking takes no lock, so that a checkout in which
// a person works can be looked at as often as one likes. Everything that changes
// it happens with their index locked, so that no git command of theirs comes in
// between.
func landHere(ctx context.Context, r *git.Repo, in LandInput, mine bool) (Landed, error) {
	r.Lock()
	defer r.Unlock()
	if op := r.Unfinished(); op != "" {
		return Landed{Busy: "a git " + op + " is unfinished in " + r.Root()}, nil
	}
	lock, busy, err := lockIndex(r, in)
	if err != nil || busy != "" {
		return Landed{Busy: busy}, err
	}
	defer lock.release()
	if mine {
		r.DropOwnLocks()
	}
	h, err := r.Head(ctx)
	if err != nil {
		return Landed{}, fmt.Errorf("land: %w", err)
	}
	if h.Branch != in.Branch {
		return Landed{Busy: "somebody is switching branches in " + r.Root()}, nil
	}
	if h.Commit != in.From && h.Commit != in.To {
		return landedElse(ctx, r, in, h.Commit)
	}
	l := landing{Repo: r, in: in, head: h, next: filepath.Join(r.GitDir(), landIndex), lock: lock}
	out, err := l.land(ctx)
	lock.unfinished = err != nil && lock.held || lock.interrupted && out.How == ""
	if err != nil || out.How != LandedForward {
		return out, err
	}
	if err := lock.install(l.next); err != nil {
		lock.unfinished = true
		return Landed{}, fmt.Errorf("land: the branch and its files are at %.12s, but git's index is not: %w", in.To, err)
	}
	out.Behind = behind(ctx, r, in)
	return out, nil
}

// behind lists the submodules with files that are not at the commit that has just landed.
// It only tells: what cannot be read is left out.
func behind(ctx context.Context, r *git.Repo, in LandInput) []string {
	if git.Stat(r.File(".gitmodules")) == nil {
		return nil
	}
	list, err := diff.Changes(ctx, r, in.From, in.To)
	if err != nil {
		return nil
	}
	var paths []string
	for _, c := range list {
		if _, err := os.Lstat(filepath.Join(r.File(c.Path), ".git")); err != nil || !c.Link() {
			continue
		}
		_, to := c.Sides()
		at, err := r.Line(ctx, git.Call{Args: []string{"-C", c.Path, "rev-parse", "--verify", "--quiet", "HEAD"}})
		if err == nil && at != to.ID {
			paths = append(paths, c.Path)
		}
	}
	return paths
}
