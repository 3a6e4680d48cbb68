package web

import (
	"context"

	"github.com/ralph-loop/ralph/internal/screen"
	"github.com/ralph-loop/ralph/internal/screen/history"
	"github.com/ralph-loop/ralph/internal/web/view"
)

// threadsPage is all threads: how each stands, what was decided last, what can be done.
func threadsPage(_ context.Context, r *request) (view.Page, error) {
	m := screen.ThreadsOf(r.State, r.Engine, r.Now, r.World())
	for i := range m.Cards[:min(len(m.Cards), maxLivePlans)] {
		r.livePlan(&m.Cards[i].Thread)
	}
	return view.Page{Title: "Threads", Sections: []view.Section{
		{ID: "threads-top", Body: view.ThreadsTop(m)},
		threadCards(m),
	}}, nil
}

// maxLivePlans are the threads at work whose agents' plans are read while their turns run.
const maxLivePlans = 24

// livePlan takes over the plan that the agent has now, in the middle of its turn; State has that of the last one.
func (r *request) livePlan(x *screen.Thread) {
	if x.Turn.IsZero() || r.Past { // a file has what came later, too
		return
	}
	if f := r.server.turnFeed(x.ID, r.newestRecord(x.ID)); f != nil && len(f.Plan) > 0 {
		x.Plan = f.Plan
	}
}

// threadCards are a part of the page for each thread, so that one that changes is sent alone.
func threadCards(m screen.Threads) view.Section {
	s := view.Section{ID: "threads", Body: view.ThreadCards(m)}
	for _, c := range m.Cards {
		s.Inner = append(s.Inner, view.Section{ID: "at-" + string(c.ID), Class: "contents", Part: true, Body: view.ThreadCard(c)})
	}
	return s
}

// decisionsPage is what was decided on threads, newest first.
func decisionsPage(_ context.Context, r *request) (view.Page, error) {
	m, err := history.DecisionsOf(r.State, r.server.opt.Source, r.URL.Query())
	if err != nil {
		return view.Page{}, err
	}
	return view.Page{Title: "Decisions", Sections: []view.Section{
		{ID: "decisions-filter", Body: view.DecisionsFilter(m)},
		{ID: "decisions", Body: view.DecisionsList(m)},
	}}, nil
}
