package view_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph/internal/web/view"
)

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
		columns := make([]view.ChartColumn, len(tt.values))
		c := view.Chart{ID: "c"}.Columns(columns, []view.ChartSeries{{Name: "n", Values: tt.values}}, tt.whole, number)
		var ticks []string
		for _, y := range c.Y {
			ticks = append(ticks, y.Text)
		}
		if got := strings.Join(ticks, " "); got != tt.ticks {
			t.Errorf("%v: ticks %s, want %s", tt.values, got, tt.ticks)
		}
		found := false
		for _, g := range c.Groups {
			for _, b := range g.Bars {
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
	if c := (view.Chart{Empty: "nothing"}).Columns(nil, nil, true, number); c.Empty != "nothing" {
		t.Error("a chart of nothing is drawn")
	}
}

// What is drawn can be read as words too, and names of agents are only words.
func TestChartIsAccessible(t *testing.T) {
	t.Parallel()
	c := view.Chart{ID: "c", Title: "Tasks", Desc: "what is to be seen"}.Columns(
		[]view.ChartColumn{{Name: `<script>x</script>`}}, []view.ChartSeries{{Name: "done", Status: "done", Values: []float64{2}}, {Name: "failed", Status: "failed", Values: []float64{1}}}, true, func(v float64) string { return fmt.Sprint(v) })
	var b strings.Builder
	if err := view.Draw(c).Render(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	html := b.String()
	for _, want := range []string{`role="img"`, `aria-labelledby="c-t c-d"`, "<desc id=\"c-d\">what is to be seen</desc>", "done: 2", "<table", `data-status="failed"`} {
		if !strings.Contains(html, want) {
			t.Errorf("no %s in %s", want, html)
		}
	}
	if strings.Contains(html, "<script") || strings.Contains(html, "style=") {
		t.Errorf("script or style in %s", html)
	}
}
