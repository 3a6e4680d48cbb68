package advice

import (
	"context"
	"encoding/json"

	"github.com/ralph-loop/ralph/internal/redact"
	"github.com/ralph-loop/ralph/internal/signature"
)

// Question is a question of any signature with its input, as it can be put to any models.
type Question struct {
	Signature string // its name
	Version   int
	Hash      string
	ask       func(context.Context, Chain) (Record, error)
	prompt    func(*redact.Redactor) (signature.Prompt, error)
}

// Put is a question of a signature.
func Put[In any, Out signature.Answer[In]](s signature.Signature[In, Out], in In) Question {
	i := s.Info()
	return Question{
		Signature: i.Name, Version: i.Version, Hash: i.Hash,
		ask: func(ctx context.Context, c Chain) (Record, error) {
			_, r, err := Ask(ctx, c, s, in)
			return r, err
		},
		prompt: func(r *redact.Redactor) (signature.Prompt, error) { return s.Prompt(redact.Value(r, in)) },
	}
}

// Ask puts the question to the models of a chain. An error is as that of Ask.
func (q Question) Ask(ctx context.Context, c Chain) (Record, error) { return q.ask(ctx, c) }

// Prompt is how a model is asked, without what it must not see.
func (q Question) Prompt(c Chain) (signature.Prompt, error) { return q.prompt(c.Redact) }

// In reads what a question was put with out of its record. It reports false where the record has
// no input, or that of another signature.
func (r Record) In(q string, in any) bool {
	return r.Signature == q && len(r.Input) > 0 && json.Unmarshal(r.Input, in) == nil
}
