package step

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/prompt"
)

// The structured answers of the stages, as facts.

func (x *Executor) planned(s *ralph.State, res ralph.TurnResult) ([]ralph.Fact, error) {
	plan, err := prompt.ReadPlan(res.Text, res.Answer, nil)
	if err != nil {
		return nil, err
	}
	return fits(s, x.addTasks(s, plan.Tasks, ""))
}

func (x *Executor) investigated(s *ralph.State, res ralph.TurnResult) ([]ralph.Fact, error) {
	issues := make([]ralph.IssueID, len(s.Plan.Issues))
	for i, issue := range s.Plan.Issues {
		issues[i] = issue.ID
	}
	a, err := prompt.ReadInvestigation(res.Text, res.Answer, taskIDs(s), issues)
	if err != nil {
		return nil, err
	}
	facts := x.addTasks(s, a.Tasks, "")
	for _, id := range a.Resolved {
		facts = append(facts, ralph.IssueRemoved{ID: ralph.IssueID(id)})
	}
	return fits(s, facts)
}

func (x *Executor) verified(s *ralph.State, res ralph.TurnResult) ([]ralph.Fact, error) {
	a, err := prompt.ReadVerification(res.Text, res.Answer, taskIDs(s))
	if err != nil {
		return nil, err
	}
	var facts []ralph.Fact
	for _, v := range a.Verdicts {
		if wasSplit(s, v.Task) {
			continue // its parts have verdicts of their own; a reject would build all of it again
		}
		if v.Accepted() {
			facts = append(facts, ralph.TaskAccepted{ID: v.Task})
		} else {
			facts = append(facts, ralph.TaskRejected{ID: v.Task, Reason: v.Reason})
		}
	}
	facts = append(facts, x.addTasks(s, a.Tasks, "")...)
	for _, desc := range a.Issues {
		facts = append(facts, ralph.IssueAdded{Issue: ralph.Issue{ID: ralph.IssueID(x.NewID("i")), Spec: s.Job.File, Desc: desc}})
	}
	return fits(s, facts)
}

// fits refuses an answer after which a task would wait for a later phase, which waits for
// it: like a cycle, its agent is told.
func fits(s *ralph.State, facts []ralph.Fact) ([]ralph.Fact, error) {
	after := s.Clone()
	for _, f := range facts {
		after.Apply(ralph.Event{Seq: after.Seq + 1, At: after.At, Fact: f})
	}
	if err := ralph.CheckPhases(after.Plan.Tasks); err != nil && ralph.CheckPhases(s.Plan.Tasks) == nil {
		return nil, &prompt.Mismatch{Why: err.Error()}
	}
	return facts, nil
}

// wasSplit reports whether DECOMPOSE put smaller tasks in the place of a task.
func wasSplit(s *ralph.State, id ralph.TaskID) bool {
	t := s.Task(id)
	return t != nil && t.Status == ralph.TaskSkipped &&
		slices.ContainsFunc(s.Plan.Tasks, func(x *ralph.Task) bool { return x.Parent == id })
}

// decomposed replaces a task by smaller ones; what waited for it waits for them.
func (x *Executor) decomposed(s *ralph.State, t *ralph.Task, res ralph.TurnResult) ([]ralph.Fact, error) {
	plan, err := prompt.ReadPlan(res.Text, res.Answer, taskIDs(s))
	if err != nil {
		return nil, err
	}
	facts := x.addTasks(s, plan.Tasks, t.Parent)
	var children []ralph.TaskID
	for _, f := range facts {
		children = append(children, f.(ralph.TaskAdded).Task.ID)
	}
	why := ralph.Why{Rule: "D-044", Text: fmt.Sprintf("split into %d smaller tasks", len(children))}
	return fits(s, append(facts, s.ReplaceTask(t.Parent, children, why)...))
}

func (x *Executor) addTasks(s *ralph.State, planned []prompt.PlannedTask, parent ralph.TaskID) []ralph.Fact {
	ids := make([]ralph.TaskID, 0, len(planned))
	for range planned {
		id := ralph.TaskID(x.NewID("t"))
		for s.Task(id) != nil || slices.Contains(ids, id) {
			id = ralph.TaskID(x.NewID("t"))
		}
		ids = append(ids, id)
	}
	var facts []ralph.Fact
	whole := s.Task(parent)
	for _, t := range prompt.NewTasks(planned, s.Job.File, parent, ids) {
		if whole != nil && t.Phase == "" {
			t.Phase = whole.Phase // what waits for the whole waits for its parts
		}
		facts = append(facts, ralph.TaskAdded{Task: t})
	}
	return facts
}

func taskIDs(s *ralph.State) []ralph.TaskID {
	ids := make([]ralph.TaskID, len(s.Plan.Tasks))
	for i, t := range s.Plan.Tasks {
		ids[i] = t.ID
	}
	return ids
}

// summary says in a few words what an answer held.
func summary(facts []ralph.Fact) string {
	var tasks, accepted, rejected, issues, resolved int
	for _, f := range facts {
		switch f.(type) {
		case ralph.TaskAdded:
			tasks++
		case ralph.TaskAccepted:
			accepted++
		case ralph.TaskRejected:
			rejected++
		case ralph.IssueAdded:
			issues++
		case ralph.IssueRemoved:
			resolved++
		}
	}
	var parts []string
	say := func(n int, noun, verb string) {
		switch {
		case n == 1:
			parts = append(parts, "1 "+noun+" "+verb)
		case n > 1:
			parts = append(parts, fmt.Sprintf("%d %ss %s", n, noun, verb))
		}
	}
	say(tasks, "task", "added")
	say(accepted, "task", "accepted")
	say(rejected, "task", "rejected")
	say(issues, "issue", "found")
	say(resolved, "issue", "resolved")
	if len(parts) == 0 {
		return "nothing to add"
	}
	return strings.Join(parts, ", ")
}
