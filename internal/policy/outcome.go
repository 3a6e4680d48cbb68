package policy

import (
	"fmt"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/text"
)

// OutcomeFacts are what is recorded of a step that was carried out: its facts and what follows
// from them, decided on the state that they are written to. What comes when its task is not
// at that step any more counts for nothing but what it cost (ralph.StepLate); what the step
// saw of the world stays, as it is so whoever looked.
func OutcomeFacts(s *ralph.State, receipt int64, r ralph.StepStarted, facts []ralph.Fact, c Config) []ralph.Fact {
	if s.Flying(r.Task, receipt) {
		for _, f := range facts {
			if turn, ok := f.(ralph.TurnEnded); ok {
				facts = append(facts, AfterTurn(s, turn, c)...)
				break
			}
			if advice, ok := f.(ralph.Advised); ok {
				facts = append(facts, Tempered(s, advice, c)...)
				break
			}
		}
		return facts
	}
	late := ralph.StepLate{Task: r.Task, Receipt: receipt, Step: r.Step.StepName(), Usage: ralph.Usage{Known: true}, Text: atInstead(s, r.Task)}
	var stays []ralph.Fact
	for _, f := range facts {
		switch f := f.(type) {
		case ralph.CheckoutFound, ralph.SavedWork, ralph.HookRan, ralph.Control:
			stays = append(stays, f)
			continue
		case ralph.TurnEnded:
			late.Usage = f.Spent()
		case ralph.Compacted:
			late.Usage = f.Spent()
		case ralph.Advised:
			late.Usage = f.Usage
		case ralph.Guided:
			late.Usage = f.Usage
		}
		late.Facts = append(late.Facts, f.Kind())
	}
	return append(stays, late)
}

// Lost is what is recorded of a step that has no outcome; cause is as in ralph.StepLost.
func Lost(receipt int64, r ralph.StepStarted, cause, words string) ralph.StepLost {
	return ralph.StepLost{Task: r.Task, Receipt: receipt, Step: r.Step.StepName(), Cause: cause, Text: text.Cut(words, maxCause)}
}

// maxCause is how many bytes of an error are kept as the cause of a lost step.
const maxCause = 1 << 10

// atInstead says where a task is whose step's outcome came too late.
func atInstead(s *ralph.State, id ralph.TaskID) string {
	t := s.Task(id)
	switch {
	case t == nil:
		return "the task is no longer in the plan"
	case t.Run.InFlight != 0:
		return fmt.Sprintf("it is at another step by now: %s (fact %d)", t.Run.Doing, t.Run.InFlight)
	case t.Status != ralph.TaskActive:
		return fmt.Sprintf("it is %s by now", t.Status)
	}
	return "the step was given up before"
}
