package agent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/ralphtest"
)

// playedACP is an agent of one trick, by FAKE_ACP_TRICK.
func playedACP(trick string) {
	p := newPeer()
	cost := 0.5
	for {
		m, ok := p.read()
		if !ok {
			os.Exit(0)
		}
		switch m.Method {
		case "initialize":
			p.answer(m, `{"protocolVersion":1,"agentInfo":{"name":"trickster"},"agentCapabilities":{"sessionCapabilities":{"resume":{}}}}`)
		case "session/new", "session/resume":
			if trick == "login" {
				p.line(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":"Authentication required"}}`, m.ID)
				continue
			}
			if m.Method == "session/resume" {
				cost = 0.75
			}
			p.answer(m, `{"sessionId":"s-1","modes":{"currentModeId":"auto","availableModes":[{"id":"auto"},{"id":"yolo"},{"id":"default"}]},"configOptions":[{"id":"model","currentValue":"a"}]}`)
		case "session/set_mode", "session/set_config_option":
			fmt.Fprintf(os.Stderr, "%s %s\n", m.Method, m.Params)
			p.answer(m, `{}`)
		case "session/prompt":
			p.trick(trick)
			if trick == "later" {
				time.AfterFunc(100*time.Millisecond, func() { _ = os.WriteFile("session.jsonl", []byte("the turn\n"), 0o600) })
			}
			p.update(`{"sessionUpdate":"usage_update","used":10,"size":100,"cost":{"amount":%v,"currency":"USD"}}`, cost)
			p.say("after it")
			p.answer(m, `{"stopReason":"end_turn"}`)
		}
	}
}

func (p *peer) update(format string, args ...any) {
	p.line(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s-1","update":`+format+`}}`, args...)
}

func (p *peer) trick(trick string) {
	switch trick {
	case "long":
		long := strings.Repeat("x", 17<<20)
		p.update(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"%s"}}`, long)
		p.line(`{"jsonrpc":"2.0","id":7,"method":"session/request_permission","params":{"toolCall":{"toolCallId":"c","rawInput":"%s"}}}`, long[:9<<20])
		p.line(`{"jsonrpc":"2.0","id":8,"method":"fs/write_text_file","params":{"content":"%s"}}`, long)
		for range 2 {
			if m, ok := p.read(); !ok || len(m.Error) == 0 {
				os.Exit(9)
			}
		}
	case "burst": // the SDK alone ends the connection after 1024 that wait
		for i := range 5000 {
			fmt.Fprintf(p.out, `{"jsonrpc":"2.0","method":"session/update","params":{"update":{"sessionUpdate":"news","n":%d}}}`+"\n", i)
		}
	case "plan":
		p.update(`{"sessionUpdate":"plan","entries":[{"content":"one","status":"completed","priority":"high"},{"content":"two","status":"pending"}]}`)
		p.update(`{"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"hm"}}`)
		p.line(`{"jsonrpc":"2.0","method":"_mine/news","params":{}}`)
		fmt.Println("a banner")
	case "always":
		p.line(`{"jsonrpc":"2.0","id":7,"method":"session/request_permission","params":{"toolCall":{"toolCallId":"c","kind":"execute","title":"rm x"},"options":[{"optionId":"1","kind":"allow_always"}]}}`)
		m, _ := p.read()
		p.say(string(m.Result))
		p.update(`{"sessionUpdate":"usage_update","used":1}`)
	case "own tool", "own name":
		said := map[string]string{"own tool": `"kind":"other","title":"mcp__ralph__signal"`, "own name": `"kind":"execute","title":"mcp__ralph__signal"`}[trick]
		p.update(`{"sessionUpdate":"tool_call","toolCallId":"c",%s,"_meta":{"claudeCode":{"toolName":"mcp__ralph__signal"}}}`, said)
		p.line(`{"jsonrpc":"2.0","id":7,"method":"session/request_permission","params":{"toolCall":{"toolCallId":"c",%s},"options":[{"optionId":"y","kind":"allow_once"},{"optionId":"n","kind":"reject_once"}]}}`, said)
		m, _ := p.read()
		p.say(string(m.Result))
	}
}

func tricked(t *testing.T, trick string, edit func(*ralph.AgentSpec, *ralph.TurnInput), on ralph.TurnHooks) ralph.TurnResult {
	t.Helper()
	spec := ralph.AgentSpec{Name: "tricky", Driver: "acp", Command: []string{self(t)}}
	in := input(t, spec, "FAKE_ACP_TRICK="+trick)
	in.Prompt, in.Timeout = "Do it", 2*time.Minute
	if edit != nil {
		edit(&spec, &in)
	}
	res, err := open(t, spec).Turn(t.Context(), in, on)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// A line over the SDK's limit, and more updates than its queue holds, do not end the turn.
func TestACPLongLines(t *testing.T) {
	t.Parallel()
	for _, trick := range []string{"long", "burst"} {
		unknown := 0
		res := tricked(t, trick, nil, ralph.TurnHooks{Event: func(e ralph.StreamEvent) {
			if e.Kind == ralph.StreamUnknown {
				unknown++
			}
		}})
		if res.Exit != ralph.ExitOK || res.Text != "after it" || trick == "burst" && unknown != 5000 || trick == "long" && unknown != 3 {
			t.Errorf("%s: %s %+v, text %.50q, %d unknown", trick, res.Exit, res.Err, res.Text, unknown)
		}
	}
}

// An adapter ends with its input, and in a sandbox the program for which it speaks ends with it, which notes the
// turn 0.1 s after its result. The next turn has to know of it.
func TestACPNotesTheTurn(t *testing.T) {
	t.Parallel()
	var dir string
	res := tricked(t, "later", func(_ *ralph.AgentSpec, in *ralph.TurnInput) { dir = in.Dir }, ralph.TurnHooks{})
	if res.Exit != ralph.ExitOK || res.Text != "after it" {
		t.Errorf("%s %+v, text %q", res.Exit, res.Err, res.Text)
	}
	if _, err := os.Stat(filepath.Join(dir, "session.jsonl")); err != nil {
		t.Errorf("the agent was ended before it had noted the turn: %v", err)
	}
}

// Claude's adapter asks before it calls ralph's own tools: nobody need allow that, where
// there are such tools. A command that goes by the name of one is asked about (C-002).
func TestACPOwnTools(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		trick string
		mcp   []string
		asked int
	}{{"own tool", []string{"/bin/ralph", "mcp"}, 0}, {"own tool", nil, 1}, {"own name", []string{"/bin/ralph", "mcp"}, 1}} {
		var k atomic.Int32
		res := tricked(t, c.trick, func(_ *ralph.AgentSpec, in *ralph.TurnInput) { in.MCP = c.mcp }, ralph.TurnHooks{
			Ask: func(context.Context, ralph.Request) (ralph.Reply, error) { k.Add(1); return ralph.Reply{}, nil },
		})
		want := map[int]string{0: `"optionId":"y"`, 1: `"optionId":"n"`}[c.asked]
		if res.Exit != ralph.ExitOK || int(k.Load()) != c.asked || !strings.Contains(res.Text, want) {
			t.Errorf("%s with %q: %s, asked %d times, answered %s", c.trick, c.mcp, res.Exit, k.Load(), res.Text)
		}
	}
}

// E-015, E-021: plans and thoughts are told; what is unknown is kept, never fatal.
func TestACPPlanAndUnknown(t *testing.T) {
	t.Parallel()
	var kinds []string
	res := tricked(t, "plan", nil, ralph.TurnHooks{Event: func(e ralph.StreamEvent) {
		switch e.Kind {
		case ralph.StreamPlan:
			b, _ := json.Marshal(e.Plan)
			kinds = append(kinds, string(b))
		case ralph.StreamUnknown:
			kinds = append(kinds, e.Method)
		case ralph.StreamItemDone:
			kinds = append(kinds, string(e.Item.Kind)+" "+e.Item.Text)
		}
	}})
	want := []string{`[{"text":"one","status":"completed"},{"text":"two","status":"pending"}]`, "_mine/news", "reasoning hm", "message after it"}
	if !slices.Equal(kinds, want) || res.Exit != ralph.ExitOK {
		t.Errorf("%q", kinds)
	}
	if res.Context != (ralph.ContextUse{Used: 10, Window: 100}) || res.Usage != (ralph.Usage{Cost: 0.5, Known: true}) {
		t.Errorf("%+v %+v", res.Context, res.Usage)
	}
}

// The agent is in the mode that asks, with approvals never too; a model goes the way that the agent has.
func TestACPModeAndModel(t *testing.T) {
	t.Parallel()
	for _, approvals := range []string{"ask", "policy", "never"} {
		var stderr []string
		tricked(t, "", func(s *ralph.AgentSpec, _ *ralph.TurnInput) { s.Approvals, s.Model = approvals, "big" }, ralph.TurnHooks{Event: ralph.HearWords(func(s ralph.Words) {
			if s.Kind == ralph.WordsStderr {
				stderr = append(stderr, s.Text)
			}
		})})
		want := []string{
			`session/set_mode {"modeId":"default","sessionId":"s-1"}`,
			`session/set_config_option {"configId":"model","sessionId":"s-1","value":"big"}`,
		}
		if !slices.Equal(stderr, want) {
			t.Errorf("%s: %q", approvals, stderr)
		}
	}
}

// The cost of a session goes on; a turn's is its own part, and unknown when nobody
// knows what came before.
func TestACPCost(t *testing.T) {
	t.Parallel()
	spec := ralph.AgentSpec{Name: "tricky", Driver: "acp", Command: []string{self(t)}}
	in := input(t, spec, "FAKE_ACP_TRICK=")
	d := open(t, spec)
	first, err := d.Turn(t.Context(), in, ralph.TurnHooks{})
	if err != nil || first.Usage.Cost != 0.5 {
		t.Fatalf("%+v %v", first.Usage, err)
	}
	in.Resume = first.Session
	second, err := d.Turn(t.Context(), in, ralph.TurnHooks{})
	if err != nil || second.Usage != (ralph.Usage{Cost: 0.25, Known: true}) {
		t.Errorf("%+v %v", second.Usage, err)
	}
	other, err := open(t, spec).Turn(t.Context(), in, ralph.TurnHooks{})
	if err != nil || other.Usage.Known {
		t.Errorf("%+v %v", other.Usage, err)
	}
}

// An agent that offers only "always" is answered with what it has; without anybody to
// ask all is denied, and with no way to say so cancelled.
func TestACPOptions(t *testing.T) {
	t.Parallel()
	allow := func(context.Context, ralph.Request) (ralph.Reply, error) { return ralph.Reply{Allow: true}, nil }
	first := ""
	on := ralph.TurnHooks{Ask: allow, Event: ralph.HearWords(func(s ralph.Words) {
		if s.Kind == ralph.WordsMessage && first == "" {
			first = s.Text
		}
	})}
	tricked(t, "always", nil, on)
	if !strings.HasPrefix(first, `{"outcome":{"optionId":"1","outcome":"selected"}}`) {
		t.Errorf("allowed: %q", first)
	}
	first, on.Ask = "", nil
	if res := tricked(t, "always", nil, on); !strings.HasPrefix(first, `{"outcome":{"outcome":"cancelled"}}`) || !slices.Equal(res.Denied, []string{"rm x"}) {
		t.Errorf("nobody: %q, denied %q", first, res.Denied)
	}
}

// The time limit stands still while somebody is asked.
func TestACPAskTakesNoTime(t *testing.T) {
	t.Parallel()
	ralphtest.NeedsTime(t)
	res := tricked(t, "always", func(_ *ralph.AgentSpec, in *ralph.TurnInput) { in.Timeout = 6 * time.Second }, ralph.TurnHooks{
		Ask: func(ctx context.Context, _ ralph.Request) (ralph.Reply, error) {
			select {
			case <-ctx.Done():
			case <-time.After(6500 * time.Millisecond):
			}
			return ralph.Reply{Allow: true}, ctx.Err()
		},
	})
	if res.Exit != ralph.ExitOK || res.Waited < 6*time.Second {
		t.Errorf("%s, waited %s", res.Exit, res.Waited)
	}
}

func TestACPNotLoggedIn(t *testing.T) {
	t.Parallel()
	res := tricked(t, "login", nil, ralph.TurnHooks{})
	if res.Exit != ralph.ExitFailed || res.Err.Class != ralph.ErrClassAuth || res.Session != "" || !res.Usage.Known {
		t.Errorf("%s %+v %+v", res.Exit, res.Err, res.Usage)
	}
}

// A program that does not speak the protocol fails with its own words.
func TestACPOtherProgram(t *testing.T) {
	t.Parallel()
	spec := ralph.AgentSpec{Name: "a", Driver: "acp", Command: []string{"sh", "-c", "echo Usage: a [options]; exit 2"}}
	res, err := open(t, spec).Turn(t.Context(), input(t, spec), ralph.TurnHooks{})
	if err != nil || res.Exit != ralph.ExitFailed || res.Code != 2 || !strings.Contains(res.Err.Message, "Usage: a [options]") {
		t.Errorf("%s %+v %v", res.Exit, res.Err, err)
	}
}

// opencode runs a repository's own code unless it is told not to (AgentSpec.Project).
func TestACPHermetic(t *testing.T) {
	t.Parallel()
	for _, project := range []bool{false, true} {
		dir := t.TempDir()
		ralphtest.Program(t, dir+"/opencode", "#!/bin/sh\nenv\nexit 1\n")
		var out bytes.Buffer
		in := input(t, ralph.AgentSpec{})
		in.Raw = &out
		in.Env = append(slices.DeleteFunc(in.Env, func(kv string) bool { return strings.HasPrefix(kv, "PATH=") }), "PATH="+dir+":"+os.Getenv("PATH"))
		exec := ralph.AgentSpec{Name: "opencode", Driver: "exec", Command: []string{"opencode"}, Project: project, Output: "opencode"}
		for _, s := range []ralph.AgentSpec{{Name: "opencode", Driver: "acp", Command: []string{"opencode", "acp"}, Project: project}, exec} {
			out.Reset()
			if _, err := open(t, s).Turn(t.Context(), in, ralph.TurnHooks{}); err != nil {
				t.Fatal(err)
			}
			if got := strings.Contains(out.String(), "OPENCODE_DISABLE_PROJECT_CONFIG=1"); got == project {
				t.Errorf("%s, project %v: %s", s.Driver, project, out.String())
			}
		}
	}
}
