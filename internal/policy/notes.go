package policy

import (
	"fmt"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/text"
)

// AfterTurn returns the facts that follow from a turn besides its own: the
// stuck warning, once until there is progress again (B-017), and the
// limit of an agent, shared by all tasks. s is the state before the turn's fact. It is decided on the time that the turn
// ended.
func AfterTurn(s *ralph.State, f ralph.TurnEnded, c Config) []ralph.Fact {
	t := s.Task(f.Task)
	if t == nil {
		return nil
	}
	var facts []ralph.Fact
	unchanged := t.Run.Unchanged + 1
	idle := !f.Changed && !f.Failed() // a turn that an error cut short says nothing about progress
	if t.IsBuild() && idle && !t.Run.Warned && c.StuckThreshold > 0 && unchanged >= c.StuckThreshold && !c.stops(unchanged) {
		what := "change"
		if c.OnlyCommits { // task.progress: commit
			what = "commit"
		}
		words := fmt.Sprintf("%s may be stuck: %s without a %s; it goes on", describe(t), text.Count(unchanged, "iteration"), what)
		facts = append(facts, ralph.Noted{Task: t.ID, Text: words, Rule: ralph.RuleStuck})
	}
	if f.Limited() {
		facts = append(facts, limited(s, t, f, c.under(s.Session.Auto), f.Ended))
	}
	return facts
}
