package web

import (
	"context"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph/internal/screen/page"
	"github.com/ralph-loop/ralph/internal/web/view"
)

// maxQuery is how much of a query is looked for, in bytes.
const maxQuery = 200

// search finds actions, pages, tasks, specs and gates by their names. With scripts it is what the
// palette shows.
func search(_ context.Context, r *request) (view.Page, error) {
	q := r.URL.Query().Get("q")
	q = strings.TrimSpace(strings.ToValidUTF8(q[:min(len(q), maxQuery)], ""))
	look := r.Look.Look
	m := view.SearchModel{Query: q, Deeds: look.Palette(q)}
	m.Groups = append(m.Groups, page.Found("Gates", q, look.Gates()), page.Found("Tasks", q, look.Tasks()), page.Found("Specs", q, look.Specs()), page.Found("Pages", q, view.Places()))
	if q == "" { // where nothing is asked for, what is wanted most often comes first
		m.Groups = []view.FoundGroup{m.Groups[0], m.Groups[3], m.Groups[1], m.Groups[2]}
	}
	m.Groups = slices.DeleteFunc(m.Groups, func(g view.FoundGroup) bool { return len(g.List) == 0 })
	return view.Page{Title: "Search", Sections: []view.Section{{ID: "results", Body: view.Search(m)}}}, nil
}
