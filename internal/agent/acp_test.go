package agent_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/agent"
	"github.com/ralph-loop/ralph/internal/agent/agenttest"
)

func TestACPConforms(t *testing.T) {
	t.Parallel()
	agenttest.Run(t, func(t *testing.T, b agenttest.Behaviour) (agent.Driver, ralph.TurnInput) {
		spec := ralph.AgentSpec{Name: "fake", Driver: "acp", Command: []string{self(t)}}
		if b == agenttest.Missing {
			spec.Command = []string{"no-such-agent-anywhere"}
		}
		return open(t, spec), input(t, spec, "FAKE_ACP="+string(b))
	})
}

// acpPlay is a recording, how it is answered, and what has to come of it.
type acpPlay struct {
	file   string
	answer string // allow, deny, stop: what Ask says; cancel: a person stops the turn when it is asked
	resume string
	exit   ralph.ExitKind
	class  ralph.ErrorClass
	status int
	text   string
	usage  ralph.Usage
	asks   []string // Op and Text of each request
}

// Recordings of five agents; facts on them are in docs/agents.md. E-014 to E-020, E-028.
func TestACPReplay(t *testing.T) {
	t.Parallel()
	for _, c := range acpPlays() {
		t.Run(c.file+" "+c.answer, func(t *testing.T) {
			t.Parallel()
			playACP(t, c)
		})
	}
}

func playACP(t *testing.T, c acpPlay) {
	file, err := filepath.Abs("testdata/acp/" + c.file + ".jsonl")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(file); err != nil {
		t.Fatal(err)
	}
	spec := ralph.AgentSpec{Name: "fake", Driver: "acp", Command: []string{self(t)}, Approvals: "ask"}
	in := input(t, spec, "FAKE_ACP_REPLAY="+file)
	in.Prompt, in.Resume = "Do it", c.resume
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var asks []string
	ends := 0
	on := ralph.TurnHooks{
		Event: func(e ralph.StreamEvent) {
			switch {
			case e.Kind == ralph.StreamTurnDone:
				ends++
			case e.Kind == ralph.StreamDelta && c.answer == "cancel-text":
				stop()
			}
		},
		Ask: func(ctx context.Context, r ralph.Request) (ralph.Reply, error) {
			asks = append(asks, string(r.Op)+" "+r.Text)
			switch c.answer {
			case "allow":
				return ralph.Reply{Allow: true}, nil
			case "stop":
				return ralph.Reply{Stop: true}, nil
			case "cancel":
				stop()
				<-ctx.Done()
				return ralph.Reply{}, ctx.Err()
			}
			return ralph.Reply{}, nil
		},
	}
	res, err := open(t, spec).Turn(ctx, in, on)
	if err != nil {
		t.Fatal(err)
	}
	class, status := ralph.ErrorClass(""), 0
	if res.Err != nil {
		class, status = res.Err.Class, res.Err.Status
	}
	if res.Exit != c.exit || class != c.class || status != c.status || ends != 1 {
		t.Errorf("%s %q %d, ends %d; %+v", res.Exit, class, status, ends, res.Err)
	}
	if c.text != "" && res.Text != c.text {
		t.Errorf("text %q", res.Text)
	}
	if c.usage != (ralph.Usage{}) && res.Usage != c.usage {
		t.Errorf("usage %+v, want %+v", res.Usage, c.usage)
	}
	if len(asks) != len(c.asks) {
		t.Fatalf("asked %q", asks)
	}
	for i := range asks {
		if asks[i] != c.asks[i] {
			t.Errorf("asked %q", asks)
		}
	}
}

func acpPlays() []acpPlay { return nil }
