// Package whatif owns what would have been decided otherwise: a decision of a thread put to
// another model, and a whole history under other settings, with what that would have cost.
// It writes no fact; what models answer is kept beside the journal.
//
// It does NOT own decisions (policy, thread) or how models are asked (advice).
package whatif

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/advice"
	"github.com/ralph-loop/ralph/internal/journal"
	"github.com/ralph-loop/ralph/internal/policy"
	"github.com/ralph-loop/ralph/internal/signature"
	"github.com/ralph-loop/ralph/internal/thread"
)

// Question is what comes after a turn of a thread, or one of the questions beside that, as it can be put to any model.
type Question struct {
	Receipt int64 // of the decision; 0: it is asked on the state as it stands
	Thread  ralph.TaskID
	State   thread.State
	Limits  thread.Limits
	Now     time.Time
	Open    bool   // the rules would go on: else no model is asked
	Rules   string // what they say where not
	Then    *Word  // what was decided; nil: nothing yet
	Guides  bool   // the models of guidance are asked

	put   advice.Question
	aside *aside // it is one of these; nil: it is what comes after a turn
}

// Word is a piece of advice with what the rules made of it.
type Word struct {
	By         string               `json:"by"`
	Advised    ralph.ThreadAction   `json:"advised"`
	Confidence float64              `json:"confidence"`
	Decision   ralph.ThreadDecision `json:"decision"`
}

// Words says what was decided, in a line.
func (w Word) Words() string {
	d := w.Decision
	action := string(d.Action)
	if d.Stop != "" {
		action += " (" + d.Stop + ")"
	}
	who := fmt.Sprintf("%s, confidence %.4g", w.By, w.Confidence)
	if d.Overridden {
		who = fmt.Sprintf("%s advised %s, confidence %.4g: overridden", w.By, w.Advised, w.Confidence)
	}
	return fmt.Sprintf("%s: %s [%s; %s]", action, d.Reason, who, d.Rule)
}

// errEnough ends the reading of a journal early.
var errEnough = errors.New("enough")

// Find is the question of a receipt of `decide` or `guide`, or of the fact of an agent's question,
// as it was put then.
func Find(j *journal.File, receipt int64) (Question, error) {
	var s ralph.State
	var begun *ralph.StepStarted
	var q Question
	kind := ""
	err := j.Each(0, func(e ralph.Event) error {
		switch f := e.Fact.(type) {
		case ralph.StepStarted:
			switch f.Step.(type) {
			case ralph.Decide, ralph.Guide:
				if e.Seq == receipt {
					begun = &f
				}
			}
		case ralph.Advised:
			if e.Seq != receipt && (e.Answers == 0 || e.Answers != receipt) {
				break
			}
			found, err := asked(&s, f)
			if err != nil {
				return err
			}
			q = found
			q.Receipt = receipt
			return errEnough
		case ralph.Guided, ralph.RequestAnswered, ralph.Asked:
			if e.Seq != receipt && (e.Answers == 0 || e.Answers != receipt) {
				break
			}
			found, err := beside(&s, e.Fact)
			if err != nil {
				return err
			}
			if found != nil {
				q = Question{Receipt: receipt, Thread: found.thread, Open: found.closed == nil, Guides: found.guides, put: found.put, aside: found}
				return errEnough
			}
		}
		if e.Seq == receipt {
			kind = e.Fact.Kind()
		}
		s.Apply(e)
		return nil
	})
	hint := "`[[receipts]] --json` has the decisions on threads as \"step\": \"decide\", and their guidance as \"guide\""
	switch {
	case errors.Is(err, errEnough):
		return q, nil
	case err != nil:
		return q, err
	case begun != nil:
		return q, &ralph.Refusal{Why: fmt.Sprintf("receipt %d has no decision yet: it is being made, or was lost", receipt), Hint: "`[[receipts]]` shows what became of it", Kind: ralph.ErrUsage}
	case kind == "":
		return q, &ralph.Refusal{Why: fmt.Sprintf("there is no fact %d: the journal has %d", receipt, s.Seq), Hint: hint, Kind: ralph.ErrNotFound}
	}
	return q, &ralph.Refusal{Why: fmt.Sprintf("fact %d (%s) is nothing that a model could be asked", receipt, kind), Hint: hint, Kind: ralph.ErrUsage}
}

