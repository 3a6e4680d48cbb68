// Package commits owns the commits of work: whether a repository is ready for one, making it with everything but
// what others left, finding it again after a crash, what came between, and taking it back when a hook changed it.
//
// It does NOT own what is staged for it (git.StageFor), or when one is made (step, worktree).
package commits

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/git"
)

const (
	// lookBack is how many commits since the base are searched for a commit
	// that an interrupted engine made and did not note.
	lookBack = 50
	// undoTime bounds what is done after a cancelled call to leave things as
	// they were.
	UndoTime = 10 * time.Second
)

// Input says what to commit.
type Input struct {
	Base    string // commit on which the work began
	Branch  string // branch on which it began; "" for the one that is checked out
	Message string // complete, with the trailer line
	Trailer string // name of the trailer that identifies this commit
	Key     string // its value
	Fresh   bool   // the key is new: no earlier call can have made this commit
	Squash  bool   // commits of agents at the end of the branch become part of this one
	Agents  Agents // what agents did with git; in a worktree of ralph's own all is theirs
	Here    bool   // on whatever is checked out: a person said so
	Without string // a commit of agents that a person said it is made without
	// Left are files with changes of others: the commit leaves them as they were.
	Left []ralph.LeftFile
	Tree string // Snapshot's answer when nothing happened since, saves an `add`; else ""
	// Pages are files that ralph wrote for this commit after that tree was seen.
	Pages []string
	// Checked is the tree that was to be committed, seen on top of On ("" for Base): what
	// TakeBack compares a commit with that it finds.
	Checked, On string
}

// Commit is a commit in the history of the current branch.
type Commit struct {
	Hash  string
	Short string // first seven digits; Abbreviate asks git for its own
	Tree  string
	Found bool // it was there already: an earlier call made it
	// Stale is set when a git command of somebody else's held the index, so
	// that `git status` goes on to show the state before the commit.
	Stale bool

	// What stands between Base and it, in the user's checkout.
	Kept   []ralph.OtherCommit // of others, newest first: it is on top of them
	More   int                 // of them that are not listed
	Apart  []string            // commits of agents that stay as they are
	Folded []string            // those that became part of it
	Left   []string            // paths with changes of others that are not in it
	Shared []string            // paths in it that the commits in Kept change as well
	Gone   bool                // Base itself is not in its history any more: somebody else's doing

	Parent string // its first, where that was read
}

// TrailerLine is the line of the message by which the commit is found again.
func (in Input) TrailerLine() (string, error) {
	if err := git.CheckHash("base", in.Base); err != nil {
		return "", err
	}
	line := in.Trailer + ": " + in.Key
	if in.Trailer == "" || !git.OneLine(in.Key) || !git.HasLine(in.Message, line) {
		return "", fmt.Errorf("the message lacks the trailer line %q", line)
	}
	return line, git.CheckBranch(in.Branch)
}

// errRaced is that somebody committed while ralph did: its commit was taken back.
var errRaced = errors.New("somebody committed at the same moment")

// maxRaces is how often a commit is tried that somebody else's came before.
const maxRaces = 5

// Make makes one commit of everything in the work tree (D-046),
// without ralph's own files and in.Left, also when nothing changed. Hooks and
// signing work as in a commit by hand. In the user's checkout only commits of agents are
// squashed that nobody else's stands on, and HEAD stays on the branch that it is on:
// where that is not in.Branch it is an *AwayError. Calling it again after a crash returns
// the commit that carries the trailer already. A failed hook is an *Error and
// leaves history as it was; commits of the agent that were squashed stay
// below refs/ralph/recovery/.
func Make(ctx context.Context, r *git.Repo, in Input) (Commit, error) {
	line, err := in.TrailerLine()
	if err != nil {
		return Commit{}, fmt.Errorf("commit: %w", err)
	}
	if err := nothingLost(ctx, r, in, line); err != nil {
		return Commit{}, err
	}
	r.Lock()
	defer r.Unlock()
	for range maxRaces {
		c, err := commitOnce(ctx, r, in, line)
		if !errors.Is(err, errRaced) {
			return c, err
		}
		in.Fresh = false // should ralph's own not have been taken back, it is found
	}
	return Commit{}, fmt.Errorf("commit: %w, %d times", errRaced, maxRaces)
}

