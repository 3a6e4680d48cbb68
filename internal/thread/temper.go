package thread

import (
	"fmt"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/signature"
	"github.com/ralph-loop/ralph/internal/text"
)

// Advice is what a model, a review or the rules say should come next.
type Advice = signature.DecisionOut

// Who advises where no model does.
const (
	ByRules  = "rules"
	ByReview = "review"
)

// Temper says what becomes of advice: the rules have the last word. A hard stop wins over
// everything, then what a person wants, then the other stop conditions, then it is asked
// whether the advice is one, is sure enough, and whether the thread is in a state to go on by
// itself. It looks at nothing but its arguments.
func Temper(a signature.DecisionOut, by string, s *State, l Limits, now time.Time) Decision {
	d := Decision{
		Turn: s.Turn, Action: a.Action, NextInput: a.NextInput, Reason: line(a.Reason), Confidence: a.Confidence,
		By: by, Advised: a.Action, Rule: "E-038",
	}
	valid := sound(a)
	if !valid { // nothing of it is kept: it may be of any kind
		d.Confidence, d.NextInput, d.Advised = 0, "", ""
	}
	stops := Stops(s, l, now)
	low := a.Confidence < l.MinConfidence
	unsafe := s.unsafe()
	switch {
	case len(stops) > 0 && stops[0].Hard:
		halt(&d, signature.ActionStop, stops[0])
	case s.Want == WantPause:
		hold(&d, "B-058", "you paused it")
	case len(stops) > 0 && stops[0].Name == StopFinished && s.Changed && !l.NoReview:
		set(&d, signature.ActionReview, "E-103", "the agent says that it is finished, and nobody has looked at what it changed")
	case len(stops) > 0:
		halt(&d, signature.ActionStop, stops[0])
	case !valid:
		hold(&d, "E-048", "the advice is none: "+wrong(a))
	case low && a.Action != signature.ActionPause:
		hold(&d, "E-053", fmt.Sprintf("the confidence of %s is %.4g, below %.4g: %s", a.Action, a.Confidence, l.MinConfidence, d.Reason))
	case unsafe != "" && (a.Action == signature.ActionContinue || a.Action == signature.ActionReview):
		hold(&d, "E-053", unsafe)
	case a.Action == signature.ActionStop && s.Changed && !l.NoReview:
		set(&d, signature.ActionReview, "E-103", "nobody has looked at what the agent changed: "+d.Reason)
	}
	if d.Action != signature.ActionContinue {
		d.NextInput = ""
	} else {
		d.NextInput = Message(s.Goal, d.NextInput)
	}
	d.Overridden = d.Action != d.Advised
	return d
}

func set(d *Decision, action signature.Action, rule, reason string) {
	d.Action, d.Rule, d.Reason = action, rule, line(reason)
}

func hold(d *Decision, rule, reason string) { set(d, signature.ActionPause, rule, reason) }

func halt(d *Decision, action signature.Action, stop Stop) {
	set(d, action, stop.Rule, stop.Text)
	d.Stop = stop.Name
}

// sound reports whether advice is of its type, whoever made it: an answer was parsed, but
// advice may also come from a record or a person's script.
func sound(a signature.DecisionOut) bool { return wrong(a) == "" }

func wrong(a signature.DecisionOut) string {
	switch a.Action {
	case signature.ActionContinue, signature.ActionPause, signature.ActionStop, signature.ActionReview:
	default:
		return fmt.Sprintf("action %q", text.Cut(string(a.Action), 40))
	}
	if err := a.Check(signature.DecisionIn{}); err != nil {
		return err.Error()
	}
	return ""
}

// unsafe says why the thread must not go on by itself, whatever the advice; "" when it may.
func (s *State) unsafe() string {
	switch {
	case len(s.Pending) > 0:
		return text.Plural(len(s.Pending), "request of the agent is", "requests of the agent are") + " not answered"
	case len(s.Held) > 0:
		return "in its last turn the agent wanted what only a person allows: " + strings.Join(s.Held, "; ")
	case s.Open:
		return "a turn is under way"
	}
	return ""
}

// Rules is the advice of the rules alone: they go on until a stop condition holds, or the agent
// says that it cannot. Their confidence is 1.
func Rules(s *State) signature.DecisionOut {
	out := signature.DecisionOut{Action: signature.ActionContinue, Reason: "no stop condition holds", Confidence: 1}
	switch {
	case s.Status == ralph.TurnFailed:
		out.Reason = "the turn failed, which may pass: " + s.because()
		out.NextInput = "The last turn ended with an error before you were done. Look at how things stand, then go on."
	case s.Blocked != "":
		out.Action, out.Reason = signature.ActionPause, "the agent says that it is blocked: "+s.Blocked
	case s.Red:
		out.Reason = "the agent says that it is finished, and a check fails"
		out.NextInput = "You said that you are finished, and the checks do not pass. Mend what they name, see them pass, then say so again."
	}
	return out
}

// Message is what the agent is told for its next turn. The person's own words stand in each
// one, so that a thread does not drift.
func Message(goal, words string) string {
	if strings.TrimSpace(words) == "" {
		words = "Go on with what is left. When all of it is done and you have seen it work, say that it is finished."
	}
	if strings.TrimSpace(goal) == "" {
		return words
	}
	return "The goal, in the words of the person who set it:\n" + goal + "\n\nNow:\n" + words
}
