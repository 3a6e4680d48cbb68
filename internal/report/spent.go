package report

import "github.com/ralph-loop/ralph"

// SpentBy is what a fact says that was used, by agents and by models that were asked: what State adds up, for whoever
// sums over another stretch of the journal. ok is false where a fact says nothing of that.
func SpentBy(fact ralph.Fact) (u ralph.Usage, ok bool) {
	switch f := fact.(type) {
	case ralph.TurnEnded:
		return f.Spent(), true
	case ralph.Compacted:
		return f.Spent(), true
	case ralph.StepLate:
		return f.Spent(), true
	case ralph.Guided:
		u = f.Usage
	case ralph.Advised:
		u = f.Usage
	case ralph.Asked:
		u = suggested(f.Suggested)
	case ralph.RequestAnswered:
		u = suggested(f.Suggested)
	}
	return u, u != ralph.Usage{}
}

func suggested(x *ralph.Suggestion) ralph.Usage {
	if x == nil {
		return ralph.Usage{}
	}
	return x.Usage
}
