// Package shelve puts away what work left behind that is not to stay: as a stash, or below a
// recovery ref, before anything is cleaned; and puts a checkout back to a tree that was seen
// before. What somebody else changed meanwhile stays where it is.
//
// It does NOT own when that happens. Worktrees of tasks, as wholes, are internal/git/worktrees'.
package shelve

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/git"
	"github.com/ralph-loop/ralph/internal/git/commits"
	"github.com/ralph-loop/ralph/internal/git/diff"
)

// What Shelve can do with the changes of a failed spec (agent_mode.on_failure).
const (
	ShelveStash = "stash"
	ShelveReset = "reset"
	ShelveKeep  = "keep"
)

// ShelveTrailer marks the commits of one Shelve, so that a second call after a
// crash knows them again.
const ShelveTrailer = "Ralph-Shelve"

// ShelveInput says what to put away.
type ShelveInput struct {
	How     string         // ShelveStash, ShelveReset or ShelveKeep
	Base    string         // commit to return to
	Branch  string         // branch on which the work began; "" for the one that is checked out
	Message string         // one line: what `git stash list` shows
	ID      string         // of this failure; the same when the call is repeated
	Agents  commits.Agents // what agents did with git
	// Left are files with changes of others: they stay as they are.
	Left []ralph.LeftFile
}

// Shelved is where the changes went.
type Shelved struct {
	Stash string // commit of the stash, "" when there was nothing to stash
	Ref   string // below refs/ralph/recovery/, "" when nothing is kept there
	// What stays, as in Commit.
	Kept  []ralph.OtherCommit
	More  int
	Apart []string
	Left  []string
}

// Shelve puts what agents changed since Base away (D-072) and brings HEAD, the
// user's index and the work tree back to it, or to the newest commit of somebody else's
// since. A HEAD that somebody took to another branch stays there: stash makes an ordinary
// stash of them, untracked files included, and keeps commits made since Base
// in a recovery ref; reset keeps both in a recovery ref; keep does nothing.
// The folder ralph/, logs and ignored files stay as they are. Everything is in
// a commit before anything is removed, and files that change in between make
// it fail rather than lose them. It may be called again after a crash.
func Shelve(ctx context.Context, r *git.Repo, in ShelveInput) (Shelved, error) {
	if in.How == ShelveKeep {
		return Shelved{}, nil
	}
	if in.How != ShelveStash && in.How != ShelveReset {
		return Shelved{}, fmt.Errorf("shelve: unknown way %q", in.How)
	}
	if !git.OneLine(in.Message) || !git.OneLine(in.ID) {
		return Shelved{}, errors.New("shelve: message and id must be one line each")
	}
	if err := errors.Join(git.CheckHash("base", in.Base), git.CheckBranch(in.Branch)); err != nil {
		return Shelved{}, fmt.Errorf("shelve: %w", err)
	}
	r.Lock()
	defer r.Unlock()
	defer r.TwoIndexes()()
	head, err := r.Settled(ctx)
	if err != nil {
		return Shelved{}, fmt.Errorf("shelve: %w", err)
	}
	head, st, err := stays(ctx, r, head, in)
	if err != nil {
		return Shelved{}, err
	}
	in.Base = st.To
	left, err := leftover(ctx, r, in.Base, in.Left)
	if err != nil {
		return Shelved{}, fmt.Errorf("shelve: %w", err)
	}
	var out Shelved
	if in.How == ShelveStash {
		out, err = Stash(ctx, r, in, head, left)
	} else {
		out, err = Aside(ctx, r, in, head, left)
	}
	if err != nil {
		return Shelved{}, fmt.Errorf("shelve: %w", err)
	}
	out.Kept, out.More, out.Apart, out.Left = st.Kept, st.More, st.Apart, left.others
	if err := cleanUp(ctx, r, in.Base, head.Commit, left); err != nil {
		return out, fmt.Errorf("shelve: the changes are safe (%s), but the work tree was not cleaned: %w",
			strings.TrimSpace(out.Stash+" "+out.Ref), err)
	}
	return out, nil
}

// stays says what of the history stays: all but the agents' commits at its end, and all
// of a branch that somebody else has switched to.
func stays(ctx context.Context, r *git.Repo, head git.Head, in ShelveInput) (git.Head, commits.SinceBase, error) {
	if err := commits.SettledOp(r, in.Agents, true); err != nil {
		return head, commits.SinceBase{}, fmt.Errorf("nothing was put away: %w", err)
	}
	back, err := commits.AtHome(ctx, r, head, in.Branch, in.Base, in.ID, in.Agents)
	if _, elsewhere := errors.AsType[*commits.AwayError](err); elsewhere {
		return head, commits.SinceBase{To: head.Commit}, nil
	}
	if err != nil {
		return head, commits.SinceBase{}, err
	}
	s, err := commits.LookSince(ctx, r, in.Base, back.Commit, in.Agents)
	if err != nil {
		return back, s, fmt.Errorf("shelve: %w", err)
	}
	return back, s, nil
}

