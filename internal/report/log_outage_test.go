package report_test

import (
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph/internal/ralphtest/storytest"

	"github.com/ralph-loop/ralph"
)

// R-H4, issue 14: an outage of two hours with a try each minute is a line at its beginning,
// few in between and one at its end; what is tried then is not told each time.
func TestLogIsQuietInAnOutage(t *testing.T) {
	t.Parallel()
	x := storytest.New()
	x.Begin(ralph.Task{ID: "t-1", Name: "one"})
	x.Said()
	for range 120 {
		x.Limited("t-1", ralph.ErrClassNetwork, time.Minute)
	}
	outage := x.Said()
	x.Good("t-1", time.Minute)
	after := strings.Join(x.Said(), "\n")
	count := map[string]int{}
	for _, line := range outage {
		label, _, _ := strings.Cut(line, ":")
		count[label]++
		if strings.Contains(line, "still no connection since 2025-01-20T10:00:") {
			count["still"]++
		}
	}
	if count["PAUSED"] != 1 || count["RESUMED"] != 0 || count["BUILD"] != 1 || count["ERROR"] != 1 || count["still"] < 2 || count["still"] > 4 || len(outage) > 12 {
		t.Errorf("%d lines %v:\n%s", len(outage), count, strings.Join(outage, "\n"))
	}
	for _, want := range []string{"RESUMED: claude answers again: there was no connection since 2025-01-20T10:00:", "120 tries", "BUILD: t-1 one", "TASK: t-1 done"} {
		if !strings.Contains(after, want) {
			t.Errorf("the end does not say %q:\n%s", want, after)
		}
	}
	if strings.Index(after, "RESUMED") > strings.Index(after, "BUILD") {
		t.Errorf("the order: %s", after)
	}
}

// What is no try of the outage is told as ever: a person's word, another limit, a question.
func TestLogTellsOthersInAnOutage(t *testing.T) {
	t.Parallel()
	x := storytest.New()
	x.Begin(ralph.Task{ID: "t-1", Name: "one"})
	x.Limited("t-1", ralph.ErrClassNetwork, time.Minute)
	x.Limited("t-1", ralph.ErrClassNetwork, time.Minute)
	x.Said()
	x.Add(ralph.Asked{Approval: ralph.Approval{ID: "g-1", Kind: "question", Task: "t-1", Text: "which port?"}})
	if got := strings.Join(x.Said(), "\n"); !strings.Contains(got, "NEEDS YOU: g-1") {
		t.Errorf("a question: %s", got)
	}
	x.Limited("t-1", ralph.ErrClassAuth, time.Minute)
	if got := strings.Join(x.Said(), "\n"); !strings.Contains(got, "not logged in") || !strings.Contains(got, "PAUSED") {
		t.Errorf("a login: %s", got)
	}
	x.Add(ralph.Control{Want: ralph.WantStop, Cause: "Ctrl+C"})
	if got := strings.Join(x.Said(), "\n"); !strings.Contains(got, "STOP") {
		t.Errorf("a stop: %s", got)
	}
}
