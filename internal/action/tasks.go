package action

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/labels"
)

// onTask is a command on a task as facts of an action.
func onTask(do func(s *ralph.State, id ralph.TaskID, text string) ([]ralph.Fact, error)) func(*ralph.State, Context, Input) ([]ralph.Fact, error) {
	return func(s *ralph.State, _ Context, in Input) ([]ralph.Fact, error) {
		return do(s, ralph.TaskID(in.ID), in.Text)
	}
}

func alone(do func(s *ralph.State, id ralph.TaskID) ([]ralph.Fact, error)) func(*ralph.State, Context, Input) ([]ralph.Fact, error) {
	return func(s *ralph.State, _ Context, in Input) ([]ralph.Fact, error) { return do(s, ralph.TaskID(in.ID)) }
}

func textField(label string, required bool) func(*ralph.State, Context, string) []Field {
	return func(*ralph.State, Context, string) []Field {
		return []Field{{Name: "text", Label: label, Kind: "area", Required: required}}
	}
}

// What people do with any task of the plan.
func taskVerbs() []definition {
	return []definition{
		{
			name: "retry", about: Task, title: "Retry", key: "r", primary: true, said: "Pending again, with fresh counters",
			command: "task retry <id>", short: "Give a task that ended badly another try",
			doc: "Gives a task that ended badly another try: iterations count from 1, its worktree stays.", facts: alone((*ralph.State).RetryTask),
		},
		{
			name: "unblock", about: Task, title: "Unblock", said: "Pending again", doc: "Makes a blocked task pending.",
			command: "task unblock <id>", short: "Make a blocked task pending again",
			facts: alone((*ralph.State).UnblockTask), hide: func(*ralph.State, Context, string) bool { return true }, // retry does it
		},
		{
			name: "message", about: Task, title: "Message", said: "The agent reads it in its next prompt",
			command: "task message <id> <text>", short: "Say something to the agent of a task; it reads it in its next prompt",
			doc: "Says something to the agent of a task. It reads it in the prompt of its next iteration.", facts: onTask((*ralph.State).MessageTask),
			try: func(s *ralph.State, _ Context, id string) error {
				_, err := s.MessageTask(ralph.TaskID(id), "x")
				return err
			},
			fields: textField("To the agent; it reads it in the prompt of its next iteration", true),
		},
		{
			name: "edit", about: Task, title: "Edit", key: "e", said: "Changed", doc: "Changes a task; what is not said stays as it is.",
			command: "task edit <id> [JSON]", short: "Change a task's name, notes, acceptance criteria, deps, ...",
			facts: editTask, fields: editFields, after: editedBack,
			try: func(s *ralph.State, w Context, id string) error { _, err := editTask(s, w, Input{ID: id}); return err },
		},
		{
			name: "skip", about: Task, title: "Skip", said: "Left out", doc: "Leaves a task out; one at work is left out at the end of its iteration.",
			command: "task skip <id> [reason]", short: "Leave a task out; one at work is left out at the end of its iteration",
			facts: onTask((*ralph.State).SkipTask), fields: textField("Why", false), after: skipped,
		},
		{
			name: "assign", about: Task, title: "Assign", said: "It is next", doc: "Chooses the task that is worked on next; in mode semi nothing else starts.",
			command: "task assign <id>", short: "Choose the task that is worked on next",
			facts: alone((*ralph.State).AssignTask),
		},
		{
			name: "prioritize", about: Task, title: "Put first", said: "First in the plan", doc: "Moves a task to the front of the plan and marks it high.",
			command: "task prioritize <id>", short: "Put a task first",
			facts: alone((*ralph.State).PrioritizeTask), after: orderedBack,
			hide: func(s *ralph.State, _ Context, id string) bool {
				return len(s.Plan.Tasks) > 0 && string(s.Plan.Tasks[0].ID) == id && s.Plan.Tasks[0].Priority == "high"
			},
		},
		{
			name: "accept", about: Task, title: "Accept", primary: true, said: "Accepted", doc: "Notes that a person accepts a done task.",
			command: "task accept <id>", short: "Accept a task that is done",
			facts: alone((*ralph.State).AcceptTask),
			hide: func(s *ralph.State, _ Context, id string) bool {
				t := s.Task(ralph.TaskID(id))
				return t != nil && t.Run.Accepted
			},
		},
		{
			name: "reject", about: Task, title: "Reject", danger: true, said: "Sent back with the reason", doc: "Sends a task that has ended back to its agent, with the reason.",
			command: "task reject <id> <reason>", short: "Send a task back, with the reason for the agent's next prompt",
			facts: onTask((*ralph.State).RejectTask), fields: textField("What is wrong; the agent reads it", true),
			try: func(s *ralph.State, _ Context, id string) error {
				_, err := s.RejectTask(ralph.TaskID(id), "x")
				return err
			},
		},
		{
			name: "done", about: Task, title: "Mark done", said: "Done, by hand", doc: "Marks a task done by hand.",
			command: "task done <id>", short: "Mark a task done by hand",
			facts: func(s *ralph.State, _ Context, in Input) ([]ralph.Fact, error) {
				return s.EndTask(ralph.TaskID(in.ID), ralph.TaskDone, "by hand")
			},
			confirm: func(_ *ralph.State, id string) string { return fmt.Sprintf("Mark %s done without an agent?", id) },
		},
	}
}

