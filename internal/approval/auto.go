package approval

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/ralph-loop/ralph"
)

// approvalsAuto bounds agents by the sandbox that they run in.
const approvalsAuto = "auto"

// ByAutoRule begins the rule of what passes because it stays in the sandbox.
const ByAutoRule = "gate.approvals: auto, in the sandbox"

// bounded reports whether what an agent's processes can write is bounded, so that their
// commands need nobody.
func (c Settings) bounded() bool { return c.Approvals == approvalsAuto && c.Sandbox != "" }

// ByAuto is what gate.approvals: auto says to a request whose answer depends on nothing that
// lies on disk, for those that were recorded without it.
func ByAuto(q ralph.Request, c Settings) Ruling {
	if !c.bounded() {
		return Ruling{Rule: "gate.approvals is " + c.Approvals}
	}
	return byAuto(q, c, groundOf(ralph.WorkDir{Work: "/"}))
}

// byAuto is what gate.approvals: auto says to what nothing holds. What runs inside the
// sandbox passes: commands, all that reads, changes of files in the work tree, the folders
// for temporary files and those of sandbox.write, and the agent's own tools for the network,
// which its commands have as well. What leaves it goes to a person: a change elsewhere, what
// other programs run by themselves, more rights, and tools of servers that run where the
// sandbox does not reach, as nobody knows.
func byAuto(q ralph.Request, c Settings, g *ground) Ruling {
	passes := Ruling{Verdict: ralph.Approved, Rule: ByAutoRule + " (" + c.Sandbox + ")"}
	switch q.Op {
	case ralph.OpCommand:
		if q.Command != "" {
			return passes
		}
	case ralph.OpRead:
		return passes
	case ralph.OpTool:
		if slices.Contains(tamedTools(), q.Tool) {
			return passes
		}
	}
	allow := slices.Concat(c.Allow, c.PreApproved)
	places := allow
	if q.Op == ralph.OpEdit {
		places = slices.Concat(allow, c.Write)
	}
	entry, err := cleared(q, places, g, nil)
	switch {
	case err != nil && q.Op == ralph.OpEdit && outside(q, c, g):
		return Ruling{Rule: fmt.Sprintf("%v, and the sandbox refuses it whatever is said here; sandbox.extra_write opens a folder", err), Gate: ralph.ApprovalRequest}
	case err != nil:
		return Ruling{Rule: err.Error(), Gate: ralph.ApprovalRequest}
	case entry != "" && slices.Contains(allow, entry):
		return Ruling{Verdict: ralph.Approved, Rule: "gate.allow: " + entry}
	}
	return passes
}

// tamedTools are tools that agents bring along and that change no file outside of the
// sandbox: Claude's for the network, and the one by which it leaves its plan mode.
func tamedTools() []string { return []string{"WebFetch", "WebSearch", "ExitPlanMode"} }

// outside reports whether one of the files of a request lies where the sandbox lets nobody
// write.
func outside(q ralph.Request, c Settings, g *ground) bool {
	return slices.ContainsFunc(q.Paths, func(p string) bool { return !c.writable(g, q.Dir, p) })
}

// Writable reports whether the sandbox lets an agent write a path; dir is where a relative
// one begins, "" for the work tree. missing is as with Clear.
func (c Settings) Writable(w ralph.WorkDir, dir, p string) (ok bool, missing Missing) {
	g := groundOf(w)
	return c.writable(g, dir, p), g.missing
}

func (c Settings) writable(g *ground, dir, p string) bool {
	full := p
	if len(p) == 0 || p[0] != '/' {
		full = g.in(dir) + "/" + p
	}
	target := g.real(full)
	for _, root := range append([]string{g.Work}, c.Write...) {
		if _, ok := within(g.real(cmp.Or(root, "/")), target); ok {
			return true
		}
	}
	return false
}
