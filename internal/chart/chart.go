// Package chart draws what happened over time, and how much of what there was: as SVG
// that needs no script, no style of its own and no other file. A page brings the colours,
// by classes and by data-status, so that one drawing fits the dashboard, the report, both
// themes and paper. It knows nothing of tasks, sessions or the journal.
package chart

import (
	"fmt"
	"math"
	"strings"
)

// Chart is a drawing with its axes, and the same numbers as a table. Places along the
// x axis are in per cent of a width that the page decides, those along the y axis in
// pixels: one drawing fits a phone and a screen, and its words keep their size.
type Chart struct {
	ID    string // of its elements, unique on a page
	Title string
	Total string // beside the title
	Desc  string // says in a sentence what is to be seen
	Empty string // what stands there instead of a drawing

	Y      []Mark
	X      []Mark
	Groups []Group
	Area   string // paths in a box of 1000 by Height
	Line   string
	Legend []Key
	Head   []string // of the table
	Rows   [][]string
}

// Mark is a word at an axis, at its place.
type Mark struct {
	At, Text string
	Place    string // of the word: mid, end, or "" for the beginning
	Few      bool   // left out where there is little room
}

// Group is a column: parts on top of each other, and what is said of all.
type Group struct {
	X, W  string // of the room that belongs to it
	Title string
	Parts []Part
	// Sum stands above the column, at SumY in the middle of its room.
	Sum, SumY, Mid string
}

// Part is one part of a column, or of a whole.
type Part struct {
	X, W, Y, H    string
	Class, Status string // a class of the page's, or a status, which has its own colour
}

// Key names a part.
type Key struct{ Class, Status, Name string }

// Series are the values of one part, one a column.
type Series struct {
	Name   string
	Class  string // series-1 ...
	Status string // a status instead, which has its own colour
	Values []float64
}

// Column is what is said of a column.
type Column struct {
	Name string // at the axis
	Long string // in its tip and in the table; "" is the Name
}

// Scale is how values stand on the y axis.
type Scale struct {
	Whole bool                 // whole values have whole ticks
	Word  func(float64) string // writes a value
	Sums  bool                 // each column has its sum above it
}

// Height is how high a drawing is, and top the room above it for the highest word.
const (
	Height = 140
	top    = 10
)

// Columns draws columns, the series on top of each other. All values are 0 or more, and
// the y axis begins at 0.
func (c Chart) Columns(columns []Column, series []Series, scale Scale) Chart {
	highest := 0.0
	for i := range columns {
		highest = max(highest, sumAt(series, i))
	}
	if highest == 0 {
		return c
	}
	c.Empty = ""
	most := c.ticks(highest, scale)
	c.Head = []string{""}
	for _, s := range series {
		c.Head = append(c.Head, s.Name)
		if len(series) > 1 {
			c.Legend = append(c.Legend, Key{s.Class, s.Status, s.Name})
		}
	}
	room, every := 100/float64(max(len(columns), 4)), (len(columns)+7)/8
	for i, col := range columns {
		if col.Long == "" {
			col.Long = col.Name
		}
		left := room * float64(i)
		c.column(col, series, i, left, room, most, scale)
		if i%every == 0 {
			few := i/every%2 == 1 && (len(columns) > 7 || len(columns) > 4 && len(col.Name) > 5)
			c.X = append(c.X, Mark{At: Percent(left + room/2), Text: col.Name, Place: "mid", Few: few})
		}
	}
	return c
}

// column draws the i-th column, which has the room from left on.
func (c *Chart) column(col Column, series []Series, i int, left, room, most float64, scale Scale) {
	width := min(0.78*room, 12)
	g := Group{X: Percent(left), W: Percent(room), Mid: Percent(left + room/2)}
	row, tip, at := []string{col.Long}, []string{col.Long}, 0.0
	for _, s := range series {
		v := s.Values[i]
		row = append(row, scale.Word(v))
		if v > 0 || len(series) == 1 {
			tip = append(tip, strings.TrimSpace(s.Name+": "+scale.Word(v)))
		}
		if v > 0 {
			high := max(Height*v/most, 1) // what is there is seen
			g.Parts = append(g.Parts, Part{Percent(left + (room-width)/2), Percent(width), short(top + Height - at - high), short(high), s.Class, s.Status})
			at += high
		}
	}
	if scale.Sums {
		g.Sum, g.SumY = scale.Word(sumAt(series, i)), short(top+Height-at-4)
	}
	g.Title = strings.Join(tip, "\n")
	c.Groups, c.Rows = append(c.Groups, g), append(c.Rows, row)
}

