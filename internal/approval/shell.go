package approval

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// A shell command is cleared when each simple command in it is known to read only,
// or a person listed it in gate.allow, and nothing in it hides another one: no
// substitution, no variable, no construct beyond pipes, lists and groups. What is not
// known is not cleared; an agent loses nothing by that but a moment.

// maxShell bounds what is parsed: nobody reads longer commands either.
const maxShell = 16 << 10

// judge goes through one command.
type judge struct {
	allow  []string
	checks []string // the project's, that ralph runs itself
	ground *ground
	dirs   []string // where the shell may be by now: after a cd in some branch, several
	inner  bool     // within sh -c
	used   []string // the entries of gate.allow that were needed
}

var errHidden = errors.New("a substitution or variable may hide a command")

// command judges shell text: nil when it is cleared.
func (j *judge) command(text string) error {
	if len(text) > maxShell || strings.ContainsRune(text, 0) {
		return errors.New("the command is too long to judge")
	}
	f, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	if err != nil {
		return errors.New("the command cannot be read as shell")
	}
	if len(f.Stmts) == 0 {
		return errors.New("there is no command")
	}
	return j.statements(f.Stmts)
}

func (j *judge) statements(list []*syntax.Stmt) error {
	for _, s := range list {
		if err := j.statement(s); err != nil {
			return err
		}
	}
	return nil
}

func (j *judge) statement(s *syntax.Stmt) error {
	if s.Background || s.Coprocess || s.Disown {
		return errors.New("it leaves a process behind")
	}
	for _, r := range s.Redirs {
		if err := j.redirect(r); err != nil {
			return err
		}
	}
	switch c := s.Cmd.(type) {
	case *syntax.CallExpr:
		return j.call(c)
	case *syntax.BinaryCmd:
		if err := j.statement(c.X); err != nil {
			return err
		}
		return j.statement(c.Y)
	case *syntax.Subshell:
		return j.statements(c.Stmts)
	case *syntax.Block:
		return j.statements(c.Stmts)
	}
	return errors.New("it is more than a list of commands")
}

// redirect judges where input comes from and output goes: a file is read or changed.
func (j *judge) redirect(r *syntax.Redirect) error {
	if r.N != nil && strings.HasPrefix(r.N.Value, "{") {
		return errHidden
	}
	if r.Hdoc != nil {
		return hereDocument(r.Word, r.Hdoc)
	}
	target, err := literal(r.Word)
	if err != nil {
		return err
	}
	write := true
	switch r.Op {
	case syntax.WordHdoc:
		return nil
	case syntax.RdrIn:
		write = false
	case syntax.RdrOut, syntax.AppOut, syntax.RdrClob, syntax.RdrAll, syntax.AppAll:
	case syntax.DplOut, syntax.DplIn:
		if target == "-" || strings.Trim(target.text(), "0123456789") == "" {
			return nil
		}
		return errors.New("a redirection to something else than a file")
	default:
		return errors.New("a redirection that is not known")
	}
	if target == "/dev/null" {
		return nil
	}
	if target.globs() {
		return errors.New("a redirection to a pattern")
	}
	return j.file(target.text(), write)
}

// hereDocument judges a here-document, which is data; without quotes around its mark the
// shell carries out what substitutions are in it.
func hereDocument(mark, body *syntax.Word) error {
	for _, part := range mark.Parts {
		if _, ok := part.(*syntax.SglQuoted); ok {
			return nil
		}
	}
	for _, part := range body.Parts {
		if _, ok := part.(*syntax.Lit); !ok {
			return errHidden
		}
	}
	return nil
}

// file judges a path from wherever the shell may be.
func (j *judge) file(p string, write bool) error {
	for _, dir := range j.dirs {
		entry, err := j.ground.path(dir, p, write, j.allow)
		if err != nil {
			return err
		}
		j.use(entry)
	}
	return nil
}

// readsFile judges a word that may name a file: each that a pattern may match, for one of
// them may be a symbolic link, or git's.
func (j *judge) readsFile(w word) error {
	if !w.globs() {
		return j.file(w.text(), false)
	}
	for _, dir := range j.dirs {
		matches, err := j.ground.matches(dir, w)
		if err != nil {
			return err
		}
		for _, m := range matches {
			if strings.HasPrefix(m, "-") {
				return fmt.Errorf("the file %s would be an option", m)
			}
			entry, err := j.ground.path(dir, m, false, j.allow)
			if err != nil {
				return err
			}
			j.use(entry)
		}
	}
	return nil
}

