package web

import (
	"context"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/action"
	"github.com/ralph-loop/ralph/internal/report"
	"github.com/ralph-loop/ralph/internal/web/view"
)

// pages are all addresses that people look at. Each page has a file of its own here,
// and one in internal/web/view.
func pages() map[string]pageFunc {
	return map[string]pageFunc{
		"/{$}":              overview,
		"/gates":            gates,
		"/gate/{id}":        gate,
		"/plan":             planPage,
		"/receipts":         receipts,
		"/receipt/{seq}":    receipt,
		"/replay":           replay,
		"/replay/{session}": replay,
		"/history":          history,
	}
}

// overview is the first page: what needs a person, then what goes on.
func overview(_ context.Context, r *request) (view.Page, error) {
	w := r.server.opt.Desk.World()
	var needs []view.Need
	for _, g := range r.state.Gates {
		if g.Heard(r.engine.Alive, r.now) {
			needs = append(needs, view.Need{Gate: g, Task: taskName(r.state, g), Offers: action.Offers(r.state, w, action.Gate, string(g.ID))})
		}
	}
	stage := report.QueryStage(r.state)
	return view.Page{Title: "Overview", Sections: []view.Section{
		{ID: "needs", Body: view.Needs(needs)},
		{ID: "slots", Body: view.Slots(stage, r.engine.Words)},
	}}, nil
}

// taskName is the name of the task that a gate is about.
func taskName(s *ralph.State, g *ralph.Gate) string {
	id := g.About
	if id == "" {
		id = g.Task
	}
	if t := s.Task(id); t != nil {
		return t.Name
	}
	return ""
}
