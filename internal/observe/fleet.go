package observe

import (
	"encoding/json"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/ralph-loop/ralph/internal/journal"
	"github.com/ralph-loop/ralph/internal/workers"
)

// Fleet reads what the coordinator that works here has written down of its workers. It is safe for concurrent use, and
// gives the same moment as long as the file is the same one. The zero Fleet is ready.
type Fleet struct {
	mu   sync.Mutex
	info os.FileInfo
	last *workers.Moment
}

// Now is the newest moment; nil where the engine at work has no fleet, where none is at work (no owner), and for what a
// coordinator left behind that was killed or stands still. The owner is journal.Holder's: that asks the kernel, and
// whoever looks here has asked it already.
func (f *Fleet) Now(owner *journal.Owner, root string, now time.Time) *workers.Moment {
	if owner == nil {
		return nil
	}
	name := filepath.Join(root, filepath.FromSlash(workers.File))
	info, err := os.Stat(name)
	if err != nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.info == nil || !os.SameFile(f.info, info) || !f.info.ModTime().Equal(info.ModTime()) || f.info.Size() != info.Size() {
		var m workers.Moment
		b, err := os.ReadFile(name)
		if err != nil || json.Unmarshal(b, &m) != nil {
			return nil // it is only a moment: the next one comes
		}
		f.info, f.last = info, &m
	}
	if f.last.Pid != owner.Pid || now.After(f.last.Until) {
		return nil
	}
	return f.last
}
