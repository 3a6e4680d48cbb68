package config

import (
	"slices"
	"strings"

	"github.com/ralph-loop/ralph/internal/config/setting"
)

// Acting is a setting of the file that runs something, hands something out, or holds less
// than the default does.
type Acting struct {
	Key  string
	Text string // for people; secrets are masked
	Raw  string // the value as a whole
}

// Acting are the settings of ralph/config.yaml that a person says yes to once, when the
// file comes from somebody else. What a person gives by a flag or a variable is none
// of them, nor is what only holds more than the default.
func (c Config) Acting() []Acting {
	usual := map[string]setting.Value{}
	defaults := Defaults()
	for _, k := range defaults.keys() {
		usual[k.path] = k.v
	}
	var out []Acting
	for _, k := range c.keys() {
		if c.Where(k.path).Kind != setting.FromFile || !acts(k.path) {
			continue // what is left is a few, and to encode a value takes long
		}
		raw := yamlText(k.v.Plain())
		if v, ok := usual[k.path]; ok && raw == yamlText(v.Plain()) || holdsMore(k.path, raw) {
			continue
		}
		text := raw
		if k.mask != nil {
			text = yamlText(k.mask(k.v.Plain()))
		}
		out = append(out, Acting{k.path, text, raw})
	}
	return out
}

// acts reports whether a setting runs something, hands something out, or holds something.
func acts(key string) bool {
	if strings.HasPrefix(key, "agents.") {
		return slices.Contains([]string{"driver", "command", "args", "env", "pass_env", "prompt", "project", "resume", "scenario", "base_url", "key_env"}, leaf(key))
	}
	for _, section := range []string{"sandbox.", "diff.", "notify.", "land.", "inbox."} {
		if strings.HasPrefix(key, section) {
			return true
		}
	}
	return slices.Contains([]string{
		"quality.commands", "quality.pass_env", "test.command", "worktree.setup", "worktree.copy", "web.addr",
		"gate.approvals", "gate.patterns", "gate.pre_approved", "gate.allow", "gate.shims", "gate.self",
		"decision.base_url", "decision.base_urls", "decision.key_envs", "sync.github.base_url", "sync.github.repo", "sync.github.token_env",
	}, key)
}

// holdsMore reports whether a value only makes more wait for a person, or keeps more away.
func holdsMore(key, value string) bool {
	switch {
	case key == "sandbox.kind", strings.HasPrefix(key, "diff."):
		return value != "off" && value != `"off"` && value != "'off'"
	case key == "gate.approvals":
		return value == "ask"
	case strings.HasPrefix(key, "agents.") && leaf(key) == "project":
		return value == "false"
	case key == "sandbox.extra_hide":
		return true
	case key == "sandbox.hide_private":
		return value == "true"
	case value == "[]":
		return key != "gate.patterns" && key != "gate.shims"
	}
	return false
}
