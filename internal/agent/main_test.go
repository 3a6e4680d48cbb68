package agent_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ralph-loop/ralph/internal/agent/agenttest"
	"github.com/ralph-loop/ralph/internal/agent/api"
	"github.com/ralph-loop/ralph/internal/agent/scripted"
	"github.com/ralph-loop/ralph/internal/ralphtest"
)

// TestMain lets the test binary be the agents under test: the scripted agent,
// and a claude that replays a recording or behaves as the suite asks.
func TestMain(m *testing.M) {
	switch {
	case len(os.Args) > 2 && os.Args[1] == "scripted-agent":
		dir, _ := os.Getwd()
		os.Exit(scripted.Play(context.Background(), os.Stdin, os.Stdout, os.Stderr, os.Environ(), dir, os.Args[2]))
	case len(os.Args) > 1 && os.Args[1] == "api-agent":
		if os.Getenv("FAKE_API") == "" {
			ctx, _ := signal.NotifyContext(context.Background(), syscall.SIGTERM)
			dir, _ := os.Getwd()
			os.Exit(api.Run(ctx, os.Stdin, os.Stdout, os.Stderr, os.Environ(), dir))
		}
		fakeAPI(agenttest.Behaviour(os.Getenv("FAKE_API")))
	case os.Getenv("FAKE_CODEX_REPLAY") != "":
		if len(os.Args) > 1 && os.Args[1] == "sandbox" {
			os.Exit(0)
		}
		replayCodex(os.Getenv("FAKE_CODEX_REPLAY"))
	case os.Getenv("FAKE_CODEX") != "":
		fakeCodex(agenttest.Behaviour(os.Getenv("FAKE_CODEX")))
	case os.Getenv("FAKE_REPLAY") != "":
		replay(os.Getenv("FAKE_REPLAY"))
	case os.Getenv("FAKE_ACP_REPLAY") != "":
		replayACP(os.Getenv("FAKE_ACP_REPLAY"))
	case slices.ContainsFunc(os.Environ(), func(kv string) bool { return strings.HasPrefix(kv, "FAKE_ACP_TRICK=") }):
		playedACP(os.Getenv("FAKE_ACP_TRICK"))
	case os.Getenv("FAKE_ACP") != "":
		fakeACP(agenttest.Behaviour(os.Getenv("FAKE_ACP")))
	case os.Getenv("FAKE_TALK") != "":
		talk(os.Getenv("FAKE_TALK"), os.Getenv("FAKE_SAW"))
	case os.Getenv("FAKE_CLAUDE") != "":
		fakeClaude(agenttest.Behaviour(os.Getenv("FAKE_CLAUDE")))
	}
	ralphtest.AtOnce(8)
	os.Exit(ralphtest.InMemory(m))
}

