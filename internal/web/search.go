package web

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/web/view"
)

const (
	maxFound = 12 // of each kind
	maxQuery = 200
)

// search finds actions, pages, tasks, specs and gates by their names. With scripts it is what the
// palette shows.
func search(_ context.Context, r *request) (view.Page, error) {
	q := r.URL.Query().Get("q")
	q = strings.TrimSpace(strings.ToValidUTF8(q[:min(len(q), maxQuery)], ""))
	m := view.SearchModel{Query: q, Deeds: r.palette(q)}
	m.Groups = append(m.Groups, found("Gates", q, r.gates()), found("Tasks", q, r.tasks()), found("Specs", q, r.specs()), found("Pages", q, view.Places()))
	if q == "" { // where nothing is asked for, what is wanted most often comes first
		m.Groups = []view.FoundGroup{m.Groups[0], m.Groups[3], m.Groups[1], m.Groups[2]}
	}
	m.Groups = slices.DeleteFunc(m.Groups, func(g view.FoundGroup) bool { return len(g.List) == 0 })
	return view.Page{Title: "Search", Sections: []view.Section{{ID: "results", Body: view.Search(m)}}}, nil
}

// found are the places with all words of a query, the best first: those whose name
// begins with it.
func found(title, q string, list []view.Hit) view.FoundGroup {
	g := view.FoundGroup{Title: title}
	words := strings.Fields(strings.ToLower(q))
	var rest []view.Hit
	for _, p := range list {
		text := strings.ToLower(p.ID + " " + p.Name + " " + p.Status)
		if slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, w) }) {
			continue
		}
		if g.Total++; len(words) > 0 && (strings.HasPrefix(strings.ToLower(p.Name), words[0]) || strings.HasPrefix(strings.ToLower(p.ID), words[0])) {
			g.List = append(g.List, p)
		} else {
			rest = append(rest, p)
		}
	}
	g.List = append(g.List, rest...)
	g.List = g.List[:min(len(g.List), maxFound)]
	return g
}

func (r *request) gates() []view.Hit {
	var out []view.Hit
	for _, g := range r.state.Gates {
		if g.Answerable(r.engine.Alive, r.now) {
			out = append(out, view.Hit{Path: "/gate/" + string(g.ID), ID: string(g.ID), Name: g.Text, Status: "open", Note: g.Kind})
		}
	}
	return out
}

// tasks are those of the plan, what is at work first.
func (r *request) tasks() []view.Hit {
	out := make([]view.Hit, 0, len(r.state.Plan.Tasks))
	for _, t := range r.state.Plan.Tasks {
		out = append(out, view.Hit{Path: "/task/" + string(t.ID), ID: string(t.ID), Name: t.Name, Status: string(t.Status), Note: t.Phase})
	}
	slices.SortStableFunc(out, func(a, b view.Hit) int { return active(a) - active(b) })
	return out
}

func active(p view.Hit) int {
	if p.Status == string(ralph.TaskActive) {
		return 0
	}
	return 1
}

// specs are those of the inbox, each file once.
func (r *request) specs() []view.Hit {
	var out []view.Hit
	seen := map[string]bool{}
	for _, x := range slices.Backward(r.state.Inbox) {
		if !seen[x.File] {
			seen[x.File] = true
			out = append(out, view.Hit{Path: "/spec/" + x.File, Name: x.File, Status: string(x.Status), Note: fmt.Sprint(x.ID)})
		}
	}
	return out
}
