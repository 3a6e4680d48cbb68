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
		if f.Request.Kind == RequestQuestion && f.Text != "" { // as if a person had said it again
			s.editTask(f.Task, func(t *Task) {
				t.Run.Answers = append(slices.Clone(t.Run.Answers), QA{f.Request.Text, f.Text})
			})
		}
	case Signalled:
		s.editTask(f.Task, func(t *Task) {
			if f.Signal.Kind == SignalProgress {
				t.Run.Progress = f.Signal.Percent
				return
			}
			t.Run.Signalled = f.Signal
		})
	}
}
