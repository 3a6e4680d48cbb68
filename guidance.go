package ralph

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"
)

// GuidancePart is a part of what models make of a thread's first message before its first turn.
type GuidancePart string

// The parts.
const (
	GuideResearch   GuidancePart = "research"   // how the repository stands; no model is asked
	GuideRoute      GuidancePart = "route"      // whether the message is answered, understood or planned
	GuideUnderstand GuidancePart = "understand" // what is wanted
	GuidePlan       GuidancePart = "plan"       // the steps to it
	GuideDirective  GuidancePart = "directive"  // what the agent is told for its first turn
)

// Guide has a model make one part of a thread's guidance. It changes nothing.
type Guide struct {
	Part GuidancePart `json:"part"`
}

// StepName implements Step.
func (Guide) StepName() string { return "guide" }

// GuidedStep is a step of the plan that a model made.
type GuidedStep struct {
	Text  string `json:"text"`
	Check string `json:"check,omitempty"` // how to see that it is done
}

// GuidanceWords are what the parts have come to.
type GuidanceWords struct {
	Summary      string       `json:"summary,omitempty"` // how the repository stands
	Route        string       `json:"route,omitempty"`   // respond, understand, plan
	Response     string       `json:"response,omitempty"`
	Understood   string       `json:"understood,omitempty"` // what is wanted
	Requirements []string     `json:"requirements,omitempty"`
	Assumptions  []string     `json:"assumptions,omitempty"`
	Steps        []GuidedStep `json:"steps,omitempty"`
	Action       ThreadAction `json:"action,omitempty"` // of the directive
	Directive    string       `json:"directive,omitempty"`
}

// Add fills in what another part has come to.
func (w *GuidanceWords) Add(x GuidanceWords) {
	w.Summary, w.Route, w.Response = cmp.Or(x.Summary, w.Summary), cmp.Or(x.Route, w.Route), cmp.Or(x.Response, w.Response)
	w.Directive, w.Action = cmp.Or(x.Directive, w.Directive), cmp.Or(x.Action, w.Action)
	if w.Understood = cmp.Or(x.Understood, w.Understood); x.Understood != "" {
		w.Requirements, w.Assumptions = slices.Clone(x.Requirements), slices.Clone(x.Assumptions)
	}
	if len(x.Steps) > 0 {
		w.Steps = slices.Clone(x.Steps)
	}
}

// Guidance is how far the guidance of a thread is.
type Guidance struct {
	GuidanceWords
	Last       GuidancePart `json:"last"`
	Outcome    string       `json:"outcome"` // of the last part: answered, invalid, refused, nobody
	Reason     string       `json:"reason,omitempty"`
	Confidence float64      `json:"confidence,omitempty"`
	QA         int          `json:"qa,omitempty"` // how many questions had been answered by then
}

// The outcomes of a part. Others say why there is no answer that counts.
const (
	GuidedAnswered = "answered"
	GuidedNobody   = "nobody" // no model could be asked
)

// Guided is the outcome of Guide: what one part has come to.
type Guided struct {
	Task TaskID       `json:"task"`
	Part GuidancePart `json:"part"`
	GuidanceWords
	By         string          `json:"by,omitempty"` // the model; ralph for what no model says
	Outcome    string          `json:"outcome"`
	Reason     string          `json:"reason"`
	Confidence float64         `json:"confidence"`
	Signature  string          `json:"signature,omitempty"`
	Record     json.RawMessage `json:"record,omitzero"` // what was asked of models and answered
	Usage      Usage           `json:"usage,omitzero"`
	Took       time.Duration   `json:"took"`
}

// Kind implements Fact.
func (Guided) Kind() string { return "guided" }

// About implements Fact.
func (f Guided) About() TaskID { return f.Task }

func (f Guided) fold(s *State, _ Event) {
	s.advised(f.Task, f.Usage)
	s.editTask(f.Task, func(t *Task) {
		t.Run.InFlight = 0
		t.Run.editThread(func(th *Thread) { th.Guidance = f.on(t) })
	})
}

// on is the guidance of a thread with one part more.
func (f Guided) on(t *Task) *Guidance {
	g := Guidance{Last: f.Part, Outcome: f.Outcome, Reason: f.Reason, Confidence: f.Confidence, QA: len(t.Run.Answers)}
	if th := t.Run.Thread; th.Guidance != nil {
		g.GuidanceWords = th.Guidance.GuidanceWords
	}
	g.Add(f.GuidanceWords)
	return &g
}

// With is a thread as it would be with one part of guidance more.
func (f Guided) With(t *Task) *Task {
	fresh := *t
	fresh.Run.editThread(func(th *Thread) { th.Guidance = f.on(t) })
	return &fresh
}

// Responded reports whether a thread's first message was answered, and needed no work.
func (t *Task) Responded() bool {
	th := t.Run.Thread
	return th != nil && th.Guidance != nil && th.Guidance.Response != "" && t.Run.Iterations == 0
}
