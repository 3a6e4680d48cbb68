package wire

import (
	"maps"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph"
)

// AddEnv is env with variables that it does not set itself, in the order of their names.
func AddEnv(env []string, more map[string]string) []string {
	out := slices.Clone(env)
	for _, name := range slices.Sorted(maps.Keys(more)) {
		if !slices.ContainsFunc(env, func(kv string) bool { return strings.HasPrefix(kv, name+"=") }) {
			out = append(out, name+"="+more[name])
		}
	}
	return out
}

// OpencodeEnv keeps opencode from updating itself in mid-run, and from the repository's
// configuration: its `mcp` commands run at the start, its plugins are installed.
func OpencodeEnv(spec ralph.AgentSpec) map[string]string {
	env := map[string]string{"OPENCODE_DISABLE_AUTOUPDATE": "1"}
	if !spec.Project {
		env["OPENCODE_DISABLE_PROJECT_CONFIG"], env["OPENCODE_PURE"] = "1", "1"
	}
	return env
}
