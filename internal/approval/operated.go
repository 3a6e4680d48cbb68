package approval

import (
	"slices"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/operation"
	"github.com/ralph-loop/ralph/internal/text"
)

// operations returns what in a request the patterns and the never list hold. A pattern that
// cannot be compiled (internal/config refuses those) holds everything.
func operations(q ralph.Request, c Settings, g *ground) []operation.Found {
	p, err := c.patterns()
	q.Dir = g.in(q.Dir)
	found := p.Judge(q, operation.Workspace{Work: g.Work, Home: g.Home, Aliases: g.aliases, Read: g.read}).Found
	if err != nil {
		found = append(found, operation.Found{Rule: err.Error(), Unknown: true})
	}
	return found
}

// never is the answer to what nothing approves by itself: an entry of the never list, or
// what may be one, whatever the settings and a person's rules say.
//
// What at its worst writes to files is not asked about where the sandbox refuses that.
func never(found []operation.Found, sandboxed bool) (Ruling, bool) {
	for _, f := range found {
		if f.Never {
			return Ruling{Rule: "the never list: " + f.Rule, Gate: ralph.ApprovalOperation, Never: true}, true
		}
	}
	for _, f := range found {
		if f.Unknown && (!f.Bounded || !sandboxed) {
			return Ruling{Rule: "it may be on the never list: " + f.Rule, Gate: ralph.ApprovalOperation, Never: true}, true
		}
	}
	return Ruling{}, false
}

// patterned is the answer to what a pattern holds that is not approved beforehand
// and is no ordinary work. dir is the folder of the request.
func patterned(found []operation.Found, c Settings, dir string, g *ground) (Ruling, bool) {
	for _, f := range found {
		if !f.Never && !f.Unknown && !preApproved(f, c.PreApproved) && !ordinary(f, c, dir, g) {
			return Ruling{Rule: "gate.patterns: " + f.Rule, Gate: ralph.ApprovalOperation}, true
		}
	}
	return Ruling{}, false
}

// preApproved reports whether an entry of gate.pre_approved lets a pattern's find pass: the
// pattern itself, or the first words of the command.
func preApproved(f operation.Found, approved []string) bool {
	return slices.ContainsFunc(approved, func(entry string) bool {
		words := strings.Fields(entry)
		return entry == f.Rule || len(words) > 0 && len(words) <= len(f.Words) && slices.Equal(words, f.Words[:len(words)])
	})
}

// NeverApproved returns the entries of gate.pre_approved and gate.allow that name what is on
// the never list, and so have no effect.
func NeverApproved(entries []string) []string {
	var out []string
	for _, entry := range entries {
		q := ralph.Request{Kind: ralph.RequestApproval, Op: ralph.OpCommand, Command: entry}
		hit := slices.ContainsFunc((operation.Patterns{}).Look(q, ""), func(f operation.Found) bool { return f.Never })
		if hit || slices.ContainsFunc(operation.Never(), func(n string) bool { return strings.EqualFold(text.OneLine(entry), n) }) {
			out = append(out, entry)
		}
	}
	return out
}
