package journal

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ralph-loop/ralph"
)

// Owner is who holds the session lock, as session.lock says it.
type Owner struct {
	SessionID   ralph.SessionID `json:"session_id"`
	Pid         int             `json:"pid"`
	Start       string          `json:"start,omitempty"` // boot id and start time: a pid alone may be reused
	Host        string          `json:"host"`
	StartedAt   time.Time       `json:"started_at"`
	HeartbeatAt time.Time       `json:"heartbeat_at"`
}

// LockedError is a start refused because the owner of the lock lives.
type LockedError struct {
	Owner Owner
	Age   time.Duration // since the heartbeat
}

func (e *LockedError) Error() string {
	return fmt.Sprintf("another engine works in this repository: pid %d on %s, started %s, last sign of life %s ago",
		e.Owner.Pid, e.Owner.Host, e.Owner.StartedAt.Local().Format("2006-01-02 15:04:05"), e.Age.Round(time.Second))
}

func (e *LockedError) Unwrap() error { return ralph.ErrLocked }

// staleAfter is the age of a heartbeat from which a lock of another host counts
// as left behind (C, X-02). On this host the kernel knows better.
const staleAfter = 30 * time.Minute

// How often Lock tries when the lock is held and nobody alive is to be seen.
const (
	tries    = 10
	tryEvery = 10 * time.Millisecond
)

// SessionLock is the right to be the engine of this repository.
type SessionLock struct {
	path  string
	file  *os.File // holds the flock
	info  os.FileInfo
	owner Owner
	size  int // of the text, padded

	mu     sync.Mutex  // Held is called by the engine and the heartbeat
	looked os.FileInfo // the file when its text was read last and was ours
	at     time.Time   // when that was
}

// Lock takes the session lock. The kernel frees it when its owner dies, however
// that happens; the file's text says who it is, and tells apart an owner on
// another host, where the kernel cannot help. took says that a dead owner's lock
// was taken over, with that owner.
func (j *File) Lock(me Owner, alive func(pid int, start string) bool) (lock *SessionLock, took *Owner, err error) {
	path := filepath.Join(j.dir, "session.lock")
	for try := 1; try <= tries; try++ {
		old, err := readOwner(path)
		if err != nil {
			return nil, nil, err
		}
		now := j.opt.Now()
		if old != nil && old.Host != me.Host && now.Sub(old.HeartbeatAt) < staleAfter {
			return nil, nil, &LockedError{*old, now.Sub(old.HeartbeatAt)}
		}
		lock, err := tryLock(path, me)
		switch {
		case errors.Is(err, unix.EWOULDBLOCK):
			// Holder takes the lock for an instant, and a new owner has not
			// written its name yet: only a live owner is a reason to refuse.
			owner, err := readOwner(path)
			if err == nil && (owner == nil || owner.Host == me.Host && !alive(owner.Pid, owner.Start)) && try < tries {
				time.Sleep(tryEvery)
				continue
			}
			return nil, nil, errors.Join(err, locked(owner, now))
		case err != nil:
			return nil, nil, fmt.Errorf("lock %s: %w", path, err)
		case lock == nil: // removed by its last owner between open and lock: again
			continue
		}
		if old != nil && old.Host == me.Host && old.Pid != me.Pid && alive(old.Pid, old.Start) {
			// A file system without working locks: the owner is there all the same.
			return nil, nil, errors.Join(&LockedError{*old, now.Sub(old.HeartbeatAt)}, lock.file.Close())
		}
		if err := lock.write(me.HeartbeatAt); err != nil {
			return nil, nil, errors.Join(err, lock.file.Close())
		}
		j.mu.Lock()
		j.fence = lock.Held
		j.mu.Unlock()
		return lock, old, nil
	}
	return nil, nil, fmt.Errorf("lock %s: it comes and goes; is another ralph starting and stopping?", path)
}

func locked(owner *Owner, now time.Time) error {
	if owner == nil {
		owner = &Owner{Host: "unknown"}
	}
	return &LockedError{*owner, now.Sub(owner.HeartbeatAt)}
}

