package ralph

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// TaskKind says what a task is for. Build tasks are the plan that people see;
// the others are the stages of a job, so that planning, coding, checking and
// committing are one loop.
type TaskKind string

// The kinds. Every stage but build is a task of its own, made by policy.Schedule.
const (
	KindPrepare     TaskKind = "prepare" // looks at where the job starts
	KindPlan        TaskKind = "plan"
	KindInvestigate TaskKind = "investigate"
	KindBuild       TaskKind = "build"
	KindVerify      TaskKind = "verify"
	KindDecompose   TaskKind = "decompose"
	KindThread      TaskKind = "thread" // a turn of a thread
	KindReview      TaskKind = "review" // a turn that looks at what a thread changed
	KindLand        TaskKind = "land"   // commits what the job made
	KindShelve      TaskKind = "shelve" // puts away what a failed job left

	// With worktrees: what is next in the merge queue, and what mends a merge
	// that does not fit.
	KindMerge   TaskKind = "merge"
	KindResolve TaskKind = "resolve"
)

// TaskStatus is where a task stands. Ready is derived, never stored.
type TaskStatus string

// The task statuses; docs/state-machine.md shows how one leads to another.
const (
	TaskPending TaskStatus = "pending"
	TaskActive  TaskStatus = "active"
	TaskDone    TaskStatus = "done"
	TaskFailed  TaskStatus = "failed"
	TaskBlocked TaskStatus = "blocked"
	TaskTimeout TaskStatus = "timeout"
	TaskSkipped TaskStatus = "skipped"
)

// Words are the status as a sentence about a task has it: "it failed".
func (s TaskStatus) Words() string {
	did := map[TaskStatus]string{TaskFailed: "failed", TaskTimeout: "timed out"}
	return cmp.Or(did[s], "is "+string(s))
}

// Valid reports whether s is a status that plan.jsonl may hold.
func (s TaskStatus) Valid() bool {
	switch s {
	case TaskPending, TaskActive, TaskDone, TaskFailed, TaskBlocked, TaskTimeout, TaskSkipped:
		return true
	}
	return false
}

// Ended reports whether nothing will work on the task any more by itself.
func (s TaskStatus) Ended() bool { return s != TaskPending && s != TaskActive }

// Task is the smallest unit that one agent executes.
type Task struct {
	ID       TaskID   `json:"id"`
	Kind     TaskKind `json:"kind,omitempty"` // "" is build
	Spec     string   `json:"spec,omitempty"` // the spec's file
	Name     string   `json:"name"`
	Notes    string   `json:"notes,omitempty"`
	Accept   string   `json:"accept,omitempty"`
	Deps     []TaskID `json:"deps,omitempty"`
	Tags     []string `json:"tags,omitempty"`     // critical, quick-win, ...
	Worker   []string `json:"worker,omitempty"`   // labels that a worker of a fleet must have for it, beside those of its spec
	Priority string   `json:"priority,omitempty"` // high, medium, low
	Phase    string   `json:"phase,omitempty"`    // phases are barriers
	Parent   TaskID   `json:"parent,omitempty"`
	Members  []TaskID `json:"members,omitempty"` // merge: the tasks that are merged together

	Status        TaskStatus `json:"status"`
	RetryCount    int        `json:"retry_count,omitempty"`    // returns to pending after failed, timeout or crash
	MaxIterations int        `json:"max_iterations,omitempty"` // 0 = task.max_iterations
	// Timeout is the time that it may take; 0 = task.timeout.
	Timeout time.Duration `json:"timeout,omitempty"`

	Line  string    `json:"line,omitempty"`  // as in Spec
	Extra RawObject `json:"extra,omitempty"` // as in Spec
	Run   Run       `json:"run,omitzero"`    // folded, never edited by people
}

// MostParallel is how many agents may be at work at the same time for one repository: more than one machine
// has room for, as they may be on many (docs/fleet.md).
const MostParallel = 1000

// TakesSlot reports whether the task is an agent at work on a task of the plan:
// what `parallel` counts. Merging and landing hold nobody up.
func (t *Task) TakesSlot() bool { return t.IsBuild() || t.Kind == KindResolve }

// IsBuild reports whether the task is part of the plan that people see.
func (t *Task) IsBuild() bool { return t.Kind == "" || t.Kind == KindBuild }

// LeftOut reports whether a person, or smaller tasks in its place, made the task
// needless: what depends on it goes on. One that was skipped for an error holds what
// depends on it back, as a failed one does.
func (t *Task) LeftOut() bool { return t.Status == TaskSkipped && !t.Run.GivenUp }

