package modeltest

import (
	"fmt"
	"os"
	"path/filepath"
)

// What tells the real programs to talk to the server and to nobody else. Keys are
// dummies; the rest of their environment should be empty but for PATH and a HOME of
// their own.

// ClaudeEnv is for Claude Code, and for ACP agents made of it. IS_SANDBOX lets root
// leave permissions out, as tests in containers do.
func (s *Server) ClaudeEnv() map[string]string {
	return map[string]string{
		"ANTHROPIC_BASE_URL": s.URL, "ANTHROPIC_API_KEY": "dummy", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
		"CLAUDE_CODE_MAX_RETRIES": "0", "IS_SANDBOX": "1",
	}
}

// codexSettings also keep Codex from trying again, and from its own goals.
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

// CodexEnv is for Codex, with its settings in home, a folder that is there; Codex
// warns of one in the temporary folder. Sandbox and approvals are left to its caller.
func (s *Server) CodexEnv(home string) (map[string]string, error) {
	if err := os.WriteFile(filepath.Join(home, "config.toml"), fmt.Appendf(nil, codexSettings, s.URL), 0o600); err != nil {
		return nil, fmt.Errorf("write settings for codex: %w", err)
	}
	return map[string]string{"CODEX_HOME": home, "SCRIPTED_KEY": "dummy"}, nil
}

// OpenCodeEnv is for OpenCode. permission is what it asks for, such as
// {"bash": "ask"}; nil leaves that to OpenCode.
func (s *Server) OpenCodeEnv(permission map[string]string) map[string]string {
	settings := object{
		"provider": object{"scripted": object{
			"npm": "@ai-sdk/openai-compatible", "name": "Scripted",
			"options": object{"baseURL": s.URL + "/v1", "apiKey": "dummy"},
			"models":  object{"m1": object{"cost": object{"input": 3, "output": 15}, "limit": object{"context": 200_000, "output": 8000}}},
		}},
		"model": "scripted/m1", "autoupdate": false, "share": "disabled",
	}
	if permission != nil {
		settings["permission"] = permission
	}
	return map[string]string{
		"OPENCODE_CONFIG_CONTENT": string(raw(settings)), "OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1",
		"OPENCODE_DISABLE_PROJECT_CONFIG": "1", "OPENCODE_PURE": "1", "npm_config_offline": "true", // it installs its library for plugins in the background
	}
}
