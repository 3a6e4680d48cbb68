package sessionreport

import (
	"fmt"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/chart"
	"github.com/ralph-loop/ralph/internal/report"
	"github.com/ralph-loop/ralph/internal/text"
)

// drawCurves are what was spent over time; what was not spent is left out.
func drawCurves(r *Result) []chart.Chart {
	var out []chart.Chart
	for _, x := range []struct {
		name  string
		value func(Point) float64
		word  func(float64) string
	}{
		{"Cost", func(p Point) float64 { return p.Cost }, dollars},
		{"Tokens", func(p Point) float64 { return float64(p.Tokens) }, thousands},
	} {
		if len(r.Spending) == 0 || x.value(r.Spending[len(r.Spending)-1]) == 0 {
			continue
		}
		total := x.word(x.value(r.Spending[len(r.Spending)-1]))
		ax := r.axis()
		points := make([]chart.Point, len(r.Spending))
		for i, p := range r.Spending {
			points[i] = chart.Point{X: ax.At(p.At), Value: x.value(p)}
		}
		c := chart.Chart{
			ID: "curve-" + strings.ToLower(x.name), Title: x.name + " over time", Total: total + " in all", X: ax.Ticks(17),
			Desc: fmt.Sprintf("What was spent up to each moment, %s in all.", total),
		}
		out = append(out, c.Steps(points, 0, chart.Scale{Whole: x.name == "Tokens", Word: x.word}))
	}
	return out
}

// maxColumns bounds the bars; beyond that one bar is several numbers.
const maxColumns = 12

// drawIterations is how many tasks took how many iterations.
func drawIterations(tasks []TaskRow) *chart.Chart {
	most := 0
	for _, t := range tasks {
		most = max(most, t.Iterations)
	}
	if most == 0 {
		return nil
	}
	width := (most + maxColumns - 1) / maxColumns
	counts := make([]float64, (most+width-1)/width)
	for _, t := range tasks {
		if t.Iterations > 0 {
			counts[(t.Iterations-1)/width]++
		}
	}
	columns := make([]chart.Column, len(counts))
	for i := range columns {
		columns[i] = chart.Column{Name: fmt.Sprint(i*width + 1), Long: text.Count(i*width+1, "iteration")}
		if width > 1 {
			columns[i].Name = fmt.Sprintf("%d-%d", i*width+1, (i+1)*width)
			columns[i].Long = columns[i].Name + " iterations"
		}
	}
	c := chart.Chart{ID: "iterations", Title: "Iterations a task", Desc: "Columns of tasks by the number of their iterations."}.
		Columns(columns, []chart.Series{{Name: "tasks", Class: "series-1", Values: counts}}, chart.Scale{Whole: true, Sums: true, Word: func(v float64) string { return fmt.Sprint(v) }})
	return &c
}

// drawStatus is what became of the tasks.
func drawStatus(f Figures) []chart.Share {
	var parts []chart.Share
	for _, s := range []ralph.TaskStatus{ralph.TaskDone, ralph.TaskActive, ralph.TaskPending, ralph.TaskSkipped, ralph.TaskBlocked, ralph.TaskTimeout, ralph.TaskFailed} {
		parts = append(parts, chart.Share{Status: string(s), Name: report.EndedWord(s), N: f.TasksByStatus[string(s)]})
	}
	return chart.Shares(parts)
}

// dollars writes the values of the cost curve.
func dollars(v float64) string { return ralph.Dollars(v) }

func thousands(v float64) string { return report.Many(int64(v)) }

// day is the date of a report, for its title.
func day(t time.Time) string { return t.UTC().Format(time.DateOnly) }