// repairVerbs are for tasks that ended badly (B-076 to B-082).
func repairVerbs() []definition {
	return []definition{
		{
			name: "extend", about: Task, title: "More iterations or time", key: "+",
			command: "task extend <id>", short: "Give one task more iterations or more time",
			doc: "Gives one task more iterations or time: as much as is said, or as much time again when it ran out of time, else half as many iterations again.",
			facts: func(s *ralph.State, w Context, in Input) ([]ralph.Fact, error) {
				return s.ExtendTask(ralph.TaskID(in.ID), ralph.Allowance{Iterations: in.To, Time: in.Time}, w.Usual)
			},
			fields: func(*ralph.State, Context, string) []Field {
				return []Field{
					{Name: "to", Label: "Iterations in all (both empty: what it ran out of)", Kind: "number"},
					{Name: "time", Label: "Time on top, such as 30m", Kind: "text"},
				}
			},
			after: extended, hide: isThread, // its limits are its own: thread-continue goes past them
		},
		{
			name: "divide", about: Task, title: "Divide", doc: "Puts smaller tasks in the place of one that was too much; it is closed.",
			command: "task divide <id> <name> <name> ...", short: "Put smaller tasks in the place of one that was too much",
			facts: divideTask, fields: func(*ralph.State, Context, string) []Field {
				return []Field{{Name: "names", Label: "Smaller tasks, one on each line", Kind: "area", Required: true}}
			},
			try: func(s *ralph.State, w Context, id string) error {
				_, err := divideTask(s, w, Input{ID: id, Names: []string{"one", "two"}})
				return err
			},
			after: func(_ *ralph.State, in Input, _ []ralph.Fact) Result {
				return Result{Said: fmt.Sprintf("Divided into %d smaller tasks", len(in.Names))}
			},
		},
		{
			name: "rollback", about: Task, title: "Roll back", key: "R", danger: true, doc: "Undoes a task's work and makes it pending: its branch goes back to its base, or a commit reverts what was merged.",
			command: "task rollback <id>", short: "Undo a task's work and make it pending",
			try: func(s *ralph.State, w Context, id string) error { return MayRollBack(s, w.Engine, ralph.TaskID(id)) },
			confirm: func(s *ralph.State, id string) string {
				t := s.Task(ralph.TaskID(id))
				if t != nil && t.Status == ralph.TaskDone {
					return fmt.Sprintf("Revert the merged work of %s (%s)?", t.ID, t.Name)
				}
				return fmt.Sprintf("Take the branch of %s back to where the task began? Its work is kept in a recovery ref.", id)
			},
			do: repair(Backend.RollBack),
		},
		{
			name: "cleanup", about: Task, title: "Clean up", key: "X", danger: true, doc: "Takes the worktree of a task away; its status and its branch stay.",
			command: "task cleanup <id>", short: "Take the worktree of a task away; its status stays",
			try: func(s *ralph.State, _ Context, id string) error { _, err := s.MayCleanUp(ralph.TaskID(id)); return err },
			confirm: func(_ *ralph.State, id string) string {
				return fmt.Sprintf("Take the worktree of %s away? Files that no commit holds go to a recovery ref first.", id)
			},
			do: repair(Backend.CleanUp),
		},
	}
}

