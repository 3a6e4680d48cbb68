package ralph

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ralph-loop/ralph/internal/text"
)

// findTask returns the plan's task or a refusal.
func (s *State) findTask(id TaskID) (*Task, error) {
	for _, t := range s.Plan.Tasks {
		if t.ID == id {
			return t, nil
		}
	}
	return nil, &Refusal{Why: fmt.Sprintf("no task %s in the plan", id), Hint: "`[[query tasks]]` lists them", Kind: ErrNotFound}
}

// AddTask adds a task to the plan, by hand.
func (s *State) AddTask(t Task) ([]Fact, error) {
	t.Status = TaskPending
	t.Spec = s.Plan.File
	if err := s.checkTask(t); err != nil {
		return nil, err
	}
	if slices.ContainsFunc(s.Plan.Tasks, func(x *Task) bool { return x.ID == t.ID }) {
		return nil, &Refusal{Why: fmt.Sprintf("task %s is in the plan already", t.ID), Kind: ErrUsage}
	}
	return []Fact{TaskAdded{t}}, nil
}

// EditTask replaces a task; its status and what it has done so far stay.
func (s *State) EditTask(t Task) ([]Fact, error) {
	old, err := s.findTask(t.ID)
	if err != nil {
		return nil, err
	}
	if old.Status == TaskActive {
		return nil, &Refusal{Why: fmt.Sprintf("task %s is active", t.ID), Hint: "stop ralph first, or wait until its iteration ends", Kind: ErrActive}
	}
	t.Status, t.Spec, t.Run, t.RetryCount, t.Line = old.Status, old.Spec, Run{}, old.RetryCount, ""
	if err := s.checkTask(t); err != nil {
		return nil, err
	}
	return []Fact{TaskEdited{t}}, nil
}

// checkTask refuses what cannot be worked on: no name, unknown deps, cycles.
func (s *State) checkTask(t Task) error {
	if strings.TrimSpace(t.Name) == "" {
		return &Refusal{Why: fmt.Sprintf("task %s has no name", t.ID), Kind: ErrUsage}
	}
	switch t.Priority {
	case "", "high", "medium", "low":
	default:
		return &Refusal{Why: fmt.Sprintf("task %s: priority %q", t.ID, t.Priority), Hint: "use high, medium or low", Kind: ErrUsage}
	}
	tasks := slices.Clone(s.Plan.Tasks)
	if i := slices.IndexFunc(tasks, func(x *Task) bool { return x.ID == t.ID }); i >= 0 {
		tasks[i] = &t
	} else {
		tasks = append(tasks, &t)
	}
	return CheckDeps(tasks)
}

// EndTask sets a task's end by a person's word: done or skipped.
func (s *State) EndTask(id TaskID, status TaskStatus, why string) ([]Fact, error) {
	t, err := s.findTask(id)
	if err != nil {
		return nil, err
	}
	switch {
	case t.Status == TaskActive:
		return nil, &Refusal{Why: fmt.Sprintf("task %s is active", id), Hint: "stop ralph first, or wait until its iteration ends", Kind: ErrActive}
	case t.Status == status:
		return nil, &Refusal{Why: fmt.Sprintf("task %s is %s already", id, status), Kind: ErrUsage}
	}
	return []Fact{TaskEnded{ID: id, Status: status, Why: Why{Text: why}}}, nil
}

// AcceptTask notes that a person accepts a done task.
func (s *State) AcceptTask(id TaskID) ([]Fact, error) {
	t, err := s.findTask(id)
	if err != nil {
		return nil, err
	}
	if t.Status != TaskDone {
		return nil, &Refusal{Why: fmt.Sprintf("task %s is %s, not done", id, t.Status), Hint: "only a done task can be accepted", Kind: ErrUsage}
	}
	return []Fact{TaskAccepted{id}}, nil
}

