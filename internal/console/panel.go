package console

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/report"
	"github.com/ralph-loop/ralph/internal/text"
)

// panel is what goes on right now: a line for each slot that is busy, one for the
// merge queue, and one for what happens in the checkout itself. It is fed with
// every event and keeps what it needs, so that no event costs a look at the plan.
type panel struct {
	slots  map[int]*activity
	slotOf map[ralph.TaskID]int
	main   activity // stages, and tasks in place
	merge  activity
	queued map[ralph.TaskID]bool
	asking map[ralph.ApprovalID]bool
}

// activity is one line of the panel. An empty stage is no activity.
type activity struct {
	stage string
	what  string
	turn  int // iteration, 0 for none
	agent string
	since time.Time
	note  string // of the newest PROGRESS signal
	words string // the agent's last words
}

func newPanel() *panel {
	return &panel{slots: map[int]*activity{}, slotOf: map[ralph.TaskID]int{}, queued: map[ralph.TaskID]bool{}, asking: map[ralph.ApprovalID]bool{}}
}

// line is where the activity of a task is shown.
func (p *panel) line(id ralph.TaskID) *activity {
	if n := p.slotOf[id]; n > 0 {
		return p.slots[n]
	}
	if strings.HasPrefix(string(id), string(ralph.KindMerge)+":") {
		return &p.merge
	}
	return &p.main
}

// see takes an event in; s is the state after it.
func (p *panel) see(e ralph.Event, s *ralph.State) {
	switch f := e.Fact.(type) {
	case ralph.TaskStarted:
		if f.Slot > 0 {
			p.slotOf[f.ID] = f.Slot
			p.slots[f.Slot] = &activity{stage: "START", what: nameOf(s, f.ID), since: e.At}
		}
	case ralph.TaskEnded:
		p.leave(f.ID)
		if strings.HasPrefix(string(f.ID), string(ralph.KindMerge)+":") {
			p.merge = activity{}
		}
	case ralph.StepStarted:
		p.begin(f, s, e.At)
	case ralph.TurnEnded:
		a := p.line(f.Task)
		note := a.note
		if f.Signal.Kind == ralph.SignalProgress {
			note = fmt.Sprintf("%d%% %s", f.Signal.Percent, text.OneLine(f.Signal.Text))
		}
		*a = activity{what: a.what, note: note}
	case ralph.ChecksRan, ralph.Committed, ralph.Shelved, ralph.Merged, ralph.Advanced, ralph.BaselineRan, ralph.Landed, ralph.Prepared, ralph.StepLost, ralph.StepLate:
		a := p.line(report.About(e.Fact))
		*a = activity{what: a.what, note: a.note}
	case ralph.SessionEnded:
		*p = *newPanel()
	}
	p.seeQueue(e, s)
}

func (p *panel) begin(f ralph.StepStarted, s *ralph.State, at time.Time) {
	a := p.line(f.Task)
	*a = activity{stage: strings.ToUpper(f.Step.StepName()), what: nameOf(s, f.Task), note: a.note, since: at}
	if turn, ok := f.Step.(ralph.Turn); ok {
		a.stage, a.agent = strings.ToUpper(string(turn.Stage)), turn.Agent
		if p.slotOf[f.Task] > 0 {
			a.turn = turn.Iteration
		}
	}
}