// extended says what a task may take now. What it might take before is brought back where
// that was a number of iterations of its own.
func extended(s *ralph.State, in Input, facts []ralph.Fact) Result {
	f := facts[0].(ralph.TaskExtended) //nolint:forcetypeassert // ExtendTask's one fact
	d := Result{Said: fmt.Sprintf("It may take %s now", f.Words())}
	if was := s.Task(ralph.TaskID(in.ID)).MaxIterations; f.Timeout == 0 {
		d.Undo = &Call{"edit", Input{ID: in.ID, MaxIterations: &was}}
	}
	return d
}

// repair has the backend work on what a task left, if the state allows it.
func repair(work func(Backend, context.Context, ralph.TaskID) (string, error)) func(context.Context, definition, Backend, Input) (Result, error) {
	return func(ctx context.Context, v definition, backend Backend, in Input) (Result, error) {
		err := backend.Update(ctx, func(s *ralph.State) ([]ralph.Fact, error) { return nil, v.try(s, backend.Context(), in.ID) })
		if err != nil {
			return Result{}, err
		}
		said, err := work(backend, ctx, ralph.TaskID(in.ID))
		return Result{Said: said}, err
	}
}

// MayRollBack refuses what git cannot undo, or not now, with an engine at work.
func MayRollBack(s *ralph.State, engine bool, id ralph.TaskID) error {
	t, err := s.MayRollBack(id)
	switch {
	case err != nil:
		return err
	case t.Status != ralph.TaskDone && t.Run.Worktree.Branch == "":
		return &ralph.Refusal{
			Why:  fmt.Sprintf("task %s worked in your checkout, not on a branch of its own: its changes cannot be told from others", t.ID),
			Hint: "`[[retry " + string(t.ID) + "]]` gives it another try as it is", Kind: ralph.ErrUsage,
		}
	case t.Status == ralph.TaskDone && engine:
		// The revert goes to the base branch, and a merge that was decided on the
		// state before would bring the work back.
		return &ralph.Refusal{
			Why:  fmt.Sprintf("task %s is merged, and an engine is at work here", t.ID),
			Hint: "`[[stop]]`, then roll it back; `[[start autopilot]]` goes on after that", Kind: ralph.ErrActive,
		}
	}
	return nil
}

func divideTask(s *ralph.State, w Context, in Input) ([]ralph.Fact, error) {
	if len(in.Names) < 2 {
		return nil, &ralph.Refusal{Why: "a task is divided into at least two", Hint: "write the name of each on a line of its own", Kind: ralph.ErrUsage}
	}
	ids := make([]ralph.TaskID, len(in.Names))
	for i := range ids {
		ids[i] = ralph.TaskID(w.ID("t"))
	}
	return s.DivideTask(ralph.TaskID(in.ID), ids, in.Names)
}

