package view

import (
	"time"

	"github.com/a-h/templ"
)

// pastAttributes have each move of the slider bring the page as it was then; on a page of
// now, which changes by itself, the first move leads to one of the past.
func pastAttributes(m *PastModel) templ.Attributes {
	if !m.Past {
		return templ.Attributes{"data-leave": "true"}
	}
	return templ.Attributes{
		"hx-get": m.Path, "hx-include": "closest form", "hx-trigger": "input throttle:60ms, change", "hx-swap": "none", "hx-replace-url": "true", "hx-sync": "this:replace",
	}
}

// pastTime is the time at which the page's clocks stand, "" where they go.
func pastTime(m *PastModel) string {
	if !m.Past {
		return ""
	}
	return m.When.UTC().Format(time.RFC3339)
}
