package git

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
)

const (
	// lookBack is how many commits since the base are searched for a commit
	// that an interrupted engine made and did not note.
	lookBack = 50
	// undoTime bounds what is done after a cancelled call to leave things as
	// they were.
	UndoTime = 10 * time.Second
)

// CommitInput says what to commit.
type CommitInput struct {
	Base    string // commit on which the work began
	Branch  string // branch on which it began; "" for the one that is checked out
	Message string // complete, with the trailer line
	Trailer string // name of the trailer that identifies this commit
	Key     string // its value
	Fresh   bool   // the key is new: no earlier call can have made this commit
	Squash  bool   // commits of agents at the end of the branch become part of this one
	Agents  Agents // what agents did with git; in a worktree of ralph's own all is theirs
	Here    bool   // on whatever is checked out: a person said so
	// Left are files with changes of others: the commit leaves them as they were.
	Left []ralph.LeftFile
	Tree string // Snapshot's answer when nothing happened since, saves an `add`; else ""
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
func (in CommitInput) TrailerLine() (string, error) {
	if err := CheckHash("base", in.Base); err != nil {
		return "", err
	}
	line := in.Trailer + ": " + in.Key
	if in.Trailer == "" || !OneLine(in.Key) || !HasLine(in.Message, line) {
		return "", fmt.Errorf("the message lacks the trailer line %q", line)
	}
	return line, CheckBranch(in.Branch)
}

// CheckBranch keeps what git could read as an option out of its arguments.
func CheckBranch(branch string) error {
	if strings.HasPrefix(branch, "-") || strings.ContainsAny(branch, " ~^:?*[\\\x7f") || strings.Contains(branch, "..") {
		return fmt.Errorf("%q is not the name of a branch", branch)
	}
	return nil
}

// errRaced is that somebody committed while ralph did: its commit was taken back.
var errRaced = errors.New("somebody committed at the same moment")

// maxRaces is how often a commit is tried that somebody else's came before.
const maxRaces = 5

// Commit makes one commit of everything in the work tree (D-046),
// without ralph's own files and in.Left, also when nothing changed. Hooks and
// signing work as in a commit by hand. In the user's checkout only commits of agents are
// squashed that nobody else's stands on, and HEAD stays on the branch that it is on:
// where that is not in.Branch it is an *AwayError. Calling it again after a crash returns
// the commit that carries the trailer already. A failed hook is an *Error and
// leaves history as it was; commits of the agent that were squashed stay
// below refs/ralph/recovery/.
func (r *Repo) Commit(ctx context.Context, in CommitInput) (Commit, error) {
	r.Lock()
	defer r.Unlock()
	line, err := in.TrailerLine()
	if err != nil {
		return Commit{}, fmt.Errorf("commit: %w", err)
	}
	for range maxRaces {
		c, err := r.commitOnce(ctx, in, line)
		if !errors.Is(err, errRaced) {
			return c, err
		}
		in.Fresh = false // should ralph's own not have been taken back, it is found
	}
	return Commit{}, fmt.Errorf("commit: %w, %d times", errRaced, maxRaces)
}

func (r *Repo) commitOnce(ctx context.Context, in CommitInput, line string) (Commit, error) {
	h, err := r.Settled(ctx)
	if err != nil {
		return Commit{}, fmt.Errorf("commit: %w", err)
	}
	if c, err := r.find(ctx, h.Commit, in, line); err != nil || c.Found {
		return c, err
	}
	if err := r.SettledOp(in.Agents, false); err != nil {
		return Commit{}, err
	}
	if in.Branch != "" && r.ours {
		r.FreeRefs(ctx, "refs/heads/"+in.Branch)
	}
	at := h.Commit
	if h, err = r.commitBranch(ctx, h, in, line); err != nil {
		return Commit{}, err
	}
	if h.Commit != at {
		if c, err := r.find(ctx, h.Commit, in, line); err != nil || c.Found {
			return c, err
		}
	}
	s, err := r.parent(ctx, h.Commit, in)
	if err != nil {
		return Commit{}, err
	}
	parent := s.To
	c, err := r.commitOn(ctx, parent, in)
	if err != nil {
		if late := r.late(ctx, parent, in, line); late.Found {
			return late, nil
		}
	}
	if err != nil && parent != h.Commit {
		err = errors.Join(err, r.undoSquash(ctx, parent, h.Commit))
	}
	c.Kept, c.More, c.Apart, c.Folded = s.Kept, s.More, s.Apart, s.folded
	c.Gone = s.gone && s.To != in.Base
	if err == nil && len(c.Kept) > 0 {
		c.Shared, err = r.shared(ctx, parent, c)
	}
	return c, err
}

// commitBranch is where the commit goes: the branch that the work began on. Before a
// person is asked about another, it looks whether the commit has been made there.
func (r *Repo) commitBranch(ctx context.Context, h Head, in CommitInput, line string) (Head, error) {
	if in.Here {
		return h, nil
	}
	back, err := r.AtHome(ctx, h, in.Branch, in.Base, in.Key, in.Agents)
	if _, elsewhere := errors.AsType[*AwayError](err); !elsewhere || in.Fresh {
		return back, err
	}
	tip, failed := r.Ref(ctx, "refs/heads/"+in.Branch)
	if failed != nil || tip == "" {
		return h, errors.Join(err, failed)
	}
	if c, failed := r.find(ctx, tip, in, line); failed != nil || c.Found {
		return Head{Commit: tip, Branch: in.Branch}, failed
	}
	return h, err
}

// late is the commit when the git of an engine that was killed made it, after
// all, while ours was on its way and failed because HEAD had moved.
func (r *Repo) late(ctx context.Context, parent string, in CommitInput, line string) Commit {
	h, err := r.Head(ctx)
	if err != nil || h.Commit == parent {
		return Commit{}
	}
	c, err := r.find(ctx, h.Commit, in, line)
	if err != nil {
		return Commit{} // the failure of the commit says more
	}
	return c
}

// find looks for a commit that carries the trailer: at HEAD, or since base.
func (r *Repo) find(ctx context.Context, head string, in CommitInput, line string) (Commit, error) {
	if in.Fresh {
		return Commit{}, nil
	}
	at, err := r.ReadCommit(ctx, head)
	if err != nil {
		return Commit{}, fmt.Errorf("read HEAD's commit: %w", err)
	}
	if at.Carries(line) {
		// A crash may also have come before the index was brought in line.
		return Commit{Hash: head, Short: head[:7], Tree: at.Tree, Found: true, Stale: !r.resetIndex(ctx)}, nil
	}
	if head == in.Base {
		return Commit{}, nil
	}
	out, err := r.Run(ctx, Call{
		Args: []string{"log", "-z", "--first-parent", "--no-show-signature", "--no-color", fmt.Sprintf("--max-count=%d", lookBack), "--format=%H%n%T%n%B", in.Base + ".." + head},
		Conf: []string{"i18n.logOutputEncoding=UTF-8"},
	})
	if err != nil {
		return Commit{}, fmt.Errorf("look for the commit: %w", err)
	}
	for record := range strings.SplitSeq(out, "\x00") {
		f := strings.SplitN(record, "\n", 3)
		if len(f) == 3 && HasLine(f[2], line) {
			return Commit{Hash: f[0], Short: f[0][:7], Tree: f[1], Found: true}, nil
		}
	}
	return Commit{}, nil
}

// parent says what the new commit goes on top of. Squashing moves
// HEAD back below the agents' commits; the files stay.
func (r *Repo) parent(ctx context.Context, head string, in CommitInput) (SinceBase, error) {
	s := SinceBase{To: head}
	if head == in.Base || r.line == (lineage{in.Base, head}) && !in.Squash {
		return s, nil
	}
	if r.ours {
		return r.parentOfTask(ctx, head, in)
	}
	s, err := r.LookSince(ctx, in.Base, head, in.Agents)
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
func (r *Repo) parentOfTask(ctx context.Context, head string, in CommitInput) (SinceBase, error) {
	ok, err := r.line == lineage{in.Base, head}, error(nil)
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
	return Refuse("HEAD no longer contains "+base[:7]+", on which the work began",
		"go back to that history, for instance with `git switch`, or look for it in `git reflog`")
}

// undoSquash moves HEAD to the agent's commits again, unless a commit came after all.
func (r *Repo) undoSquash(ctx context.Context, parent, head string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), UndoTime)
	defer cancel()
	if h, err := r.Head(ctx); err != nil || h.Commit != parent {
		return err
	}
	return r.MoveHead(ctx, "the commit failed, back to the agent's", parent, head)
}

