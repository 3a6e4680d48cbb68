package index

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/report"
	"github.com/ralph-loop/ralph/internal/text"
)

// projection is what the facts add up to here.
type projection struct {
	zone  *time.Location
	edges []time.Duration
	state *ralph.State
	tell  *lineFormatter
	marks checkpoints

	sessions []*Session
	tasks    map[ralph.TaskID]*Task
	seen     map[ralph.TaskID]int64 // the newest fact about a task or a stage after which it was still there
	days     []*Day
	busy     map[ralph.TaskID]bool // at work in a slot, or in place
	since    time.Time             // busy is counted up to here
	lines    ring[Line]
	decided  ring[Decision]
}

func newFold(zone *time.Location) *projection {
	f := &projection{zone: zone, edges: Edges(), state: &ralph.State{}, tasks: map[ralph.TaskID]*Task{}, seen: map[ralph.TaskID]int64{}, busy: map[ralph.TaskID]bool{}}
	f.tell = newTeller(&report.Log{})
	f.marks.gap = firstGap
	f.lines.most, f.decided.most = maxLines, maxDecided
	return f
}

// session is the one that facts belong to now, nil before the first.
func (f *projection) session() *Session {
	if len(f.sessions) == 0 {
		return nil
	}
	return f.sessions[len(f.sessions)-1]
}

// day is the day of an instant.
func (f *projection) day(at time.Time) *Day {
	y, m, d := at.In(f.zone).Date()
	start := time.Date(y, m, d, 0, 0, 0, 0, f.zone)
	n := len(f.days)
	if n > 0 && !f.days[n-1].At.Before(start) { // facts never go back but with the clock
		return f.days[n-1]
	}
	f.days = append(f.days, &Day{At: start})
	return f.days[n]
}

func (f *projection) add(e ralph.Event) {
	before := f.state.At
	f.decide(e) // asks for the gate while it is open
	f.working(e, before)
	f.state.Apply(e)
	if u, ok := report.SpentBy(e.Fact); ok {
		f.spent(e.At, u)
	}
	switch x := e.Fact.(type) {
	case ralph.SessionStarted:
		f.started(e, x)
	case ralph.TurnEnded:
		f.turn(e, x)
	case ralph.TaskEnded:
		f.ended(e, x)
	case ralph.Merged, ralph.Advanced:
		f.day(e.At) // its merges are counted below
	}
	f.concerned(e)
	f.follow(e)
	for _, l := range f.tell.lines(e, f.state) {
		f.lines.add(l)
	}
	f.marks.add(e, f.state, f.tell.log)
}

// started opens a session, or goes on with the newest.
func (f *projection) started(e ralph.Event, x ralph.SessionStarted) {
	s := f.session()
	switch {
	case s == nil || s.ID != x.ID:
		if n := len(f.sessions); n >= wideSeries {
			f.sessions[n-wideSeries].Series.shrink()
		}
		s = &Session{ID: x.ID, StartedAt: e.At, First: e.Seq}
		f.sessions = append(f.sessions, s)
		f.day(e.At).Sessions++
	default:
		s.Resumed++
		s.Ended, s.EndedAt, s.Detail = "", time.Time{}, ""
	}
	var c struct {
		Parallel int `json:"parallel"`
	}
	_ = json.Unmarshal(x.Config, &c) // another version's settings: then it is not known
	s.Mode, s.Autonomy, s.Version, s.Log, s.Parallel = x.Mode, x.Autonomy(), x.Version, x.Log, c.Parallel
}

// follow takes over what the state says of the session.
func (f *projection) follow(e ralph.Event) {
	s, x := f.session(), &f.state.Session
	if s == nil {
		return
	}
	if merged := x.Count.MergesClean + x.Count.MergesResolved - s.Totals.MergesClean - s.Totals.MergesResolved; merged > 0 {
		f.day(e.At).Merges += merged
	}
	s.Last, s.LastAt, s.Totals = e.Seq, e.At, x.Count
	s.Specs, s.SpecsFail = x.Completed, x.Failed
	s.Running = f.state.Running(f.state.LastHeard())
	s.Ended, s.EndedAt, s.Detail = x.Ended, x.EndedAt, text.Cut(x.Detail, maxWords)
	s.Autonomy = x.Auto
}

func (f *projection) turn(e ralph.Event, x ralph.TurnEnded) {
	f.day(e.At).Turns++
	if t := f.tasks[x.Task]; t != nil {
		t.Iterations++
	}
	s := f.session()
	if s == nil {
		return
	}
	s.Series.at(e.At).Turns++
	s.Durations.add(x.Took, f.edges)
	i := slices.IndexFunc(s.Agents, func(a Share) bool { return a.Agent == x.Agent })
	if i < 0 {
		i = len(s.Agents)
		s.Agents = append(s.Agents, Share{Agent: x.Agent})
	}
	a := &s.Agents[i]
	a.Turns++
	a.Time += x.Took
	a.Cost += x.Usage.Cost
	a.Tokens += tokens(x.Usage)
	if x.Failed() {
		a.Failed++
	}
}