// seeQueue counts what waits to be merged, and what waits for a person.
func (p *panel) seeQueue(e ralph.Event, s *ralph.State) {
	switch f := e.Fact.(type) {
	case ralph.MergeQueued:
		p.queued[f.Task] = true
	case ralph.Merged:
		if f.Advanced {
			p.landed(f.Members)
		}
	case ralph.Advanced:
		if t := s.Task(f.Task); t != nil && f.Error == "" && f.Moved == "" {
			p.landed(t.Members)
		}
	case ralph.Asked:
		p.asking[f.Approval.ID] = true
		if f.Approval.InTurn { // its turn goes on, and keeps its slot
			p.line(f.Approval.Task).note = waitNote(f.Approval.ID)
			break
		}
		if p.slotOf[f.Approval.Task] > 0 { // who waits holds no slot (B-054)
			p.leave(f.Approval.Task)
		} else {
			*p.line(f.Approval.Task) = activity{stage: "WAITING", what: "for your word on " + string(f.Approval.ID), since: e.At}
		}
	case ralph.Answered:
		delete(p.asking, f.ID)
		p.heard(waitNote(f.ID))
	case ralph.JobEnded:
		p.asking, p.queued = map[ralph.ApprovalID]bool{}, map[ralph.TaskID]bool{}
	}
}

// waitNote is what is said of an agent that waits in the middle of its turn.
func waitNote(id ralph.ApprovalID) string { return "waits for your word on " + string(id) }

// heard takes a note away.
func (p *panel) heard(note string) {
	if p.main.note == note {
		p.main.note = ""
	}
	for _, a := range p.slots {
		if a.note == note {
			a.note = ""
		}
	}
}

func (p *panel) landed(members []ralph.TaskID) {
	for _, id := range members {
		delete(p.queued, id)
	}
}

func (p *panel) leave(id ralph.TaskID) {
	if n := p.slotOf[id]; n > 0 {
		delete(p.slots, n)
		delete(p.slotOf, id)
	}
}

func nameOf(s *ralph.State, id ralph.TaskID) string {
	t := s.Task(id)
	switch {
	case t == nil:
		return ""
	case t.IsBuild() && t.Run.Worktree.Slot > 0:
		return string(t.ID) + " " + t.Name
	}
	return t.Name
}

// said keeps the newest words of an agent.
func (p *panel) said(id ralph.TaskID, words string) { p.line(id).words = words }

// rows are the lines of the panel: slots in order, the merge queue, the rest. At
// most so many; what does not fit is counted.
func (p *panel) rows(at time.Time, most int) []string {
	var rows []string
	for _, n := range slices.Sorted(maps.Keys(p.slots)) {
		rows = append(rows, fmt.Sprintf("[%d] %s", n, p.slots[n].text(at)))
	}
	if queue := p.queueRow(at); queue != "" {
		rows = append(rows, queue)
	}
	if p.main.stage != "" {
		rows = append(rows, p.main.text(at))
	}
	if most = max(1, most); len(rows) > most {
		rows = append(rows[:most-1:most-1], fmt.Sprintf("... and %d more: ralph status", len(rows)-most+1))
	}
	return rows
}

func (p *panel) queueRow(at time.Time) string {
	var parts []string
	if p.merge.stage != "" {
		parts = append(parts, p.merge.text(at))
	}
	if n := len(p.queued); n > 0 && len(p.slotOf)+len(p.merge.stage) > 0 {
		parts = append(parts, fmt.Sprintf("merge queue: %d", n))
	}
	if n := len(p.asking); n > 0 && len(p.slots) > 0 {
		parts = append(parts, fmt.Sprintf("%d waiting for you: ralph gates", n))
	}
	return strings.Join(parts, " · ")
}

// text is an activity in words.
func (a *activity) text(at time.Time) string {
	parts := make([]string, 0, 6)
	add := func(s string) {
		if s != "" {
			parts = append(parts, s)
		}
	}
	add(a.stage)
	add(a.what)
	if a.turn > 0 {
		add(fmt.Sprintf("iteration %d", a.turn))
	}
	add(a.agent)
	if !a.since.IsZero() {
		add(ralph.Elapsed(max(0, at.Sub(a.since))))
	}
	add(a.note)
	add(a.words)
	return strings.Join(parts, " · ")
}

// fit makes a text fit into a line of a terminal: no control characters, and not
// wider than it.
func fit(s string, width int) string { return text.Clip(text.Visible(text.WithoutControl(s)), width-1) }
