package ralph

import "encoding/json"

// Suggestion is what a model would answer to the questions that an agent asks in the middle of
// its turn. Whether that is the answer is decided by the rules.
type Suggestion struct {
	By         string          `json:"by,omitempty"`      // the model, "" where none could be asked
	Answers    []string        `json:"answers,omitempty"` // one for each question, in their order; none: it gave none that counts
	Reason     string          `json:"reason"`            // why, or why there is no answer
	Confidence float64         `json:"confidence"`
	Signature  string          `json:"signature"`       // the question with its version
	Record     json.RawMessage `json:"record,omitzero"` // what was asked of models and answered
	Usage      Usage           `json:"usage,omitzero"`  // of the models that were asked
}

// spent counts what models used that were asked about a suggestion.
func (x *Suggestion) spent(s *State, task TaskID) {
	if x != nil {
		s.advised(task, x.Usage)
	}
}

// advised counts what models used that were asked about a task.
func (s *State) advised(task TaskID, u Usage) {
	if u == (Usage{}) {
		return
	}
	s.Session.Usage = s.Session.Usage.Add(u)
	s.Plan.Usage = s.Plan.Usage.Add(u)
	s.count(func(t *Totals) { t.Usage = t.Usage.Add(u) })
	s.editTask(task, func(t *Task) { t.Run.Usage = t.Run.Usage.Add(u) })
}
