package page

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/action"
)

// maxFound are shown of each kind.
const maxFound = 12

// Hit is something that can be gone to.
type Hit struct {
	Path   string
	ID     string
	Name   string
	Status string
	Note   string
	Keys   string
}

// FoundGroup are the places of one kind.
type FoundGroup struct {
	Title string
	List  []Hit
	Total int
}

// SearchModel is what was found.
type SearchModel struct {
	Query  string
	Deeds  []PaletteEntry
	Groups []FoundGroup
}

// PaletteEntry is an action that may be taken now, with what it is about.
type PaletteEntry struct {
	Action action.Available
	Path   string // of the page that has its form
	ID     string // "" for the engine
	Name   string
	Status string
}

// Found are the places with all words of a query, the best first: those whose name
// begins with it.
func Found(title, q string, list []Hit) FoundGroup {
	g := FoundGroup{Title: title}
	words := strings.Fields(strings.ToLower(q))
	var rest []Hit
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

// Gates are those that wait for a person.
func (r Look) Gates() []Hit {
	var out []Hit
	for _, g := range r.State.Approvals {
		if g.Answerable(r.Engine.Alive, r.Now) {
			out = append(out, Hit{Path: "/gate/" + string(g.ID), ID: string(g.ID), Name: g.Text, Status: "open", Note: g.Kind})
		}
	}
	return out
}

// Tasks are those of the plan, what is at work first.
func (r Look) Tasks() []Hit {
	out := make([]Hit, 0, len(r.State.Plan.Tasks))
	for _, t := range r.State.Plan.Tasks {
		out = append(out, Hit{Path: "/task/" + string(t.ID), ID: string(t.ID), Name: t.Name, Status: string(t.Status), Note: t.Phase})
	}
	slices.SortStableFunc(out, func(a, b Hit) int { return active(a) - active(b) })
	return out
}

func active(p Hit) int {
	if p.Status == string(ralph.TaskActive) {
		return 0
	}
	return 1
}

// Specs are those of the inbox, each file once.
func (r Look) Specs() []Hit {
	var out []Hit
	seen := map[string]bool{}
	for _, x := range slices.Backward(r.State.Inbox) {
		if !seen[x.File] {
			seen[x.File] = true
			out = append(out, Hit{Path: "/spec/" + x.File, Name: x.File, Status: string(x.Status), Note: fmt.Sprint(x.ID)})
		}
	}
	return out
}

const (
	maxEntries   = 12 // that are shown
	paletteTasks = 24 // tasks whose actions are looked at
)

// minVerb is how much of its name an action has to be called by, in bytes: what is typed
// on the way to a page must not be an action already.
const minVerb = 3

// Palette are the actions that a query names: of the engine by their name, of a task by
// theirs and its own words.
func (r Look) Palette(q string) []PaletteEntry {
	words := strings.Fields(strings.ToLower(q))
	out := fitting(words, "", PaletteEntry{Path: "/"}, action.AllAvailable(r.State, r.World(), action.Engine, ""))
	rest := slices.DeleteFunc(slices.Clone(words), func(w string) bool {
		return slices.ContainsFunc(action.Actions(), func(a action.Action) bool { return a.About == action.Task && calls(w, a.Name, a.Title) })
	})
	if len(rest) == 0 || len(rest) == len(words) { // it has to say what, and with which task
		return out
	}
	looked := 0
	for _, t := range r.State.Plan.Tasks {
		text := strings.ToLower(string(t.ID) + " " + t.Name + " " + string(t.Status))
		if slices.ContainsFunc(rest, func(w string) bool { return !strings.Contains(text, w) }) {
			continue
		}
		if looked++; looked > paletteTasks || len(out) >= maxEntries {
			break
		}
		about := PaletteEntry{Path: "/task/" + string(t.ID), ID: string(t.ID), Name: t.Name, Status: string(t.Status)}
		out = append(out, fitting(words, text, about, action.AllAvailable(r.State, r.World(), action.Task, string(t.ID)))...)
	}
	return out[:min(len(out), maxEntries)]
}

// fitting are the offers that are called by one of the words, and have the others in what
// they are about.
func fitting(words []string, text string, about PaletteEntry, offers []action.Available) []PaletteEntry {
	var out []PaletteEntry
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
