package git

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/ralph-loop/ralph/internal/git/index"
	"github.com/ralph-loop/ralph/internal/regular"
)

// Files in the git folder.
const (
	PrivateName = "ralph-index"        // what snapshots and commits are made in
	StagedName  = "ralph-index.staged" // a copy of the user's, while shelving
	OthersName  = "ralph-index.others" // the private one, while files of others are left out
	nextName    = "ralph-index.next"   // the user's next index, before it takes the lock
)

// How long to wait for a git command of the user's to let go of the index.
const (
	LockWait = 2 * time.Second
	LockTick = 20 * time.Millisecond
)

// private is what this process knows about its index file. The file itself is
// only a cache: the first use in a process makes it anew.
type private struct {
	begun bool
	real  os.FileInfo // the user's index when it was copied; nil: there was none
	head  string      // commit whose versions of ralph's own files it holds, "" when unknown
	own   string      // those entries
	seen  seen
}

// RealIndex is the file of the index that whoever works here has.
func (r *Repo) RealIndex() string { return filepath.Join(r.gitDir, "index") }

// PrivateIndex is the file of ralph's own index; in a worktree of ralph's it is the one there is.
func (r *Repo) PrivateIndex() string {
	if r.ours {
		return r.RealIndex()
	}
	return filepath.Join(r.gitDir, PrivateName)
}

// Begin makes ralph's private index a copy of the user's, which carries over
// what git knows about unchanged files. It belongs at the start of a job.
func (r *Repo) Begin(ctx context.Context) error {
	r.Lock()
	defer r.Unlock()
	return r.begin(ctx)
}

func (r *Repo) begin(ctx context.Context) error {
	head, err := r.Head(ctx)
	if err != nil {
		return fmt.Errorf("begin work in git: %w", err)
	}
	if r.ours {
		return r.HoldOwn(ctx, head.Commit)
	}
	r.DropOwnLocks()
	info, err := CopyIndex(r.RealIndex(), r.PrivateIndex())
	if err != nil {
		return fmt.Errorf("copy the git index: %w", err)
	}
	x := &r.index
	x.begun, x.real = true, info
	if e, err := r.readPrivate(head.Commit); err == nil && x.head == head.Commit && x.own == e.Own {
		return nil
	}
	return r.RestoreOwn(ctx, head.Commit)
}

// fresh makes the private index follow the user's: the first use in a process
// and whatever an agent or a person staged meanwhile start from a new copy, so
// that a snapshot sees what a plain `git add -A` would.
func (r *Repo) fresh(ctx context.Context) error {
	if r.index.begun && SameFile(Stat(r.RealIndex()), r.index.real) {
		return nil
	}
	return r.begin(ctx)
}

// RestoreOwn gives the entries of ralph's own files in the private index the
// versions of a commit.
func (r *Repo) RestoreOwn(ctx context.Context, commit string) error {
	args := append([]string{"reset", "-q", commit, "--"}, OwnPaths()...)
	if _, err := r.Run(ctx, Call{Args: args, Index: r.PrivateIndex(), Write: true}); err != nil {
		return fmt.Errorf("leave ralph's own files out: %w", err)
	}
	e, err := r.readPrivate(commit)
	if err != nil {
		commit = "" // cannot be compared: put them back each time
	}
	r.index.head, r.index.own = commit, e.Own
	return nil
}

// readPrivate reads the private index. Any commit's id tells the length of ids.
func (r *Repo) readPrivate(commit string) (index.Entries, error) {
	b, err := regular.ReadFile(r.PrivateIndex(), regular.Large)
	if err != nil && !os.IsNotExist(err) {
		return index.Entries{}, err
	}
	return index.Read(b, len(commit)/2, IsOwn)
}

// DropOwnLocks removes what a killed ralph or its git left: the lock of the
// private index and, when it is provably ours, that of the user's. One engine
// at a time works in a checkout.
func (r *Repo) DropOwnLocks() {
	_ = os.Remove(r.PrivateIndex() + ".lock")
	next := filepath.Join(r.gitDir, nextName)
	lock := r.RealIndex() + ".lock"
	if a, b := Stat(next), Stat(lock); a != nil && b != nil && os.SameFile(a, b) {
		_ = os.Remove(lock)
	}
	_ = os.Remove(next)
}

