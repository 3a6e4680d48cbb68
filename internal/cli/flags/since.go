package flags

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
)

// SinceForms are what --since takes, for its help.
const SinceForms = "how long ago (8h, 90m, 2d), a day (yesterday, monday, 2026-11-21), a time (22:00, \"2026-11-21 22:00\", 2026-11-21T22:00:00Z), or last: the start of the newest session"

// Since is what a person meant by --since.
type Since struct {
	at   time.Time
	last bool // the start of the newest session, whenever that was
}

// From is the instant that is meant, with the state after all facts.
func (x Since) From(s *ralph.State) time.Time {
	if x.last {
		return s.Session.StartedAt
	}
	return x.at
}

// ParseSince reads --since: how long ago, a day, or a time; without a zone it is that of
// now. Days begin at midnight.
func ParseSince(text string, now time.Time) (Since, error) {
	text = strings.TrimSpace(text)
	word := strings.ToLower(text)
	midnight := func(days int) (Since, error) {
		y, m, d := now.Date()
		return Since{at: time.Date(y, m, d-days, 0, 0, 0, 0, now.Location())}, nil
	}
	switch word {
	case "":
		return Since{}, nil
	case "last":
		return Since{last: true}, nil
	case "today":
		return midnight(0)
	case "yesterday":
		return midnight(1)
	}
	for day := range time.Weekday(7) {
		if name := strings.ToLower(day.String()); word == name || word == name[:3] {
			return midnight((int(now.Weekday()) - int(day) + 7) % 7)
		}
	}
	if days, ok := strings.CutSuffix(word, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && n >= 0 {
			return Since{at: now.AddDate(0, 0, -n)}, nil
		}
	}
	if d, err := time.ParseDuration(word); err == nil && d >= 0 {
		return Since{at: now.Add(-d)}, nil
	}
	if t, err := time.Parse("15:04", word); err == nil {
		y, m, d := now.Date()
		at := time.Date(y, m, d, t.Hour(), t.Minute(), 0, 0, now.Location())
		if at.After(now) { // last night
			at = time.Date(y, m, d-1, t.Hour(), t.Minute(), 0, 0, now.Location())
		}
		return Since{at: at}, nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02 15:04", time.DateOnly} {
		if at, err := time.ParseInLocation(layout, text, now.Location()); err == nil {
			return Since{at: at}, nil
		}
	}
	return Since{}, Errorf("--since %q: %sgive %s", text, nearSince(word), SinceForms)
}

// nearSince says which word was probably meant.
func nearSince(word string) string {
	known := []string{"last", "today", "yesterday"}
	for day := range time.Weekday(7) {
		known = append(known, strings.ToLower(day.String()))
	}
	if near := ralph.Nearest(word, known); near != "" && !slices.Contains(known, word) {
		return fmt.Sprintf("did you mean %s? Else ", near)
	}
	return ""
}
