// Package worktree carries out on git what steps ask for: it has the checkout, worktrees,
// the merge queue's integration branch and pushes as internal/step wants them.
//
// It does not own git (internal/git) and decides nothing: each method is one effect.
package worktree

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/git"
	"github.com/ralph-loop/ralph/internal/git/commits"
	"github.com/ralph-loop/ralph/internal/git/diff"
	"github.com/ralph-loop/ralph/internal/git/landing"
	"github.com/ralph-loop/ralph/internal/git/refs"
	"github.com/ralph-loop/ralph/internal/git/shelve"
	"github.com/ralph-loop/ralph/internal/git/worktrees"
	"github.com/ralph-loop/ralph/internal/step"
)

// Trees is one place to work in as the executor needs it: the checkout, or a worktree. What its methods
// take and return is told where they are asked for, at step.Trees.
type Trees struct{ Repo *git.Repo }

func (t *Trees) Start(ctx context.Context) (ralph.Prepared, error) {
	if err := t.Repo.Begin(ctx); err != nil {
		return ralph.Prepared{}, err
	}
	head, err := t.Repo.Head(ctx)
	if err != nil {
		return ralph.Prepared{}, err
	}
	dirty, err := t.Repo.Dirty(ctx)
	if err != nil {
		return ralph.Prepared{}, err
	}
	tree, err := t.Repo.Snapshot(ctx)
	if err != nil {
		return ralph.Prepared{}, err
	}
	inside, nested, err := t.Inside(ctx, "")
	inside = append(inside, nested...)
	return ralph.Prepared{Head: head.Commit, Branch: head.Branch, Tree: tree, Inside: inside, Clean: len(dirty)+len(inside) == 0}, err
}

// PutBack is for the checkout, and for each worktree of the pool.
func PutBack(ctx context.Context, repo *git.Repo, dir string, in step.PutBackInput) (step.PutBack, error) {
	if dir != repo.Root() {
		tree, err := repo.Tree(dir)
		if err != nil {
			return step.PutBack{}, err
		}
		repo = tree
	}
	b, err := shelve.PutBack(ctx, repo, shelve.PutBackInput(in))
	return step.PutBack{Restored: b.Restored, Saved: SavedAs(b.Saved), Left: b.Left, Other: b.Other, Kept: b.Kept, Out: b.Out, Tree: b.Tree}, err
}

func (t *Trees) Snapshot(ctx context.Context) (tree, head string, err error) {
	if tree, err = t.Repo.TreeKept(ctx); err != nil {
		return "", "", err
	}
	h, err := t.Repo.Head(ctx)
	return tree, h.Commit, err
}

func (t *Trees) Diff(ctx context.Context, from, to string, most int64) ([]byte, error) {
	return diff.Plain(ctx, t.Repo, from, to, most)
}

func (t *Trees) Patch(ctx context.Context, from, to string, most int64) ([]byte, error) {
	return diff.Patch(ctx, t.Repo, from, to, most)
}

func (t *Trees) Inside(ctx context.Context, base string) (files, nested []string, err error) {
	t.Repo.WorkFrom(base)
	if files, err = worktrees.Inside(ctx, t.Repo); err == nil {
		nested, err = worktrees.Nested(ctx, t.Repo)
	}
	return files, nested, err
}

func (t *Trees) Commit(ctx context.Context, in step.CommitInput) (ralph.Committed, error) {
	t.Repo.WorkFrom(in.Base)
	if err := worktrees.Publish(ctx, t.Repo); err != nil {
		return ralph.Committed{}, err
	}
	if c, back, err := t.TakeBack(ctx, in); back || err != nil {
		return c, err
	}
	gin := commitOf(in)
	if in.Concludes {
		c, done, err := t.conclude(ctx, gin)
		if refused, ok := refusedByHook(ctx, err); ok {
			return refused, nil
		}
		if done || err != nil {
			return committedAs(c, in.Base), err
		}
	}
	if in.OnlyIfChanges {
		if gin.Tree == "" { // checks may have changed files; the commit then needs no `add` of its own
			tree, err := t.Repo.TreeID(ctx)
			if err != nil {
				return ralph.Committed{}, err
			}
			gin.Tree = tree
		}
		if c, same, err := t.unchanged(ctx, in.Branch, gin.Tree); same || err != nil {
			c.Nothing = !slices.Contains(in.Agents.Commits, c.Commit) // HEAD is somebody else's
			return c, err
		}
	}
	c, err := commits.Make(ctx, t.Repo, gin)
	if refused, ok := refusedByHook(ctx, err); ok {
		return refused, nil
	}
	if err == nil && in.Squash { // the commit of a spec, which the log names; a task's is not worth a process
		if short, err := commits.Abbreviate(ctx, t.Repo, c.Hash); err == nil {
			c.Short = short
		}
	}
	if away, ok := errors.AsType[*commits.AwayError](err); ok {
		return ralph.Committed{Away: away.Error(), Lost: away.Lost}, nil
	}
	return committedAs(c, in.Base), err
}

