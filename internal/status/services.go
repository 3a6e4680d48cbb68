package status

import (
	"slices"
	"time"

	"github.com/ralph-loop/ralph/internal/action"
	"github.com/ralph-loop/ralph/internal/services"
	"github.com/ralph-loop/ralph/internal/text"
)

// serviceStatus says how each service stands.
func serviceStatus(line writer, outside []services.Row, now time.Time) {
	for i, r := range outside {
		name := "Service"
		if i > 0 {
			name = ""
		}
		more := ""
		if r.Waiting+r.Parked > 0 || !r.Next.IsZero() {
			more = " (`[[breakers]]`)"
		}
		line(name, "%s %s%s", r.Title, services.Words(r, now), more)
	}
}

// serviceNeeds are services that wait for a person.
func serviceNeeds(outside []services.Row) []Need {
	var out []Need
	for _, r := range outside {
		if r.Fix != "" {
			out = append(out, Need{Kind: "service", What: r.Title + ": " + text.Visible(text.OneLine(r.Why)), Command: action.Commands(r.Fix)})
		}
		if r.Parked > 0 {
			i := slices.IndexFunc(r.Entries, func(e services.Entry) bool { return e.Parked })
			e := r.Entries[i]
			what := r.Title + ": " + text.Plural(r.Parked, "entry is", "entries are") + " parked: " + e.Item + ": " + text.Visible(text.OneLine(e.Problem))
			out = append(out, Need{Kind: "service", What: what, Command: action.Commands("mend it, then " + e.Help + " (`[[breakers]]` lists all)")})
		}
	}
	return out
}
