package approval

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/lazyregexp"
	"github.com/ralph-loop/ralph/internal/operation"
)

// What happens to approvals that an agent asks for: gate.approvals.
const (
	approvalsAsk    = "ask"
	approvalsPolicy = "policy"
	approvalsNever  = "never"
)

// Ruling is what the settings say to a request without a person.
type Ruling struct {
	Verdict ralph.Verdict // "": a person has to be asked
	Rule    string        // which rule answered; without an answer, why a person is asked
	Gate    string        // without an answer: the kind of the gate
	Never   bool          // without an answer: it is on the never list
	// Text is a standing rule's answer to a question, or why it denies.
	Text string
	By   ralph.RuleID // the standing rule that answered, "" for none
}

// Answered reports whether nobody has to be asked.
func (w Ruling) Answered() bool { return w.Verdict != "" || w.By != "" }

// Clear answers a request without a person, where the settings allow that. Under
// `policy` only what reads passes, and changes of files inside the work tree;
// a question is for a person.
//
// What decides, the strongest first: the never list, rules that deny, the gate
// patterns unless a rule or gate.pre_approved lets them pass, rules that approve, what is
// known to be safe, gate.approvals. rules are a person's answers that hold here and now.
//
// Where the answer depends on what lies on disk and is not in w, missing says what has to be
// looked up; the word holds once nothing is missing (internal/lookup goes round until then).
func Clear(q ralph.Request, c Settings, w ralph.WorkDir, rules []*ralph.AnswerRule) (word Ruling, missing Missing) {
	g := groundOf(w)
	return clear(q, c, g, rules), g.missing
}

func clear(q ralph.Request, c Settings, g *ground, rules []*ralph.AnswerRule) Ruling {
	var found []operation.Found
	if q.Kind == ralph.RequestApproval {
		found = operations(q, c, g)
		if word, held := never(found, c.Sandbox != ""); held {
			return word
		}
	}
	if r := ruled(q, g, rules); r != nil {
		return OfRule(r)
	}
	if q.Kind != ralph.RequestApproval {
		return Ruling{Rule: "a question", Gate: ralph.ApprovalQuestion}
	}
	if word, held := patterned(found, c, oneFolder(q, g), g); held {
		return word
	}
	return byApprovals(q, c, g)
}

// oneFolder is the folder in which each command of a request runs, "" when nobody knows:
// it goes elsewhere on its way.
func oneFolder(q ralph.Request, g *ground) string {
	if movesAway.MatchString(q.Command) {
		return ""
	}
	return g.in(q.Dir)
}

var movesAway = lazyregexp.New(`(?i)\b(cd|chdir|pushd|popd|chroot|set-location)\b|\s-C\b`)

// byApprovals is what gate.approvals says to what nothing holds.
func byApprovals(q ralph.Request, c Settings, g *ground) Ruling {
	switch c.Approvals {
	case approvalsNever:
		return Ruling{Verdict: ralph.Approved, Rule: "gate.approvals: never"}
	case approvalsPolicy:
	case approvalsAuto:
		if c.bounded() {
			return byAuto(q, c, g)
		}
		fallthrough // no sandbox: as if it were ask
	default:
		if _, err := cleared(q, nil, g, nil); q.Shown && err == nil {
			return Ruling{Verdict: ralph.Approved, Rule: "the agent's own rules"}
		}
		return Ruling{Rule: "gate.approvals: ask", Gate: ralph.ApprovalRequest}
	}
	allowed, err := cleared(q, slices.Concat(c.Allow, c.PreApproved), g, c.Commands)
	switch {
	case err != nil:
		return Ruling{Rule: err.Error(), Gate: ralph.ApprovalRequest}
	case strings.HasPrefix(allowed, aCheck):
		return Ruling{Verdict: ralph.Approved, Rule: allowed}
	case allowed == "":
		return Ruling{Verdict: ralph.Approved, Rule: "gate.approvals: policy"}
	case !slices.Contains(c.Allow, allowed) && slices.Contains(c.PreApproved, allowed):
		return Ruling{Verdict: ralph.Approved, Rule: "gate.pre_approved: " + allowed}
	}
	return Ruling{Verdict: ralph.Approved, Rule: "gate.allow: " + allowed}
}

// aCheck begins what says that a command runs a check of the project.
const aCheck = "a check of the project: "

