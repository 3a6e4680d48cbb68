package flags

import (
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
)

// Issue 14: --since takes the words in which people say when they looked last.
func TestParseSince(t *testing.T) {
	t.Parallel()
	zone := time.FixedZone("CET", 3600)
	now := time.Date(2026, 11, 23, 8, 30, 0, 0, zone) // a Monday
	started := time.Date(2026, 11, 22, 22, 1, 0, 0, time.UTC)
	s := &ralph.State{Session: ralph.Session{ID: "s-1", StartedAt: started}}
	for text, want := range map[string]time.Time{
		"":                     {},
		"8h":                   now.Add(-8 * time.Hour),
		"90m":                  now.Add(-90 * time.Minute),
		"2d":                   now.AddDate(0, 0, -2),
		"yesterday":            time.Date(2026, 11, 22, 0, 0, 0, 0, zone),
		"Today":                time.Date(2026, 11, 23, 0, 0, 0, 0, zone),
		"monday":               time.Date(2026, 11, 23, 0, 0, 0, 0, zone),
		"tue":                  time.Date(2026, 11, 17, 0, 0, 0, 0, zone),
		"sunday":               time.Date(2026, 11, 22, 0, 0, 0, 0, zone),
		"22:00":                time.Date(2026, 11, 22, 22, 0, 0, 0, zone),
		"07:15":                time.Date(2026, 11, 23, 7, 15, 0, 0, zone),
		"2026-11-21 22:00":     time.Date(2026, 11, 21, 22, 0, 0, 0, zone),
		"2026-11-21":           time.Date(2026, 11, 21, 0, 0, 0, 0, zone),
		"2026-11-21T22:00:00Z": time.Date(2026, 11, 21, 22, 0, 0, 0, time.UTC),
		"last":                 started,
	} {
		got, err := ParseSince(text, now)
		if err != nil || !got.From(s).Equal(want) {
			t.Errorf("%q: %v, %v; want %v", text, got.From(s), err, want)
		}
	}
	for _, text := range []string{"yesteday", "-3h", "soon", "2026-13-01", "25:00", "1x"} {
		_, err := ParseSince(text, now)
		if err == nil || !strings.Contains(err.Error(), "yesterday, monday, 2026-11-21") {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := ParseSince("yesteday", now); !strings.Contains(err.Error(), "did you mean yesterday?") {
		t.Error(err)
	}
}
