package journal

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/gofrs/flock"
)

// ErrHeld is a write for which there was no time: another process has the lock of the journal, and this one is in a
// hurry. Nothing was recorded.
var ErrHeld = errors.New("another process has the lock of the journal, and there is no time to wait for it")

// writeLock is the lock under which one process at a time writes the journal. The kernel knows no wait with an end, so
// a wait goes on beside who waits, who may leave it.
type writeLock struct {
	file *flock.Flock

	hurry   sync.Once
	hurried chan struct{} // closed by Hurry
	left    time.Duration // how long those in a hurry may still wait; set before hurried is closed, then of who takes

	mu   sync.Mutex
	wait *lockWait // that is under way; nil: none
}

// lockWait is a wait for the lock in the kernel.
type lockWait struct {
	wanted bool // somebody waits for what it brings
	given  chan struct{}
	err    error // instead of the lock; set before given is closed
}

func newWriteLock(dir string) *writeLock {
	return &writeLock{file: flock.New(filepath.Join(dir, "journal.lock"), flock.SetPermissions(0o600)), hurried: make(chan struct{})}
}

// Hurry is for a process that ends at once: whatever is still written waits for the lock of others no longer than
// limit, all together, and then fails with ErrHeld. It is heard also by who waits already. The first call counts.
func (j *File) Hurry(limit time.Duration) {
	j.lock.hurry.Do(func() {
		j.lock.left = limit
		close(j.lock.hurried)
	})
}

// take takes the lock, or waits for it until ctx ends. It is called by one at a time.
func (l *writeLock) take(ctx context.Context) error {
	w := l.join()
	if w == nil {
		if taken, err := l.file.TryLock(); taken || err != nil {
			return notTaken(err)
		}
		w = l.begin()
	}
	select {
	case <-w.given:
		return w.err
	case <-ctx.Done():
		return l.leave(w, context.Cause(ctx))
	case <-l.hurried:
	}
	begun := time.Now()
	defer func() { l.left -= time.Since(begun) }()
	timer := time.NewTimer(l.left)
	defer timer.Stop()
	select {
	case <-w.given:
		return w.err
	case <-ctx.Done():
		return l.leave(w, context.Cause(ctx))
	case <-timer.C:
		return l.leave(w, ErrHeld)
	}
}

// join goes on with a wait that somebody has left, nil where there is none.
func (l *writeLock) join() *lockWait {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.wait != nil {
		l.wait.wanted = true
	}
	return l.wait
}

// begin waits beside the caller. What comes when nobody wants it any more is given back at once.
func (l *writeLock) begin() *lockWait {
	w := &lockWait{wanted: true, given: make(chan struct{})}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.wait = w
	go func() {
		err := l.file.Lock()
		l.mu.Lock()
		defer l.mu.Unlock()
		l.wait = nil
		if !w.wanted {
			_ = l.file.Unlock() // closing the descriptor frees it in any case
		}
		w.err = notTaken(err)
		close(w.given)
	}()
	return w
}

// leave ends the waiting for a cause. What came in that moment is taken.
func (l *writeLock) leave(w *lockWait, cause error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.wait != w {
		return w.err
	}
	w.wanted = false
	return cause
}

// notTaken explains why the kernel gives no lock; nil for one that it gave.
func notTaken(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, os.ErrNotExist):
		return gone()
	}
	return cannotLock("journal.lock", err)
}
