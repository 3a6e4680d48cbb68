package view

import (
	"github.com/ralph-loop/ralph/internal/action"
	"github.com/ralph-loop/ralph/internal/screen/page"
)

// What the search shows.
type (
	Hit          = page.Hit
	FoundGroup   = page.FoundGroup
	SearchModel  = page.SearchModel
	PaletteEntry = page.PaletteEntry
)

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
