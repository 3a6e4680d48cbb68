package operation

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// source is what a command reads, or says: text that is known, or not.
type source struct {
	text  string
	known bool
	file  bool   // the content of a file: what people wrote there is not looked at
	names []word // lines that are names of files, as far as they are known; nil: they are none
	path  string // of a file
	over  bool   // it comes over a network, or from where nobody knows, and not from the work tree
}

// command looks at shell text, with everything in it, and returns what it says.
func (k *analysis) command(text string, in *source) *source {
	whole := []word{plain(text)}
	if k.looks++; len(text) > maxText || k.depth > maxDepth || k.looks > maxLooks {
		k.unknown("the command is too long, or too deep, to be looked at", whole)
		return nil
	}
	if strings.ContainsAny(text, hole+live+home) {
		k.unknown("the command has signs that no shell takes", whole)
		return nil
	}
	f, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	if err != nil {
		k.loose(text)
		k.unknown("the command cannot be read as shell", whole)
		return nil
	}
	if k.deep(f) {
		k.unknown("the command is too deep to be looked at", whole)
		return nil
	}
	k.depth++
	defer func() { k.depth-- }()
	return k.stmts(f.Stmts, in)
}

// deep reports whether something is nested more than anybody writes.
func (k *analysis) deep(f *syntax.File) bool {
	level, most := 0, 0
	syntax.Walk(f, func(n syntax.Node) bool {
		if n == nil {
			level--
			return true
		}
		level++
		most = max(most, level)
		return true
	})
	return most > 40*maxDepth
}

// stmts runs one statement after the other and returns what they say.
func (k *analysis) stmts(list []*syntax.Stmt, in *source) *source {
	var out *source
	for _, s := range list {
		more := k.stmt(s, in, false)
		switch {
		case out == nil:
			out = more
		case more == nil || more.known && more.text == "":
		case out.known && more.known:
			out = &source{text: out.text + more.text, known: true}
		default:
			out = &source{text: out.text + "\n" + more.text, over: out.over || more.over}
		}
	}
	return out
}

// stmt runs one statement. guarded: what comes after it only does when it went well.
func (k *analysis) stmt(s *syntax.Stmt, in *source, guarded bool) *source {
	if k.steps++; k.steps > maxSteps {
		k.unknown("the command is too long to be looked at", []word{plain("...")})
		return nil
	}
	var targets []word
	for _, r := range s.Redirs {
		if src := k.input(r); src != nil {
			in = src
		}
		if r.Hdoc == nil && r.Word != nil && r.Op != syntax.WordHdoc {
			targets = append(targets, k.parts(r.Word.Parts))
		}
	}
	before := slices.Clone(k.s.dirs)
	var out *source
	if s.Background || s.Coprocess {
		k.aside(func() { out = k.clause(s, in, targets) })
	} else {
		out = k.clause(s, in, targets)
	}
	if c, ok := s.Cmd.(*syntax.CallExpr); ok && !guarded && !k.s.strict && len(c.Args) > 0 && isCd(c) {
		for _, dir := range before { // it may have failed
			k.s.in1(dir)
		}
	}
	return k.redirected(s, out)
}

func isCd(c *syntax.CallExpr) bool {
	return slices.Contains([]string{"cd", "pushd", "popd", "command", "builtin"}, c.Args[0].Lit())
}

// redirected notes what a statement writes into files, and returns what is left.
func (k *analysis) redirected(s *syntax.Stmt, out *source) *source {
	for _, r := range s.Redirs {
		if !slices.Contains([]syntax.RedirOperator{syntax.RdrOut, syntax.AppOut, syntax.RdrClob, syntax.RdrAll, syntax.AppAll, syntax.RdrInOut}, r.Op) {
			continue
		}
		if r.N != nil && r.N.Value != "1" { // what it complains of
			k.overwrite(k.parts(r.Word.Parts), []word{plain(">"), k.parts(r.Word.Parts)}, true)
			continue
		}
		file := k.parts(r.Word.Parts)
		if strings.HasPrefix(file.text, "/dev/tcp/") && out != nil && flushes.MatchString(out.text) {
			k.never(dropDatabase, []word{plain(">"), file})
		}
		appends := r.Op == syntax.AppOut || r.Op == syntax.AppAll
		k.overwrite(file, []word{plain(">"), file}, appends)
		if !appends && out != nil && out.known && strings.TrimSpace(out.text) == "" && k.key(file) {
			k.touch(Overwrite, file, false, []word{plain(">"), file})
		}
		if r.Op != syntax.RdrInOut {
			k.write(file, out, appends, []word{plain(">"), file})
		}
		if !strings.HasPrefix(file.text, "/dev/std") && !strings.HasPrefix(file.text, "/dev/fd") {
			out = &source{known: true}
		}
	}
	return out
}