func commitOf(in step.CommitInput) commits.Input {
	return commits.Input{
		Base: in.Base, Branch: in.Branch, Message: in.Message, Trailer: in.Trailer, Key: in.Key, Tree: in.Tree, Squash: in.Squash,
		Fresh: in.Fresh, Here: in.Here, Without: in.Without, Agents: commits.Agents(in.Agents), Left: in.Left, Checked: in.Checked, On: in.On, Pages: in.Pages,
	}
}

// TakeBack takes a commit back that a hook changed before an engine was killed.
func (t *Trees) TakeBack(ctx context.Context, in step.CommitInput) (ralph.Committed, bool, error) {
	if in.Fresh || in.Checked == "" {
		return ralph.Committed{}, false, nil
	}
	err := commits.TakeBack(ctx, t.Repo, commitOf(in))
	if c, ok := refusedByHook(ctx, err); ok {
		return c, true, nil
	}
	return ralph.Committed{}, false, err
}

// refusedByHook is the outcome of a commit that a hook of the repository did not let be.
func refusedByHook(ctx context.Context, err error) (ralph.Committed, bool) {
	said, ok := commits.HookSaid(err)
	if !ok || ctx.Err() != nil {
		return ralph.Committed{}, false
	}
	return ralph.Committed{Error: err.Error(), Hook: said, Rewritten: commits.FilesRewritten(err)}, true
}

func (t *Trees) Look(ctx context.Context, known ralph.Checkout, agents step.AgentGit) (ralph.CheckoutFound, bool, error) {
	return commits.Look(ctx, t.Repo, known, commits.Agents(agents))
}

func (t *Trees) RestoreBranch(ctx context.Context, known ralph.Checkout) (bool, error) {
	return refs.RestoreBranch(ctx, t.Repo, known.Branch, known.Head)
}

func committedAs(c commits.Commit, base string) ralph.Committed {
	gone := ""
	if c.Gone {
		gone = base
	}
	return ralph.Committed{
		Gone: gone, Commit: c.Hash, Short: c.Short, Tree: c.Tree, Kept: c.Kept, KeptMore: c.More, Apart: c.Apart, Folded: c.Folded, Left: c.Left, Shared: c.Shared, Stale: c.Stale,
	}
}

// conclude commits the merge that is under way; done is false when the agent
// committed it.
func (t *Trees) conclude(ctx context.Context, in commits.Input) (c commits.Commit, done bool, err error) {
	state, err := landing.Merging(ctx, t.Repo, in.Base)
	if err != nil {
		return c, false, err
	}
	switch state {
	case landing.MergeOpen:
		c, err = landing.Conclude(ctx, t.Repo, in)
		return c, err == nil, err
	case landing.MergeNone:
		return c, false, &ralph.Refusal{Why: "the merge was undone", Hint: "bring it back with `git merge " + in.Base + "`", Kind: ralph.ErrUsage}
	}
	left, err := landing.Unresolved(ctx, t.Repo)
	if err == nil && len(left) > 0 {
		err = &ralph.Refusal{Why: "conflict markers are committed in " + strings.Join(left, ", "), Hint: "resolve them", Kind: ralph.ErrUsage}
	}
	return c, false, err
}

// unchanged is the commit that HEAD is at, when the work tree has nothing beyond it.
func (t *Trees) unchanged(ctx context.Context, branch, tree string) (c ralph.Committed, same bool, err error) {
	head, err := t.Repo.Head(ctx)
	if err != nil || branch != "" && head.Branch != branch { // the commit goes back to the branch first
		return c, false, err
	}
	at, err := t.Repo.TreeOf(ctx, head.Commit)
	if err != nil || at != tree {
		return c, false, nil //nolint:nilerr // the commit itself says what is wrong
	}
	return ralph.Committed{Commit: head.Commit, Short: head.Commit[:7], Tree: tree}, true, nil
}

