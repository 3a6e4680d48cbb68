package agent_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/ralph-loop/ralph/internal/agent/agenttest"
)

// codexMessage is a line of the app-server's protocol.
type codexMessage struct {
	ID     json.RawMessage `json:"id,omitempty"`
	Method string          `json:"method,omitempty"`
	Params json.RawMessage `json:"params,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  json.RawMessage `json:"error,omitempty"`
}

// fakeServer is the side of an app-server: what clients send, one by one, and logged.
type fakeServer struct {
	in  *bufio.Reader
	out *bufio.Writer
	log *os.File

	waiting []string // threads with a turn under way
	deaf    bool
}

func newFakeServer() *fakeServer {
	s := &fakeServer{in: bufio.NewReader(os.Stdin), out: bufio.NewWriterSize(os.Stdout, 64<<10)}
	if name := os.Getenv("FAKE_LOG"); name != "" {
		f, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			panic(err)
		}
		s.log = f
	}
	return s
}

// next returns the client's next message; at the end of its input the server leaves.
func (s *fakeServer) next() codexMessage {
	s.out.Flush()
	line, err := s.in.ReadBytes('\n')
	if err != nil {
		os.Exit(0)
	}
	if s.log != nil {
		_, _ = s.log.Write(line)
	}
	var m codexMessage
	if err := json.Unmarshal(line, &m); err != nil {
		panic(err)
	}
	return m
}

func (s *fakeServer) send(m codexMessage) {
	b, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	s.out.Write(append(b, '\n'))
}

func (s *fakeServer) say(format string, args ...any) { fmt.Fprintf(s.out, format+"\n", args...) }

// usual answers what every client asks and no recording is about.
func (s *fakeServer) usual(m codexMessage) {
	var p struct {
		Thread string `json:"threadId"`
	}
	_ = json.Unmarshal(m.Params, &p)
	switch {
	case m.Method == "" || m.ID == nil:
	case m.Method == "thread/start":
		s.say(`{"id":%s,"result":{"thread":{"id":"thread-1"}}}`, m.ID)
	case m.Method == "thread/resume":
		s.say(`{"id":%s,"result":{"thread":{"id":%q}}}`, m.ID, p.Thread)
	default:
		s.say(`{"id":%s,"result":{}}`, m.ID)
	}
}

// recorded is a line of a recording.
type recorded struct {
	Dir  string       `json:"dir"`
	Proc int          `json:"proc"`
	Msg  codexMessage `json:"msg"`
}

func readRecording(file string) []recorded {
	b, err := os.ReadFile(file)
	if err != nil {
		panic(err)
	}
	proc := max(1, len(os.Getenv("FAKE_PROC"))) // "xx" is the second process
	var all []recorded
	for line := range bytes.Lines(b) {
		var r recorded
		if err := json.Unmarshal(line, &r); err != nil {
			panic(err)
		}
		if r.Proc == proc {
			all = append(all, r)
		}
	}
	return all
}

// replayCodex answers as it was recorded: to each request what followed the next one of
// that method, up to where the recording waits for the client again.
func replayCodex(file string) {
	s, script := newFakeServer(), readRecording(file)
	for at := 0; ; {
		m := s.next()
		i := slices.IndexFunc(script[at:], func(r recorded) bool {
			if m.Method == "" { // an answer of ours: the recorded answer to the same request
				return r.Dir == "send" && r.Msg.Method == "" && bytes.Equal(r.Msg.ID, m.ID)
			}
			return r.Dir == "send" && r.Msg.Method == m.Method
		})
		if i < 0 {
			s.usual(m)
			continue
		}
		asked := script[at+i].Msg.ID
		chunk := script[at+i+1:]
		if n := slices.IndexFunc(chunk, func(r recorded) bool { return r.Dir == "send" }); n >= 0 {
			chunk = chunk[:n]
		}
		at += i + 1 + len(chunk)
		s.play(m, asked, chunk)
	}
}

// play sends a part of a recording. FAKE_ORDER has turn/started before the answer;
// FAKE_INJECT asks for something that no client knows and waits for its answer.
func (s *fakeServer) play(m codexMessage, asked json.RawMessage, chunk []recorded) {
	if os.Getenv("FAKE_ORDER") != "" && m.Method == "turn/start" {
		chunk = slices.Clone(chunk)
		slices.SortStableFunc(chunk, func(a, b recorded) int { return order(a) - order(b) })
	}
	for _, r := range chunk {
		out := r.Msg
		if out.Method == "" && bytes.Equal(out.ID, asked) {
			out.ID = m.ID
		}
		s.send(out)
		if os.Getenv("FAKE_INJECT") != "" && out.Method == "turn/started" {
			s.say(`{"id":"x-1","method":"item/future/ask","params":%s}`, out.Params)
			for a := s.next(); string(a.ID) != `"x-1"`; a = s.next() {
				s.usual(a)
			}
		}
	}
}

func order(r recorded) int {
	switch r.Msg.Method {
	case "thread/status/changed", "thread/started":
		return 0
	case "turn/started":
		return 1
	case "":
		return 2
	}
	return 3
}

// fakeCodex is an app-server that behaves as asked, on as many threads as it gets.
func fakeCodex(b agenttest.Behaviour) {
	if slices.Contains(os.Args, "sandbox") {
		if why := os.Getenv("FAKE_SANDBOX"); why != "" {
			fmt.Fprintln(os.Stderr, why)
			os.Exit(1)
		}
		os.Exit(0)
	}
	s := newFakeServer()
	threads, marks := 0, map[string]string{}
	for {
		m := s.next()
		var p struct {
			Thread string `json:"threadId"`
			Input  []struct {
				Text string `json:"text"`
			} `json:"input"`
			Config map[string]json.RawMessage `json:"config"`
		}
		_ = json.Unmarshal(m.Params, &p)
		switch {
		case b == "early" && m.Method == "thread/resume": // asks before there is a turn, and there will be none
			s.say(`{"id":7,"method":"item/commandExecution/requestApproval","params":{"threadId":%q,"itemId":"c","command":"ls"}}`, p.Thread)
			s.say(`{"id":%s,"error":{"code":-32600,"message":"no rollout found for it"}}`, m.ID)
			continue
		case b == "mute" && m.Method != "initialize": // but for its second process
			if !s.deaf && os.Mkdir(os.Getenv("FAKE_LOG")+".deaf", 0o700) == nil {
				s.deaf = true
			}
			if s.deaf {
				continue
			}
			b = agenttest.Echo
		}
		switch m.Method {
		case "thread/start":
			threads++
			thread := fmt.Sprintf("thread-%d", threads)
			var set map[string]string
			_ = json.Unmarshal(p.Config["shell_environment_policy.set"], &set)
			marks[thread] = set["RALPH_THREAD"]
			s.say(`{"id":%s,"result":{"thread":{"id":%q}}}`, m.ID, thread)
		case "turn/start":
			s.say(`{"id":%s,"result":{"turn":{"id":"turn-of-%s"}}}`, m.ID, p.Thread)
			s.say(`{"method":"turn/started","params":{"threadId":%q,"turn":{"id":"turn-of-%[1]s"}}}`, p.Thread)
			s.behave(b, p.Thread, p.Input[0].Text, marks[p.Thread])
		case "turn/interrupt":
			if b == agenttest.HangHard {
				continue
			}
			s.say(`{"id":%s,"result":{}}`, m.ID)
			s.end(p.Thread, "interrupted", "null")
		default:
			s.usual(m)
		}
	}
}

func (s *fakeServer) words(thread, text string) {
	quoted, _ := json.Marshal(text)
	s.say(`{"method":"item/completed","params":{"threadId":%q,"turnId":"turn-of-%[1]s","item":{"type":"agentMessage","id":"m","text":%s}}}`, thread, quoted)
}

func (s *fakeServer) end(thread, status, err string) {
	s.say(`{"method":"turn/completed","params":{"threadId":%q,"turn":{"id":"turn-of-%[1]s","status":%q,"error":%s}}}`, thread, status, err)
}

func (s *fakeServer) behave(b agenttest.Behaviour, thread, prompt, mark string) {
	switch b {
	case agenttest.Echo:
		s.words(thread, prompt)
	case agenttest.Complete:
		s.words(thread, "All is done.\n<ralph>COMPLETE</ralph>")
	case agenttest.Fail:
		fmt.Fprintln(os.Stderr, "it broke")
		os.Exit(3)
	case agenttest.Limited:
		s.end(thread, "failed", `{"message":"slow down","codexErrorInfo":"rateLimitExceeded"}`)
		return
	case agenttest.Crash:
		s.words(thread, "begun")
		s.out.Flush()
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	case agenttest.Hang, agenttest.HangHard:
		signal.Ignore(syscall.SIGTERM, syscall.SIGINT)
		s.words(thread, "ready")
		return
	case agenttest.Flood:
		text := strings.Repeat("flooding ", 1000)
		for n := 0; n < agenttest.FloodBytes; n += len(text) {
			s.words(thread, text)
		}
	case "together": // ends when as many turns are under way as the prompt says
		s.waiting = append(s.waiting, thread)
		if n, _ := strconv.Atoi(prompt); len(s.waiting) < n {
			return
		}
		for _, other := range s.waiting {
			s.words(other, "of "+other)
			s.end(other, "completed", "null")
		}
		s.waiting = nil
		return
	case "once": // dies in its first turn
		if _, err := os.Stat(prompt); err != nil {
			_ = os.WriteFile(prompt, nil, 0o600)
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
		s.words(thread, "alive")
	case "works": // though it was only asked
		s.say(`{"method":"item/started","params":{"threadId":%q,"turnId":"turn-of-%[1]s","item":{"type":"commandExecution","id":"c","command":"rm -rf /","status":"inProgress"}}}`, thread)
		s.words(thread, `{"x":1}`)
	case "huge":
		s.words(thread, strings.Repeat("x", 20<<20)+"\nthe end")
	case "pid":
		s.words(thread, strconv.Itoa(os.Getpid()))
	case "environment":
		s.words(thread, strings.Join(os.Environ(), "\n"))
	case agenttest.Background:
		_ = os.Setenv("RALPH_THREAD", mark)
		leaveBehind()
	}
	s.end(thread, "completed", "null")
}
