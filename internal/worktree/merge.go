package worktree

import (
	"context"
	"errors"
	"fmt"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/git"
	"github.com/ralph-loop/ralph/internal/git/commits"
	"github.com/ralph-loop/ralph/internal/git/landing"
	"github.com/ralph-loop/ralph/internal/git/refs"
	"github.com/ralph-loop/ralph/internal/git/worktrees"
	"github.com/ralph-loop/ralph/internal/step"
)

// Merging brings work together on the integration branch, and to the base branch.
type Merging struct {
	Worktrees
	Base string // base_branch; "" is what is checked out
}

// Start goes on with the integration branch that the journal knows, as long as work
// on it has not landed; else it makes one at the base.
func (m Merging) Start(ctx context.Context, known *ralph.Integration, name, onto string) (ralph.IntegrationStarted, error) {
	var none ralph.IntegrationStarted
	if onto != "" {
		m.Base = onto
	}
	if err := landing.CanMerge(m.Repo); err != nil {
		return none, err
	}
	head, err := m.baseHead(ctx)
	if err != nil {
		return none, err
	}
	out := ralph.IntegrationStarted{Base: head.Branch, From: head.Commit, Tip: head.Commit}
	goesOn := false
	if known != nil {
		if goesOn, err = m.goOn(ctx, known, &out); err != nil {
			return none, err
		}
	}
	if !goesOn {
		if stray, err := landing.Stray(ctx, m.Repo, head.Branch, head.Commit); err != nil {
			return none, err
		} else if stray != "" {
			return none, &ralph.Refusal{Why: "work would begin on " + stray, Hint: "an agent may have moved it; nothing was begun", Kind: ralph.ErrUsage}
		}
		if out.Branch, err = m.newBranch(ctx, name, out.From); err != nil {
			return none, err
		}
	}
	out.Tree, err = m.Repo.TreeOf(ctx, out.Tip)
	return out, err
}

// baseHead is where work starts from and lands.
func (m Merging) baseHead(ctx context.Context) (git.Head, error) {
	if m.Base == "" {
		return m.Repo.Head(ctx)
	}
	tip, err := refs.Tip(ctx, m.Repo, m.Base)
	if err == nil && tip == "" {
		err = &ralph.Refusal{Why: fmt.Sprintf("base_branch is %s, and there is no such branch", m.Base), Hint: fmt.Sprintf("make it (git branch %s), or change base_branch in ralph/config.yaml", m.Base), Kind: ralph.ErrUsage}
	}
	return git.Head{Commit: tip, Branch: m.Base}, err
}

// goOn reports whether work on the known integration branch has not landed, and
// where that branch is. A crash may have moved it further than the journal knows.
func (m Merging) goOn(ctx context.Context, known *ralph.Integration, out *ralph.IntegrationStarted) (bool, error) {
	tip, err := refs.Tip(ctx, m.Repo, known.Branch)
	if err != nil {
		return false, err
	}
	gone := tip == ""
	if gone {
		tip = known.Tip
	}
	if landed, err := m.Repo.Contains(ctx, tip, out.From); err != nil || landed {
		return false, err
	}
	if out.Base != known.Base {
		why := fmt.Sprintf("merged work on %s has not landed on %s, and %s is checked out now", known.Branch, OrHead(known.Base), OrHead(out.Base))
		hint := fmt.Sprintf("go back (git switch %s), or take the work along (git merge %s)", known.Base, known.Branch)
		return false, &ralph.Refusal{Why: why, Hint: hint, Kind: ralph.ErrUsage}
	}
	if gone {
		if err := refs.MakeBranch(ctx, m.Repo, known.Branch, tip); err != nil {
			return false, err
		}
	}
	if has, err := m.Repo.Contains(ctx, known.Tip, tip); err != nil {
		return false, err
	} else if !has {
		why := fmt.Sprintf("the branch %s was moved: merged work up to %.9s is not on it any more", known.Branch, known.Tip)
		return false, &ralph.Refusal{Why: why, Hint: fmt.Sprintf("bring it back: git branch -f %s %s", known.Branch, known.Tip), Kind: ralph.ErrUsage}
	}
	out.Branch, out.Tip = known.Branch, tip
	return true, nil
}

// OrHead is a branch in words for people; "" is a HEAD without one.
func OrHead(branch string) string {
	if branch == "" {
		return "a detached HEAD"
	}
	return branch
}

// newBranch makes an integration branch at a commit. One of the name whose work has
// landed is used again; else the next free name.
func (m Merging) newBranch(ctx context.Context, name, at string) (string, error) {
	for n := 1; ; n++ {
		branch := name
		if n > 1 {
			branch = fmt.Sprintf("%s-%d", name, n)
		}
		tip, err := refs.Tip(ctx, m.Repo, branch)
		if err != nil {
			return "", err
		}
		if tip == "" {
			err := refs.MakeBranch(ctx, m.Repo, branch, at)
			if errors.Is(err, refs.ErrMovedOn) {
				continue // another engine was quicker
			}
			return branch, err
		}
		landed, err := m.Repo.Contains(ctx, tip, at)
		if err != nil {
			return "", err
		}
		if landed {
			return branch, refs.Advance(ctx, m.Repo, branch, tip, at)
		}
	}
}

