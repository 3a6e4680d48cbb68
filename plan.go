package ralph

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

func (s *State) jobStarted(f JobStarted, at time.Time) {
	s.Job = &Job{ID: f.Job, Spec: f.ID, File: f.File, Since: at, Round: 1}
	s.Stages = nil
	s.Session.Current = f.ID
	s.editSpec(f.ID, func(x *Spec) {
		x.Status, x.StartedAt, x.EndedAt, x.Error = SpecActive, at, time.Time{}, ""
	})
}

func (s *State) jobEnded(f JobEnded, at time.Time) {
	job := s.Job
	if job == nil {
		return
	}
	if f.Cut {
		s.Plan.Elapsed = s.Plan.Ran
	} else {
		s.Plan.Elapsed += max(0, at.Sub(job.Since))
	}
	s.Plan.Closed = f.Status != SpecPending
	s.editSpec(job.Spec, func(x *Spec) {
		x.Status, x.EndedAt, x.Error = f.Status, at, f.Error
		if f.Status == SpecPending {
			x.StartedAt, x.EndedAt, x.Error = time.Time{}, time.Time{}, ""
		}
	})
	switch f.Status {
	case SpecDone:
		s.Session.Completed++
		s.Session.Consecutive = 0
		s.Session.Current = ""
		s.Totals.SpecsDone++
	case SpecFailed:
		s.Session.Failed++
		s.Session.Consecutive++
		s.Session.SpecErrors++
		s.Session.Current = ""
		s.Totals.SpecsFail++
	case SpecPending:
		if s.Session.PlanOnly {
			s.Session.Planned = append(slices.Clone(s.Session.Planned), job.Spec)
		}
	}
	s.Job, s.Stages, s.Approvals = nil, nil, s.approvalsBeside(at)
	s.interruptTasks()
}

// issuesLooked marks the issues that an INVESTIGATE saw and did not resolve, so
// that the next round does not ask about them again.
func (s *State) issuesLooked() {
	for i, x := range s.Plan.Issues {
		c := *x
		c.Looked = true
		s.Plan.Issues[i] = &c
	}
}

// CheckDeps refuses deps that name no task, cycles, and tasks of a later phase, with
// their path.
func CheckDeps(tasks []*Task) error {
	byID := make(map[TaskID]*Task, len(tasks))
	for _, t := range tasks {
		byID[t.ID] = t
	}
	const onPath, clean = 1, 2
	mark := make(map[TaskID]int, len(tasks))
	var walk func(t *Task, trail []string) error
	walk = func(t *Task, trail []string) error {
		trail = append(trail, string(t.ID))
		if mark[t.ID] == onPath {
			return &Refusal{Why: "tasks wait for each other: " + strings.Join(trail, " -> "), Hint: "remove one of these deps", Kind: ErrUsage}
		}
		if mark[t.ID] == clean {
			return nil
		}
		mark[t.ID] = onPath
		for _, dep := range t.Deps {
			next := byID[dep]
			if next == nil {
				return &Refusal{Why: fmt.Sprintf("task %s depends on %s, which is not in the plan", t.ID, dep), Kind: ErrUsage}
			}
			if err := walk(next, trail); err != nil {
				return err
			}
		}
		mark[t.ID] = clean
		return nil
	}
	for _, t := range tasks {
		if err := walk(t, nil); err != nil {
			return err
		}
	}
	return CheckPhases(tasks)
}

// SetPlan makes file the plan's spec, with tasks made by hand or from a checklist.
func (s *State) SetPlan(file string, tasks []Task) []Fact {
	facts := []Fact{PlanStarted{file}}
	for _, t := range tasks {
		facts = append(facts, TaskAdded{t})
	}
	return facts
}

// Unfinished counts the plan's tasks that have not ended.
func (p *Plan) Unfinished() int {
	n := 0
	for _, t := range p.Tasks {
		if !t.Status.Ended() {
			n++
		}
	}
	return n
}

// SpecFile is the spec that is at work, or that the plan is of; "" for none.
func (s *State) SpecFile() string {
	if s.Job != nil {
		return s.Job.File
	}
	return s.Plan.File
}

// OrderPlan puts the tasks of the plan in an order; those that are not named stay behind
// the others, in the order that they have.
func (s *State) OrderPlan(ids []TaskID) ([]Fact, error) {
	if len(ids) == 0 {
		return nil, &Refusal{Why: "an order names tasks", Kind: ErrUsage}
	}
	seen := map[TaskID]bool{}
	for _, id := range ids {
		if _, err := s.findTask(id); err != nil {
			return nil, err
		}
		if seen[id] {
			return nil, &Refusal{Why: fmt.Sprintf("the order names %s twice", id), Kind: ErrUsage}
		}
		seen[id] = true
	}
	if err := CheckPhases(ordered(s.Plan.Tasks, ids, func(t *Task) TaskID { return t.ID })); err != nil {
		return nil, err
	}
	return []Fact{PlanOrdered{ids}}, nil
}

// JobStarted begins work on a spec: FETCH in agent mode (ID set: the record
// becomes active), or construct and plan on a file (ID empty: the inbox is not
// touched).
type JobStarted struct {
	Job    JobID  `json:"job"`
	ID     SpecID `json:"id,omitempty"`
	File   string `json:"file"`
	Resume bool   `json:"resume,omitempty"` // goes on with a plan that is there
}

// Kind implements Fact.
func (JobStarted) Kind() string { return "job.started" }

// About implements Fact.
func (JobStarted) About() TaskID { return "" }

func (f JobStarted) fold(s *State, e Event) {
	s.jobStarted(f, e.At)
}

// JobID names one piece of work on one spec; stage tasks carry it in their id.
type JobID string