// replay prints a recording and ends as it was recorded.
func replay(file string) {
	b, err := os.ReadFile(file)
	if err != nil {
		panic(err)
	}
	told(bufio.NewReader(os.Stdin))
	_, _ = os.Stdout.Write(b)
	_, _ = io.WriteString(os.Stderr, os.Getenv("FAKE_STDERR"))
	code, _ := strconv.Atoi(os.Getenv("FAKE_CODE"))
	if code < 0 {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
	os.Exit(code)
}

// talk plays claude's side of a recorded conversation: it waits for a line where the
// real one was told something, and keeps what it is told in the file saw. It leaves
// when its input ends, as the real one does.
func talk(file, saw string) {
	b, err := os.ReadFile(file)
	if err != nil {
		panic(err)
	}
	signal.Ignore(syscall.SIGINT) // the real one does not leave at once either
	in := bufio.NewReader(os.Stdin)
	var heard []byte
	for line := range bytes.Lines(b) {
		var e struct {
			Dir string          `json:"dir"`
			Msg json.RawMessage `json:"msg"`
		}
		if err := json.Unmarshal(line, &e); err != nil {
			panic(err)
		}
		if e.Dir == "out" {
			_, _ = os.Stdout.Write(append(e.Msg, '\n'))
			continue
		}
		told, err := in.ReadBytes('\n')
		if err == nil && bytes.Contains(told, []byte(`"subtype":"initialize"`)) && bytes.Contains(e.Msg, []byte(`"type":"user"`)) {
			heard = append(heard, told...) // not every recording was made with hooks
			told, err = in.ReadBytes('\n')
		}
		if err != nil {
			break
		}
		heard = append(heard, told...)
		if err := os.WriteFile(saw, heard, 0o600); err != nil {
			panic(err)
		}
	}
	_, _ = io.Copy(io.Discard, in)
	os.Exit(0)
}

// told reads the input of a claude up to the user's message, and returns that.
func told(in *bufio.Reader) string {
	for {
		line, err := in.ReadBytes('\n')
		var e struct {
			Type    string `json:"type"`
			Message struct {
				Content []struct {
					Text string `json:"text"`
				} `json:"content"`
			} `json:"message"`
		}
		if err == nil && json.Unmarshal(line, &e) == nil && e.Type == "user" {
			return e.Message.Content[0].Text
		}
		if err != nil {
			return ""
		}
	}
}

// fakeClaude speaks stream-json and behaves as asked.
func fakeClaude(b agenttest.Behaviour) {
	out := bufio.NewWriterSize(os.Stdout, 64<<10)
	event := func(format string, args ...any) { fmt.Fprintf(out, format+"\n", args...) }
	quote := func(s string) string { b, _ := json.Marshal(s); return string(b) }
	say := func(s string) {
		event(`{"message":{"content":[{"text":%s,"type":"text"}]},"parent_tool_use_id":null,"type":"assistant"}`, quote(s))
	}
	finish := func(s string) {
		event(`{"is_error":false,"result":%s,"subtype":"success","total_cost_usd":0.01,"type":"result"}`, quote(s))
		out.Flush()
	}
	prompt := ""
	if b != agenttest.Deaf {
		prompt = told(bufio.NewReader(os.Stdin))
	}
	event(`{"type":"system","subtype":"init","session_id":"s-1"}`)
	words := "Working."
	switch b {
	case agenttest.Echo:
		words = prompt
	case agenttest.Complete:
		words = "All is done.\n<ralph>COMPLETE</ralph>"
	case agenttest.Fail:
		fmt.Fprintln(os.Stderr, "it broke")
		os.Exit(3)
	case agenttest.Limited:
		event(`{"error":"rate_limit","message":{"content":[]},"type":"assistant"}`)
		event(`{"type":"result","subtype":"success","is_error":true,"api_error_status":429,"result":"Request rejected"}`)
		out.Flush()
		os.Exit(1)
	case agenttest.Crash:
		say(words)
		out.Flush()
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	case agenttest.Hang, agenttest.HangHard:
		if b == agenttest.HangHard {
			signal.Ignore(syscall.SIGTERM, syscall.SIGINT)
		}
		say("ready")
		out.Flush()
		<-time.After(time.Hour)
	case agenttest.Flood:
		text := strings.Repeat("flooding ", 1000)
		for n := 0; n < agenttest.FloodBytes; n += len(text) {
			say(text)
		}
	case agenttest.Background:
		leaveBehind()
	}
	if b != agenttest.Flood {
		say(words)
	}
	finish(words)
	os.Exit(0)
}

// leaveBehind starts a process in a session of its own and returns when it is up.
func leaveBehind() {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		panic(err)
	}
	up, down, err := os.Pipe()
	if err != nil {
		panic(err)
	}
	_, err = os.StartProcess("/bin/sh", []string{"sh", "-c", "echo up; exec >&-; sleep 60; :"},
		&os.ProcAttr{Env: os.Environ(), Files: []*os.File{null, down, null}, Sys: &syscall.SysProcAttr{Setsid: true}})
	if err != nil {
		panic(err)
	}
	if _, err := up.Read(make([]byte, 3)); err != nil {
		panic(err)
	}
}
