package ralph

import (
	"maps"
	"slices"
)

// tally is what is counted of the plan while facts are folded: with ten thousand tasks a walk over all was
// most of what a fact took. A state that facts are folded into has one, and who is lent it. A clone, which
// several may read meanwhile, has only where each task stands.
type tally struct {
	first  **Task         // with len(places), the list that it is of
	at     map[TaskID]int // the first task with that id
	kept   bool           // a clone has at as well: it stays as it is
	phases map[string]int // in the order of the plan
	steps  []int          // tasks of each phase
	places []step         // of each task
	active []int          // at work, in the order of the plan
	flying []int          // with a step under way
	chosen []int          // pending, and a person wants it next
	left   []int          // skipped
	done   int
	failed int
	open   int // the first task that has not ended
}

// step is where a task stands within the phases of its plan.
type step struct{ phase, at int }

// tallied returns the tally of the plan as it is now, nil where there is none.
func (s *State) tallied() *tally {
	if y := s.tally; y != nil && len(y.places) == len(s.Plan.Tasks) && (len(y.places) == 0 || y.first == &s.Plan.Tasks[0]) {
		return y
	}
	return nil
}

// takeTally makes sure of a tally where facts are folded.
func (s *State) takeTally() {
	if s.clone || s.tallied() != nil {
		return
	}
	s.tally = &tally{at: make(map[TaskID]int, len(s.Plan.Tasks)), phases: map[string]int{}}
	for i := range s.Plan.Tasks {
		s.tally.add(s.Plan.Tasks, i)
	}
}

// add takes up the task behind those that are counted.
func (y *tally) add(list []*Task, i int) {
	t := list[i]
	if _, twice := y.at[t.ID]; !twice {
		if y.kept {
			y.at, y.kept = maps.Clone(y.at), false
		}
		y.at[t.ID] = i
	}
	phase, known := y.phases[t.Phase]
	if !known {
		phase = len(y.steps)
		y.phases[t.Phase], y.steps = phase, append(y.steps, 0)
	}
	y.first, y.places = &list[0], append(y.places, step{phase, y.steps[phase]})
	y.steps[phase]++
	y.note(i, t, true)
	y.walk(list)
}

// moved takes up that one task is another now; false: it has to be counted anew.
func (y *tally) moved(list []*Task, i int, old *Task) bool {
	t := list[i]
	if t.ID != old.ID || t.Phase != old.Phase {
		return false
	}
	y.note(i, old, false)
	y.note(i, t, true)
	if !t.Status.Ended() {
		y.open = min(y.open, i)
	}
	y.first = &list[0]
	y.walk(list)
	return true
}

// walk goes on to the first task that has not ended.
func (y *tally) walk(list []*Task) {
	for y.open < len(y.places) && list[y.open].Status.Ended() {
		y.open++
	}
}

// note counts a task, or takes it out of the counts.
func (y *tally) note(i int, t *Task, in bool) {
	mark := func(list *[]int, is bool) {
		if !is {
			return
		}
		at, found := slices.BinarySearch(*list, i)
		switch {
		case in && !found:
			*list = slices.Insert(*list, at, i)
		case !in && found:
			*list = slices.Delete(*list, at, at+1)
		}
	}
	n := 1
	if !in {
		n = -1
	}
	mark(&y.active, t.Status == TaskActive)
	mark(&y.flying, t.Run.InFlight != 0)
	mark(&y.chosen, t.Run.Assigned && t.Status == TaskPending)
	mark(&y.left, t.Status == TaskSkipped)
	switch t.Status {
	case TaskDone:
		y.done += n
	case TaskFailed, TaskBlocked, TaskTimeout:
		y.failed += n
	}
}

// progress is State.Progress from what is counted.
func (y *tally) progress(list []*Task) Progress {
	p := Progress{PhaseAt: -1, StepAt: -1, Total: len(list), Completed: y.done, Failed: y.failed, Skipped: make([]TaskID, 0, len(y.left))}
	for _, i := range y.left {
		p.Skipped = append(p.Skipped, list[i].ID)
	}
	next := y.open
	for _, i := range y.active {
		if list[i].Run.InFlight != 0 || p.Current == "" {
			p.Current, next = list[i].ID, i
		}
		if list[i].Run.InFlight != 0 {
			break
		}
	}
	if next < len(list) {
		p.Phase, p.PhaseAt, p.StepAt = list[next].Phase, y.places[next].phase, y.places[next].at
	}
	return p
}

// Lend calls decide with the state as it is now, which decide neither keeps nor changes: so what comes next
// needs no copy of the list of tasks, and has what is counted of it.
func (s *State) Lend(decide func(*State) ([]Fact, error)) ([]Fact, error) {
	was := s.shared
	c := s.Clone()
	s.shared, c.tally = was, s.tallied()
	return decide(c)
}

// put gives a task of the plan what a fact made of it. A list that a clone has is copied first.
func (s *State) put(i int, t *Task) {
	s.ownTasks()
	old := s.Plan.Tasks[i]
	y := s.tallied()
	s.Plan.Tasks[i] = t
	if y != nil && !y.moved(s.Plan.Tasks, i, old) {
		s.tally = nil
	}
}

// ownTasks copies the list of tasks that a clone has as well.
func (s *State) ownTasks() {
	if !s.shared {
		return
	}
	y := s.tallied()
	s.Plan.Tasks, s.shared = slices.Clone(s.Plan.Tasks), false
	if y != nil && len(s.Plan.Tasks) > 0 {
		y.first = &s.Plan.Tasks[0]
	}
}

// addTask puts a task behind the others.
func (s *State) addTask(t *Task) {
	s.ownTasks()
	y := s.tallied()
	s.Plan.Tasks = append(s.Plan.Tasks, t)
	if y != nil {
		y.add(s.Plan.Tasks, len(s.Plan.Tasks)-1)
	}
}
