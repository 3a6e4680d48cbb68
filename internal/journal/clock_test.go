package journal_test

import (
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/ralph-loop/ralph/internal/journal"
)

// The time of facts never goes back by more than a moment, goes on when the
// system's clock went back, follows it when that jumps ahead (a laptop that slept),
// and is never further ahead than that clock ever was.
func TestClock(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		jumps := rapid.SliceOfN(rapid.SampledFrom([]time.Duration{0, 0, 3 * time.Hour, -3 * time.Hour, time.Minute, -time.Minute, -100 * time.Millisecond, 8760 * time.Hour}), 1, 20).Draw(rt, "jumps")
		awake := time.Duration(rapid.IntRange(1, 7200).Draw(rt, "seconds")) * time.Second
		synctest.Test(t, func(t *testing.T) {
			begin := time.Now()
			var off, most time.Duration
			wall := func() time.Time { return time.Now().Add(off).Round(0) }
			c := journal.NewClock(wall)
			last := c.Now()
			for _, jump := range jumps {
				off += jump
				most = max(most, off)
				time.Sleep(awake)
				now := c.Now()
				switch {
				case now.Sub(last) < awake-time.Second:
					rt.Errorf("after %s awake and a jump of %s it went on by %s", awake, jump, now.Sub(last))
				case now.Before(wall()):
					rt.Errorf("it is behind the system's clock: %s, %s", now, wall())
				case now.Sub(begin.Round(0)) > time.Since(begin)+most:
					rt.Errorf("it is ahead of all that the clock ever said: %s", now)
				}
				last = now
			}
			c.NotBefore(last.Add(time.Hour)) // a fact from a host whose clock is ahead
			time.Sleep(time.Minute)
			if now := c.Now(); now.Before(last.Add(time.Hour + time.Minute)) {
				rt.Errorf("%s after a fact of %s", now, last.Add(time.Hour))
			}
		})
	})
}

// A clock that was not touched keeps its monotonic part: what is measured with it
// leaves out the time that a machine slept.
func TestClockIsMonotonic(t *testing.T) {
	t.Parallel()
	c := journal.NewClock(nil)
	if a, b := c.Now(), c.Now(); a == a.Round(0) || b == b.Round(0) {
		t.Error("the monotonic part is lost")
	}
}

// A restart after the clock went back goes on where the last fact was.
func TestClockOfARestart(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	start := time.Now()
	opt := options(root)
	opt.Now = func() time.Time { return start.Add(3 * time.Hour) }
	j := open(t, opt)
	must(t, update(j, note("ahead")))
	must(t, j.Close())
	opt.Now = func() time.Time { return start }
	j = open(t, opt)
	first := j.Now()
	if first.Before(start.Add(3*time.Hour).Truncate(time.Microsecond)) || !j.Now().After(first) {
		t.Errorf("it stands still, or went back: %s, then %s", first, j.Now())
	}
	must(t, update(j, note("later")))
	if events := checkChain(t, j); !events[1].At.After(events[0].At) {
		t.Errorf("the second fact is of %s, the first of %s", events[1].At, events[0].At)
	}
}
