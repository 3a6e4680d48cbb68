package config

import (
	"maps"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/config/setting"
)

// ourName maps the names that documents A and B use for a setting to ours,
// "" for others. name is without underscores and in small letters, so
// that maxParallel, max_parallel and MAX_PARALLEL are all known.
func ourName(name string) string {
	switch name {
	case "maxparallel", "maxagents":
		return "parallel"
	case "maxiterations":
		return "task.max_iterations"
	case "stuckthreshold":
		return "task.stuck_threshold"
	case "timeoutminutes":
		return "task.timeout"
	case "qualitycommands":
		return "quality.commands"
	case "primaryagent":
		return "agent.primary"
	case "fallbackagent":
		return "agent.fallback"
	case "recoverprimary":
		return "agent.recover_primary"
	case "errorstrategy":
		return "errors.strategy"
	case "maxretries":
		return "errors.max_retries"
	case "retrybasems", "retrybase":
		return "errors.retry_base"
	case "maxratelimitretries":
		return "errors.max_rate_limit_retries"
	case "stepdelay", "iterationdelay":
		return "task.delay"
	case "autocommit":
		return "task.auto_commit"
	case "autoexecute":
		return "require_approval_to_start"
	}
	return ""
}

// squeeze makes spellings of one name alike.
func squeeze(s string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(s))
}

// leaf is the last part of a dotted path.
func leaf(path string) string { return path[strings.LastIndexByte(path, '.')+1:] }

// within returns the key that holds a mapping as its one value, and that a person took
// for a section: agents.mine.env for agents.mine.env.TOKEN. "" for none.
func (l *loader) within(path string) string {
	for at := setting.Parent(path); at != ""; at = setting.Parent(at) {
		known := l.known[at]
		if known == nil {
			known = l.known[l.likeAgent(at)]
		}
		if setting.IsMapping(known) {
			return at
		}
	}
	return ""
}

// likeAgent is the same key of a built-in agent, for one that is not there yet.
func (l *loader) likeAgent(path string) string {
	rest, ok := strings.CutPrefix(path, "agents.")
	name, field, _ := strings.Cut(rest, ".")
	if !ok || !agentName.MatchString(name) {
		return ""
	}
	return "agents.claude." + field
}

// nearest returns the known key that was probably meant by an unknown path, ""
// when none is near.
func (l *loader) nearest(path string) string {
	name := squeeze(leaf(path))
	if name == "" || len(name) > 64 {
		return ""
	}
	all := make([]string, 0, len(l.known)+len(l.sections))
	for _, k := range l.keys {
		all = append(all, k.path)
	}
	all = append(all, slices.Sorted(maps.Keys(l.sections))...)
	here := setting.Parent(path)
	// The same word in another spelling, first in the same section.
	for _, p := range all {
		if setting.Parent(p) == here && squeeze(leaf(p)) == name {
			return p
		}
	}
	if ours := ourName(name); ours != "" {
		return ours
	}
	// A slip of the pen, in the same section.
	best, least := "", allowed(name)+1
	for _, p := range all {
		if setting.Parent(p) != here || p == "" {
			continue
		}
		if d := ralph.Slips(name, squeeze(leaf(p))); d < least {
			best, least = p, d
		}
	}
	if best != "" {
		return best
	}
	// The right word in the wrong section, when only one section has it.
	for _, p := range all {
		if strings.HasPrefix(p, "agents.") || squeeze(leaf(p)) != name {
			continue
		}
		if best != "" {
			return ""
		}
		best = p
	}
	return best
}

// nearestVar returns the key whose environment variable was probably meant.
func nearestVar(name string, vars map[string][]string) string {
	short := squeeze(strings.TrimPrefix(name, "RALPH_"))
	if short == "" || len(short) > 64 {
		return ""
	}
	if ours := ourName(short); ours != "" {
		return ours
	}
	best, least := "", min(allowed(short), 2)+1
	for _, v := range slices.Sorted(maps.Keys(vars)) {
		if d := ralph.Slips(short, squeeze(strings.TrimPrefix(v, "RALPH_"))); d < least {
			best, least = vars[v][0], d
		}
	}
	return best
}

// allowed is how many slips make two names of this length still alike.
func allowed(name string) int { return max(1, len(name)/4) }
