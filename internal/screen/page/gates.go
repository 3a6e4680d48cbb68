package page

import (
	"slices"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/action"
	"github.com/ralph-loop/ralph/internal/report"
	"github.com/ralph-loop/ralph/internal/report/gates"
)

// GatesModel is the page of all that waits for a person.
type GatesModel struct {
	Open  []GateRow
	Ends  []EndRow // decided lately, by people
	Auto  []EndRow // answered without a person, by rules and settings
	From  int64    // the fact after which Ends and Auto were looked for
	Rules []RuleRow
}

// GateRow is a gate in a list.
type GateRow struct {
	Gate   *ralph.Approval
	Task   string
	Held   string
	Gone   bool // who asked is gone: its turn runs again
	Offers []action.Available
}

// EndRow is what became of a gate.
type EndRow struct {
	gates.End
	Task string
}

// RuleRow is an answer that holds from now on.
type RuleRow struct {
	Rule    *ralph.AnswerRule
	What    string
	Reach   string
	Expired string // why it does not hold now
	Offers  []action.Available
}

// GateModel is the page of one gate.
type GateModel struct {
	ID     ralph.ApprovalID
	Detail *gates.Detail // nil for one that is not known
	Task   *ralph.Task
	Held   string
	Checks []ralph.CheckResult // of a test gate: what is not green, and what has findings
	Gone   bool
	Offers []action.Available
	End    *gates.End         // nil while it is open
	Last   []action.Available // what could be done before the end: words that were typed stay readable
	Walk   *Walk              // it is looked for in the journal
}

// Walk is how far something is that reads the whole journal.
type Walk struct {
	What        string
	Read, Total int64
}

// maxEnds are listed of what was decided lately, and of what was answered without a person.
const maxEnds = 30

// GatesOf is all that waits for a person, and what was decided lately: ends are the newest first, of the
// facts after from.
func GatesOf(l Look, ends []gates.End, from int64) GatesModel {
	w, m := l.World(), GatesModel{From: from}
	for _, g := range l.State.Approvals {
		row := GateRow{Gate: g, Task: taskName(l.State, g), Held: gates.HeldBy(g), Gone: !g.Answerable(l.Engine.Alive, l.Now)}
		if !row.Gone {
			row.Offers = action.AllAvailable(l.State, w, action.Gate, string(g.ID))
		}
		m.Open = append(m.Open, row)
	}
	slices.SortStableFunc(m.Open, func(a, b GateRow) int { return a.Gate.AskedAt.Compare(b.Gate.AskedAt) })
	for _, e := range ends {
		row := EndRow{End: e, Task: taskName(l.State, &e.Gate)}
		switch {
		case e.Gate.ID == "" && len(m.Auto) < maxEnds:
			m.Auto = append(m.Auto, row)
		case e.Gate.ID != "" && len(m.Ends) < maxEnds:
			m.Ends = append(m.Ends, row)
		}
	}
	for _, rule := range slices.Backward(l.State.Rules) {
		m.Rules = append(m.Rules, RuleRow{
			Rule: rule, What: report.RuleWords(rule), Reach: report.RuleReach(rule), Expired: l.State.Expired(rule, l.Now),
			Offers: action.AllAvailable(l.State, w, action.Rule, string(rule.ID)),
		})
	}
	return m
}

// Waits fills in a gate that is open: its detail, and the task that it is about with its outputs whole.
func (m *GateModel) Waits(l Look, g *ralph.Approval, detail gates.Detail, whole func(*ralph.Task) *ralph.Task) {
	m.Detail, m.Gone = &detail, !g.Answerable(l.Engine.Alive, l.Now)
	m.Offers = action.AllAvailable(l.State, l.World(), action.Gate, string(m.ID))
	if t := l.State.Task(g.Task); g.Kind == ralph.ApprovalTest && t != nil && t.Run.Checks != nil {
		m.Checks = slices.DeleteFunc(slices.Clone(whole(t).Run.Checks.Results), func(r ralph.CheckResult) bool {
			return r.Pass && len(r.Findings) == 0 && r.Coverage == nil
		})
	}
}

// Ended fills in a gate of which only its end is known, with what could have been said: words that
// somebody has typed and not sent stay.
func (m *GateModel) Ended(l Look) {
	if m.Detail == nil {
		d := gates.DetailOf(&ralph.State{}, &m.End.Gate)
		m.Detail = &d
	}
	was := *l.State
	was.Approvals = []*ralph.Approval{&m.Detail.Approval}
	m.Last = action.AllAvailable(&was, action.Context{Engine: true, Now: l.Now, Keys: l.World().Keys}, action.Gate, string(m.ID))
}

// taskName is the name of the task that a gate is about.
func taskName(s *ralph.State, g *ralph.Approval) string {
	id := g.About
	if id == "" {
		id = g.Task
	}
	if t := s.Task(id); t != nil {
		return t.Name
	}
	return ""
}
