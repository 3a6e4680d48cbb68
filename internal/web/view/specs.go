package view

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/screen/page"
)

// What pages of specs show.
type (
	QueueModel   = page.QueueModel
	QueueRow     = page.QueueRow
	SpecsModel   = page.SpecsModel
	SpecRow      = page.SpecRow
	SpecProgress = page.SpecProgress
	SpecModel    = page.SpecModel
)

// specPath is the address of a spec's page.
func specPath(name string) string {
	parts := strings.Split(name, "/")
	for i, p := range parts {
		parts[i] = url.PathEscape(p)
	}
	return "/spec/" + strings.Join(parts, "/")
}

// specStatus is where a spec stands, in a word.
func specStatus(x *ralph.Spec) string {
	if x == nil {
		return "not queued"
	}
	return string(x.Status)
}

// specTime is when a record came to where it stands.
func specTime(x *ralph.Spec) (word string, at time.Time) {
	word, at = "added", x.AddedAt
	switch x.Status {
	case ralph.SpecActive:
		word, at = "started", x.StartedAt
	case ralph.SpecDone:
		word, at = "completed", x.EndedAt
	case ralph.SpecFailed:
		word, at = "failed", x.EndedAt
	}
	if at.IsZero() { // written by hand without the time
		word, at = "added", x.AddedAt
	}
	return word, at
}

// took is how long the work on a record lasted, "" if that is not known.
func took(x *ralph.Spec) string {
	if x.StartedAt.IsZero() || x.EndedAt.Before(x.StartedAt) {
		return ""
	}
	return ralph.Elapsed(x.EndedAt.Sub(x.StartedAt))
}

func progressWords(p SpecProgress) string {
	s := fmt.Sprintf("%d/%d tasks", p.Done, p.Total)
	if p.Active > 0 {
		s += fmt.Sprintf(", %d at work", p.Active)
	}
	if p.Bad > 0 {
		s += fmt.Sprintf(", %d in trouble", p.Bad)
	}
	return s
}

// bytesWord writes the size of a file.
func bytesWord(n int64) string {
	switch {
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%d bytes", n)
}

// nextWords says what happens with the queue.
func nextWords(m QueueModel) string {
	next, order := "", "First in, first out"
	for _, row := range m.Rows {
		if row.Spec.Priority != 0 {
			order = "By priority, then first in, first out"
		}
		if row.Place == 1 {
			next = row.Spec.File
		}
	}
	switch {
	case next == "" && len(m.Rows) == 0:
		return "" // the empty list says it
	case next == "":
		return "Nothing waits after this one."
	case len(m.Rows) > 0 && m.Rows[0].Place == 0 || m.Engine:
		return order + ": " + next + " is next."
	}
	return order + ": an engine would begin with " + next + "."
}
