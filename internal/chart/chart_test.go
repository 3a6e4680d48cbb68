package chart

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/a-h/templ"
	"pgregory.net/rapid"
)

// The axis keeps the order of time, stays on the page, and its ticks do not touch;
// whatever is worked on when, over minutes or months.
func TestAxis(t *testing.T) {
	t.Parallel()
	start := time.Date(2025, 1, 20, 10, 0, 0, 0, time.UTC)
	rapid.Check(t, func(rt *rapid.T) {
		var spans []Span
		at := start
		for range rapid.IntRange(0, 30).Draw(rt, "spans") {
			at = at.Add(time.Duration(rapid.Int64Range(0, int64(48*time.Hour)).Draw(rt, "gap")))
			long := time.Duration(rapid.Int64Range(0, int64(3*time.Hour)).Draw(rt, "long"))
			spans = append(spans, Span{From: at, To: at.Add(long)})
		}
		end := at.Add(4 * time.Hour)
		ax := NewAxis(spans, start, end)
		last := 0.0
		for x := start; x.Before(end); x = x.Add(end.Sub(start)/200 + 1) {
			pos := ax.At(x)
			if pos < last || pos < 0 || pos > 100.0001 {
				rt.Fatalf("%s is at %v after %v", x, pos, last)
			}
			last = pos
		}
		if ticks := ax.Ticks(8); len(ticks) > 12 {
			rt.Fatalf("%d ticks: %v", len(ticks), ticks)
		}
	})
}

// A night between two stretches of work is a fold, and takes no room.
func TestAxisFoldsANight(t *testing.T) {
	t.Parallel()
	start := time.Date(2025, 1, 20, 17, 0, 0, 0, time.UTC)
	night := start.Add(16 * time.Hour)
	ax := NewAxis([]Span{{From: start, To: start.Add(time.Hour)}, {From: night, To: night.Add(time.Hour)}}, start, night.Add(time.Hour))
	if len(ax.Folds()) != 1 || ax.At(start.Add(time.Hour)) < 45 || ax.At(night) > 55 {
		t.Errorf("the night goes from %v to %v, folds %v", ax.At(start.Add(time.Hour)), ax.At(night), ax.Folds())
	}
	if !slices.ContainsFunc(ax.Ticks(8), func(x Mark) bool { return strings.HasPrefix(x.Text, "Jan 21 ") }) {
		t.Errorf("the next day is not named: %v", ax.Ticks(8))
	}
}

// Bars too short to be told apart become one, in the colour of the worst of them,
// that says how many there are.
func TestBarsJoin(t *testing.T) {
	t.Parallel()
	var bars []Bar
	for i := range 10 {
		x := 50 + float64(i)*0.05
		outcome := "done"
		if i == 3 {
			outcome = "failed"
		}
		bars = append(bars, NewBar(x, x+0.05, outcome))
	}
	long := NewBar(60, 80, "done")
	long.Label = "t-1"
	var line Timeline
	line.Add("slot 1", append(bars, long), nil, []string{"done", "failed"})
	got := line.Lanes[0].Bars
	if len(got) != 2 || got[0].Status != "failed" || got[0].Title != "1 failed, 9 done" || got[1].Label != "t-1" || !slices.Equal(line.Legend, []string{"done", "failed"}) {
		t.Errorf("%+v", got)
	}
}

// The y axis begins at 0 and ends at a round value, not far above the highest.
func TestRoundTicks(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		v, whole := rapid.Float64Range(0.0001, 1e9).Draw(rt, "v"), rapid.Bool().Draw(rt, "whole")
		var c Chart
		most := c.ticks(v, Scale{Whole: whole, Word: func(v float64) string { return fmt.Sprint(v) }})
		if most < v*0.999999 || most > max(2*v*1.000001, 1) || len(c.Y) < 2 || len(c.Y) > 6 {
			rt.Fatalf("%v of %v, ticks %v", most, v, c.Y)
		}
	})
}

// A step holds up to the next one, and the last one to the end; what begins later begins at 0.
func TestSteps(t *testing.T) {
	t.Parallel()
	scale := Scale{Whole: true, Word: func(v float64) string { return fmt.Sprint(v) }}
	for name, tt := range map[string]struct {
		points []Point
		most   float64
		want   string
	}{
		"even":         {Even([]float64{2, 4, 0}), 0, "M0 70.0H333.3V0.0H666.7V140.0H1000"},
		"begins later": {[]Point{{50, 4}}, 0, "M0 140H500.0V0.0H1000"},
		"room above":   {Even([]float64{2}), 4, "M0 70.0H1000"},
		"nothing":      {Even([]float64{0, 0}), 0, ""},
		"no points":    {nil, 3, ""},
	} {
		c := Chart{Empty: "empty"}.Steps(tt.points, tt.most, scale)
		if c.Line != tt.want || (c.Empty == "") != (tt.want != "") {
			t.Errorf("%s: %s, want %s", name, c.Line, tt.want)
		}
	}
}

