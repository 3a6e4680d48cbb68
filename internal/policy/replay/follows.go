package replay

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/policy"
)

// What follows from a fact without a receipt of its own: the facts that AfterTurn adds to a
// turn, and what becomes of a request that nobody answered. They stand in the write of what
// they follow from, with the time that they were decided on, so that a replay decides them
// once more.

// follow is one such decision.
type follow struct {
	seq  int64 // of the fact that it is held against
	task ralph.TaskID
	want []ralph.Fact // what comes out now
	got  []ralph.Fact // what was recorded
	mine func(ralph.Fact) bool
	open bool // only a model could say what comes out now
}

// follows finds the decisions of a history.
type follows struct {
	open   *follow
	advise func(*ralph.State, ralph.Advised, policy.Config) (ralph.Advised, bool) // as ReplayOptions.Advise
}

// add takes in the next event; s is the state before it. It returns a decision whose write has
// ended with the event, nil for none.
func (d *follows) add(s *ralph.State, e ralph.Event, c policy.Config) *follow {
	if f := d.followsFrom(s, e, c); f != nil {
		d.open = f
	}
	x := d.open
	if x == nil {
		return nil
	}
	if x.mine(e.Fact) {
		x.got = append(x.got, e.Fact)
	}
	if e.More {
		return nil
	}
	d.open = nil
	return x
}

// followsFrom is the decision that an event begins, nil for none and for those of an older
// ralph, which did not record the time.
func (d *follows) followsFrom(s *ralph.State, e ralph.Event, c policy.Config) *follow {
	switch f := e.Fact.(type) {
	case ralph.TurnEnded:
		if f.Ended.IsZero() || e.Answers == 0 {
			return nil
		}
		return &follow{seq: e.Seq, task: f.Task, want: policy.AfterTurn(s, f, c), mine: func(x ralph.Fact) bool {
			switch x := x.(type) {
			case ralph.Noted:
				return x.Rule == ralph.RuleStuck
			case ralph.AgentLimited:
				return true
			}
			return false
		}}
	case ralph.Advised:
		known := true
		if d.advise != nil && s.Task(f.Task) != nil && s.Task(f.Task).Run.Thread != nil {
			f, known = d.advise(s, f, c)
		}
		return &follow{seq: e.Seq, task: f.Task, open: !known, want: policy.Tempered(s, f, c), mine: func(x ralph.Fact) bool {
			_, ok := x.(ralph.Decided)
			return ok
		}}
	case ralph.Answered:
		i := slices.IndexFunc(s.Approvals, func(g *ralph.Approval) bool { return g.ID == f.ID })
		if f.DecidedAt.IsZero() || i < 0 {
			return nil
		}
		want, _ := policy.Unanswered(s, s.Approvals[i], c, f.DecidedAt)
		return &follow{seq: e.Seq, task: s.Approvals[i].Task, want: want, mine: func(x ralph.Fact) bool {
			switch x.(type) {
			case ralph.Answered, ralph.Control:
				return true
			}
			return false
		}}
	}
	return nil
}

// differs reports whether something else comes out than was recorded.
func (f *follow) differs() bool {
	same := func(a, b ralph.Fact) bool {
		x, errX := json.Marshal(a)
		y, errY := json.Marshal(b)
		return a.Kind() == b.Kind() && errX == nil && errY == nil && string(x) == string(y)
	}
	return !slices.EqualFunc(f.want, f.got, same)
}

// inFacts are facts in words.
func inFacts(facts []ralph.Fact) string {
	if len(facts) == 0 {
		return "nothing follows"
	}
	var words []string
	for _, f := range facts {
		b, _ := json.Marshal(f) // it came out of a journal, or goes into one
		words = append(words, fmt.Sprintf("%s %s", f.Kind(), b))
	}
	return strings.Join(words, ", ")
}