func (k *analysis) clause(s *syntax.Stmt, in *source, targets []word) *source {
	switch c := s.Cmd.(type) {
	case *syntax.CallExpr:
		return k.call(c, in, targets)
	case *syntax.BinaryCmd:
		return k.binary(c, in)
	case *syntax.Block:
		return k.stmts(c.Stmts, in)
	case *syntax.Subshell:
		var out *source
		k.aside(func() { out = k.stmts(c.Stmts, in) })
		return out
	case *syntax.IfClause:
		return k.ifs(c, in)
	case *syntax.WhileClause:
		return k.loop(c, in)
	case *syntax.ForClause:
		return k.forEach(c, in)
	case *syntax.CaseClause:
		k.nested(c.Word)
		var out *source
		for _, item := range c.Items {
			for _, p := range item.Patterns {
				k.nested(p)
			}
			k.maybe(func() { out = k.stmts(item.Stmts, in) })
		}
		return unsaid(out)
	case *syntax.FuncDecl:
		if c.Name != nil {
			k.funcs[c.Name.Value] = &function{body: c.Body}
			if bomb(c) {
				k.unknown("a function that starts itself without end", []word{plain(c.Name.Value)})
			}
		}
	case *syntax.DeclClause:
		k.assign(c.Args)
		k.reckoned(c)
	case *syntax.TimeClause:
		if c.Stmt != nil {
			return k.stmt(c.Stmt, in, false)
		}
	case *syntax.CoprocClause:
		var out *source
		k.aside(func() { out = k.stmt(c.Stmt, in, false) })
		return out
	case nil:
		if len(targets) > 0 {
			k.match(nil, targets)
		}
		return &source{known: true}
	default: // tests and sums
		k.reckoned(c)
		k.nested(c)
	}
	return &source{known: true}
}

// unsaid is what was said on one of several ways.
func unsaid(out *source) *source {
	if out == nil || out.known && out.text == "" {
		return out
	}
	return &source{text: out.text, over: out.over}
}

func (k *analysis) binary(c *syntax.BinaryCmd, in *source) *source {
	switch c.Op {
	case syntax.Pipe, syntax.PipeAll:
		var out *source
		k.aside(func() { out = k.stmt(c.X, in, false) })
		if out == nil {
			out = &source{}
		}
		k.aside(func() { out = k.stmt(c.Y, out, false) })
		return out
	case syntax.AndStmt:
		a := k.stmt(c.X, in, true)
		b := k.stmt(c.Y, in, true)
		return both(a, b)
	}
	a := k.stmt(c.X, in, true)
	var b *source
	k.maybe(func() { b = k.stmt(c.Y, in, false) })
	if a != nil && a.known && a.text == "" {
		return unsaid(b)
	}
	return both(a, b)
}

func both(a, b *source) *source {
	switch {
	case a == nil || a.known && a.text == "":
		return b
	case b == nil || b.known && b.text == "":
		return a
	case a.known && b.known:
		return &source{text: a.text + b.text, known: true}
	}
	return &source{text: a.text + "\n" + b.text, over: a.over || b.over}
}

func (k *analysis) ifs(c *syntax.IfClause, in *source) *source {
	var out *source
	for c != nil {
		k.stmts(c.Cond, in)
		k.maybe(func() { out = k.stmts(c.Then, in) })
		c = c.Else
	}
	return unsaid(out)
}

func (k *analysis) loop(c *syntax.WhileClause, in *source) *source {
	if endless(c) {
		k.unknown("a loop that starts without end", []word{plain("while")})
	}
	old := k.s.in
	k.s.in = in
	var out *source
	for range 2 { // what the first time has set counts the second
		k.stmts(c.Cond, in)
		k.maybe(func() { out = k.stmts(c.Do, in) })
		if k.depth > 3 || k.steps > maxSteps/4 {
			break
		}
	}
	k.s.in = old
	return unsaid(out)
}

const maxRounds = 16 // of a loop

