// Package operation finds what needs a person in what an agent wants to do: commands and
// tool calls that match gate.patterns, those of the list that nothing ever approves by
// itself, and those of which it cannot be said (C-030 to C-043, X-79, X-80). It looks at
// the parsed shell command. It owns no decision (that is policy), and it knows nothing of
// settings, files, or what a program that it does not know does.
package operation

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/ralph-loop/ralph"
)

// The entries of the never list (C-034).
const (
	pushForce        = "push --force"
	rmRoot           = "rm -rf /"
	rmHome           = "rm -rf ~"
	dropDatabase     = "drop database"
	formatDisk       = "format c:"
	productionDeploy = "production deploy"
	npmPublish       = "npm publish"
)

// Never returns the list that no setting, flag, rule or pre-approval overrides (C-034 to
// C-036).
func Never() []string {
	return []string{pushForce, rmRoot, rmHome, dropDatabase, formatDisk, productionDeploy, npmPublish}
}

// Found is one reason why a person has to be asked.
type Found struct {
	// Rule is the pattern, or the entry of the never list; of what is Unknown, why.
	Rule    string
	Never   bool
	Unknown bool     // nobody can say that it is not on the never list: it counts as if it were
	Text    string   // the simple command in question, without quotes and messages
	Words   []string // the same in words, for gate.pre_approved
}

// Patterns are compiled gate.patterns.
type Patterns struct {
	list []pattern
}

type pattern struct {
	text string
	re   *regexp.Regexp
}

// Compile reads patterns, which are regular expressions of RE2 without regard to case
// (C-032, C-042). An error names the pattern.
func Compile(patterns []string) (Patterns, error) {
	var p Patterns
	for _, text := range patterns {
		re, err := regexp.Compile("(?i)" + text)
		if err != nil {
			return Patterns{}, fmt.Errorf("gate pattern %q: %w", text, err)
		}
		p.list = append(p.list, pattern{text, re})
	}
	return p, nil
}

const (
	mostText  = 64 << 10 // bytes of a command that are looked at; what is longer is unknown
	mostDepth = 20       // commands within commands
	mostLooks = 600      // texts that are parsed on the way
	mostWords = 1000     // of one simple command
)

// Look returns what in a request needs a person, each reason once, in the order it was met;
// none is nil. q.Dir is absolute, or it is taken for unknown. home is the folder that ~
// stands for; without it every folder that may be one counts. The never list is always
// looked for, also with no patterns at all. Paths of edits and reads, file contents
// and what agents say are no operations.
func (p Patterns) Look(q ralph.Request, home string) []Found {
	if q.Kind == ralph.RequestQuestion {
		return nil
	}
	k := &look{patterns: p.list, home: homeParts(home), files: map[string]string{}}
	dir := hole
	if strings.HasPrefix(q.Dir, "/") {
		dir = q.Dir
	}
	k.dirs = []string{dir}
	// A function may be called behind the cd that stands after it, a file run before it is
	// seen to be written: the second time all of that is known.
	for range 2 {
		k.found, k.looks, k.depth = nil, 0, 0
		switch {
		case q.Op == ralph.OpCommand:
			k.command(q.Command)
		case q.Op == ralph.OpTool:
			k.tool(q)
		case q.Command != "":
			k.command(q.Command)
		}
	}
	return k.found
}

// Words is the request to run a program whose arguments are split already, as a command
// shim sees them. No quoting is needed or undone: what is looked at are these words.
func Words(argv []string, dir string) ralph.Request {
	q := ralph.Request{Kind: ralph.RequestApproval, Op: ralph.OpCommand, Dir: dir}
	quoted := make([]string, len(argv))
	for i, a := range argv {
		text, err := syntax.Quote(a, syntax.LangBash)
		if err != nil {
			text = "\x00" // no shell can say this: Look answers that it is unknown
		}
		quoted[i] = text
	}
	q.Command = strings.Join(quoted, " ")
	return q
}

// Own refuses a command of git that ralph itself must not run: on its own account it forces
// no push, as nobody else may, and takes no alias for a command. It looks at
// what git does, not at its messages and paths: those are people's words.
func Own(argv []string) error {
	ws := make([]word, len(argv))
	for i, a := range argv {
		if ws[i] = plain(a); strings.ContainsAny(a, hole+live+home) {
			ws[i] = hidden()
		}
	}
	k := &look{dirs: []string{hole}, files: map[string]string{}}
	if len(ws) > 0 {
		k.git("git", ws)
	}
	for _, f := range k.found {
		return fmt.Errorf("ralph does not run %q by itself: %s", f.Text, f.Rule)
	}
	return nil
}

// look goes through one request.
type look struct {
	patterns []pattern
	home     []string          // the parts of the home folder's path; none: not known
	dirs     []string          // where the shell may be by now; hole: who knows
	files    map[string]string // what the command itself writes into files, by their last name

	homeSet  bool // the command gives HOME another value
	prod     bool // a word names production
	deploys  bool // a word says to deploy
	depth    int
	looks    int
	quiet    int // within a word that may not be a command at all: only what is certain counts
	found    []Found
	wrappers map[string]string // see wrappers
}

func (k *look) add(f Found) {
	same := func(o Found) bool {
		return o.Rule == f.Rule && o.Never == f.Never && o.Unknown == f.Unknown && o.Text == f.Text
	}
	if !slices.ContainsFunc(k.found, same) {
		k.found = append(k.found, f)
	}
}

func (k *look) never(rule string, ws []word) {
	k.add(Found{Rule: rule, Never: true, Text: cut(joined(ws)), Words: texts(ws)})
}

func (k *look) unknown(why string, ws []word) {
	if k.quiet == 0 {
		k.add(Found{Rule: why, Unknown: true, Text: cut(joined(ws)), Words: texts(ws)})
	}
}

// cut keeps a reason short: it is shown, and the whole command is beside it.
func cut(text string) string {
	const most = 400
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "..."
}
