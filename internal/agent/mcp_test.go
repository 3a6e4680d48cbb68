package agent

import (
	"encoding/json"
	"slices"
	"testing"
)

// ralph's MCP server gets what is ralph's of the turn's environment, and no keys: an
// agent may share its process among turns, and hands little of its own on.
func TestOwnServer(t *testing.T) {
	t.Parallel()
	command, env := []string{"/bin/ralph", "mcp"}, []string{"RALPH_SOCKET=/s", "OPENAI_API_KEY=k", "RALPH_NONCE=n"}
	for name, c := range map[string]struct {
		got  any
		want string
	}{
		"codex":       {codexServer(command, env), `{"args":["mcp"],"command":"/bin/ralph","default_tools_approval_mode":"approve","env":{"RALPH_NONCE":"n","RALPH_SOCKET":"/s"},"tool_timeout_sec":86400}`},
		"acp":         {acpServers(command, env), `[{"args":["mcp"],"command":"/bin/ralph","env":[{"name":"RALPH_SOCKET","value":"/s"},{"name":"RALPH_NONCE","value":"n"}],"name":"ralph"}]`},
		"acp without": {acpServers(nil, env), `[]`},
	} {
		if b, err := json.Marshal(c.got); err != nil || string(b) != c.want {
			t.Errorf("%s: %s, want %s (%v)", name, b, c.want, err)
		}
	}
}

// opencode asks whatever a person's variable lets pass; what it forbids stays forbidden
// (C-036, X-77).
func TestOpenCodeAsks(t *testing.T) {
	t.Parallel()
	const asks = `"edit":"ask","external_directory":"ask","webfetch":"ask"}`
	for given, want := range map[string]string{
		"":                               `{"bash":"ask",` + asks,
		`{"bash":"deny","edit":"allow"}`: `{"bash":"deny",` + asks,
		`{"bash":{"git push *":"ask","*":"allow"},"skill":"ask"}`: `{"bash":"ask","edit":"ask","external_directory":"ask","skill":"ask","webfetch":"ask"}`,
		`null`: `{"bash":"ask",` + asks,
		`no`:   `{"bash":"ask",` + asks,
	} {
		if got := askingEnv([]string{"A=b", "OPENCODE_PERMISSION=" + given}); !slices.Equal(got, []string{"A=b", "OPENCODE_PERMISSION=" + want}) {
			t.Errorf("%s: %q", given, got)
		}
	}
}
