// Package wire is what the drivers of agents share: what a driver is (Driver, Supports,
// Handshaker), one process at work for one turn (Turn), lines and JSON as agents print
// them whatever chunks they come in, JSON-RPC, the clock that stands still while somebody
// is asked, and how the text of an error is classed.
//
// It does not own a protocol: each is a package beside this one. It knows no agent by
// name, but for what two drivers must know of the same program.
package wire

import (
	"context"

	"github.com/ralph-loop/ralph"
)

// Driver carries out turns of one configured agent. A Driver keeps nothing of
// a turn beyond its end and may be used from several goroutines. One that keeps a
// process between turns has a Close() error as well, which waits until it is gone.
//
// The error is for machinery only: the raw sink that refuses a write, a scratch
// file that cannot be written; and ralph.ErrUnsupported, for a Compact that the
// driver cannot do. What the agent did, being stopped by a person or not
// starting at all included, is in the result's Exit and Err.
type Driver interface {
	Turn(ctx context.Context, in ralph.TurnInput, on ralph.TurnHooks) (ralph.TurnResult, error)
}

// Supports says what a driver can do beyond running a prompt.
type Supports struct {
	Structured bool // answers by JSON Schema, TurnResult.Answer
	Resume     bool // goes on in an earlier session, TurnInput.Resume
	Cost       bool // reports dollars by itself
	Usage      bool // reports tokens by itself
	Tools      bool // tells tool calls apart from its words
	Context    bool // says how full its window is, TurnResult.Context
	Ask        bool // asks in the middle of a turn, TurnHooks.Ask
	Compact    bool // makes a session shorter when asked, TurnInput.Compact
	Review     bool // has a review of its own, TurnInput.Review
}