// use notes an entry of gate.allow, "" for none.
func (j *judge) use(entry string) {
	if entry != "" && !slices.Contains(j.used, entry) {
		j.used = append(j.used, entry)
	}
}

// inside: a folder to be in. Some agents' shells stay there for their next command, of
// which nobody says so; what is not for agents to change is not to be in either.
func (j *judge) inside(dir string) error {
	_, err := j.ground.path("", dir, true, j.allow)
	return err
}

// word is a word of the shell as the command gets it, with globs that are live.
type word string

// liveGlob stands before a glob character that the shell expands.
const liveGlob = "\x00"

func (w word) text() string { return strings.ReplaceAll(string(w), liveGlob, "") }
func (w word) globs() bool  { return strings.Contains(string(w), liveGlob) }

// literal is a word that means what it says; an error when the shell would put
// something else in its place.
func literal(w *syntax.Word) (word, error) {
	var b strings.Builder
	for i, part := range w.Parts {
		switch p := part.(type) {
		case *syntax.Lit:
			if err := bare(&b, p.Value, i == 0); err != nil {
				return "", err
			}
		case *syntax.SglQuoted:
			if p.Dollar {
				return "", errHidden
			}
			b.WriteString(p.Value)
		case *syntax.DblQuoted:
			if p.Dollar {
				return "", errHidden
			}
			for _, part := range p.Parts {
				lit, ok := part.(*syntax.Lit)
				if !ok || strings.Contains(lit.Value, "\\\n") || strings.Contains(lit.Value, "`") {
					return "", errHidden
				}
				b.WriteString(unquoted(lit.Value))
			}
		default:
			return "", errHidden
		}
	}
	return word(b.String()), nil
}

// bare writes text that stands without quotes.
func bare(b *strings.Builder, text string, first bool) error {
	if strings.ContainsAny(text, "\\{$`") {
		return errHidden
	}
	if first && strings.HasPrefix(text, "~") || strings.Contains(text, "=~") || strings.Contains(text, ":~") {
		return errors.New("~ is a folder of a person")
	}
	if first && strings.HasPrefix(text, "=") {
		return errHidden // zsh puts the path of a program there
	}
	for _, c := range text {
		if strings.ContainsRune("*?[", c) {
			b.WriteString(liveGlob)
		}
		b.WriteRune(c)
	}
	return nil
}

