package view

// Place is something that can be gone to.
type Place struct {
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
	List  []Place
	Total int
}

// SearchModel is what was found.
type SearchModel struct {
	Query  string
	Groups []FoundGroup
}

// Places are the pages of the navigation.
func Places() []Place {
	out := make([]Place, 0, len(links()))
	for _, l := range links() {
		out = append(out, Place{Path: l.path, Name: l.title, Keys: "g " + l.key})
	}
	return out
}