func (k *analysis) forEach(c *syntax.ForClause, in *source) *source {
	var out *source
	switch l := c.Loop.(type) {
	case *syntax.WordIter:
		items := k.s.params
		if !l.InPos.IsValid() && !k.s.called {
			items = []word{hidden()}
		} else if l.InPos.IsValid() {
			items = k.words(l.Items)
		}
		if len(items) > maxRounds {
			items = append(items[:maxRounds:maxRounds], items[maxRounds:]...)
			items = append(items[:maxRounds:maxRounds], hidden())
		}
		if c.Select {
			items = append(items, hidden())
		}
		for _, item := range items {
			if item.many && item.text == hole {
				item.many = false
			}
			k.maybe(func() {
				k.set(l.Name.Value, item)
				out = k.stmts(c.Do, in)
			})
		}
	case *syntax.CStyleLoop:
		k.nested(l)
		if l.Init != nil {
			syntax.Walk(l.Init, func(n syntax.Node) bool {
				if lit, ok := n.(*syntax.Lit); ok && syntax.ValidName(lit.Value) {
					k.set(lit.Value, plain("0"))
				}
				return true
			})
		}
		k.maybe(func() { out = k.stmts(c.Do, in) })
	}
	return unsaid(out)
}

// call runs a simple command, once for each value that its variables may have.
func (k *analysis) call(c *syntax.CallExpr, in *source, targets []word) *source {
	times := 1
	if len(c.Args) > 0 || len(c.Assigns) > 0 {
		syntax.Walk(c, func(n syntax.Node) bool {
			if p, ok := n.(*syntax.ParamExp); ok && p.Param != nil {
				times = max(times, len(k.s.vars[p.Param.Value]))
				if p.Exp != nil && p.Exp.Word != nil {
					times = max(times, 2)
				}
			}
			return true
		})
	}
	old := k.pick
	defer func() { k.pick = old }()
	if times == 1 {
		return k.once(c, in, targets)
	}
	var out *source
	for i := range times {
		k.pick = i
		one := func() { out = k.once(c, in, targets) }
		if i == 0 {
			one()
		} else {
			k.maybe(one)
		}
	}
	return out
}

func (k *analysis) once(c *syntax.CallExpr, in *source, targets []word) *source {
	if len(c.Args) == 0 {
		k.assign(c.Assigns)
		if len(targets) > 0 || len(c.Assigns) > 0 {
			k.match(assigned(c.Assigns, k), targets)
		}
		return &source{known: true}
	}
	if k.initializes(c) {
		return &source{known: true}
	}
	ws := k.words(c.Args)
	k.outer = k.fromOutside(c.Args[0])
	defer func() { k.outer = false }()
	if len(c.Assigns) == 0 {
		return k.simple(ws, nil, targets, in)
	}
	set := assigned(c.Assigns, k)
	old := k.s
	k.s = old.clone()
	k.assign(c.Assigns)
	out := k.simple(ws, set, targets, in)
	after := k.s
	k.s = old
	k.s.dirs, k.s.links = after.dirs, after.links
	return out
}

// assigned are assignments as words.
func assigned(list []*syntax.Assign, k *analysis) []word {
	var out []word
	for _, a := range list {
		if a.Name != nil && a.Value != nil {
			v := k.parts(a.Value.Parts)
			out = append(out, word{a.Name.Value + "=" + v.text, v.many})
		}
	}
	return out
}

// input is what a redirection gives a command to read, nil when it is no such one.
func (k *analysis) input(r *syntax.Redirect) *source {
	switch r.Op {
	case syntax.Hdoc, syntax.DashHdoc:
		return k.heredoc(r)
	case syntax.WordHdoc:
		w := k.parts(r.Word.Parts)
		return &source{text: w.String() + "\n", known: !w.holes()}
	case syntax.RdrIn:
		w := k.parts(r.Word.Parts)
		if src, ok := k.written(w); ok {
			return src
		}
		return &source{path: w.text, file: !w.holes() && !strings.HasPrefix(w.text, "/dev/"), known: w.text == "/dev/null"}
	case syntax.DplIn, syntax.RdrInOut:
		return &source{}
	}
	return nil
}

