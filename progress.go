package ralph

import "github.com/ralph-loop/ralph/internal/tally"

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
	y, list := s.countedAnew(), s.Plan.Tasks
	p := Progress{PhaseAt: -1, StepAt: -1, Total: len(list), Completed: y.Marked(tally.Done).Len(), Skipped: make([]TaskID, 0, y.Marked(tally.Skipped).Len())}
	p.Failed = y.Marked(tally.Failed).Len() + y.Marked(tally.Blocked).Len() + y.Marked(tally.TimedOut).Len()
	for i := range y.Marked(tally.Skipped).All() {
		p.Skipped = append(p.Skipped, list[i].ID)
	}
	next := y.Marked(tally.Open).First()
	for i := range y.Marked(tally.Active).All() { // one that waits comes after those with a step under way
		flying := list[i].Run.InFlight != 0
		if flying || p.Current == "" {
			p.Current, next = list[i].ID, i
		}
		if flying {
			break
		}
	}
	if next >= 0 {
		p.Phase = list[next].Phase
		p.PhaseAt, p.StepAt = y.Phase(next)
	}
	return p
}