func sumAt(series []Series, i int) float64 {
	sum := 0.0
	for _, s := range series {
		sum += s.Values[i]
	}
	return sum
}

// Point is a value from a place on, in per cent of the width.
type Point struct{ X, Value float64 }

// Steps draws one value as steps: each point holds up to the next one, the last up to the
// end. Before the first one the value is the first one's, or 0 if there is none at 0. most
// is what the y axis has to hold at least.
func (c Chart) Steps(points []Point, most float64, scale Scale) Chart {
	for _, p := range points {
		most = max(most, p.Value)
	}
	if most == 0 || len(points) == 0 {
		return c
	}
	c.Empty = ""
	most = c.ticks(most, scale)
	var b strings.Builder
	b.WriteString("M0")
	if points[0].X > 0 {
		fmt.Fprintf(&b, " %dH%.1f", Height, 10*points[0].X)
	}
	for i, p := range points {
		y := Height - Height*p.Value/most
		switch {
		case i > 0:
			fmt.Fprintf(&b, "H%.1fV%.1f", 10*p.X, y)
		case p.X > 0:
			fmt.Fprintf(&b, "V%.1f", y)
		default:
			fmt.Fprintf(&b, " %.1f", y)
		}
	}
	b.WriteString("H1000")
	c.Line = b.String()
	c.Area = fmt.Sprintf("%sV%dH0Z", c.Line, Height)
	return c
}

// Even are points at the same distance from each other.
func Even(values []float64) []Point {
	out := make([]Point, len(values))
	for i, v := range values {
		out[i] = Point{100 * float64(i) / float64(len(values)), v}
	}
	return out
}

// ticks makes the y axis from 0 to a round value at or above the highest.
func (c *Chart) ticks(highest float64, scale Scale) (most float64) {
	step := roundStep(highest/4, scale.Whole)
	most = step * math.Ceil(highest/step-1e-9)
	for i := 0; float64(i)*step <= most+step/2; i++ {
		v := float64(i) * step
		c.Y = append(c.Y, Mark{At: short(top + Height - Height*v/most), Text: scale.Word(v)})
	}
	return most
}

// roundStep is a round distance of ticks, at least least.
func roundStep(least float64, whole bool) float64 {
	if whole && least <= 1 {
		return 1
	}
	unit := math.Pow(10, math.Floor(math.Log10(least)))
	for _, f := range []float64{1, 2, 2.5, 5} {
		if unit*f >= least-1e-12 && (!whole || unit*f == math.Trunc(unit*f)) {
			return unit * f
		}
	}
	return unit * 10
}

// Percent writes a place or a width.
func Percent(v float64) string { return short(v) + "%" }

// short writes a number without needless digits.
func short(v float64) string {
	return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.2f", v), "0"), ".")
}

// Share is a part of a whole: the bar of statuses.
type Share struct {
	Status, Name, X, W string
	N                  int
}

// Shares are the parts of a whole beside each other; those of nothing are left out.
func Shares(parts []Share) []Share {
	all := 0
	for _, p := range parts {
		all += p.N
	}
	var out []Share
	x := 0.0
	for _, p := range parts {
		if p.N > 0 {
			w := 100 * float64(p.N) / float64(all)
			p.X, p.W = Percent(x), Percent(w)
			out = append(out, p)
			x += w
		}
	}
	return out
}

func viewBox() string { return fmt.Sprintf("0 0 1000 %d", Height) }

// base is the y of the x axis, words that of the words below it.
func base() string  { return fmt.Sprint(top + Height) }
func words() string { return fmt.Sprint(top + Height + 16) }
func size() string  { return fmt.Sprint(top + Height + 22) }
