package web

import (
	"context"

	"github.com/ralph-loop/ralph/internal/screen/history"
	"github.com/ralph-loop/ralph/internal/web/view"
)

// historyPage is the page of past sessions, with figures over time.
func historyPage(ctx context.Context, r *request) (view.Page, error) {
	x, read := r.server.index, r.Read
	if r.Past { // the same figures, of a journal that ends there
		x = r.server.histories.Of(ctx, r.server.opt.Source, r.server.panics, r.Look)
		read = x.Progress()
	}
	m := history.Of(r.Look.Look, x, read, r.URL.Query())
	return view.Page{Title: "History", Sections: []view.Section{
		{ID: "history-reading", Body: view.ReadingNote(m.Read)},
		{ID: "history-range", Body: view.HistoryRange(m)},
		{ID: "history-charts", Body: view.Charts(m.Charts)},
		{ID: "history-sessions", Class: "two-thirds", Body: view.SessionList(m)},
		{ID: "history-figures", Class: "third", Body: view.HistoryFigures(m)},
	}}, nil
}
