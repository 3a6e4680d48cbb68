package ralph

import "time"

// Counted is how the last end of a task was counted, and in which session.
type Counted struct {
	As      TaskStatus `json:"as,omitempty"` // "": it was not, or counts no more
	Session SessionID  `json:"session,omitempty"`
}

// count counts for the whole journal and for the session.
func (s *State) count(add func(*Totals)) {
	add(&s.Totals)
	add(&s.Session.Count)
}

// countEnd counts the end of a task. Tasks are counted, not ends: one that ends again was
// taken out of the counts when it left its first end (B-101).
func (s *State) countEnd(t *Task, as TaskStatus) {
	switch as {
	case TaskDone, TaskFailed, TaskTimeout:
		s.count(func(n *Totals) { *n.ends(as)++ })
		t.Run.Counted = Counted{as, s.Session.ID}
	}
}

// uncount takes back how a task was counted whose end is none any more.
func (s *State) uncount(was Counted) {
	if was.As == "" {
		return
	}
	*s.Totals.ends(was.As)--
	if was.Session == s.Session.ID {
		*s.Session.Count.ends(was.As)--
	}
}

// ends is the count of a status with which tasks end.
func (t *Totals) ends(status TaskStatus) *int {
	switch status {
	case TaskDone:
		return &t.TasksDone
	case TaskTimeout:
		return &t.TasksOut
	}
	return &t.TasksFail
}

// Decision is a receipt as people are shown it: what was decided for a task, and why.
type Decision struct {
	Seq       int64     `json:"seq"`
	At        time.Time `json:"at"`
	Task      TaskID    `json:"task"`
	Step      string    `json:"step"`
	Stage     TaskKind  `json:"stage,omitempty"` // of a turn
	Agent     string    `json:"agent,omitempty"`
	Iteration int       `json:"iteration,omitempty"`
	Why       Why       `json:"why"`
}

// decided keeps the newest decision (E-087).
func (s *State) decided(e Event, f StepStarted) {
	d := &Decision{Seq: e.Seq, At: e.At, Task: f.Task, Step: f.Step.StepName(), Why: f.Why}
	if turn, ok := f.Step.(Turn); ok {
		d.Stage, d.Agent, d.Iteration = turn.Stage, turn.Agent, turn.Iteration
	}
	s.Decided = d
}
