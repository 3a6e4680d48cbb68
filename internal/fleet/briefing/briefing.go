// Package briefing owns what a worker hears of the coordinator's journal in the middle of a turn: the part of the state
// that the agent depends on. It does NOT own how it is asked for (internal/fleet).
package briefing

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"

	"github.com/ralph-loop/ralph"
)

// Told is the part of the state that the agent of a turn depends on.
type Told struct {
	Seq       int64
	Seen      string // a digest of the rest
	Task      *ralph.Task
	Approvals []*ralph.Approval
	Rules     []*ralph.AnswerRule
}

// Tell cuts out of a state what belongs to a task.
func Tell(s *ralph.State, id ralph.TaskID) (Told, error) {
	out := Told{Seq: s.Seq, Task: s.Task(id), Rules: s.Rules}
	for _, a := range s.Approvals {
		if a.Task == id {
			out.Approvals = append(out.Approvals, a)
		}
	}
	b, err := json.Marshal([]any{out.Approvals, out.Rules, out.Task == nil})
	sum := sha256.Sum256(b)
	out.Seen = hex.EncodeToString(sum[:8])
	return out, err
}

// Into is the state of a turn with what was told.
func (t Told) Into(s *ralph.State) *ralph.State {
	s = s.Clone()
	s.Seq, s.Rules = t.Seq, t.Rules
	if t.Task != nil {
		for i, task := range s.Plan.Tasks {
			if task.ID == t.Task.ID {
				s.Plan.Tasks = slices.Clone(s.Plan.Tasks)
				s.Plan.Tasks[i] = t.Task
			}
		}
		s.Approvals = slices.DeleteFunc(s.Approvals, func(a *ralph.Approval) bool { return a.Task == t.Task.ID })
	}
	s.Approvals = append(s.Approvals, t.Approvals...)
	return s
}