// beside is the question that a fact has the end of, under the settings of its session.
func beside(s *ralph.State, f ralph.Fact) (*aside, error) {
	if len(s.Session.Config) == 0 {
		return nil, nil
	}
	c, err := policy.Decode(s.Session.Config)
	if err != nil {
		return nil, fmt.Errorf("read the settings of the session: %w", err)
	}
	return asideOf(s, f, c)
}

// asked is the question of advice; s is the state before it.
func asked(s *ralph.State, f ralph.Advised) (Question, error) {
	t := s.Task(f.Task)
	if t == nil || t.Run.Thread == nil {
		return Question{}, fmt.Errorf("read the decision on %s: it is no thread", f.Task)
	}
	c, err := policy.Decode(s.Session.Config)
	if err != nil {
		return Question{}, fmt.Errorf("read the settings of the session: %w", err)
	}
	q, err := ask(s, t, c, f.DecidedAt)
	if err != nil {
		return q, err
	}
	if err := q.putAs(s, f); err != nil {
		return q, err
	}
	then := thread.Advice{Action: f.Action, NextInput: f.NextInput, Reason: f.Reason, Confidence: f.Confidence}
	q.Then = q.word(then, f.By)
	return q, nil
}

// putAs makes it the question of advice, as it was put or would have been.
func (q *Question) putAs(s *ralph.State, f ralph.Advised) error {
	r, err := recordOf(f)
	if err != nil {
		return err
	}
	if q.Guides {
		var in signature.DirectiveIn
		if r == nil || !r.In(signature.Directive().Info().Name, &in) {
			in = q.directive(s.Task(f.Task))
		}
		q.put = advice.Put(signature.Directive(), in)
		return nil
	}
	var in signature.DecisionIn
	if r == nil || !r.In(signature.Decision().Info().Name, &in) {
		if err := json.Unmarshal(f.Input, &in); err != nil {
			return fmt.Errorf("read what the decision on %s after turn %d was made on: %w", f.Task, f.Turn, err)
		}
	}
	q.put = advice.Put(signature.Decision(), in)
	return nil
}

// directive is what a model is shown for a directive, with the repository as guidance saw it.
func (q *Question) directive(t *ralph.Task) signature.DirectiveIn {
	in := thread.GuidanceInput(t, t.Run.Thread.Guidance.Summary, "")
	in.LastMessage = q.State.Message
	in.DiffSummary = signature.Diff{Files: q.State.Diff.Files, Added: q.State.Diff.Added, Deleted: q.State.Diff.Deleted}
	return in
}

// Standing is the question of a thread as it stands now.
func Standing(s *ralph.State, id ralph.TaskID, c policy.Config, now time.Time, history int) (Question, error) {
	t := s.Task(id)
	if t == nil || t.Run.Thread == nil {
		return Question{}, &ralph.Refusal{Why: fmt.Sprintf("there is no thread %s", id), Hint: "`[[threads]]` lists the threads", Kind: ralph.ErrNotFound}
	}
	if t.Run.Last == nil {
		return Question{}, &ralph.Refusal{Why: fmt.Sprintf("thread %s has had no turn after which something could be decided", id), Hint: "`[[threads]]` lists the threads", Kind: ralph.ErrUsage}
	}
	q, err := ask(s, t, c, now)
	if err != nil {
		return q, err
	}
	if q.Guides {
		q.put = advice.Put(signature.Directive(), q.directive(t))
		return q, nil
	}
	shown := q.State
	shown.Decisions = shown.Decisions[max(0, len(shown.Decisions)-history):]
	q.put = advice.Put(signature.Decision(), shown.Input())
	return q, nil
}

// ask is what a question is decided on. A turn that goes on meanwhile is not looked at: what is
// asked is what comes after the one before.
func ask(s *ralph.State, t *ralph.Task, c policy.Config, now time.Time) (Question, error) {
	q := Question{Thread: t.ID, State: thread.Of(s, t), Limits: policy.ThreadLimits(t, c), Now: now, Guides: c.Guidance && t.Run.Thread.Guidance != nil}
	q.State.Open = false
	f, _, err := policy.Advice(s, t, c, now)
	if err != nil {
		return q, err
	}
	rules := q.word(thread.Advice{Action: f.Action, NextInput: f.NextInput, Reason: f.Reason, Confidence: f.Confidence}, f.By)
	if q.Open = rules.By == thread.ByRules && rules.Decision.Action == ralph.ThenContinue; !q.Open {
		q.Rules = rules.Words()
	}
	return q, nil
}