// RejectTask sends an ended task back to pending, with a reason for the next prompt.
func (s *State) RejectTask(id TaskID, reason string) ([]Fact, error) {
	t, err := s.findTask(id)
	if err != nil {
		return nil, err
	}
	if strings.TrimSpace(reason) == "" {
		return nil, &Refusal{Why: "a rejection needs a reason", Hint: "the agent reads it in its next prompt", Kind: ErrUsage}
	}
	if !t.Status.Ended() {
		return nil, &Refusal{Why: fmt.Sprintf("task %s is %s", id, t.Status), Hint: "only a task that has ended can be rejected", Kind: ErrUsage}
	}
	if slices.ContainsFunc(s.Stages, func(x *Task) bool { return x.Kind == KindResolve && x.Parent == id && x.Status == TaskActive }) {
		return nil, &Refusal{Why: fmt.Sprintf("an agent is resolving the merge of task %s on its branch", id), Hint: "wait until it has ended, or `[[stop]]` first", Kind: ErrActive}
	}
	return []Fact{TaskRejected{id, reason}}, nil
}

// PrioritizeTask moves a pending task to the front of the plan and marks it high.
func (s *State) PrioritizeTask(id TaskID) ([]Fact, error) {
	t, err := s.findTask(id)
	if err != nil {
		return nil, err
	}
	if t.Status.Ended() {
		return nil, &Refusal{Why: fmt.Sprintf("task %s is %s", id, t.Status), Hint: "only a task that waits can be prioritized", Kind: ErrUsage}
	}
	edited := *t
	edited.Priority, edited.Line, edited.Run = "high", "", Run{}
	ids := []TaskID{id}
	for _, x := range s.Plan.Tasks {
		if x.ID != id {
			ids = append(ids, x.ID)
		}
	}
	if err := CheckPhases(ordered(s.Plan.Tasks, ids, func(t *Task) TaskID { return t.ID })); err != nil {
		return nil, err
	}
	return []Fact{TaskEdited{edited}, PlanOrdered{ids}}, nil
}

// What people do with tasks that ended badly, and with what waits for them
// (B-076 to B-082, B-091). The git side of a rollback and of a cleanup is done by
// the caller before it records the facts.

// badly reports whether a task ended without being done.
func badly(s TaskStatus) bool {
	return s == TaskFailed || s == TaskTimeout || s == TaskBlocked || s == TaskSkipped
}

func refuseTask(t *Task, hint, format string, args ...any) error {
	return &Refusal{Why: fmt.Sprintf("task %s %s", t.ID, fmt.Sprintf(format, args...)), Hint: hint, Kind: ErrUsage}
}

const activeHint = "it ends at its own end; `[[pause]]` holds the engine at the end of the iteration"

// RetryTask makes a task that ended badly pending again, with fresh counters and
// its worktree as it is (B-076); for a blocked one it is the unblocking.
func (s *State) RetryTask(id TaskID) ([]Fact, error) {
	t, err := s.findTask(id)
	if err != nil {
		return nil, err
	}
	if !badly(t.Status) {
		return nil, refuseTask(t, "only a failed, timed-out, blocked or skipped task can be retried; `[[reject]]` sends a done one back", "is %s", t.Status)
	}
	return []Fact{TaskRetried{ID: id, Free: t.Status == TaskBlocked || t.Status == TaskSkipped}}, nil
}

// UnblockTask is RetryTask for a blocked task alone.
func (s *State) UnblockTask(id TaskID) ([]Fact, error) {
	t, err := s.findTask(id)
	if err != nil {
		return nil, err
	}
	if t.Status != TaskBlocked {
		return nil, refuseTask(t, "`[[why]]` says what a task waits for", "is %s, not blocked", t.Status)
	}
	return []Fact{TaskRetried{ID: id, Free: true}}, nil
}

// SkipTask leaves a task out. One that is at work is left out at the end of its
// iteration, which is the only safe boundary (B-065).
func (s *State) SkipTask(id TaskID, reason string) ([]Fact, error) {
	t, err := s.findTask(id)
	if err != nil {
		return nil, err
	}
	if strings.TrimSpace(reason) == "" {
		reason = "by a person"
	}
	switch {
	case t.Status == TaskActive && t.Run.Skip == "":
		return []Fact{SkipWanted{id, reason}}, nil
	case t.Status == TaskActive:
		return nil, refuseTask(t, "", "is skipped already at the end of its iteration")
	case t.LeftOut(), t.Status == TaskDone:
		return nil, refuseTask(t, "", "is %s", t.Status)
	}
	return []Fact{TaskEnded{ID: id, Status: TaskSkipped, Why: Why{Text: reason}}}, nil
}

