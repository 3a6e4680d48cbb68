package thread

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/signature"
	"github.com/ralph-loop/ralph/internal/text"
)

// The rules of guidance.
const (
	RuleGuided  = "E-055" // the first message goes through typed questions
	RuleRespond = "E-060" // a message that needs no work is answered
	RuleSuper   = "E-063" // a message that says no goal: the repository says what is next
)

// Minimal reports whether a message says no goal, but only to begin: then the repository says
// what is next.
func Minimal(message string) bool {
	words := strings.FieldsFunc(strings.ToLower(message), func(r rune) bool { return !('a' <= r && r <= 'z' || r == '\'') })
	return slices.Contains([]string{"go", "go go go", "go on", "go ahead", "just go", "just do it", "do it", "let's go", "start", "begin", "continue", "proceed", "yes", "ok", "ok go"}, strings.Join(words, " "))
}

// Guiding is what comes next in the guidance of a thread before its first turn. The zero value: it
// is over, and the turn begins.
type Guiding struct {
	Part ralph.GuidancePart // is made next
	Hold string             // a person is asked: why
	Said string             // the message is answered, and needs no work
	Rule string
}

// Guide says what comes next in the guidance of a thread that is to be guided. Each part is held to the
// rules by which advice is: what is no answer, or is not sure enough, waits for a person. Where no
// model can be asked, the thread begins with its person's own words, if these say a goal.
func Guide(t *ralph.Task, l Limits) Guiding {
	g, super := t.Run.Thread.Guidance, Minimal(t.Goal())
	rule := RuleGuided
	if super {
		rule = RuleSuper
	}
	hold := func(rule, format string, args ...any) Guiding {
		return Guiding{Hold: line(fmt.Sprintf(format, args...)), Rule: rule}
	}
	switch {
	case g == nil:
		return Guiding{Part: ralph.GuideResearch, Rule: rule}
	case len(t.Run.Answers) > g.QA: // a person has said how it goes on
		return Guiding{}
	case g.Outcome == ralph.GuidedNobody && !super:
		return Guiding{}
	case g.Outcome == ralph.GuidedNobody:
		return hold(rule, "no model could be asked what %q means here: %s: what is wanted", t.Goal(), g.Reason)
	case g.Outcome != ralph.GuidedAnswered:
		return hold("E-048", "the %s has no answer that counts: %s: go on, or what is wanted", g.Last, g.Reason)
	case !(g.Confidence >= l.MinConfidence):
		return hold("E-053", "the confidence of the %s is %.4g, below %.4g: %s: go on, or what is wanted", g.Last, g.Confidence, l.MinConfidence, g.Reason)
	}
	if part := nextPart(g, super); part != "" {
		return Guiding{Part: part, Rule: rule}
	}
	switch {
	case g.Last == ralph.GuideRoute && g.Route == string(signature.RouteRespond):
		return Guiding{Said: g.Response, Rule: RuleRespond}
	case g.Last == ralph.GuideDirective && g.Action != ralph.ThenContinue:
		return hold("E-038", "the directive is to %s: %s: go on, or what is wanted", g.Action, g.Reason)
	}
	return Guiding{}
}

// nextPart is the part after the last one, "" for none.
func nextPart(g *ralph.Guidance, super bool) ralph.GuidancePart {
	switch {
	case g.Last == ralph.GuideResearch && !super:
		return ralph.GuideRoute
	case g.Last == ralph.GuideResearch, g.Last == ralph.GuideRoute && g.Route == string(signature.RouteUnderstand):
		return ralph.GuideUnderstand
	case super && g.Last == ralph.GuideUnderstand, g.Last == ralph.GuideRoute && g.Route == string(signature.RoutePlan):
		return ralph.GuidePlan
	case super && g.Last == ralph.GuidePlan:
		return ralph.GuideDirective
	}
	return ""
}

// Opening is what a guided thread is told for its first turn beside the words of its person, "" for
// nothing.
func Opening(t *ralph.Task) string {
	g := t.Run.Thread.Guidance
	if g == nil || g.Outcome != ralph.GuidedAnswered && g.Understood == "" && len(g.Steps) == 0 {
		return ""
	}
	if g.Directive != "" {
		return text.Cut(g.Directive, maxMessage)
	}
	var b strings.Builder
	say := func(title string, list []string) {
		if len(list) > 0 {
			b.WriteString("\n" + title + "\n")
		}
		for _, s := range list {
			b.WriteString("- " + strings.TrimSpace(s) + "\n")
		}
	}
	if g.Understood != "" {
		b.WriteString("What is wanted, as a model understood it:\n" + g.Understood + "\n")
		say("At the end this must be so:", g.Requirements)
		say("It took for granted:", g.Assumptions)
	}
	say("A plan:", StepsOf(g))
	return text.Cut(strings.TrimSpace(b.String()), maxMessage)
}

// StepsOf are the steps of a plan in words.
func StepsOf(g *ralph.Guidance) []string {
	var list []string
	for _, s := range g.Steps {
		words := s.Text
		if s.Check != "" {
			words += " (done when: " + s.Check + ")"
		}
		list = append(list, words)
	}
	return list
}
