package ralph

import (
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"time"
)

// State is what the facts of the journal add up to. Apply is the only way it
// changes, and Apply never writes into a Spec, Task, Issue, Job or Gate that a
// clone may share: it replaces the pointer. So Clone is cheap and a clone may
// be read while the original moves on.
type State struct {
	Seq  int64  `json:"seq"`
	Hash string `json:"hash"` // of the line with Seq
	// Journal names the journal: how the hash of its first line begins (S9). Commits carry it.
	Journal string    `json:"journal,omitempty"`
	At      time.Time `json:"at"`

	Inbox   []*Spec       `json:"inbox,omitempty"` // in file order
	Plan    Plan          `json:"plan"`
	edited  int           // where the task stands in the plan that was changed last: the next fact is mostly of it
	tally   *tally        // of the plan; nil in a clone
	clone   bool          // several may read it at once: nothing of it is made when it is asked for
	shared  bool          // a clone has the same list of tasks
	Stages  []*Task       `json:"stages,omitempty"` // the stage tasks of the job
	Job     *Job          `json:"job,omitempty"`
	Session Session       `json:"session"`
	Gates   []*Gate       `json:"gates,omitempty"`
	Limits  []Limit       `json:"limits,omitempty"`
	Rules   []*AnswerRule `json:"rules,omitempty"` // answers that hold, oldest first; whose time is over stay in the list
	Totals  Totals        `json:"totals"`
	Unread  []Unreadable  `json:"unread,omitempty"` // files of people that cannot be read now
	Gone    []Ended       `json:"gone,omitempty"`   // what was done and is in no list any more, the newest last
	// Baselines are what the checks said of commits without anybody's work on top, of the
	// newest that are known, oldest first.
	Baselines []Baselined `json:"baselines,omitempty"`
	// Written are tracked files that checks change: they may be given back in a checkout.
	Written []string `json:"written,omitempty"`
	// Theirs are settings as somebody else than an agent made them: gate.self holds what agents do.
	Theirs []LeftFile `json:"theirs,omitempty"`
	// Checkout is what is known of the checkout, when agents work in it.
	Checkout Checkout  `json:"checkout,omitzero"`
	Decided  *Decision `json:"decided,omitempty"` // the newest decision (E-087)
	// StepAt is when a step began last, and Stalled since when nothing happens although
	// there is work; nil: nothing is known of that.
	StepAt  time.Time `json:"step_at,omitzero"`
	Stalled *Stalled  `json:"stalled,omitempty"`
	// Stood is what stood still lately.
	Stood Standing `json:"stood,omitzero"`

	// Aside is the plan that the newest PlanStarted replaced; not kept in snapshots.
	Aside *Plan `json:"-"`
}

// FoldVersion counts the changes of what facts add up to that no field of State shows:
// it goes up when Apply makes another state of the same facts. A state that was folded
// and kept by another version is folded anew from the facts.
const FoldVersion = 6

// Plan is the plan of the current spec: what plan.jsonl shows.
type Plan struct {
	File    string    `json:"file,omitempty"`
	Tasks   []*Task   `json:"tasks,omitempty"`
	Issues  []*Issue  `json:"issues,omitempty"`
	Rejects []*Reject `json:"rejects,omitempty"`

	// Closed: the job on it ended done or failed, so that the same spec queued
	// again gets a plan of its own.
	Closed bool `json:"closed,omitempty"`

	// What was spent on this spec, over interruptions. Elapsed is running time only.
	Elapsed time.Duration `json:"elapsed,omitempty"`
	Usage   Usage         `json:"usage,omitzero"`
	Turns   int           `json:"turns,omitempty"`  // turns in CONSTRUCT (D-086)
	Alerts  []string      `json:"alerts,omitempty"` // warnings that are out: each is said once

	// Covered is the coverage below test.coverage that a person let pass in the checkout:
	// what comes after must not lower it. 0: none.
	Covered float64 `json:"covered,omitempty"`

	// Integration is where tasks are merged to, nil without worktrees.
	Integration *Integration `json:"integration,omitempty"`
}

// Integration is the branch that tasks in worktrees are merged into. The base
// branch follows it, when everything on it has passed its checks.
type Integration struct {
	Branch   string    `json:"branch"`
	Base     string    `json:"base,omitempty"` // the base branch; "" for a detached HEAD
	Tip      string    `json:"tip"`
	Tree     string    `json:"tree,omitempty"`
	Landed   string    `json:"landed"` // the base's commit, as far as is known
	LandedAt time.Time `json:"landed_at,omitzero"`
	// Held says why it does not land: files changed in the checkout, or an error.
	Held []string `json:"held,omitempty"`
	// HeldTries are the landings in a row that were held: each makes the next one rarer.
	HeldTries int `json:"held_tries,omitempty"`
	// Waiting counts the tasks that are merged and not landed yet; Landing are those
	// of them that the landing under way brings along.
	Waiting int `json:"waiting,omitempty"`
	Landing int `json:"landing,omitempty"`
	// Denied: a person said that it shall not be brought together with the base.
	Denied string `json:"denied,omitempty"`
	// Moved: the base branch went on to this commit, which has to be merged first.
	Moved string `json:"moved,omitempty"`
}

