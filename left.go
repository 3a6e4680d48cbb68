package ralph

import (
	"slices"

	"github.com/ralph-loop/ralph/internal/tally"
)

// What a session leaves: work that was cut, and what waits for a person.

// AtWork are the active tasks that have a worktree of their own.
func (s *State) AtWork() []*Task {
	var list []*Task
	for t := range s.Marked(tally.Active) {
		if t.TakesSlot() && t.Run.Worktree.Dir != "" {
			list = append(list, t)
		}
	}
	return list
}

// WorkLeft reports whether a session that was stopped had more to do.
func (s *State) WorkLeft() bool {
	switch x := s.Session; x.Mode {
	case "agent":
		return s.CountInbox(SpecPending)+s.CountInbox(SpecActive) > 0
	case ModeAuto:
		return slices.ContainsFunc(s.Plan.Tasks, func(t *Task) bool { return t.Run.Thread != nil && t.Status != TaskDone })
	case "autopilot":
		return slices.ContainsFunc(s.Plan.Tasks, func(t *Task) bool { return t.Status != TaskDone && !t.LeftOut() })
	default: // one spec, which ends the session when it is planned, done or failed
		return x.Completed+x.Failed+len(x.Planned) == 0
	}
}

// NeedsPerson reports whether the work cannot go on without a word from a person:
// a question, a merge, or a checkout whose changes are in the way.
func (s *State) NeedsPerson() bool {
	return s.OpenQuestion() || len(s.HeldMerges()) > 0 || s.Unlanded()
}

// OpenQuestion reports whether a task waits for an answer that nobody gave. A
// stop takes its gate back, and the next start asks again.
func (s *State) OpenQuestion() bool {
	return slices.ContainsFunc(s.Plan.Tasks, func(t *Task) bool {
		last := t.Run.Last
		return !t.Status.Ended() && last != nil && last.Signal.Kind == SignalHuman && t.Run.AnsweredAtIteration != t.Run.Iterations
	})
}

// HeldMerges are done tasks whose merge waits for a person.
func (s *State) HeldMerges() []*Task {
	var list []*Task
	for _, t := range s.Plan.Tasks {
		q := t.Run.Queue
		if t.Status == TaskDone && (q.GaveUp != "" || q.State == MergeWaiting && len(q.Weakened)+len(s.Unseen(q.Settings)) > 0 && !q.Approved) {
			list = append(list, t)
		}
	}
	return list
}

// Unlanded reports whether merged work could not be brought to the base branch.
func (s *State) Unlanded() bool {
	i := s.Plan.Integration
	return i != nil && i.Landed != i.Tip && len(i.Held) > 0
}

// EndedBadly are the tasks of the plan that ended without being done.
func (s *State) EndedBadly() []*Task {
	return slices.DeleteFunc(slices.Clone(s.Plan.Tasks), func(t *Task) bool {
		return t.Status != TaskFailed && t.Status != TaskTimeout && t.Status != TaskBlocked && !t.Run.GivenUp
	})
}

// WaitedFor reports whether a pending task depends on one.
func (s *State) WaitedFor(id TaskID) bool {
	return slices.ContainsFunc(s.Plan.Tasks, func(t *Task) bool {
		return t.Status == TaskPending && slices.Contains(t.Deps, id)
	})
}