// Dots of one kind that fall together are one, those of two kinds stay.
func TestDots(t *testing.T) {
	t.Parallel()
	var line Timeline
	line.Add("slot 1", nil, []Dot{NewDot(50.1, "red", "b"), NewDot(50, "red", "a"), NewDot(50, "asked", "c"), NewDot(60, "red", "d")}, nil)
	var got []string
	for _, d := range line.Lanes[0].Dots {
		got = append(got, d.X+" "+d.Title)
	}
	if want := []string{"50% a", "50% c", "60% d"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// What is of nothing has no part in the bar, and the parts fill it.
func TestShares(t *testing.T) {
	t.Parallel()
	got := Shares([]Share{{Status: "done", N: 3}, {Status: "failed"}, {Status: "active", N: 1}})
	if len(got) != 2 || got[0].X != "0%" || got[0].W != "75%" || got[1].X != "75%" || got[1].W != "25%" {
		t.Errorf("%+v", got)
	}
}

// Words of agents are only words in a drawing, and a lane says what is in it.
func TestDrawingsEscape(t *testing.T) {
	t.Parallel()
	const evil = `"><script>alert(1)</script>`
	bar := NewBar(0, 50, evil)
	bar.Title, bar.Label, bar.Href = evil, evil, evil
	line := &Timeline{}
	line.Add(evil, []Bar{bar}, []Dot{NewDot(10, evil, evil)}, nil)
	c := Chart{ID: evil, Title: evil, Desc: evil}.Columns([]Column{{Name: evil}}, []Series{{Name: evil, Class: evil, Values: []float64{1}}}, Scale{Whole: true, Sums: true, Word: func(float64) string { return evil }})
	var b strings.Builder
	for _, x := range []templ.Component{Lanes(line, func(id string) string { return "#" + id }), Plot(c), Statuses(Shares([]Share{{Status: evil, Name: evil, N: 1}}), evil)} {
		if err := x.Render(t.Context(), &b); err != nil {
			t.Fatal(err)
		}
	}
	if html := b.String(); strings.Contains(html, "<script") || strings.Contains(html, "style=") || !strings.Contains(html, "1 stretch of work, 1 mark\"") {
		t.Errorf("%s", html)
	}
}

// The y axis begins at 0 and ends at a round value that holds the highest column.
func TestColumnsAreHonest(t *testing.T) {
	t.Parallel()
	number := func(v float64) string { return fmt.Sprint(v) }
	tests := []struct {
		values []float64
		whole  bool
		ticks  string
		high   string // of the highest bar, of 140
	}{
		{[]float64{1, 3}, true, "0 1 2 3", "140"},
		{[]float64{0, 41}, true, "0 20 40 60", "95.67"},
		{[]float64{0.08, 0.02}, false, "0 0.02 0.04 0.06 0.08", "140"},
		{[]float64{1e6, 5}, true, "0 250000 500000 750000 1e+06", "140"},
	}
	for _, tt := range tests {
		columns := make([]Column, len(tt.values))
		c := Chart{ID: "c"}.Columns(columns, []Series{{Name: "n", Values: tt.values}}, Scale{Whole: tt.whole, Word: number})
		var ticks []string
		for _, y := range c.Y {
			ticks = append(ticks, y.Text)
		}
		if got := strings.Join(ticks, " "); got != tt.ticks {
			t.Errorf("%v: ticks %s, want %s", tt.values, got, tt.ticks)
		}
		found := false
		for _, g := range c.Groups {
			for _, b := range g.Parts {
				found = found || b.H == tt.high
			}
		}
		if !found || c.Y[0].At != "150" {
			t.Errorf("%v: no bar is %s high over a base at %s: %+v", tt.values, tt.high, c.Y[0].At, c.Groups)
		}
		if len(c.Rows) != len(columns) {
			t.Errorf("%v: a table of %d rows", tt.values, len(c.Rows))
		}
	}
	if c := (Chart{Empty: "nothing"}).Columns(nil, nil, Scale{Whole: true, Word: number}); c.Empty != "nothing" {
		t.Error("a chart of nothing is drawn")
	}
}
