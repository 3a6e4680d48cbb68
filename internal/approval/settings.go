// Package approval owns what is said to a request of an agent without a person: by the never
// list and the patterns (which find what a command does in internal/operation), by rules that
// people made, by what is known to only read, by the sandbox. It is pure: what lies on disk comes
// in as what was looked up. It does NOT own when a person is asked, for how long, and what becomes of
// requests that nobody answers (internal/policy), nor how agents are held (internal/step).
package approval

import "github.com/ralph-loop/ralph/internal/operation"

// Settings are those by which requests are answered.
type Settings struct {
	Approvals   string   // auto (with Sandbox), ask, policy, never
	Sandbox     string   // the kind that agents run in, "" for none
	Write       []string // what it lets them write beside their work tree, absolute
	Allow       []string // policy: commands, tools and folders that need nobody
	Patterns    []string // operations that wait for a person; the never list is none of the settings
	PreApproved []string // what the patterns do not hold all the same
	Commands    []string // the checks of the project

	compiled *operation.Patterns // those of Patterns, where Compiled made them
}

// Compiled is c for those who ask often by the same settings, as the engine is asked about each call
// of an agent's programs: its patterns are compiled once. What does not compile is said at each
// request, as without it.
func (c Settings) Compiled() Settings {
	if c.compiled == nil {
		if p, err := operation.Compile(c.Patterns); err == nil {
			c.compiled = &p
		}
	}
	return c
}

// patterns are those of c, compiled.
func (c Settings) patterns() (operation.Patterns, error) {
	if c.compiled != nil {
		return *c.compiled, nil
	}
	return operation.Compile(c.Patterns)
}
