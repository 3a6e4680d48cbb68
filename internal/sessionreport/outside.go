package sessionreport

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/report"
	"github.com/ralph-loop/ralph/internal/services"
)

// OutsideRow is something that happened between this repository and its remotes and services:
// an issue, a push, a pull request.
type OutsideRow struct {
	At    time.Time `json:"at"`
	About string    `json:"about"` // owner/repo#12, or the branch
	URL   string    `json:"url,omitempty"`
	What  string    `json:"what"`
}

func (d *draft) addOutside(e ralph.Event, s *ralph.State) {
	row := OutsideRow{At: e.At}
	switch f := e.Fact.(type) {
	case ralph.Published:
		row.About = f.Branch
	case ralph.PullSeen:
		row.About, row.URL = f.Branch, f.Request.URL
		if f.Request.Number > 0 {
			row.About = fmt.Sprintf("%s#%d", f.Request.Repo, f.Request.Number)
		}
	case ralph.IssueSeen:
		row.About, row.URL = f.Issue.Ref, f.Issue.URL
	case ralph.Polled:
		row.About = f.Source
	case ralph.RepoRenamed:
		row.About = f.From
	case ralph.PushRefused:
		row.About = f.Item
	case ralph.ServiceLimited:
		row.About = f.Service.Title()
	case ralph.ServiceRetried:
		row.About = f.Service.Title()
	case ralph.BreakerMoved:
		row.About = f.Service.Title()
	default:
		return
	}
	for _, line := range report.Lines(e, s) {
		row.What = line
		if _, words, ok := strings.Cut(line, ": "); ok {
			row.What = words
		}
		d.outside = append(d.outside, row)
	}
	const most = 5000
	if n := len(d.outside) - most; n > 0 {
		d.outside = slices.Delete(d.outside, 0, n)
	}
}

// ServiceRow is how an outside service stood, as `ralph breaker list --json` has it.
type ServiceRow = services.Row

func (d *draft) servicesNow() []ServiceRow {
	rows := services.Query(d.state, d.state.At)
	for i := range rows {
		for n := range rows[i].Entries {
			rows[i].Entries[n].Text = "" // what is sent is no part of a report
		}
	}
	return rows
}

// serviceTable is how each service stood at the end, and what went to it in all.
func (r *Result) serviceTable(at clockFormat) report.Table {
	t := report.Table{Title: "Services", Head: []string{"service", "state", "#sent", "#waiting", "#parked", "#pull requests", "#breaker trips", "nothing before", "why"}}
	for _, x := range r.Services {
		t.Add(maxRows, x.Title, x.State, number(x.Sent), number(x.Waiting), number(x.Parked), number(x.Pulls), number(x.Trips), at.at(x.Next), report.Clip(x.Why, 240))
	}
	return t
}

// waitingTable is what a service did not take, and what helps.
func (r *Result) waitingTable() report.Table {
	t := report.Table{Title: "What waits for services", Head: []string{"service", "item", "what", "state", "why", "what helps"}}
	for _, x := range r.Services {
		for _, e := range x.Entries {
			state := "waits"
			if e.Parked {
				state = "parked"
			}
			t.Add(maxRows, x.Title, e.Item, string(e.Kind), state, report.Clip(e.Problem, 240), strings.Trim(e.Help, "`"))
		}
	}
	return t
}

func (r *Result) outsideTable(at clockFormat) report.Table {
	t := report.Table{Title: "Issues, pushes and pull requests", Head: []string{"at", "about", "what"}}
	for _, x := range r.Outside {
		t.Add(maxRows, at.at(x.At), x.About, report.Clip(x.What, 240))
	}
	return t
}
