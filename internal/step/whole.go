package step

import (
	"encoding/json"
	"fmt"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/records"
	"github.com/ralph-loop/ralph/internal/redact"
)

// keepChecks puts what checks printed into the folder of the turn, and returns the fact with
// what a fact holds of it. Without a turn there is a file only where the fact is shortened.
func (x *Executor) keepChecks(ran ralph.ChecksRan, dir string) (ralph.ChecksRan, error) {
	ran = redact.Value(x.Redact, ran) // before anything of it is cut: half a secret is not known as one
	brief, shortened := ralph.BriefResults(ran.Results)
	if dir == "" && !shortened {
		return ran, nil
	}
	whole, err := x.keepWhole(dir, ran.Task, "checks", ran, shortened)
	if err != nil {
		return ran, err
	}
	ran.Results, ran.Whole = brief, whole
	return ran, nil
}

// keepBaseline is keepChecks for what is red without anybody's work.
func (x *Executor) keepBaseline(ran ralph.BaselineRan) ([]ralph.Fact, error) {
	ran = redact.Value(x.Redact, ran)
	brief, shortened := ralph.BriefResults(ran.Results)
	if !shortened {
		return []ralph.Fact{ran}, nil
	}
	whole, err := x.keepWhole("", ran.Task, "baseline", ran, true)
	if err != nil {
		return nil, err
	}
	ran.Results, ran.Whole = brief, whole
	return []ralph.Fact{ran}, nil
}

// keepConflict is keepChecks for both sides of a conflict.
func (x *Executor) keepConflict(c *ralph.Conflict, task ralph.TaskID) (*ralph.Conflict, error) {
	if c == nil {
		return nil, nil
	}
	all := redact.Value(x.Redact, *c)
	brief, shortened := all.Brief()
	if !shortened {
		return &all, nil
	}
	whole, err := x.keepWhole("", task, "conflict", all, true)
	if err != nil {
		return nil, err
	}
	brief.Whole = whole
	return &brief, nil
}

// keepWhole writes what a fact shortens as JSON, into the folder of the turn, else of the
// task. needed: the fact alone does not have all of it.
func (x *Executor) keepWhole(dir string, task ralph.TaskID, stem string, v any, needed bool) (ralph.Whole, error) {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return ralph.Whole{}, fmt.Errorf("keep the outputs of %s: %w", task, err)
	}
	if dir == "" {
		dir = taskDir(task)
	}
	return records.Keep(x.Root, dir, stem, append(text, '\n'), needed)
}
