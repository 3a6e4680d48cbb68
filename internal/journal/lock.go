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

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/views"
	"golang.org/x/sys/unix"
)

// Owner is who holds the session lock, as session.lock says it.
type Owner struct {
	SessionID   ralph.SessionID `json:"session_id"`
	Pid         int             `json:"pid"`
	Start       string          `json:"start,omitempty"`     // boot id and start time: a pid alone may be reused
	Boot        string          `json:"boot,omitempty"`      // the kernel's boot; "" where none is known
	PidSpace    string          `json:"pid_space,omitempty"` // whose number pid is: each container has its own
	Host        string          `json:"host"`
	StartedAt   time.Time       `json:"started_at"`
	HeartbeatAt time.Time       `json:"heartbeat_at"`
}

// same reports whether both are one engine, whenever they gave a sign of life.
func (o *Owner) same(p *Owner) bool {
	return o.SessionID == p.SessionID && o.Pid == p.Pid && o.Start == p.Start && o.Boot == p.Boot &&
		o.PidSpace == p.PidSpace && o.Host == p.Host && o.StartedAt.Equal(p.StartedAt)
}

// Locality is where an owner runs, as seen from this process.
type Locality string

// The places.
const (
	Here      Locality = "here"      // its pid can be looked at and signalled
	Container Locality = "container" // on this kernel; its pid means somebody else here, or nobody
	Elsewhere Locality = "elsewhere" // on another machine
)

// seenFrom compares kernels first: host names change with the network, and are the
// same in many containers. One host name with another boot is a machine that was
// started again.
func (o *Owner) seenFrom(me *Owner) Locality {
	known := o.Boot != "" && me.Boot != ""
	switch {
	case known && o.Boot == me.Boot && o.PidSpace != "" && me.PidSpace != "" && o.PidSpace != me.PidSpace:
		return Container
	case known && o.Boot == me.Boot, o.Host == me.Host, me.Host == "":
		return Here
	}
	return Elsewhere
}

// LockedError is a start refused because the owner of the lock lives.
type LockedError struct {
	LockInfo
	Frees time.Duration // Elsewhere: the lock is stale after that time without a sign of life
}

func (e *LockedError) Error() string {
	o := e.Owner
	if o.Pid == 0 {
		return "another engine works in this repository; it has not written its name yet"
	}
	where := fmt.Sprintf("pid %d on %s", o.Pid, o.Host)
	if e.Place == Container {
		where = fmt.Sprintf("in another container of this machine, where it is pid %d on %s", o.Pid, o.Host)
	}
	if o.SessionID != "" {
		where += ", session " + string(o.SessionID)
	}
	life := fmt.Sprintf("last sign of life %s ago", e.Age.Round(time.Second))
	switch {
	case e.Ahead > 0:
		life = fmt.Sprintf("its clock is %s ahead of this one's", e.Ahead.Round(time.Second))
	case o.HeartbeatAt.IsZero():
		life = "its lock names no time of a sign of life"
	}
	if !o.StartedAt.IsZero() {
		life = "started " + o.StartedAt.Local().Format("2006-01-02 15:04:05") + ", " + life
	}
	return fmt.Sprintf("another engine works in this repository: %s, %s", where, life)
}

func (e *LockedError) Unwrap() error { return ralph.ErrLocked }

// staleAfter is the age of a heartbeat from which a lock of another host counts
// as left behind. On this host the kernel knows better.
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

	mu     sync.Mutex  // for what follows and owner: Held is called by the engine and the heartbeat
	looked os.FileInfo // the file when its text was read last and was ours
	at     time.Time   // when that was
}