// apply changes a task as a person said.
func (in Input) apply(t *ralph.Task) error {
	for _, x := range []struct {
		said *string
		into *string
	}{{in.Name, &t.Name}, {in.Notes, &t.Notes}, {in.Accept, &t.Accept}, {in.Priority, &t.Priority}, {in.Phase, &t.Phase}} {
		if x.said != nil {
			*x.into = strings.TrimSpace(*x.said)
		}
	}
	if in.Parent != nil {
		t.Parent = ralph.TaskID(*in.Parent)
	}
	if in.Deps != nil {
		t.Deps = nil
		for _, id := range in.Deps {
			t.Deps = append(t.Deps, ralph.TaskID(id))
		}
	}
	if in.Tags != nil {
		t.Tags = append([]string(nil), in.Tags...)
	}
	if in.Worker != nil {
		t.Worker = labels.Union(in.Worker)
	}
	for _, l := range in.Worker {
		if wrong := labels.Wrong(l); wrong != "" {
			return &ralph.Refusal{Why: fmt.Sprintf("worker: the label %q %s", l, wrong), Kind: ralph.ErrUsage}
		}
	}
	if in.MaxIterations != nil {
		t.MaxIterations = *in.MaxIterations
	}
	return nil
}

func editTask(s *ralph.State, _ Context, in Input) ([]ralph.Fact, error) {
	id := ralph.TaskID(in.ID)
	i := slices.IndexFunc(s.Plan.Tasks, func(t *ralph.Task) bool { return t.ID == id })
	if i < 0 {
		return nil, &ralph.Refusal{Why: fmt.Sprintf("no task %s in the plan", id), Hint: "`[[query tasks]]` lists them", Kind: ralph.ErrNotFound}
	}
	edited := *s.Plan.Tasks[i]
	if err := in.apply(&edited); err != nil {
		return nil, err
	}
	facts, err := s.EditTask(edited)
	if err != nil || !in.Retry {
		return facts, err
	}
	again, err := s.RetryTask(id)
	return append(facts, again...), err
}

// editedBack is the edit that gives a task back what it had.
func editedBack(s *ralph.State, in Input, _ []ralph.Fact) Result {
	t := s.Task(ralph.TaskID(in.ID))
	back := Input{ID: in.ID}
	for _, x := range []struct {
		said *string
		was  string
		into **string
	}{
		{in.Name, t.Name, &back.Name},
		{in.Notes, t.Notes, &back.Notes},
		{in.Accept, t.Accept, &back.Accept},
		{in.Priority, t.Priority, &back.Priority},
		{in.Phase, t.Phase, &back.Phase},
	} {
		if x.said != nil {
			was := x.was
			*x.into = &was
		}
	}
	if in.Parent != nil {
		was := string(t.Parent)
		back.Parent = &was
	}
	if in.Deps != nil {
		back.Deps = []string{}
		for _, id := range t.Deps {
			back.Deps = append(back.Deps, string(id))
		}
	}
	if in.Tags != nil {
		back.Tags = append([]string{}, t.Tags...)
	}
	if in.Worker != nil {
		back.Worker = append([]string{}, t.Worker...)
	}
	if in.MaxIterations != nil {
		was := t.MaxIterations
		back.MaxIterations = &was
	}
	d := Result{Undo: &Call{"edit", back}}
	if in.Retry {
		d.Said = "Changed, and pending again"
	}
	return d
}

func editFields(s *ralph.State, _ Context, id string) []Field {
	t := s.Task(ralph.TaskID(id))
	if t == nil {
		t = &ralph.Task{}
	}
	fields := workFields(t)
	if bad := t.Status == ralph.TaskFailed || t.Status == ralph.TaskTimeout || t.Status == ralph.TaskBlocked || t.Status == ralph.TaskSkipped; bad || id == "" {
		fields = append(fields, Field{Name: "retry", Label: "Then give it another try", Kind: "check", Value: "yes"})
	}
	return fields
}

