package view

import (
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/chart"
	"github.com/ralph-loop/ralph/internal/sessionreport"
)

// SessionModel is the page of one session.
type SessionModel struct {
	Read    Reading // of the history, and then of its report
	ID      ralph.SessionID
	Mode    string
	Version string
	Status  string // of the badge
	Ended   string // its word
	Detail  string
	Started time.Time
	EndedAt time.Time
	Older   ralph.SessionID // the session before it and after it
	Newer   ralph.SessionID
	LogFile bool // its agent log is still there

	Report *sessionreport.Page // nil while it is being made
	Slots  chart.Chart
}

// maxTasks bounds the table of tasks.
const maxTasks = 500

func sessionPath(id ralph.SessionID, more string) string { return "/session/" + string(id) + more }

// outcomeWord is an outcome of the timeline as people read it.
func outcomeWord(s string) string {
	switch s {
	case "active":
		return "at work"
	case "cut":
		return "cut with its engine"
	case "retry":
		return "given another try"
	case "released":
		return "given back"
	case "waiting":
		return "waits for a person"
	case "red":
		return "red checks"
	case "timeout":
		return "timed out"
	case "resolve":
		return "mended a merge"
	}
	return s
}

// SessionCharts are the charts of a session: its slots, what it spent, its iterations.
func SessionCharts(m SessionModel) []chart.Chart {
	return append([]chart.Chart{m.Slots}, m.Report.Curves...)
}
