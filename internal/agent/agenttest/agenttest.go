// Package agenttest runs the probes of internal/agentcheck as tests: the conformance
// suite that every driver passes, which is what the engine relies on whichever agent it
// runs. It is for tests only; it owns no driver, no agent and no probe.
//
// The probes cover, in their order: the prompt arrives whole (B-006), signals,
// exit codes (B-073), typed limits, crashes (B-075), time limits (B-029),
// a person's stop (B-074), floods, missing programs (B-097, X-52), leftovers.
package agenttest

import (
	"slices"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/agent"
	"github.com/ralph-loop/ralph/internal/agentcheck"
	"github.com/ralph-loop/ralph/internal/ralphtest"
)

// Behaviour is what the agent under test shall do.
type Behaviour = agentcheck.Behaviour

// The behaviours that every fake plays.
const (
	Echo       = agentcheck.Echo
	Complete   = agentcheck.Complete
	Fail       = agentcheck.Fail
	Limited    = agentcheck.Limited
	Crash      = agentcheck.Crash
	Hang       = agentcheck.Hang
	HangHard   = agentcheck.HangHard
	Flood      = agentcheck.Flood
	Deaf       = agentcheck.Deaf
	Missing    = agentcheck.Missing
	Background = agentcheck.Background
)

// The behaviours that a fake plays where its test says so.
const (
	Remember   = agentcheck.Remember
	Metered    = agentcheck.Metered
	Structured = agentcheck.Structured
	Asks       = agentcheck.Asks
)

// FloodBytes is what Flood says at the least.
const FloodBytes = agentcheck.FloodBytes

// Open returns a driver whose agent behaves so, and the input to run it with:
// Agent, Dir, Env and Scratch set. The probes fill in the rest.
type Open func(t *testing.T, b Behaviour) (agent.Driver, ralph.TurnInput)

// Run runs the suite. more are the behaviours that the fake plays beyond those of every
// fake; a probe that needs others is left out.
func Run(t *testing.T, open Open, more ...Behaviour) {
	every := []Behaviour{Echo, Complete, Fail, Limited, Crash, Hang, HangHard, Flood, Deaf, Missing, Background}
	for _, p := range agentcheck.Probes() {
		if slices.ContainsFunc(p.Plays, func(b Behaviour) bool { return !slices.Contains(every, b) && !slices.Contains(more, b) }) {
			continue
		}
		t.Run(p.Name, func(t *testing.T) {
			if slices.Contains(p.Plays, Flood) && !ralphtest.Thorough() {
				t.Skip("a second of reading for each driver: in .ci/run soak, or with -tags soak")
			}
			s := &agentcheck.Subject{Open: func(b Behaviour) (agent.Driver, ralph.TurnInput, error) {
				d, in := open(t, b)
				return d, in, nil
			}}
			s.Supports = supports(t, open)
			switch r := agentcheck.Run(t.Context(), s, p); r.Verdict {
			case agentcheck.Fault:
				t.Errorf("%s: %s", p.Proves, r.Words)
			case agentcheck.Skip:
				t.Skip(r.Words)
			}
		})
	}
}

// supports is what the driver under test claims.
func supports(t *testing.T, open Open) agent.Supports {
	t.Helper()
	_, in := open(t, Complete)
	s, ok := agent.Of(in.Agent)
	if !ok {
		t.Fatalf("no driver %q is built in", in.Agent.Driver)
	}
	return s
}
