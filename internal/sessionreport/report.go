// Package sessionreport owns what is told of a whole session: its report as a fold over
// facts, as JSON, markdown and HTML, with its charts and tables.
//
// It does NOT own the words for single facts (report), or how the dashboard draws (web/view).
package sessionreport

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/report"
)

// ReportOptions say what a report tells of.
type ReportOptions struct {
	Session ralph.SessionID // "" is the newest one
	All     bool            // every session of the journal; Session does not count then
}

// Report folds the events of a journal into what `ralph report` tells. A session's
// part goes from its start to the start of the next one, so what people did with
// its tasks afterwards belongs to it.
type Report struct {
	opt  ReportOptions
	d    *draft
	open bool // the next event belongs to what is told
}

// NewReport returns a report that has seen nothing yet.
func NewReport(opt ReportOptions) *Report { return &Report{opt: opt} }

// Add folds the next event; s is the state after it. All events of the journal
// are given, in order.
func (r *Report) Add(e ralph.Event, s *ralph.State) {
	if r.opt.All && r.d == nil {
		r.begin(s)
	}
	switch f := e.Fact.(type) {
	case ralph.SessionStarted:
		r.session(f, s)
	case ralph.PlanStarted:
		next := !r.opt.All && !s.Session.Live() // the plan of what comes after the session is none of its business
		if r.open && s.Aside != nil {
			r.d.freeze(s.Aside.Tasks, !next)
		}
		r.open = r.open && !next
	}
	if r.open {
		r.d.add(e, s)
	}
}

// session decides whether a session that starts is one to tell of.
func (r *Report) session(f ralph.SessionStarted, s *ralph.State) {
	switch wanted := r.opt.Session; {
	case r.opt.All:
	case wanted == "":
		if r.d == nil || !r.d.tells(f.ID) {
			r.begin(s)
		}
		r.open = true
	case wanted == f.ID:
		if r.d == nil {
			r.begin(s)
		}
		r.open = true
	case r.open:
		r.d.freeze(s.Plan.Tasks, false)
		r.open = false
	}
}

func (r *Report) begin(s *ralph.State) {
	r.d, r.open = newDraft(), true
	for _, t := range s.Plan.Tasks {
		r.d.row(t.ID).setTask(t)
	}
	for _, t := range s.Stages {
		r.d.stages[t.ID] = &stage{kind: t.Kind, parent: t.Parent, members: t.Members}
	}
}

// Result is what the events add up to. The state of the newest event that was
// given must not have moved on. It refuses a session that is not in the journal.
func (r *Report) Result() (*Result, error) {
	if r.d == nil || len(r.d.heads) == 0 {
		if r.opt.Session != "" {
			return nil, &ralph.Refusal{Why: fmt.Sprintf("no session %s in the journal", r.opt.Session), Hint: "`[[report]]` tells of the newest one, `[[log]]` names all", Kind: ralph.ErrNotFound}
		}
		return nil, &ralph.Refusal{Why: "no session has run yet", Hint: "`[[start autopilot]]` or `[[start agent]]` starts one", Kind: ralph.ErrNotFound}
	}
	return r.d.result(r.opt.All, r.open), nil
}

// draft is what is being gathered.
type draft struct {
	state *ralph.State // after the newest event
	facts FactRange
	prev  time.Time // when its engine was last heard of, before the event

	heads  []*SessionHead
	rows   []*row
	byID   map[ralph.TaskID]*row
	stages map[ralph.TaskID]*stage

	spans    []Span
	open     map[ralph.TaskID]int // index into spans
	marks    []Mark
	merges   []MergeRow
	landings []LandingRow
	outside  []OutsideRow
	gates    []GateRow
	pauses   []PauseRow
	limits   []LimitRow
	errors   []ErrorRow
	rules    []RuleRow
	points   []Point

	totals  ralph.Totals
	cut     int // iterations cut by an error or a limit
	retries int
	merged  int       // tasks merged since the last landing
	waits   []float64 // from done to merged, seconds
}

