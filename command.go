package ralph

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"
)

// Commands are pure: facts, or a refusal. Effects call them inside
// journal.Update, so they decide on fresh state.

// SpecFile checks a spec name as people give it and returns it relative to
// ralph/specs. Names that leave the folder are refused (product.md 12); whether
// the file is there and no symlink leads out is for the caller to look at.
func SpecFile(name string) (string, error) {
	clean := path.Clean(strings.TrimPrefix(strings.TrimPrefix(name, "./"), "ralph/specs/"))
	bad := func(why string) (string, error) {
		return "", &Refusal{Why: fmt.Sprintf("spec %q %s", name, why), Hint: "name a file inside ralph/specs, like feature-x.md", Kind: ErrUsage}
	}
	switch {
	case strings.TrimSpace(name) == "":
		return bad("is empty")
	case strings.ContainsAny(name, "\x00\n\r\\"):
		return bad("has a character that a spec name cannot have")
	case path.IsAbs(name), clean == "..", strings.HasPrefix(clean, "../"), strings.Contains(name, "../"):
		return bad("leaves ralph/specs")
	case clean == ".", !strings.HasSuffix(clean, ".md"):
		return bad("is no markdown file (.md)")
	case strings.HasPrefix(clean, "-"):
		return bad("begins with a dash")
	}
	return clean, nil
}

// AddSpec queues a spec (D-015 to D-017). The id must be new; see NewSpecID.
func (s *State) AddSpec(id SpecID, file string, now time.Time) []Fact {
	return []Fact{SpecAdded{Spec{ID: id, File: file, Status: SpecPending, AddedAt: now.UTC().Truncate(time.Second)}}}
}

// Queued returns the records of a file that wait or run (D-031).
func (s *State) Queued(file string) []*Spec {
	var out []*Spec
	for _, x := range s.Inbox {
		if x.File == file && (x.Status == SpecPending || x.Status == SpecActive) {
			out = append(out, x)
		}
	}
	return out
}

// RemoveSpec takes a record out by id or by file (D-023 to D-025) and returns it.
// A file with several records is refused with their ids (D-024).
func (s *State) RemoveSpec(idOrFile string) (*Spec, []Fact, error) {
	spec := s.Spec(SpecID(idOrFile))
	if spec == nil {
		file := strings.TrimPrefix(strings.TrimPrefix(idOrFile, "./"), "ralph/specs/")
		var found []*Spec
		var ids []string
		for _, x := range s.Inbox {
			if x.File == file {
				found, ids = append(found, x), append(ids, string(x.ID))
			}
		}
		switch len(found) {
		case 0:
			return nil, nil, &Refusal{Why: fmt.Sprintf("%s is not in the inbox", idOrFile), Hint: "`ralph inbox` lists what is", Kind: ErrNotFound}
		case 1:
			spec = found[0]
		default:
			return nil, nil, &Refusal{Why: fmt.Sprintf("%s is in the inbox %d times", file, len(found)), Hint: "remove one by its id: " + strings.Join(ids, ", "), Kind: ErrUsage}
		}
	}
	if spec.Status == SpecActive {
		return nil, nil, &Refusal{Why: fmt.Sprintf("%s %s is active", spec.ID, spec.File), Hint: "stop the agent first (Ctrl+C in its terminal, or `ralph stop`)", Kind: ErrActive}
	}
	return spec, []Fact{SpecRemoved{spec.ID}}, nil
}

// ClearInbox removes the pending records (D-027, D-028).
func (s *State) ClearInbox() []Fact {
	var facts []Fact
	for _, x := range s.Inbox {
		if x.Status == SpecPending {
			facts = append(facts, SpecRemoved{x.ID})
		}
	}
	return facts
}

// findTask returns the plan's task or a refusal.
func (s *State) findTask(id TaskID) (*Task, error) {
	for _, t := range s.Plan.Tasks {
		if t.ID == id {
			return t, nil
		}
	}
	return nil, &Refusal{Why: fmt.Sprintf("no task %s in the plan", id), Hint: "`ralph query tasks` lists them", Kind: ErrNotFound}
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
		return nil, &Refusal{Why: fmt.Sprintf("an agent is resolving the merge of task %s on its branch", id), Hint: "wait until it has ended, or `ralph stop` first", Kind: ErrActive}
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
