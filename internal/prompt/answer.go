package prompt

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/signature"
)

// The limits of one answer. More tasks than this is no plan but a flood.
const (
	maxTasks = 500
	maxName  = 200 // characters
)

// Plan is the answer of the stages plan and decompose.
type Plan struct{ Tasks []PlannedTask }

// PlannedTask is a task that has no id yet. Deps hold names of tasks of the same
// answer or ids of tasks of the plan; NewTasks resolves them.
type PlannedTask struct {
	Name     string // one line, 1 to 200 characters
	Notes    string
	Accept   string
	Deps     []string
	Tags     []string
	Priority string // high, medium, low or ""
	Phase    string
}

// Investigation is the answer of the stage investigate.
type Investigation struct {
	Tasks    []PlannedTask
	Resolved []string // ids of issues that are settled
}

// Verification is the answer of the stage verify.
type Verification struct {
	Verdicts []Verdict
	Tasks    []PlannedTask
	Issues   []string // descriptions
}

// Verdict is what verify says of one task.
type Verdict struct {
	Task    ralph.TaskID
	Verdict string // accept or reject
	Reason  string // never empty for reject
}

// Accepted reports whether the task may stay done.
func (v Verdict) Accepted() bool { return v.Verdict == "accept" }

// Mismatch is an answer that is not what was asked for. Why goes word for word
// into the one re-ask, so it names every fault with its place.
type Mismatch struct{ Why string }

func (m *Mismatch) Error() string { return "the answer does not fit: " + m.Why }

// ReadPlan reads the answer of plan and decompose. answer is the driver's
// structured output, nil when it has none: then the last fenced json block of
// text counts, or text itself when it is one JSON object. known are the tasks
// that deps may name. The error is a *Mismatch.
func ReadPlan(text string, answer json.RawMessage, known []ralph.TaskID) (Plan, error) {
	o, err := findAnswer(text, answer)
	if err != nil {
		return Plan{}, err
	}
	r := &reader{}
	plan := Plan{Tasks: r.tasks(o, known)}
	if len(plan.Tasks) == 0 && r.ok() {
		r.fail("tasks", "a plan needs at least one task")
	}
	if err := r.err(); err != nil {
		return Plan{}, err
	}
	return plan, nil
}

// ReadReview reads the answer of review, likewise.
func ReadReview(text string, answer json.RawMessage) (signature.ReviewOut, error) {
	raw := strings.TrimSpace(string(answer))
	if raw == "" || raw == "null" {
		_, raw = findJSON(text)
	}
	if raw == "" {
		return signature.ReviewOut{}, &Mismatch{"there is no answer: end the reply with one fenced code block marked json that holds the object"}
	}
	out, err := signature.Review().Parse(signature.ReviewIn{}, raw)
	if err != nil {
		return out, &Mismatch{err.Error()}
	}
	return out, nil
}

// ReadInvestigation reads the answer of investigate, likewise. issues are the
// open issues, the only ones that can be resolved.
func ReadInvestigation(text string, answer json.RawMessage, known []ralph.TaskID, issues []ralph.IssueID) (Investigation, error) {
	o, err := findAnswer(text, answer)
	if err != nil {
		return Investigation{}, err
	}
	r := &reader{}
	in := Investigation{Tasks: r.tasks(o, known)}
	for i, id := range r.texts(o, "", "resolved") {
		switch {
		case !slices.Contains(issues, ralph.IssueID(id)):
			r.fail(fmt.Sprintf("resolved[%d]", i), "%q is not an open issue", id)
		case !slices.Contains(in.Resolved, id):
			in.Resolved = append(in.Resolved, id)
		}
	}
	if err := r.err(); err != nil {
		return Investigation{}, err
	}
	return in, nil
}

// ReadVerification reads the answer of verify, likewise. tasks are those that
// verdicts and deps may name. A task without a verdict is left as it is.
func ReadVerification(text string, answer json.RawMessage, tasks []ralph.TaskID) (Verification, error) {
	o, err := findAnswer(text, answer)
	if err != nil {
		return Verification{}, err
	}
	r := &reader{}
	v := Verification{Verdicts: r.verdicts(o, tasks)}
	if o["tasks"] != nil { // most verifications find no new work
		v.Tasks = r.tasks(o, tasks)
	}
	list, _ := r.list(o, "", "issues")
	for i, x := range list {
		path := fmt.Sprintf("issues[%d]", i)
		if issue, ok := r.object(x, path); ok {
			desc := strings.TrimSpace(r.text(issue, path, "desc"))
			if desc == "" {
				r.fail(path+".desc", "an issue needs a description")
			}
			v.Issues = append(v.Issues, desc)
		}
	}
	if err := r.err(); err != nil {
		return Verification{}, err
	}
	return v, nil
}

