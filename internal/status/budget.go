package status

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/report"
	"github.com/ralph-loop/ralph/internal/text"
)

// nearlyAll is the share of a budget from which people are warned.
const nearlyAll = 0.8

// BudgetRecord is one limit and what is used of it.
type BudgetRecord struct {
	Scope    string       `json:"scope"`          // session, spec, task
	Task     ralph.TaskID `json:"task,omitempty"` // scope task
	What     string       `json:"what"`           // tokens, cost (dollars), time (seconds), iterations
	Used     float64      `json:"used"`
	Limit    float64      `json:"limit"`
	Reserved float64      `json:"reserved,omitempty"` // session, spec: what the turns under way may still use
	Percent  int          `json:"percent"`
	Warn     bool         `json:"warn"`              // 80 % and more
	Unknown  bool         `json:"unknown,omitempty"` // an agent reported no cost, which counts as over
	words    string
}

// budgets are all limits that are set, of the session, the spec and the tasks at work.
func budgets(s *ralph.State, now time.Time) []BudgetRecord {
	out := []BudgetRecord{}
	x, c := s.Session, report.SettingsOf(s.Session.Config)
	if !x.Live() {
		return out
	}
	session := c.Budget
	if c.MaxCost > 0 && (session.Cost == 0 || c.MaxCost < session.Cost) {
		session.Cost = c.MaxCost // agent_mode.max_cost
	}
	reserved := s.Reserved()
	out = append(out, budgetOf(session, "session", "", x.Usage, x.Turns, s.Running(now), reserved)...)
	if s.Job != nil {
		out = append(out, budgetOf(c.SpecBudget, "spec", "", s.Plan.Usage, s.Plan.Turns, s.JobElapsed(now), reserved)...)
	}
	for _, t := range s.Plan.Tasks {
		if t.Status == ralph.TaskActive {
			out = append(out, budgetOf(c.TaskBudget, "task", t.ID, t.Run.Usage, t.Run.Iterations, t.Run.Spent, ralph.Usage{})...)
		}
	}
	return out
}

func budgetOf(b report.Budget, scope string, task ralph.TaskID, u ralph.Usage, turns int, spent time.Duration, reserved ralph.Usage) []BudgetRecord {
	var out []BudgetRecord
	add := func(what string, used, limit, reserved float64, words string) {
		if limit <= 0 {
			return
		}
		r := BudgetRecord{Scope: scope, Task: task, What: what, Used: report.Cents(used), Limit: limit, Reserved: reserved, words: words}
		r.Percent = report.InPercent(used / limit)
		r.Unknown = what == "cost" && turns > 0 && !u.Known
		r.Warn = r.Unknown || used >= nearlyAll*limit
		out = append(out, r)
	}
	add("cost", u.Cost, b.Cost, reserved.Cost, fmt.Sprintf("%s of %s", ralph.Dollars(u.Cost), ralph.Dollars(b.Cost)))
	add("tokens", float64(paid(u)), float64(b.Tokens), float64(paid(reserved)), fmt.Sprintf("%s of %s tokens", report.Many(paid(u)), report.Many(b.Tokens)))
	add("time", spent.Seconds(), b.Time.Seconds(), 0, fmt.Sprintf("%s of %s", ralph.Elapsed(spent), ralph.Elapsed(b.Time)))
	add("iterations", float64(turns), float64(b.Iterations), 0, fmt.Sprintf("%d of %s", turns, text.Count(b.Iterations, "iteration")))
	return out
}

// paid are the tokens that budgets count: those read from a cache are left out.
func paid(u ralph.Usage) int64 { return u.Input + u.Output + u.CacheWrite }

// budgetStatus is a line for each scope that has a limit; what is nearly used up is marked.
func budgetStatus(line writer, s *ralph.State, now time.Time) {
	list := budgets(s, now)
	for len(list) > 0 {
		first := list[0]
		n := slices.IndexFunc(list, func(r BudgetRecord) bool { return r.Scope != first.Scope || r.Task != first.Task })
		if n < 0 {
			n = len(list)
		}
		who := first.Scope
		if first.Task != "" {
			who = string(first.Task)
		}
		parts := make([]string, n)
		for i, r := range list[:n] {
			parts[i] = r.text()
		}
		line("Budget", "%s: %s", who, strings.Join(parts, ", "))
		list = list[n:]
	}
}

// Words are what is used of what: `$0.82 of $5.00`.
func (r BudgetRecord) Words() string { return r.words }

func (r BudgetRecord) text() string {
	notes := []string{fmt.Sprintf("%d%%", r.Percent)}
	switch {
	case r.Unknown:
		notes = append(notes, "an agent reported no cost: counts as over")
	case r.Used > r.Limit:
		notes = append(notes, "USED UP")
	case r.Warn:
		notes = append(notes, "NEARLY USED UP")
	}
	if r.Reserved > 0 && r.What == "cost" {
		notes = append(notes, ralph.Dollars(r.Reserved)+" reserved")
	}
	return fmt.Sprintf("%s (%s)", r.words, strings.Join(notes, ", "))
}
