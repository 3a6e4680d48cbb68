package ralph

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

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
	if _, phase := s.OpenPhase(merged); t.Phase != phase && !t.Status.Ended() {
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
