package view

import "github.com/ralph-loop/ralph/internal/action"

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

// Places are the pages of the navigation.
func Places() []Hit {
	out := make([]Hit, 0, len(links()))
	for _, l := range links() {
		out = append(out, Hit{Path: l.path, Name: l.title, Keys: "g " + l.key})
	}
	return out
}

// bare is an offer without its key: keys mean what stands on the page itself.
func bare(o action.Available) action.Available {
	o.Key, o.Primary = "", false
	return o
}
