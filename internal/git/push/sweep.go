package push

import (
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"github.com/ralph-loop/ralph/internal/proc"
)

// The folders that pushes go out from: who works in one has a lock there, which ends with its process.
const (
	folders = "ralph-push-"
	held    = "held"
)

// settled is how old a folder without a lock is, and not about to be locked.
const settled = time.Minute

// folder makes one in temp.
func folder(temp string) (dir string, lock *flock.Flock, err error) {
	if dir, err = os.MkdirTemp(temp, folders); err != nil {
		return "", nil, err
	}
	lock = flock.New(filepath.Join(dir, held), flock.SetPermissions(0o600))
	if err := lock.Lock(); err != nil {
		return "", nil, errors.Join(err, os.RemoveAll(dir))
	}
	return dir, lock, nil
}

// Sweep removes the folders in temp that processes left which were killed. What is somebody else's, or cannot be
// removed, stays.
func Sweep(temp string, now time.Time) {
	for _, dir := range proc.LeftFolders(filepath.Join(temp, folders+"*"), settled, now) {
		name := filepath.Join(dir, held)
		if _, err := os.Lstat(name); err != nil {
			continue // it is about to get its lock
		}
		lock := flock.New(name)
		if got, err := lock.TryLock(); err == nil && got {
			_ = os.RemoveAll(dir)
		}
		_ = lock.Close()
	}
}
