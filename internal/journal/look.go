package journal

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/views"
	"golang.org/x/sys/unix"
)

// LockInfo is what a look at the session lock shows.
type LockInfo struct {
	Owner Owner // its Pid is 0 when the lock is held and names nobody yet
	Place Locality
	Live  bool          // false: left behind, the next start takes it over
	Age   time.Duration // since the heartbeat, by this host's clock; never below 0
	Ahead time.Duration // how far the heartbeat lies in the future: the clocks differ
}

const (
	lockName = "session.lock"
	// aheadName keeps since when a heartbeat of the future has been seen unchanged.
	aheadName = "session.lock.ahead"
)

// lockInfo judges an owner by what is written, for a lock that the kernel of this
// machine does not hold. A container of this machine that held it would hold it
// for the kernel as well, so it is gone.
func (j *File) lockInfo(o, me *Owner, alive func(pid int, start string) bool, now time.Time) LockInfo {
	if o == nil {
		return LockInfo{Place: Here}
	}
	info := LockInfo{Owner: *o, Place: o.seenFrom(me), Age: now.Sub(o.HeartbeatAt)}
	if info.Age < 0 {
		info.Ahead, info.Age = -info.Age, 0
		if since := j.aheadSince(o); !since.IsZero() {
			info.Age = max(0, now.Sub(since))
		}
	}
	switch info.Place {
	case Here:
		info.Live = o.Pid != me.Pid && alive != nil && alive(o.Pid, o.Start)
	case Elsewhere:
		info.Live = info.Age < staleAfter
	}
	return info
}

// ahead is a heartbeat of another host that lies in this one's future. Compared
// with this clock it would stay young for as long as the clocks differ; so what
// counts is for how long of this clock's time it has not changed.
type ahead struct {
	HeartbeatAt time.Time `json:"heartbeat_at"`
	Host        string    `json:"host"`
	Since       time.Time `json:"since"`
}

func (j *File) aheadSince(o *Owner) time.Time {
	b, err := os.ReadFile(filepath.Join(j.dir, aheadName))
	var a ahead
	if err != nil || json.Unmarshal(b, &a) != nil || a.Host != o.Host || !a.HeartbeatAt.Equal(o.HeartbeatAt) {
		return time.Time{}
	}
	return a.Since
}

// noteAhead notes a heartbeat of the future when it is first met.
func (j *File) noteAhead(o *Owner, now time.Time) error {
	since := j.aheadSince(o)
	if !o.HeartbeatAt.After(now) || !since.IsZero() && !since.After(now) {
		return nil
	}
	b, err := json.Marshal(ahead{o.HeartbeatAt, o.Host, now.UTC()})
	if err == nil {
		_, err = views.WriteAtomic(filepath.Join(j.dir, aheadName), b, 0o600, false)
	}
	if err != nil {
		return fmt.Errorf("note the heartbeat of another host: %w", err)
	}
	return nil
}

// locked is the refusal because of a lock.
func locked(info LockInfo) *LockedError {
	return &LockedError{LockInfo: info, Frees: max(0, staleAfter-info.Age)}
}

// Look returns who holds the session lock, or left it behind; nil without an error
// when nobody did. Options.Me and Alive say from where it looks.
func (j *File) Look() (*LockInfo, error) {
	path := filepath.Join(j.dir, lockName)
	owner, err := readOwner(path)
	if err != nil {
		return nil, err
	}
	held, err := j.flocked(path)
	if err != nil || owner == nil && !held {
		return nil, err
	}
	alive := j.opt.Alive
	if held { // the kernel's word is enough: the process is asked for only without it
		alive = nil
	}
	info := j.lockInfo(owner, &j.opt.Me, alive, j.opt.Now())
	info.Live = info.Live || held
	return &info, nil
}

// flocked reports whether the kernel knows of an owner.
func (j *File) flocked(path string) (bool, error) {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look at the session lock: %w", err)
	}
	defer f.Close()
	err = j.flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB)
	if err != nil && !errors.Is(err, unix.EWOULDBLOCK) {
		return false, cannotLock(lockName, err)
	}
	return err != nil, nil
}

// Holder returns the owner of the session lock when an engine works here now, nil
// when none does or nobody can tell.
func (j *File) Holder() *Owner {
	info, err := j.Look()
	if err != nil || info == nil || !info.Live || info.Owner.Pid == 0 {
		return nil
	}
	return &info.Owner
}

// TakeAway removes the session lock of an owner who is gone, and returns what it
// was; nil when there was none. One that lives is refused with a *LockedError, but
// with force the lock of another host is removed all the same: should that engine
// still be there, it stops before its next write.
func (j *File) TakeAway(force bool) (*LockInfo, error) {
	info, err := j.Look()
	if err != nil || info == nil {
		return nil, err
	}
	if info.Live && !(force && info.Place == Elsewhere) {
		return nil, locked(*info)
	}
	path := filepath.Join(j.dir, lockName)
	lock, err := j.tryLock(path, j.opt.Me)
	if err != nil && !errors.Is(err, unix.EWOULDBLOCK) {
		return nil, cannotLock(lockName, err)
	}
	if lock != nil {
		defer lock.file.Close()
	} else if info.Place != Elsewhere { // somebody took it over this instant
		return nil, &ralph.Refusal{Why: "an engine starts here at this moment", Hint: "`[[status]]` shows it", Kind: ralph.ErrActive}
	}
	if now, err := readOwner(path); err != nil || now != nil && !now.same(&info.Owner) {
		return nil, errors.Join(err, &ralph.Refusal{Why: "the lock has a new owner meanwhile", Hint: "`[[status]]` shows it", Kind: ralph.ErrActive})
	}
	_ = os.Remove(filepath.Join(j.dir, aheadName))
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("remove the session lock: %w", err)
	}
	return info, nil
}
