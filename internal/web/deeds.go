package web

import (
	"slices"
	"strings"

	"github.com/ralph-loop/ralph/internal/action"
	"github.com/ralph-loop/ralph/internal/web/view"
)

const (
	mostDeeds   = 12 // that are shown
	deedsOfMost = 24 // tasks whose actions are looked at
)

// deeds are the actions with all words of a query: of the engine by their name, of a task
// by theirs and its own.
func (r *request) deeds(q string) []view.Deed {
	words := strings.Fields(strings.ToLower(q))
	out := r.fitting(words, "", view.Deed{Path: "/"}, action.Offers(r.state, r.world(), action.Engine, ""))
	verbs, rest := ofActions(words)
	if verbs == 0 || len(rest) == 0 {
		return out[:min(len(out), mostDeeds)]
	}
	looked := 0
	for _, t := range r.state.Plan.Tasks {
		text := strings.ToLower(string(t.ID) + " " + t.Name + " " + string(t.Status))
		if slices.ContainsFunc(rest, func(w string) bool { return !strings.Contains(text, w) }) {
			continue
		}
		if looked++; looked > deedsOfMost || len(out) >= mostDeeds {
			break
		}
		about := view.Deed{Path: "/task/" + string(t.ID), ID: string(t.ID), Name: t.Name, Status: string(t.Status)}
		out = append(out, r.fitting(words, text, about, action.Offers(r.state, r.world(), action.Task, string(t.ID)))...)
	}
	return out[:min(len(out), mostDeeds)]
}

// fitting are the offers that have all words, in their own or in those of what they are about.
func (r *request) fitting(words []string, text string, about view.Deed, offers []action.Offer) []view.Deed {
	var out []view.Deed
	for _, o := range offers {
		all := strings.ToLower(o.Action+" "+o.Title) + " " + text
		if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(all, w) }) {
			d := about
			d.Offer = o
			out = append(out, d)
		}
	}
	return out
}

// ofActions counts the words that an action on tasks begins with, and returns the others,
// which have to say of which task.
func ofActions(words []string) (verbs int, rest []string) {
	for _, w := range words {
		if slices.ContainsFunc(action.Actions(), func(a action.Action) bool {
			return a.About == action.Task && (strings.HasPrefix(a.Name, w) || strings.HasPrefix(strings.ToLower(a.Title), w))
		}) {
			verbs++
			continue
		}
		rest = append(rest, w)
	}
	return verbs, rest
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
