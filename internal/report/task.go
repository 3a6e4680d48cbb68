package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/text"
)

// About is the task or stage that a fact is about, "" for none.
func About(f ralph.Fact) ralph.TaskID { return f.About() }

// Concerns reports whether an event belongs to the history of a task: also its
// merges, the gates about it and what resolved its merge. s is the state after the event.
func Concerns(e ralph.Event, s *ralph.State, id ralph.TaskID) bool {
	about := About(e.Fact)
	if about == id || ParentIn(about) == id {
		return true
	}
	switch f := e.Fact.(type) {
	case ralph.Merged:
		return slices.Contains(f.Members, id)
	case ralph.Asked:
		return f.Approval.About == id
	}
	t := s.Task(about)
	return t != nil && slices.Contains(t.Members, id)
}

// ConcernedBy are the tasks whose history an event belongs to, as Concerns has it. A task
// may be named twice.
func ConcernedBy(e ralph.Event, s *ralph.State) []ralph.TaskID {
	about := About(e.Fact)
	var out []ralph.TaskID
	if about != "" {
		out = append(out, about)
		if parent := ParentIn(about); parent != about {
			out = append(out, parent)
		}
	}
	switch f := e.Fact.(type) {
	case ralph.Merged:
		out = append(out, f.Members...)
	case ralph.Asked:
		if f.Approval.About != "" {
			out = append(out, f.Approval.About)
		}
	}
	if t := s.Task(about); t != nil {
		out = append(out, t.Members...)
	}
	return out
}

// SlotOf is the slot that an event happened in, 0 for none: that of its task, or
// the one that a task has just left.
func SlotOf(e ralph.Event, s *ralph.State) int {
	if f, ok := e.Fact.(ralph.TaskEnded); ok {
		return f.Slot
	}
	if t := s.Task(About(e.Fact)); t != nil {
		return t.Run.Worktree.Slot
	}
	return 0
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
	line("worker", strings.Join(t.Worker, ", "))
	line("priority", t.Priority)
	line("phase", t.Phase)
	line("parent", string(t.Parent))
	if t.Run.Iterations > 0 {
		line(t.Counted()+"s", fmt.Sprint(t.Run.Iterations))
		line("spent", fmt.Sprintf("%s, %s", ralph.Dollars(t.Run.Usage.Cost), ralph.Elapsed(t.Run.Spent)))
	}
	if t.Run.Last != nil {
		line("output", t.Run.Last.Dir)
		line("worker", OneLine(t.Run.Last.Worker))
	}
	place(line, t)
	for _, a := range t.Run.Answers {
		line("answered", OneLine(a.Question)+"\n"+a.Answer)
	}
	line("told", strings.Join(t.Run.Words, "\n"))
	line("rejected", strings.Join(t.Run.Rejects, "\n"))
	if red := t.Run.Red; red != nil {
		for _, r := range red.Results {
			if !r.Pass {
				line("red check", strings.TrimSpace(r.Name+"\n"+HeadlineAbove(r)+strings.TrimSpace(text.Plain(r.Output))))
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

// HeadlineAbove is what to read first of a red check, on a line of its own.
func HeadlineAbove(r ralph.CheckResult) string {
	if r.Headline == "" {
		return ""
	}
	return r.Headline + "\n"
}

// place writes where a task's work lies and how far its merge is.
func place(line func(name, value string), t *ralph.Task) {
	r := t.Run
	if r.Worktree.Slot > 0 {
		line("slot", fmt.Sprint(r.Worktree.Slot))
	}
	line("worktree", r.Worktree.Dir)
	branch := r.Worktree.Branch
	if branch != "" && r.Worktree.Base != "" {
		branch += fmt.Sprintf(" (from %s)", text.ShortHash(r.Worktree.Base))
	}
	line("branch", branch)
	line("commit", text.ShortHash(r.Commit))
	line("merge", MergeState(t))
	if m := r.Queue.Merged; m != nil && m.Conflict != nil {
		for _, f := range m.Conflict.Files {
			line("conflict", fmt.Sprintf("%s (%s)\n%s", f.Path, f.Kind, strings.TrimSpace(f.Marked)))
		}
	}
	for _, x := range r.Queue.Weakened {
		line("finding", FindingWords(x))
	}
	if r.Stash != "" {
		line("stash", fmt.Sprintf("%.9s (it gets it back at its next start; [[recovery]])", r.Stash))
	}
	line("skip", r.Skip)
	if r.Warned {
		line("warning", stuckWords(t))
	}
}

// MergeState says where a task's work is on its way to the base branch.
func MergeState(t *ralph.Task) string {
	q := t.Run.Queue
	words := string(q.State)
	switch q.State {
	case "":
		return ""
	case ralph.MergeMerged:
		words = fmt.Sprintf("merged as %s (%s)", text.ShortHash(q.Commit), MergeHow(t, ""))
	case ralph.MergeConflict, ralph.MergeRed:
		if q.Resolves > 0 {
			words += ", " + text.Plural(q.Resolves, "try to resolve it", "tries to resolve it")
		}
	}
	if q.GaveUp != "" && q.State != ralph.MergeMerged {
		words += ", waits for a person: " + OneLine(q.GaveUp)
	}
	return words
}

func stuckWords(t *ralph.Task) string {
	return fmt.Sprintf("may be stuck: %s without a change", text.Count(t.Run.Unchanged, t.Counted()))
}

// TaskList is `ralph task list`: a row for each task, in plan order, with what it
// waits for and why it ended as it did.
func TaskList(s *ralph.State) string {
	if len(s.Plan.Tasks) == 0 {
		return "No tasks. `[[plan <spec>]]` makes some, `[[add <name>]]` one by hand.\n"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s of %s:\n", text.Count(len(s.Plan.Tasks), "task"), cmp.Or(s.Plan.File, "no spec"))
	for _, t := range s.Plan.Tasks {
		fmt.Fprintf(&b, "  %-8s%-9s%s", t.ID, t.Status, OneLine(t.Name))
		if len(t.Deps) > 0 && !t.Status.Ended() {
			deps := make([]string, len(t.Deps))
			for i, d := range t.Deps {
				deps[i] = string(d)
			}
			fmt.Fprintf(&b, "  (after %s)", strings.Join(deps, ", "))
		}
		if t.Run.Reason != "" && t.Status != ralph.TaskDone {
			fmt.Fprintf(&b, "  (%s)", OneLine(t.Run.Reason))
		}
		if t.NothingToChange() {
			b.WriteString("  (nothing to change)")
		}
		if q := t.Run.Queue.State; q != "" && q != ralph.MergeMerged {
			fmt.Fprintf(&b, "  (merge: %s)", MergeState(t))
		}
		b.WriteByte('\n')
	}
	for _, i := range s.Plan.Issues {
		fmt.Fprintf(&b, "  %-8s%-9s%s\n", i.ID, "issue", OneLine(i.Desc))
	}
	return b.String()
}

// Unneeded says how many tasks of the plan were done before.
func Unneeded(s *ralph.State) string {
	n := 0
	for _, t := range s.Plan.Tasks {
		if t.Status == ralph.TaskDone && t.NothingToChange() {
			n++
		}
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" (%d with nothing to change)", n)
}