func (r *reader) verdicts(o object, tasks []ralph.TaskID) []Verdict {
	list, there := r.list(o, "", "verdicts")
	if !there {
		r.fail("verdicts", "is missing")
	}
	var out []Verdict
	for i, x := range list {
		path := fmt.Sprintf("verdicts[%d]", i)
		item, ok := r.object(x, path)
		if !ok {
			continue
		}
		v := Verdict{
			Task:    ralph.TaskID(strings.TrimSpace(r.text(item, path, "task"))),
			Verdict: r.text(item, path, "verdict"),
			Reason:  strings.TrimSpace(r.text(item, path, "reason")),
		}
		switch {
		case !slices.Contains(tasks, v.Task):
			r.fail(path+".task", "%q is not a task of the plan", v.Task)
		case slices.ContainsFunc(out, func(other Verdict) bool { return other.Task == v.Task }):
			r.fail(path+".task", "%q has a verdict already", v.Task)
		}
		switch {
		case v.Verdict != "accept" && v.Verdict != "reject":
			r.fail(path+".verdict", "must be accept or reject, not %q", v.Verdict)
		case v.Verdict == "reject" && v.Reason == "":
			r.fail(path+".reason", "a rejected task needs a reason")
		}
		out = append(out, v)
	}
	return out
}

// tasks reads the member "tasks", which every answer that is asked for it has:
// without this, any JSON object in a message would be an empty answer.
func (r *reader) tasks(o object, known []ralph.TaskID) []PlannedTask {
	list, there := r.list(o, "", "tasks")
	if !there {
		r.fail("tasks", "is missing")
	}
	if len(list) > maxTasks {
		r.fail("tasks", "has %d tasks, at most %d are allowed", len(list), maxTasks)
		return nil
	}
	var out []PlannedTask
	for i, x := range list {
		path := fmt.Sprintf("tasks[%d]", i)
		if item, ok := r.object(x, path); ok {
			out = append(out, r.task(item, path))
		}
	}
	if !r.ok() {
		return out // what follows would only repeat the same faults in other words
	}
	byName := indexNames(out)
	for i, t := range out {
		if at := byName[t.Name]; at != i {
			r.fail(fmt.Sprintf("tasks[%d].name", i), "%q is the name of tasks[%d] too, names must differ", t.Name, at)
		}
		for _, dep := range t.Deps {
			if _, ok := byName[dep]; !ok && !slices.Contains(known, ralph.TaskID(dep)) {
				r.say(fmt.Sprintf("tasks[%d].deps: %q is neither a task of this answer nor of the plan", i, dep))
			}
		}
	}
	if cycle := checkCycle(out); r.ok() && cycle != "" {
		r.say(cycle)
	}
	return out
}

func (r *reader) task(o object, path string) PlannedTask {
	t := PlannedTask{
		Name:     strings.TrimSpace(r.text(o, path, "name")),
		Notes:    strings.TrimSpace(r.text(o, path, "notes")),
		Accept:   strings.TrimSpace(r.text(o, path, "accept")),
		Deps:     r.texts(o, path, "deps"),
		Tags:     r.texts(o, path, "tags"),
		Priority: r.text(o, path, "priority"),
		Phase:    strings.TrimSpace(r.text(o, path, "phase")),
	}
	length := len([]rune(t.Name))
	switch {
	case o["name"] == nil:
		r.fail(path+".name", "is missing")
	case length == 0:
		r.fail(path+".name", "is empty")
	case length > maxName:
		r.fail(path+".name", "has %d characters, at most %d are allowed: put the rest into notes", length, maxName)
	case strings.ContainsAny(t.Name, "\r\n"):
		r.fail(path+".name", "must be one line")
	}
	switch t.Priority {
	case "", "high", "medium", "low":
	default:
		r.fail(path+".priority", "must be high, medium or low, not %q", t.Priority)
	}
	return t
}
