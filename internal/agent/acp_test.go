package agent_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/agent"
	"github.com/ralph-loop/ralph/internal/agent/agenttest"
	"github.com/ralph-loop/ralph/internal/ralphtest"
)

func TestACPConforms(t *testing.T) {
	t.Parallel()
	conforms(t, func(t *testing.T, b agenttest.Behaviour) (agent.Driver, ralph.TurnInput) {
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
	for _, c := range ralphtest.Cases(3, acpPlays()) { // each waits half a second for late words
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
	in.Grace = time.Minute // the recorded end counts, on a busy machine as well
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
		t.Errorf("usage %+v, want %+v; %+v", res.Usage, c.usage, res)
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

// used is an agent's usage of tokens, and of dollars where it tells them.
func used(in, out, read, write int64, cost float64) ralph.Usage {
	return ralph.Usage{Input: in, Output: out, CacheRead: read, CacheWrite: write, Cost: cost, Known: cost > 0}
}

func acpPlays() []acpPlay {
	const ok, failed, user = ralph.ExitOK, ralph.ExitFailed, ralph.ExitUser
	hello, done := "Hello from the fake model.", "All done."
	touch, write := "command touch y", "edit edit /repo/x.txt"
	claudeWrite := "edit Write /repo/x.txt"
	codexWrite := "command echo x > x.txt"
	return []acpPlay{
		{file: "claude-text", exit: ok, text: hello, usage: used(1200, 34, 500, 200, 0.00835)},
		{file: "claude0100-text", exit: ok, text: hello, usage: used(1200, 34, 500, 200, 0.00658)},
		{file: "codex-text", exit: ok, text: hello, usage: used(700, 34, 500, 0, 0)},
		{file: "opencode-text", exit: ok, text: hello, usage: used(1200, 34, 500, 0, 0.00426)},
		{file: "gemini-text", exit: ok, text: hello, usage: used(1200, 34, 0, 0, 0)},
		{file: "copilot-text", exit: ok, text: hello, usage: used(1200, 34, 500, 0, 0)},

		{file: "claude-permission-allow", answer: "allow", exit: ok, text: done, asks: []string{touch, claudeWrite}, usage: used(1700, 52, 0, 0, 0.0098)},
		{file: "codex-permission-allow", answer: "allow", exit: ok, text: done, asks: []string{touch, codexWrite}},
		{file: "opencode-permission-allow", answer: "allow", exit: ok, text: done, asks: []string{touch, write}},
		{file: "gemini-permission-allow", answer: "allow", exit: ok, text: done, asks: []string{touch, write}},
		{file: "copilot-permission-allow", answer: "allow", exit: ok, text: done, asks: []string{touch, write}},

		{file: "claude-permission-reject", answer: "deny", exit: ok, text: done, asks: []string{touch, claudeWrite}},
		{file: "codex-permission-reject", answer: "deny", exit: ok, asks: []string{touch}}, // its turn is cancelled by a denial
		{file: "opencode-permission-reject", answer: "deny", exit: ok, asks: []string{touch}},
		{file: "gemini-permission-reject", answer: "deny", exit: ok, text: done, asks: []string{touch, write}},
		{file: "copilot-permission-reject", answer: "deny", exit: ok, asks: []string{touch}},

		{file: "claude-permission-cancelled", answer: "stop", exit: ok, asks: []string{touch, claudeWrite}},
		{file: "codex-permission-cancelled", answer: "stop", exit: ok, asks: []string{touch}},
		{file: "opencode-permission-cancelled", answer: "stop", exit: ok, asks: []string{touch}},
		{file: "gemini-permission-cancelled", answer: "stop", exit: ok, asks: []string{touch, write}},
		{file: "copilot-permission-cancelled", answer: "stop", exit: ok, asks: []string{touch}},

		{file: "claude-cancel-permission", answer: "cancel", exit: user, asks: []string{touch}},
		{file: "claude0100-cancel-permission", answer: "cancel", exit: user, asks: []string{touch}},
		{file: "codex-cancel-permission", answer: "cancel", exit: user, asks: []string{touch}, usage: used(100, 20, 0, 0, 0)},
		{file: "opencode-cancel-permission", answer: "cancel", exit: user, asks: []string{touch}},
		{file: "gemini-cancel-permission", answer: "cancel", exit: user, asks: []string{touch}},
		{file: "copilot-cancel-permission", answer: "cancel", exit: user, asks: []string{touch}},
		{file: "claude-cancel-text", answer: "cancel-text", exit: user},
		{file: "codex-cancel-text", answer: "cancel-text", exit: user},
		{file: "opencode-cancel-text", answer: "cancel-text", exit: user},
		{file: "copilot-cancel-text", answer: "cancel-text", exit: user},

		{file: "claude-err-429", exit: failed, class: ralph.ErrClassLimit, status: 429},
		{file: "codex-err-429", exit: failed, class: ralph.ErrClassLimit, status: 429},
		{file: "opencode-err-429", exit: failed, class: ralph.ErrClassLimit},
		{file: "copilot-err-429", exit: failed, class: ralph.ErrClassLimit, status: 429},
		{file: "claude-err-500", exit: failed, class: ralph.ErrClassServer, status: 500},
		{file: "codex-err-500", exit: failed, class: ralph.ErrClassServer},
		{file: "copilot-err-500", exit: failed, class: ralph.ErrClassServer, status: 500},
		{file: "claude-err-529", exit: failed, class: ralph.ErrClassBusy, status: 529},
		{file: "claude0100-err-529", exit: failed, class: ralph.ErrClassBusy, status: 529},
		{file: "codex-err-529", exit: failed, class: ralph.ErrClassBusy, status: 529},
		{file: "copilot-err-529", exit: failed, class: ralph.ErrClassBusy, status: 529},
		{file: "claude-err-401", exit: failed, class: ralph.ErrClassAuth},
		{file: "claude0100-err-401", exit: failed, class: ralph.ErrClassAuth},
		{file: "codex-err-401", exit: failed, class: ralph.ErrClassAuth},
		{file: "opencode-err-401", exit: failed, class: ralph.ErrClassAuth},
		{file: "gemini-err-401", exit: failed, class: ralph.ErrClassAuth, status: 401},
		{file: "copilot-err-401", exit: failed, class: ralph.ErrClassAuth, status: 401},

		{file: "claude-refusal", exit: failed, class: ralph.ErrClassRefusal},
		{file: "claude-max-tokens", exit: failed, class: ralph.ErrClassOther},
		{file: "gemini-cancel-text", exit: failed, class: ralph.ErrClassBudget}, // its own guard against loops ended it

		{file: "claude-load", resume: "old", exit: ok, text: done, usage: used(1500, 12, 0, 0, 0.0078)},
		{file: "codex-load", resume: "old", exit: ok, text: done, usage: used(1500, 12, 0, 0, 0)},
		{file: "opencode-load", resume: "old", exit: ok, text: done, usage: used(1500, 12, 0, 0, 0)}, // its cost goes on from what nobody knows
		{file: "copilot-load", resume: "old", exit: ok, text: done, usage: used(1500, 12, 0, 0, 0)},
		{file: "gemini-load", resume: "old", exit: failed, class: ralph.ErrClassOther},
	}
}
