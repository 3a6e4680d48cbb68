package step

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/prompt"
)

// The structured answers of the stages, as facts (product.md 4b).

func (x *Executor) planned(s *ralph.State, res ralph.TurnResult) ([]ralph.Fact, error) {
	plan, err := prompt.ReadPlan(res.Text, res.Answer, nil)
	if err != nil {
		return nil, err
	}
	return x.addTasks(s, plan.Tasks, ""), nil
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
	return facts, nil
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
	return append(facts, s.ReplaceTask(t.Parent, children, why)...), nil
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
	for _, t := range prompt.NewTasks(planned, s.Job.File, parent, ids) {
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