// row is one task on the way to its TaskRow.
type row struct {
	TaskRow
	task     *ralph.Task
	touched  bool
	frozen   bool // its plan was replaced, or another session has begun
	replaced bool // the former
	queuedAt time.Time
	dropped  int              // events left out of the middle of its trail
	counted  ralph.TaskStatus // as which it is in the totals
}

// stage is a stage of the merge queue at work.
type stage struct {
	kind    ralph.TaskKind
	parent  ralph.TaskID
	members []ralph.TaskID
	how     string // git's word for its merge
	misfit  bool   // the newest attempt had a conflict
	red     []string
	took    time.Duration

	passedOver []ralph.PassedOver
}

func newDraft() *draft {
	return &draft{
		byID: map[ralph.TaskID]*row{}, stages: map[ralph.TaskID]*stage{}, open: map[ralph.TaskID]int{},
	}
}

func (d *draft) tells(id ralph.SessionID) bool {
	return slices.ContainsFunc(d.heads, func(h *SessionHead) bool { return h.ID == id })
}

// row returns the row of a task of the plan, a new one where there is none yet.
func (d *draft) row(id ralph.TaskID) *row {
	r := d.byID[id]
	if r == nil {
		r = &row{TaskRow: TaskRow{ID: id, Status: ralph.TaskPending}}
		d.byID[id] = r
		d.rows = append(d.rows, r)
	}
	return r
}

// member returns the row of a task of the plan that something happened to.
func (d *draft) member(id ralph.TaskID) *row {
	r := d.row(id)
	r.touched = true
	return r
}

// work returns the row that a fact about a task or a resolve belongs to, nil for
// every other stage.
func (d *draft) work(id ralph.TaskID) *row {
	if s := d.stages[id]; s != nil && s.kind == ralph.KindResolve && s.parent != "" {
		return d.member(s.parent)
	}
	if d.isStage(id) {
		return nil
	}
	return d.member(id)
}

// isStage reports whether an id is that of a stage. A person may have given a task
// of the plan an id that looks like one.
func (d *draft) isStage(id ralph.TaskID) bool {
	return d.stages[id] != nil || d.byID[id] == nil && strings.Contains(string(id), ":")
}

func (r *row) setTask(t *ralph.Task) {
	r.task, r.Name, r.Spec, r.Phase = t, t.Name, t.Spec, t.Phase
}

// freeze keeps tasks as they are now: the plan goes on to something else.
func (d *draft) freeze(tasks []*ralph.Task, replaced bool) {
	for _, t := range tasks {
		if r := d.byID[t.ID]; r != nil && !r.frozen {
			r.setTask(t)
			r.frozen, r.replaced = true, replaced
		}
	}
}

// maxTrail bounds what is told of one task: the beginning and the end say most.
const (
	maxTrail  = 40
	trailHead = 8
)

// note adds an event to the trail of a task.
func (r *row) note(at time.Time, rule, text string) {
	if r == nil {
		return
	}
	if len(r.Trail) == maxTrail {
		r.Trail = slices.Delete(r.Trail, trailHead, trailHead+1)
		r.dropped++
	}
	r.Trail = append(r.Trail, Event{at, rule, report.OneLine(text)})
}