// tryLock opens and locks the file; nil when the locked file is no longer the
// one at path. The flock package cannot tell which file it locked, so this is
// done by hand.
func tryLock(path string, me Owner) (*SessionLock, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	mine, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if there, err := os.Stat(path); err != nil || !os.SameFile(mine, there) {
		return nil, f.Close()
	}
	return &SessionLock{path: path, file: f, info: mine, owner: me}, nil
}

// Beat writes a sign of life, unless the lock was taken away.
func (l *SessionLock) Beat(now time.Time) error {
	if err := l.Held(); err != nil {
		return err
	}
	return l.write(now)
}

// write pads with spaces to one length, so that who reads meanwhile never finds
// the rest of a longer text.
func (l *SessionLock) write(now time.Time) error {
	l.owner.HeartbeatAt = now.UTC().Truncate(time.Millisecond)
	b, err := json.Marshal(l.owner)
	if err != nil {
		return fmt.Errorf("write session.lock: %w", err)
	}
	l.size = max(l.size, len(b)+len(".000"))
	if _, err := fmt.Fprintf(io.NewOffsetWriter(l.file, 0), "%-*s\n", l.size, b); err != nil {
		return fmt.Errorf("write session.lock: %w", err)
	}
	return l.file.Truncate(int64(l.size + 1))
}

// Held fails when the lock is no longer ours: the file was removed, replaced or
// signed by another engine while this process slept. The engine then stops
// before its next write.
func (l *SessionLock) Held() error {
	info, err := os.Stat(l.path)
	if err == nil && os.SameFile(info, l.info) {
		if l.unchanged(info) {
			return nil
		}
		at := time.Now()
		owner, err := readOwner(l.path)
		if err == nil && (owner == nil || owner.Host == l.owner.Host && owner.Pid == l.owner.Pid && owner.SessionID == l.owner.SessionID) {
			l.mu.Lock()
			l.looked, l.at = info, at
			l.mu.Unlock()
			return nil
		}
	}
	if errors.Is(err, os.ErrNotExist) {
		return lostLock{}
	}
	return fmt.Errorf("%w: ralph/.state/session.lock was taken away from this process; it stops before its next write", ralph.ErrLocked)
}

// lostLock is a lock file that somebody deleted, most often an agent together
// with other state. Another engine may hold a new one by now: whatever else is
// still there, this one must not go on.
type lostLock struct{}

func (lostLock) Error() string {
	return "ralph/.state/session.lock was deleted while ralph works; it stops before its next write"
}

func (lostLock) Is(target error) bool { return target == ralph.ErrLocked || target == ErrGone }

// lockTick is past the steps in which file systems count time: who writes later
// than that after a look leaves another time of change.
const lockTick = 50 * time.Millisecond

// unchanged reports whether the text needs no look, since nobody wrote the file
// since the last one. Every fact of the engine asks.
func (l *SessionLock) unchanged(info os.FileInfo) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.looked != nil && l.looked.Size() == info.Size() && l.looked.ModTime().Equal(info.ModTime()) &&
		l.at.Sub(info.ModTime()) > lockTick
}

// Unlock removes the file, if it is still ours, and frees the lock.
func (l *SessionLock) Unlock() error {
	var err error
	if l.Held() == nil {
		err = os.Remove(l.path)
	}
	return errors.Join(err, l.file.Close())
}

// readOwner returns nil without an error when there is no lock file or it says nothing.
func readOwner(path string) (*Owner, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	var o Owner
	if json.Unmarshal(b, &o) != nil || o.Pid == 0 {
		return nil, nil
	}
	return &o, nil
}

// Holder returns the owner of the session lock when an engine holds it now.
func (j *File) Holder() *Owner {
	path := filepath.Join(j.dir, "session.lock")
	owner, err := readOwner(path)
	if err != nil || owner == nil {
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	if unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB) == nil {
		return nil
	}
	return owner
}
