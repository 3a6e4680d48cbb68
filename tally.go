package ralph

import (
	"cmp"
	"iter"
	"slices"

	"github.com/ralph-loop/ralph/internal/tally"
)

// counted is what is counted of the plan while facts are folded: with ten thousand tasks a walk over all was
// most of what a fact took. A clone, which several may read meanwhile, has it as it was then.
type counted struct {
	*tally.Tally[TaskID, Weight]
	first **Task // with its length, the list that it is of
}

// Weight is what a task that waits is chosen by, as far as that is its own, before the settings say how much
// each counts.
type Weight struct {
	Claim                      int8 // 2: a person wants it next (B-091); 1: it goes on after an answer
	Urgency                    int8 // of its priority, the most urgent 0
	Critical, QuickWin, Thread bool
	Retries                    int32
}

// Weight implements what is counted.
func (t *Task) Weight() Weight {
	w := Weight{Urgency: 1, Critical: slices.Contains(t.Tags, "critical"), QuickWin: slices.Contains(t.Tags, "quick-win"), Thread: t.Run.Thread != nil, Retries: int32(t.RetryCount)}
	switch r := &t.Run; {
	case r.Assigned:
		w.Claim = 2
	case r.Last != nil && r.Last.Signal.Kind == SignalHuman && r.AnsweredAtIteration == r.Iterations:
		w.Claim = 1
	}
	switch t.Priority {
	case "high":
		w.Urgency = 0
	case "low":
		w.Urgency = 2
	}
	return w
}

func (t *Task) item() tally.Item[TaskID, Weight] {
	return tally.Item[TaskID, Weight]{ID: t.ID, Parent: t.Parent, Deps: t.Deps, Phase: t.Phase, Marks: t.marks(), Weight: t.Weight(), Arrived: t.Run.Queue.Since}
}

func (t *Task) marks() tally.Marks {
	r := &t.Run
	var m tally.Marks
	switch t.Status {
	case TaskPending:
		m = m.With(tally.Pending, true).With(tally.Wanted, r.Assigned)
	case TaskActive:
		m = m.With(tally.Active, true)
	case TaskDone:
		q := &r.Queue
		m = m.With(tally.Done, true).With(tally.Unmerged, t.Unmerged()).With(tally.Torn, q.State == MergeConflict || q.State == MergeRed)
		m = m.With(tally.Mended, q.State == MergeWaiting && q.ResolvedAt != "")
	case TaskFailed:
		m = m.With(tally.Failed, true)
	case TaskTimeout:
		m = m.With(tally.TimedOut, true)
	case TaskBlocked:
		m = m.With(tally.Blocked, true)
	case TaskSkipped:
		m = m.With(tally.Skipped, true)
	}
	m = m.With(tally.Open, !t.Status.Ended()).With(tally.Holds, t.Holds(false)).With(tally.Flying, r.InFlight != 0).With(tally.Thread, r.Thread != nil)
	return m.With(tally.Turning, !r.TurnAt.IsZero() || r.Reserved != (Usage{})).With(tally.Placed, r.Worktree.Slot > 0 || r.Worktree.Dir != "")
}

// tallied returns what is counted of the plan as it is now, nil where nothing is.
func (s *State) tallied() *counted {
	if y := s.tally; y != nil && y.Len() == len(s.Plan.Tasks) && (y.Len() == 0 || y.first == &s.Plan.Tasks[0]) {
		return y
	}
	return nil
}

// countedAnew is what is counted of the plan, made where nothing is.
func (s *State) countedAnew() *counted {
	y := s.tallied()
	if y == nil {
		y = &counted{Tally: tally.New[TaskID, Weight](len(s.Plan.Tasks))}
		for _, t := range s.Plan.Tasks {
			y.first = &s.Plan.Tasks[0]
			y.Add(t.item())
		}
	}
	return y
}

// takeTally makes sure of a tally where facts are folded.
func (s *State) takeTally() {
	if !s.clone {
		s.tally = s.countedAnew()
	} else { // what it has is as it was when the clone was made
		s.tally = nil
	}
}

// Marked yields the tasks of the plan and then the stages of the job that have a mark: those of the plan without
// a walk over it where they are counted.
func (s *State) Marked(m tally.Mark) iter.Seq[*Task] {
	return func(yield func(*Task) bool) {
		for t := range s.InPlan(m) {
			if !yield(t) {
				return
			}
		}
		for _, t := range s.Stages {
			if t.marks().Has(m) && !yield(t) {
				return
			}
		}
	}
}

// InPlan yields the tasks of the plan that have a mark, in its order.
func (s *State) InPlan(m tally.Mark) iter.Seq[*Task] {
	return func(yield func(*Task) bool) {
		list := s.Plan.Tasks
		if y := s.tallied(); y != nil {
			for i := range y.Marked(m).All() {
				if !yield(list[i]) {
					return
				}
			}
			return
		}
		for _, t := range list {
			if t.marks().Has(m) && !yield(t) {
				return
			}
		}
	}
}

// Arrivals yields the done tasks of the plan whose work is on the way to be merged, in the order in which they came.
func (s *State) Arrivals() iter.Seq[*Task] {
	if y := s.tallied(); y != nil {
		if places, ok := y.Arrivals(); ok {
			return func(yield func(*Task) bool) {
				for i := range places {
					if !yield(s.Plan.Tasks[i]) {
						return
					}
				}
			}
		}
	}
	return slices.Values(slices.SortedStableFunc(s.InPlan(tally.Unmerged), func(a, b *Task) int {
		return cmp.Compare(a.Run.Queue.Since, b.Run.Queue.Since)
	}))
}

// Ranked yields the pending tasks of the plan by their ranks, in no order of these, each with the places in the
// plan of those that have it.
func (s *State) Ranked() iter.Seq2[tally.Rank[Weight], *tally.Set] { return s.countedAnew().Ranked() }

// OpenPhase is the first phase with a task that has not ended or, with merged, is not merged, and its place in
// their order; -1 for none. Phases are barriers: only its tasks may start.
func (s *State) OpenPhase(merged bool) (int, string) { return s.countedAnew().OpenPhase(merged) }

// Lend calls decide with the state as it is now, which decide neither keeps nor changes: so what comes next
// needs no copy of the list of tasks, and has what is counted of it.
func (s *State) Lend(decide func(*State) ([]Fact, error)) ([]Fact, error) {
	c := *s
	c.clone, c.shared, c.tally = true, true, s.tallied()
	return decide(&c)
}

// put gives a task of the plan what a fact made of it. A list that a clone has is copied first.
func (s *State) put(i int, t *Task) {
	s.ownTasks()
	old := s.Plan.Tasks[i]
	y := s.tallied()
	s.Plan.Tasks[i] = t
	switch {
	case y == nil:
	case s.clone || t.ID != old.ID || t.Phase != old.Phase:
		s.tally = nil
	default:
		y.Change(i, old.item(), t.item())
	}
}

// ownTasks copies the list of tasks that a clone has as well.
func (s *State) ownTasks() {
	if !s.shared {
		return
	}
	y := s.tallied()
	s.Plan.Tasks, s.shared = slices.Clone(s.Plan.Tasks), false
	switch {
	case s.clone:
		s.tally = nil
	case y != nil && len(s.Plan.Tasks) > 0:
		y.first = &s.Plan.Tasks[0]
	}
}

// addTask puts a task behind the others.
func (s *State) addTask(t *Task) {
	s.ownTasks()
	y := s.tallied()
	s.Plan.Tasks = append(s.Plan.Tasks, t)
	if y != nil {
		y.Add(t.item())
		y.first = &s.Plan.Tasks[0]
	}
}