// JobEnded ends the work on the current spec.
type JobEnded struct {
	Status SpecStatus `json:"status"` // done, failed; pending releases it
	Error  string     `json:"error,omitempty"`
	Rule   string     `json:"rule,omitempty"`
	Commit string     `json:"commit,omitempty"`
	// Cut: the engine that worked on it died, so what came after its last fact is no work.
	Cut bool `json:"cut,omitempty"`
}

// Kind implements Fact.
func (JobEnded) Kind() string { return "job.ended" }

// About implements Fact.
func (JobEnded) About() TaskID { return "" }

func (f JobEnded) fold(s *State, e Event) {
	s.jobEnded(f, e.At)
}

// RoundStarted begins a round of INVESTIGATE, BUILD, VERIFY.
type RoundStarted struct {
	Round int `json:"round"`
}

// Kind implements Fact.
func (RoundStarted) Kind() string { return "round.started" }

// About implements Fact.
func (RoundStarted) About() TaskID { return "" }

func (f RoundStarted) fold(s *State, _ Event) {
	s.editJob(func(j *Job) { j.Round = f.Round })
}

// PlanStarted makes a spec the current one of the plan and drops the old tasks.
type PlanStarted struct {
	File string `json:"file"`
}

// Kind implements Fact.
func (PlanStarted) Kind() string { return "plan.started" }

// About implements Fact.
func (PlanStarted) About() TaskID { return "" }

func (f PlanStarted) fold(s *State, e Event) {
	for _, t := range s.Plan.Tasks {
		s.remember(t, nil)
	}
	old := s.Plan
	s.Aside, s.Plan, s.shared = &old, Plan{File: f.File}, false
}

// PlanOrdered gives the tasks a new order.
type PlanOrdered struct {
	IDs []TaskID `json:"ids"`
}

// Kind implements Fact.
func (PlanOrdered) Kind() string { return "plan.ordered" }

// About implements Fact.
func (PlanOrdered) About() TaskID { return "" }

func (f PlanOrdered) fold(s *State, _ Event) {
	s.Plan.Tasks, s.shared = ordered(s.Plan.Tasks, f.IDs, func(t *Task) TaskID { return t.ID }), false
}

// RejectAdded adds a tombstone line that a person wrote.
type RejectAdded struct {
	Reject Reject `json:"reject"`
}

// Kind implements Fact.
func (RejectAdded) Kind() string { return "reject.added" }

// About implements Fact.
func (RejectAdded) About() TaskID { return "" }

func (f RejectAdded) fold(s *State, _ Event) {
	reject := f.Reject
	s.Plan.Rejects = append(s.Plan.Rejects, &reject)
}

// IssueAdded notes an issue.
type IssueAdded struct {
	Issue Issue `json:"issue"`
}

// Kind implements Fact.
func (IssueAdded) Kind() string { return "issue.added" }

// About implements Fact.
func (IssueAdded) About() TaskID { return "" }

func (f IssueAdded) fold(s *State, _ Event) {
	issue := f.Issue
	s.Plan.Issues = append(s.Plan.Issues, &issue)
}

// IssueRemoved drops an issue: resolved, turned into a task, or deleted by a person.
type IssueRemoved struct {
	ID IssueID `json:"id"`
}

// Kind implements Fact.
func (IssueRemoved) Kind() string { return "issue.removed" }

// About implements Fact.
func (IssueRemoved) About() TaskID { return "" }

func (f IssueRemoved) fold(s *State, _ Event) {
	s.Plan.Issues = slices.DeleteFunc(slices.Clone(s.Plan.Issues), func(i *Issue) bool { return i.ID == f.ID })
}

// Issue is something found while working that is not yet a task.
type Issue struct {
	ID     IssueID   `json:"id"`
	Spec   string    `json:"spec,omitempty"`
	Desc   string    `json:"desc"`
	Looked bool      `json:"looked,omitempty"` // an INVESTIGATE has seen it and left it
	Line   string    `json:"line,omitempty"`
	Extra  RawObject `json:"extra,omitempty"`
}

// Reject is the tombstone of a rejected task: why it had to be done again.
type Reject struct {
	ID     TaskID    `json:"id"`
	Reason string    `json:"reason"`
	Line   string    `json:"line,omitempty"`
	Extra  RawObject `json:"extra,omitempty"`
}

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
	Ran     time.Duration `json:"ran,omitempty"` // when the engine was last heard of, with the stretch that ran then
	Usage   Usage         `json:"usage,omitzero"`
	Turns   int           `json:"turns,omitempty"`  // turns in CONSTRUCT
	Alerts  []string      `json:"alerts,omitempty"` // warnings that are out: each is said once

	// Covered is the coverage below test.coverage that a person let pass in the checkout:
	// what comes after must not lower it. 0: none.
	Covered float64 `json:"covered,omitempty"`

	// Integration is where tasks are merged to, nil without worktrees.
	Integration *Integration `json:"integration,omitempty"`
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

// planIndex is where a task stands in the plan, -1 when it does not.
func (s *State) planIndex(id TaskID) int {
	if y := s.tallied(); y != nil {
		if i, ok := y.Place(id); ok {
			return i
		}
		return -1
	}
	return slices.IndexFunc(s.Plan.Tasks, func(t *Task) bool { return t.ID == id })
}

// Planned reports whether the id is a task of the plan, not a stage.
func (s *State) Planned(id TaskID) bool { return s.planIndex(id) >= 0 }

// JobElapsed is how long the current spec has been worked on, likewise.
func (s *State) JobElapsed(now time.Time) time.Duration {
	if s.Job == nil {
		return s.Plan.Elapsed
	}
	return s.Plan.Elapsed + max(0, s.counted(now).Sub(s.Job.Since))
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