// Lock takes the session lock. The kernel frees it when its owner dies, however
// that happens; the file's text says who it is, and tells apart an owner on
// another host, where the kernel cannot help. took says that a dead owner's lock
// was taken over, with that owner. A refusal is a *LockedError.
func (j *File) Lock(me Owner, alive func(pid int, start string) bool) (lock *SessionLock, took *Owner, err error) {
	path := filepath.Join(j.dir, lockName)
	for try := 1; try <= tries; try++ {
		old, err := readOwner(path)
		if err != nil {
			return nil, nil, err
		}
		now := j.opt.Now()
		if old != nil && old.seenFrom(&me) == Elsewhere {
			if info := j.lockInfo(old, &me, alive, now); info.Live {
				return nil, nil, errors.Join(locked(info), j.noteAhead(old, now))
			}
		}
		lock, err := j.tryLock(path, me)
		switch {
		case errors.Is(err, unix.EWOULDBLOCK):
			// Holder takes the lock for an instant, and a new owner has not
			// written its name yet: only a live owner is a reason to refuse.
			owner, err := readOwner(path)
			if err == nil && (owner == nil || owner.seenFrom(&me) == Here && !alive(owner.Pid, owner.Start)) && try < tries {
				time.Sleep(tryEvery)
				continue
			}
			return nil, nil, errors.Join(err, locked(j.lockInfo(owner, &me, alive, now)))
		case err != nil:
			return nil, nil, cannotLock(lockName, err)
		case lock == nil: // removed by its last owner between open and lock: again
			continue
		}
		if old != nil && old.Pid != me.Pid && old.seenFrom(&me) == Here && alive(old.Pid, old.Start) {
			// A file system without working locks: the owner is there all the same.
			return nil, nil, errors.Join(locked(j.lockInfo(old, &me, alive, now)), lock.file.Close())
		}
		if err := lock.write(me.HeartbeatAt); err != nil {
			return nil, nil, errors.Join(err, os.Remove(path), lock.file.Close())
		}
		_ = os.Remove(filepath.Join(j.dir, aheadName)) // what it knew was of an older owner
		j.mu.Lock()
		j.fence = lock.Held
		j.mu.Unlock()
		return lock, old, nil
	}
	return nil, nil, fmt.Errorf("lock %s: it comes and goes; is another ralph starting and stopping?", path)
}

// cannotLock explains a file system that knows no locks.
func cannotLock(name string, err error) error {
	if errors.Is(err, unix.ENOLCK) || errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOSYS) {
		return &ralph.Refusal{
			Why:  fmt.Sprintf("the file system of %s has no file locks (%v)", views.StateDir, err),
			Hint: "work in a clone on a local disk, or mount it with locks", Kind: ralph.ErrUsage,
		}
	}
	return fmt.Errorf("lock %s/%s: %w", views.StateDir, name, err)
}

// tryLock opens and locks the file; nil when the locked file is no longer the
// one at path. The flock package cannot tell which file it locked, so this is
// done by hand.
func (j *File) tryLock(path string, me Owner) (*SessionLock, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := j.flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
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

// Name writes the session that the engine works on, which it knows only when it
// has the lock.
func (l *SessionLock) Name(id ralph.SessionID, now time.Time) error {
	if err := l.Held(); err != nil {
		return err
	}
	l.mu.Lock()
	l.owner.SessionID = id
	l.mu.Unlock()
	return l.write(now)
}

// write pads with spaces to one length, so that who reads meanwhile never finds
// the rest of a longer text, and a full disk has room for it.
func (l *SessionLock) write(now time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.looked = nil
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
	switch {
	case errors.Is(err, os.ErrNotExist):
		return lostLock{}
	case err != nil:
		return fmt.Errorf("look at the session lock: %w", err)
	case os.SameFile(info, l.info) && l.unchanged(info):
		return nil
	}
	at := time.Now()
	owner, err := readOwner(l.path)
	if err != nil {
		return fmt.Errorf("look at the session lock: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if os.SameFile(info, l.info) && (owner == nil || owner.same(&l.owner)) {
		l.looked, l.at = info, at
		return nil
	}
	return takenLock{owner}
}

// takenLock is a lock that another engine took over.
type takenLock struct{ by *Owner }

func (e takenLock) Error() string {
	who := "another engine"
	if e.by != nil {
		who = fmt.Sprintf("another engine (pid %d on %s)", e.by.Pid, e.by.Host)
	}
	return who + " took over while this one gave no sign of life; this one stops before its next write"
}

func (takenLock) Is(target error) bool { return target == ralph.ErrLocked }

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

// Holding is who holds the session lock of a repository, as its file says; nil for nobody.
// Whether that process lives is another question.
func Holding(root string) (*Owner, error) {
	return readOwner(filepath.Join(root, "ralph/.state/session.lock"))
}
