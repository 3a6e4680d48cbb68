package testdiff

import (
	"strings"

	"github.com/ralph-loop/ralph/internal/testdiff/language"
	"github.com/ralph-loop/ralph/internal/text"
)

// assertion is one place where a test can fail.
type assertion struct {
	text  string // what it asserts, by which it is found again; no messages
	line  int
	quote string // the line as it is written

	// The code of what it asserts, from which the weight comes.
	code, source string
	has          language.Class
	kind         kind

	weight // found by weigh
}

// kind is how an assertion is written.
type kind int

const (
	stated    kind = iota // as a statement of what must hold
	condition             // as a condition under which the test fails
	plain                 // as a failure
	panics                // as a failure where an error is caught anyway
)

// weight is how much an assertion asks for.
type weight struct {
	level level
	worth level // when it takes another's place: to ask for nothing is as much as to ask for 3
	loose bool  // it is vague by a word such as true, so what it is about counts
	setup bool  // it only stops the test where nothing can be tested
	words words // what it is about
}

// show is the assertion for people.
func (a assertion) show() string { return text.Line(a.quote, maxQuote) }

// assertions lists those of a test, without their weight.
func (t *test) assertions() (out []assertion) {
	if t.outside && !t.counts() {
		return nil // production code asserts as well
	}
	n := 0
	for _, l := range t.lines {
		if l.has&(language.Assert|language.Fail) != 0 {
			n++
		}
	}
	if n > 0 {
		out = make([]assertion, 0, n)
	}
	for i, l := range t.lines {
		switch {
		case l.has&(language.Assert|language.Fail) == 0 || l.at < 0:
		case l.has&language.Assert != 0:
			out = append(out, t.statement(i))
		default:
			out = append(out, t.failing(i))
		}
	}
	return out
}

// statement reads an assertion to where its brackets are closed.
func (t *test) statement(i int) assertion {
	const most = 40 // lines
	from, depth := t.lines[i].at, 0
	a := assertion{line: t.lines[i].number, quote: t.lines[i].text, kind: stated}
	for j := i; j < len(t.lines) && j < i+most; j++ {
		l := t.lines[j]
		code := l.code[from:]
		if j > i {
			if depth <= 0 && !strings.HasPrefix(strings.TrimSpace(code), ".") {
				break
			}
			a.code, a.source = a.code+" ", a.source+" "
		}
		a.code, a.source = a.code+code, a.source+l.text[from:]
		for _, c := range []byte(code) {
			switch c {
			case '(', '[', '{':
				depth++
			case ')', ']', '}':
				depth--
			}
		}
		a.has |= l.has
		from = 0
	}
	a.text = squeeze(a.code, a.source)
	return a
}

// failing reads a call that fails the test by the condition it stands under.
func (t *test) failing(i int) assertion {
	l := t.lines[i]
	above, ok := t.condition(i)
	if ok {
		return assertion{line: above.number, quote: above.text, kind: condition, code: above.code, source: above.text, has: above.has, text: squeeze(above.code, above.text)}
	}
	a := assertion{line: l.number, quote: l.text, kind: plain, code: l.code[l.at:], source: l.text[l.at:], text: squeeze(l.code, l.text)}
	if above != nil && caught(above.code) {
		a.kind = panics
	}
	return a
}

// weigh finds out how much an assertion asks for.
func weigh(x *language.Lexicon, a assertion) assertion {
	collect(x, &a.words, a.code, a.source)
	switch a.kind {
	case stated:
		a.setup = a.has&language.Setup != 0
		a.level, a.loose = asks(x, a.code, a.source, a.has)
		if a.worth = a.level; a.level == vague && !a.loose && asksForNothing(x, a.code, a.source, a.has) {
			a.worth = full
		}
	case condition:
		code := a.code
		if at := strings.LastIndexByte(code, ';'); at >= 0 && strings.TrimSpace(code[at+1:]) != "" {
			code = code[at+1:] // if got := Get(); got != want
		}
		a.level = refuses(x, code, a.has)
		a.loose = a.level == vague
		a.setup = strings.Contains(strings.ToLower(code), "err") && strings.Contains(code, "!= nil") && !strings.Contains(code, "||")
		if a.worth = a.level; a.level == vague && !a.setup && contains(code, x.Differ) {
			a.worth = full
		}
	case plain, panics:
		a.level, a.worth, a.setup = partial, partial, a.kind == panics
	}
	return a
}

// caught reports whether a line begins what is done about an error: to fail there
// only says more than the error itself would.
func caught(code string) bool {
	return contains(strings.TrimLeft(code, " \t}"), []string{"catch ", "catch(", "except ", "except:", "rescue"})
}

// condition returns the line that line i stands under, and whether it is an if.
func (t *test) condition(i int) (*line, bool) {
	const most = 8 // lines up
	l := t.lines[i]
	if l.at > 0 && conditional(l.code[:l.at]) {
		head := *l
		head.code, head.text = l.code[:l.at], l.text[:l.at]
		return &head, true
	}
	for j := i - 1; j >= 0 && j >= i-most; j-- {
		above := t.lines[j]
		if above.indent < 0 || above.indent >= l.indent {
			continue
		}
		return above, conditional(above.code)
	}
	return nil, false
}

func conditional(code string) bool {
	first := strings.TrimLeft(code, " \t})")
	for _, w := range []string{"if ", "if(", "elif ", "else if", "elsif ", "unless ", "case ", "when ", "switch "} {
		if strings.HasPrefix(first, w) {
			return true
		}
	}
	return false
}
