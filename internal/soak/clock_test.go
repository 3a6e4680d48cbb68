//go:build linux && soak

package soak

import (
	"context"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/journal"
)

// A clock that goes back between facts, or jumps ahead, changes no order: times
// in the journal never go back, and the chain and the state hold.
func TestClockGoesBack(t *testing.T) {
	t.Parallel()
	start := time.Date(2030, 5, 1, 12, 0, 0, 0, time.UTC)
	steps := []time.Duration{0, time.Second, -time.Hour, -time.Minute, -300 * 24 * time.Hour, time.Millisecond, 24 * time.Hour, -time.Nanosecond}
	now := start
	opt := journal.Options{Root: t.TempDir(), Inbox: true, Plan: true, Now: func() time.Time { return now }}
	for round := range 3 { // opened anew each time, as by other processes
		j, err := journal.Open(opt)
		must(t, err)
		for _, step := range steps {
			now = start.Add(step)
			must(t, j.Update(context.Background(), "engine", func(s *ralph.State) ([]ralph.Fact, error) {
				if s.At.After(now.Add(24*time.Hour + 300*24*time.Hour + time.Minute)) { // the clock ahead, and its own pace since
					t.Errorf("the state is at %s", s.At)
				}
				return []ralph.Fact{ralph.Noted{Text: "tick"}, ralph.Noted{Text: "tock"}}, nil
			}))
		}
		var last ralph.Event
		n := 0
		must(t, j.Each(0, func(e ralph.Event) error {
			if e.Seq != last.Seq+1 || e.At.Before(last.At) {
				t.Errorf("fact %d at %s follows fact %d at %s", e.Seq, e.At, last.Seq, last.At)
			}
			last, n = e, n+1
			return nil
		}))
		if want := (round + 1) * len(steps) * 2; n != want || j.State().Seq != int64(want) {
			t.Errorf("%d facts, state at %d, want %d", n, j.State().Seq, want)
		}
		must(t, j.Close())
	}
}
