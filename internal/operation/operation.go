// Package operation judges commands and tool calls by what they would do: it walks the parsed
// shell text with the values that it knows, follows what is written and then run, and says
// which files, devices, references, packages, services and databases it would touch.
// What needs a person in that is found here: gate.patterns, the list that
// nothing ever approves by itself, and what nobody can say. It owns no decision (that is
// policy), and it knows nothing of settings or of files that people wrote.
package operation

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/text"
)

// The entries of the never list. Each stands for a class: see docs/approvals.md.
const (
	pushForce        = "push --force"
	rmRoot           = "rm -rf /"
	rmHome           = "rm -rf ~"
	dropDatabase     = "drop database"
	formatDisk       = "format c:"
	productionDeploy = "production deploy"
	npmPublish       = "npm publish"
)

// Never returns the list that no setting, flag, rule or pre-approval overrides.
func Never() []string {
	return []string{pushForce, rmRoot, rmHome, dropDatabase, formatDisk, productionDeploy, npmPublish}
}

// Verb is what a command does to its target.
type Verb string

// The verbs.
const (
	Delete     Verb = "delete"
	Overwrite  Verb = "overwrite"
	Move       Verb = "move"
	Permission Verb = "permission"
	Device     Verb = "device"
	Push       Verb = "push"
	Publish    Verb = "publish"
	Deploy     Verb = "deploy"
	Database   Verb = "database"
	Run        Verb = "run" // something that nobody can see
)

// Effect is one thing that a command does, or may do.
type Effect struct {
	Verb   Verb
	Target string // as people read it; "$?" in it stands for what nobody knows
	// Certain: it does that to this target whenever it gets there. Else it may.
	Certain bool
	// Bounded: it is a write to files, and so what a sandbox refuses outside of the work tree.
	Bounded bool
}

// Found is one reason why a person has to be asked.
type Found struct {
	// Rule is the pattern, or the entry of the never list; of what is Unknown, why.
	Rule    string
	Never   bool
	Unknown bool // nobody can say that it is not on the never list: it counts as if it were
	// Bounded, of what is Unknown: at its worst it writes to files. In ralph's sandbox nobody
	// has to be asked about that; it can neither push, publish, deploy nor reach a database.
	Bounded bool
	Text    string   // the simple command in question, without quotes and messages
	Words   []string // the same in words, for gate.pre_approved
}

// Workspace is where a command runs.
type Workspace struct {
	Work string // the work tree, absolute; "": the request's folder
	Home string // the home folder that ~ stands for; "": not known, so that more may be one
	// Aliases returns the aliases that git has there; nil: nobody has looked. It is only
	// called for a subcommand that git does not have.
	Aliases func() map[string]string
	// Read returns what is in a file of the work tree, named from the root; nil: nobody can look.
	// It is asked for what a runner (make, just, npm) is told to run by its name.
	Read func(path string) (text string, ok bool)
}

// Judgement is what a request does, as far as it can be said.
type Judgement struct {
	Effects []Effect
	Found   []Found // each reason once, in the order it was met
}

// Held reports whether a person has to be asked whatever the patterns say: something is on the
// never list, or may be. In a sandbox that bounds writes (X-77 stands: the never list itself
// holds there too) what is unknown only as to files does not count.
func (j Judgement) Held(sandboxed bool) bool {
	return slices.ContainsFunc(j.Found, func(f Found) bool {
		return f.Never || f.Unknown && (!f.Bounded || !sandboxed)
	})
}

// Patterns are compiled gate.patterns.
type Patterns struct {
	list []pattern
}

type pattern struct {
	text string
	re   *regexp.Regexp
}

// Compile reads patterns, which are regular expressions of RE2 without regard to case.
// An error names the pattern.
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

// Matches is the first pattern that words match which are no command, "" for none.
func (p Patterns) Matches(words string) string {
	for _, x := range p.list {
		if x.re.MatchString(words) {
			return x.text
		}
	}
	return ""
}

const (
	maxText  = 64 << 10 // bytes of a command that are looked at; what is longer is unknown
	maxDepth = 20       // commands within commands
	maxLooks = 600      // texts that are parsed on the way
	maxSteps = 20000    // simple commands that are judged on the way
	maxWords = 1000     // of one simple command
)

// Look returns what in a request needs a person; none is nil. home is as in Workspace.
func (p Patterns) Look(q ralph.Request, home string) []Found {
	return p.Judge(q, Workspace{Home: home}).Found
}

