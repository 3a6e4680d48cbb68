package screen

import (
	"slices"
	"time"

	"github.com/ralph-loop/ralph"
)

// Decision is what was decided after a turn of a thread.
type Decision struct {
	Seq    int64        `json:"seq"`     // of the fact
	Number int64        `json:"receipt"` // of its receipt; 0 where nobody wrote one
	At     time.Time    `json:"at"`
	Thread ralph.TaskID `json:"thread"`
	Name   string       `json:"name"` // of the thread
	ralph.ThreadDecision
}

// Executed says what became of the advice: executed, or overridden by the rules.
func (d *Decision) Executed() string {
	if d.Overridden {
		return "overridden"
	}
	return "executed"
}

// Decisions gathers what was decided on threads. It is given the facts in order.
type Decisions struct {
	Most int // that are kept, the newest; 0 for all
	list []Decision
}

// Add takes in the next event; s is a state that knows the thread, for its name.
func (d *Decisions) Add(e ralph.Event, s *ralph.State) {
	f, ok := e.Fact.(ralph.Decided)
	if !ok {
		return
	}
	x := Decision{Seq: e.Seq, Number: e.Answers, At: e.At, Thread: f.Task, ThreadDecision: f.Decision}
	if t := s.Task(f.Task); t != nil {
		x.Name = t.Name
	}
	d.list = append(d.list, x)
	if d.Most > 0 && len(d.list) > 2*d.Most {
		d.list = slices.Clone(d.list[len(d.list)-d.Most:])
	}
}

// DecisionFilter chooses decisions; what is empty chooses all.
type DecisionFilter struct {
	Thread     ralph.TaskID
	Action     ralph.ThreadAction
	Overridden bool // only where the rules did something else than was advised
	Stops      bool // only where a stop condition was hit
}

// List are the decisions that a filter lets through, newest first.
func (d *Decisions) List(f DecisionFilter) []Decision {
	var out []Decision
	for _, x := range slices.Backward(d.list) {
		switch {
		case d.Most > 0 && len(out) == d.Most:
			return out
		case f.Thread != "" && x.Thread != f.Thread, f.Action != "" && x.Action != f.Action, f.Overridden && !x.Overridden, f.Stops && x.Stop == "":
		default:
			out = append(out, x)
		}
	}
	return out
}
