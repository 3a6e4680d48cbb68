package status

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/report"
)

// MorningVersion is the version of Morning's JSON. A field is only ever added to it.
const MorningVersion = 1

// Morning is what somebody wants to know who looked away for a while: `ralph report
// --since`, and in short on the first screen of `ralph status` and of the dashboard.
// Times are UTC, `_seconds` are seconds, costs US dollars; lists are never null.
type Morning struct {
	Version int             `json:"version"`
	From    time.Time       `json:"from"`
	To      time.Time       `json:"to"`
	Session ralph.SessionID `json:"session_id,omitempty"` // of the short form: the newest session
	Line    string          `json:"line"`                 // all of it in one sentence
	Empty   bool            `json:"empty"`                // nothing happened, and nothing waits
	Figures MorningFigures  `json:"figures"`
	Needs   []MorningNeed   `json:"needs_you"`
	Landed  []LandedRow     `json:"landed"`
	Still   []StillRow      `json:"stood_still"` // oldest first
	Open    []OpenRow       `json:"not_done"`
	Beside  []BesideRow     `json:"beside"`
}

// MorningFigures are its numbers.
type MorningFigures struct {
	Specs        int     `json:"specs_landed"`
	Tasks        int     `json:"tasks_landed"` // those of specs in one commit are not counted here
	Needs        int     `json:"needs_you"`    // without those that failed
	Failed       int     `json:"failed"`       // or are blocked: in the list of what needs you, with what helps
	Open         int     `json:"not_done"`
	Still        int     `json:"stood_still"`
	StillSeconds float64 `json:"stood_still_seconds"` // each time once, without what else went on meanwhile
	Short        int     `json:"short"`               // standstills of less than a minute: they are not listed
	WorkSeconds  float64 `json:"work_seconds"`        // the sessions' running time, without pauses
	Cost         float64 `json:"cost"`
	CostKnown    bool    `json:"cost_known"`
	Tokens       int64   `json:"tokens"`
	Turns        int     `json:"iterations"`
}

// MorningNeed is one thing that waits for a person, with the command that helps.
type MorningNeed struct {
	Kind    string           `json:"kind"` // failed, or the kind of its gate or need
	What    string           `json:"what"`
	Command string           `json:"command"`
	Tasks   []ralph.TaskID   `json:"tasks"`
	Spec    ralph.SpecID     `json:"spec_id,omitempty"` // of a spec that failed
	Gate    ralph.ApprovalID `json:"gate,omitempty"`
}

// LandedRow is a spec or a task whose work is where it belongs.
type LandedRow struct {
	At     time.Time          `json:"at"`
	Spec   string             `json:"spec,omitempty"` // its file
	SpecID ralph.SpecID       `json:"spec_id,omitempty"`
	Task   ralph.TaskID       `json:"task,omitempty"` // none: a spec in one commit
	Tasks  []ralph.TaskID     `json:"tasks"`          // that it is made of
	Name   string             `json:"name"`
	Commit string             `json:"commit,omitempty"`
	Tries  int                `json:"tries"`  // turns of agents at its tasks
	Checks string             `json:"checks"` // green, known red, none
	Known  []ralph.PassedOver `json:"known_red,omitempty"`
	Cost   float64            `json:"cost"`
	Tokens int64              `json:"tokens"`
	// Nothing: there was nothing to change.
	Nothing bool `json:"nothing_to_change,omitempty"`
}

// StillRow is a stretch of time in which something stood still.
type StillRow struct {
	Kind    ralph.StillKind  `json:"kind"`
	From    time.Time        `json:"from"`
	To      time.Time        `json:"to"`
	Lasts   bool             `json:"lasts,omitempty"` // To is now
	Seconds float64          `json:"seconds"`
	What    string           `json:"what"`            // for people
	Why     string           `json:"why,omitempty"`   // in the words of whoever noticed
	Ended   string           `json:"ended,omitempty"` // what ended it
	Agent   string           `json:"agent,omitempty"`
	Task    ralph.TaskID     `json:"task,omitempty"`
	Gate    ralph.ApprovalID `json:"gate,omitempty"`
	Tries   int              `json:"tries,omitempty"`
	Until   time.Time        `json:"until,omitzero"` // lasts: when it should end by itself
}

