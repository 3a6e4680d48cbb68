package step_test

import (
	"context"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/policy"
	"github.com/ralph-loop/ralph/internal/step"
)

// playing is an agent that is one function.
type playing func(in ralph.TurnInput, on ralph.TurnHooks) ralph.TurnResult

func (p playing) Turn(_ context.Context, in ralph.TurnInput, on ralph.TurnHooks) (ralph.TurnResult, error) {
	return p(in, on), nil
}

// a signal by a command or a tool is the same signal as a tag in the final message,
// which comes after it. It keeps no agent at work that has said it (C-002), and is gone
// with its turn.
func TestSignalled(t *testing.T) {
	t.Parallel()
	complete := ralph.Signal{Kind: ralph.SignalComplete}
	blocked := ralph.Signal{Kind: ralph.SignalBlocked, Text: "no key"}
	at := func(n int) ralph.Signal {
		return ralph.Signal{Kind: ralph.SignalProgress, Percent: n, Text: "some"}
	}
	for name, c := range map[string]struct {
		commands []ralph.Signal
		words    string
		want     ralph.Signal
	}{
		"a command":                   {[]ralph.Signal{complete}, "Done.", complete},
		"the newest command":          {[]ralph.Signal{complete, blocked}, "Done.", blocked},
		"the final message is later":  {[]ralph.Signal{complete}, "<ralph>BLOCKED: no key</ralph>", blocked},
		"progress undoes nothing":     {[]ralph.Signal{blocked, at(40)}, "Hm.", blocked},
		"nor does it as a tag":        {[]ralph.Signal{complete}, "<ralph>PROGRESS: 40 some</ralph>", complete},
		"progress alone":              {[]ralph.Signal{at(20), at(40)}, "Hm.", at(40)},
		"progress of both":            {[]ralph.Signal{at(20)}, "<ralph>PROGRESS: 60 some</ralph>", at(60)},
		"words, as ever":              {nil, "<ralph>COMPLETE</ralph>", complete},
		"neither":                     {nil, "Done.", ralph.Signal{}},
		"progress, then it is a word": {[]ralph.Signal{at(20), complete}, "Done.", complete},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t, policy.Config{})
			kept := false
			d.x.MCP = []string{"/bin/ralph", "mcp"}
			d.x.Agents = map[string]step.ConfiguredAgent{"me": {Spec: ralph.AgentSpec{Name: "me"}, Agent: playing(func(in ralph.TurnInput, on ralph.TurnHooks) ralph.TurnResult {
				if len(in.MCP) != 2 {
					t.Errorf("the server is %v", in.MCP)
				}
				for _, s := range c.commands {
					d.write(t, ralph.Signalled{Task: "t-1", Signal: s, Via: "command"})
				}
				kept = on.Stopping("Done.") != ""
				return ralph.TurnResult{Exit: ralph.ExitOK, Text: c.words}
			})}}
			turn := ralph.Turn{Stage: ralph.KindBuild, Agent: "me", Iteration: 1}
			d.write(t, ralph.Signalled{Task: "t-1", Signal: ralph.Signal{Kind: ralph.SignalHuman, Text: "of a turn that was cut"}},
				ralph.StepStarted{Task: "t-1", Step: turn, DecidedAt: time.Now()})
			facts, err := d.x.Do(t.Context(), d.mem.State(), "t-1", turn)
			if err != nil {
				t.Fatal(err)
			}
			if f := facts[0].(ralph.TurnEnded); f.Signal != c.want {
				t.Errorf("%+v, want %+v", f.Signal, c.want)
			}
			if want := len(c.commands) == 0; kept != want {
				t.Errorf("kept at work: %v, want %v", kept, want)
			}
			d.write(t, facts...)
			if s := d.mem.State().Task("t-1").Run.Signalled; s != (ralph.Signal{}) {
				t.Errorf("left behind: %+v", s)
			}
		})
	}
}