// cleared returns which entries of gate.allow it took, or which of the project's checks, ""
// for none, or why the request is for a person.
func cleared(q ralph.Request, allow []string, g *ground, checks []string) (string, error) {
	base := g.in(q.Dir)
	switch q.Op {
	case ralph.OpCommand:
		j := &judge{allow: allow, checks: checks, ground: g, dirs: []string{base}}
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
			used = cmp.Or(used, entry)
		}
		return used, nil
	case ralph.OpTool:
		if q.Tool != "" && slices.Contains(allow, q.Tool) {
			return q.Tool, nil
		}
		return "", fmt.Errorf("nobody knows what %s does", cmp.Or(q.Tool, "the tool"))
	}
	return "", fmt.Errorf("more rights are for a person to give")
}

// path judges one path; relative ones are below base. It returns the entry of
// gate.allow that lets it pass where the work tree does not.
func (g *ground) path(base, p string, write bool, allow []string) (string, error) {
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

// maxMatches bounds what a pattern is followed to.
const maxMatches = 2000

// matches are the paths that a pattern may match, relative ones below base: those that
// it does and some more.
func (g *ground) matches(base string, pattern word) ([]string, error) {
	text := string(pattern)
	if strings.Contains(text, liveGlob+"*"+liveGlob+"*") {
		return nil, errors.New("a pattern through all folders")
	}
	found, looked := []string{""}, 0
	if strings.HasPrefix(text, "/") {
		found = []string{"/"}
	}
	for part := range strings.SplitSeq(text, "/") {
		if part == "" {
			continue
		}
		if !word(part).globs() {
			for i := range found {
				found[i] += part + "/"
			}
			continue
		}
		var next []string
		for _, at := range found {
			if _, err := g.path(base, cmp.Or(at, "."), false, nil); err != nil {
				return nil, err // what is outside is not even looked at
			}
			dir := at
			if !strings.HasPrefix(at, "/") {
				dir = base + "/" + at
			}
			names := g.names(g.real(dir))
			if looked += len(names); looked > maxMatches {
				return nil, errors.New("a pattern that may match too much")
			}
			for _, name := range names {
				if mayMatch(part, name) {
					next = append(next, at+name+"/")
				}
			}
		}
		found = next
	}
	for i := range found {
		found[i] = strings.TrimSuffix(found[i], "/")
	}
	return found, nil
}

// mayMatch is true of all that a part of a pattern matches, and of more: each sign
// counts as any text, and all behind a bracket does. Names with a dot in front are
// only meant where the pattern has it too.
func mayMatch(part, name string) bool {
	pieces := strings.Split(part, liveGlob)
	if pieces[0] == "" && strings.HasPrefix(name, ".") {
		return false
	}
	rest, ok := strings.CutPrefix(fold(name), fold(pieces[0]))
	if !ok {
		return false
	}
	for i, piece := range pieces[1:] {
		if piece[0] == '[' {
			return true
		}
		literal := fold(piece[1:])
		if i == len(pieces)-2 {
			return strings.HasSuffix(rest, literal)
		}
		at := strings.Index(rest, literal)
		if at < 0 {
			return false
		}
		rest = rest[at+len(literal):]
	}
	return true
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

// fold is a path as file systems compare it that do not tell .GIT from .git, nor from
// one with signs that nobody sees.
func fold(path string) string {
	return strings.ToLower(strings.ToUpper(strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}, path)))
}

// private reports whether a path in the work tree is not what an agent may change
// unasked: git's own files, ralph's (its hooks and settings run with a person's
// rights; only progress.md is written for agents), and what other programs run by
// themselves. What git keeps is not read unasked either: there may be passwords in it.
func private(rel string, write bool) bool {
	parts := strings.Split(fold(rel), "/")
	if slices.Contains(parts, ".git") {
		return true
	}
	if !write {
		return false
	}
	for _, dir := range []string{".claude", ".codex", ".opencode", ".gemini", ".husky", ".githooks", ".vscode", ".cursor", ".devcontainer"} {
		if slices.Contains(parts, dir) {
			return true
		}
	}
	switch parts[len(parts)-1] {
	case ".mcp.json", "opencode.json", "opencode.jsonc", ".envrc", ".gitmodules", ".gitattributes", ".aider.conf.yml", ".pre-commit-config.yaml", "lefthook.yml":
		return true
	}
	return parts[0] == "ralph" && rel != "ralph/progress.md"
}