func (k *analysis) heredoc(r *syntax.Redirect) *source {
	if r.Hdoc == nil {
		return &source{known: true}
	}
	quoted := slices.ContainsFunc(r.Word.Parts, func(p syntax.WordPart) bool { _, lit := p.(*syntax.Lit); return !lit })
	var b strings.Builder
	known := true
	for _, p := range r.Hdoc.Parts {
		lit, ok := p.(*syntax.Lit)
		switch {
		case !ok:
			text, _ := k.value(p, true)
			if strings.Contains(text, hole) {
				known = false
			}
			b.WriteString(text)
		case quoted:
			b.WriteString(lit.Value)
		default:
			b.WriteString(strings.NewReplacer(`\\`, `\`, `\$`, `$`, "\\`", "`", "\\\n", "").Replace(lit.Value))
		}
	}
	return &source{text: strings.ReplaceAll(b.String(), home, "~"), known: known}
}

// substituted is what a command substitution says.
func (k *analysis) substituted(p *syntax.CmdSubst) *source {
	var out *source
	k.aside(func() { out = k.stmts(p.Stmts, k.s.in) })
	return out
}

// nested runs the substitutions in a part that is no command.
func (k *analysis) nested(n syntax.Node) {
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst:
			k.substituted(n)
			return false
		case *syntax.ProcSubst:
			k.value(n, true)
			return false
		}
		return true
	})
}

// assign sets variables.
func (k *analysis) assign(list []*syntax.Assign) {
	for _, a := range list {
		if a.Name == nil {
			for _, w := range k.expand(a.Value) { // declare "X=..."
				k.assignment(w)
			}
			continue
		}
		name := a.Name.Value
		switch {
		case a.Array != nil:
			var all []word
			for _, e := range a.Array.Elems {
				all = append(all, k.expand(e.Value)...)
			}
			if a.Append {
				all = append(slices.Clone(k.s.lists[name]), all...)
			}
			if len(all) > maxWords {
				all = []word{hidden()}
			}
			k.s.lists[name] = all
			delete(k.s.vars, name)
			if len(all) > 0 {
				k.s.vars[name] = []word{all[0]}
			}
		case a.Naked:
		case a.Index != nil:
			k.nested(a)
			value := k.parts(wordParts(a.Value))
			k.s.lists[name] = append(slices.Clone(k.s.lists[name]), value)
		default:
			value := k.parts(wordParts(a.Value))
			if a.Append {
				if before, ok := k.s.vars[name]; ok {
					value.text = before[k.pick%len(before)].text + value.text
				} else {
					value.text = hole + value.text
				}
			}
			if len(value.text) > 4<<10 {
				value = hidden()
			}
			k.assignment(word{name + "=" + value.text, false})
		}
	}
}

func wordParts(w *syntax.Word) []syntax.WordPart {
	if w == nil {
		return nil
	}
	return w.Parts
}

// assignment sets one variable, and looks at those that programs take for commands.
func (k *analysis) assignment(w word) {
	name, value, ok := strings.Cut(w.text, "=")
	if !ok {
		return
	}
	v := word{text: value}
	switch {
	case name == "CDPATH":
		k.s.in1(hole)
	case (name == "BASH_ENV" || name == "ENV" || name == "PROMPT_COMMAND") && v.holes():
		k.unknown("what each shell reads first is hidden in a variable or a substitution", []word{w})
	case strings.HasPrefix(name, "GIT_CONFIG") && name != "GIT_CONFIG_NOSYSTEM" && v.text != "/dev/null":
		k.unknown("settings of git may make another command of this one", []word{w})
	case (name == "BASH_ENV" || name == "ENV") && len(k.s.files) > 0:
		if src, ok := k.written(v); ok {
			k.runText(src, []word{w})
		}
	}
	k.certain(v)
	k.set(name, v)
}

// certain looks at a word as if it was a command; only what is certain counts, for it may
// as well be none.
func (k *analysis) certain(w word) {
	text := strings.NewReplacer(live, "", home, "~", hole, "$_").Replace(w.text)
	if !strings.ContainsAny(strings.TrimSpace(text), " \t\n;|&,") || k.quiet > 3 || !risky(text) {
		return
	}
	if k.looks > maxLooks/2 { // what is left is kept for what surely is a command
		k.add(Found{Rule: "the command has too many words that may be commands", Unknown: true, Text: cut(text), Words: []string{text}})
		return
	}
	k.quiet++
	k.aside(func() { k.command(strings.TrimLeft(text, "!@ "), nil) })
	k.quiet--
}

// reckoned looks at what the shell takes for numbers and names of variables: in an index
// it runs a substitution, and quotes do not keep it from that.
func (k *analysis) reckoned(n syntax.Node) {
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