// Allowance is what a task may take at most: agent turns, and time.
type Allowance struct {
	Iterations int
	Time       time.Duration // 0: no limit
}

// ExtendTask gives one task more iterations or time (B-082): so many iterations in
// all, so much time on top. With nothing said it is as much time again for one that ran out
// of time, else half as many iterations again. usual is task.max_iterations and task.timeout.
func (s *State) ExtendTask(id TaskID, more, usual Allowance) ([]Fact, error) {
	t, err := s.findTask(id)
	if err != nil {
		return nil, err
	}
	now := Allowance{cmp.Or(t.MaxIterations, usual.Iterations), cmp.Or(t.Timeout, usual.Time)}
	if more == (Allowance{}) {
		if t.Status == TaskTimeout && t.Run.RanOut == OutOfTime {
			more.Time = now.Time
		} else {
			more.Iterations = now.Iterations + (now.Iterations+1)/2
		}
	}
	switch {
	case t.Status == TaskDone:
		return nil, refuseTask(t, "", "is done")
	case more.Iterations != 0 && more.Iterations <= now.Iterations:
		return nil, refuseTask(t, fmt.Sprintf("give a number above %d", now.Iterations), "has %s already", text.Count(now.Iterations, "iteration"))
	case more.Time < 0:
		return nil, refuseTask(t, "say how much it gets on top, such as 30m", "cannot get less time")
	case more.Time != 0 && usual.Time == 0:
		return nil, refuseTask(t, "task.timeout is 0s", "may take any time already")
	}
	f := TaskExtended{ID: id, MaxIterations: cmp.Or(more.Iterations, t.MaxIterations)}
	if more.Time > 0 {
		f.Timeout = now.Time + more.Time
	}
	return []Fact{f}, nil
}

// Again is the link by which a task that ended badly is worked on again: a thread goes on past
// what stopped it, with what it has.
func (t *Task) Again() string {
	switch stop := t.StoppedBy(); {
	case t.Run.Thread == nil:
		return fmt.Sprintf("[[retry %s]]", t.ID)
	case isBudget(stop):
		return fmt.Sprintf("[[thread-continue %s --past %s=<more>]]", t.ID, stop)
	}
	return fmt.Sprintf("[[thread-continue %s]]", t.ID)
}

// Recovery is what helps a task that ended badly most likely, as links: it names what the
// task ran out of.
func (t *Task) Recovery() string {
	retry := t.Again()
	switch {
	case t.Run.Thread != nil, t.Status != TaskTimeout, t.Run.RanOut == OutOfBudget, t.Run.RanOut == OutOfContext:
		return retry // begins with a budget and a window of its own
	case t.Run.RanOut == OutOfTime:
		return fmt.Sprintf("[[extend %s --time 30m]] && %s", t.ID, retry)
	}
	return fmt.Sprintf("[[extend %s]] && %s", t.ID, retry)
}

// AssignTask chooses a pending task to be worked on next (B-091). One that cannot start
// yet is refused with what it waits for.
func (s *State) AssignTask(id TaskID) ([]Fact, error) {
	t, err := s.findTask(id)
	if err != nil {
		return nil, err
	}
	switch {
	case t.Status != TaskPending:
		return nil, refuseTask(t, "only a pending task can be assigned; `[[retry]]` makes one pending", "is %s", t.Status)
	case t.Run.Assigned:
		return nil, refuseTask(t, "", "is assigned already")
	}
	if waits := s.WaitsFor(t); len(waits) > 0 {
		return nil, refuseTask(t, "assign one that can: `[[query next]]` lists them", "cannot start yet: it waits for %s", strings.Join(waits, ", and for "))
	}
	return []Fact{TaskAssigned{id}}, nil
}

