package agent_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/agent"
)

// What a person at a second terminal sees of an agent at work: its newest line, without
// what steers a terminal, and never half of an event.
func TestLastWords(t *testing.T) {
	t.Parallel()
	message := `{"type":"assistant","message":{"content":[{"type":"text","text":"I look at it.\nThen I mend it."}]}}` + "\n"
	tool := `{"type":"assistant","message":{"content":[{"type":"tool_use","name":"Bash","input":{"command":"go test ./..."}}]}}` + "\n"
	result := `{"type":"user","message":{"content":[{"type":"tool_result","content":"ok 12s"}]}}` + "\n"
	for _, c := range []struct {
		name, driver, output string
		begun                bool
		want                 string
	}{
		{"nothing", "exec", "", true, ""},
		{"lines", "exec", "one\ntwo\n\n", true, "two"},
		{"a line that grows", "scripted", "one\nworking on", true, "working on"},
		{"colours and a title", "exec", "\x1b]0;title\x07\x1b[1;31mred\x1b[0m end\n", true, "red end"},
		{"a progress bar", "exec", "10 %\r50 %\r90 %", true, "90 %"},
		{"a cut line alone", "exec", "the rest of a very long line", false, ""},
		{"after a cut line", "exec", "rest\nwhole\n", false, "whole"},
		{"a fence", "exec", "said\n```\n", true, "said"},
		{"a long line", "exec", strings.Repeat("x", 1000), true, strings.Repeat("x", 200) + "…"},
		{"claude says", "claude", message, true, "Then I mend it."},
		{"claude runs", "claude", message + tool, true, "go test ./..."},
		{"what came of it is not said by it", "claude", message + tool + result, true, "go test ./..."},
		{"half an event", "claude", message + tool[:40], true, "Then I mend it."},
		{"from the middle of an event", "claude", tool[30:] + message, false, "Then I mend it."},
		{"no event at all", "claude", "npm notice\n", true, ""},
	} {
		if got := agent.LastWords(ralph.AgentSpec{Driver: c.driver}, []byte(c.output), c.begun); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// Every recording of the real program, cut anywhere, is read without trouble; whole,
// it has words where the agent spoke.
func TestLastWordsOfRecordings(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{"329-subagent.jsonl": true, "197-text.jsonl": true, "329-background-bash.jsonl": true} {
		b, err := os.ReadFile(filepath.Join("testdata/claude", name))
		if err != nil {
			t.Fatal(err)
		}
		got := agent.LastWords(ralph.AgentSpec{Driver: "claude"}, b, true)
		if (got != "") != want || strings.ContainsAny(got, "\n\x1b{") {
			t.Errorf("%s: %q", name, got)
		}
		for cut := 0; cut < len(b); cut += 1 + len(b)/50 {
			agent.LastWords(ralph.AgentSpec{Driver: "claude"}, b[cut:], false)
			agent.LastWords(ralph.AgentSpec{Driver: "claude"}, b[:cut], true)
		}
	}
}

// What Codex said last, from the lines of its app-server.
func TestLastWordsOfCodex(t *testing.T) {
	t.Parallel()
	const said = `{"method":"item/completed","params":{"threadId":"a","item":{"type":"agentMessage","id":"m","text":"I look.\nNow."}}}` + "\n"
	const ran = `{"method":"item/started","params":{"threadId":"a","item":{"type":"commandExecution","id":"c","command":"/bin/bash -lc 'go test ./...'"}}}` + "\n"
	const usage = `{"method":"thread/tokenUsage/updated","params":{"threadId":"a","tokenUsage":{}}}` + "\n"
	for in, want := range map[string]string{
		said + usage: "Now.", said + ran + usage: "go test ./...", usage: "", "": "",
		"cut off\n" + said + ran[:40]: "Now.", said + `{"method":"error","params":{"error":{"message":"Reconnecting... 1/5"}}}` + "\n": "Reconnecting... 1/5",
	} {
		if got := agent.LastWords(ralph.AgentSpec{Driver: "codex"}, []byte(in), true); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