// Job is the work on one spec, from FETCH to its end.
type Job struct {
	ID     JobID     `json:"id"`
	Spec   SpecID    `json:"spec,omitempty"` // "" in construct: the inbox is not touched
	File   string    `json:"file"`
	Since  time.Time `json:"since"` // start of the stretch that runs now
	Round  int       `json:"round,omitempty"`
	Base   string    `json:"base,omitempty"` // HEAD at the start
	Branch string    `json:"branch,omitempty"`
	Tree   string    `json:"tree,omitempty"` // the newest known work tree
	Head   string    `json:"head,omitempty"`
	Inside []string  `json:"inside,omitempty"` // files changed inside submodules before it began
	// Seen are changes of settings that a person has approved: exactly these pass (S2).
	Seen []Finding `json:"seen,omitempty"`
}

// Session is one run of the engine; a resumed one keeps its id.
type Session struct {
	ID           SessionID       `json:"id,omitempty"`
	Mode         string          `json:"mode,omitempty"`
	StartedAt    time.Time       `json:"started_at,omitzero"`
	Since        time.Time       `json:"since,omitzero"`    // start of the stretch that runs now
	Elapsed      time.Duration   `json:"elapsed,omitempty"` // of the stretches before it
	RestAt       time.Time       `json:"rest_at,omitzero"`  // since when it waits for a person alone, which does not count
	EndedAt      time.Time       `json:"ended_at,omitzero"`
	Ended        Reason          `json:"ended,omitempty"`
	Detail       string          `json:"detail,omitempty"`
	Config       json.RawMessage `json:"config,omitempty"`
	Pid          int             `json:"pid,omitempty"`
	Host         string          `json:"host,omitempty"`
	Log          string          `json:"log,omitempty"`
	Completed    int             `json:"completed"`        // specs
	Before       int             `json:"before,omitempty"` // of these, completed before this start of it
	Failed       int             `json:"failed"`
	Consecutive  int             `json:"consecutive,omitempty"`   // failed specs in a row (D-034)
	TaskFailures int             `json:"task_failures,omitempty"` // failed tasks in a row
	Usage        Usage           `json:"usage,omitzero"`
	Turns        int             `json:"turns,omitempty"`
	Agent        string          `json:"agent,omitempty"`    // that new tasks are given to
	Fallback     string          `json:"fallback,omitempty"` // why it is not the primary one
	Want         Want            `json:"want,omitempty"`
	Cause        string          `json:"cause,omitempty"`
	Now          bool            `json:"now,omitempty"`       // the stop does not wait for the iteration
	Current      SpecID          `json:"current,omitempty"`   // stays after an interrupt
	LastTask     time.Time       `json:"last_task,omitzero"`  // when a build task ended, for task.delay
	Freed        []time.Time     `json:"freed,omitempty"`     // likewise in each slot, slot 1 first
	Planned      []SpecID        `json:"planned,omitempty"`   // --dry-run: planned once each (D-035)
	PlanOnly     bool            `json:"plan_only,omitempty"` // --dry-run
	Auto         Autonomy        `json:"autonomy,omitempty"`
	Approved     bool            `json:"approved,omitempty"` // the start, where one has to be
	Pause        PauseKind       `json:"pause,omitempty"`    // what the wanted pause comes from
	Ends         Reason          `json:"ends,omitempty"`     // the reason that the wanted stop gives
	Alerts       []string        `json:"alerts,omitempty"`   // warnings that are out: each is said once
	Count        Totals          `json:"count,omitzero"`     // of this session alone (B-100 to B-103)
	Streak       []TaskID        `json:"streak,omitempty"`   // the tasks behind TaskFailures (B-063)
	Bad          []TaskID        `json:"bad,omitempty"`      // failed or timed out in a row
	// What went wrong since the mode was set: a mode that ends at the first error does
	// not end for what was wrong before.
	Errors     []TaskID `json:"errors,omitempty"`      // failed or timed out
	SpecErrors int      `json:"spec_errors,omitempty"` // specs that failed
}