// Leftover is what there is to put away, as trees in which ralph/ and the logs
// are those of the base.
type Leftover struct {
	Base  string // the tree to return to
	Files string // the work tree
	Index string // what was staged
	// others are files with changes of somebody else's: in all three as in base.
	others []string
}

// None reports that there is nothing.
func (l Leftover) None() bool { return l.Files == l.Base && l.Index == l.Base }

// leftover also makes the private index describe the work tree. It starts from
// the base's files, so that one which the agent untracked and ignored is seen.
func leftover(ctx context.Context, r *git.Repo, base string, others []ralph.LeftFile) (Leftover, error) {
	var l Leftover
	at, err := r.ReadCommit(ctx, base)
	if err != nil {
		return l, err
	}
	l.Base = at.Tree
	r.DropOwnLocks()
	if _, err := git.CopyIndex(r.RealIndex(), r.PrivateIndex()); err != nil {
		return l, fmt.Errorf("copy the git index: %w", err)
	}
	if _, err := r.Run(ctx, git.Call{Args: []string{"read-tree", "--reset", base}, Index: r.PrivateIndex(), Write: true}); err != nil {
		return l, err
	}
	if err := addRest(ctx, r); err != nil {
		return l, err
	}
	if l.others, l.Files, err = withoutOthers(ctx, r, base, others); err != nil {
		return l, err
	}
	l.Index, err = stagedTree(ctx, r, base, l.Base, l.others)
	return l, err
}

// withoutOthers writes the tree of the work tree in which files with changes of others
// are as in base. The private index goes on to say how they are, so that git, which
// compares trees, leaves them alone.
func withoutOthers(ctx context.Context, r *git.Repo, base string, others []ralph.LeftFile) ([]string, string, error) {
	keep := filepath.Join(r.GitDir(), git.OthersName)
	defer os.Remove(keep)
	if len(others) > 0 {
		if _, err := git.CopyIndex(r.PrivateIndex(), keep); err != nil {
			return nil, "", err
		}
	}
	others = slices.Clone(others)
	for i := range others {
		others[i].Was = "" // what an agent made of it is in the file, below their change
	}
	left, err := commits.LeaveOut(ctx, r, base, others)
	if err != nil {
		return nil, "", err
	}
	tree, err := r.WriteTree(ctx, r.PrivateIndex())
	if err != nil || len(left) == 0 {
		return nil, tree, err
	}
	_, err = git.CopyIndex(keep, r.PrivateIndex())
	return left.Paths(), tree, err
}

// addRest adds what is outside ralph's folders. A repository inside this one
// that has no commit yet makes git give up; it stays where it is, like those
// with commits, so that a failed spec can be put away all the same.
func addRest(ctx context.Context, r *git.Repo) error { return r.AddAll(ctx, git.WithoutOwnFolders()) }

// stagedTree returns the tree of the user's index. One with conflicts has
// none; their text is in the files.
func stagedTree(ctx context.Context, r *git.Repo, base, baseTree string, others []string) (string, error) {
	staged := filepath.Join(r.GitDir(), git.StagedName)
	defer os.Remove(staged)
	info, err := git.CopyIndex(r.RealIndex(), staged)
	if err != nil || info == nil {
		return baseTree, err
	}
	args := append([]string{"reset", "-q", base, "--"}, git.OwnFolders()...)
	for _, path := range others {
		args = append(args, ":(top,literal)"+path)
	}
	if _, err := r.Run(ctx, git.Call{Args: args, Index: staged, Write: true}); err != nil {
		return "", err
	}
	unmerged, err := r.Unmerged(ctx, len(base)/2)
	if err != nil || len(unmerged) > 0 {
		return baseTree, err
	}
	return r.WriteTree(ctx, staged)
}

// Stash stores the leftover as a stash, and commits since the base in a ref.
func Stash(ctx context.Context, r *git.Repo, in ShelveInput, head git.Head, left Leftover) (out Shelved, err error) {
	if head.Commit != in.Base {
		if out.Ref, err = r.Keep(ctx, in.ID, head.Commit); err != nil {
			return out, err
		}
	}
	r.LockStashes()
	defer r.UnlockStashes()
	if out.Stash, err = stashed(ctx, r, in, left); err != nil || out.Stash != "" || left.None() {
		return out, err
	}
	staged, err := r.CommitTree(ctx, left.Index, "index on "+head.Branch+": "+in.Message, in.Base)
	if err != nil {
		return out, err
	}
	commit, err := r.CommitTree(ctx, left.Files, marked(in), in.Base, staged)
	if err != nil {
		return out, err
	}
	_, err = r.Run(ctx, git.Call{Args: []string{"stash", "store", "-q", "-m", in.Message, commit}, Write: true})
	if err != nil {
		return out, err
	}
	out.Stash = commit
	return out, nil
}

