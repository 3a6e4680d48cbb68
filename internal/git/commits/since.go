package commits

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/git"
	"github.com/ralph-loop/ralph/internal/git/diff"
)

const (
	maxSince = 1000 // commits since the work began that are looked at
	maxKept  = 20   // of them that are named
)

// SinceBase says what stands between the commit on which work began and HEAD.
type SinceBase struct {
	To     string              // HEAD without the agents' commits at its end: all above it are theirs
	Kept   []ralph.OtherCommit // of others, newest first
	More   int                 // that are not named
	Apart  []string            // of agents, below to
	folded []string            // of agents, above to
	gone   bool                // base is not in HEAD's history any more
	reset  bool                // an agent took it out
}

// logged is a commit as `git log` lists it.
type logged struct {
	ralph.OtherCommit
	parents []string
	mine    bool
}

// LookSince looks at base..head. Of what agents made, a commit that a
// remote-tracking ref reaches counts as somebody else's: others have it.
func LookSince(ctx context.Context, r *git.Repo, base, head string, agents Agents) (SinceBase, error) {
	s := SinceBase{To: head}
	if head == base {
		return s, nil
	}
	list, err := between(ctx, r, base, head, agents.Commits)
	if err != nil {
		return s, err
	}
	known := map[string]logged{}
	for _, c := range list {
		known[c.Commit] = c
	}
	var other func(string) bool // a commit of somebody else's is in the history of it
	seen := map[string]bool{}
	other = func(hash string) bool {
		c, ok := known[hash]
		if is, looked := seen[hash]; !ok || looked {
			return is
		}
		is := !c.mine || slices.ContainsFunc(c.parents, other)
		seen[hash] = is
		return is
	}
	for {
		c, ok := known[s.To]
		if !ok || !c.mine || len(c.parents) == 0 || slices.ContainsFunc(c.parents[1:], other) {
			break
		}
		s.folded = append(s.folded, c.Commit)
		s.To = c.parents[0]
	}
	for _, c := range list {
		switch {
		case slices.Contains(s.folded, c.Commit):
		case c.mine:
			s.Apart = append(s.Apart, c.Commit)
		case len(s.Kept) < maxKept:
			s.Kept = append(s.Kept, c.OtherCommit)
		default:
			s.More++
		}
	}
	if len(list) > 0 && s.To == base { // the walk has come down to it
		return s, nil
	}
	ok, err := r.Descends(ctx, head, base)
	s.gone = !ok
	s.reset = s.gone && slices.Contains(agents.Ops, "reset")
	if _, between := known[s.To]; s.gone && (s.reset || slices.Contains(agents.Rewrote, base)) && (!between || known[s.To].mine) {
		s.To, s.folded = base, nil // an agent amended or dropped what was there before it: that comes back
		for _, c := range list {
			s.folded = append(s.folded, c.Commit)
		}
		s.Apart = nil
	}
	return s, err
}

// between lists the commits of base..head, newest first, at most maxSince.
func between(ctx context.Context, r *git.Repo, base, head string, mine []string) ([]logged, error) {
	out, err := r.Run(ctx, git.Call{
		Args: []string{
			"log", "-z", "--topo-order", "--no-show-signature", "--no-color", "--no-mailmap", fmt.Sprintf("--max-count=%d", maxSince),
			"--format=%H%n%P%n%an%n%s", base + ".." + head,
		},
		Conf: []string{"i18n.logOutputEncoding=UTF-8"},
	})
	if err != nil {
		return nil, fmt.Errorf("look at the commits since the work began: %w", err)
	}
	var list []logged
	for record := range strings.SplitSeq(out, "\x00") {
		f := strings.SplitN(strings.Trim(record, "\n"), "\n", 4)
		if len(f) < 3 {
			continue
		}
		c := logged{OtherCommit: ralph.OtherCommit{Commit: f[0], By: f[2]}, parents: strings.Fields(f[1]), mine: slices.Contains(mine, f[0])}
		if len(f) == 4 {
			c.Subject = f[3]
		}
		list = append(list, c)
	}
	if !slices.ContainsFunc(list, func(c logged) bool { return c.mine }) {
		return list, nil
	}
	out, err = r.Run(ctx, git.Call{Args: []string{"rev-list", base + ".." + head, "--not", "--remotes"}})
	if err != nil {
		return nil, fmt.Errorf("look which commits are published: %w", err)
	}
	private := strings.Fields(out)
	for i := range list {
		list[i].mine = list[i].mine && slices.Contains(private, list[i].Commit)
	}
	return list, nil
}

// AwayError is that somebody has taken the checkout elsewhere while agents worked in it.
// Nothing was changed; a person decides.
type AwayError struct {
	*ralph.Refusal
	Lost string // the commit of agents that is not there, if that is why
}

func (e *AwayError) Unwrap() error { return e.Refusal }

func away(why, hint string) *AwayError {
	return &AwayError{Refusal: &ralph.Refusal{Why: why, Hint: hint, Kind: ralph.ErrUsage}}
}

// Agents is what is known of the git commands that agents ran themselves: only what they
// did is ever taken back.
type Agents struct {
	Commits []string // that they made
	Rewrote []string // that they amended or rebased, as they were before
	On      string   // the branch, or for a detached HEAD the commit, to which their newest switch led
	Ops     []string // operations that they began: rebase, merge, ...
}

// took reports whether an agent brought HEAD to where it is: to a branch, or to a commit without one and
// on from there by its own commits.
func (a Agents) took(h git.Head) bool {
	switch {
	case a.On == "":
		return false
	case h.Branch != "":
		return a.On == h.Branch
	}
	return a.On == h.Commit || git.IsHash(a.On) && slices.Contains(a.Commits, h.Commit)
}

