//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// program is an agent program, and how ralph is told of it.
type program struct {
	name  string // of the agent in the settings
	dir   string // its folder in RALPH_E2E_AGENTS
	bin   string
	agent func(p *place, path, url string) map[string]any
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

// path is the installed program.
func (a program) path(t *testing.T) string {
	t.Helper()
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
	all := programs()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, all[name])
		})
	}
}

// anthropicEnv keeps Claude Code to the model server. IS_SANDBOX is for tests that
// run as root, in containers.
func anthropicEnv(url string) map[string]string {
	return map[string]string{
		"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "dummy", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
		"CLAUDE_CODE_MAX_RETRIES": "0", "IS_SANDBOX": "1",
	}
}

func claudeAgent(_ *place, path, url string) map[string]any {
	return map[string]any{"driver": "claude", "command": []string{path}, "env": anthropicEnv(url)}
}

func claudeACPAgent(_ *place, path, url string) map[string]any {
	return map[string]any{"driver": "acp", "command": []string{path}, "env": anthropicEnv(url)}
}

// codexSettings send everything to the model server, and try again as little as
// possible.
const codexSettings = `model = "gpt-5.5"
model_provider = "scripted"
check_for_update_on_startup = false
features.plugins = false
[model_providers.scripted]
name = "Scripted"
base_url = "%s/v1"
wire_api = "responses"
env_key = "SCRIPTED_KEY"
request_max_retries = 0
stream_max_retries = 0
[analytics]
enabled = false
`

// codexAgent leaves Codex without its sandbox: containers allow none.
func codexAgent(p *place, path, url string) map[string]any {
	p.t.Helper()
	home := codexHome(p.t, url)
	return map[string]any{
		"driver": "codex", "command": []string{path, "app-server"}, "args": []string{"-c", `sandbox_mode="danger-full-access"`},
		"env": map[string]string{"CODEX_HOME": home, "SCRIPTED_KEY": "dummy"},
	}
}

// codexHome is a fresh home of Codex beside the programs: Codex warns of one in the
// temporary folder.
func codexHome(t testing.TB, url string) string {
	t.Helper()
	home, err := os.MkdirTemp(os.Getenv("RALPH_E2E_AGENTS"), "codex-home-")
	if err == nil {
		t.Cleanup(func() { _ = os.RemoveAll(home) })
		err = os.WriteFile(filepath.Join(home, "config.toml"), fmt.Appendf(nil, codexSettings, url), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return home
}

func openCodeAgent(_ *place, path, url string) map[string]any {
	settings := map[string]any{
		"provider": map[string]any{"scripted": map[string]any{
			"npm": "@ai-sdk/openai-compatible", "name": "Scripted",
			"options": map[string]any{"baseURL": url + "/v1", "apiKey": "dummy"},
			"models":  map[string]any{"m1": map[string]any{"limit": map[string]any{"context": 200_000, "output": 8000}}},
		}},
		"model": "scripted/m1", "autoupdate": false, "share": "disabled",
		"permission": map[string]any{"bash": "ask", "edit": "allow"},
	}
	text, _ := json.Marshal(settings)
	return map[string]any{"driver": "acp", "command": []string{path, "acp"}, "env": map[string]string{
		"OPENCODE_CONFIG_CONTENT": string(text), "OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1",
		"OPENCODE_DISABLE_PROJECT_CONFIG": "1", "OPENCODE_PURE": "1",
	}}
}

// settings are those of a repository whose check is a file with one word in it.
// The first program does the work, the others are its fallback.
func (p *place) settings(url, approvals string, list ...program) string {
	p.t.Helper()
	agents, fallback := map[string]any{}, []string{}
	for i, a := range list {
		agents[a.name] = a.agent(p, a.path(p.t), url)
		if i > 0 {
			fallback = append(fallback, a.name)
		}
	}
	text, err := json.MarshalIndent(map[string]any{ // YAML as well
		"version": 1, "agents": agents, "agent": map[string]any{"primary": list[0].name, "fallback": fallback},
		"task": map[string]any{"delay": "0s"}, "errors": map[string]any{"retry_base": "1ms"}, "gate": map[string]any{"approvals": approvals},
		"quality": map[string]any{"commands": []string{"grep -qx hello hello.txt"}},
	}, "", " ")
	if err != nil {
		p.t.Fatal(err)
	}
	return string(text) + "\n"
}
