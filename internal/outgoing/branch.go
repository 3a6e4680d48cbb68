package outgoing

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/git"
	"github.com/ralph-loop/ralph/internal/git/landing"
	"github.com/ralph-loop/ralph/internal/git/push"
	"github.com/ralph-loop/ralph/internal/git/refs"
	"github.com/ralph-loop/ralph/internal/text"
)

// longestRemote bounds how long a remote may take: what it does not do in that time is tried
// again later, and nobody waits for it.
const longestRemote = 45 * time.Second

// Open makes the branch of a spec ready to be worked on: as its remote has it, with what is
// here and not there; else at the base. It returns the base's name.
func (p Branches) Open(ctx context.Context, in ralph.Outgoing) (onto, away string, err error) {
	base, err := p.base(ctx)
	if err != nil {
		return "", "", err
	}
	b := push.Branch{Repo: p.Repo, Remote: in.Remote, Name: in.Branch, Fence: p.Fence}
	theirs := ""
	if in.Tasks == "" { // else it stays here
		if theirs, away, err = p.fetched(ctx, b); err != nil {
			return "", "", err
		}
	}
	ours, err := refs.Tip(ctx, p.Repo, in.Branch)
	if err != nil {
		return "", "", err
	}
	switch {
	case ours == "" && theirs == "":
		return base.Branch, away, refs.MakeBranch(ctx, p.Repo, in.Branch, base.Commit)
	case ours == "":
		ours = theirs
		if err := refs.MakeBranch(ctx, p.Repo, in.Branch, theirs); err != nil {
			return "", "", err
		}
	case theirs != "" && theirs != ours:
		if ours, err = p.together(ctx, b, ours, theirs); err != nil {
			return "", "", err
		}
	}
	// All of it is on the base: the next work begins there.
	if done, err := p.Repo.Contains(ctx, ours, base.Commit); err != nil || !done || ours == base.Commit {
		return base.Branch, away, err
	}
	return base.Branch, away, p.forward(ctx, in.Branch, ours, base.Commit)
}

// base is where branches begin.
func (p Branches) base(ctx context.Context) (git.Head, error) {
	if p.Base == "" {
		return p.Repo.Head(ctx)
	}
	tip, err := refs.Tip(ctx, p.Repo, p.Base)
	if err == nil && tip == "" {
		err = &ralph.Refusal{Why: fmt.Sprintf("base_branch is %s, and there is no such branch", p.Base), Hint: fmt.Sprintf("make it (git branch %s), or change base_branch in ralph/config.yaml", p.Base), Kind: ralph.ErrUsage}
	}
	return git.Head{Commit: tip, Branch: p.Base}, err
}

// fetched is what the remote has; where it cannot be asked, what it was last known to have,
// and why it cannot.
func (p Branches) fetched(ctx context.Context, b push.Branch) (tip, away string, err error) {
	asked, cancel := context.WithTimeout(ctx, longestRemote)
	defer cancel()
	tip, err = b.Fetch(asked)
	if err == nil || ctx.Err() != nil {
		return tip, "", errors.Join(err, ctx.Err())
	}
	away = err.Error()
	tip, err = b.Known(ctx)
	return tip, away, err
}

// together brings what the remote has and what is here into one: it returns the new tip of the
// branch, which has both.
func (p Branches) together(ctx context.Context, b push.Branch, ours, theirs string) (string, error) {
	if has, err := p.Repo.Contains(ctx, theirs, ours); err != nil || has {
		return ours, err
	}
	if behind, err := p.Repo.Contains(ctx, ours, theirs); err != nil {
		return "", err
	} else if behind {
		return theirs, p.forward(ctx, b.Name, ours, theirs)
	}
	message := fmt.Sprintf("ralph: merge what was pushed to %s\n\n%s: %s\n", b.Name, pushedTrailer, theirs)
	m, err := landing.Merge(ctx, p.Repo, landing.MergeInput{
		Branch: b.Name, Into: ours, Free: true, Sides: []landing.Side{{Commit: theirs, Message: message, Trailer: pushedTrailer, Key: theirs}},
	})
	switch {
	case err != nil:
		return "", err
	case m.Conflict != nil:
		var names []string
		for _, f := range m.Conflict.Files {
			names = append(names, f.Path)
		}
		return "", &ralph.Refusal{
			Why:  fmt.Sprintf("what was pushed to %s of %s conflicts with the work here in %s", b.Name, b.Remote, text.List(names, 5)),
			Hint: fmt.Sprintf("merge it by hand: git switch %s && git merge %s/%[1]s", b.Name, b.Remote), Kind: ralph.ErrUsage,
		}
	case m.Nothing:
		return ours, nil
	}
	return m.Commit, nil
}

// pushedTrailer names the commit of a remote that a merge brings in.
const pushedTrailer = "Ralph-Pushed"

// forward moves the branch, and a clean checkout of it.
func (p Branches) forward(ctx context.Context, branch, from, to string) error {
	l, err := landing.Land(ctx, p.Repo, landing.LandInput{Branch: branch, From: from, To: to})
	switch {
	case err != nil:
		return err
	case l.How != "":
		return nil
	case l.Moved != "":
		return fmt.Errorf("%s was moved to %.12s just now", branch, l.Moved)
	}
	why := l.Busy
	if why == "" {
		why = "it is checked out, and there are changes in " + text.List(l.Dirty, 5)
	}
	return &ralph.Refusal{Why: fmt.Sprintf("%s cannot be brought to %.12s: %s", branch, to, why), Hint: "commit or stash them there, or switch to another branch", Kind: ralph.ErrUsage}
}

// push pushes a branch. What others have pushed to it comes in first; it is never overwritten.
func (p Branches) push(ctx context.Context, in ralph.Publish) (ralph.Published, error) {
	out := ralph.Published{Branch: in.Branch, Remote: in.Remote}
	ctx, cancel := context.WithTimeout(ctx, longestRemote)
	defer cancel()
	b := push.Branch{Repo: p.Repo, Remote: in.Remote, Name: in.Branch, Fence: p.Fence}
	for try := 1; ; try++ {
		ours, err := refs.Tip(ctx, p.Repo, in.Branch)
		if err == nil && ours == "" { // somebody deleted it here: the commit is still known
			ours, err = in.Commit, refs.MakeBranch(ctx, p.Repo, in.Branch, in.Commit)
		}
		if err == nil && in.Of != "" && ours != in.Commit { // the task was worked on once more
			ours, err = p.together(ctx, b, ours, in.Commit)
		}
		if err != nil {
			return out, err
		}
		theirs, err := b.Fetch(ctx)
		if err != nil {
			return out, err
		}
		tip := ours
		if theirs != "" {
			if tip, err = p.together(ctx, b, ours, theirs); err != nil {
				return out, err
			}
			if has, err := p.Repo.Contains(ctx, theirs, ours); err == nil && !has {
				out.Merged = theirs
			}
		}
		out.Commit = tip
		if tip == theirs {
			return out, nil
		}
		if err = b.Push(ctx, tip); !errors.Is(err, push.ErrMoved) || try == maxRaces {
			return out, err
		}
	}
}

// maxRaces bounds how often others may be quicker in one try.
const maxRaces = 3
