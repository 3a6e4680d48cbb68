package journal_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/journal"
)

const lockPath = "ralph/.state/session.lock"

func owner() journal.Owner {
	return journal.Owner{SessionID: "s-test", Pid: os.Getpid(), Host: "here", StartedAt: time.Now(), HeartbeatAt: time.Now()}
}

func alive(pid int, _ string) bool { return syscall.Kill(pid, 0) == nil }

func dead(int, string) bool { return false }

// One engine per repository: the second start is refused and says who is there.
func TestSecondLockIsRefused(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	c := startChild(t, "lock", root)
	if got := c.line(); got != "locked" {
		t.Fatal(got)
	}
	j := open(t, options(root))
	_, _, err := j.Lock(owner(), alive)
	var locked *journal.LockedError
	if !errors.Is(err, ralph.ErrLocked) || !errors.As(err, &locked) || !strings.Contains(err.Error(), fmt.Sprintf("pid %d on here", c.p.Pid)) {
		t.Fatalf("err = %v", err)
	}
	if h := j.Holder(); h == nil || h.Pid != c.p.Pid {
		t.Fatalf("Holder = %+v", h)
	}
	c.finish()
	if exists(root, lockPath) || j.Holder() != nil {
		t.Fatal("the lock file stays after Unlock")
	}
	lock, took, err := j.Lock(owner(), alive)
	must(t, err)
	if took != nil {
		t.Fatalf("took over %+v after a clean end", took)
	}
	must(t, lock.Unlock())
}

// kill -9 frees the lock, and the next start learns whose it was.
func TestKilledOwnerFreesTheLock(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	c := startChild(t, "lock", root)
	c.line()
	j := open(t, options(root))
	c.kill()
	if j.Holder() != nil {
		t.Fatal("a dead owner is shown as holder")
	}
	lock, took, err := j.Lock(owner(), alive)
	must(t, err)
	if took == nil || took.Pid != c.p.Pid {
		t.Fatalf("took = %+v", took)
	}
	if text := read(t, root, lockPath); !strings.Contains(text, fmt.Sprint(os.Getpid())) || !json.Valid([]byte(text)) {
		t.Fatalf("session.lock = %s", text)
	}
	must(t, lock.Unlock())
}

// An engine whose lock was taken away stops before its next write; people's
// commands are not the engine's and go on.
func TestFencing(t *testing.T) {
	t.Parallel()
	other := func(root string) {
		o := owner()
		o.Pid, o.Host = 1, "elsewhere"
		b, _ := json.Marshal(o)
		_ = os.WriteFile(filepath.Join(root, lockPath), b, 0o600)
	}
	for name, take := range map[string]func(root string){
		"removed":  func(root string) { _ = os.Remove(filepath.Join(root, lockPath)) },
		"replaced": func(root string) { _ = os.Remove(filepath.Join(root, lockPath)); other(root) },
		"signed":   other, // a file system where flock does not hold between hosts
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			j := open(t, options(root))
			lock, _, err := j.Lock(owner(), alive)
			must(t, err)
			must(t, lock.Beat(time.Now()))
			must(t, update(j, note("ours")))
			take(root)
			before, left := read(t, root, journalPath), []byte(nil)
			left, _ = os.ReadFile(filepath.Join(root, lockPath))
			err = update(j, note("not ours"))
			if !errors.Is(err, ralph.ErrLocked) || errors.Is(err, journal.ErrGone) != (name == "removed") {
				t.Fatalf("err = %v", err)
			}
			if name == "removed" && strings.Contains(err.Error(), "another engine") {
				t.Fatalf("nobody else holds it: %v", err)
			}
			if err := lock.Beat(time.Now()); !errors.Is(err, ralph.ErrLocked) {
				t.Fatalf("Beat over another's lock: %v", err)
			}
			if read(t, root, journalPath) != before {
				t.Fatal("the engine wrote without its lock")
			}
			must(t, addSpec(j, "x.md"))
			must(t, lock.Unlock())
			if now, _ := os.ReadFile(filepath.Join(root, lockPath)); string(now) != string(left) {
				t.Fatal("Unlock removed another engine's lock")
			}
		})
	}
}

// Across hosts the kernel cannot tell; a heartbeat of 30 minutes can.
func TestLockOfAnotherHost(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		age   time.Duration
		taken bool
	}{
		"29m59s is respected": {29*time.Minute + 59*time.Second, false},
		"30m1s is taken over": {30*time.Minute + time.Second, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			now := time.Now()
			opt := options(root)
			opt.Now = func() time.Time { return now }
			j := open(t, opt)
			old := journal.Owner{SessionID: "s-old", Pid: 4711, Host: "far", StartedAt: now.Add(-8 * time.Hour), HeartbeatAt: now.Add(-c.age)}
			b, err := json.Marshal(old)
			must(t, err)
			write(t, root, lockPath, string(b))
			lock, took, err := j.Lock(owner(), alive)
			if !c.taken {
				if !errors.Is(err, ralph.ErrLocked) || !strings.Contains(err.Error(), "pid 4711 on far") || read(t, root, lockPath) != string(b) {
					t.Fatalf("err = %v", err)
				}
				return
			}
			must(t, err)
			if took == nil || took.SessionID != "s-old" {
				t.Fatalf("took = %+v", took)
			}
			must(t, lock.Unlock())
		})
	}
}

// Looking at who holds the lock must not make a start fail that comes at the
// same moment.
func TestHolderDoesNotDisturbLock(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	j := open(t, options(root))
	gone := owner()
	gone.Pid = 1 << 30
	b, err := json.Marshal(gone)
	must(t, err)
	other := open(t, options(root))
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	looks := make(chan *journal.Owner) // each look is seen, so that none of the starts is without one
	go func() {
		defer close(looks)
		for ctx.Err() == nil {
			o := other.Holder()
			select {
			case looks <- o:
			default:
			}
		}
	}()
	seen := func(held bool) {
		t.Helper()
		for o := range looks {
			if (o != nil) == held {
				return
			}
		}
	}
	for range 300 {
		write(t, root, lockPath, string(b))
		lock, _, err := j.Lock(owner(), alive)
		must(t, err)
		must(t, lock.Unlock())
	}
	lock, _, err := j.Lock(owner(), alive)
	must(t, err)
	seen(true)
	must(t, lock.Unlock())
	seen(false)
	stop()
	for range looks { // until the looking has ended
	}
}

// A heartbeat may be read while it is written: it is always whole.
func TestHeartbeatIsNeverTorn(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	j := open(t, options(root))
	lock, _, err := j.Lock(owner(), dead)
	must(t, err)
	base := time.Date(2025, 1, 20, 10, 30, 0, 0, time.UTC)
	for i := range 50 {
		at := base.Add(time.Duration(i*137) * time.Millisecond)
		must(t, lock.Beat(at))
		var o journal.Owner
		must(t, json.Unmarshal([]byte(read(t, root, lockPath)), &o))
		if !o.HeartbeatAt.Equal(at) {
			t.Fatalf("heartbeat %s, want %s", o.HeartbeatAt, at)
		}
	}
	must(t, lock.Unlock())
}