// onlyAgents is an *AwayError where the branch to which an agent switched has commits of somebody else's
// that the one on which the work began has not: what these did lies in the work tree as well.
func onlyAgents(ctx context.Context, r *git.Repo, h git.Head, branch string, agents Agents) error {
	tip, err := r.Ref(ctx, "refs/heads/"+branch)
	if err != nil || tip == "" {
		return err // backOn says that it is gone
	}
	list, err := between(ctx, r, tip, h.Commit, agents.Commits)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(list, func(c logged) bool { return !c.mine })
	if i < 0 {
		return nil
	}
	return away(fmt.Sprintf("an agent took your checkout to %s, which has commits that %s has not, as %.7s %q", h.Branch, branch, list[i].Commit, list[i].Subject),
		"go back with `git switch "+branch+"`, or approve a commit where you are")
}

// lost is the newest commit of the agents that the branch has not, nor anything of what it changed:
// somebody has left behind where it was made. "" is none. There is a commit of theirs.
func lost(ctx context.Context, r *git.Repo, head string, in Input) (string, error) {
	if slices.Contains(in.Agents.Ops, "reset") { // what agents drop themselves is not wanted
		return "", nil
	}
	newest := in.Agents.Commits[len(in.Agents.Commits)-1]
	if newest == head || newest == in.Base {
		return "", nil
	}
	if _, err := r.ReadCommit(ctx, newest); err != nil {
		return "", nil //nolint:nilerr // git has forgotten it
	}
	if within, err := r.Contains(ctx, newest, head); within || err != nil {
		return "", err
	}
	made, err := diff.Changes(ctx, r, in.Base, newest)
	if err != nil || len(made) == 0 {
		return "", err
	}
	tree, err := r.TreeKept(ctx)
	if err != nil {
		return "", err
	}
	now, err := ByPath(ctx, r, in.Base, tree)
	if err != nil || slices.ContainsFunc(made, func(c diff.Change) bool { _, is := now[c.Path]; return is }) {
		return "", err
	}
	return newest, nil
}

// AtHome makes sure that HEAD is where a commit or what is put away belongs. It moves HEAD
// back from where an agent took it, and never from where somebody else did.
func AtHome(ctx context.Context, r *git.Repo, h git.Head, branch, base, id string, agents Agents) (git.Head, error) {
	if branch == "" || h.Branch == branch {
		return h, nil
	}
	if !r.Ours() && !agents.took(h) {
		where := "on " + h.Branch
		if h.Branch == "" {
			where = "at " + h.Commit[:7] + " (detached)"
		}
		return h, away("your checkout is "+where+", the work began on "+branch,
			"go back with `git switch "+branch+"`, or approve a commit where you are")
	}
	if !r.Ours() && h.Branch != "" {
		if err := onlyAgents(ctx, r, h, branch, agents); err != nil {
			return h, err
		}
	}
	return backOn(ctx, r, h, branch, base, id)
}

// backOn returns HEAD to the branch that a job was started on, when the agent
// left it. No file changes by that; what the agent's HEAD held stays reachable
// by its own branch and a recovery ref.
func backOn(ctx context.Context, r *git.Repo, h git.Head, branch, base, id string) (git.Head, error) {
	if branch == "" || h.Branch == branch {
		return h, nil
	}
	ref := "refs/heads/" + branch
	tip, err := r.Ref(ctx, ref)
	if err != nil {
		return h, fmt.Errorf("read branch %s: %w", branch, err)
	}
	if tip == "" {
		return h, git.Refuse("the branch "+branch+", on which the work began, is gone", "restore it with `git branch "+branch+" "+base+"`")
	}
	if h.Commit != base && h.Commit != tip {
		if _, err := r.Keep(ctx, id, h.Commit); err != nil {
			return h, err
		}
	}
	_, err = r.Run(ctx, git.Call{Args: []string{"symbolic-ref", "-m", "ralph: back to " + branch, "HEAD", ref}, Write: true})
	if err != nil {
		return h, fmt.Errorf("return to branch %s: %w", branch, err)
	}
	return git.Head{Commit: tip, Branch: branch}, nil
}

// SettledOp refuses while a git operation is under way that no agent began.
func SettledOp(r *git.Repo, agents Agents, quits bool) error {
	op := r.Unfinished()
	switch {
	case op == "", quits && (r.Ours() || slices.Contains(agents.Ops, op)):
		return nil
	case r.Ours() || slices.Contains(agents.Ops, op):
		return git.RefuseUnfinished(op)
	}
	return away("a git "+op+" is unfinished in your checkout", fmt.Sprintf("finish it, or undo it with `git %s --abort`", op))
}

// shared are the files in a commit that commits of others before it change as well: edits
// of theirs that were not committed yet may have come in with the agent's.
func shared(ctx context.Context, r *git.Repo, parent string, c Commit) ([]string, error) {
	args := []string{"show", "-z", "--format=", "--name-only", "--no-renames", "--no-color", "--no-show-signature", "-m", "--first-parent"}
	for _, k := range c.Kept {
		args = append(args, k.Commit)
	}
	out, err := r.Run(ctx, git.Call{Args: append(args, "--")})
	if err != nil {
		return nil, fmt.Errorf("look at the commits of others: %w", err)
	}
	theirs := strings.Split(out, "\x00")
	mine, err := diff.Changes(ctx, r, parent, c.Hash)
	var both []string
	for _, m := range mine {
		if slices.Contains(theirs, m.Path) {
			both = append(both, m.Path)
		}
	}
	return both, err
}
