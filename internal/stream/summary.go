package stream

import (
	"slices"

	"github.com/ralph-loop/ralph"
)

// What a summary holds at the most.
const (
	sumErrors = 10
	sumFiles  = 100
	sumPlan   = 50
	sumText   = 500 // bytes of a plan's step, an error or a path
)

// Summary is what happened, in short. Items, files and unknown events are of
// all turns that began, subagents' too; the rest is the main thread's. Waited is left
// to whoever knows it.
func (s *Store) Summary() ralph.TurnSummary {
	var sum ralph.TurnSummary
	for _, th := range s.threads {
		for _, t := range th.turns {
			if t.state.Begun {
				t.sum(&sum, th == s.main)
			}
		}
	}
	sum.Unknown += s.dropped
	sum.Errors = last(sum.Errors, sumErrors)
	sum.Files = last(sum.Files, sumFiles)
	return sum
}

func (t *turn) sum(sum *ralph.TurnSummary, main bool) {
	for _, c := range t.state.Forgotten {
		sum.Items = count(sum.Items, c.Kind, c.N)
	}
	for i := range t.items {
		sum.Items = count(sum.Items, t.items[i].Kind, 1)
	}
	for _, f := range t.files {
		if f = head(f, sumText); !slices.Contains(sum.Files, f) {
			sum.Files = append(sum.Files, f)
		}
	}
	sum.Unknown += t.state.NUnknown
	sum.Requests += t.state.Requests
	if !main {
		return
	}
	if len(t.state.Plan) > 0 {
		sum.Plan = nil
		for _, p := range last(t.state.Plan, sumPlan) {
			sum.Plan = append(sum.Plan, ralph.PlanStep{Text: head(p.Text, sumText), Status: p.Status})
		}
	}
	for _, e := range t.state.Errors {
		sum.Errors = append(sum.Errors, head(e.Message, sumText))
	}
	if e := t.state.Err; e != nil && (len(t.state.Errors) == 0 || t.state.Errors[len(t.state.Errors)-1].Message != head(e.Message, maxMessage)) {
		sum.Errors = append(sum.Errors, head(e.Message, sumText))
	}
	sum.Compacts += t.state.Compacts
}
