package wire

import (
	"context"
	"encoding/json"

	"github.com/ralph-loop/ralph"
)

// Asker is an agent that answers a question: nothing is worked on, nothing is looked at, and
// nothing of it is kept.
type Asker interface {
	// Ask asks. An error is the context's own, or broken machinery; why the agent gave no
	// answer is in Answered.
	Ask(ctx context.Context, q Question) (Answered, error)
	Close() error
}

// Question is what an agent is asked.
type Question struct {
	System string // instead of the agent's own instructions
	Prompt string
	Schema json.RawMessage // of the answer
	Model  string          // "": the agent's
}

// Answered is what it said.
type Answered struct {
	Text  string
	Model string // that answered, "" where the agent does not say
	Usage ralph.Usage
	Err   *ralph.AgentError // why there is no answer; nil: there is one
}