// FreedAt is when a build task left a slot, zero for never; slot 0 is the checkout.
func (s *Session) FreedAt(slot int) time.Time {
	switch {
	case slot == 0:
		return s.LastTask
	case slot <= len(s.Freed):
		return s.Freed[slot-1]
	}
	return time.Time{}
}

// leftSlot notes when a build task left its slot.
func (s *Session) leftSlot(slot int, at time.Time) {
	s.LastTask = at
	if slot == 0 {
		return
	}
	freed := make([]time.Time, max(slot, len(s.Freed)))
	copy(freed, s.Freed)
	freed[slot-1] = at
	s.Freed = freed
}

// Live reports whether the session has begun and not ended. After a crash it
// is true although nobody works on it: only the lock tells that apart.
func (s *Session) Live() bool { return s.ID != "" && s.Ended == "" }

// Mode is the state of the engine, derived: a wanted pause with a step in
// flight is pausing, without one paused. A session whose engine died looks as it
// did then; the lock tells.
func (s *State) Mode() string {
	x := s.Session
	switch {
	case x.ID == "":
		return "idle"
	case x.Ended != "":
		return "completed"
	case x.Want == WantStop:
		return "stopping"
	case x.Want == WantPause && s.inFlight():
		return "pausing"
	case x.Want == WantPause:
		return "paused"
	case !s.working() && (x.Auto == Semi || s.gated(GateStart) || s.gated(GateStep)):
		return "waiting_user"
	}
	return "running"
}

// working reports whether an agent is at work or a person has chosen what comes next.
func (s *State) working() bool {
	busy := func(t *Task) bool { return t.Status == TaskActive || t.Run.Assigned && t.Status == TaskPending }
	if y := s.tallied(); y != nil {
		return len(y.active)+len(y.chosen) > 0 || slices.ContainsFunc(s.Stages, busy)
	}
	if i := s.edited; i < len(s.Plan.Tasks) && busy(s.Plan.Tasks[i]) {
		return true
	}
	return slices.ContainsFunc(s.Plan.Tasks, busy) || slices.ContainsFunc(s.Stages, busy)
}

func (s *State) inFlight() bool {
	busy := func(t *Task) bool { return t.Run.InFlight != 0 }
	if y := s.tallied(); y != nil {
		return len(y.flying) > 0 || slices.ContainsFunc(s.Stages, busy)
	}
	return slices.ContainsFunc(s.Plan.Tasks, busy) || slices.ContainsFunc(s.Stages, busy)
}

// Limit is an agent that cannot be used until a time. It stays after that, until a
// turn has shown that the agent works again: the first to try goes alone.
type Limit struct {
	Agent   string    `json:"agent"`
	Task    TaskID    `json:"task,omitempty"` // whose turn met it
	Since   time.Time `json:"since"`
	Until   time.Time `json:"until"`
	Hard    bool      `json:"hard,omitempty"` // as in AgentLimited
	Message string    `json:"message,omitempty"`

	// As in AgentLimited, with First: since when it has been so over all tries.
	Class ErrorClass `json:"class,omitempty"`
	Login string     `json:"login,omitempty"`
	First time.Time  `json:"first,omitzero"`
}

// Away reports whether it is no limit that keeps the agent from work: it is not logged in,
// or nothing answers it.
func (l Limit) Away() bool { return l.Class != "" }

// Never is the end of what only a person ends: so far ahead that nothing waits for it.
const Never = 100 * 365 * 24 * time.Hour

// Words says what keeps the agent from work, with what helps. clock writes times.
func (l Limit) Words(clock func(time.Time) string) string {
	switch {
	case l.Class == ErrClassAuth && l.Login != "":
		return fmt.Sprintf("%s: not logged in: run `%s`, then `ralph resume`", l.Agent, l.Login)
	case l.Class == ErrClassAuth:
		return l.Agent + ": not logged in, or its key is refused: `ralph doctor` says what helps, then `ralph resume`"
	case l.Class == ErrClassNetwork:
		return fmt.Sprintf("%s: no connection since %s, next try %s", l.Agent, clock(l.First), clock(l.Until))
	}
	return fmt.Sprintf("%s: at its limit until %s", l.Agent, clock(l.Until))
}

// Over reports whether the agent may be tried again. A limit that began after now
// was noted before the clock went back: nobody knows, so one tries.
func (l Limit) Over(now time.Time) bool { return !l.Until.After(now) || l.Since.After(now) }

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
	// Merges without and with a conflict or red checks on the way (B-103).
	MergesClean    int `json:"merges_clean"`
	MergesResolved int `json:"merges_resolved"`
	Conflicts      int `json:"conflicts"`
}

