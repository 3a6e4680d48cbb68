package worktrees

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ralph-loop/ralph/internal/git"
	"github.com/ralph-loop/ralph/internal/git/refs"
	"github.com/ralph-loop/ralph/internal/git/shelve"
)

// Kinds of what is kept.
const (
	KeptRecovery = "recovery" // what a reset or a cleaning took away
	KeptMerge    = "merge"    // a merged commit that waits for its checks
	KeptBranch   = "branch"   // of a task, or an integration branch
	KeptStash    = "stash"
)

// Kept is work that can be brought back.
type Kept struct {
	Kind    string
	Ref     string // full name; "" for a stash, which its commit names
	Commit  string
	Subject string
	Merged  bool      // a commit of two histories, which can be made again from them
	At      time.Time // of the commit
}

// Recoverable lists everything of ralph's that holds work: refs below
// refs/ralph/, branches below ralph/, and stashes that ralph made; newest first.
func Recoverable(ctx context.Context, r *git.Repo) ([]Kept, error) {
	out, err := r.Run(ctx, git.Call{Args: []string{
		"for-each-ref", "--format=%(refname)%00%(objectname)%00%(committerdate:unix)%00%(parent)%00%(contents:subject)",
		git.RecoveryRefs, refs.MergeRefs, "refs/heads/ralph/",
	}})
	if err != nil {
		return nil, fmt.Errorf("list what is kept: %w", err)
	}
	var list []Kept
	for line := range strings.Lines(out) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\x00")
		if len(f) != 5 || f[2] == "" {
			continue // no commit: nothing of ralph's
		}
		kind := KeptBranch
		switch {
		case strings.HasPrefix(f[0], git.RecoveryRefs):
			kind = KeptRecovery
		case strings.HasPrefix(f[0], refs.MergeRefs):
			kind = KeptMerge
		}
		list = append(list, Kept{Kind: kind, Ref: f[0], Commit: f[1], Merged: strings.Contains(f[3], " "), Subject: f[4], At: unixTime(f[2])})
	}
	stashes, err := keptStashes(ctx, r)
	if err != nil {
		return nil, fmt.Errorf("list what is kept: %w", err)
	}
	list = append(list, stashes...)
	slices.SortStableFunc(list, func(a, b Kept) int {
		return cmp.Or(b.At.Compare(a.At), cmp.Compare(a.Ref, b.Ref))
	})
	return list, nil
}

func unixTime(s string) time.Time {
	sec, _ := strconv.ParseInt(s, 10, 64)
	return time.Unix(sec, 0)
}

// keptStashes lists the stashes that carry ralph's trailer; those of people are
// theirs alone.
func keptStashes(ctx context.Context, r *git.Repo) ([]Kept, error) {
	out, err := r.Run(ctx, git.Call{
		Args: []string{"stash", "list", "-z", "--no-show-signature", "--no-color", "--format=%H%n%ct%n%s%n%B"},
		Conf: []string{"i18n.logOutputEncoding=UTF-8"},
	})
	if err != nil {
		return nil, err
	}
	var list []Kept
	for record := range strings.SplitSeq(out, "\x00") {
		f := strings.SplitN(record, "\n", 4)
		if len(f) == 4 && strings.Contains("\n"+f[3], "\n"+shelve.ShelveTrailer+": ") {
			list = append(list, Kept{Kind: KeptStash, Commit: f[0], Subject: f[2], At: unixTime(f[1])})
		}
	}
	return list, nil
}

// Brought is how kept work came back.
type Brought struct {
	Branch  string // that was made; "" for a stash
	Command string // what to type next, to have it in the checkout
}

// Bring makes a branch of something kept, and touches no checkout. name "" stands
// for recovered/ with the last part of its ref. A stash stays what it is: only
// the command that applies it is told, by commit, since positions move.
func Bring(ctx context.Context, r *git.Repo, k Kept, name string) (Brought, error) {
	if err := git.CheckHash("commit", k.Commit); err != nil {
		return Brought{}, fmt.Errorf("bring back: %w", err)
	}
	if k.Kind == KeptStash {
		return Brought{Command: "git stash apply " + k.Commit}, nil
	}
	if name == "" {
		name = "recovered/" + k.Ref[strings.LastIndexByte(k.Ref, '/')+1:]
	}
	err := refs.MakeBranch(ctx, r, name, k.Commit)
	if errors.Is(err, refs.ErrMovedOn) {
		return Brought{}, git.Refuse("there is a branch "+name+" at another commit", "choose another name")
	}
	if err != nil {
		return Brought{}, fmt.Errorf("bring back: %w", err)
	}
	return Brought{Branch: name, Command: "git switch " + name}, nil
}

