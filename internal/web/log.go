package web

import (
	"context"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/screen/history"
	"github.com/ralph-loop/ralph/internal/web/index"
	"github.com/ralph-loop/ralph/internal/web/view"
)

// logPage is the log, of everything or of a session, by parts: the newest lines live,
// older ones by their facts.
func logPage(ctx context.Context, r *request) (view.Page, error) {
	x, id := r.server, ralph.SessionID(r.PathValue("id"))
	var of *index.Session
	if id != "" {
		if s, ok := x.index.Session(id); ok {
			of = &s
		} else if r.Read.Caught {
			return view.Page{}, noSession(id)
		}
	}
	m, err := history.LogOf(ctx, r.Look.Look, x.index, r.URL.Path, id, of, r.URL.Query(), x.windows.Read(x.index))
	if err != nil {
		return view.Page{}, err
	}
	m.Read, m.LogFile = history.ReadingOf(r.State, r.Read), of != nil && logFile(x.opt.Root, of) != ""
	return view.Page{Title: "Log", Sections: []view.Section{
		{ID: "log-tools", Body: view.LogTools(m)},
		{ID: "log-lines", Body: view.LogLines(m)},
	}}, nil
}