// Clone returns a state that stays as it is while s moves on.
//
// The tasks are the same list until the first fact that changes it: s then makes a new one.
func (s *State) Clone() *State {
	if !s.clone { // a clone says so from its beginning: several may clone it at once
		s.shared = true
	}
	c := *s
	c.tally, c.clone, c.shared = nil, true, true
	c.Plan.Tasks = s.Plan.Tasks[:len(s.Plan.Tasks):len(s.Plan.Tasks)]
	c.Inbox = slices.Clone(s.Inbox)
	c.Plan.Issues = slices.Clone(s.Plan.Issues)
	c.Plan.Rejects = slices.Clone(s.Plan.Rejects)
	c.Stages = slices.Clone(s.Stages)
	c.Gates = slices.Clone(s.Gates)
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

// Task returns the task or stage with the id, nil when there is none. The
// result must not be written to.
func (s *State) Task(id TaskID) *Task {
	if i := s.edited; i < len(s.Plan.Tasks) && s.Plan.Tasks[i].ID == id {
		return s.Plan.Tasks[i]
	}
	if i := s.planIndex(id); i >= 0 {
		return s.Plan.Tasks[i]
	}
	for _, t := range s.Stages {
		if t.ID == id {
			return t
		}
	}
	return nil
}

// planIndex is where a task stands in the plan, -1 when it does not.
func (s *State) planIndex(id TaskID) int {
	if y := s.tallied(); y != nil {
		if i, ok := y.at[id]; ok {
			return i
		}
		return -1
	}
	return slices.IndexFunc(s.Plan.Tasks, func(t *Task) bool { return t.ID == id })
}

// Spec returns the inbox record with the id, nil when there is none.
func (s *State) Spec(id SpecID) *Spec {
	for _, x := range s.Inbox {
		if x.ID == id {
			return x
		}
	}
	return nil
}

// Gate returns the open gate that a task waits at, nil when there is none. What an
// agent asks in the middle of a turn holds only that turn.
func (s *State) Gate(task TaskID) *Gate {
	for _, g := range s.Gates {
		if g.Task == task && !g.InTurn {
			return g
		}
	}
	return nil
}

// Over reports whether the task needs nothing more from whoever started it.
func (s *State) Over(id TaskID) bool {
	t := s.Task(id)
	return t == nil || t.Status != TaskActive
}

// Running is how long the session has run, waits between stretches and pauses left out
// . now counts only while the session is live.
func (s *State) Running(now time.Time) time.Duration {
	if s.Session.Live() {
		return s.Session.Elapsed + max(0, s.counted(now).Sub(s.Session.Since))
	}
	return s.Session.Elapsed
}

// JobElapsed is how long the current spec has been worked on, likewise.
func (s *State) JobElapsed(now time.Time) time.Duration {
	if s.Job == nil {
		return s.Plan.Elapsed
	}
	return s.Plan.Elapsed + max(0, s.counted(now).Sub(s.Job.Since))
}

// counted is the instant up to which time counts as running: now, or where a person
// began to hold everything.
func (s *State) counted(now time.Time) time.Time {
	if at := s.Session.RestAt; !at.IsZero() && at.Before(now) {
		return at
	}
	return now
}

// Limit returns the limit of an agent, over or not; nil when there is none.
func (s *State) Limit(agent string) *Limit {
	for i, l := range s.Limits {
		if l.Agent == agent {
			return &s.Limits[i]
		}
	}
	return nil
}

// LimitedUntil returns when the agent may be used again, zero when it may now.
func (s *State) LimitedUntil(agent string, now time.Time) time.Time {
	if l := s.Limit(agent); l != nil && !l.Over(now) {
		return l.Until
	}
	return time.Time{}
}

// CountInbox counts the records with a status.
func (s *State) CountInbox(status SpecStatus) int {
	n := 0
	for _, x := range s.Inbox {
		if x.Status == status {
			n++
		}
	}
	return n
}

// CountTasks counts the build tasks with a status.
func (s *State) CountTasks(status TaskStatus) int {
	n := 0
	for _, t := range s.Plan.Tasks {
		if t.Status == status {
			n++
		}
	}
	return n
}

// OwnDirt reports whether what is changed in the work tree may come from ralph's
// own unfinished work: a plan that an agent has worked on, and that is not closed. The
// turns alone do not tell: one that an engine took with it when it died left no end, and
// those of PLAN are not counted, though its agent can write files as any other.
func (s *State) OwnDirt() bool {
	p := s.Plan
	begun := func(t *Task) bool { return !t.Run.StartedAt.IsZero() }
	return s.Job != nil || !p.Closed && (p.Turns > 0 || p.Usage != (Usage{}) || slices.ContainsFunc(p.Tasks, begun))
}
