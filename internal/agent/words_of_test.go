package agent_test

import (
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/agent"
)

// People see words, not the JSON that an agent prints.
func TestLastWordsOfJSON(t *testing.T) {
	t.Parallel()
	acp := ralph.AgentSpec{Driver: "acp"}
	chunk := `{"jsonrpc":"2.0","method":"session/update","params":{"update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"I mend `
	call := `{"jsonrpc":"2.0","method":"session/update","params":{"update":{"sessionUpdate":"tool_call","toolCallId":"c","kind":"execute","title":"go test","rawInput":{"command":"go test ./..."}}}}` + "\n"
	preset := ralph.AgentSpec{Driver: "exec", Output: "opencode"}
	says := `{"type":"text","sessionID":"s","part":{"text":"All done."}}` + "\n"
	for _, c := range []struct {
		name   string
		spec   ralph.AgentSpec
		output string
		begun  bool
		want   string
	}{
		{"words that go on", acp, chunk + `"}}}}` + "\n" + chunk + `it."}}}}` + "\n", true, "I mend I mend it."},
		{"a call", acp, chunk + `it."}}}}` + "\n" + call, true, "go test ./..."},
		{"half a line", acp, call + chunk, true, "go test ./..."},
		{"the rest of a line", acp, `"}}` + "\n" + call, false, "go test ./..."},
		{"an answer is no word", acp, call + `{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}` + "\n", true, "go test ./..."},
		{"a preset", preset, says + `{"type":"step_finish","part":{"reason":"stop"}}` + "\n", true, "All done."},
		{"text", ralph.AgentSpec{Driver: "exec"}, says, true, `{"type":"text","sessionID":"s","part":{"text":"All done."}}`},
	} {
		if got := agent.LastWords(c.spec, []byte(c.output), c.begun); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
