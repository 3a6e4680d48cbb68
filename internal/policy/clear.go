package policy

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph"
)

// What happens to approvals that an agent asks for: gate.approvals.
const (
	approvalsPolicy = "policy"
	approvalsNever  = "never"
)

// Ground is where an agent works, for judging what it wants to do.
type Ground struct {
	Work string // its folder, absolute: the checkout or the task's worktree
	// Real returns where a path really leads, symbolic links followed, of one that is
	// not there as far as it is. nil: paths are what they say.
	Real func(path string) string
}

// Clear answers a request without a person, where the settings allow that: Approved
// with the rule that did, or "" when a person has to be asked, then with the reason
// in words. It never denies. Under `policy` only what reads passes, and changes of
// files inside the work tree (E-076, E-077, E-104); a question is for a person.
func Clear(q ralph.Request, c Config, g Ground) (verdict ralph.Verdict, rule string) {
	if q.Kind != ralph.RequestApproval {
		return "", "a question"
	}
	switch c.Approvals {
	case approvalsNever:
		return ralph.Approved, "gate.approvals: never"
	case approvalsPolicy:
	default:
		return "", "gate.approvals: ask"
	}
	allowed, err := cleared(q, c.Allow, g)
	if err != nil {
		return "", err.Error()
	}
	if allowed == "" {
		return ralph.Approved, "gate.approvals: policy"
	}
	return ralph.Approved, "gate.allow: " + allowed
}

// cleared returns which entries of gate.allow it took, "" for none, or why the request
// is for a person.
func cleared(q ralph.Request, allow []string, g Ground) (string, error) {
	base := g.in(q.Dir)
	switch q.Op {
	case ralph.OpCommand:
		j := &judge{allow: allow, ground: g, dirs: []string{base}}
		if err := j.inside(base); err != nil {
			return "", err
		}
		err := j.command(q.Command)
		return strings.Join(j.used, ", "), err
	case ralph.OpEdit, ralph.OpRead:
		if len(q.Paths) == 0 {
			return "", fmt.Errorf("it does not say which files")
		}
		used := ""
		for _, p := range q.Paths {
			entry, err := g.path(base, p, q.Op == ralph.OpEdit, allow)
			if err != nil {
				return "", err
			}
			used = orElse(used, entry)
		}
		return used, nil
	case ralph.OpTool:
		if q.Tool != "" && slices.Contains(allow, q.Tool) {
			return q.Tool, nil
		}
		return "", fmt.Errorf("nobody knows what %s does", orElse(q.Tool, "the tool"))
	}
	return "", fmt.Errorf("more rights are for a person to give")
}

// in is a folder of a request, absolute.
func (g Ground) in(dir string) string {
	switch {
	case dir == "":
		return g.Work
	case filepath.IsAbs(dir):
		return dir
	}
	return g.Work + "/" + dir
}

func (g Ground) real(path string) string {
	if g.Real == nil {
		return filepath.Clean(path)
	}
	return g.Real(path)
}

// path judges one path; relative ones are below base. It returns the entry of
// gate.allow that lets it pass where the work tree does not.
func (g Ground) path(base, p string, write bool, allow []string) (string, error) {
	if strings.ContainsRune(p, 0) || climbs(p) {
		return "", fmt.Errorf("%q goes up within a path", p)
	}
	full := p
	if !filepath.IsAbs(p) {
		full = base + "/" + p
	}
	target := g.real(full)
	rel, ok := within(g.real(g.Work), target)
	if ok && private(rel, write) {
		return "", fmt.Errorf("%s is not for agents to change", rel)
	}
	if ok {
		return "", nil
	}
	for _, entry := range allow {
		if !filepath.IsAbs(entry) {
			continue
		}
		if rel, ok := within(g.real(entry), target); ok && !private(rel, write) {
			return entry, nil
		}
	}
	return "", fmt.Errorf("%s is outside the work tree", p)
}

// within returns target relative to root, when it is root or below it.
func within(root, target string) (string, bool) {
	rel, err := filepath.Rel(root, target)
	return filepath.ToSlash(rel), err == nil && filepath.IsLocal(rel)
}

// climbs reports whether a path goes up after it went down: where a folder on the
// way is a symbolic link, that leads elsewhere than it says.
func climbs(p string) bool {
	down := strings.HasPrefix(p, "/")
	for part := range strings.SplitSeq(filepath.ToSlash(p), "/") {
		switch part {
		case "", ".":
		case "..":
			if down {
				return true
			}
		default:
			down = true
		}
	}
	return false
}

// private reports whether a path in the work tree is not what an agent may change
// unasked: git's own files, ralph's (its hooks and settings run with a person's
// rights; only progress.md is written for agents), and what other programs run by
// themselves. What git keeps is not read unasked either: there may be passwords in it.
func private(rel string, write bool) bool {
	parts := strings.Split(strings.ToLower(rel), "/") // some file systems do not tell .GIT from .git
	if slices.Contains(parts, ".git") {
		return true
	}
	if !write {
		return false
	}
	for _, dir := range []string{".claude", ".codex", ".opencode", ".gemini", ".husky", ".githooks", ".vscode"} {
		if slices.Contains(parts, dir) {
			return true
		}
	}
	switch parts[len(parts)-1] {
	case ".mcp.json", ".envrc", ".gitmodules", ".gitattributes":
		return true
	}
	return parts[0] == "ralph" && rel != "ralph/progress.md"
}
