package operation

import (
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Signs within a word for what is not text.
const (
	hole = "\x00" // what nobody can know: a variable, a substitution
	live = "\x01" // before a sign that the shell takes for a pattern
	home = "\x02" // the home folder
)

// word is a word as the command gets it, quotes taken away.
type word struct {
	text string
	many bool // a hole in it may become any number of words
}

func plain(text string) word { return word{text: text} }

// hidden is a word that may be anything.
func hidden() word { return word{text: hole, many: true} }

func (w word) holes() bool { return strings.Contains(w.text, hole) }
func (w word) globs() bool { return strings.Contains(w.text, live) }

// any reports whether the word may be an option, a subcommand, or more words.
func (w word) any() bool {
	return w.many || strings.HasPrefix(strings.TrimPrefix(strings.TrimPrefix(w.text, "-"), "-"), hole)
}

// String is the word as people read it.
func (w word) String() string {
	if !strings.ContainsAny(w.text, hole+live+home) { // nearly always, and it is asked often
		return w.text
	}
	return strings.NewReplacer(hole, "$?", live, "", home, "~").Replace(w.text)
}

// lower is the word's text without regard to case.
func (w word) lower() string { return strings.ToLower(w.String()) }

func texts(ws []word) []string {
	out := make([]string, len(ws))
	for i, w := range ws {
		out[i] = w.String()
	}
	return out
}

func joined(ws []word) string { return strings.Join(texts(ws), " ") }

// maxBraces bounds what {a,b} is expanded to.
const maxBraces = 128

// words expands words of the shell.
func (k *analysis) words(list []*syntax.Word) []word {
	var out []word
	for _, w := range list {
		out = append(out, k.expand(w)...)
		if len(out) > maxWords {
			return append(out[:maxWords:maxWords], hidden())
		}
	}
	return out
}

// expand is one word, or those that its braces, or an array, make of it.
func (k *analysis) expand(w *syntax.Word) []word {
	if w == nil {
		return nil
	}
	w = &syntax.Word{Parts: slices.Clone(w.Parts)} // Walk does not know what SplitBraces makes of a word
	if syntax.SplitBraces(w) {
		all, ok := alternatives(w.Parts, 0)
		if !ok {
			return []word{hidden()}
		}
		var out []word
		for _, parts := range all {
			out = append(out, k.several(parts)...)
		}
		return out
	}
	return k.several(w.Parts)
}

// several are the words of parts without braces: an array is many, and so is a value with
// blanks that no quotes hold together.
func (k *analysis) several(parts []syntax.WordPart) []word {
	if list, ok := k.list(parts); ok {
		return list
	}
	w := k.parts(parts)
	if len(parts) == 1 {
		switch parts[0].(type) {
		case *syntax.ParamExp, *syntax.CmdSubst:
			if !w.holes() {
				fs := strings.Fields(w.text)
				if ifs, ok := k.s.vars["IFS"]; ok && !ifs[0].holes() && ifs[0].text != "" {
					fs = strings.FieldsFunc(w.text, func(r rune) bool { return strings.ContainsRune(ifs[0].text, r) })
				}
				out := make([]word, len(fs))
				for i, f := range fs {
					out[i] = plain(marked(f))
				}
				return out
			}
		}
	}
	if w.text == "" && !slices.ContainsFunc(parts, func(p syntax.WordPart) bool {
		switch p.(type) {
		case *syntax.SglQuoted, *syntax.DblQuoted:
			return true
		}
		return false
	}) {
		return nil // nothing, without quotes, is no word
	}
	return []word{w}
}

// marked is a value that the shell takes for a pattern where no quotes are around it.
func marked(text string) string {
	if strings.Contains(text, live) || !strings.ContainsAny(text, "*?[") {
		return text
	}
	return strings.NewReplacer("*", live+"*", "?", live+"?", "[", live+"[").Replace(text)
}

// list is what "$@" and "${a[@]}" become, where that is known.
func (k *analysis) list(parts []syntax.WordPart) ([]word, bool) {
	if len(parts) != 1 {
		return nil, false
	}
	part := parts[0]
	quoted := false
	if q, ok := part.(*syntax.DblQuoted); ok && len(q.Parts) == 1 {
		part, quoted = q.Parts[0], true
	}
	p, ok := part.(*syntax.ParamExp)
	if !ok || p.Param == nil || p.Excl || p.Length || p.Slice != nil || p.Repl != nil || p.Exp != nil {
		return nil, false
	}
	if (p.Param.Value == "@" || p.Param.Value == "*" && !quoted) && p.Index == nil && k.s.called {
		return slices.Clone(k.s.params), true
	}
	list, ok := k.s.lists[p.Param.Value]
	if !ok || p.Index == nil {
		return nil, false
	}
	if i, isWord := p.Index.(*syntax.Word); isWord && (i.Lit() == "@" || i.Lit() == "*" && !quoted) {
		return slices.Clone(list), true
	}
	return nil, false
}

// alternatives multiplies braces out; false when they are too many, or count.
func alternatives(parts []syntax.WordPart, depth int) ([][]syntax.WordPart, bool) {
	if depth > maxDepth {
		return nil, false
	}
	all := [][]syntax.WordPart{nil}
	for _, p := range parts {
		options := [][]syntax.WordPart{{p}}
		if b, ok := p.(*syntax.BraceExp); ok {
			if b.Sequence {
				return nil, false
			}
			options = nil
			for _, e := range b.Elems {
				more, ok := alternatives(e.Parts, depth+1)
				if !ok {
					return nil, false
				}
				options = append(options, more...)
			}
		}
		var next [][]syntax.WordPart
		for _, a := range all {
			for _, o := range options {
				next = append(next, append(a[:len(a):len(a)], o...))
			}
		}
		if all = next; len(all) > maxBraces {
			return nil, false
		}
	}
	return all, true
}

func (k *analysis) parts(parts []syntax.WordPart) word {
	var b strings.Builder
	many := false
	for i, part := range parts {
		switch p := part.(type) {
		case *syntax.Lit:
			b.WriteString(bare(p.Value, i == 0, len(parts) == 1))
		case *syntax.SglQuoted:
			if p.Dollar {
				b.WriteString(ansi(p.Value))
			} else {
				b.WriteString(p.Value)
			}
		case *syntax.DblQuoted:
			for _, inner := range p.Parts {
				if lit, ok := inner.(*syntax.Lit); ok {
					b.WriteString(unquoted(lit.Value))
					continue
				}
				text, more := k.value(inner, true)
				b.WriteString(text)
				many = many || more
			}
		case *syntax.ExtGlob:
			b.WriteString(live + "*")
		default:
			text, more := k.value(part, false)
			b.WriteString(marked(text))
			many = many || more
		}
	}
	return word{b.String(), many}
}

// value is what stands for an expansion, and whether that may be several words.
func (k *analysis) value(part syntax.WordPart, quoted bool) (string, bool) {
	switch p := part.(type) {
	case *syntax.ArithmExp:
		k.nested(p)
		return "0", false
	case *syntax.ParamExp:
		return k.param(p, quoted)
	case *syntax.CmdSubst:
		src := k.substituted(p)
		if src != nil && src.known && len(src.text) <= maxText/8 {
			return strings.TrimRight(src.text, "\n"), false
		}
		if src != nil && len(src.names) == 1 {
			return src.names[0].text, !quoted
		}
		return hole, !quoted
	case *syntax.ProcSubst:
		src := &source{}
		if p.Op == syntax.CmdIn {
			k.aside(func() { src = k.stmts(p.Stmts, nil) })
		} else {
			k.aside(func() { k.stmts(p.Stmts, &source{}) })
		}
		k.steps++
		name := "/dev/fd/." + strconv.Itoa(k.steps)
		k.s.files[name] = src
		return name, false
	}
	return hole, !quoted
}

// param is the value of a variable.
func (k *analysis) param(p *syntax.ParamExp, quoted bool) (string, bool) {
	if p.Param == nil {
		return hole, true
	}
	k.nested(p)
	name := p.Param.Value
	if p.Length || p.Width {
		return "0", false
	}
	simple := !p.Excl && p.Index == nil && p.Slice == nil && p.Repl == nil && p.Names == 0
	value, known := k.variable(name)
	split := !quoted && !known
	if simple && p.Exp == nil {
		if !known {
			return hole, !quoted || name == "@"
		}
		return value, !quoted && strings.ContainsAny(value, " \t\n"+hole)
	}
	if simple && p.Exp.Word != nil {
		other := k.parts(p.Exp.Word.Parts)
		switch p.Exp.Op {
		case syntax.DefaultUnset, syntax.DefaultUnsetOrNull, syntax.AssignUnset, syntax.AssignUnsetOrNull:
			if known && value != "" {
				return value, false
			}
			if k.pick%2 == 0 || known { // with a value that nobody knows, and with this one
				return other.text, other.many
			}
			return hole, split
		case syntax.AlternateUnset, syntax.AlternateUnsetOrNull:
			if known && value == "" || !known && k.pick%2 == 1 {
				return "", false
			}
			return other.text, other.many
		case syntax.RemSmallSuffix, syntax.RemLargeSuffix, syntax.RemSmallPrefix, syntax.RemLargePrefix:
			if known && !other.globs() && !other.holes() {
				if p.Exp.Op == syntax.RemSmallSuffix || p.Exp.Op == syntax.RemLargeSuffix {
					return strings.TrimSuffix(value, other.text), false
				}
				return strings.TrimPrefix(value, other.text), false
			}
		}
	}
	if p.Excl && p.Index == nil && p.Names == 0 && known && value != "" && !strings.ContainsAny(value, hole+live+home) {
		if value, known = k.variable(value); known {
			return value, false
		}
	}
	return hole, !quoted || name == "@" || p.Index != nil || p.Names != 0 || p.Excl || p.Exp != nil && name == "*"
}

// variable is the value of a variable that the command has set, or that the system does.
func (k *analysis) variable(name string) (string, bool) {
	if values, ok := k.s.vars[name]; ok {
		v := values[k.pick%len(values)]
		return v.text, !v.holes() || v.text != hole
	}
	if len(name) == 1 && name[0] >= '1' && name[0] <= '9' && k.s.called {
		if i := int(name[0] - '1'); i < len(k.s.params) {
			return k.s.params[i].text, !k.s.params[i].many
		}
		return "", true
	}
	switch name {
	case "HOME":
		return home, true
	case "?", "#", "$", "!", "RANDOM", "UID", "EUID", "SECONDS", "LINENO", "BASHPID", "PPID", "SRANDOM", "EPOCHSECONDS", "COLUMNS", "LINES", "SHLVL", "GITHUB_RUN_ID", "GITHUB_RUN_NUMBER":
		return "0", true
	case "TMPDIR", "TEMP", "TMP", "RUNNER_TEMP", "BATS_TMPDIR", "BATS_TEST_TMPDIR", "BATS_TEMP_DIR", "TEMPDIR", "TEMP_DIR", "TMP_DIR":
		return tempDir, true
	case "GITHUB_WORKSPACE", "CI_PROJECT_DIR", "WORKSPACE", "INIT_CWD", "BUILD_SOURCESDIRECTORY", "TRAVIS_BUILD_DIR", "CIRCLE_WORKING_DIRECTORY", "PROJECT_ROOT":
		if len(k.work) > 0 {
			return "/" + strings.Join(k.work, "/"), true
		}
	case "PWD":
		if dir := k.s.dirs[k.pick%len(k.s.dirs)]; dir != hole {
			return dir, true
		}
	case "USER", "LOGNAME":
		if len(k.home) > 0 {
			return k.home[len(k.home)-1], true
		}
	case "SHELL":
		return "/bin/sh", true
	case "BASH_SOURCE":
		return "script", true
	case "0":
		if len(k.s.zero) > 0 {
			return k.s.zero[0].text, !k.s.zero[0].many
		}
		return hole, false
	}
	return hole, false
}

// fromOutside reports whether all that is not known of a word is in variables that the command
// has not set itself.
func (k *analysis) fromOutside(w *syntax.Word) bool {
	outside := true
	if len(w.Parts) > 1 {
		if _, ok := w.Parts[0].(*syntax.CmdSubst); ok && len(w.Parts) == 2 {
			if lit, ok := w.Parts[1].(*syntax.Lit); ok && strings.HasPrefix(lit.Value, "/") {
				return true // a program in a folder that is printed
			}
		}
	}
	syntax.Walk(w, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst, *syntax.ProcSubst, *syntax.ArithmExp, *syntax.ExtGlob:
			outside = false
		case *syntax.ParamExp:
			if n.Param == nil || !syntax.ValidName(n.Param.Value) || n.Exp != nil && n.Exp.Op != syntax.DefaultUnset && n.Exp.Op != syntax.DefaultUnsetOrNull || n.Excl || n.Index != nil || n.Slice != nil || n.Repl != nil || n.Param.Value == "IFS" {
				outside = false
				return false
			}
			_, set := k.s.vars[n.Param.Value]
			_, list := k.s.lists[n.Param.Value]
			outside = outside && !set && !list
		}
		return true
	})
	return outside
}

