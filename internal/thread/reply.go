package thread

import (
	"fmt"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/approval"
)

// RuleToolInput is the rule by which a model answers what an agent asks in the middle of its turn.
const RuleToolInput = "E-080"

// askHuman is the tool of ralph's by which an agent asks for a person by name.
const askHuman = "ask_human"

// MaySuggest reports whether a model may be asked what to answer to a question that an agent has in
// the middle of its turn: of a thread, where no rule of a person's answers it (word), gate.approvals
// does not want a person for everything, and it is not about what only a person allows.
func MaySuggest(t *ralph.Task, q ralph.Request, word approval.Ruling, c approval.Settings) bool {
	return t != nil && t.Run.Thread != nil && q.Kind == ralph.RequestQuestion && q.Op == "" && q.Command == "" && q.Tool != askHuman &&
		!word.Answered() && word.Gate == ralph.ApprovalQuestion && c.Approvals != "ask" && approval.HeldQuestion(q, c.Patterns) == ""
}

// Reply is the answer that a suggestion is to an agent's questions, "" and why where a person has
// to answer: it is none, or whoever suggests it is not sure enough.
func Reply(x *ralph.Suggestion, l Limits) (words, why string) {
	switch {
	case x == nil:
		return "", "nobody was asked"
	case len(x.Answers) == 0:
		return "", line(x.Reason)
	case !(x.Confidence >= l.MinConfidence && x.Confidence <= 1):
		return "", fmt.Sprintf("its confidence is %.4g, below %.4g: %s", x.Confidence, l.MinConfidence, line(x.Reason))
	}
	words = strings.TrimSpace(strings.Join(x.Answers, "\n"))
	if words == "" {
		why = "it has no words"
	}
	return words, why
}

// ReplyWords say what became of a suggestion.
func ReplyWords(words, why string) string {
	if words == "" {
		return "a person is asked: " + why
	}
	return "answered: " + words
}
