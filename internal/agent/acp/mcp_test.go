package acp

import (
	"encoding/json"
	"slices"
	"testing"
)

// ralph's MCP server gets what is ralph's of the turn's environment, and no keys: an
// agent may share its process among turns, and hands little of its own on.
func TestOwnACPServer(t *testing.T) {
	t.Parallel()
	env := []string{"RALPH_SOCKET=/s", "OPENAI_API_KEY=k", "RALPH_NONCE=n"}
	for want, command := range map[string][]string{
		`[{"args":["mcp"],"command":"/bin/ralph","env":[{"name":"RALPH_SOCKET","value":"/s"},{"name":"RALPH_NONCE","value":"n"}],"name":"ralph"}]`: {"/bin/ralph", "mcp"},
		`[]`: nil,
	} {
		if b, err := json.Marshal(servers(command, env)); err != nil || string(b) != want {
			t.Errorf("%s, want %s (%v)", b, want, err)
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
