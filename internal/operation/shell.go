package operation

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// source is what a command reads: text that is known, or not.
type source struct {
	text  string
	known bool
	file  bool // the content of a file: what people wrote there is not looked at
}

// command looks at shell text, with everything in it.
func (k *look) command(text string) {
	whole := []word{plain(text)}
	if k.looks++; len(text) > mostText || k.depth > mostDepth || k.looks > mostLooks {
		k.unknown("the command is too long, or too deep, to be looked at", whole)
		return
	}
	if strings.ContainsAny(text, hole+live+home) {
		k.unknown("the command has signs that no shell takes", whole)
		return
	}
	f, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	if err != nil {
		k.loose(text)
		k.unknown("the command cannot be read as shell", whole)
		return
	}
	k.depth++
	defer func() { k.depth-- }()
	inputs := map[*syntax.Stmt]*source{}
	level := 0
	syntax.Walk(f, func(n syntax.Node) bool {
		if n == nil {
			level--
			return true
		}
		if level++; level > 40*mostDepth {
			k.unknown("the command is too deep to be looked at", whole)
			level--
			return false
		}
		switch n := n.(type) {
		case *syntax.BinaryCmd:
			if n.Op == syntax.Pipe || n.Op == syntax.PipeAll {
				k.feed(inputs, n.Y, k.output(n.X, inputs[n.X]))
			}
		case *syntax.Stmt:
			k.statement(n, inputs)
		case *syntax.DeclClause:
			k.assign(n.Args)
			k.reckoned(n)
		case *syntax.ArithmCmd, *syntax.ArithmExp, *syntax.LetClause, *syntax.TestClause:
			k.reckoned(n)
		case *syntax.ForClause:
			if w, ok := n.Loop.(*syntax.WordIter); ok && w.Name.Value == "HOME" {
				k.homeSet = true
			}
		}
		return true
	})
}

// feed gives a statement, and all in it, what it reads.
func (k *look) feed(inputs map[*syntax.Stmt]*source, to *syntax.Stmt, from *source) {
	syntax.Walk(to, func(n syntax.Node) bool {
		if s, ok := n.(*syntax.Stmt); ok {
			inputs[s] = from
		}
		return true
	})
}

// output is what a statement writes, as far as it says so itself.
func (k *look) output(s *syntax.Stmt, in *source) *source {
	for _, r := range s.Redirs {
		if src := k.input(r); src != nil {
			in = src
		}
	}
	c, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || len(c.Args) == 0 {
		return &source{}
	}
	ws := k.words(c.Args)
	for len(ws) > 1 && slices.Contains([]string{"command", "builtin", "exec"}, base(ws[0])) {
		ws = ws[1:]
	}
	switch base(ws[0]) {
	case "echo":
		return said(ws[1:], "-n")
	case "printf":
		if len(ws) > 1 && slices.Contains([]string{"%s", "%s\n", `%s\n`}, ws[1].text) {
			ws = ws[1:]
		}
		return said(ws[1:], "--")
	case "cat", "tee":
		if len(ws) == 1 && in != nil {
			return in
		}
		if base(ws[0]) == "cat" && !slices.ContainsFunc(ws, word.holes) {
			return &source{file: true}
		}
	}
	return &source{}
}

// said is the output of echo and printf; a backslash or a percent sign makes other text.
func said(ws []word, skip string) *source {
	if len(ws) > 0 && ws[0].text == skip {
		ws = ws[1:]
	}
	for _, w := range ws {
		if w.holes() || w.globs() || strings.ContainsAny(w.text, `\%`+home) || strings.HasPrefix(w.text, "-") && w.text != ws[len(ws)-1].text && len(w.text) < 4 && w.text == "-e" {
			return &source{text: joined(ws)}
		}
	}
	return &source{text: strings.Join(texts(ws), " "), known: true}
}

