// Package clock owns how far the clocks of two machines are apart. They differ, by an hour where the time of
// another zone was set. No time of one machine is compared with that of another: how long nothing was heard of
// somebody is the server's to say, and whoever carries a step out counts in the time of its coordinator, whose
// deadlines and rules it works by, and in whose journal it is. What two machines both hear is the server's clock.
//
// It does NOT own what is done by which clock (internal/fleet).
package clock

import "time"

// usual is what words may be on their way: two clocks that are less apart are taken for one.
const usual = 5 * time.Second

// Apart is how far a clock is before another one, which said a time between two moments of the first.
func Apart(before, after, said time.Time) time.Duration {
	return before.Add(after.Sub(before) / 2).Sub(said)
}

// Shift is how far a coordinator's clock is before the one here. ahead is how far it is before the server's;
// that said began when it was began here, or nothing.
func Shift(ahead time.Duration, said, began time.Time) time.Duration {
	d := ahead + said.Sub(began)
	if said.IsZero() || d.Abs() < usual {
		return 0
	}
	return d
}
