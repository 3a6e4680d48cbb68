package view

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/action"
	"github.com/ralph-loop/ralph/internal/web/markup"
)

// QueueModel is the inbox: what is worked on, and what comes after it.
type QueueModel struct {
	Rows    []QueueRow
	More    int // that are not shown
	Waiting int
	Engine  bool
	Offers  []action.Available
}

// QueueRow is a record that waits or runs.
type QueueRow struct {
	Spec   *ralph.Spec
	Place  int // among those that wait, from 1; 0 for one at work
	Offers []action.Available
}

// SpecsModel is the list of all specs.
type SpecsModel struct {
	Query string
	Rows  []SpecRow
	Total int
	More  int // that fit the query and are not shown
}

// SpecRow is one spec.
type SpecRow struct {
	Name      string
	Size      int64
	ChangedAt time.Time
	Missing   bool        // there is a record, and no file
	Last      *ralph.Spec // the record that says where it stands, nil for none
	Times     int         // it was queued
	Progress  SpecProgress
	Offers    []action.Available
}

// SpecProgress counts the tasks of a plan.
type SpecProgress struct{ Done, Active, Bad, Total int }

// SpecModel is the page of one spec.
type SpecModel struct {
	Name         string
	Missing      bool
	Size         int64
	ChangedAt    time.Time
	Cut          int64 // bytes that are not shown
	Raw          bool
	Text         string // HTML of internal/web/markup
	Doc          markup.Doc
	MoreHeadings int
	Last         *ralph.Spec
	Records      []*ralph.Spec // the newest first
	MoreRecords  int
	Offers       []action.Available

	Planned      bool // the plan is its plan: what follows is known
	Progress     SpecProgress
	Tasks        []*ralph.Task
	MoreTasks    int
	Cost         float64
	Turns        int
	Elapsed      time.Duration
	RunningSince time.Time // zero when nobody works on it
}

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
	var next string
	for _, row := range m.Rows {
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
		return "First in, first out: " + next + " is next."
	}
	return "First in, first out: an engine would begin with " + next + "."
}
