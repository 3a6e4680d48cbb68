package web

import (
	"context"

	"github.com/ralph-loop/ralph/internal/screen/page"
	"github.com/ralph-loop/ralph/internal/status"
	"github.com/ralph-loop/ralph/internal/web/view"
)

// overview is the first page: what needs a person, then what goes on.
func overview(_ context.Context, r *request) (view.Page, error) {
	o := page.OverviewOf(r.Look.Look)
	stage, now := status.QueryStage(r.State), status.Of(r.State, r.Engine, r.Now)
	feed, err := r.server.feed.At(r.server.opt.Source, r.State, r.server.index.Before)
	if err != nil {
		return view.Page{}, err
	}
	return view.Page{Title: "Overview", Quiet: true, Sections: []view.Section{
		{ID: "needs", Body: view.Needs(o.Needs())},
		{ID: "morning", Body: view.Morning(o.Morning())},
		slotSections(o.Slots(stage, now)),
		{ID: "workers", Body: view.Workers(o.Workers())},
		{ID: "overview-threads", Body: view.ThreadsBrief(o.Threads())},
		{ID: "progress", Class: "half", Body: view.PlanProgress(o.Progress())},
		{ID: "merges", Class: "half", Body: view.Merges(o.Merges(stage))},
		{ID: "feed", Class: "rail", Body: view.Feed(feed), Inner: view.FeedLines(feed)},
		{ID: "inbox", Class: "half", Body: view.Inbox(o.Inbox())},
		{ID: "statistics", Class: "half", Body: view.Statistics(o.Statistics())},
		{ID: "issues", Class: "half", Body: view.Issues(o.Issues())},
	}}, nil
}

// slotSections are a part for each slot, so that of a hundred only those that change are sent.
func slotSections(m view.SlotsModel) view.Section {
	s := view.Section{ID: "slots", Body: view.Slots(m)}
	if !m.Alive || m.Fresh {
		return s
	}
	for _, c := range m.Cards {
		s.Inner = append(s.Inner, view.Section{ID: "at-" + c.Place(), Class: "contents", Part: true, Body: view.SlotAt(c)})
	}
	return s
}