func (t *Trees) Shelve(ctx context.Context, in step.ShelveInput) (ralph.Shelved, error) {
	s, err := shelve.Shelve(ctx, t.Repo, shelve.ShelveInput{How: in.How, Base: in.Base, Branch: in.Branch, Message: in.Message, ID: in.ID, Agents: commits.Agents(in.Agents), Left: in.Left})
	return ralph.Shelved{Stash: s.Stash, Ref: s.Ref, Kept: s.Kept, KeptMore: s.More, Apart: s.Apart, Left: s.Left}, err
}

// Worktrees is the pool of worktrees below ralph/.worktrees, as step.Worktrees.
type Worktrees struct{ Repo *git.Repo }

func (w Worktrees) Make(ctx context.Context, dirs []string, commit string) error {
	_, err := worktrees.Make(ctx, w.Repo, dirs, commit) // what is set up in them is noted in each
	return err
}

func (w Worktrees) Open(dir string) (step.Trees, error) {
	t, err := w.Repo.Tree(dir)
	if err != nil {
		return nil, err
	}
	return &Trees{t}, nil
}

func (w Worktrees) Enter(ctx context.Context, in step.EnterInput) (step.Entered, error) {
	if err := worktrees.FreeBranch(ctx, w.Repo, in.Branch, in.Dir); err != nil {
		return step.Entered{}, err
	}
	e, err := worktrees.Enter(ctx, w.Repo, worktrees.EnterInput{
		Dir: in.Dir, Branch: in.Branch, Mine: in.Mine, From: in.From, Merged: in.Merged, ID: in.ID, Stash: in.Stash,
	})
	return step.Entered{
		Branch: e.Branch, Head: e.Head, Tree: e.Tree, Fresh: e.Fresh, Conflicts: e.Conflicts, Saved: SavedAs(e.Saved),
		Empty: e.Empty,
	}, err
}

// SavedAs is what was saved as facts tell it.
func SavedAs(list []git.Saved) []ralph.Saved {
	var out []ralph.Saved
	for _, s := range list {
		saved := ralph.Saved{Ref: s.Ref, Commit: s.Commit, What: s.What}
		if s.Path != "" {
			saved.What += ", now in " + s.Path
		}
		out = append(out, saved)
	}
	return out
}

func (w Worktrees) SetUp(dir, how string, anew bool, do func() error) error {
	t, err := w.Repo.Tree(dir)
	if err != nil {
		return err
	}
	if anew {
		if err := worktrees.NoteSetUp(t, ""); err != nil {
			return err
		}
	}
	if worktrees.SetUpAs(t) == how {
		return nil
	}
	if err := do(); err != nil {
		return err
	}
	return worktrees.NoteSetUp(t, how)
}

func (w Worktrees) Copy(ctx context.Context, dir string, patterns []string) error {
	_, err := worktrees.CopyInto(ctx, w.Repo.Root(), dir, patterns)
	return err
}

func (w Worktrees) Tidy(ctx context.Context, dir string) error {
	t, err := w.Repo.Tree(dir)
	if err != nil {
		return err
	}
	return worktrees.Tidy(ctx, t)
}

func (w Worktrees) Stash(ctx context.Context, dir, message, id string) (string, error) {
	stash, _, err := worktrees.Stash(ctx, w.Repo, dir, message, id)
	return stash, err
}

// Resolving is the merge inside a worktree, as step.Resolving.
type Resolving struct{ Repo *git.Repo }

func (r Resolving) Tip(ctx context.Context, branch, commit string) (string, error) {
	tip, err := refs.Tip(ctx, r.Repo, branch)
	if err != nil || tip == "" || tip == commit {
		return commit, err
	}
	if commit == "" {
		return tip, nil
	}
	if ok, err := r.Repo.Contains(ctx, commit, tip); err != nil || !ok {
		return commit, err
	}
	return tip, nil
}

func (r Resolving) Begin(ctx context.Context, dir, commit, message string) ([]string, error) {
	t, err := r.Repo.Tree(dir)
	if err != nil {
		return nil, err
	}
	files, err := landing.MergeHere(ctx, t, commit, message)
	var paths []string
	for _, f := range files {
		paths = append(paths, f.Path)
	}
	return paths, err
}

func (r Resolving) Left(ctx context.Context, dir, commit string) (left []string, undone bool, err error) {
	t, err := r.Repo.Tree(dir)
	if err != nil {
		return nil, false, err
	}
	state, err := landing.Merging(ctx, t, commit)
	if err != nil || state == landing.MergeNone {
		return nil, err == nil, err
	}
	left, err = landing.Unresolved(ctx, t)
	return left, false, err
}
