package journal

import (
	"time"

	"github.com/ralph-loop/ralph"
)

// WithoutFlock makes the journal see a file system whose locks are not heard of
// elsewhere, such as a network mount with local locks or a folder that is synced.
func WithoutFlock(j *File) { j.flock = func(int, int) error { return nil } }

// WithFlock makes every lock end with err.
func WithFlock(j *File, err error) { j.flock = func(int, int) error { return err } }

// StateShape names how State is written.
const StateShape = stateShape

// EncodeSnapshot is the text of a snapshot.
func EncodeSnapshot(s *ralph.State) ([]byte, error) { return encodeSnapshot(s) }

// DecodeSnapshot is the state in a snapshot, nil for one that is not believed.
func DecodeSnapshot(b []byte) *ralph.State { return decodeSnapshot(b) }

// LockWait is the wait for the lock of writers that is under way: what is closed at its end, nil for none, and
// whether anybody still wants it.
func LockWait(j *File) (given <-chan struct{}, wanted bool) {
	j.lock.mu.Lock()
	defer j.lock.mu.Unlock()
	if j.lock.wait == nil {
		return nil, false
	}
	return j.lock.wait.given, j.lock.wait.wanted
}

// HurryLeft is how long what is written in a hurry may still wait.
func HurryLeft(j *File) time.Duration {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.lock.left
}