// input is what a redirection gives a command to read, nil when it is no such one.
func (k *look) input(r *syntax.Redirect) *source {
	switch r.Op {
	case syntax.Hdoc, syntax.DashHdoc:
		if r.Hdoc == nil {
			return &source{known: true}
		}
		quoted := slices.ContainsFunc(r.Word.Parts, func(p syntax.WordPart) bool { _, lit := p.(*syntax.Lit); return !lit })
		var b strings.Builder
		for _, p := range r.Hdoc.Parts {
			lit, ok := p.(*syntax.Lit)
			switch {
			case !ok:
				return &source{text: b.String()}
			case quoted:
				b.WriteString(lit.Value)
			default:
				b.WriteString(strings.NewReplacer(`\\`, `\`, `\$`, `$`, "\\`", "`", "\\\n", "").Replace(lit.Value))
			}
		}
		return &source{text: b.String(), known: true}
	case syntax.WordHdoc:
		w := k.parts(r.Word.Parts)
		return &source{text: w.String(), known: !w.holes()}
	case syntax.RdrIn:
		w := k.parts(r.Word.Parts)
		return &source{file: !w.holes() && !strings.HasPrefix(w.text, "/dev/")}
	case syntax.DplIn, syntax.RdrInOut:
		return &source{}
	}
	return nil
}

func (k *look) statement(s *syntax.Stmt, inputs map[*syntax.Stmt]*source) {
	in := inputs[s]
	var targets []word
	for _, r := range s.Redirs {
		if src := k.input(r); src != nil {
			if in = src; s.Cmd != nil {
				k.feed(inputs, s, src)
			}
		}
		if r.Hdoc == nil && r.Word != nil && r.Op != syntax.WordHdoc {
			targets = append(targets, k.parts(r.Word.Parts))
		}
	}
	if c, ok := s.Cmd.(*syntax.CallExpr); ok {
		k.assign(c.Assigns)
		ws := k.words(c.Args)
		var set []word
		for _, a := range c.Assigns {
			if a.Name != nil && a.Value != nil {
				v := k.parts(a.Value.Parts)
				set = append(set, word{a.Name.Value + "=" + v.text, v.many})
			}
		}
		if in == nil && slices.ContainsFunc(c.Args, streamed) {
			in = &source{}
		}
		k.simple(ws, set, targets, in)
	}
	for i, r := range s.Redirs {
		if slices.Contains([]syntax.RedirOperator{syntax.RdrOut, syntax.AppOut, syntax.RdrClob, syntax.RdrAll, syntax.AppAll}, r.Op) {
			k.wrote(k.parts(s.Redirs[i].Word.Parts), k.output(s, inputs[s]))
		}
	}
}

// wrote keeps what the command puts into a file, for when it runs it.
func (k *look) wrote(file word, out *source) {
	if out.file || file.String() == "/dev/null" {
		return
	}
	name := path.Base(file.String())
	switch {
	case out.known:
		k.files[name] += "\n" + out.text
	default:
		k.files[name] += "\n" + out.text + "\x00"
	}
}

// assign looks at variables that are set: some are commands, some change what the rest
// of the text means.
func (k *look) assign(list []*syntax.Assign) {
	for _, a := range list {
		if a.Name == nil {
			for _, w := range k.expand(a.Value) { // declare "X=..."
				k.assignment(w)
			}
			continue
		}
		value := hidden()
		if a.Value != nil && !a.Append {
			value = k.parts(a.Value.Parts)
		}
		if !a.Naked {
			k.assignment(word{a.Name.Value + "=" + value.text, value.many})
		}
	}
}

func (k *look) assignment(w word) {
	name, value, _ := strings.Cut(w.text, "=")
	v := word{value, w.many}
	switch {
	case name == "HOME":
		k.homeSet = true
	case name == "CDPATH":
		k.enter(hidden())
	case name == "BASH_ENV" && v.holes():
		k.unknown("what each shell reads first is hidden in a variable or a substitution", []word{w})
	case strings.HasPrefix(name, "GIT_CONFIG") && name != "GIT_CONFIG_NOSYSTEM" && v.text != "/dev/null":
		k.unknown("settings of git may make another command of this one", []word{w})
	}
	k.certain(v)
	if deploysTo(v) {
		k.prod = true
	}
}

// certain looks at a word as if it was a command; only what is certain counts, for it may
// as well be none.
func (k *look) certain(w word) {
	text := strings.NewReplacer(live, "", home, "~", hole, "$_").Replace(w.text)
	if !strings.ContainsAny(strings.TrimSpace(text), " \t\n;|&,") || k.quiet > 6 {
		return
	}
	if k.looks > mostLooks/2 { // what is left is kept for what surely is a command
		k.add(Found{Rule: "the command has too many words that may be commands", Unknown: true, Text: cut(text), Words: []string{text}})
		return
	}
	k.quiet++
	defer func() { k.quiet-- }()
	k.command(strings.TrimLeft(text, "!@ "))
}

// streamed reports whether a word is a file that a command writes: <(...).
func streamed(w *syntax.Word) bool {
	return slices.ContainsFunc(w.Parts, func(p syntax.WordPart) bool { _, ok := p.(*syntax.ProcSubst); return ok })
}

// reckoned looks at what the shell takes for numbers and names of variables: in an index
// it runs a substitution, and quotes do not keep it from that.
func (k *look) reckoned(n syntax.Node) {
	quoted := false
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.SglQuoted:
			quoted = quoted || strings.Contains(n.Value, "$(") || strings.Contains(n.Value, "`")
		case *syntax.Lit:
			quoted = quoted || strings.Contains(n.Value, `\$(`) || strings.Contains(n.Value, "\\`")
		}
		return !quoted
	})
	if quoted {
		k.unknown("a substitution within an index, which the shell runs", []word{plain("[")})
	}
}

// index does so for the words of a command of the shell itself that names variables.
func (k *look) index(ws []word) {
	if !slices.Contains([]string{"printf", "test", "[", "read", "unset", "mapfile", "readarray", "wait", "getopts"}, ws[0].text) {
		return
	}
	for _, w := range ws[1:] {
		text := w.String()
		if at := strings.IndexByte(text, '['); at > 0 && (strings.Contains(text[at:], "$(") || strings.Contains(text[at:], "`")) {
			k.unknown("a substitution within an index, which the shell runs", ws)
		}
	}
}

// loose looks at code of another language: each of its words may begin a command.
func (k *look) loose(text string) {
	text = strings.NewReplacer(hole, " ", live, "", home, "~").Replace(text)
	fields := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \t\r\n'\"`,;()[]{}|&", r) })
	if len(fields) > mostWords {
		fields = fields[:mostWords]
	}
	ws := make([]word, len(fields))
	for i, f := range fields {
		if ws[i] = plain(f); strings.HasPrefix(f, "~") {
			ws[i] = plain(home + strings.TrimPrefix(f, "~"))
		} else if strings.HasPrefix(f, "$HOME") {
			ws[i] = plain(home + strings.TrimPrefix(f, "$HOME"))
		}
	}
	k.quiet++
	defer func() { k.quiet-- }()
	for i := range ws {
		k.program(ws[i:min(len(ws), i+12)], nil)
	}
	if dropSQL(text) {
		k.never(dropDatabase, []word{plain(text)})
	}
}

// enter notes a folder that the shell may be in from now on.
func (k *look) enter(to word) {
	for _, dir := range slices.Clone(k.dirs) {
		p := to.text
		switch {
		case to.holes() || to.globs() || p == "-":
			p = hole
		case strings.HasPrefix(p, home) || strings.HasPrefix(p, "/"):
		case dir == hole || strings.Contains("/"+p+"/", "/../"): // how often nobody knows
			p = hole
		default:
			p = dir + "/" + p
		}
		if !slices.Contains(k.dirs, p) && len(k.dirs) < 64 {
			k.dirs = append(k.dirs, p)
		}
	}
}
