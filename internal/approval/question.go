package approval

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/lazyregexp"
	"github.com/ralph-loop/ralph/internal/operation"
)

// quoted is what a question says in backticks: a command, mostly.
var quoted = lazyregexp.New("`([^`]+)`")

// HeldQuestion says why a question of an agent is for a person alone, "" when it is not: it is
// about what the never list or a pattern holds. A yes of a model would allow nothing, as the
// command meets the same lists; but nobody but a person says yes to that.
func HeldQuestion(q ralph.Request, patterns []string) string {
	texts := append([]string{q.Text, q.Detail}, q.Options...)
	for _, part := range q.Questions {
		texts = append(append(texts, part.Text), part.Options...)
	}
	p, err := operation.Compile(patterns)
	if err != nil {
		return err.Error()
	}
	for _, t := range texts {
		for _, entry := range operation.Never() {
			if strings.Contains(strings.ToLower(strings.Join(strings.Fields(t), " ")), entry) {
				return "the never list: " + entry
			}
		}
		if rule := p.Matches(t); rule != "" {
			return "gate.patterns: " + rule
		}
		commands := strings.Split(t, "\n")
		for _, m := range quoted.FindAllStringSubmatch(t, -1) {
			commands = append(commands, m[1])
		}
		for _, command := range commands {
			found := p.Look(ralph.Request{Kind: ralph.RequestApproval, Op: ralph.OpCommand, Command: command, Dir: cmp.Or(q.Dir, "/")}, "")
			if i := slices.IndexFunc(found, func(f operation.Found) bool { return f.Never }); i >= 0 {
				return "the never list: " + found[i].Rule
			}
		}
	}
	return ""
}
