package ralph

import (
	"cmp"
	"iter"
	"slices"
	"time"
)

// Apply folds one event into the state. It is total: a fact about something
// that is not there (a person removed it meanwhile) changes nothing, nor does the outcome of
// a step that no task is at.
func (s *State) Apply(e Event) {
	if !s.answers(e) {
		s.Seq, s.Hash, s.At = e.Seq, e.Hash, e.At
		return
	}
	s.stand(e)
	s.rested(e.At)
	s.takeTally()
	s.Seq, s.Hash, s.At = e.Seq, e.Hash, e.At
	if e.Seq == 1 {
		s.Journal = JournalID(e.Hash)
	}
	e.Fact.fold(s, e)
	s.withdrawn(e.At)
	s.inCheckout(e)
	s.restFrom(e.At)
	s.heard(e)
}

// LastHeard is until when it is known that an engine worked.
func (s *State) LastHeard() time.Time { return cmp.Or(s.Session.HeardAt, s.At) }

// heard notes that the engine of the session lives; what the next start says of one that died does not.
func (s *State) heard(e Event) {
	lost, _ := e.Fact.(StepLost)
	ended, _ := e.Fact.(JobEnded)
	if e.By == "engine" && s.Session.Live() && lost.Cause != LostCrash && !ended.Cut {
		s.Session.HeardAt, s.Session.Ran, s.Plan.Ran = e.At, s.Running(e.At), s.JobElapsed(e.At)
	}
}

// JournalID is the name of the journal whose first line has that hash.
func JournalID(first string) string { return first[:min(len(first), 12)] }

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
// taken out of the counts when it left its first end.
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

// decided keeps the newest decision.
func (s *State) decided(e Event, f StepStarted) {
	d := &Decision{Seq: e.Seq, At: e.At, Task: f.Task, Step: f.Step.StepName(), Why: f.Why}
	if turn, ok := f.Step.(Turn); ok {
		d.Stage, d.Agent, d.Iteration = turn.Stage, turn.Agent, turn.Iteration
	}
	s.Decided = d
}

// How Apply changes what is listed: a copy takes the place of what a clone may share.

func (s *State) editTask(id TaskID, edit func(*Task)) {
	list, i := s.Plan.Tasks, s.edited
	if i >= len(list) || list[i].ID != id {
		i = s.planIndex(id)
	}
	inPlan := i >= 0
	if inPlan {
		s.edited = i
	} else if list, i = s.Stages, slices.IndexFunc(s.Stages, func(t *Task) bool { return t.ID == id }); i < 0 {
		return
	}
	c := *list[i]
	status, counted := c.Status, c.Run.Counted
	edit(&c)
	if c.Status != status {
		c.Line, c.Run.Counted = "", Counted{} // what a person wrote no longer says what is so
		s.uncount(counted)
	}
	if inPlan {
		s.put(i, &c)
	} else {
		list[i] = &c
	}
}

// editTasks changes those tasks and stages that change is true of, without any count of them.
func (s *State) editTasks(change func(*Task) bool) {
	for i, t := range s.Plan.Tasks {
		if c := *t; change(&c) {
			s.put(i, &c)
		}
	}
	for i, t := range s.Stages {
		if c := *t; change(&c) {
			s.Stages[i] = &c
		}
	}
}

func (s *State) editJob(edit func(*Job)) {
	if s.Job != nil {
		c := *s.Job
		edit(&c)
		s.Job = &c
	}
}

// ordered returns list in the order of ids; what ids does not name goes last.
func ordered[T any, ID comparable](list []T, ids []ID, id func(T) ID) []T {
	out := make([]T, 0, len(list))
	at, named := make(map[ID]int, len(list)), make(map[ID]bool, len(ids))
	for i, x := range slices.Backward(list) { // of two with the same one the first counts
		at[id(x)] = i
	}
	for _, want := range ids {
		if i, ok := at[want]; ok && !named[want] { // named twice it is still one
			out = append(out, list[i])
		}
		named[want] = true
	}
	for _, x := range list {
		if !named[id(x)] {
			out = append(out, x)
		}
	}
	return out
}

// State is what the facts of the journal add up to. Apply is the only way it
// changes, and Apply never writes into a Spec, Task, Issue, Job or Gate that a
// clone may share: it replaces the pointer. So Clone is cheap and a clone may
// be read while the original moves on.
type State struct {
	Seq  int64  `json:"seq"`
	Hash string `json:"hash"` // of the line with Seq
	// Journal names the journal: how the hash of its first line begins. Commits carry it.
	Journal string    `json:"journal,omitempty"`
	At      time.Time `json:"at"`

	Inbox    []*Spec    `json:"inbox,omitempty"` // in file order
	Plan     Plan       `json:"plan"`
	Stages   []*Task    `json:"stages,omitempty"` // the stage tasks of the job
	Job      *Job       `json:"job,omitempty"`
	Session  Session    `json:"session"`
	Limits   []Limit    `json:"limits,omitempty"`
	Checkout Checkout   `json:"checkout,omitzero"` // what is known of it, when agents work in it
	Totals   Totals     `json:"totals"`
	Pulls    []*Pull    `json:"pulls,omitempty"`   // branches that go out, oldest first
	Tracked  []*Tracked `json:"tracked,omitempty"` // issues that became specs, the one seen last at the end
	Aside    *Plan      `json:"-"`                 // the plan that the newest PlanStarted replaced; not kept in snapshots

	ApprovalState
	CheckState
	LoopState
	FileState
	OutsideState

	edited int      // where the task stands in the plan that was changed last: the next fact is mostly of it
	tally  *counted // of the plan; nil in a clone that was changed
	clone  bool     // several may read it at once: nothing of it is made when it is asked for
	shared bool     // a clone has the same list of tasks
}

