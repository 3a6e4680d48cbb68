package testoutput

import (
	"fmt"
	"strings"
)

// tap reads the Test Anything Protocol, and prove's report about it. Where prove runs, its
// report alone counts: the streams of its files follow on each other without their names.
type tap struct {
	on      bool
	titles  []string // of the subtests that are open, by depth
	below   []bool   // a test has failed below, by depth
	names   names
	got     int
	want    int
	counted bool
	bail    bool

	yaml    string // indentation of the block that says more of a result
	pending string // the failed test whose block may come
	parent  bool   // it failed by what is below it
	file    string // where it is
	cause   string
	block   bool // the cause is on the next line
	comment string
	head    string

	prove    names
	failing  string // the file of prove's report
	reported int    // of its failures
	report   bool   // prove's report has begun
	result_  bool   // and has ended
	doubt    string
}

func (t *tap) line(s string) {
	if t.report || strings.HasPrefix(s, "Test Summary Report") {
		t.proveLine(s)
		return
	}
	text := strings.TrimLeft(s, " ")
	indent := len(s) - len(text)
	if t.yaml != "" {
		t.inBlock(s, text)
		return
	}
	switch {
	case strings.HasPrefix(s, "TAP version "):
		t.on = true
	case text == "---" && t.pending != "":
		t.yaml = s[:indent] + "x"
	case strings.HasPrefix(text, "not ok"), strings.HasPrefix(text, "ok"):
		t.test(indent/4, text)
	case strings.HasPrefix(text, "1.."):
		if indent == 0 && number(text[3:]) >= 0 {
			t.on = true
		}
	case strings.HasPrefix(text, "Bail out!"):
		t.bail = true
		if t.head == "" {
			t.head = text
		}
	case strings.HasPrefix(text, "#"):
		t.note(indent/4, s, text)
	}
}

func (t *tap) note(depth int, s, text string) {
	words := strings.TrimSpace(strings.TrimPrefix(text, "#"))
	if title, ok := strings.CutPrefix(words, "Subtest: "); ok && depth < 64 {
		for len(t.titles) <= depth {
			t.titles = append(t.titles, "")
		}
		t.titles = t.titles[:depth+1]
		t.titles[depth] = cutTo(title, longestName, "")
		return
	}
	switch {
	case depth == 0 && strings.HasPrefix(words, "fail ") && number(words[5:]) >= 0:
		t.want, t.counted = t.want+number(words[5:]), true
	case strings.HasPrefix(words, "Failed test '") && t.doubt == "":
		t.doubt = strings.Trim(strings.TrimPrefix(words, "Failed test "), "'")
	case t.comment == "" && isThrown(words):
		t.comment = words
	}
}

// test reads "not ok 3 - name # TODO".
func (t *tap) test(depth int, text string) {
	t.settle()
	text, bad := strings.CutPrefix(text, "not ")
	rest, ok := strings.CutPrefix(text, "ok")
	if !ok || rest != "" && rest[0] != ' ' || depth >= 64 {
		return
	}
	for len(t.below) <= depth+1 {
		t.below = append(t.below, false)
	}
	parent := t.below[depth+1]
	t.below[depth+1] = false
	rest = strings.TrimSpace(rest)
	n := ""
	if number(rest) >= 0 {
		n = rest[:len(rest)-len(strings.TrimLeft(rest, "0123456789"))]
		rest = strings.TrimSpace(strings.TrimPrefix(rest, n))
	}
	name, directive, _ := cutDirective(strings.TrimSpace(strings.TrimPrefix(rest, "- ")))
	if name == "-" {
		name = ""
	}
	if !bad || strings.HasPrefix(directive, "TODO") || strings.HasPrefix(directive, "SKIP") {
		t.comment = ""
		return
	}
	if name == "" {
		name = "test " + n
	}
	if depth > 0 && depth <= len(t.titles) {
		name = strings.Join(append(append([]string{}, t.titles[:depth]...), name), " > ")
	}
	t.below[depth] = true
	t.pending, t.parent, t.file, t.cause = name, parent, "", ""
}

// cutDirective cuts "# TODO why" off, which may be written in any case.
func cutDirective(s string) (name, directive string, found bool) {
	for i := len(s) - 1; i >= 0; i-- {
		if s[i] != '#' || i > 0 && s[i-1] == '\\' {
			continue
		}
		d := strings.ToUpper(strings.TrimSpace(s[i+1:]))
		if strings.HasPrefix(d, "TODO") || strings.HasPrefix(d, "SKIP") {
			return strings.TrimSpace(s[:i]), d, true
		}
	}
	return s, "", false
}

// inBlock reads the YAML below a failed test.
func (t *tap) inBlock(s, text string) {
	if text == "..." && len(s)-len(text) < len(t.yaml) {
		t.yaml, t.block = "", false
		t.settle()
		return
	}
	if t.block {
		cause, done := further(t.cause, text)
		t.cause, t.block = cause, !done
		return
	}
	key, value, _ := strings.Cut(text, ":")
	value = strings.TrimSpace(value)
	switch key {
	case "type":
		if strings.Trim(value, `'"`) == "suite" {
			t.got-- // what counts tests counts no suites
		}
	case "location":
		t.file = strings.Trim(value, `'"`)
		for range 2 { // line and column move with each change
			if i := strings.LastIndexByte(t.file, ':'); i > 0 && number(t.file[i+1:]) >= 0 {
				t.file = t.file[:i]
			}
		}
	case "error", "message":
		if t.cause != "" {
			break
		}
		if strings.HasPrefix(value, "|") || strings.HasPrefix(value, ">") {
			t.block = true
		} else {
			t.cause = strings.Trim(value, `'"`)
		}
	}
}

