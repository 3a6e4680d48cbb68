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

// mostBraces bounds what {a,b} is expanded to.
const mostBraces = 128

// words expands words of the shell.
func (k *look) words(list []*syntax.Word) []word {
	var out []word
	for _, w := range list {
		out = append(out, k.expand(w)...)
		if len(out) > mostWords {
			return append(out[:mostWords:mostWords], hidden())
		}
	}
	return out
}

// expand is one word, or those that its braces make of it.
func (k *look) expand(w *syntax.Word) []word {
	if w == nil {
		return nil
	}
	w = &syntax.Word{Parts: slices.Clone(w.Parts)} // Walk does not know what SplitBraces makes of a word
	if syntax.SplitBraces(w) {
		all, ok := alternatives(w.Parts, 0)
		if !ok {
			return []word{hidden()}
		}
		out := make([]word, len(all))
		for i, parts := range all {
			out[i] = k.parts(parts)
		}
		return out
	}
	return []word{k.parts(w.Parts)}
}

// alternatives multiplies braces out; false when they are too many, or count.
func alternatives(parts []syntax.WordPart, depth int) ([][]syntax.WordPart, bool) {
	if depth > mostDepth {
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
		if all = next; len(all) > mostBraces {
			return nil, false
		}
	}
	return all, true
}

func (k *look) parts(parts []syntax.WordPart) word {
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
			b.WriteString(text)
			many = many || more
		}
	}
	return word{b.String(), many}
}

// value is what stands for an expansion, and whether that may be several words.
func (k *look) value(part syntax.WordPart, quoted bool) (string, bool) {
	switch p := part.(type) {
	case *syntax.ArithmExp:
		return "0", false
	case *syntax.ParamExp:
		if p.Param == nil {
			return hole, true
		}
		simple := !p.Excl && !p.Length && !p.Width && p.Index == nil && p.Slice == nil && p.Repl == nil && p.Exp == nil && p.Names == 0
		if simple {
			switch p.Param.Value {
			case "HOME":
				if !k.homeSet {
					return home, false
				}
			case "?", "#", "$", "!":
				return "0", false
			}
		}
		if p.Length {
			return "0", false
		}
		return hole, !quoted || p.Param.Value == "@" || p.Index != nil || p.Names != 0 || p.Excl || !simple && p.Exp != nil && p.Param.Value == "*"
	case *syntax.ProcSubst:
		return hole, false
	}
	return hole, !quoted
}

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
