package testdiff

import (
	"strings"

	"github.com/ralph-loop/ralph/internal/testdiff/language"
	"github.com/ralph-loop/ralph/internal/text"
)

// maxQuote is how much of a line of code people are shown, in signs.
const maxQuote = 80

// file is a changed file of tests, before and after.
type file struct {
	*change
	x      *language.Lexicon
	isTest bool // by its name; otherwise only what is marked as a test counts
	ran    bool // a runner looked at it under its old name
	runs   bool // a runner looks at it under its new name
	before []*test
	after  []*test
}

// test is what a hunk, or several, show of one test, or of what is around tests.
type test struct {
	file     *file
	name     string
	outside  bool // of every test: functions they call, what encloses them
	declared int  // the line of its head; 0 when no hunk shows it
	edited   bool // its head, or an attribute on it, is only in this one of before and after
	lines    []*line
	mate     *test // what it was, or has become
	rest     *test // more of it, after, that only a hunk's heading ascribes to it
	absorbed bool  // what it did is done by another test

	// Found once, when asked for.
	read, bodied, worded, differed bool
	all, lost, gained              []assertion
	bodyWords, allWords            words
}

// line is a line with what is known of its code.
type line struct {
	rawLine
	code   string // without strings and comments
	has    language.Class
	at     int // where the first assertion begins, -1
	indent int // in columns; -1 for nothing but blanks or the inside of a string

	before, after string // what is open where it begins and ends: the mark that closes it
}

const tab = 4 // columns: any number will do, since a file's own lines are compared

func (f *file) read() {
	for _, h := range f.hunks {
		before := f.scan(h, h.old, nil)
		f.before = f.split(f.before, h, before)
		f.after = f.split(f.after, h, f.scan(h, h.new, before))
	}
}

// split shares out the lines of one side of a hunk among the tests they are in. A
// test begins with its head and ends where its indentation does, which holds in
// every language as long as people, or their tools, indent.
func (f *file) split(tests []*test, h hunk, lines []line) []*test {
	s := &splitter{file: f, tests: tests, lines: lines}
	s.outside = &test{file: f, name: h.heading, outside: true}
	if name, ok := f.headed(h.heading); ok {
		s.open = []opened{{s.named(name), 0}}
	}
	s.owner = make([]*test, len(s.lines))
	for i := range s.lines {
		s.place(i)
	}
	for i := range s.lines {
		s.owner[i].lines = append(s.owner[i].lines, &s.lines[i])
	}
	return append(s.tests, s.outside)
}

// headed reports whether a hunk's heading is the head of a test. Where attributes
// make tests, it does not tell.
func (f *file) headed(heading string) (string, bool) {
	if f.x.Test == nil || heading == "" {
		return "", false
	}
	code, _ := f.x.Syntax.Blank(heading, "")
	return f.x.Test(code, heading)
}

// scan finds out what is code. The lines that the other side has as well need not be
// looked at again, as long as what is open there is the same.
func (f *file) scan(h hunk, raw []rawLine, other []line) []line {
	out := make([]line, len(raw))
	open := ""
	if !h.first {
		open = f.x.Syntax.Begins(texts(raw))
	}
	for i, r := range raw {
		if !r.changed {
			for len(other) > 0 && other[0].changed {
				other = other[1:]
			}
			if len(other) > 0 {
				same := other[0]
				other = other[1:]
				if same.before == open {
					same.number = r.number
					out[i], open = same, same.after
					continue
				}
			}
		}
		out[i] = f.scanLine(r, open)
		open = out[i].after
	}
	return out
}

func texts(raw []rawLine) []string {
	out := make([]string, len(raw))
	for i, r := range raw {
		out[i] = r.text
	}
	return out
}

func (f *file) scanLine(r rawLine, open string) line {
	l := line{rawLine: r, at: -1, indent: -1, before: open}
	if open == "" && f.x.Syntax.Block && strings.HasPrefix(strings.TrimSpace(r.text), "* ") {
		l.code = strings.Repeat(" ", len(r.text)) // a comment that began above the hunk
		return l
	}
	l.code, l.after = f.x.Syntax.Blank(r.text, open)
	if strings.TrimLeft(l.code, " \t\x01") != "" {
		l.has, l.at = f.x.Classes(l.code)
		if open == "" {
			l.indent = columns(l.code)
		}
	}
	return l
}

func columns(code string) (n int) {
	for _, c := range []byte(code) {
		switch c {
		case ' ':
			n++
		case '\t':
			n += tab
		default:
			return n
		}
	}
	return n
}

