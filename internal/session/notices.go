package session

import (
	"context"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/notify"
)

const (
	// noticeLimit is how long the end of an engine waits for notices to go out.
	noticeLimit = 3 * time.Second
	// noticeForced is the same for an end at once: a person waits for it (D-112).
	noticeForced = 300 * time.Millisecond
)

// startNotices begins to tell of events. It is for a process that has the lock:
// what another engine does is told by that one.
func (x *Session) startNotices(c *notify.Courier) {
	c.Start(func(f ralph.NoticeFailed) {
		// Should the disk be full, that shows at the next fact of the work.
		_ = x.journal.Update(context.Background(), "engine", func(*ralph.State) ([]ralph.Fact, error) { return []ralph.Fact{f}, nil })
	})
	x.mu.Lock()
	defer x.mu.Unlock()
	x.courier = c
}

// endNotices waits for what is left to go out. The second call finds nothing to do.
func (x *Session) endNotices(limit time.Duration) {
	x.mu.Lock()
	c := x.courier
	x.mu.Unlock()
	c.Close(limit)
}

// notify hands an event on to those who are elsewhere. It never waits.
func (x *Session) notify(e ralph.Event, s *ralph.State) {
	x.mu.Lock()
	c := x.courier
	x.mu.Unlock()
	if c != nil {
		c.See(e, s)
	}
}