// commitOn commits the work tree on top of HEAD, which is at parent.
func (r *Repo) commitOn(ctx context.Context, parent string, in CommitInput) (Commit, error) {
	if err := r.fresh(ctx); err != nil {
		return Commit{}, fmt.Errorf("commit: %w", err)
	}
	own := parent // whose versions of ralph's own files the commit gets
	if r.ours {
		own = in.Base // an agent may have committed others meanwhile
	}
	if r.index.head != own {
		if err := r.RestoreOwn(ctx, own); err != nil {
			return Commit{}, fmt.Errorf("commit: %w", err)
		}
	}
	if e, err := r.readPrivate(parent); err != nil || in.Tree == "" || in.Tree != e.tree && !r.current(in.Tree) {
		if err := r.stageAll(ctx, len(parent)/2); err != nil {
			return Commit{}, err
		}
	}
	left, err := r.LeaveOut(ctx, parent, in.Left)
	if err != nil {
		return Commit{}, fmt.Errorf("commit: %w", err)
	}
	before := StagedIn(r.PrivateIndex())
	if err := r.RunCommit(ctx, in.Message, "--allow-empty", "-F", "-"); err != nil {
		return Commit{}, err
	}
	c, err := r.Made(ctx, parent)
	if err != nil {
		return Commit{}, err
	}
	files, err := r.Rewritten(ctx, before, in.Tree, c, in.Left)
	if err != nil {
		return Commit{}, fmt.Errorf("commit: %w", err)
	}
	if len(files) > 0 && c.Parent == parent {
		return Commit{}, r.UndoCommit(ctx, c, parent, "", files)
	}
	if len(left) > 0 {
		r.index.seen = seen{} // the index says less than the files
	}
	// A hook with an `add -A` of its own may have taken ralph's files along.
	if e, err := r.readPrivate(parent); err == nil && r.index.head == own && e.own != r.index.own {
		if err := r.RestoreOwn(ctx, own); err != nil {
			return Commit{}, err
		}
		if err := r.RunCommit(ctx, "", "--amend", "--no-edit", "--allow-empty", "--no-verify"); err != nil {
			return Commit{}, err
		}
		if c, err = r.Made(ctx, parent); err != nil {
			return Commit{}, err
		}
	}
	if r.index.head == parent && !r.ours {
		r.index.head = c.Hash
	}
	if c.Parent != parent && !r.ours {
		r.index = private{}
		return Commit{}, errors.Join(errRaced, r.MoveHead(ctx, "somebody committed at the same moment", c.Hash, c.Parent))
	}
	if c.Parent == parent {
		r.line = lineage{in.Base, c.Hash}
	}
	c.Left = left.Paths()
	if err := r.stagedAgain(ctx, left, len(parent)); err != nil {
		return c, fmt.Errorf("commit: %w", err)
	}
	c.Stale = !r.install(ctx)
	return c, nil
}

