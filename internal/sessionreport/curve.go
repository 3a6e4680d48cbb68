package sessionreport

import (
	"fmt"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/report"
	"github.com/ralph-loop/ralph/internal/text"
)

// curve is what was spent over time, as steps in a box of 1000 by 100.
type curve struct {
	Name, Total string
	Line, Area  string // paths
	Ticks       []tick
	Top         string // the value at the upper border
}

// drawCurve is nil when nothing was spent.
func drawCurve(name string, r *Result, value func(Point) float64, words func(float64) string) *curve {
	points := r.Spending
	if len(points) == 0 || value(points[len(points)-1]) == 0 {
		return nil
	}
	ax := newAxis(r.Spans, r.Facts.From, r.Facts.To)
	most := value(points[len(points)-1])
	top := roundUp(most)
	var b strings.Builder
	b.WriteString("M0 100")
	x := 0.0
	for _, p := range points {
		x = 10 * ax.at(p.At)
		fmt.Fprintf(&b, "H%.1fV%.1f", x, 100-100*value(p)/top)
	}
	fmt.Fprintf(&b, "H1000")
	return &curve{Name: name, Total: words(most), Line: b.String(), Area: b.String() + "V100H0Z", Ticks: ax.ticks(17), Top: words(top)}
}

// roundUp is the next round number: a few steps in each power of ten.
func roundUp(v float64) float64 {
	unit := 1.0
	for unit > v {
		unit /= 10
	}
	for unit*10 < v {
		unit *= 10
	}
	for _, f := range []float64{1, 1.5, 2, 2.5, 3, 4, 5, 6, 8} {
		if unit*f >= v {
			return unit * f
		}
	}
	return unit * 10
}

// histogram is how many tasks took how many iterations.
type histogram struct {
	Bars []column
}

// column is one bar of it, in per cent of width and height.
type column struct {
	X, W, Y, H   string
	Name, Number string
	Mid          string // of the bar, for the words
	Title        string
}

// mostColumns bounds the bars; beyond that one bar is several numbers.
const mostColumns = 12

func drawIterations(tasks []TaskRow) *histogram {
	most := 0
	for _, t := range tasks {
		most = max(most, t.Iterations)
	}
	if most == 0 {
		return nil
	}
	width := (most + mostColumns - 1) / mostColumns
	counts := make([]int, (most+width-1)/width)
	high := 0
	for _, t := range tasks {
		if t.Iterations > 0 {
			i := (t.Iterations - 1) / width
			counts[i]++
			high = max(high, counts[i])
		}
	}
	h := &histogram{}
	room := 100 / float64(max(len(counts), 4))
	for i, n := range counts {
		name := fmt.Sprint(i*width + 1)
		if width > 1 {
			name = fmt.Sprintf("%d-%d", i*width+1, (i+1)*width)
		}
		height := 80 * float64(n) / float64(high)
		h.Bars = append(h.Bars, column{
			X: percent(room * (float64(i) + 0.1)), W: percent(room * 0.8), Y: percent(100 - height), H: percent(height),
			Name: name, Number: number(n), Mid: percent(room * (float64(i) + 0.5)),
			Title: fmt.Sprintf("%s took %s", text.Count(n, "task"), text.Plural(i*width+1, "iteration", "iterations")),
		})
		if width > 1 {
			h.Bars[i].Title = fmt.Sprintf("%s took %s iterations", text.Count(n, "task"), name)
		}
	}
	return h
}

// segment is a part of the bar of statuses.
type segment struct {
	Class, Name, X, W string
	N                 int
}

func drawStatus(f Figures) []segment {
	var out []segment
	x := 0.0
	for _, s := range []ralph.TaskStatus{ralph.TaskDone, ralph.TaskActive, ralph.TaskPending, ralph.TaskSkipped, ralph.TaskBlocked, ralph.TaskTimeout, ralph.TaskFailed} {
		n := f.TasksByStatus[string(s)]
		if n == 0 {
			continue
		}
		w := 100 * float64(n) / float64(f.Tasks)
		out = append(out, segment{string(s), report.EndedWord(s), percent(x), percent(w), n})
		x += w
	}
	return out
}

// dollars writes the values of the cost curve.
func dollars(v float64) string { return ralph.Dollars(v) }

func thousands(v float64) string { return report.Many(int64(v)) }

// day is the date of a report, for its title.
func day(t time.Time) string { return t.UTC().Format(time.DateOnly) }