func commitOnce(ctx context.Context, r *git.Repo, in Input, line string) (Commit, error) {
	h, err := r.Settled(ctx)
	if err != nil {
		return Commit{}, fmt.Errorf("commit: %w", err)
	}
	if c, err := find(ctx, r, h.Commit, in, line); err != nil || c.Found {
		return c, err
	}
	if err := SettledOp(r, in.Agents, false); err != nil {
		return Commit{}, err
	}
	if in.Branch != "" && r.Ours() {
		r.FreeRefs(ctx, "refs/heads/"+in.Branch)
	}
	at := h.Commit
	if h, err = commitBranch(ctx, r, h, in, line); err != nil {
		return Commit{}, err
	}
	if h.Commit != at {
		if c, err := find(ctx, r, h.Commit, in, line); err != nil || c.Found {
			return c, err
		}
	}
	s, err := parent(ctx, r, h.Commit, in)
	if err != nil {
		return Commit{}, err
	}
	parent := s.To
	c, err := commitOn(ctx, r, parent, in)
	if err != nil {
		if late := late(ctx, r, parent, in, line); late.Found {
			return late, nil
		}
	}
	if err != nil && parent != h.Commit {
		err = errors.Join(err, undoSquash(ctx, r, parent, h.Commit))
	}
	c.Kept, c.More, c.Apart, c.Folded = s.Kept, s.More, s.Apart, s.folded
	c.Gone = s.gone && s.To != in.Base
	if err == nil && len(c.Kept) > 0 {
		c.Shared, err = shared(ctx, r, parent, c)
	}
	return c, err
}

// commitBranch is where the commit goes: the branch that the work began on. Before a
// person is asked about another, it looks whether the commit has been made there.
func commitBranch(ctx context.Context, r *git.Repo, h git.Head, in Input, line string) (git.Head, error) {
	if in.Here {
		return h, nil
	}
	back, err := AtHome(ctx, r, h, in.Branch, in.Base, in.Key, in.Agents)
	if _, elsewhere := errors.AsType[*AwayError](err); !elsewhere || in.Fresh {
		return back, err
	}
	tip, failed := r.Ref(ctx, "refs/heads/"+in.Branch)
	if failed != nil || tip == "" {
		return h, errors.Join(err, failed)
	}
	if c, failed := find(ctx, r, tip, in, line); failed != nil || c.Found {
		return git.Head{Commit: tip, Branch: in.Branch}, failed
	}
	return h, err
}

// nothingLost is an *AwayError where somebody has taken the checkout back to the branch on which the work
// began, and agents committed what that has not: it is kept, and a person brings it, or says that the commit is
// made without. What agents left elsewhere themselves is as they wanted it.
func nothingLost(ctx context.Context, r *git.Repo, in Input, line string) error {
	if r.Ours() || !in.Squash || len(in.Agents.Commits) == 0 || in.Branch != "" && in.Agents.On == in.Branch {
		return nil
	}
	h, err := r.Head(ctx)
	if err != nil || in.Branch != "" && h.Branch != in.Branch {
		return nil //nolint:nilerr // where it is otherwise is looked at next
	}
	if at, err := r.ReadCommit(ctx, h.Commit); err != nil || at.Carries(line) { // made before a crash
		return err
	}
	commit, err := lost(ctx, r, h.Commit, in)
	if err != nil || commit == "" || commit == in.Without {
		return err
	}
	if _, err := r.Keep(ctx, in.Key, commit); err != nil {
		return err
	}
	elsewhere := away(fmt.Sprintf("the agent committed its work at %.7s, which is not on %s", commit, cmp.Or(h.Branch, "HEAD")),
		fmt.Sprintf("bring it with `git merge %.7s`, or approve a commit without it (`ralph recover` keeps it)", commit))
	elsewhere.Lost = commit
	return elsewhere
}