// MayRollBack reports whether a task's work can be undone: it has ended, and if
// it was merged, nothing that builds on it has begun.
func (s *State) MayRollBack(id TaskID) (*Task, error) {
	t, err := s.findTask(id)
	switch {
	case err != nil:
		return nil, err
	case t.Status == TaskActive:
		return nil, refuseTask(t, activeHint, "is active")
	case t.Status == TaskPending && t.Run.Worktree.Branch == "":
		return nil, refuseTask(t, "", "has not begun: there is nothing to undo")
	case t.Status == TaskDone && t.Run.Queue.State != MergeMerged && t.Run.Queue.State != "":
		return nil, refuseTask(t, "wait for its merge, or deny it: `[[gates]]`", "is in the merge queue")
	case t.Status == TaskDone && t.Run.Queue.Commit == "":
		return nil, refuseTask(t, "`[[reject]]` sends it back with a reason", "was not merged by the merge queue: there is no commit to revert")
	}
	for _, x := range s.Plan.Tasks {
		if slices.Contains(x.Deps, id) && (x.Status == TaskActive || x.Status == TaskDone) && t.Status == TaskDone {
			return nil, refuseTask(t, fmt.Sprintf("roll %s back first", x.ID), "has %s building on it, which is %s", x.ID, x.Status)
		}
	}
	return t, nil
}

// MayCleanUp reports whether a task's worktree can be taken away (B-079).
func (s *State) MayCleanUp(id TaskID) (*Task, error) {
	t, err := s.findTask(id)
	switch {
	case err != nil:
		return nil, err
	case t.Status == TaskActive:
		return nil, refuseTask(t, activeHint, "is active")
	case t.Run.Worktree.Dir == "":
		return nil, refuseTask(t, "", "has no worktree")
	}
	return t, nil
}

// MessageTask says something to the agent of a task: it stands in its next prompt (B-021).
func (s *State) MessageTask(id TaskID, text string) ([]Fact, error) {
	t, err := s.findTask(id)
	switch {
	case err != nil:
		return nil, err
	case t.Status == TaskDone:
		return nil, refuseTask(t, "`[[reject]]` sends it back with a reason", "is done: no prompt follows")
	case strings.TrimSpace(text) == "":
		return nil, refuseTask(t, "", "cannot be told nothing")
	}
	return []Fact{TaskMessaged{id, strings.TrimSpace(text)}}, nil
}

// DivideTask puts smaller tasks in the place of one: what waits for it
// waits for all of them, and it is closed as skipped.
func (s *State) DivideTask(id TaskID, ids []TaskID, names []string) ([]Fact, error) {
	t, err := s.findTask(id)
	if err != nil {
		return nil, err
	}
	if t.Status == TaskActive || t.Status == TaskDone {
		return nil, refuseTask(t, "only a task that has not been done can be divided", "is %s", t.Status)
	}
	var facts []Fact
	for i, name := range names {
		if strings.TrimSpace(name) == "" {
			return nil, refuseTask(t, "", "cannot be divided into a task without a name")
		}
		facts = append(facts, TaskAdded{Task{
			ID: ids[i], Spec: t.Spec, Name: strings.TrimSpace(name), Notes: t.Notes, Deps: t.Deps, Tags: t.Tags, Worker: t.Worker,
			Priority: t.Priority, Phase: t.Phase, Parent: t.ID, Status: TaskPending,
		}})
	}
	return append(facts, s.ReplaceTask(id, ids, Why{Text: fmt.Sprintf("divided into %d smaller tasks", len(names))})...), nil
}

// ReplaceTask closes a task in whose place others were put: what waited for it waits
// for all of them.
func (s *State) ReplaceTask(id TaskID, parts []TaskID, why Why) []Fact {
	var facts []Fact
	for _, waiting := range s.Plan.Tasks {
		if i := slices.Index(waiting.Deps, id); i >= 0 && !waiting.Status.Ended() {
			edited := *waiting
			edited.Deps = slices.Replace(slices.Clone(waiting.Deps), i, i+1, parts...)
			edited.Line, edited.Run = "", Run{}
			facts = append(facts, TaskEdited{edited})
		}
	}
	return append(facts, TaskEnded{ID: id, Status: TaskSkipped, Why: why})
}
