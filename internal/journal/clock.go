package journal

import (
	"sync"
	"time"
)

// Clock is the time of facts. It follows the system's clock forwards, which a
// laptop that slept does, but when that goes back it goes on at its own pace: a
// wait of a minute stays a minute, and no fact is older than the one before it.
type Clock struct {
	wall func() time.Time

	mu sync.Mutex
	at time.Time // the latest time known, without a monotonic part
	on time.Time // when that was, for its monotonic part
}

// NewClock returns a clock that follows wall, nil for the system's.
func NewClock(wall func() time.Time) *Clock {
	if wall == nil {
		wall = time.Now
	}
	return &Clock{wall: wall}
}

// stepBack is how far the system's clock may be behind before that counts: the
// small steps of a time service are not worth a clock of one's own.
const stepBack = time.Second

// Now returns the system's time, with its monotonic part, as long as it has not
// gone back.
func (c *Clock) Now() time.Time {
	now := c.wall()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.at.IsZero() {
		c.at, c.on = now.Round(0), time.Now()
		return now
	}
	own := c.at.Add(time.Since(c.on))
	if now.Round(0).Before(own.Add(-stepBack)) {
		return own
	}
	if now.Round(0).After(own) {
		c.at, c.on = now.Round(0), time.Now()
	}
	return now
}

// NotBefore tells the clock of a fact of this time, which others may have written
// by a clock that is ahead.
func (c *Clock) NotBefore(at time.Time) {
	now := c.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if now.Before(at) {
		c.at, c.on = at, time.Now()
	}
}
