package ralph_test

import (
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
)

// C-051: a person takes a breaker from open straight back to closed, past the trial that would
// come first; one that is closed, and a service that is none, are refused.
func TestResetBreaker(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	s := &ralph.State{}
	apply(s, ralph.BreakerMoved{Service: "jira", From: ralph.BreakerClosed, Breaker: ralph.Breaker{State: ralph.BreakerOpen, Failures: []time.Time{at}, Opened: at, Until: at.Add(time.Hour)}})
	facts, err := s.ResetBreaker("jira")
	if err != nil {
		t.Fatal(err)
	}
	apply(s, facts...)
	if b := s.Outside("jira").Breaker; b.Now() != ralph.BreakerClosed || len(b.Failures) != 0 || !b.Until.IsZero() {
		t.Errorf("after the reset: %+v", b)
	}
	for _, name := range []string{"jira", "gitlab"} {
		if facts, err := s.ResetBreaker(name); err == nil {
			t.Errorf("%s: %+v, want a refusal", name, facts)
		}
	}
}