// Run is what the facts of a task's current attempt add up to, a part for each noun. Policy decides
// from it; nothing else writes it but State.Apply.
type Run struct {
	Attempt
	Turns
	Failures
	Checking
	Approvals
	Committing

	Worktree Worktree `json:"place,omitzero"` // with worktrees: where it works
	Queue    Queue    `json:"queue,omitzero"` // with worktrees: where its work is on the way to the base branch

	Thread *Thread `json:"thread,omitempty"` // nil: it is worked on until it is done, and decides nothing by itself
}

// Hits returns how often the task has met the agent's limit in a row.
func (r *Run) Hits(agent string) int {
	for _, h := range r.LimitHits {
		if h.Agent == agent {
			return h.Count
		}
	}
	return 0
}

// When a task may start: what it depends on is done, and its phase is open.

// Unmerged reports whether a done task's work is still on its way through the queue.
func (t *Task) Unmerged() bool {
	state := t.Run.Queue.State
	return state != "" && state != MergeMerged
}

// Holds reports whether a task holds back what depends on it. One that a person left out
// does not; one that was skipped for an error does. merged: what is done has to
// be merged as well, as with worktrees.
func (t *Task) Holds(merged bool) bool {
	return !t.LeftOut() && (t.Status != TaskDone || merged && t.Unmerged())
}

