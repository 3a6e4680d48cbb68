package config

import (
	"slices"
	"strings"

	"github.com/ralph-loop/ralph/internal/config/setting"
)

// tellsAgents reports the variables that ralph sets for its own children.
// Whoever runs ralph from inside an agent has them set.
func tellsAgents(name string) bool {
	switch name {
	case "RALPH", "RALPH_STAGE", "RALPH_SPEC", "RALPH_TASK", "RALPH_TASK_NAME", "RALPH_ITERATION",
		"RALPH_PHASE", "RALPH_ROOT", "RALPH_PROC",
		"RALPH_HOOK", "RALPH_EVENT", "RALPH_SEQ", "RALPH_SESSION", "RALPH_STEP", "RALPH_TASK_DIR": // hooks have these
		return true
	}
	return false
}

// readEnv sets keys from the environment. A variable that is set to nothing is
// not set; of a doubled one the last counts.
func (l *loader) readEnv(env []string) {
	set := make(map[string]string)
	var names []string
	for _, kv := range env {
		name, v, _ := strings.Cut(kv, "=")
		if !strings.HasPrefix(name, "RALPH_") && !strings.HasPrefix(name, "OPENAGENTS_GUIDANCE_") || tellsAgents(name) {
			continue
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
		set[name] = v
	}
	if len(names) == 0 {
		return
	}
	vars := make(map[string][]string, len(l.keys)) // variable to the keys it may mean
	for _, k := range l.keys {
		if k.path != "version" { // how the file is written is no matter of the environment
			vars[setting.EnvName(k.path)] = append(vars[setting.EnvName(k.path)], k.path)
		}
	}
	slices.Sort(names) // OPENAGENTS_* before RALPH_*: ours win
	for _, name := range names {
		if set[name] != "" {
			l.setVar(name, set[name], vars)
		}
	}
}

func (l *loader) setVar(name, v string, vars map[string][]string) {
	src := setting.Source{Kind: setting.FromEnv, Name: name}
	paths := vars[name]
	switch name { // kept for who has these set
	case "OPENAGENTS_GUIDANCE_MODE":
		paths = []string{"guidance.mode"}
	case "OPENAGENTS_GUIDANCE_MODEL":
		paths = []string{"guidance.model"}
	}
	switch {
	case len(paths) == 1:
		l.set(paths[0], src, l.known[paths[0]].SetText(v))
	case len(paths) > 1:
		l.complain(setting.Problem{Source: src, Key: paths[0], What: "cannot be told from " + setting.Quote(paths[1]) + "; set it in the file"})
	case strings.HasPrefix(name, "RALPH_"):
		// Other programs may use the prefix too, so only what looks like a slip
		// of the pen is an error.
		if path := nearestVar(name, vars); path != "" {
			l.complain(setting.Problem{Source: src, Key: name, Unknown: true, Nearest: path})
		}
	}
}
