package observe

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/policy/replay"
	"github.com/ralph-loop/ralph/internal/report"
	"github.com/ralph-loop/ralph/internal/report/receipts"
)

// Facts are read in their order, those after one.
type Facts interface {
	Each(after int64, visit func(ralph.Event) error) error
}

// Evidence is one receipt with what it saw, read from a state before it on, which it takes
// over; step, if there is one, is called for each fact.
func Evidence(j Facts, s *ralph.State, seq int64, step func() error) (receipts.Evidence, error) {
	var x receipts.Evidence
	ask := receipts.Receipts{Only: seq}
	kind := ""
	err := j.Each(s.Seq, func(e ralph.Event) error {
		if e.Seq == seq {
			kind = e.Fact.Kind()
			if err := see(&x, s, e); err != nil {
				return err
			}
		}
		ask.Add(e, s)
		if e.Seq > seq && ask.Ended() {
			return errEnough // nothing after it says more
		}
		s.Apply(e)
		if step != nil {
			return step()
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	list := ask.List()
	switch {
	case err != nil:
		return x, err
	case kind == "":
		return x, &ralph.Refusal{Why: fmt.Sprintf("there is no fact %d: the journal has %d", seq, s.Seq), Hint: "`[[receipts]]` lists the decisions", Kind: ralph.ErrNotFound}
	case len(list) == 0:
		return x, &ralph.Refusal{Why: fmt.Sprintf("fact %d (%s) is no decision", seq, kind), Hint: "`[[receipts]]` lists the decisions, `[[log --json]]` has every fact", Kind: ralph.ErrNotFound}
	}
	x.Receipt = list[0]
	return x, nil
}

// see notes what the decision of e looked at; s is the state before it.
func see(x *receipts.Evidence, s *ralph.State, e ralph.Event) error {
	again, ok, err := replay.Redecide(s, e.Fact)
	if !ok || err != nil {
		return err
	}
	x.State, x.Config, x.Line = receipts.SeenOf(s, report.About(e.Fact)), s.Session.Config, e.Hash
	x.Same, x.Again, x.Rules = again.Same, again.Now, again.Rules
	if f, ok := e.Fact.(ralph.StepStarted); ok {
		if x.Args, err = json.Marshal(f.Step); err != nil {
			return fmt.Errorf("encode the step of fact %d: %w", e.Seq, err)
		}
	}
	return nil
}

// errEnough ends the reading of facts early.
var errEnough = errors.New("enough")
