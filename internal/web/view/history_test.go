package view_test

import (
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph/internal/web/view"
)

// While a session is at work, the time of all sessions goes on with its own: the whole is
// never less than its part (B-100).
func TestBothRuntimesGoOn(t *testing.T) {
	t.Parallel()
	m := view.HistoryModel{
		Session: "s-1", Live: true, Since: time.Date(2025, 3, 1, 12, 0, 0, 0, time.UTC),
		Figures: []view.FigureRow{{Name: "Runtime", This: "1m", All: "3m", Clock: true, Before: 2 * time.Minute}},
	}
	var page strings.Builder
	if err := view.HistoryFigures(m).Render(t.Context(), &page); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`<time data-running="2025-03-01T12:00:00Z">1m<`, `<time data-running="2025-03-01T11:58:00Z">3m<`} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("the figures have no %s:\n%s", want, page.String())
		}
	}
}
