package ralph_test

import (
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
)

// D-057, D-070, D-090.
func TestElapsedAndDollars(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		-time.Second: "0s", 0: "0s", 999 * time.Millisecond: "0s", 32 * time.Second: "32s", 59*time.Second + 999*time.Millisecond: "59s",
		time.Minute: "1m 0s", 15*time.Minute + 32*time.Second: "15m 32s", time.Hour - 1: "59m 59s",
		time.Hour: "1h 0m", 83*time.Minute + 59*time.Second: "1h 23m", 100 * time.Hour: "100h 0m",
	} {
		if got := ralph.Elapsed(d); got != want {
			t.Errorf("Elapsed(%d) = %q, want %q", d, got, want)
		}
	}
	for c, want := range map[float64]string{0: "$0.00", 0.82: "$0.82", 2.449: "$2.45", 1234.5: "$1234.50"} {
		if got := ralph.Dollars(c); got != want {
			t.Errorf("Dollars(%v) = %q, want %q", c, got, want)
		}
	}
	told, silent := ralph.Usage{Cost: 0.5, Known: true}, ralph.Usage{Cost: 0.5, Unmetered: 1}
	if told.Dollars() != "$0.50" || silent.Dollars() != "$0.50 or more" {
		t.Errorf("a sum of costs is %s, and %s with one that nobody told", told.Dollars(), silent.Dollars())
	}
}

// Row 26 of the messages: a limit is written as people set it.
func TestClockTime(t *testing.T) {
	t.Parallel()
	for want, d := range map[string]time.Duration{"10m": 10 * time.Minute, "1h": time.Hour, "1h30m": 90 * time.Minute, "1m30s": 90 * time.Second, "500ms": 500 * time.Millisecond, "10s": 10 * time.Second} {
		if got := ralph.ClockTime(d); got != want {
			t.Errorf("%s: %q, want %q", d, got, want)
		}
	}
}
