// Package report owns the words that people read of facts and of what they add up to: the
// lines of the log, lists, settings.
//
// It does NOT own what is said of a decision (receipts below it) or of what a person is asked
// (gates below it), how things stand (status), the report of a session (sessionreport), or any
// reading and writing: each is a function of State and facts.
package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/text"
)

// Inbox is `ralph inbox`: a header and a row for each record, in file order.
func Inbox(s *ralph.State, now time.Time) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Inbox (%s):\n", text.Count(len(s.Inbox), "spec"))
	for _, x := range s.Inbox {
		word, at := "added", x.AddedAt
		switch x.Status {
		case ralph.SpecActive:
			word, at = "started", x.StartedAt
		case ralph.SpecDone:
			word, at = "completed", x.EndedAt
		case ralph.SpecFailed:
			word, at = "failed", x.EndedAt
		}
		if at.IsZero() { // written by hand without the time
			word, at = "added", x.AddedAt
		}
		first := ""
		if x.Priority != 0 {
			first = fmt.Sprintf("priority %d, ", x.Priority)
		}
		fmt.Fprintf(&b, "  %s  %-10s%-18s(%s%s %s)\n", x.ID, x.Status, pad(x.File), first, word, Ago(at, now))
	}
	return b.String()
}

// pad keeps a gap between a long name and what follows it.
func pad(name string) string {
	if len(name) >= 18 {
		return name + "  "
	}
	return name
}

// Ago writes how long something is past: `2h ago`.
func Ago(at, now time.Time) string {
	d := max(0, now.Sub(at))
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds ago", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm ago", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh ago", int(d.Hours()))
	}
	return fmt.Sprintf("%dd ago", int(d.Hours())/24)
}

// Specs writes a number of specs: `1 spec`, `3 specs`.
func Specs(n int) string { return text.Count(n, "spec") }

// Files writes a number of files, likewise.
func Files(n int) string { return text.Count(n, "file") }

// RedChecks writes a number of checks that failed.
func RedChecks(n int) string { return text.Count(n, "red check") }

// Tasks writes a number of tasks, likewise.
func Tasks(n int) string { return text.Count(n, "task") }

// Unfinished writes a number of tasks that have not ended, likewise.
func Unfinished(n int) string { return text.Count(n, "unfinished task") }
