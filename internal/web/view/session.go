package view

import (
	"fmt"
	"time"

	"github.com/ralph-loop/ralph"
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
	Slots  Chart
}

// mostTasks bounds the table of tasks.
const mostTasks = 500

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

// curveCharts are the curves of the report.
func curveCharts(p *sessionreport.Page) []Chart {
	var out []Chart
	for _, c := range p.Curves {
		chart := Chart{
			ID: "curve-" + c.Name, Title: titled(c.Name) + " over time", Total: c.Total + " in all",
			Desc: fmt.Sprintf("What was spent up to each moment, %s in all.", c.Total),
			Y:    []ChartMark{{At: px(chartTop + chartHigh), Text: "0"}, {At: px(chartTop), Text: c.Top}},
			Area: c.Area, Line: c.Line, Box: 100,
		}
		for i, t := range c.Ticks {
			chart.X = append(chart.X, ChartMark{At: t.X, Text: t.Text, Place: "mid", Few: i%2 == 1})
		}
		out = append(out, chart)
	}
	return out
}

// laneWords says what a lane has to those who do not see it.
func laneWords(name string, bars, marks int) string {
	words := fmt.Sprintf("%s: %d stretches of work", name, bars)
	if marks > 0 {
		words += fmt.Sprintf(", %d marks", marks)
	}
	return words
}

// SessionCharts are the charts of a session: its slots, what it spent, its iterations.
func SessionCharts(m SessionModel) []Chart {
	return append([]Chart{m.Slots}, curveCharts(m.Report)...)
}