func (m Merging) Merge(ctx context.Context, in step.MergeInput) (ralph.Merged, error) {
	gin := landing.MergeInput{Into: in.Into, Branch: in.Branch, Green: in.Green, Free: in.Free}
	for _, side := range in.Sides {
		commit := side.Commit
		if side.Branch != "" {
			var err error
			if commit, err = (Resolving{m.Repo}).Tip(ctx, side.Branch, commit); err != nil {
				return ralph.Merged{}, err
			}
		}
		gin.Sides = append(gin.Sides, landing.Side{Commit: commit, Message: side.Message, Trailer: side.Trailer, Key: side.Key, Was: side.Was})
	}
	r, err := landing.Merge(ctx, m.Repo, gin)
	if errors.Is(err, refs.ErrMovedOn) {
		moved, err := m.movedTo(ctx, in.Branch, in.Into)
		return ralph.Merged{Moved: moved}, err
	}
	if err != nil {
		return ralph.Merged{}, err
	}
	out := ralph.Merged{Commit: r.Commit, Tree: r.Tree, How: "merge", Advanced: r.Advanced, Conflict: conflictAs(r.Conflict)}
	switch {
	case r.Conflict != nil:
		out.How, out.At = "", in.Sides[r.At].Task
	case r.Nothing:
		out.How = "nothing"
	case r.FastForward, r.Commit == gin.Sides[len(gin.Sides)-1].Commit: // an earlier call's is known by its commit alone
		out.How = "fast-forward"
	}
	return out, nil
}

// movedTo is where the integration branch is. One that somebody deleted is made
// again where it was.
func (m Merging) movedTo(ctx context.Context, branch, last string) (string, error) {
	tip, err := refs.Tip(ctx, m.Repo, branch)
	if err == nil && tip == "" {
		tip, err = last, refs.MakeBranch(ctx, m.Repo, branch, last)
	}
	return tip, err
}

func (m Merging) Advance(ctx context.Context, branch, from, to string) (moved string, err error) {
	err = refs.Advance(ctx, m.Repo, branch, from, to)
	if errors.Is(err, refs.ErrMovedOn) {
		return m.movedTo(ctx, branch, from)
	}
	return "", err
}

func (m Merging) Squash(ctx context.Context, in step.SquashInput) (ralph.Committed, error) {
	base, err := m.from(ctx, in.Base, in.Landed, in.Tip)
	if err != nil {
		return ralph.Committed{}, err
	}
	t, err := m.Repo.Tree(in.Dir)
	if err != nil {
		return ralph.Committed{}, err
	}
	c, err := landing.SquashOnto(ctx, t, landing.SquashInput{Base: base, Tip: in.Tip, Message: in.Message, Trailer: in.Trailer, Key: in.Key})
	if refused, ok := refusedByHook(ctx, err); ok {
		return refused, nil
	}
	if err == nil {
		if short, err := commits.Abbreviate(ctx, m.Repo, c.Hash); err == nil {
			c.Short = short
		}
	}
	return committedAs(c, ""), err
}

func (m Merging) WithFiles(ctx context.Context, dir, tip string, files map[string][]byte) (string, []string, error) {
	t, err := m.Repo.Tree(dir)
	if err != nil {
		return "", nil, err
	}
	return landing.WithFiles(ctx, t, tip, "ralph: living docs\n", files)
}

// from is the commit of the base that to can be brought to: where it is now, when
// to contains that; else where it was last seen, so that git tells what is between. A base
// that a person has taken back has moved: what they took off it would come back with to.
func (m Merging) from(ctx context.Context, base, landed, to string) (string, error) {
	tip, err := refs.BaseTip(ctx, m.Repo, base)
	if err != nil || tip == to {
		return landed, err
	}
	if ok, err := m.Repo.Contains(ctx, tip, to); err != nil || !ok {
		return landed, err
	}
	if ok, err := m.Repo.Contains(ctx, landed, tip); err != nil || !ok {
		return landed, err
	}
	return tip, nil
}

func (m Merging) Land(ctx context.Context, in step.LandInput) (ralph.Landed, error) {
	from, err := m.from(ctx, in.Base, in.Landed, in.To)
	if err != nil {
		return ralph.Landed{}, err
	}
	l, err := landing.Land(ctx, m.Repo, landing.LandInput{Branch: in.Base, From: from, To: in.To})
	if err != nil {
		return ralph.Landed{}, err
	}
	out := ralph.Landed{From: from, To: in.To, How: l.How, Dirty: l.Dirty, Moved: l.Moved, Behind: l.Behind}
	if l.Busy != "" {
		out.Dirty = []string{l.Busy} // as a changed file: a person is at it
	}
	if out.How != "" && in.Squashed {
		// It has landed, whatever becomes of what led to it: `ralph recover` lists the rest.
		_ = refs.Drop(ctx, m.Repo, in.Key)
		_, _ = m.drop(ctx, in.Tip, in.Branches)
		_ = worktrees.NoteLanded(ctx, m.Repo, in.Tip)
	}
	return out, nil
}

// conflictAs tells a conflict in ralph's own words.
func conflictAs(c *landing.Conflict) *ralph.Conflict {
	if c == nil {
		return nil
	}
	out := &ralph.Conflict{Base: c.Base, Ours: c.Ours, Theirs: c.Theirs}
	for _, f := range c.Files {
		out.Files = append(out.Files, ralph.ConflictFile{Path: f.Path, Kind: f.Kind, Marked: f.Marked})
	}
	return out
}