// OpenRow is a spec or a task that is not done and needs nobody now.
type OpenRow struct {
	Spec   string         `json:"spec,omitempty"`
	SpecID ralph.SpecID   `json:"spec_id,omitempty"`
	Task   ralph.TaskID   `json:"task,omitempty"`
	Tasks  []ralph.TaskID `json:"tasks"`
	Name   string         `json:"name"`
	Status string         `json:"status"` // pending, active, skipped, merging: done and not landed
	Why    string         `json:"why"`
}

// BesideRow is what else there is to know: what people did meanwhile, and what was put away.
type BesideRow struct {
	At   time.Time    `json:"at"`
	Kind string       `json:"kind"` // people, known-red, saved, file, note
	What string       `json:"what"`
	Task ralph.TaskID `json:"task,omitempty"`
}

// Night folds the events of a journal into a Morning. Since the time from on what happened
// is told; what was before is only known. The zero time tells of everything.
type Night struct {
	from    time.Time
	state   *ralph.State
	still   map[int]ralph.Still
	worked  []ralph.Period
	landed  []LandedRow
	covered map[ralph.TaskID]bool      // tasks of the plan that are in a row of their spec
	at      map[ralph.TaskID]time.Time // when a task landed
	beside  []BesideRow
	usage   ralph.Usage
	turns   int
	runs    map[ralph.SessionID]run
	seen    bool // something happened in the window
}

// run is the running time of a session: before the window, and at last.
type run struct{ before, last time.Duration }

// NewNight returns a Night that tells of what happened since a time.
func NewNight(from time.Time) *Night {
	return &Night{
		from: from, state: &ralph.State{}, still: map[int]ralph.Still{}, covered: map[ralph.TaskID]bool{},
		at: map[ralph.TaskID]time.Time{}, runs: map[ralph.SessionID]run{}, usage: ralph.Usage{Known: true},
	}
}

// MorningOf is what a list of events adds up to for somebody who looked away at from. It
// folds the state by itself.
func MorningOf(events []ralph.Event, engine Engine, from, now time.Time) *Morning {
	n, s := NewNight(from), &ralph.State{}
	for _, e := range events {
		s.Apply(e)
		n.Add(e, s)
	}
	return n.Morning(engine, now)
}

// Add folds the next event; s is the state after it. All events of the journal are given,
// in order.
func (n *Night) Add(e ralph.Event, s *ralph.State) {
	n.state = s
	for _, y := range slices.Backward(s.Stood.List) { // what has ended long ago changes no more
		if old, ok := n.still[y.N]; ok && old == y && !y.Open() && y.Kind != ralph.StillAsleep {
			continue
		}
		n.still[y.N] = y
	}
	x := n.runs[s.Session.ID]
	x.last = max(x.last, s.Running(s.LastHeard()))
	if e.At.Before(n.from) {
		x.before = x.last
	}
	n.runs[s.Session.ID] = x
	n.plans(e, s)
	if e.At.Before(n.from) {
		return
	}
	n.seen = n.seen || !quiet(e.Fact)
	n.worked = append(n.worked, s.Stood.WorkedBy(e)...)
	if u, ok := report.SpentBy(e.Fact); ok {
		n.usage = n.usage.Add(u)
	}
	if _, turn := e.Fact.(ralph.TurnEnded); turn {
		n.turns++
	}
	n.besides(e, s)
}

// quiet reports whether a fact by itself is nothing that happened to the work: a person
// looked, a file was read again.
func quiet(f ralph.Fact) bool {
	switch f.(type) {
	case ralph.NoticeFailed, ralph.HookRan, ralph.ViewRead, ralph.RuleRevoked,
		ralph.PushWanted, ralph.PushTried, ralph.Pushed, ralph.PushFailed, ralph.PushRefused, ralph.PushDropped, ralph.ServiceLimited, ralph.ServiceRetried, ralph.BreakerMoved:
		return true
	}
	return false
}