// late is the commit when the git of an engine that was killed made it, after
// all, while ours was on its way and failed because HEAD had moved.
func late(ctx context.Context, r *git.Repo, parent string, in Input, line string) Commit {
	h, err := r.Head(ctx)
	if err != nil || h.Commit == parent {
		return Commit{}
	}
	c, err := find(ctx, r, h.Commit, in, line)
	if err != nil {
		return Commit{} // the failure of the commit says more
	}
	return c
}

// find looks for a commit that carries the trailer: at HEAD, or since base.
func find(ctx context.Context, r *git.Repo, head string, in Input, line string) (Commit, error) {
	if in.Fresh {
		return Commit{}, nil
	}
	at, err := r.ReadCommit(ctx, head)
	if err != nil {
		return Commit{}, fmt.Errorf("read HEAD's commit: %w", err)
	}
	if at.Carries(line) {
		// A crash may also have come before the index was brought in line.
		return Commit{Hash: head, Short: head[:7], Tree: at.Tree, Found: true, Stale: !r.ResetIndex(ctx)}, nil
	}
	if head == in.Base {
		return Commit{}, nil
	}
	out, err := r.Run(ctx, git.Call{
		Args: []string{"log", "-z", "--first-parent", "--no-show-signature", "--no-color", fmt.Sprintf("--max-count=%d", lookBack), "--format=%H%n%T%n%B", in.Base + ".." + head},
		Conf: []string{"i18n.logOutputEncoding=UTF-8"},
	})
	if err != nil {
		return Commit{}, fmt.Errorf("look for the commit: %w", err)
	}
	for record := range strings.SplitSeq(out, "\x00") {
		f := strings.SplitN(record, "\n", 3)
		if len(f) == 3 && git.HasLine(f[2], line) {
			return Commit{Hash: f[0], Short: f[0][:7], Tree: f[1], Found: true}, nil
		}
	}
	return Commit{}, nil
}

// parent says what the new commit goes on top of. Squashing moves
// HEAD back below the agents' commits; the files stay.
func parent(ctx context.Context, r *git.Repo, head string, in Input) (SinceBase, error) {
	s := SinceBase{To: head}
	if head == in.Base || r.Advanced(in.Base, head) && !in.Squash {
		return s, nil
	}
	if r.Ours() {
		return parentOfTask(ctx, r, head, in)
	}
	s, err := LookSince(ctx, r, in.Base, head, in.Agents)
	if err != nil {
		return s, err
	}
	if s.reset && s.To == in.Base { // what the commits below did is gone from the files too
		return s, refuseGone(in.Base)
	}
	if !in.Squash {
		s.To, s.folded = head, nil
	}
	if s.To == head {
		return s, nil
	}
	if _, err := r.Keep(ctx, in.Key, head); err != nil {
		return s, err
	}
	return s, r.MoveHead(ctx, "make one commit of the agent's", head, s.To)
}

// parentOfTask is parent in a worktree of ralph's own, where nobody else commits.
func parentOfTask(ctx context.Context, r *git.Repo, head string, in Input) (SinceBase, error) {
	ok, err := r.Advanced(in.Base, head), error(nil)
	if !ok {
		ok, err = r.Descends(ctx, head, in.Base)
	}
	if err != nil {
		return SinceBase{}, fmt.Errorf("compare HEAD with where the work began: %w", err)
	}
	if !ok {
		return SinceBase{}, refuseGone(in.Base)
	}
	return SinceBase{To: head}, nil
}

// refuseGone is for an agent that took the commit away on which its work began.
func refuseGone(base string) error {
	return git.Refuse("HEAD no longer contains "+base[:7]+", on which the work began",
		"go back to that history, for instance with `git switch`, or look for it in `git reflog`")
}

// undoSquash moves HEAD to the agent's commits again, unless a commit came after all.
func undoSquash(ctx context.Context, r *git.Repo, parent, head string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), UndoTime)
	defer cancel()
	if h, err := r.Head(ctx); err != nil || h.Commit != parent {
		return err
	}
	return r.MoveHead(ctx, "the commit failed, back to the agent's", parent, head)
}