// word is what the rules make of advice.
func (q Question) word(a thread.Advice, by string) *Word {
	d := thread.Temper(a, by, &q.State, q.Limits, q.Now)
	return &Word{By: by, Advised: a.Action, Confidence: a.Confidence, Decision: d}
}

// recordOf is what models were asked and said; nil where none was asked.
func recordOf(f ralph.Advised) (*advice.Record, error) {
	r, err := recordIn(f.Record)
	if err != nil {
		return nil, fmt.Errorf("read the record of the decision on %s after turn %d: %w", f.Task, f.Turn, err)
	}
	return r, nil
}

// Answer is what another model says to a question.
type Answer struct {
	Receipt int64        `json:"receipt,omitempty"`
	Thread  ralph.TaskID `json:"thread"`
	Turn    int          `json:"turn"`
	Then    *Word        `json:"then,omitempty"`
	Now     *Word        `json:"now,omitempty"`
	Aside   *Aside       `json:"question,omitempty"` // instead of both, where it is not what comes after a turn
	Same    bool         `json:"same"`               // as then; false without one
	// Record is what was asked and answered, with its tokens and cost; outcome unasked: the rules
	// leave nothing open.
	Record advice.Record `json:"record"`
	Kept   string        `json:"kept,omitempty"` // the file that the record was added to
}

// Ask puts the question to models. An error is that of ctx.
func (q Question) Ask(ctx context.Context, c advice.Chain) (Answer, error) {
	out := Answer{Receipt: q.Receipt, Thread: q.Thread, Turn: q.State.Turn, Then: q.Then}
	if q.aside != nil {
		return q.askAside(ctx, c, out)
	}
	if !q.Open {
		out.Record = unasked(q.put, "the rules leave nothing open: "+q.Rules)
		if out.Now, out.Same = q.Then, true; q.Then == nil {
			out.Now, out.Same = q.word(thread.Rules(&q.State), thread.ByRules), false
		}
		return out, nil
	}
	r, err := q.put.Ask(ctx, c)
	if err != nil {
		return out, fmt.Errorf("ask a model what comes next: %w", err)
	}
	said, by, err := advice.Advised(r, &q.State)
	if err != nil {
		return out, fmt.Errorf("read what a model says: %w", err)
	}
	out.Record, out.Now = r, q.word(said, by)
	out.Same = same(q.Then, out.Now)
	return out, nil
}

// askAside puts a question to models that is not what comes after a turn.
func (q Question) askAside(ctx context.Context, c advice.Chain, out Answer) (Answer, error) {
	a := q.aside
	out.Turn = a.turn
	out.Aside = &Aside{Seq: q.Receipt, Thread: a.thread, Turn: a.turn, Signature: a.put.Signature, Question: a.what, Then: a.was.words}
	if a.closed != nil {
		out.Record = unasked(a.put, a.closed.words)
		out.Aside.Now, out.Same = a.closed.words, a.closed.key == a.was.key
		return out, nil
	}
	r, err := a.put.Ask(ctx, c)
	if err != nil {
		return out, fmt.Errorf("ask a model: %w", err)
	}
	now, err := a.comes(r)
	if err != nil {
		return out, fmt.Errorf("read what a model says: %w", err)
	}
	out.Record, out.Aside.Now, out.Aside.Model, out.Same = r, now.words, r.By, now.key == a.was.key
	return out, nil
}

// unasked is the record of a question that no model was asked.
func unasked(q advice.Question, why string) advice.Record {
	return advice.Record{Signature: q.Signature, Version: q.Version, Hash: q.Hash, Outcome: advice.Unasked, Why: why}
}

// same reports whether the same is done: whose words it was, and which, is no difference.
func same(a, b *Word) bool {
	return a != nil && a.Decision.Action == b.Decision.Action && a.Decision.Stop == b.Decision.Stop
}
