package agent_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/ralph-loop/ralph/internal/agent/agenttest"
)

// rpc is a line of the protocol, for agents that tests play.
type rpc struct {
	ID     json.RawMessage `json:"id,omitempty"`
	Method string          `json:"method,omitempty"`
	Params json.RawMessage `json:"params,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  json.RawMessage `json:"error,omitempty"`
}

// peer is the client, as an agent that is played sees it.
type peer struct {
	in  *bufio.Reader
	out *bufio.Writer
}

func newPeer() *peer {
	return &peer{bufio.NewReaderSize(os.Stdin, 64<<10), bufio.NewWriterSize(os.Stdout, 64<<10)}
}

func (p *peer) read() (m rpc, ok bool) {
	line, err := p.in.ReadBytes('\n')
	if err != nil {
		return m, false
	}
	if err := json.Unmarshal(line, &m); err != nil {
		fmt.Fprintln(os.Stderr, "not JSON:", err)
		os.Exit(9)
	}
	return m, true
}

func (p *peer) line(format string, args ...any) {
	fmt.Fprintf(p.out, format+"\n", args...)
	_ = p.out.Flush()
}

func (p *peer) answer(m rpc, result string) {
	p.line(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
}

func (p *peer) say(text string) {
	b, _ := json.Marshal(text)
	fmt.Fprintf(p.out, `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s-1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":%s}}}}`+"\n", b)
}

// prompt answers until the prompt comes, and returns it with its words.
func (p *peer) prompt() (rpc, string) {
	for {
		m, ok := p.read()
		if !ok {
			os.Exit(0)
		}
		switch m.Method {
		case "initialize":
			p.answer(m, `{"protocolVersion":1,"agentInfo":{"name":"fake"},"agentCapabilities":{"loadSession":true}}`)
		case "session/new", "session/load":
			p.answer(m, `{"sessionId":"s-1"}`)
		case "session/prompt":
			var params struct {
				Prompt []struct {
					Text string `json:"text"`
				} `json:"prompt"`
			}
			_ = json.Unmarshal(m.Params, &params)
			return m, params.Prompt[0].Text
		}
	}
}

// fakeACP is an agent that behaves as the suite asks.
func fakeACP(b agenttest.Behaviour) {
	p := newPeer()
	if b == agenttest.HangHard {
		signal.Ignore(syscall.SIGTERM, syscall.SIGINT)
	}
	m, prompt := p.prompt()
	switch b {
	case agenttest.Echo:
		p.say(prompt)
	case agenttest.Complete:
		p.say("All is done.\n<ralph>COMP") // chunks end anywhere
		p.say("LETE</ralph>")
	case agenttest.Fail:
		fmt.Fprintln(os.Stderr, "it broke")
		os.Exit(3)
	case agenttest.Limited:
		p.line(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":"Internal error","data":{"errorKind":"rate_limit"}}}`, m.ID)
		os.Exit(1)
	case agenttest.Crash:
		p.say("begun")
		_ = p.out.Flush()
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	case agenttest.Hang, agenttest.HangHard:
		p.say("ready\n")
		p.line(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s-1","update":{"sessionUpdate":"tool_call","toolCallId":"c","status":"in_progress"}}}`)
		<-time.After(time.Hour)
	case agenttest.Flood:
		text := strings.Repeat("flooding ", 1000)
		for n := 0; n < agenttest.FloodBytes; n += len(text) {
			p.say(text)
		}
	case agenttest.Background:
		leaveBehind()
	}
	p.answer(m, `{"stopReason":"end_turn"}`)
	_, _ = io.Copy(io.Discard, p.in)
	os.Exit(0)
}

// replayACP plays a recording: what the agent said then it says now, and it waits for
// each line of the client. The client's requests are told apart by their method, as it
// may ask more than the recorder did; its answers must be those recorded.
func replayACP(file string) {
	b, err := os.ReadFile(file)
	if err != nil {
		panic(err)
	}
	p := newPeer()
	ids := map[string]string{} // recorded id of a client's request -> the id it has now
	for line := range strings.Lines(string(b)) {
		var step struct {
			Dir string          `json:"dir"`
			Msg json.RawMessage `json:"msg"`
		}
		var msg rpc
		if json.Unmarshal([]byte(line), &step) != nil || json.Unmarshal(step.Msg, &msg) != nil {
			panic(file)
		}
		switch {
		case step.Dir == "out" && msg.Method == "":
			now := strings.Replace(string(step.Msg), `"id": `+string(msg.ID), `"id": `+ids[string(msg.ID)], 1)
			p.line("%s", now)
		case step.Dir == "out":
			p.line("%s", step.Msg)
		default:
			ids[string(msg.ID)] = string(p.expect(msg).ID)
		}
	}
	_, _ = io.Copy(io.Discard, p.in)
	os.Exit(0)
}

// expect waits for the client's line that is like the recorded one.
func (p *peer) expect(want rpc) rpc {
	for {
		got, ok := p.read()
		switch {
		case !ok:
			fmt.Fprintf(os.Stderr, "the client left before %s %s\n", want.Method, want.Result)
			os.Exit(9)
		case want.Method != "" && got.Method == want.Method:
			return got
		case want.Method == "" && got.Method == "" && string(got.ID) == string(want.ID):
			compare(got, want)
			return got
		case got.Method == "session/set_mode":
			p.answer(got, `{}`)
		case got.Method == "session/cancel" && want.Method == "": // it comes before or after the answer
		default:
			fmt.Fprintf(os.Stderr, "%s %s came, not %s %s\n", got.Method, got.Result, want.Method, want.Result)
			os.Exit(9)
		}
	}
}

func compare(got, want rpc) {
	var a, b any
	_ = json.Unmarshal(got.Result, &a)
	_ = json.Unmarshal(want.Result, &b)
	// The recorder wrote files for opencode; ralph offers none.
	unknown := strings.Contains(string(got.Error), "-32601") && string(want.Result) == "{}"
	if fmt.Sprint(a) != fmt.Sprint(b) && !unknown {
		fmt.Fprintf(os.Stderr, "answer %s %s, want %s\n", got.Result, got.Error, want.Result)
		os.Exit(9)
	}
}
