package step

import (
	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/text"
)

// redTrailer names a check that is red at a commit and was passed over, with why.
const redTrailer = "Ralph-Check-Red"

// redTrailers are the trailers of the red checks that were passed over.
func redTrailers(list []ralph.PassedOver) []string {
	var out []string
	for _, p := range list {
		why := ", as before the work"
		if p.Person {
			why = ", let pass by a person"
		}
		out = append(out, redTrailer+": "+text.OneLine(p.Words())+why)
	}
	return out
}

// passedOver are the red checks at what a spec's commit holds: those of the integration
// branch's tip, in the checkout those of the task that was done last.
func passedOver(s *ralph.State) []ralph.PassedOver {
	var last *ralph.Task
	person := map[string]bool{}
	for _, t := range s.Plan.Tasks {
		if t.Status != ralph.TaskDone || t.Run.Checks == nil {
			continue
		}
		if last == nil || !t.Run.EndedAt.Before(last.Run.EndedAt) {
			last = t
		}
		for _, p := range t.Run.Checks.PassedOver() {
			person[p.Check] = person[p.Check] || p.Person
		}
	}
	if i := s.Plan.Integration; i != nil {
		b := s.Baseline(i.Tip)
		if b == nil {
			return nil
		}
		var out []ralph.PassedOver
		for _, r := range b.Reds {
			out = append(out, ralph.PassedOver{Check: r.Name, Failed: r.Failed, Person: person[r.Name]})
		}
		return out
	}
	if last == nil {
		return nil
	}
	return last.Run.Checks.PassedOver()
}