func (t *Task) standing() string {
	switch {
	case t.Run.GivenUp:
		return "skipped after an error"
	case t.Status == TaskDone:
		return "done and not merged yet"
	}
	return string(t.Status)
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

// Over reports whether the task needs nothing more from whoever started it.
func (s *State) Over(id TaskID) bool {
	t := s.Task(id)
	return t == nil || t.Status != TaskActive
}

// EditedByFile is what a person's edit of a task's line makes of it. Everything that is
// wanted holds; a status goes only forward: what is at work or over is so until
// `ralph task retry`, `reject` or `skip` says otherwise.
func (t *Task) EditedByFile(edited Task) (Task, *Kept) {
	if edited.RetryCount != t.RetryCount { // a count of what happened
		edited.RetryCount, edited.Line = t.RetryCount, ""
	}
	if edited.Status == t.Status || t.Status == TaskPending && edited.Status != TaskActive {
		return edited, nil
	}
	asked := edited.Status
	edited.Status, edited.Line = t.Status, ""
	why := fmt.Sprintf("%s is %s (the file says %s", t.ID, t.Status, asked)
	switch {
	case t.Status == TaskActive:
		why += "; skipping it ends it)"
	case t.Status == TaskDone && asked == TaskPending:
		why += "; rejecting it sends it back)"
	case asked == TaskPending:
		why += "; a retry tries it again)"
	default:
		why += ")"
	}
	return edited, &Kept{string(t.ID), why}
}

// KeepsTask says why the task stays although its line is gone from the file, nil when it
// may go.
func (t *Task) KeepsTask() *Kept {
	q := t.Run.Queue.State
	switch {
	case t.Status == TaskActive:
		return &Kept{string(t.ID), fmt.Sprintf("%s is at work (its line is gone; skipping it ends it)", t.ID)}
	case t.Status == TaskDone && q != "" && q != MergeMerged:
		return &Kept{string(t.ID), fmt.Sprintf("%s is done and not merged yet (its line is gone)", t.ID)}
	case t.Status != TaskDone && t.Run.Worktree.Dir != "":
		return &Kept{string(t.ID), fmt.Sprintf("%s has work in %s (its line is gone; a clean-up puts that away)", t.ID, t.Run.Worktree.Dir)}
	}
	return nil
}

// TaskAdded adds a task to the plan, or a stage of the job.
type TaskAdded struct {
	Task Task `json:"task"`
}

// Kind implements Fact.
func (TaskAdded) Kind() string { return "task.added" }

// About implements Fact.
func (f TaskAdded) About() TaskID { return f.Task.ID }

func (f TaskAdded) fold(s *State, _ Event) {
	task := f.Task
	if task.IsBuild() {
		s.addTask(&task)
	} else {
		s.Stages = append(s.Stages, &task)
		if task.Kind == KindResolve {
			s.editTask(task.Parent, func(t *Task) { t.Run.Queue.Resolves++ })
		}
	}
}

// TaskEdited replaces what people may edit of a task; its Run stays.
type TaskEdited struct {
	Task Task `json:"task"`
}

// Kind implements Fact.
func (TaskEdited) Kind() string { return "task.edited" }

// About implements Fact.
func (f TaskEdited) About() TaskID { return f.Task.ID }

func (f TaskEdited) fold(s *State, _ Event) {
	s.editTask(f.Task.ID, func(t *Task) { taskEdited(t, f.Task) })
	s.dropStepApproval(f.Task.ID)
	if f.Task.Status.Ended() {
		s.Approvals = slices.DeleteFunc(slices.Clone(s.Approvals), func(g *Approval) bool { return g.Task == f.Task.ID })
	}
}

// TaskRemoved drops a task, after a person deleted its line.
type TaskRemoved struct {
	ID TaskID `json:"id"`
}

// Kind implements Fact.
func (TaskRemoved) Kind() string { return "task.removed" }

// About implements Fact.
func (TaskRemoved) About() TaskID { return "" }

func (f TaskRemoved) fold(s *State, e Event) {
	s.remember(s.Task(f.ID), nil)
	s.Approvals = slices.DeleteFunc(slices.Clone(s.Approvals), func(g *Approval) bool { return g.Task == f.ID })
	s.Plan.Tasks, s.shared = slices.DeleteFunc(slices.Clone(s.Plan.Tasks), func(t *Task) bool { return t.ID == f.ID }), false
}

// TaskStarted makes a pending task active, in a slot and a worktree where there are some.
type TaskStarted struct {
	ID   TaskID `json:"id"`
	Slot int    `json:"slot,omitempty"`
	Dir  string `json:"dir,omitempty"` // relative to the repository
}

// Kind implements Fact.
func (TaskStarted) Kind() string { return "task.started" }

// About implements Fact.
func (f TaskStarted) About() TaskID { return f.ID }

func (f TaskStarted) fold(s *State, e Event) {
	s.dropStepApproval(f.ID)
	s.editTask(f.ID, func(t *Task) {
		t.Status = TaskActive
		t.started(f)
		if t.Run.StartedAt.IsZero() {
			t.Run.StartedAt = e.At
		}
	})
}

// TaskEnded ends a task's attempt. Status pending releases it.
type TaskEnded struct {
	ID     TaskID     `json:"id"`
	Status TaskStatus `json:"status"`
	Retry  bool       `json:"retry,omitempty"`
	// Uncounted: what ended the turn before was a limit of the session, no error of the
	// task. The next start begins with a turn, as if there had been none.
	Uncounted  bool      `json:"uncounted,omitempty"`
	RanOut     RanOut    `json:"ran_out,omitempty"` // status timeout: what was used up
	Why        Why       `json:"why"`
	Slot       int       `json:"slot,omitempty"` // that it frees (B-006)
	BasedOnSeq int64     `json:"saw,omitempty"`  // the state the decision saw; 0: a person's word
	DecidedAt  time.Time `json:"now,omitzero"`
}

// Kind implements Fact.
func (TaskEnded) Kind() string { return "task.ended" }

// About implements Fact.
func (f TaskEnded) About() TaskID { return f.ID }

func (f TaskEnded) fold(s *State, e Event) {
	s.taskEnded(f, e.At)
}

// TaskRejected sends a done task back with a tombstone.
type TaskRejected struct {
	ID     TaskID `json:"id"`
	Reason string `json:"reason"`
}

// Kind implements Fact.
func (TaskRejected) Kind() string { return "task.rejected" }

// About implements Fact.
func (f TaskRejected) About() TaskID { return f.ID }

func (f TaskRejected) fold(s *State, _ Event) {
	s.Plan.Rejects = append(s.Plan.Rejects, &Reject{ID: f.ID, Reason: f.Reason})
	s.editTask(f.ID, func(t *Task) {
		t.Status = TaskPending
		rejects := append(slices.Clone(t.Run.Rejects), f.Reason)
		t.Run = t.Run.again()
		t.Run.Rejects = rejects
	})
}

// TaskAccepted notes that VERIFY or a person accepted a task.
type TaskAccepted struct {
	ID TaskID `json:"id"`
}

// Kind implements Fact.
func (TaskAccepted) Kind() string { return "task.accepted" }

// About implements Fact.
func (f TaskAccepted) About() TaskID { return f.ID }

func (f TaskAccepted) fold(s *State, _ Event) {
	s.editTask(f.ID, func(t *Task) { t.Run.Accepted = true })
}

// RuleGivenUp is why errors.strategy skips a task.
const RuleGivenUp = "X-16"

// interruptTasks puts tasks that a dead engine left active back to pending;
// what they had done so far stays. Their steps are safe to do again.
func (s *State) interruptTasks() {
	s.editTasks(func(t *Task) bool {
		if t.Status != TaskActive {
			return false
		}
		t.cut() // of journals without step.lost
		t.Status, t.Line = TaskPending, ""
		t.Run.Worktree.Slot, t.Run.Worktree.Ready = 0, false
		return true
	})
}

func taskEdited(t *Task, edited Task) {
	run := t.Run
	if t.Status.Ended() && !edited.Status.Ended() {
		run = run.again() // a person sends it back: a fresh attempt
	}
	*t = edited
	t.Run = run
}

func (s *State) taskEnded(f TaskEnded, at time.Time) {
	build, worked, slot := false, false, 0
	s.editTask(f.ID, func(t *Task) {
		build, worked, slot = t.IsBuild(), t.Status == TaskActive, t.Run.Worktree.Slot
		if t.Kind == KindInvestigate && f.Status == TaskDone {
			s.issuesLooked()
		}
		t.Status = f.Status
		t.cut() // of a turn that was not made
		t.Run.Reason, t.Run.RanOut = f.Why.Text, f.RanOut
		t.Run.GivenUp = f.Status == TaskSkipped && f.Why.Rule == RuleGivenUp
		t.left(f)
		t.Run.editThread(func(th *Thread) { th.Stop = f.Why.Stop })
		switch {
		case f.Status == TaskPending && f.Retry:
			t.RetryCount++
			t.Run.Last, t.Run.Checks = nil, nil // the next attempt starts with a turn
			t.Run.ErrorTries, t.Run.SameError, t.Run.ErrorKind, t.Run.Told = 0, 0, "", 0
		case f.Status == TaskPending && f.Uncounted:
			t.Run.uncount()
		case f.Status == TaskPending && t.Run.Last != nil && (t.Run.Last.Exit == ExitUser || t.Run.Last.Limited()):
			t.Run.Last = nil // dealt with: the next start is a turn, not this end again
		case f.Status != TaskPending:
			t.Run.EndedAt = at
		}
	})
	s.Approvals = slices.DeleteFunc(slices.Clone(s.Approvals), func(g *Approval) bool { return g.Task == f.ID })
	if !build {
		s.stageEnded(f)
		return
	}
	if worked { // what a person left out before it began is no end to wait after
		s.Session.leftSlot(slot, at)
	}
	s.editTask(f.ID, func(t *Task) { s.countEnd(t, f.Status) })
	if f.Status == TaskFailed || f.Status == TaskTimeout {
		s.Session.Errors = append(slices.Clone(s.Session.Errors), f.ID)
	}
	switch f.Status {
	case TaskDone:
		s.Session.TaskFailures, s.Session.Streak, s.Session.Bad = 0, nil, nil
	case TaskFailed:
		s.Session.TaskFailures++
		s.Session.Streak = append(slices.Clone(s.Session.Streak), f.ID)
		s.Session.Bad = append(slices.Clone(s.Session.Bad), f.ID)
	case TaskTimeout:
		s.Session.Bad = append(slices.Clone(s.Session.Bad), f.ID)
	}
}

// started gives a task its slot and worktree. One that had a worktree keeps it.
func (t *Task) started(f TaskStarted) {
	p := &t.Run.Worktree
	p.Slot, p.Ready = f.Slot, false
	if f.Dir != "" {
		p.Dir = f.Dir
	}
	t.Run.Assigned = false
	t.Run.editThread(func(th *Thread) { th.Since = t.Run.Iterations })
	t.Run.Away, t.Run.Lost, t.Run.AwayTries, t.Run.Here, t.Run.Refused = "", "", 0, false, "" // whoever starts it looks anew
}

// left takes a task out of its slot. Only work that the engine saw done, and that
// its branch holds, frees the worktree: all others keep theirs (B-073, B-075).
func (t *Task) left(f TaskEnded) {
	p := &t.Run.Worktree
	p.Slot, p.Ready = 0, false
	if f.Status == TaskDone && f.BasedOnSeq > 0 {
		p.Dir = ""
	}
}

// stageEnded folds the end of the stages that belong to a task of the plan, and
// forgets them: a plan of thousands of tasks has thousands of merges.
func (s *State) stageEnded(f TaskEnded) {
	t := s.Task(f.ID)
	if t == nil || !f.Status.Ended() {
		return
	}
	switch t.Kind {
	case KindMerge:
		s.mergeEnded(t, f)
	case KindResolve:
		s.resolveEnded(t, f)
	case KindLand:
		if !s.Session.OnPlan() {
			return // the spec's own end follows from it
		}
	default:
		return
	}
	s.Stages = slices.DeleteFunc(slices.Clone(s.Stages), func(x *Task) bool { return x.ID == f.ID })
}

// hookRefused folds what a hook of the repository said against a commit. It may have changed
// files, so after the first time the checks look again; at the second it is a red check,
// which the agent reads.
func (t *Task) hookRefused(f Committed) {
	r := &t.Run
	r.Hook, r.Rewritten = f.Hook, len(f.Rewritten) > 0
	switch {
	case f.Hook == "" || !t.TakesSlot():
	case r.StepFailures < 2:
		r.Checks = nil
	default:
		why := "a hook of the repository refused the commit"
		if r.Rewritten {
			why = "a hook of the repository changes files each time it runs: " + strings.Join(f.Rewritten[:min(5, len(f.Rewritten))], ", ")
		}
		red := ChecksRan{Task: t.ID, Tree: r.Tree, Results: []CheckResult{{Name: CheckHook, Exit: 1, Why: why, Output: f.Hook}}}
		r.Checks, r.Red, r.StepFailures = &red, &red, 0
	}
}
