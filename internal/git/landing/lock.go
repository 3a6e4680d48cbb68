package landing

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"
	"github.com/ralph-loop/ralph/internal/git"
)

// Files in the git folder of a checkout while something lands in it.
const (
	landIndex  = "ralph-index.land"      // the person's next index
	landMarker = "ralph-index.land-mark" // becomes index.lock by a hard link; stays while files may be half way
	landAlone  = "ralph-land.lock"       // held by the process that lands
	markerHead = "locked while ralph lands "
)

// indexLock is the lock of a person's index. Its text says that it is ralph's, so
// that it is known again after a kill, which a lock of git's never is.
type indexLock struct {
	alone             *flock.Flock
	index, path, text string
	mark              string
	held              bool
	// interrupted is set when an earlier landing of the same commits was killed.
	interrupted bool
	unfinished  bool // files may be half way, which the next landing has to know
}

// lockIndex makes this process the only one of ralph's that lands in the checkout,
// and finds out whether one was killed there. The index is not locked yet.
func lockIndex(r *git.Repo, in LandInput) (l *indexLock, busy string, err error) {
	l = &indexLock{
		alone: flock.New(filepath.Join(r.GitDir(), landAlone)),
		index: r.RealIndex(), path: r.RealIndex() + ".lock", text: markerHead + in.From + " " + in.To + "\n",
		mark: filepath.Join(r.GitDir(), landMarker),
	}
	if ok, err := l.alone.TryLock(); err != nil {
		return nil, "", fmt.Errorf("lock the checkout: %w", err)
	} else if !ok {
		return nil, "another ralph is landing work in " + r.Root(), nil
	}
	for _, name := range []string{landIndex, landIndex + ".lock"} {
		_ = os.Remove(filepath.Join(r.GitDir(), name))
	}
	if strings.HasPrefix(git.ReadSmall(l.path), markerHead) { // whoever wrote it no longer has the other lock
		if err := os.Rename(l.path, l.mark); err != nil {
			return nil, "", errors.Join(fmt.Errorf("take back a lock of git's index: %w", err), l.alone.Unlock())
		}
		_ = os.Remove(l.path) // where both names are one file, a rename does nothing
	}
	l.interrupted = git.ReadSmall(l.mark) == l.text
	l.unfinished = l.interrupted
	return l, "", nil
}

// take locks the index. busy says who else has it, after a while: git's own
// commands hold it for milliseconds.
func (l *indexLock) take(ctx context.Context) (busy string, err error) {
	if l.held {
		return "", nil
	}
	_ = os.Remove(l.mark)
	if err := os.WriteFile(l.mark, []byte(l.text), 0o600); err != nil {
		return "", fmt.Errorf("lock git's index: %w", err)
	}
	for end := time.Now().Add(git.LockWait); ; {
		err := os.Link(l.mark, l.path)
		if err != nil && !errors.Is(err, os.ErrExist) { // a file system without links
			err = writeNew(l.path, l.text)
		}
		if err == nil {
			l.held = true
			return "", nil
		}
		if !errors.Is(err, os.ErrExist) {
			return "", fmt.Errorf("lock git's index: %w", err)
		}
		if time.Now().After(end) {
			return "another git command holds " + l.path + ", or was killed and left it", nil
		}
		select {
		case <-ctx.Done():
			return "", fmt.Errorf("lock git's index: %w", context.Cause(ctx))
		case <-time.After(git.LockTick):
		}
	}
}

func writeNew(name, text string) error {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// install makes a file the index.
func (l *indexLock) install(next string) error {
	if info := git.Stat(l.index); info != nil {
		_ = os.Chmod(next, info.Mode().Perm())
	}
	return os.Rename(next, l.index)
}

func (l *indexLock) release() {
	_ = os.Remove(filepath.Join(filepath.Dir(l.index), landIndex))
	if l.held {
		_ = os.Remove(l.path)
	}
	if !l.unfinished {
		_ = os.Remove(l.mark)
	}
	_ = l.alone.Unlock()
}
