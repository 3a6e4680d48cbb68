package ralph

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// When a task may start: what it depends on is done, and its phase is open.

// Unmerged reports whether a done task's work is still on its way through the queue.
func (t *Task) Unmerged() bool {
	state := t.Run.Queue.State
	return state != "" && state != MergeMerged
}

// Holds reports whether a task holds back what depends on it. One that a person left out
// does not; one that was skipped for an error does (B-002). merged: what is done has to
// be merged as well, as with worktrees.
func (t *Task) Holds(merged bool) bool {
	return !t.LeftOut() && (t.Status != TaskDone || merged && t.Unmerged())
}

// Phases are the phases of a plan in their order: that of the first task of each.
func Phases(tasks []*Task) []string {
	var phases []string
	for _, t := range tasks {
		if len(phases) > 0 && phases[len(phases)-1] == t.Phase { // tasks of a phase mostly stand together
			continue
		}
		if !slices.Contains(phases, t.Phase) {
			phases = append(phases, t.Phase)
		}
	}
	return phases
}

// OpenPhase is the first phase with a task that has not ended or, with merged, is not
// merged. Phases are barriers: only its tasks may start.
func (p *Plan) OpenPhase(merged bool) string {
	phases := Phases(p.Tasks)
	first := len(phases)
	for _, t := range p.Tasks {
		if first < len(phases) && phases[first] == t.Phase || t.Status.Ended() && !(merged && t.Status == TaskDone && t.Unmerged()) {
			continue
		}
		if i := slices.Index(phases[:first], t.Phase); i >= 0 {
			first = i
		}
		if first == 0 {
			break // nothing comes before the first phase
		}
	}
	if first == len(phases) {
		return ""
	}
	return phases[first]
}

// WaitsFor is what a task waits for before it can start, in words for a person: the tasks
// that it depends on, and the phases before its own.
func (s *State) WaitsFor(t *Task) []string {
	var words []string
	merged := s.merges()
	for _, id := range t.Deps {
		if dep := s.Task(id); dep != nil && dep.Holds(merged) {
			words = append(words, fmt.Sprintf("%s (%s), which is %s", dep.ID, dep.Name, dep.standing()))
		}
	}
	if phase := s.Plan.OpenPhase(merged); t.Phase != phase && !t.Status.Ended() {
		words = append(words, phaseWords(phase)+" to end")
	}
	return words
}

// merges reports whether the newest session works in worktrees, where what is done is
// merged before others build on it.
func (s *State) merges() bool {
	var c struct {
		Isolated bool `json:"isolated"`
	}
	return json.Unmarshal(s.Session.Config, &c) == nil && c.Isolated
}

func (t *Task) standing() string {
	switch {
	case t.Run.GivenUp:
		return "skipped after an error"
	case t.Status == TaskDone:
		return "done and not merged yet"
	}
	return string(t.Status)
}

func phaseWords(phase string) string {
	if phase == "" {
		return "the tasks without a phase"
	}
	return fmt.Sprintf("phase %q", phase)
}

// CheckPhases refuses a task that depends on one of a later phase: each would wait for the
// other, since a phase begins when the one before it has ended. What is done or left out
// holds nothing up.
func CheckPhases(tasks []*Task) error {
	phases := Phases(tasks)
	if len(phases) < 2 {
		return nil
	}
	byID := make(map[TaskID]*Task, len(tasks))
	for _, t := range tasks {
		byID[t.ID] = t
	}
	for _, t := range tasks {
		if t.Status.Ended() {
			continue
		}
		for _, id := range t.Deps {
			dep := byID[id]
			if dep == nil || !dep.Holds(false) || slices.Index(phases, dep.Phase) <= slices.Index(phases, t.Phase) {
				continue
			}
			path := []string{string(t.ID), string(dep.ID), phaseWords(t.Phase), string(t.ID)}
			return &Refusal{
				Why: fmt.Sprintf("task %s (%s) of %s depends on %s (%s) of %s, which comes later: they would wait for each other: %s",
					t.ID, t.Name, phaseWords(t.Phase), dep.ID, dep.Name, phaseWords(dep.Phase), strings.Join(path, " -> ")),
				Hint: "remove the dep, or put both into the same phase", Kind: ErrUsage,
			}
		}
	}
	return nil
}
