package history

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/screen"
	"github.com/ralph-loop/ralph/internal/screen/page"
)

// Decisions is a page of what was decided on threads.
type Decisions struct {
	Filter        screen.DecisionFilter
	Only          string // overridden, stops, "" for all
	Threads       []page.TaskLink
	Rows          []screen.Decision
	From          int64  // the fact after which was looked
	Older, Newest string // addresses; "" for none
}

// maxDecisions are on one page.
const maxDecisions = 100

// DecisionsOf is what was decided on threads, newest first: ?thread= ?action= ?only= choose,
// ?before= goes back. A page reads its own window of the journal alone.
func DecisionsOf(now *ralph.State, j Journal, q url.Values) (Decisions, error) {
	m := Decisions{Only: q.Get("only")}
	m.Filter = screen.DecisionFilter{
		Thread: ralph.TaskID(q.Get("thread")), Action: ralph.ThreadAction(q.Get("action")), Overridden: m.Only == "overridden", Stops: m.Only == "stops",
	}
	for _, t := range now.Threads() {
		m.Threads = append(m.Threads, page.TaskLink{ID: t.ID, Name: t.Name, Status: t.Status})
	}
	end := now.Seq + 1
	if n, err := strconv.ParseInt(q.Get("before"), 10, 64); err == nil && n > 0 && n < end {
		end, m.Newest = n, page.With("/decisions", q)
	}
	after := max(0, end-1-page.Window)
	all := screen.Decisions{}
	err := j.Each(after, func(e ralph.Event) error {
		if e.Seq >= end {
			return errEnough
		}
		all.Add(e, now)
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return m, fmt.Errorf("read the decisions: %w", err)
	}
	m.Rows = all.List(m.Filter)
	if len(m.Rows) > maxDecisions {
		m.Rows = m.Rows[:maxDecisions]
		after = m.Rows[maxDecisions-1].Seq - 1
	}
	if m.From = after; after > 0 {
		m.Older = page.With("/decisions", q, "before", fmt.Sprint(after+1))
	}
	return m, nil
}
