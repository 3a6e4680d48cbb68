package web

import (
	"slices"
	"strings"

	"github.com/ralph-loop/ralph/internal/action"
	"github.com/ralph-loop/ralph/internal/web/view"
)

const (
	maxEntries   = 12 // that are shown
	paletteTasks = 24 // tasks whose actions are looked at
)

// minVerb is how much of its name an action has to be called by, in bytes: what is typed
// on the way to a page must not be an action already.
const minVerb = 3

// palette are the actions that a query names: of the engine by their name, of a task by
// theirs and its own words.
func (r *request) palette(q string) []view.PaletteEntry {
	words := strings.Fields(strings.ToLower(q))
	out := fitting(words, "", view.PaletteEntry{Path: "/"}, action.AllAvailable(r.state, r.world(), action.Engine, ""))
	rest := slices.DeleteFunc(slices.Clone(words), func(w string) bool {
		return slices.ContainsFunc(action.Actions(), func(a action.Action) bool { return a.About == action.Task && calls(w, a.Name, a.Title) })
	})
	if len(rest) == 0 || len(rest) == len(words) { // it has to say what, and with which task
		return out
	}
	looked := 0
	for _, t := range r.state.Plan.Tasks {
		text := strings.ToLower(string(t.ID) + " " + t.Name + " " + string(t.Status))
		if slices.ContainsFunc(rest, func(w string) bool { return !strings.Contains(text, w) }) {
			continue
		}
		if looked++; looked > paletteTasks || len(out) >= maxEntries {
			break
		}
		about := view.PaletteEntry{Path: "/task/" + string(t.ID), ID: string(t.ID), Name: t.Name, Status: string(t.Status)}
		out = append(out, fitting(words, text, about, action.AllAvailable(r.state, r.world(), action.Task, string(t.ID)))...)
	}
	return out[:min(len(out), maxEntries)]
}

// fitting are the offers that are called by one of the words, and have the others in what
// they are about.
func fitting(words []string, text string, about view.PaletteEntry, offers []action.Available) []view.PaletteEntry {
	var out []view.PaletteEntry
	for _, o := range offers {
		called := false
		for _, w := range words {
			is := calls(w, o.Action, o.Title)
			if !is && !strings.Contains(text, w) {
				called = false
				break
			}
			called = called || is
		}
		if called {
			d := about
			d.Action = o
			out = append(out, d)
		}
	}
	return out
}

// calls reports whether a word calls an action.
func calls(w, name, title string) bool {
	return len(w) >= minVerb && (strings.HasPrefix(name, w) || strings.HasPrefix(strings.ToLower(title), w))
}

// nextUp are the tasks that would start now, the best first, as places to go to.
func (r *request) nextUp(most int) (list []view.NextTask, total int) {
	plan := r.server.opt.Schedule
	if plan == nil {
		return nil, 0
	}
	ready := plan.Ready(r.state)
	for _, x := range ready[:min(len(ready), most)] {
		name := ""
		if t := r.state.Task(x.ID); t != nil {
			name = t.Name
		}
		list = append(list, view.NextTask{ID: x.ID, Name: name, Score: x.Score})
	}
	return list, len(ready)
}