// plans keeps what landed, before its plan makes room for the next one.
func (n *Night) plans(e ralph.Event, s *ralph.State) {
	switch f := e.Fact.(type) {
	case ralph.PlanStarted:
		if s.Aside != nil {
			for _, t := range s.Aside.Tasks {
				if row, ok := n.taskLanded(t, s.Aside, true); ok && !row.At.Before(n.from) {
					n.landed = append(n.landed, row)
				}
			}
		}
		n.covered = map[ralph.TaskID]bool{}
	case ralph.JobEnded:
		if f.Status != ralph.SpecDone || s.Session.Mode == report.Pilot {
			return
		}
		row := specLanded(s, f, e.At)
		for _, id := range row.Tasks {
			n.covered[id] = true
		}
		if !e.At.Before(n.from) {
			n.landed = append(n.landed, row)
		}
	case ralph.Landed:
		if f.How != "" {
			for _, t := range s.Plan.Tasks {
				if t.Run.Queue.State == ralph.MergeMerged && n.at[t.ID].IsZero() {
					n.at[t.ID] = e.At
				}
			}
		}
	case ralph.TaskRetried:
		delete(n.at, f.ID)
	case ralph.TaskRolledBack:
		delete(n.at, f.ID)
	}
}

// specLanded is the row of a spec whose job has ended well; its plan is still there.
func specLanded(s *ralph.State, f ralph.JobEnded, at time.Time) LandedRow {
	row := LandedRow{
		At: at, Spec: s.Plan.File, Name: s.Plan.File, Commit: f.Commit, Checks: "none",
		Cost: report.Cents(s.Plan.Usage.Cost), Tokens: report.Tokens(s.Plan.Usage), Tasks: []ralph.TaskID{}, Nothing: f.Commit == "",
	}
	for _, x := range s.Inbox {
		if x.Status == ralph.SpecDone && x.EndedAt.Equal(at) {
			row.SpecID, row.Spec, row.Name = x.ID, x.File, x.File
		}
	}
	for _, t := range s.Plan.Tasks {
		if t.Status == ralph.TaskDone {
			row.Tasks, row.Tries = append(row.Tasks, t.ID), row.Tries+t.Run.Iterations
			row.checked(t)
		}
	}
	return row
}

// checked adds how the checks of a task were.
func (r *LandedRow) checked(t *ralph.Task) {
	c := t.Run.Checks
	if c == nil {
		return
	}
	if over := c.PassedOver(); len(over) > 0 {
		r.Known = append(r.Known, over...)
	}
	switch {
	case len(r.Known) > 0:
		r.Checks = "known red"
	case slices.ContainsFunc(c.Results, func(x ralph.CheckResult) bool { return x.Pass && !ralph.IsDiffCheck(x.Name) }):
		r.Checks = "green"
	}
}

// taskLanded is the row of a task whose work is on the base branch; ok is false where it
// is not. Without a merge queue the work of a task lands with its spec.
func (n *Night) taskLanded(t *ralph.Task, p *ralph.Plan, isPilot bool) (row LandedRow, ok bool) {
	q := t.Run.Queue.State
	switch {
	case t.Status != ralph.TaskDone || n.covered[t.ID]:
		return row, false
	case q == ralph.MergeMerged:
		if n.at[t.ID].IsZero() && notLanded(p, t) {
			return row, false
		}
	case q != "", !isPilot:
		return row, false
	}
	row = LandedRow{
		At: t.Run.EndedAt, Spec: t.Spec, Task: t.ID, Tasks: []ralph.TaskID{t.ID}, Name: report.OneLine(t.Name), Commit: cmp.Or(t.Run.Queue.Commit, t.Run.Commit),
		Tries: t.Run.Iterations, Checks: "none", Cost: report.Cents(t.Run.Usage.Cost), Tokens: report.Tokens(t.Run.Usage),
	}
	row.Nothing = q == "" && t.Run.Commit == ""
	if at := n.at[t.ID]; !at.IsZero() {
		row.At = at
	}
	row.checked(t)
	return row, true
}