// Judge says what a request does. q.Dir is absolute, or it is taken for unknown. The never
// list is always looked for, also with no patterns at all. Paths of edits and reads,
// file contents and what agents say are no operations.
func (p Patterns) Judge(q ralph.Request, g Workspace) Judgement {
	if q.Kind == ralph.RequestQuestion {
		return Judgement{}
	}
	k := newLook(p.list, q.Dir, g)
	switch {
	case q.Op == ralph.OpCommand:
		k.command(q.Command, nil)
	case q.Op == ralph.OpTool:
		k.tool(q)
	case q.Command != "":
		k.command(q.Command, nil)
	}
	return Judgement{Effects: k.effects, Found: k.found}
}

// Words is the request to run a program whose arguments are split already, as a command
// shim sees them. No quoting is needed or undone: what is looked at are these words.
func Words(argv []string, dir string) ralph.Request {
	q := ralph.Request{Kind: ralph.RequestApproval, Op: ralph.OpCommand, Dir: dir}
	quoted := make([]string, len(argv))
	for i, a := range argv {
		text, err := syntax.Quote(a, syntax.LangBash)
		if err != nil {
			text = "\x00" // no shell can say this: Judge answers that it is unknown
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
	k := newLook(nil, "", Workspace{})
	k.own = true
	if len(ws) > 0 {
		k.git("git", ws, nil)
	}
	for _, f := range k.found {
		return fmt.Errorf("ralph does not run %q by itself: %s", f.Text, f.Rule)
	}
	return nil
}

// analysis goes through one request.
type analysis struct {
	patterns []pattern
	home     []string // the parts of the home folder's path; none: not known
	work     []string // of the work tree's
	ground   Workspace
	own      bool // a command of ralph itself

	s      *state
	funcs  map[string]*function
	narrow bool // what is judged is done to some of what a folder has, by name
	outer  bool // the command's name is in a variable that it has not set itself
	pick   int  // which of the values that variables may have is meant

	depth, looks, steps int
	quiet               int // within words that may not be a command at all: only what is certain counts
	outside             int // deletions of folders outside of the work tree so far
	found               []Found
	effects             []Effect
}

func newLook(patterns []pattern, dir string, g Workspace) *analysis {
	if !strings.HasPrefix(dir, "/") {
		dir = hole
	}
	work := g.Work
	if work == "" {
		work = dir
	}
	k := &analysis{patterns: patterns, ground: g, home: homeParts(g.Home), funcs: map[string]*function{}, s: newState(dir)}
	if strings.HasPrefix(work, "/") {
		k.work = homeParts(work)
	}
	return k
}

func (k *analysis) add(f Found) {
	same := func(o Found) bool {
		return o.Rule == f.Rule && o.Never == f.Never && o.Unknown == f.Unknown && o.Bounded == f.Bounded && o.Text == f.Text
	}
	if !slices.ContainsFunc(k.found, same) && len(k.found) < maxWords {
		k.found = append(k.found, f)
	}
}

// does notes an effect.
func (k *analysis) does(e Effect) {
	if !slices.Contains(k.effects, e) && len(k.effects) < maxWords {
		k.effects = append(k.effects, e)
	}
}

func (k *analysis) never(rule string, ws []word) {
	verbs := map[string]Verb{
		pushForce: Push, rmRoot: Delete, rmHome: Delete, dropDatabase: Database, formatDisk: Device, productionDeploy: Deploy, npmPublish: Publish,
	}
	k.does(Effect{Verb: verbs[rule], Target: cut(joined(ws)), Certain: true})
	k.add(Found{Rule: rule, Never: true, Text: cut(joined(ws)), Words: texts(ws)})
}

// unknown is for what may do anything.
func (k *analysis) unknown(why string, ws []word) {
	if k.quiet == 0 {
		k.does(Effect{Verb: Run, Target: cut(joined(ws))})
		k.add(Found{Rule: why, Unknown: true, Text: cut(joined(ws)), Words: texts(ws)})
	}
}

// unsure is for what writes or removes files that nobody knows, and nothing else.
func (k *analysis) unsure(verb Verb, why string, ws []word) {
	if k.quiet == 0 {
		k.does(Effect{Verb: verb, Target: cut(joined(ws)), Bounded: true})
		k.add(Found{Rule: why, Unknown: true, Bounded: true, Text: cut(joined(ws)), Words: texts(ws)})
	}
}

// cut keeps a reason short: it is shown, and the whole command is beside it.
func cut(s string) string { return text.Cut(s, 400) }