func (f *projection) spent(at time.Time, u ralph.Usage) {
	d := f.day(at)
	d.Cost += u.Cost
	d.Tokens += tokens(u)
	if s := f.session(); s != nil {
		b := s.Series.at(at)
		b.Cost += u.Cost
		b.Tokens += tokens(u)
	}
}

func tokens(u ralph.Usage) int64 { return u.Input + u.Output + u.CacheRead + u.CacheWrite }

func (f *projection) ended(e ralph.Event, x ralph.TaskEnded) {
	t := f.state.Task(x.ID)
	if t == nil || !t.IsBuild() {
		return
	}
	d := f.day(e.At)
	switch x.Status {
	case ralph.TaskDone:
		d.Done++
	case ralph.TaskFailed:
		d.Failed++
	case ralph.TaskTimeout:
		d.Timeout++
	}
}

// working counts the time of the slots up to an event, then who is at work after it.
func (f *projection) working(e ralph.Event, before time.Time) {
	until := e.At
	if _, ok := e.Fact.(ralph.SessionStarted); ok {
		until = before // what a dead engine left is counted up to its last fact
	}
	if s := f.session(); s != nil && len(f.busy) > 0 && f.since.Before(until) {
		took := time.Duration(len(f.busy)) * until.Sub(f.since)
		s.Series.work(f.since, until, len(f.busy))
		s.Busy += took
		s.Peak = max(s.Peak, len(f.busy))
		d := f.day(until)
		d.Busy += took
		d.Peak = max(d.Peak, len(f.busy))
	}
	f.since = e.At
	switch x := e.Fact.(type) {
	case ralph.SessionStarted, ralph.SessionEnded:
		clear(f.busy)
	case ralph.JobEnded:
		clear(f.busy)
	case ralph.TaskStarted:
		if x.Slot > 0 || inPlace(f.state.Task(x.ID)) {
			f.busy[x.ID] = true
		}
	case ralph.StepStarted: // it goes on after a person's word
		if t := f.state.Task(x.Task); t != nil && t.Status == ralph.TaskActive && (t.Run.Worktree.Slot > 0 || inPlace(t)) {
			f.busy[x.Task] = true
		}
	case ralph.TaskEnded:
		delete(f.busy, x.ID)
	case ralph.TaskRemoved:
		delete(f.busy, x.ID)
	case ralph.Asked:
		if !x.Approval.InTurn { // who waits holds no slot
			delete(f.busy, x.Approval.Task)
		}
	}
}

// inPlace reports whether a task without a slot is an agent's work.
func inPlace(t *ralph.Task) bool {
	if t == nil {
		return false
	}
	switch t.Kind {
	case "", ralph.KindBuild, ralph.KindPlan, ralph.KindInvestigate, ralph.KindVerify, ralph.KindDecompose:
		return true
	}
	return false
}

// concerned notes where the facts of tasks lie.
func (f *projection) concerned(e ralph.Event) {
	for _, id := range report.ConcernedBy(e, f.state) {
		t := f.tasks[id]
		now := f.state.Task(id)
		if now != nil {
			f.seen[id] = e.Seq
		}
		if t == nil {
			if now == nil || !now.TakesSlot() && !inPlace(now) {
				continue // merging and landing are told with their tasks
			}
			t = &Task{ID: id, Build: now.IsBuild(), First: e.Seq, At: e.At}
			if n, ok := e.Fact.(ralph.TurnEnded); ok && n.Task == id {
				t.Iterations++ // turn found nobody to count it for
			}
			f.tasks[id] = t
		}
		t.Last, t.LastAt = e.Seq, e.At
		if now == nil {
			continue
		}
		t.Status = now.Status
		if s := f.session(); s != nil && t.Session != s.ID && now.Status == ralph.TaskActive {
			t.Session = s.ID
			if t.Build {
				s.Tasks++
			}
		}
	}
}

// ruleOf is the rule that a fact says it follows.
func ruleOf(f ralph.Fact) string {
	switch f := f.(type) {
	case ralph.StepStarted:
		return f.Why.Rule
	case ralph.TaskEnded:
		return f.Why.Rule
	case ralph.JobEnded:
		return f.Rule
	case ralph.Noted:
		return f.Rule
	}
	return ""
}

// decide keeps what came of a gate. The first answer wins.
func (f *projection) decide(e ralph.Event) {
	x, ok := e.Fact.(ralph.Answered)
	if !ok {
		return
	}
	i := slices.IndexFunc(f.state.Approvals, func(g *ralph.Approval) bool { return g.ID == x.ID })
	if i < 0 {
		return
	}
	g := f.state.Approvals[i]
	d := Decision{
		Gate: g.ID, Kind: g.Kind, Task: g.Task, Text: text.Cut(g.Text, maxWords), AskedAt: g.AskedAt, At: e.At, Seq: e.Seq, Session: f.state.Session.ID,
		Verdict: x.Verdict, Answer: text.Cut(x.Text, maxWords), By: e.By, Rule: x.Rule, WasNever: g.Never,
	}
	if g.About != "" {
		d.Task = g.About
	}
	f.decided.add(d)
}