// notLanded reports whether a merged task is among the newest that wait for the landing.
func notLanded(p *ralph.Plan, t *ralph.Task) bool {
	if p.Integration == nil || p.Integration.Waiting == 0 {
		return false
	}
	behind := 0
	for _, x := range p.Tasks {
		if x.Run.Queue.State == ralph.MergeMerged && x.Run.Queue.Since > t.Run.Queue.Since {
			behind++
		}
	}
	return behind < p.Integration.Waiting
}

// Morning is what the events add up to now. The state of the newest event must not have
// moved on.
func (n *Night) Morning(engine Engine, now time.Time) *Morning {
	s := n.state
	m := newMorning(n.from, now)
	m.Landed = append(m.Landed, n.landed...)
	m.gather(s, engine, n)
	m.Beside = append(m.Beside, n.beside...)
	m.stills(slices.SortedFunc(maps.Values(n.still), func(a, b ralph.Still) int { return a.From.Compare(b.From) }), atWork(n.worked, s, engine, now), engine.Alive)
	for _, id := range slices.Sorted(maps.Keys(n.runs)) {
		x := n.runs[id]
		last := x.last
		if id == s.Session.ID && engine.Alive && s.Session.Live() {
			last = s.Running(now)
		}
		m.Figures.WorkSeconds += max(0, last-x.before).Seconds()
	}
	m.Figures.Cost, m.Figures.CostKnown, m.Figures.Tokens, m.Figures.Turns = report.Cents(n.usage.Cost), n.usage.Known, report.Tokens(n.usage), n.turns
	m.finish(!n.seen)
	return m
}

func newMorning(from, now time.Time) *Morning {
	return &Morning{
		Version: MorningVersion, From: from.UTC(), To: now.UTC(), Needs: []MorningNeed{}, Landed: []LandedRow{}, Still: []StillRow{}, Open: []OpenRow{}, Beside: []BesideRow{},
	}
}

// Brief is the short form, of the newest session, from the state alone: it says nothing of
// what the state does not keep, such as commits of specs.
func Brief(s *ralph.State, engine Engine, now time.Time) *Morning {
	x := s.Session
	m := newMorning(x.StartedAt, now)
	m.Session = x.ID
	for _, i := range s.Inbox {
		if i.Status == ralph.SpecDone && !i.EndedAt.Before(x.StartedAt) {
			m.Landed = append(m.Landed, LandedRow{At: i.EndedAt, Spec: i.File, SpecID: i.ID, Name: i.File, Tasks: []ralph.TaskID{}})
		}
	}
	n := NewNight(x.StartedAt)
	if s.Plan.Closed && x.Mode != report.Pilot {
		for _, t := range s.Plan.Tasks {
			n.covered[t.ID] = t.Status == ralph.TaskDone
		}
	}
	m.gather(s, engine, n)
	m.stills(s.Stood.List, atWork(s.Stood.Worked, s, engine, now), engine.Alive)
	work := s.Running(now)
	if !engine.Alive {
		work = s.Running(s.LastHeard())
	}
	m.Figures.WorkSeconds = work.Seconds()
	m.Figures.Cost, m.Figures.CostKnown, m.Figures.Tokens, m.Figures.Turns = report.Cents(x.Usage.Cost), x.Usage.Known, report.Tokens(x.Usage), x.Turns
	m.finish(x.ID == "")
	return m
}

// atWork are the times at which steps were under way, with those of the turns that are.
func atWork(worked []ralph.Period, s *ralph.State, engine Engine, now time.Time) []ralph.Period {
	out := slices.Clone(worked)
	if engine.Alive {
		for t := range s.Work() {
			tries := slices.ContainsFunc(s.Stood.List, func(y ralph.Still) bool { return y.Open() && y.Agent == t.Run.Agent && !y.TryAt.IsZero() })
			asked := slices.ContainsFunc(s.Approvals, func(g *ralph.Approval) bool { return g.Task == t.ID })
			if !t.Run.TurnAt.IsZero() && !tries && !asked {
				out = append(out, ralph.Period{From: t.Run.TurnAt, To: now})
			}
		}
	}
	return ralph.Union(out)
}