// ResetInput says which task's branch goes back to where.
type ResetInput struct {
	Branch string
	Base   string // commit on which the task began
	ID     string // names the recovery ref
	Dir    string // the worktree that is the task's own now, absolute; "" for none
}

// ResetBranch takes an unmerged task's work back: its branch returns to the base
// (B-078), with the files of the task's own worktree. Another one of the
// pool that still has it checked out is somebody else's by now, perhaps entered
// at this moment: its HEAD stays at the commit, and no file of it changes. What
// the branch had, and files that no commit had, are held by the ref below
// refs/ralph/recovery/ that is returned, "" when there was nothing. Files that the
// base's rules ignore stay. A branch that is gone is fine; one that is checked out
// elsewhere is a refusal.
func ResetBranch(ctx context.Context, r *git.Repo, in ResetInput) (ref string, err error) {
	if err := refs.CheckBranchAt(in.Branch, in.Base); err != nil || !git.OneLine(in.ID) {
		return "", fmt.Errorf("reset a branch: %w", cmp.Or(err, errors.New("the id must be one line")))
	}
	on := slices.DeleteFunc(refs.Checkouts(r), func(c refs.Checkout) bool { return c.Branch != in.Branch })
	for _, c := range on {
		if r.Below(c.Dir) != nil {
			return "", git.Refuse("the branch "+in.Branch+" is checked out in "+c.Dir+", whose files would not follow it",
				"check out something else there, for instance `git switch --detach`")
		}
	}
	// Before the branch moves: else the files of the other worktrees, still those of
	// the old commit, would look like changes that the next task made.
	if err := FreeBranch(ctx, r, in.Branch, in.Dir); err != nil {
		return "", fmt.Errorf("reset branch %s: %w", in.Branch, err)
	}
	if slices.ContainsFunc(on, func(c refs.Checkout) bool { return git.Same(c.Dir, in.Dir) }) {
		t, err := r.Tree(in.Dir)
		if err == nil {
			ref, err = resetTree(ctx, t, in)
		}
		if err != nil {
			return ref, fmt.Errorf("reset branch %s: %w", in.Branch, err)
		}
		return ref, nil
	}
	tip, err := r.BranchTip(ctx, in.Branch)
	if err != nil || tip == "" || tip == in.Base {
		return "", err
	}
	if ref, err = r.Keep(ctx, in.ID, tip); err != nil {
		return "", err
	}
	if err := r.UpdateRefs(ctx, "back to where the task began", "update refs/heads/"+in.Branch+" "+in.Base+" "+tip); err != nil {
		return ref, refs.RefError("reset branch", in.Branch, err)
	}
	return ref, nil
}

// resetTree is ResetBranch in the worktree of ralph's that has the branch. Files
// that no commit has are kept on top of the branch's own, so that one ref holds
// it all.
func resetTree(ctx context.Context, r *git.Repo, in ResetInput) (ref string, err error) {
	r.Lock()
	defer r.Unlock()
	defer r.Elsewhere()
	r.FreeLocks(ctx)
	head, err := r.Head(ctx)
	if err != nil {
		return "", err
	}
	if err := openUp(r.Root()); err != nil {
		return "", err
	}
	saved, err := save(ctx, r, in.ID, head)
	if err != nil {
		return "", err
	}
	switch {
	case len(saved) > 0:
		ref = saved[0].Ref
	case head.Commit != in.Base:
		if ref, err = r.Keep(ctx, in.ID, head.Commit); err != nil {
			return "", err
		}
	}
	if head.Commit != in.Base {
		if err := r.MoveHead(ctx, "back to where the task began", head.Commit, in.Base); err != nil {
			return ref, err
		}
	}
	_, err = wipe(ctx, r, in.ID, new(Entered))
	return ref, err
}
