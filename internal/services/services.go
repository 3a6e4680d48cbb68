// Package services says how the outside services stand: breaker, limit, what waits or is parked,
// why, and what helps. It is a function of State.
//
// It does NOT own when a service may be called (policy), or what is sent (outbox, forge).
package services

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/action"
	"github.com/ralph-loop/ralph/internal/policy/breaker"
	"github.com/ralph-loop/ralph/internal/report"
	"github.com/ralph-loop/ralph/internal/text"
)

// What may wait beside the entries of the outbox.
const (
	PullEntry   ralph.PushKind = "pull request"
	BranchEntry ralph.PushKind = "branch"
)

// Row is a service that is asked and sent to, as every surface shows it; or a remote that fails.
type Row struct {
	Service  ralph.Service `json:"service"`
	Title    string        `json:"title"`
	State    string        `json:"state"` // of its breaker: closed, open, half-open; of a remote: failing
	Failures int           `json:"failures"`
	Opened   time.Time     `json:"opened_at,omitzero"`
	Trips    int           `json:"trips,omitempty"`
	Next     time.Time     `json:"next_try,omitzero"` // nothing is sent before
	Why      string        `json:"why,omitempty"`     // nothing is sent
	Fix      string        `json:"fix,omitempty"`
	Waiting  int           `json:"waiting"`
	Parked   int           `json:"parked"`
	Sent     int           `json:"sent"`
	Pulls    int           `json:"pulls,omitempty"`   // pull requests that were opened
	Entries  []Entry       `json:"entries,omitempty"` // that wait, by item, in their order
}

// Entry is something that waits: an entry of the outbox, a pull request, a branch.
type Entry struct {
	ID      ralph.PushID   `json:"id"`
	Item    string         `json:"item"`
	Kind    ralph.PushKind `json:"kind"`
	Spec    string         `json:"spec,omitempty"`
	Text    string         `json:"text,omitempty"`
	At      time.Time      `json:"at"`
	Tries   int            `json:"tries,omitempty"`
	Parked  bool           `json:"parked,omitempty"`
	Doubt   bool           `json:"doubt,omitempty"` // it may have arrived: it is looked for before it is sent again
	Problem string         `json:"problem,omitempty"`
	Help    string         `json:"help,omitempty"` // the command that helps
}

// List is the services that were ever asked or sent something, or that wait; and the remotes that
// a branch could not be pushed to.
func List(s *ralph.State, now time.Time) []Row {
	rows := []Row{}
	for _, service := range ralph.Services() {
		x := s.Outside(service)
		row := Row{Service: service, Title: service.Title(), State: string(x.Breaker.Now()), Failures: len(x.Breaker.Failures), Opened: x.Breaker.Opened, Trips: x.Trips}
		if at, why := breaker.MayCall(x, x.Breaker.Trial, now); !at.IsZero() {
			row.Next, row.Why, row.Fix = at, why, x.Fix
		}
		for _, r := range s.Remotes {
			if r.Service != service {
				continue
			}
			row.Sent += r.Sent
			for _, p := range r.Pushes {
				row.add(Entry{
					ID: p.ID, Item: r.Item, Kind: p.Kind, Spec: r.Spec, Text: p.Text, At: p.At, Tries: p.Tries, Parked: p.Refused, Doubt: !p.Tried.IsZero(), Problem: p.Why,
				})
			}
		}
		if service == ralph.GitHub {
			row.addPulls(s)
		}
		if row.Sent+row.Waiting+row.Parked+row.Failures+row.Trips+row.Pulls > 0 || row.State != string(ralph.BreakerClosed) || !x.Until.IsZero() {
			rows = append(rows, row)
		}
	}
	return append(rows, remotes(s)...)
}

// Query is List for programs: what helps is written as a command.
func Query(s *ralph.State, now time.Time) []Row {
	rows := List(s, now)
	for i := range rows {
		rows[i].Fix = action.Commands(rows[i].Fix)
		for k := range rows[i].Entries {
			rows[i].Entries[k].Help = action.Commands(rows[i].Entries[k].Help)
		}
	}
	return rows
}

// add adds an entry, and counts it.
func (row *Row) add(e Entry) {
	if row.Entries = append(row.Entries, e); e.Parked {
		row.Parked++
	} else {
		row.Waiting++
	}
	if e.Parked && row.Service.Title() != string(row.Service) { // a remote has no breaker to retry
		row.Entries[len(row.Entries)-1].Help = "`[[breaker-retry " + string(row.Service) + "]]`"
	}
}

// addPulls adds the pull requests, and those that are not as they should be.
func (row *Row) addPulls(s *ralph.State) {
	for _, p := range s.Pulls {
		if p.Request.Number > 0 {
			row.Pulls++
		}
		if p.Request.Error == "" || p.Over() {
			continue
		}
		item := p.Branch
		if p.Request.Number > 0 {
			item = fmt.Sprintf("%s#%d", p.Request.Repo, p.Request.Number)
		}
		row.add(Entry{Item: item, Kind: PullEntry, Spec: p.File, Parked: p.Request.Parked, Problem: p.Request.Error})
	}
}

// remotes are those that do not have what they should.
func remotes(s *ralph.State) []Row {
	var rows []Row
	for _, p := range s.Pulls {
		if !p.Waits() || p.Error == "" {
			continue
		}
		i := slices.IndexFunc(rows, func(r Row) bool { return string(r.Service) == p.Remote })
		if i < 0 {
			rows, i = append(rows, Row{Service: ralph.Service(p.Remote), Title: "the remote " + p.Remote, State: "failing"}), len(rows)
		}
		rows[i].Failures += p.Tried
		rows[i].add(Entry{Item: p.Branch, Kind: BranchEntry, Spec: p.File, At: p.At, Tries: p.Tried, Parked: p.Parked, Problem: p.Error, Help: "`[[pull]]`"})
	}
	return rows
}

// Words say in one line how a service stands.
func Words(r Row, now time.Time) string {
	words := r.State
	if !r.Next.IsZero() {
		if r.State == string(ralph.BreakerClosed) {
			words = "held"
		}
		words += fmt.Sprintf(" until %s: %s", report.ClockWords(r.Next, now), text.Visible(text.OneLine(r.Why)))
	}
	var counts []string
	for _, n := range []struct {
		n    int
		what string
	}{{r.Sent, "sent"}, {r.Waiting, "waiting"}, {r.Parked, "parked"}} {
		if n.n > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", n.n, n.what))
		}
	}
	if r.Pulls > 0 {
		counts = append(counts, text.Count(r.Pulls, "pull request"))
	}
	if len(counts) > 0 {
		words += "; " + strings.Join(counts, ", ")
	}
	return words
}