// workFields ask for all that people say of a task.
func workFields(t *ralph.Task) []Field {
	deps := make([]string, len(t.Deps))
	for i, d := range t.Deps {
		deps[i] = string(d)
	}
	limit := ""
	if t.MaxIterations > 0 {
		limit = strconv.Itoa(t.MaxIterations)
	}
	return []Field{
		{Name: "name", Label: "What to do, one line", Kind: "text", Value: t.Name, Required: true},
		{Name: "notes", Label: "Notes: anything that helps", Kind: "area", Value: t.Notes},
		{Name: "accept", Label: "When it is done", Kind: "area", Value: t.Accept},
		{Name: "deps", Label: "Tasks that come first, with commas between", Kind: "text", Value: strings.Join(deps, ", ")},
		{Name: "tags", Label: "Tags (critical, quick-win, ...)", Kind: "text", Value: strings.Join(t.Tags, ", ")},
		{Name: "worker", Label: "Labels that a worker of a fleet must have", Kind: "text", Value: strings.Join(t.Worker, ", ")},
		{Name: "priority", Label: "Priority", Kind: "choice", Choices: []string{"", "high", "medium", "low"}, Value: t.Priority},
		{Name: "phase", Label: "Phase", Kind: "text", Value: t.Phase},
		{Name: "max_iterations", Label: "Iterations (empty: as configured)", Kind: "number", Value: limit},
	}
}

// skipped has a task that waited made pending again; what a bad end was is not brought back.
func skipped(s *ralph.State, in Input, _ []ralph.Fact) Result {
	switch t := s.Task(ralph.TaskID(in.ID)); t.Status {
	case ralph.TaskActive:
		return Result{Said: "Left out at the end of its iteration"}
	case ralph.TaskPending:
		return Result{Undo: &Call{"retry", Input{ID: in.ID}}}
	}
	return Result{}
}

// orderedBack puts the plan in the order that it had.
func orderedBack(s *ralph.State, in Input, _ []ralph.Fact) Result {
	back := Input{ID: in.ID}
	for _, t := range s.Plan.Tasks {
		back.Names = append(back.Names, string(t.ID))
		if string(t.ID) == in.ID {
			was := t.Priority
			back.Priority = &was
		}
	}
	return Result{Undo: &Call{"order", back}}
}

// What is done to the plan as a whole.
func planVerbs() []definition {
	return []definition{
		{
			name: "add", about: Plan, title: "Add a task", doc: "Adds a task to the plan.", facts: addTask,
			command: "task add <name or JSON>", short: "Add a task to the plan",
			fields: func(*ralph.State, Context, string) []Field { return workFields(&ralph.Task{}) },
			try:    func(*ralph.State, Context, string) error { return nil },
			after: func(_ *ralph.State, _ Input, facts []ralph.Fact) Result {
				t := facts[0].(ralph.TaskAdded).Task //nolint:forcetypeassert // AddTask's one fact
				return Result{Said: "Added " + string(t.ID), ID: string(t.ID), Undo: &Call{"skip", Input{ID: string(t.ID), Text: "added by mistake"}}}
			},
		},
		{
			name: "order", about: Plan, title: "Order", said: "The plan has this order now", doc: "Puts the tasks of the plan in the order of names; with id and priority that task gets the priority too.",
			command: "task order <id> ...", short: "Put the tasks of the plan in an order",
			facts: orderPlan, hide: func(*ralph.State, Context, string) bool { return true },
			fields: func(*ralph.State, Context, string) []Field {
				return []Field{{Name: "names", Label: "Tasks, one on each line", Kind: "area", Required: true}}
			},
			try: func(s *ralph.State, _ Context, _ string) error {
				if len(s.Plan.Tasks) == 0 {
					return &ralph.Refusal{Why: "there are no tasks in the plan", Kind: ralph.ErrUsage}
				}
				return nil
			},
		},
	}
}

func addTask(s *ralph.State, w Context, in Input) ([]ralph.Fact, error) {
	t := ralph.Task{ID: ralph.TaskID(w.ID("t"))}
	if err := in.apply(&t); err != nil {
		return nil, err
	}
	return s.AddTask(t)
}

func orderPlan(s *ralph.State, w Context, in Input) ([]ralph.Fact, error) {
	ids := make([]ralph.TaskID, len(in.Names))
	for i, name := range in.Names {
		ids[i] = ralph.TaskID(name)
	}
	facts, err := s.OrderPlan(ids)
	if err != nil || in.ID == "" {
		return facts, err
	}
	edit, err := editTask(s, w, Input{ID: in.ID, Priority: in.Priority})
	return append(edit, facts...), err
}