// unquoted takes the backslashes away that double quotes take.
func unquoted(s string) string {
	return strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\$`, `$`, "\\`", "`").Replace(s)
}

func (j *judge) call(c *syntax.CallExpr) error {
	for _, a := range c.Assigns {
		if len(c.Args) == 0 || a.Name == nil || a.Value == nil || a.Index != nil || a.Array != nil || !slices.Contains(plainVars(), a.Name.Value) {
			return errors.New("a variable may change what a command does")
		}
		if _, err := literal(a.Value); err != nil {
			return err
		}
	}
	if len(c.Args) == 0 {
		return errors.New("there is no command")
	}
	args := make([]word, len(c.Args))
	for i, w := range c.Args {
		var err error
		if args[i], err = literal(w); err != nil {
			return err
		}
	}
	if args[0].globs() {
		return errHidden
	}
	if entry := j.allowed(args); entry != "" {
		j.use(entry)
		return nil
	}
	if check := runsCheck(j.checks, spelled(args)); check != "" && j.atHome() {
		j.use(aCheck + check)
		return nil
	}
	name := args[0].text()
	switch name {
	case "rm":
		return j.removes(args[1:])
	case "cd":
		return j.cd(args[1:])
	case "sh", "bash", "zsh", "/bin/sh", "/bin/bash", "/bin/zsh", "/usr/bin/bash", "/usr/bin/zsh", "/usr/bin/sh":
		return j.shell(args[1:])
	}
	if name == "ralph" && len(args) > 1 && args[1].text() == "signal" {
		return nil // it says how the task stands, as words of the agent would
	}
	known, ok := readers()[name]
	if !ok {
		return fmt.Errorf("%s is not known to read only", name)
	}
	if name == "git" {
		if err := j.planted(); err != nil {
			return err
		}
	}
	return j.reads(name, known, args[1:])
}

// planted: below the work tree's own folder git takes any folder with a file HEAD for
// a repository without a work tree, and runs what the settings in it say. Such files
// look like any others, so that nobody is asked before they are written.
func (j *judge) planted() error {
	work := j.ground.real(j.ground.Work)
	for _, dir := range j.dirs {
		if _, ok := within(work, j.ground.real(dir)); !ok {
			return fmt.Errorf("nobody knows whose repository %s is", dir)
		}
		for at := j.ground.real(dir); at != work && strings.HasPrefix(at, work+"/"); at = path.Dir(at) {
			if slices.ContainsFunc(j.ground.names(at), func(name string) bool { return fold(name) == "head" }) {
				return fmt.Errorf("git would take %s for a repository, and run what its settings say", at)
			}
		}
	}
	return nil
}

// plainVars are variables that only change how output looks.
func plainVars() []string {
	return []string{"CI", "NO_COLOR", "FORCE_COLOR", "TERM", "LANG", "LC_ALL", "TZ"}
}

// allowed returns the entry of gate.allow that the command begins with, word by word.
func (j *judge) allowed(args []word) string {
	for _, entry := range j.allow {
		words := strings.Fields(entry)
		if len(words) == 0 || len(words) > len(args) {
			continue
		}
		same := true
		for i, w := range words {
			same = same && string(args[i]) == w
		}
		if same {
			return entry
		}
	}
	return ""
}

// maxDirs bounds where the shell may be; who changes folders more often is asked.
const maxDirs = 8

// cd adds where the shell may be from here on. It stays where it was as well: the cd
// may have been in a branch, or a subshell, that is over.
func (j *judge) cd(args []word) error {
	if len(args) != 1 || args[0].globs() || args[0] == "-" || strings.HasPrefix(string(args[0]), "-") || args[0] == "" {
		return errors.New("cd to somewhere that is not known")
	}
	if len(j.dirs) >= maxDirs {
		return errors.New("too many folders")
	}
	to := args[0].text()
	dirs := slices.Clone(j.dirs)
	for _, dir := range j.dirs {
		full := to
		if !strings.HasPrefix(to, "/") {
			full = dir + "/" + to
		}
		if climbs(to) {
			return fmt.Errorf("%q goes up within a path", to)
		}
		if err := j.inside(full); err != nil {
			return err
		}
		if full = j.ground.real(full); !slices.Contains(dirs, full) {
			dirs = append(dirs, full)
		}
	}
	j.dirs = dirs
	return nil
}

// shell judges `bash -lc "..."`, which is how some agents run each command.
func (j *judge) shell(args []word) error {
	flags, text := args[:max(0, len(args)-1)], word("")
	if len(args) > 0 {
		text = args[len(args)-1]
	}
	ok := len(flags) == 1 && (flags[0] == "-c" || flags[0] == "-lc") || len(flags) == 2 && flags[0] == "-l" && flags[1] == "-c"
	if j.inner || !ok || text.globs() {
		return errors.New("a shell that runs something else")
	}
	j.inner = true
	defer func() { j.inner = false }()
	return j.command(text.text())
}

// spelled are words as text; a pattern of the shell stays one, which no check has.
func spelled(args []word) []string {
	out := make([]string, len(args))
	for i, a := range args {
		out[i] = string(a)
	}
	return out
}

// atHome reports whether the shell is in the work tree, wherever it may be by now.
func (j *judge) atHome() bool {
	work := j.ground.real(j.ground.Work)
	return !slices.ContainsFunc(j.dirs, func(dir string) bool {
		_, ok := within(work, j.ground.real(dir))
		return !ok
	})
}

// removes judges rm: of what lies in the work tree git has the rest, and ralph its tree
// before the turn, so that nobody has to be asked. The work tree itself is no part
// of it, nor is what no agent changes unasked.
func (j *judge) removes(args []word) error {
	options, n := true, 0
	for _, a := range args {
		if text := a.text(); options && strings.HasPrefix(text, "-") {
			options = text != "--"
			continue
		}
		if err := j.removable(a); err != nil {
			return err
		}
		n++
	}
	if n == 0 {
		return errors.New("it does not say what is removed")
	}
	return nil
}

func (j *judge) removable(a word) error {
	for _, dir := range j.dirs {
		paths := []string{a.text()}
		if a.globs() {
			var err error
			if paths, err = j.ground.matches(dir, a); err != nil {
				return err
			}
		}
		for _, p := range paths {
			entry, err := j.ground.path(dir, p, true, j.allow)
			if err != nil {
				return err
			}
			full := p
			if !strings.HasPrefix(p, "/") {
				full = dir + "/" + p
			}
			// A symbolic link is removed itself, and not what it leads to: where the folder is counts.
			if rel, ok := within(j.ground.real(j.ground.Work), j.ground.real(full)); entry == "" && (!ok || rel == ".") {
				return fmt.Errorf("%s is all of the work tree", p)
			}
			j.use(entry)
		}
	}
	return nil
}
