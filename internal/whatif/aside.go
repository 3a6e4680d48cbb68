package whatif

import (
	"encoding/json"
	"fmt"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/advice"
	"github.com/ralph-loop/ralph/internal/approval"
	"github.com/ralph-loop/ralph/internal/policy"
	"github.com/ralph-loop/ralph/internal/report"
	"github.com/ralph-loop/ralph/internal/signature"
	"github.com/ralph-loop/ralph/internal/text"
	"github.com/ralph-loop/ralph/internal/thread"
)

// aside is a question beside what comes after a turn, on the state that it was put on: a part of
// guidance, or what an agent asks in the middle of its turn.
type aside struct {
	thread ralph.TaskID
	turn   int
	what   string // the part, or the question
	put    advice.Question
	guides bool           // the models of guidance are asked
	asked  *advice.Record // what models were asked then; nil: none was
	was    end
	closed *end                             // what comes of it where no model is asked; nil: one may be
	comes  func(advice.Record) (end, error) // what comes of an answer
}

// end is what came of a question. The same follows from two with the same key.
type end struct{ words, key string }

// Aside is what became of such a question then, and under the other settings.
type Aside struct {
	Seq       int64        `json:"seq"`
	Thread    ralph.TaskID `json:"thread"`
	Turn      int          `json:"turn"` // in which it was asked; 0: before the first one
	Signature string       `json:"signature"`
	Question  string       `json:"question"` // the part of guidance, or the agent's words
	Then      string       `json:"then"`
	Now       string       `json:"now,omitempty"`   // "": only Model could tell
	Model     string       `json:"model,omitempty"` // that would be asked, or was
	From      string       `json:"from,omitempty"`  // recorded, kept, asked: where its answer is from
}

// asideOf is the question that a fact has the end of, nil for none; s is the state before it.
func asideOf(s *ralph.State, fact ralph.Fact, c policy.Config) (*aside, error) {
	switch f := fact.(type) {
	case ralph.Guided:
		return guidedAside(s, f, c)
	case ralph.RequestAnswered:
		return inputAside(s, f.Task, f.Request, f.Judged, f.Suggested, end{said(f.Suggested, f.Text, f.Rule), "say " + f.Text}, c)
	case ralph.Asked:
		if f.Approval.InTurn && f.Approval.Request != nil {
			_, why := thread.Reply(f.Suggested, policyLimits(c))
			return inputAside(s, f.Approval.Task, *f.Approval.Request, f.Judged, f.Suggested, end{said(f.Suggested, "", why), asksPerson}, c)
		}
	}
	return nil, nil
}

// asksPerson is the key of an end in which nobody but a person answers.
const asksPerson = "a person"

func policyLimits(c policy.Config) thread.Limits {
	return thread.Limits{MinConfidence: c.MinConfidence}
}

// guidedAside is a part of guidance, where the settings have any.
func guidedAside(s *ralph.State, f ralph.Guided, c policy.Config) (*aside, error) {
	t := s.Task(f.Task)
	if t == nil || t.Run.Thread == nil || t.Run.Thread.Guidance == nil || !c.Guidance || f.Part == ralph.GuideResearch {
		return nil, nil
	}
	l := policy.ThreadLimits(t, c)
	a := &aside{thread: f.Task, what: string(f.Part), guides: true}
	then, err := recordIn(f.Record)
	if err != nil {
		return nil, fmt.Errorf("read the record of the %s of %s: %w", f.Part, f.Task, err)
	}
	a.asked = then
	g := t.Run.Thread.Guidance
	in := struct {
		signature.DirectiveIn
		Requirements []string `json:"requirements"`
	}{thread.GuidanceInput(t, g.Summary, ""), g.Requirements}
	if then != nil && len(then.Input) > 0 { // as it was put
		if err := json.Unmarshal(then.Input, &in); err != nil {
			return nil, fmt.Errorf("read what the %s of %s was made of: %w", f.Part, f.Task, err)
		}
	}
	if a.put, err = advice.GuideQuestion(f.Part, in.DirectiveIn, in.Requirements); err != nil {
		return nil, err
	}
	of := func(f ralph.Guided) end { return end{report.GuidedWords(f), follows(f.With(t), l)} }
	a.was = of(f)
	a.comes = func(r advice.Record) (end, error) {
		fresh, err := advice.Guided(f.Part, r)
		return of(fresh), err
	}
	return a, nil
}

// follows is what is done after a part of guidance. Which words an agent is told is no difference.
func follows(t *ralph.Task, l thread.Limits) string {
	switch next := thread.Guide(t, l); {
	case next.Part != "":
		return string(next.Part)
	case next.Hold != "":
		return asksPerson
	case next.Said != "":
		return "answered"
	}
	return "begin"
}

// inputAside is a question of an agent, where a model was asked, or may be under the settings.
func inputAside(s *ralph.State, id ralph.TaskID, q ralph.Request, on *ralph.Judged, x *ralph.Suggestion, was end, c policy.Config) (*aside, error) {
	t := s.Task(id)
	if t == nil || t.Run.Thread == nil || q.Kind != ralph.RequestQuestion {
		return nil, nil
	}
	a := &aside{thread: id, turn: t.Run.Iterations + 1, was: was}
	if on != nil {
		if on.Request != nil {
			q = *on.Request
		}
		word, _ := approval.Clear(approval.Essence(q), c.Approval(), on.WorkDir, approval.ActiveRules(s, id, on.DecidedAt))
		switch {
		case word.Answered():
			a.closed = &end{"answered by " + word.Rule + ": " + word.Text, "say " + word.Text}
		case !thread.MaySuggest(t, q, word, c.Approval()):
			a.closed = &end{"a person is asked: " + word.Rule, asksPerson}
		}
	} else if q.Cut || x == nil { // it is not whole, and nobody knows what it was judged on
		return nil, nil
	}
	a.what = text.Line(text.SafeLine(q.Text), 200)
	state := thread.Of(s, t)
	state.TurnID = fmt.Sprintf("%s/%d", id, a.turn)
	a.put = advice.InputQuestion(&state, q)
	if x != nil {
		var err error
		if a.asked, err = recordIn(x.Record); err != nil {
			return nil, fmt.Errorf("read the record of a question of %s: %w", id, err)
		}
		var in signature.ToolInputIn
		if a.asked != nil && a.asked.In(a.put.Signature, &in) {
			a.put = advice.Put(signature.ToolInput(), in)
		}
	}
	a.comes = func(r advice.Record) (end, error) {
		x, err := advice.Suggested(q, r)
		words, why := thread.Reply(&x, policyLimits(c))
		if words == "" {
			return end{said(&x, "", why), asksPerson}, err
		}
		return end{said(&x, words, ""), "say " + words}, err
	}
	return a, nil
}

// said is what an agent was told, or why a person was asked.
func said(x *ralph.Suggestion, words, why string) string {
	if words == "" {
		return "a person is asked: " + text.Line(text.SafeLine(why), 400)
	}
	out := "answered: " + text.Line(text.SafeLine(words), 400)
	if x == nil {
		return out + " [" + text.Line(text.SafeLine(why), 200) + "]"
	}
	return fmt.Sprintf("%s [%s, confidence %.4g]", out, text.SafeLine(x.By), x.Confidence)
}

// recordIn is the record of a question, nil where no model was asked.
func recordIn(raw json.RawMessage) (*advice.Record, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	var r advice.Record
	if err := json.Unmarshal(raw, &r); err != nil {
		return nil, fmt.Errorf("it is no record: %w", err)
	}
	return &r, nil
}
