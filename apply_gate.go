package ralph

import "slices"

// applyGate folds rules and what agents tell in the middle of a turn.
func (s *State) applyGate(e Event) {
	switch f := e.Fact.(type) {
	case RuleAdded:
		rule := f.Rule
		s.Rules = append(s.Rules[:len(s.Rules):len(s.Rules)], &rule)
	case RuleRevoked:
		s.Rules = slices.DeleteFunc(slices.Clone(s.Rules), func(r *AnswerRule) bool { return r.ID == f.ID })
	case RequestAnswered:
		if f.Request.Op == OpCheck { // a rule let red checks pass, or would not
			s.redAnswered(f.Task, Waiver{Rule: f.By}, f.Verdict, orDenial(f.Text, f.Request.Text))
			return
		}
		if f.Request.Kind == RequestQuestion && f.Text != "" { // as if a person had said it again
			s.editTask(f.Task, func(t *Task) {
				t.Run.Answers = append(slices.Clone(t.Run.Answers), QA{f.Request.Text, f.Text})
			})
		}
	case Signalled:
		s.editTask(f.Task, func(t *Task) {
			r := &t.Run
			progress := f.Signal.Kind == SignalProgress
			if progress {
				r.Progress, r.Note = f.Signal.Percent, f.Signal.Text
			}
			if k := r.Signalled.Kind; !progress || k == SignalNone || k == SignalProgress {
				r.Signalled = f.Signal // how far it is does not undo a word that ends the turn
			}
		})
	}
}

// turnsOver ends what belongs to turns under way, of a task or of all with "": what was
// asked in the middle of them, and what was signalled.
func (s *State) turnsOver(task TaskID) {
	s.dropTurnGates(task)
	forget := func(t *Task) { t.Run.Signalled = Signal{} }
	if task != "" {
		s.editTask(task, forget)
		return
	}
	for _, list := range [][]*Task{s.Plan.Tasks, s.Stages} {
		for _, t := range list {
			if t.Run.Signalled != (Signal{}) {
				s.editTask(t.ID, forget)
			}
		}
	}
}