// RunCommit commits the private index. Maintenance would cost a quarter of a
// small commit; it can run once when all work is done.
func (r *Repo) RunCommit(ctx context.Context, message string, args ...string) error {
	_, err := r.Run(ctx, Call{
		Args:  append([]string{"commit", "-q", "--cleanup=verbatim"}, args...),
		Conf:  []string{"maintenance.auto=false", "gc.auto=0", "i18n.commitEncoding=UTF-8"},
		Index: r.PrivateIndex(), Stdin: message, Write: true, Hooks: true,
	})
	return err
}

// Abbreviate returns a commit's hash as short as git writes it in this
// repository, which its size and core.abbrev decide. It costs a process.
func (r *Repo) Abbreviate(ctx context.Context, commit string) (string, error) {
	if err := CheckHash("commit", commit); err != nil {
		return "", err
	}
	return r.Line(ctx, Call{Args: []string{"rev-parse", "--short", commit}})
}

// Made reads the commit that HEAD has come to.
func (r *Repo) Made(ctx context.Context, parent string) (Commit, error) {
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

// CommitTree makes a commit of a tree in ralph's words, without hooks.
func (r *Repo) CommitTree(ctx context.Context, tree, message string, parents ...string) (string, error) {
	args := []string{"commit-tree", tree}
	for _, p := range parents {
		args = append(args, "-p", p)
	}
	commit, err := r.Line(ctx, Call{Args: args, Stdin: message, Write: true, Conf: []string{"i18n.commitEncoding=UTF-8"}})
	if err != nil {
		return "", err
	}
	return commit, CheckHash("commit", commit)
}