// settle counts the failed test that was read last.
func (t *tap) settle() {
	if t.pending == "" {
		return
	}
	name, cause := t.pending, t.cause
	t.pending, t.yaml = "", ""
	t.got++
	if (cause == "" || cause == "test failed") && t.comment != "" {
		cause = t.comment
	}
	t.comment = ""
	if t.parent {
		return
	}
	if t.file != "" && t.file != name {
		name = t.file + " > " + name
	}
	t.names.add(name)
	if t.head == "" {
		t.head = named(name, cause)
	}
}

// proveLine reads prove's report of the files that failed.
func (t *tap) proveLine(s string) {
	t.report = true
	text := strings.TrimSpace(s)
	switch {
	case strings.HasPrefix(text, "Result: "):
		t.fileEnds()
		t.report, t.result_ = false, true
	case strings.Contains(s, " (Wstat: "):
		t.fileEnds()
		t.failing, _, _ = strings.Cut(s, " (Wstat: ")
		t.failing = strings.TrimSpace(t.failing)
	case strings.HasPrefix(text, "Failed test"):
		_, list, _ := strings.Cut(text, ":")
		t.numbers(list)
	case strings.HasPrefix(text, "Parse errors:"):
		_, what, _ := strings.Cut(text, ":")
		t.proveName("[" + strings.TrimRight(strings.TrimSpace(what), ".") + "]")
	case t.reported > 0 && number(text) >= 0 && t.failing != "" && strings.Trim(text, "0123456789-, ") == "":
		t.numbers(text)
	}
}

// numbers reads "2-3, 7".
func (t *tap) numbers(list string) {
	for part := range strings.SplitSeq(list, ",") {
		from, to, isRange := strings.Cut(strings.TrimSpace(part), "-")
		a, b := number(from), number(from)
		if isRange {
			b = number(to)
		}
		for n := a; n >= 0 && n <= b && !t.prove.over; n++ {
			t.proveName(fmt.Sprintf("test %d", n))
		}
	}
}

func (t *tap) proveName(what string) {
	t.reported++
	t.prove.once(t.failing + " " + what)
}

// fileEnds names a file that failed without saying which of its tests did.
func (t *tap) fileEnds() {
	if t.failing != "" && t.reported == 0 {
		t.proveName("[failed]")
	}
	t.failing, t.reported = "", 0
}

func (t *tap) result() outcome {
	t.settle()
	t.fileEnds()
	o := outcome{rank: rankTest, headline: t.head}
	switch {
	case t.report || t.result_:
		o.names, o.broken, o.got = t.prove, !t.result_, len(t.prove.times)
	case t.on:
		o.names, o.got, o.want, o.counted, o.broken = t.names, t.got, t.want, t.counted, t.bail
	default:
		o.headline = ""
	}
	if t.doubt != "" && (o.headline == "" || t.result_) {
		o.rank, o.headline = rankDoubt, t.doubt
	}
	return o
}

// nodeSpec reads what `node --test` writes for people.
type nodeSpec struct {
	on      bool // its list of failed tests
	file    string
	last    string // the test whose cause comes next
	cause   string
	thrown  string // by a file, before any test of it
	names   names
	got     int
	want    int
	counted bool
	head    string
}

func (n *nodeSpec) line(s string) {
	switch {
	case strings.HasPrefix(s, "ℹ fail "):
		n.want, n.counted = n.want+max(0, number(strings.TrimPrefix(s, "ℹ fail "))), true
	case s == "✖ failing tests:":
		n.on = true
	case !n.on:
		if n.thrown == "" && isThrown(s) {
			n.thrown = s
		}
	case strings.HasPrefix(s, "test at "):
		n.settle()
		n.file = strings.TrimPrefix(s, "test at ")
		n.file, _, _ = strings.Cut(n.file, ":")
	case strings.HasPrefix(s, "✖ "):
		n.settle()
		name, directive, _ := cutDirective(strings.TrimPrefix(s, "✖ "))
		if directive != "" {
			return
		}
		if i := strings.LastIndex(name, " ("); i > 0 && strings.HasSuffix(name, "ms)") {
			name = name[:i]
		}
		if n.file != "" && !strings.HasSuffix(name, n.file) {
			name = n.file + " > " + name
		}
		n.names.add(name)
		n.got++
		n.last = name
	case n.last != "" && n.head == "":
		cause, done := further(n.cause, s)
		if n.cause = strings.Trim(cause, "'"); done {
			n.settle()
		}
	}
}

// settle keeps the headline. A file that could not be read says only that it failed: what
// it threw stands far above.
func (n *nodeSpec) settle() {
	if n.last != "" && n.head == "" {
		if n.cause == "test failed" && n.thrown != "" {
			n.cause = n.thrown
		}
		n.head = named(n.last, n.cause)
	}
	n.last, n.cause = "", ""
}

func (n *nodeSpec) result() outcome {
	n.settle()
	return outcome{names: n.names, got: n.got, want: n.want, counted: n.counted, counts: true, rank: rankTest, headline: n.head}
}
