//go:build e2e

package e2e

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/ralph-loop/ralph/internal/ralphtest/modeltest"
)

// program is an agent program, and how ralph is told of it.
type program struct {
	name  string // of the agent in the settings
	dir   string // its folder in RALPH_E2E_AGENTS
	bin   string // "": ralph itself is the program
	agent func(p *place, path string, m *modeltest.Server) map[string]any
}

// programs are all that are installed, by folder.
func programs() map[string]program {
	list := []program{
		{"claude", "claude-2.1.329", "claude", claudeAgent},
		{"claude", "claude-2.1.197", "claude", claudeAgent},
		{"codex", "codex-0.169.0", "codex", codexAgent},
		{"opencode", "opencode-1.18.33", "opencode", openCodeAgent},
		{"claude-acp", "claude-agent-acp-0.49.0", "claude-agent-acp", claudeACPAgent},
	}
	out := map[string]program{}
	for _, p := range list {
		out[p.dir] = p
	}
	return out
}

// ours are ralph's own agent, over each API: no program is installed, and no MCP server called.
func ours() []program {
	return []program{
		{"local", "api-openai", "", apiAgent("openai", "/v1")},
		{"local", "api-responses", "", apiAgent("responses", "/v1")},
		{"local", "api-anthropic", "", apiAgent("anthropic", "")},
		{"local", "api-ollama", "", apiAgent("ollama", "")},
	}
}

// path is the installed program.
func (a program) path(t *testing.T) string {
	t.Helper()
	if a.bin == "" {
		return ""
	}
	root := os.Getenv("RALPH_E2E_AGENTS")
	if root == "" {
		t.Fatal("RALPH_E2E_AGENTS is not set: run `make e2e`, which installs the programs from npm into a folder and names it")
	}
	path := filepath.Join(root, a.dir, "node_modules/.bin", a.bin)
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%s is not installed: run `make e2e` (%v)", a.dir, err)
	}
	return path
}

// each runs a test for every program, beside one another.
func each(t *testing.T, test func(t *testing.T, a program)) {
	eachOf(t, slices.Sorted(maps.Keys(programs())), test)
}

// eachAndOurs runs a test for every program, and for ralph's own agent.
func eachAndOurs(t *testing.T, test func(t *testing.T, a program)) {
	for _, a := range ours() {
		t.Run(a.dir, func(t *testing.T) {
			t.Parallel()
			test(t, a)
		})
	}
	each(t, test)
}

// eachDriver runs a test for one program of every driver: what it proves is the driver's.
// OpenCode costs ten seconds of the processor each time that it starts.
func eachDriver(t *testing.T, test func(t *testing.T, a program)) {
	eachOf(t, []string{"claude-2.1.329", "codex-0.169.0", "claude-agent-acp-0.49.0"}, test)
}

func eachOf(t *testing.T, names []string, test func(t *testing.T, a program)) {
	all := programs()
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, all[name])
		})
	}
}

func claudeAgent(_ *place, path string, m *modeltest.Server) map[string]any {
	return map[string]any{"driver": "claude", "command": []string{path}, "env": m.ClaudeEnv()}
}

func claudeACPAgent(_ *place, path string, m *modeltest.Server) map[string]any {
	return map[string]any{"driver": "acp", "command": []string{path}, "env": m.ClaudeEnv()}
}

// codexAgent leaves Codex without its sandbox: containers allow none. Its home is
// beside the programs: Codex warns of one in the temporary folder.
func codexAgent(p *place, path string, m *modeltest.Server) map[string]any {
	p.t.Helper()
	home, err := os.MkdirTemp(os.Getenv("RALPH_E2E_AGENTS"), "codex-home-")
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = os.RemoveAll(home) })
	env, err := m.CodexEnv(home)
	if err != nil {
		p.t.Fatal(err)
	}
	return map[string]any{
		"driver": "codex", "command": []string{path, "app-server"}, "args": []string{"-c", `sandbox_mode="danger-full-access"`}, "env": env,
	}
}

func openCodeAgent(_ *place, path string, m *modeltest.Server) map[string]any {
	return map[string]any{"driver": "acp", "command": []string{path, "acp"}, "env": m.OpenCodeEnv(map[string]string{"bash": "ask", "edit": "allow"})}
}

// apiAgent is ralph's own agent, over one of the APIs of the server.
func apiAgent(provider, below string) func(*place, string, *modeltest.Server) map[string]any {
	return func(p *place, _ string, m *modeltest.Server) map[string]any {
		p.env = append(p.env, "E2E_KEY=dummy")
		return map[string]any{"driver": "api", "model": provider + ":m1", "base_url": m.URL + below, "key_env": "E2E_KEY"}
	}
}

// settings are those of a repository whose check is a file with one word in it.
// The first program does the work, the others are its fallback.
func (p *place) settings(m *modeltest.Server, approvals string, list ...program) string {
	p.t.Helper()
	agents, fallback := map[string]any{}, []string{}
	for i, a := range list {
		agents[a.name] = a.agent(p, a.path(p.t), m)
		if i > 0 {
			fallback = append(fallback, a.name)
		}
	}
	text, err := json.MarshalIndent(map[string]any{ // YAML as well
		"version": 1, "agents": agents, "agent": map[string]any{"primary": list[0].name, "fallback": fallback},
		"task": map[string]any{"delay": "0s", "max_iterations": 5}, "errors": map[string]any{"retry_base": "1ms", "rate_limit_base": "1ms", "max_rate_limit_retries": 1}, "gate": map[string]any{"approvals": approvals},
		"quality": map[string]any{"commands": []string{"grep -qx hello hello.txt"}},
	}, "", " ")
	if err != nil {
		p.t.Fatal(err)
	}
	return string(text) + "\n"
}
