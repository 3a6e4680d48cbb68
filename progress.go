package ralph

import (
	"slices"
)

// Progress is how far a plan is, in numbers. Their "steps" are the tasks of the plan.
type Progress struct {
	Current   TaskID // an agent is at it, or a check or a commit; "" for none
	Phase     string // of Current, else of the next task that has not ended
	PhaseAt   int    // index of Phase, in the order of the plan; -1 when all have ended
	StepAt    int    // index of that task within its phase; -1 likewise
	Total     int
	Completed int
	Failed    int      // ended without being done: failed, blocked, out of time
	Skipped   []TaskID // never nil
}

// Progress is derived from the plan, over sessions and interruptions.
func (s *State) Progress() Progress {
	if y := s.tallied(); y != nil {
		return y.progress(s.Plan.Tasks)
	}
	p := Progress{Current: s.current(), PhaseAt: -1, StepAt: -1, Total: len(s.Plan.Tasks), Skipped: []TaskID{}}
	var phases []string
	var steps []int // tasks of each phase seen so far
	at := -1        // the phase of the task before: mostly that of the next one, too
	for _, t := range s.Plan.Tasks {
		if at < 0 || phases[at] != t.Phase {
			if at = slices.Index(phases, t.Phase); at < 0 {
				at, phases, steps = len(phases), append(phases, t.Phase), append(steps, 0)
			}
		}
		if t.ID == p.Current || p.Current == "" && p.PhaseAt < 0 && !t.Status.Ended() {
			p.Phase, p.PhaseAt, p.StepAt = t.Phase, at, steps[at]
		}
		steps[at]++
		switch t.Status {
		case TaskDone:
			p.Completed++
		case TaskFailed, TaskBlocked, TaskTimeout:
			p.Failed++
		case TaskSkipped:
			p.Skipped = append(p.Skipped, t.ID)
		}
	}
	return p
}

// current is the first task of the plan that is at work; one that waits for a
// person or for time comes after those with a step under way.
func (s *State) current() TaskID {
	var waits TaskID
	for _, t := range s.Plan.Tasks {
		switch {
		case t.Status == TaskActive && t.Run.InFlight != 0:
			return t.ID
		case t.Status == TaskActive && waits == "":
			waits = t.ID
		}
	}
	return waits
}
