package view

import (
	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/chart"
	"github.com/ralph-loop/ralph/internal/screen/history"
)

// SessionModel is the page of one session.
type SessionModel = history.SessionModel

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