// add folds one event.
func (d *draft) add(e ralph.Event, s *ralph.State) {
	d.state = s
	if d.facts.First == 0 {
		d.facts.First, d.facts.From, d.prev = e.Seq, e.At, e.At
	}
	d.facts.Last, d.facts.Hash, d.facts.To = e.Seq, e.Hash, e.At
	d.spent(e)
	switch f := e.Fact.(type) {
	case ralph.SessionStarted:
		d.sessionStarted(f, e.At)
	case ralph.SessionEnded:
		d.sessionEnded(f, e.At)
	case ralph.Control:
		d.control(f, e.At)
	case ralph.IntegrationStarted:
		if len(d.heads) > 0 {
			h := d.heads[len(d.heads)-1]
			h.Branch, h.Base = f.Branch, f.Base
		}
		d.merged = 0
	case ralph.JobEnded:
		d.rule(ralph.Why{Rule: f.Rule, Text: f.Error})
		d.withdrawGates(e.At)
	case ralph.TaskAdded:
		d.taskAdded(f.Task)
	case ralph.TaskRemoved:
		d.taskRemoved(f.ID)
	case ralph.AgentLimited:
		d.limits = append(d.limits, LimitRow{e.At, f.Agent, f.Until})
	case ralph.SandboxRefused:
		if r := d.work(f.Task); r != nil {
			r.note(e.At, "X-77", "the sandbox: "+report.RefusedWords(f))
		}
	case ralph.Asked:
		d.asked(f.Approval, e.At)
	case ralph.Answered:
		d.answered(f, e.At)
	default:
		d.addOutside(e, s)
		d.addWork(e, s)
	}
	d.prev = s.LastHeard()
}

func (d *draft) sessionStarted(f ralph.SessionStarted, at time.Time) {
	d.cutSpans(d.prev)
	if n := len(d.heads); n > 0 && d.heads[n-1].ID == f.ID { // goes on after an interrupt or a crash
		h := d.heads[n-1]
		h.stretch(d.prev)
		h.since, h.Ended, h.EndedAt, h.Detail = at, "", time.Time{}, ""
		h.Resumed++
		return
	}
	if n := len(d.heads); n > 0 {
		d.heads[n-1].stretch(d.prev)
	}
	c := report.SettingsOf(f.Config)
	d.heads = append(d.heads, &SessionHead{
		ID: f.ID, Mode: f.Mode, Autonomy: f.Autonomy(), Version: f.Version, StartedAt: at, Parallel: c.Parallel, Agents: c.Agents,
		Settings: report.SettingRows(c), since: at,
	})
	d.totals.Sessions++
	d.endPause(at)
}

// stretch ends the stretch of time that a session ran, if one runs.
func (h *SessionHead) stretch(to time.Time) {
	if !h.since.IsZero() {
		h.RuntimeSeconds += max(0, to.Sub(h.since)).Seconds()
		h.since = time.Time{}
	}
}

func (d *draft) sessionEnded(f ralph.SessionEnded, at time.Time) {
	d.cutSpans(at)
	d.endPause(at)
	if n := len(d.heads); n > 0 {
		h := d.heads[n-1]
		h.stretch(at)
		h.EndedAt, h.Ended, h.Detail = at, f.Reason, report.OneLine(f.Detail)
	}
}

// rule counts a decision.
func (d *draft) rule(why ralph.Why) {
	if why.Rule == "" {
		return
	}
	i := slices.IndexFunc(d.rules, func(r RuleRow) bool { return r.Rule == why.Rule })
	if i < 0 {
		d.rules = append(d.rules, RuleRow{Rule: why.Rule})
		i = len(d.rules) - 1
	}
	d.rules[i].Times++
	d.rules[i].Text = report.OneLine(why.Text)
}

func (d *draft) taskAdded(t ralph.Task) {
	if t.IsBuild() {
		r := d.row(t.ID)
		r.setTask(&t)
		r.frozen, r.replaced = false, false
		return
	}
	d.stages[t.ID] = &stage{kind: t.Kind, parent: t.Parent, members: t.Members}
	if t.Kind == ralph.KindResolve && t.Parent != "" {
		d.member(t.Parent).Resolves++
	}
}

func (d *draft) taskRemoved(id ralph.TaskID) {
	if r := d.byID[id]; r != nil && !r.touched {
		delete(d.byID, id)
		d.rows = slices.DeleteFunc(d.rows, func(x *row) bool { return x == r })
	}
}
