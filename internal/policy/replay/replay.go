// Package replay owns deciding again: every recorded decision is taken once more on the state that it
// was taken on, with or without other settings, and a history is proved link by link. It decides
// nothing anew, and reads nothing: events, and what git remembers of them, are handed in.
package replay

import (
	"fmt"
	"iter"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/policy"
)

// ReplayOptions narrows a replay, or asks what other settings would have decided.
type ReplayOptions struct {
	Session ralph.SessionID // only its decisions; "" for all
	// With makes other settings of the recorded ones; nil for those.
	With func(recorded policy.Config) policy.Config
	// Advise, where With is, says what would be advised on a thread under the settings c; s is the
	// state before f. false: nobody knows, as a model would have to be asked. nil: what was advised.
	Advise func(s *ralph.State, f ralph.Advised, c policy.Config) (ralph.Advised, bool)
	// Look sees each fact with the state before it and the settings; nil: nobody looks.
	Look func(s *ralph.State, e ralph.Event, c policy.Config)
}

// Replayed is what deciding everything again came to.
type Replayed struct {
	Sessions    int          `json:"sessions"`
	Receipts    int          `json:"receipts"`
	Open        int          `json:"open,omitempty"` // that only a model could decide again
	Differ      int          `json:"differ"`
	Differences []Difference `json:"differences,omitempty"`
}

// Difference is one decision that comes out differently. Was and Now are the
// step with the rule and the words it was taken by.
type Difference struct {
	Seq  int64        `json:"seq"` // of the receipt
	Task ralph.TaskID `json:"task"`
	Was  string       `json:"was"`
	Now  string       `json:"now"`
	// Rules is the revision of the rules that decided, when it is not today's.
	Rules int `json:"rules,omitempty"`
}

// Replay takes every decision of the events again, from the state and the time
// that its receipt recorded, and compares. events must begin with the journal's
// first fact. An error means that the events cannot be replayed at all, never
// that a decision differs.
func Replay(events iter.Seq[ralph.Event], opt ReplayOptions) (Replayed, error) {
	var s ralph.State
	var c policy.Config
	var out Replayed
	known, rules := false, policy.Revision
	var due follows
	if opt.Advise != nil {
		due.advise = func(s *ralph.State, f ralph.Advised, c policy.Config) (ralph.Advised, bool) {
			if !opt.wants(s.Session.ID) {
				return f, true
			}
			return opt.Advise(s, f, c)
		}
	}
	for e := range events {
		if e.Seq != s.Seq+1 {
			return out, fmt.Errorf("replay: fact %d follows fact %d: facts are missing", e.Seq, s.Seq)
		}
		if f, ok := e.Fact.(ralph.SessionStarted); ok {
			recorded, err := policy.Decode(f.Config)
			if err != nil {
				return out, fmt.Errorf("replay fact %d: %w", e.Seq, err)
			}
			c, known, rules = recorded, true, max(1, recorded.Revision) // the first rules had no number
			if opt.With != nil {
				c = opt.With(recorded)
			}
			if opt.wants(f.ID) {
				out.Sessions++
			}
		}
		if r, ok := receipt(e.Fact); ok && opt.wants(s.Session.ID) {
			if !known {
				return out, fmt.Errorf("replay: fact %d is a decision before any session.started", e.Seq)
			}
			out.Receipts++
			if now, same := again(&s, r, c); !same {
				out.Differ++
				d := Difference{Seq: e.Seq, Task: r.Task, Was: inWords(r.Step, r.Why), Now: now}
				if rules != policy.Revision {
					d.Rules = rules
				}
				out.Differences = append(out.Differences, d)
			}
		}
		if d := due.add(&s, e, c); d != nil && known && opt.wants(s.Session.ID) {
			switch out.Receipts++; {
			case d.open:
				out.Open++
			case d.differs():
				out.Differ++
				x := Difference{Seq: d.seq, Task: d.task, Was: inFacts(d.got), Now: inFacts(d.want)}
				if rules != policy.Revision {
					x.Rules = rules
				}
				out.Differences = append(out.Differences, x)
			}
		}
		if a := answeredAgain(&s, e.Fact, c); a.decided && known && opt.With == nil && opt.wants(s.Session.ID) {
			out.Receipts++
			if !a.same {
				out.Differ++
				out.Differences = append(out.Differences, Difference{Seq: e.Seq, Task: e.Fact.About(), Was: a.was, Now: a.now})
			}
		}
		if opt.Look != nil && known && opt.wants(s.Session.ID) {
			opt.Look(&s, e, c)
		}
		s.Apply(e)
	}
	return out, nil
}

func (o ReplayOptions) wants(id ralph.SessionID) bool { return o.Session == "" || o.Session == id }

// receipt returns a decision as a receipt: a step, or the end of a task. An end
// that a person or an agent's answer set (BasedOnSeq is 0) was not decided by Next.
func receipt(f ralph.Fact) (ralph.StepStarted, bool) {
	switch f := f.(type) {
	case ralph.StepStarted:
		return f, true
	case ralph.TaskEnded:
		step := ralph.Finish{Status: f.Status, Retry: f.Retry}
		return ralph.StepStarted{Task: f.ID, Step: step, Why: f.Why, BasedOnSeq: f.BasedOnSeq, DecidedAt: f.DecidedAt}, f.BasedOnSeq > 0
	}
	return ralph.StepStarted{}, false
}

// again decides what r decided once more, and reports whether it is the same.
func again(s *ralph.State, r ralph.StepStarted, c policy.Config) (string, bool) {
	if s.Seq != r.BasedOnSeq {
		return fmt.Sprintf("cannot be decided again: the receipt saw fact %d but stands after fact %d", r.BasedOnSeq, s.Seq), false
	}
	step, why := policy.Next(s, r.Task, c, r.DecidedAt)
	if r.Why.Stop == "" {
		why.Stop = "" // older receipts do not name it
	}
	return inWords(step, why), ralph.SameStep(step, r.Step) && why == r.Why
}

func inWords(step ralph.Step, why ralph.Why) string {
	what := step.StepName()
	switch step := step.(type) {
	case ralph.Turn:
		what = fmt.Sprintf("turn %d of %s (%s)", step.Iteration, step.Agent, step.Stage)
	case ralph.Finish:
		what = "finish as " + string(step.Status)
	case ralph.Shelve:
		what = "shelve: " + step.How
	}
	if why.Rule == "" {
		return what
	}
	return fmt.Sprintf("%s, %s: %s", what, why.Rule, why.Text)
}