// Install makes the private index the user's, which is how `git status` gets
// to see a commit. It reports whether it could: a git command that holds the
// user's index for longer keeps it from that, and nothing is lost by it.
func (r *Repo) Install(ctx context.Context) bool {
	if r.ours {
		return true // it was made there
	}
	next, lock := filepath.Join(r.gitDir, nextName), r.RealIndex()+".lock"
	_ = os.Remove(next)
	if _, err := CopyIndex(r.PrivateIndex(), next); err != nil {
		return r.ResetIndex(ctx)
	}
	defer os.Remove(next)
	if info := Stat(r.RealIndex()); info != nil {
		_ = os.Chmod(next, info.Mode().Perm())
	}
	// A hard link takes the lock with its content in one step; killed in
	// between, it can be told from a lock of somebody else's.
	for end := time.Now().Add(LockWait); ; {
		err := os.Link(next, lock)
		if err == nil {
			break
		}
		if !errors.Is(err, os.ErrExist) {
			return r.ResetIndex(ctx) // a file system without links
		}
		if time.Now().After(end) {
			return false
		}
		select {
		case <-ctx.Done():
			return false
		case <-time.After(LockTick):
		}
	}
	if err := os.Rename(lock, r.RealIndex()); err != nil {
		_ = os.Remove(lock)
		return r.ResetIndex(ctx)
	}
	r.index.real = Stat(r.RealIndex())
	return true
}

// ResetIndex lets git bring the user's index in line with HEAD.
func (r *Repo) ResetIndex(ctx context.Context) bool {
	_, err := r.Run(ctx, Call{Args: []string{"reset", "-q"}, Write: true})
	return err == nil
}

// StageFor brings the private index in line with the work tree, for a commit on top of parent
// with the versions that own has of ralph's own files. An index that holds tree already is
// not brought in line again.
func (r *Repo) StageFor(ctx context.Context, parent, own, tree string) error {
	if err := r.fresh(ctx); err != nil {
		return err
	}
	if r.index.head != own {
		if err := r.RestoreOwn(ctx, own); err != nil {
			return err
		}
	}
	if e, err := r.readPrivate(parent); err == nil && tree != "" && (tree == e.Tree || r.current(tree)) {
		return nil
	}
	return r.stageAll(ctx, len(parent)/2)
}

// OwnTaken reports whether the private index has ralph's own files otherwise than own, whose
// versions it was given.
func (r *Repo) OwnTaken(parent, own string) bool {
	e, err := r.readPrivate(parent)
	return err == nil && r.index.head == own && e.Own != r.index.own
}

// Advance notes a commit that was made of the private index on top of parent, and that base
// is among its ancestors.
func (r *Repo) Advance(base, parent, commit string) {
	if r.index.head == parent && !r.ours {
		r.index.head = commit
	}
	r.line = lineage{base, commit}
}

// Advanced reports whether head is known to have base among its ancestors.
func (r *Repo) Advanced(base, head string) bool { return r.line == lineage{base, head} }

// ForgetSeen forgets which tree the private index is known to hold.
func (r *Repo) ForgetSeen() { r.index.seen = seen{} }

// CopyIndex copies an index file with its time of change, by which git tells
// which entries may have changed in the same tick of the clock. No index is an
// empty one. It returns what the source was, nil for none.
func CopyIndex(from, to string) (os.FileInfo, error) {
	src, info, err := regular.Open(from) // an agent may have put a pipe there
	if os.IsNotExist(err) {
		if err := os.Remove(to); err != nil && !os.IsNotExist(err) {
			return nil, err
		}
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer src.Close()
	tmp, err := os.CreateTemp(filepath.Dir(to), filepath.Base(to)+"-*")
	if err != nil {
		return nil, err
	}
	defer os.Remove(tmp.Name())
	_, err = io.Copy(tmp, src)
	if err := errors.Join(err, tmp.Close()); err != nil {
		return nil, err
	}
	if err := os.Chtimes(tmp.Name(), info.ModTime(), info.ModTime()); err != nil {
		return nil, err
	}
	return info, os.Rename(tmp.Name(), to)
}

// Stat returns nil for a file that cannot be looked at.
func Stat(name string) os.FileInfo {
	info, err := os.Stat(name)
	if err != nil {
		return nil
	}
	return info
}

// SameFile reports whether nobody wrote between two looks; git always writes
// an index by renaming a new file over it.
func SameFile(a, b os.FileInfo) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

// Elsewhere forgets what was known about a work tree that is at another commit now.
func (r *Repo) Elsewhere() { r.index, r.line, r.at = private{}, lineage{}, EnteredPlace{} }

// ForgetIndex forgets what was known of the index and of the branch's commits: something
// else than this Repo's own commits changed them.
func (r *Repo) ForgetIndex() { r.index, r.line = private{}, lineage{} }

// TwoIndexes gives this Repo an index of its own beside the real one, also in a worktree of
// ralph's, until back is called: what is staged is compared with the files, and they need an
// index each. Afterwards its own is about another tree.
func (r *Repo) TwoIndexes() (back func()) {
	ours := r.ours
	r.ours = false
	return func() { r.index, r.ours = private{}, ours }
}
