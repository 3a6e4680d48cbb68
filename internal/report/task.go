package report

import (
	"fmt"
	"strings"

	"github.com/ralph-loop/ralph"
)

// About is the task a fact is about, "" when it is about none.
func About(f ralph.Fact) ralph.TaskID {
	switch f := f.(type) {
	case ralph.TaskAdded:
		return f.Task.ID
	case ralph.TaskEdited:
		return f.Task.ID
	case ralph.TaskStarted:
		return f.ID
	case ralph.TaskEnded:
		return f.ID
	case ralph.TaskRejected:
		return f.ID
	case ralph.TaskAccepted:
		return f.ID
	case ralph.StepStarted:
		return f.Task
	case ralph.TurnEnded:
		return f.Task
	case ralph.ChecksRan:
		return f.Task
	case ralph.Committed:
		return f.Task
	case ralph.Shelved:
		return f.Task
	case ralph.Asked:
		return f.Gate.Task
	case ralph.Noted:
		return f.Task
	}
	return ""
}

// Task is `ralph task show`.
func Task(t *ralph.Task, history []string) string {
	var b strings.Builder
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%-11s %s\n", name+":", strings.ReplaceAll(value, "\n", "\n            "))
		}
	}
	fmt.Fprintf(&b, "%s  %s\n", t.ID, t.Name)
	status := string(t.Status)
	if t.Run.Reason != "" {
		status += " (" + t.Run.Reason + ")"
	}
	line("status", status)
	line("spec", t.Spec)
	line("notes", t.Notes)
	line("accept", t.Accept)
	deps := make([]string, len(t.Deps))
	for i, d := range t.Deps {
		deps[i] = string(d)
	}
	line("deps", strings.Join(deps, ", "))
	line("tags", strings.Join(t.Tags, ", "))
	line("priority", t.Priority)
	line("phase", t.Phase)
	line("parent", string(t.Parent))
	if t.Run.Iterations > 0 {
		line("iterations", fmt.Sprint(t.Run.Iterations))
		line("spent", fmt.Sprintf("%s, %s", ralph.Dollars(t.Run.Usage.Cost), ralph.Elapsed(t.Run.Spent)))
	}
	if t.Run.Last != nil {
		line("output", t.Run.Last.Dir)
	}
	if red := t.Run.Red; red != nil {
		for _, r := range red.Results {
			if !r.Pass {
				line("red check", r.Name+"\n"+strings.TrimSpace(r.Output))
			}
		}
	}
	if len(history) > 0 {
		b.WriteString("history:\n")
		for _, h := range history {
			b.WriteString("  " + h + "\n")
		}
	}
	return b.String()
}

// TaskList is `ralph task list`: a row for each task, in plan order, with what it
// waits for and why it ended as it did.
func TaskList(s *ralph.State) string {
	if len(s.Plan.Tasks) == 0 {
		return "No tasks. `ralph plan <spec>` makes some, `ralph task add <name>` one by hand.\n"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s of %s:\n", count(len(s.Plan.Tasks), "task"), orNone(s.Plan.File))
	for _, t := range s.Plan.Tasks {
		fmt.Fprintf(&b, "  %-8s%-9s%s", t.ID, t.Status, oneLine(t.Name))
		if len(t.Deps) > 0 && !t.Status.Ended() {
			deps := make([]string, len(t.Deps))
			for i, d := range t.Deps {
				deps[i] = string(d)
			}
			fmt.Fprintf(&b, "  (after %s)", strings.Join(deps, ", "))
		}
		if t.Run.Reason != "" && t.Status != ralph.TaskDone {
			fmt.Fprintf(&b, "  (%s)", oneLine(t.Run.Reason))
		}
		b.WriteByte('\n')
	}
	for _, i := range s.Plan.Issues {
		fmt.Fprintf(&b, "  %-8s%-9s%s\n", i.ID, "issue", oneLine(i.Desc))
	}
	return b.String()
}

func orNone(file string) string {
	if file == "" {
		return "no spec"
	}
	return file
}
