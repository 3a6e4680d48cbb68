package codex

import (
	"encoding/json"
	"testing"

	"github.com/ralph-loop/ralph/internal/agent/wire"
)

// ralph's MCP server gets what is ralph's of the turn's environment, and no keys: codex
// shares its process among turns, and hands little of its own on.
func TestOwnServer(t *testing.T) {
	t.Parallel()
	const want = `{"args":["mcp"],"command":"/bin/ralph","default_tools_approval_mode":"approve","env":{"RALPH_NONCE":"n","RALPH_SOCKET":"/s"},"tool_timeout_sec":86400}`
	got := mcpServer([]string{"/bin/ralph", "mcp"}, []string{"RALPH_SOCKET=/s", "OPENAI_API_KEY=k", "RALPH_NONCE=n"})
	if b, err := json.Marshal(got); err != nil || string(b) != want {
		t.Errorf("%s, want %s (%v)", b, want, err)
	}
}

// Whatever stands in a message, its params are read or nothing is.
func FuzzParams(f *testing.F) {
	for _, seed := range []string{`{}`, `{"threadId":"a","item":{"type":"agentMessage"}}`, `{"threadId":3,"error":null}`, `[`, `{"item":{"type":`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		p := readParams(in)
		c := readCodexItem(p.item)
		_ = c.item(wire.Text(c.kind))
	})
}