// The parts of State that are not a noun by themselves. In JSON they are one: their fields
// are those of State.

// ApprovalState is what people are asked, and what they have said for good.
type ApprovalState struct {
	Approvals []*Approval   `json:"gates,omitempty"`
	Rules     []*AnswerRule `json:"rules,omitempty"` // answers that hold, oldest first; whose time is over stay in the list
	// Theirs are settings as somebody else than an agent made them: gate.self holds what agents do.
	Theirs []LeftFile `json:"theirs,omitempty"`
}

// CheckState is what is known of checks beside any task.
type CheckState struct {
	// Baselines are what the checks said of commits without anybody's work on top, of the
	// newest that are known, oldest first.
	Baselines []Baselined `json:"baselines,omitempty"`
	// Written are tracked files that checks change: they may be given back in a checkout.
	Written []string `json:"written,omitempty"`
}

// LoopState is what the loop decided last, and whether it stands still.
type LoopState struct {
	Decided *Decision `json:"decided,omitempty"` // the newest decision
	// Answering is the newest outcome, while only facts of its write have followed it.
	Answering Answering `json:"answering,omitzero"`
	StepAt    time.Time `json:"step_at,omitzero"`  // when a step began last
	Stalled   *Stalled  `json:"stalled,omitempty"` // nothing happens although there is work; nil: nothing is known of that
	Stood     Standing  `json:"stood,omitzero"`    // what stood still lately
}

// FileState is what is known of the files that people edit.
type FileState struct {
	Unread []Unreadable `json:"unread,omitempty"` // those that cannot be read now
	Gone   []Ended      `json:"gone,omitempty"`   // what was done and is in no list any more, the newest last
}

// FoldVersion counts the changes of what facts add up to that no field of State shows:
// it goes up when Apply makes another state of the same facts. A state that was folded
// and kept by another version is folded anew from the facts.
const FoldVersion = 9

// Totals are counts over the whole journal, for statistics.
type Totals struct {
	Sessions  int           `json:"sessions"`
	SpecsDone int           `json:"specs_done"`
	SpecsFail int           `json:"specs_failed"`
	TasksDone int           `json:"tasks_done"`
	TasksFail int           `json:"tasks_failed"`
	TasksOut  int           `json:"tasks_timeout"`
	Turns     int           `json:"turns"`
	TurnTime  time.Duration `json:"turn_time"`
	TurnMin   time.Duration `json:"turn_min"`
	TurnMax   time.Duration `json:"turn_max"`
	Usage     Usage         `json:"usage"`
	ChecksRed int           `json:"checks_red"`
	ChecksOK  int           `json:"checks_green"`
	// PassedOver are those of ChecksOK in which a red check did not count.
	PassedOver int `json:"checks_passed_over,omitempty"`
	Receipts   int `json:"receipts"`
	Commits    int `json:"commits"`
	// Merges without and with a conflict or red checks on the way.
	MergesClean    int `json:"merges_clean"`
	MergesResolved int `json:"merges_resolved"`
	Conflicts      int `json:"conflicts"`
}

// Clone returns a state that stays as it is while s moves on. The tasks are the same list until the first fact that changes it: s then makes a new one.
func (s *State) Clone() *State {
	if !s.clone { // a clone says so from its beginning: several may clone it at once
		s.shared = true
	}
	c := *s
	if y := s.tallied(); y != nil && !s.clone {
		c.tally = &counted{y.Share(), y.first}
	}
	c.clone, c.shared = true, true
	c.Plan.Tasks = s.Plan.Tasks[:len(s.Plan.Tasks):len(s.Plan.Tasks)]
	c.Inbox = slices.Clone(s.Inbox)
	c.Plan.Issues = slices.Clone(s.Plan.Issues)
	c.Plan.Rejects = slices.Clone(s.Plan.Rejects)
	c.Stages = slices.Clone(s.Stages)
	c.Approvals = slices.Clone(s.Approvals)
	c.Limits = slices.Clone(s.Limits)
	c.Baselines = slices.Clone(s.Baselines)
	c.Session.Planned = slices.Clone(s.Session.Planned)
	c.Session.Freed = slices.Clone(s.Session.Freed)
	return &c
}

// Work yields the tasks of the plan and then the stages of the job. None of them
// must be written to.
func (s *State) Work() iter.Seq[*Task] {
	return func(yield func(*Task) bool) {
		for _, list := range [][]*Task{s.Plan.Tasks, s.Stages} {
			for _, t := range list {
				if !yield(t) {
					return
				}
			}
		}
	}
}