// tempDir stands for a folder of temporary files that nobody else knows.
const tempDir = "/tmp/.temporary"

// bare is text without quotes around it.
func bare(text string, first, whole bool) string {
	var b strings.Builder
	if first && strings.HasPrefix(text, "~") {
		user, rest, slash := strings.Cut(text[1:], "/")
		if !strings.ContainsAny(user, "\\*?[") && (slash || whole) {
			if user == "+" || user == "-" {
				b.WriteString(hole)
			} else {
				b.WriteString(home) // somebody's
			}
			text = rest
			if slash {
				text = "/" + rest
			}
		}
	}
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '\\':
			if i++; i < len(text) && text[i] != '\n' {
				b.WriteByte(text[i])
			}
		case '*', '?', '[':
			b.WriteString(live)
			b.WriteByte(c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// unquoted takes the backslashes away that double quotes take.
func unquoted(s string) string {
	return strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\$`, `$`, "\\`", "`", "\\\n", "").Replace(s)
}

// ansi reads what stands in $'...'.
func ansi(s string) string {
	simple := map[byte]string{
		'a': "\a", 'b': "\b", 'e': "\x1b", 'E': "\x1b", 'f': "\f", 'n': "\n", 'r': "\r", 't': "\t", 'v': "\v",
		'\\': `\`, '\'': "'", '"': `"`, '?': "?",
	}
	number := func(digits string, most, base int) (string, int) {
		n := 0
		for n < most && n < len(digits) {
			if _, err := strconv.ParseUint(digits[n:n+1], base, 8); err != nil {
				break
			}
			n++
		}
		v, err := strconv.ParseUint(digits[:n], base, 32)
		if err != nil || v < 3 || v > 0x7f && most <= 3 { // ends the word, is a sign of ours, or a byte of a letter
			return hole, n
		}
		return string(rune(v)), n
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		c := s[i]
		text, known := simple[c]
		n := 0
		switch {
		case known:
		case c == 'x':
			text, n = number(s[i+1:], 2, 16)
		case c == 'u':
			text, n = number(s[i+1:], 4, 16)
		case c == 'U':
			text, n = number(s[i+1:], 8, 16)
		case c >= '0' && c <= '7':
			text, n = number(s[i:], 3, 8)
			n--
		case c == 'c':
			text, n = hole, min(1, len(s)-i-1)
		default:
			text = `\` + string(rune(c))
		}
		b.WriteString(text)
		i += n
	}
	return b.String()
}