// commitOn commits the work tree on top of HEAD, which is at parent.
func commitOn(ctx context.Context, r *git.Repo, parent string, in Input) (Commit, error) {
	own := parent // whose versions of ralph's own files the commit gets
	if r.Ours() {
		own = in.Base // an agent may have committed others meanwhile
	}
	if err := r.StageFor(ctx, parent, own, in.Tree); err != nil {
		return Commit{}, fmt.Errorf("commit: %w", err)
	}
	left, err := LeaveOut(ctx, r, parent, in.Left)
	if err != nil {
		return Commit{}, fmt.Errorf("commit: %w", err)
	}
	before := StagedIn(r.PrivateIndex())
	if err := RunCommit(ctx, r, in.Message, "--allow-empty", "-F", "-"); err != nil {
		return Commit{}, err
	}
	c, err := Made(ctx, r, parent)
	if err != nil {
		return Commit{}, err
	}
	files, err := Rewritten(ctx, r, before, in.Tree, c, in.Left)
	if err != nil {
		return Commit{}, fmt.Errorf("commit: %w", err)
	}
	if len(files) > 0 && c.Parent == parent {
		return Commit{}, UndoCommit(ctx, r, c, parent, "", files)
	}
	if len(left) > 0 {
		r.ForgetSeen() // the index says less than the files
	}
	// A hook with an `add -A` of its own may have taken ralph's files along.
	if r.OwnTaken(parent, own) {
		if err := r.RestoreOwn(ctx, own); err != nil {
			return Commit{}, err
		}
		if err := RunCommit(ctx, r, "", "--amend", "--no-edit", "--allow-empty", "--no-verify"); err != nil {
			return Commit{}, err
		}
		if c, err = Made(ctx, r, parent); err != nil {
			return Commit{}, err
		}
	}
	if c.Parent != parent && !r.Ours() {
		r.DropIndex()
		return Commit{}, errors.Join(errRaced, r.MoveHead(ctx, "somebody committed at the same moment", c.Hash, c.Parent))
	}
	if c.Parent == parent {
		r.Advance(in.Base, parent, c.Hash)
	}
	c.Left = left.Paths()
	if err := stagedAgain(ctx, r, left, len(parent)); err != nil {
		return c, fmt.Errorf("commit: %w", err)
	}
	c.Stale = !r.Install(ctx)
	return c, nil
}

// RunCommit commits the private index. Maintenance would cost a quarter of a
// small commit; it can run once when all work is done.
func RunCommit(ctx context.Context, r *git.Repo, message string, args ...string) error {
	_, err := r.Run(ctx, git.Call{
		Args:  append([]string{"commit", "-q", "--cleanup=verbatim"}, args...),
		Conf:  []string{"maintenance.auto=false", "gc.auto=0", "i18n.commitEncoding=UTF-8"},
		Index: r.PrivateIndex(), Stdin: message, Write: true, Hooks: true,
	})
	return err
}

// Abbreviate returns a commit's hash as short as git writes it in this
// repository, which its size and core.abbrev decide. It costs a process.
func Abbreviate(ctx context.Context, r *git.Repo, commit string) (string, error) {
	if err := git.CheckHash("commit", commit); err != nil {
		return "", err
	}
	return r.Line(ctx, git.Call{Args: []string{"rev-parse", "--short", commit}})
}

// Made reads the commit that HEAD has come to.
func Made(ctx context.Context, r *git.Repo, parent string) (Commit, error) {
	h, err := r.Head(ctx)
	if err != nil {
		return Commit{}, err
	}
	if h.Commit == parent {
		return Commit{}, fmt.Errorf("git commit succeeded, but HEAD is still at %s", parent)
	}
	at, err := r.ReadCommit(ctx, h.Commit)
	if err != nil {
		return Commit{}, fmt.Errorf("read the new commit: %w", err)
	}
	c := Commit{Hash: h.Commit, Short: h.Commit[:7], Tree: at.Tree}
	if len(at.Parents) > 0 {
		c.Parent = at.Parents[0]
	}
	return c, nil
}
