package step

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/approval"
	"github.com/ralph-loop/ralph/internal/redact"
	"github.com/ralph-loop/ralph/internal/thread"
)

// Suggester is asked what to answer to the questions that an agent of a thread has in the middle
// of its turn. Its error is only that of ctx.
type Suggester func(ctx context.Context, s *thread.State, q ralph.Request) (ralph.Suggestion, error)

// suggest asks a model what to answer to a question.
func (a *asker) suggest(ctx context.Context, s *ralph.State, q ralph.Request) (ralph.Suggestion, error) {
	state := thread.Of(s, s.Task(a.task))
	state.TurnID = fmt.Sprintf("%s/%d", a.task, a.turn)
	q.ID = ""
	x, err := a.x.Suggester(ctx, &state, q)
	if err != nil {
		return x, fmt.Errorf("ask a model what to answer: %w", err)
	}
	return redact.Value(a.x.Redact, x), nil
}

// byModel is the fact that a model has answered a question.
func (a *asker) byModel(q ralph.Request, word approval.Ruling, where ralph.WorkDir, now time.Time, x *ralph.Suggestion, said string) ralph.RequestAnswered {
	f := a.answered(q, word, where, now)
	f.Rule, f.Text, f.Suggested = byModelRule(x), said, x
	return f
}

// reply is what a suggestion answers, "" and why where a person has to.
func (a *asker) reply(x *ralph.Suggestion) (words, why string) {
	return thread.Reply(x, thread.Limits{MinConfidence: a.x.Config.MinConfidence})
}

// byModelRule is by what an answer of a model was given, as it is recorded.
func byModelRule(x *ralph.Suggestion) string {
	return cutText(fmt.Sprintf("%s: %s, confidence %.2g", thread.RuleToolInput, x.By, x.Confidence), maxRecord)
}

// suggestedWords say in a gate what a model would answer, and why it did not: "" where none was
// asked.
func (a *asker) suggestedWords(x *ralph.Suggestion) string {
	if x == nil {
		return ""
	}
	_, why := a.reply(x)
	if len(x.Answers) == 0 {
		return "A model was asked first: " + why
	}
	return fmt.Sprintf("A model would answer %q: %s", strings.Join(x.Answers, "; "), why)
}