// splitter goes through the lines of one side of a hunk.
type splitter struct {
	file    *file
	tests   []*test
	outside *test
	lines   []line
	owner   []*test
	open    []opened
	marked  int // 1 + the line of an attribute that makes a test of the next function
}

type opened struct {
	test   *test
	indent int
}

// named returns the last test of this name, for more of its lines.
func (s *splitter) named(name string) *test {
	for i := len(s.tests) - 1; i >= 0; i-- {
		if t := s.tests[i]; t.name == name && !t.outside {
			return t
		}
	}
	t := &test{file: s.file, name: name}
	s.tests = append(s.tests, t)
	return t
}

// place finds the test that a line is in.
func (s *splitter) place(i int) {
	l := s.lines[i]
	if l.indent < 0 {
		s.owner[i] = s.innermost()
		if m := s.file.x.Mark; m != "" && strings.Contains(l.text, m) {
			s.marked = i + 1
		}
		return
	}
	if name, ok := s.heads(i); ok {
		s.begin(i, name)
		return
	}
	trimmed := strings.TrimSpace(l.code)
	for len(s.open) > 0 && l.indent <= s.open[len(s.open)-1].indent {
		top := s.innermost()
		if goesOn(trimmed) {
			break
		}
		s.open = s.open[:len(s.open)-1]
		if strings.IndexByte(")}]", trimmed[0]) >= 0 || trimmed == "end" {
			s.owner[i] = top
			return
		}
	}
	s.owner[i] = s.innermost()
}

func (s *splitter) innermost() *test {
	if n := len(s.open); n > 0 {
		return s.open[n-1].test
	}
	return s.outside
}

// heads reports whether a line begins a test.
func (s *splitter) heads(i int) (string, bool) {
	x, l := s.file.x, s.lines[i]
	if x.Test != nil {
		if name, ok := x.Test(l.code, l.text); ok {
			return name, true
		}
	}
	if l.has&language.Attribute != 0 {
		s.marked = i + 1
	}
	if s.marked == 0 || x.Function == nil {
		return "", false
	}
	name, ok := x.Function(l.code)
	if ok {
		s.marked = 0
	}
	return name, ok
}

// begin opens a test, which also owns the attributes and comments above its head.
func (s *splitter) begin(i int, name string) {
	l := s.lines[i]
	for len(s.open) > 0 && s.open[len(s.open)-1].indent >= l.indent {
		s.open = s.open[:len(s.open)-1]
	}
	t := &test{file: s.file, name: name, declared: l.number}
	s.tests = append(s.tests, t)
	s.open = append(s.open, opened{t, l.indent})
	for j := s.above(i); j <= i; j++ {
		s.owner[j] = t
		t.edited = t.edited || s.lines[j].changed
	}
}

// above returns the first line of what is attached to the head in line i.
func (s *splitter) above(i int) int {
	first := i
	for j := i - 1; j >= 0; j-- {
		l, trimmed := s.lines[j], strings.TrimSpace(s.lines[j].code)
		switch {
		case strings.TrimSpace(l.text) == "":
			return first
		case trimmed == "": // a comment
			first = j
		case l.indent > s.lines[i].indent:
		case l.indent < s.lines[i].indent:
			return first
		case trimmed[0] == '@' || trimmed[0] == '[' || strings.HasPrefix(trimmed, "#[") || strings.Contains(trimmed, ".each"):
			first = j
		case strings.IndexByte(")]", trimmed[0]) < 0:
			return first
		}
	}
	return first
}

// goesOn reports whether code at a head's indentation is still part of the head, as
// in `): void {`, or opens the body.
func goesOn(trimmed string) bool {
	last := trimmed[len(trimmed)-1]
	return trimmed[0] == '{' || strings.IndexByte(")]}", trimmed[0]) >= 0 && strings.IndexByte("{:([>", last) >= 0
}

// label names a test for people.
func (t *test) label() string {
	if !t.outside {
		return t.name
	}
	if t.name == "" {
		return "outside of tests"
	}
	return "below " + text.Line(t.name, maxQuote)
}

// labelAt names the function that a line outside of tests is in, when it shows.
func (t *test) labelAt(number int) string {
	for i, l := range t.lines {
		if t.outside && l.number == number {
			if fn, ok := t.function(i); ok {
				name, _ := t.file.x.Function(fn.code)
				return name
			}
		}
	}
	return t.label()
}

// changed reports whether the patch touches the test on this side.
func (t *test) changed() bool {
	for _, l := range t.lines {
		if l.changed {
			return true
		}
	}
	return false
}
