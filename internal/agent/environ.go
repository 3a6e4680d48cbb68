package agent

import (
	"maps"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph"
)

func addEnv(env []string, more map[string]string) []string {
	out := slices.Clone(env)
	for _, name := range slices.Sorted(maps.Keys(more)) {
		if !slices.ContainsFunc(env, func(kv string) bool { return strings.HasPrefix(kv, name+"=") }) {
			out = append(out, name+"="+more[name])
		}
	}
	return out
}

// opencodeEnv keeps opencode from updating itself in mid-run, and from the repository's
// configuration: its `mcp` commands run at the start, its plugins are installed.
func opencodeEnv(spec ralph.AgentSpec) map[string]string {
	env := map[string]string{"OPENCODE_DISABLE_AUTOUPDATE": "1"}
	if !spec.Project {
		env["OPENCODE_DISABLE_PROJECT_CONFIG"], env["OPENCODE_PURE"] = "1", "1"
	}
	return env
}

// Quiet adds to an environment what keeps agents from updating themselves and from
// calling home, where it is not set already.
func Quiet(env []string) []string {
	out := slices.Clone(env)
	for _, kv := range []string{
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1", "COPILOT_OFFLINE=true",
	} {
		name, _, _ := strings.Cut(kv, "=")
		if !slices.ContainsFunc(env, func(e string) bool { return strings.HasPrefix(e, name+"=") }) {
			out = append(out, kv)
		}
	}
	return out
}