func marked(in ShelveInput) string {
	return in.Message + "\n\n" + ShelveTrailer + ": " + in.ID + "\n"
}

// stashed returns the stash that holds the leftover already: of an earlier
// call with this id, perhaps cut off half way through its cleaning up, or of
// the same tree and message. Stashes are known by commit, never by position.
func stashed(ctx context.Context, r *git.Repo, in ShelveInput, left Leftover) (string, error) {
	out, err := r.Run(ctx, git.Call{
		Args: []string{"stash", "list", "-z", "--no-show-signature", "--no-color", "--format=%H%n%T%n%P%n%gs%n%B"},
		Conf: []string{"i18n.logOutputEncoding=UTF-8"},
	})
	if err != nil {
		return "", fmt.Errorf("list stashes: %w", err)
	}
	for record := range strings.SplitSeq(out, "\x00") {
		f := strings.SplitN(record, "\n", 5)
		if len(f) < 5 || !strings.HasPrefix(f[2], in.Base+" ") {
			continue
		}
		mine := git.HasLine(f[4], ShelveTrailer+": "+in.ID)
		if !mine && (f[1] != left.Files || f[3] != in.Message || left.None()) {
			continue
		}
		if ok, err := covers(ctx, r, append(strings.Fields(f[2])[1:], f[0]), left); err != nil || ok {
			return f[0], err
		}
	}
	return "", nil
}

// covers reports whether every change in the leftover is, just so, a change in
// one of the commits.
func covers(ctx context.Context, r *git.Repo, commits []string, left Leftover) (bool, error) {
	if left.None() {
		return true, nil
	}
	held := map[diff.Change]bool{}
	for _, c := range commits {
		changes, err := diff.Changes(ctx, r, left.Base, c)
		if err != nil {
			return false, err
		}
		for _, change := range changes {
			held[change] = true
		}
	}
	for _, tree := range []string{left.Files, left.Index} {
		changes, err := diff.Changes(ctx, r, left.Base, tree)
		if err != nil {
			return false, err
		}
		for _, change := range changes {
			if !held[change] {
				return false, nil
			}
		}
	}
	return true, nil
}

// Aside keeps everything since the base in a recovery ref.
func Aside(ctx context.Context, r *git.Repo, in ShelveInput, head git.Head, left Leftover) (Shelved, error) {
	ref := git.RecoveryRef(in.ID)
	held, err := r.Ref(ctx, ref)
	if err != nil {
		return Shelved{}, err
	}
	if held != "" {
		if ok, err := holds(ctx, r, in, held, head.Commit, left); err != nil || ok {
			return Shelved{Ref: ref}, err
		}
	}
	commit, err := asideCommit(ctx, r, in, head, left)
	if err != nil || commit == in.Base {
		return Shelved{}, err
	}
	ref, err = r.Keep(ctx, in.ID, commit)
	return Shelved{Ref: ref}, err
}

// holds reports whether an earlier call put all of it into the commit held.
func holds(ctx context.Context, r *git.Repo, in ShelveInput, held, head string, left Leftover) (bool, error) {
	if head == in.Base && left.None() {
		return true, nil
	}
	at, err := r.ReadCommit(ctx, held)
	if err != nil || !at.Carries(ShelveTrailer+": "+in.ID) {
		return false, err
	}
	if ok, err := r.Descends(ctx, held, head); err != nil || !ok {
		return false, err
	}
	return covers(ctx, r, append([]string{held}, at.Parents[1:]...), left)
}

// asideCommit makes a commit of the leftover on top of HEAD; it returns HEAD's
// own when that holds everything.
func asideCommit(ctx context.Context, r *git.Repo, in ShelveInput, head git.Head, left Leftover) (string, error) {
	at, err := r.ReadCommit(ctx, head.Commit)
	if err != nil {
		return "", err
	}
	staged := left.Index != left.Files && left.Index != left.Base && left.Index != at.Tree
	if left.Files == at.Tree && !staged {
		return head.Commit, nil
	}
	parents := []string{head.Commit}
	if staged {
		commit, err := r.CommitTree(ctx, left.Index, "index: "+in.Message, in.Base)
		if err != nil {
			return "", err
		}
		parents = append(parents, commit)
	}
	return r.CommitTree(ctx, left.Files, marked(in), parents...)
}
