package web

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/screen/page"
	"github.com/ralph-loop/ralph/internal/web/view"
)

// graphPage draws the dependency graph: all of it, one phase (?phase=), or what hangs
// together with one task (?focus=).
func graphPage(_ context.Context, r *request) (view.Page, error) {
	b, q := r.board(), r.URL.Query()
	list, notes := b.Order, []view.Note(nil)
	focus := b.Tasks[ralph.TaskID(q.Get("focus"))]
	switch {
	case focus != nil:
		list = b.Around(focus, page.MaxNamed)
		notes = append(notes, view.Note{
			Text:  fmt.Sprintf("%d of %d tasks: what %s waits for, and what waits for it.", len(list), len(b.Order), focus.ID),
			Links: []view.Tab{{Title: "All tasks", Address: page.With("/plan/graph", q, "focus", "")}},
		})
	case q.Get("phase") != "":
		list = slices.DeleteFunc(slices.Clone(list), func(t *ralph.Task) bool { return t.Phase != q.Get("phase") })
	}
	if len(list) > page.MaxDrawn {
		notes = append(notes, view.Note{Text: fmt.Sprintf("Only the first %d of %d tasks are drawn; choose a phase to see the others.", page.MaxDrawn, len(list))})
		list = list[:page.MaxDrawn]
	}
	if len(list) > page.MaxNamed {
		notes = append(notes, view.Note{Text: "So many tasks are drawn small, and without lines that others imply. Choose a phase, or open a task and from there its neighbourhood."})
	}
	if note, ok := b.Phases(q.Get("phase")); ok && focus == nil {
		notes = append(notes, note)
	}
	g := b.Graph(list, focus)
	g.Notes = notes
	g.Zoom, _ = strconv.Atoi(q.Get("zoom"))
	g.Zoom = max(0, min(g.Zoom, 400))
	for _, z := range []int{0, 50, 100, 200} {
		title, value := fmt.Sprintf("%d %%", z), strconv.Itoa(z)
		if z == 0 {
			title, value = "fit", ""
		}
		g.Zooms = append(g.Zooms, view.Tab{Title: title, Address: page.With("/plan/graph", q, "zoom", value), Here: z == g.Zoom})
	}
	return view.Page{Title: "Plan", Sections: []view.Section{
		{ID: "plan-top", Body: view.PlanTop(b.Head("graph"))},
		{ID: "plan-graph", Body: view.PlanGraph(g)},
	}}, nil
}
