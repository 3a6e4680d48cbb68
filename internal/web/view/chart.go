package view

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

	Y      []ChartMark
	X      []ChartMark
	Groups []ChartGroup
	Area   string // a path in a box of 1000 by Box
	Line   string
	Box    int // 0 is the height of the drawing
	Legend []ChartKey
	Head   []string // of the table
	Rows   [][]string
}

// ChartMark is a word at an axis, at its place.
type ChartMark struct {
	At, Text string
	Place    string // of the word: mid, end, or "" for the beginning
	Few      bool   // left out where there is little room
}

// ChartGroup is a column: parts on top of each other, and what is said of all.
type ChartGroup struct {
	X, W  string // of the room that belongs to it
	Title string
	Bars  []ChartBar
}

// ChartBar is one part of a column.
type ChartBar struct{ X, W, Y, H, Class, Status string }

// ChartKey names a part.
type ChartKey struct{ Class, Status, Name string }

// ChartSeries are the values of one part, one a column.
type ChartSeries struct {
	Name   string
	Class  string // series-1 ...
	Status string // a status instead, which has its own colour
	Values []float64
}

// ChartColumn is what is said of a column.
type ChartColumn struct {
	Name string // at the axis
	Long string // in its tip and in the table; "" is the Name
}

// The height of the drawing, and the room above it for the highest word.
const (
	chartHigh = 140
	chartTop  = 10
)

// Columns draws columns, the series on top of each other. All values are 0 or more, and
// the y axis begins at 0. word writes a value; whole values have whole ticks.
func (c Chart) Columns(columns []ChartColumn, series []ChartSeries, whole bool, word func(float64) string) Chart {
	highest := 0.0
	for i := range columns {
		sum := 0.0
		for _, s := range series {
			sum += s.Values[i]
		}
		highest = max(highest, sum)
	}
	if highest == 0 {
		return c
	}
	c.Empty = ""
	top := c.ticks(highest, whole, word)
	room := 100 / float64(max(len(columns), 4))
	width := min(0.78*room, 12)
	c.Head = []string{""}
	for _, s := range series {
		c.Head = append(c.Head, s.Name)
		if len(series) > 1 {
			c.Legend = append(c.Legend, ChartKey{s.Class, s.Status, s.Name})
		}
	}
	every := (len(columns) + 7) / 8
	for i, col := range columns {
		left := room * float64(i)
		g := ChartGroup{X: per(left), W: per(room)}
		long := col.Long
		if long == "" {
			long = col.Name
		}
		row, tip, at := []string{long}, []string{long}, 0.0
		for _, s := range series {
			v := s.Values[i]
			row = append(row, word(v))
			if v > 0 || len(series) == 1 {
				tip = append(tip, strings.TrimSpace(s.Name+": "+word(v)))
			}
			if high := chartHigh * v / top; v > 0 {
				high = max(high, 1) // what is there is seen
				g.Bars = append(g.Bars, ChartBar{per(left + (room-width)/2), per(width), px(chartTop + chartHigh - at - high), px(high), s.Class, s.Status})
				at += high
			}
		}
		g.Title = strings.Join(tip, "\n")
		c.Groups = append(c.Groups, g)
		c.Rows = append(c.Rows, row)
		if i%every == 0 {
			c.X = append(c.X, ChartMark{At: per(left + room/2), Text: col.Name, Place: "mid", Few: i/every%2 == 1 && (len(columns) > 7 || len(columns) > 4 && len(col.Name) > 5)})
		}
	}
	return c
}

// Steps draws one value over time as steps, each of the same width; most is what the y
// axis has to hold at least.
func (c Chart) Steps(values []float64, most float64, whole bool, word func(float64) string) Chart {
	highest := most
	for _, v := range values {
		highest = max(highest, v)
	}
	if highest == 0 || len(values) == 0 {
		return c
	}
	c.Empty = ""
	top := c.ticks(highest, whole, word)
	var b strings.Builder
	for i, v := range values {
		y := chartHigh - chartHigh*v/top
		if i == 0 {
			fmt.Fprintf(&b, "M0 %.1f", y)
		} else {
			fmt.Fprintf(&b, "V%.1f", y)
		}
		fmt.Fprintf(&b, "H%.1f", 1000*float64(i+1)/float64(len(values)))
	}
	c.Line = b.String()
	c.Area = fmt.Sprintf("%sV%dH0Z", c.Line, chartHigh)
	return c
}

// ticks makes the y axis from 0 to a round value at or above the highest.
func (c *Chart) ticks(highest float64, whole bool, word func(float64) string) (top float64) {
	step := roundStep(highest/4, whole)
	top = step * math.Ceil(highest/step-1e-9)
	for i := 0; float64(i)*step <= top+step/2; i++ {
		v := float64(i) * step
		c.Y = append(c.Y, ChartMark{At: px(chartTop + chartHigh - chartHigh*v/top), Text: word(v)})
	}
	return top
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

func per(v float64) string { return short(v) + "%" }

func px(v float64) string { return short(v) }

// short writes a number without needless digits.
func short(v float64) string {
	s := fmt.Sprintf("%.2f", v)
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}

func (c Chart) viewBox() string {
	if c.Box > 0 {
		return fmt.Sprintf("0 0 1000 %d", c.Box)
	}
	return fmt.Sprintf("0 0 1000 %d", chartHigh)
}

// chartBase is the y of the x axis, chartWords that of the words below it.
func chartBase() string  { return fmt.Sprint(chartTop + chartHigh) }
func chartWords() string { return fmt.Sprint(chartTop + chartHigh + 16) }
func chartSize() string  { return fmt.Sprint(chartTop + chartHigh + 22) }
