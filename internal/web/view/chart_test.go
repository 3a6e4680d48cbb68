package view_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph/internal/chart"
	"github.com/ralph-loop/ralph/internal/web/view"
)

// What is drawn can be read as words too, and names of agents are only words.
func TestChartIsAccessible(t *testing.T) {
	t.Parallel()
	c := chart.Chart{ID: "c", Title: "Tasks", Desc: "what is to be seen"}.Columns(
		[]chart.Column{{Name: `<script>x</script>`}}, []chart.Series{{Name: "done", Status: "done", Values: []float64{2}}, {Name: "failed", Status: "failed", Values: []float64{1}}}, chart.Scale{Whole: true, Word: func(v float64) string { return fmt.Sprint(v) }})
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
