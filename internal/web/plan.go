package web

import (
	"context"

	"github.com/ralph-loop/ralph/internal/screen/page"
	"github.com/ralph-loop/ralph/internal/web/view"
)

// What the scheduler says of the plan.
type (
	Schedule = page.Schedule
	Scored   = page.Scored
)

// board is the plan for pages that show tasks.
func (r *request) board() *page.Board { return page.NewBoard(r.Look.Look) }

// planPage is the board, or the table (?view=table).
func planPage(_ context.Context, r *request) (view.Page, error) {
	b, q := r.board(), r.URL.Query()
	f, list := b.Filter(q)
	body := view.Section{ID: "plan-body"}
	if f.View == "table" {
		table := b.Table(list, q)
		body.Body, body.Inner = view.PlanRows(table), view.Rows(table)
	} else {
		columns := b.Columns(list, q)
		body.Body, body.Inner = view.PlanBoard(columns), view.Cards(columns)
	}
	issues, rejects := b.Records()
	return view.Page{Title: "Plan", Sections: []view.Section{
		{ID: "plan-top", Body: view.PlanTop(b.Head(f.View))},
		{ID: "plan-filter", Body: view.PlanFilters(f)},
		body,
		{ID: "plan-issues", Body: view.PlanRecords("Issues", issues, max(0, len(r.State.Plan.Issues)-page.MaxRecords))},
		{ID: "plan-rejects", Body: view.PlanRecords("Rejected work", rejects, max(0, len(r.State.Plan.Rejects)-page.MaxRecords))},
	}}, nil
}
