package testoutput

import (
	"encoding/xml"
	"strings"
)

// longestTag is how much of one tag is read: messages are in attributes.
const longestTag = 64 << 10

// junit reads JUnit's XML on a stream, tag by tag: reports have no bound, and other output
// comes before and behind them.
type junit struct {
	on      bool
	state   xmlState
	quote   byte
	tag     strings.Builder
	long    bool
	tail    string // the end of a comment or CDATA that may go on in the next piece
	suites  []string
	depth   int
	test    string // the test case that is open
	failed  bool
	skipped bool
	cause   string
	names   names
	got     int
	head    string
	open    bool // the report has not ended
}

type xmlState int

const (
	inText xmlState = iota
	inTag
	inComment
	inCDATA
)

// piece takes a piece of a line, and reports whether it is of a report.
func (j *junit) piece(s string) bool {
	if !j.on {
		t := strings.TrimSpace(s)
		i := strings.Index(t, "<testsuite")
		if i != 0 && !strings.HasPrefix(t, "<?xml") {
			return false
		}
		j.on, j.open, j.state = true, true, inText
	}
	for i := 0; i < len(s); i++ {
		j.char(s[i])
		if !j.on {
			return true
		}
	}
	j.char('\n')
	return true
}

func (j *junit) line(string) {} // it has had its pieces

func (j *junit) char(c byte) {
	switch j.state {
	case inText:
		if c == '<' {
			j.state, j.quote, j.long = inTag, 0, false
			j.tag.Reset()
		}
	case inComment, inCDATA:
		end := "-->"
		if j.state == inCDATA {
			end = "]]>"
		}
		if j.tail += string(c); len(j.tail) > 3 {
			j.tail = j.tail[1:]
		}
		if j.tail == end {
			j.state = inText
		}
	case inTag:
		j.inTag(c)
	}
}

func (j *junit) inTag(c byte) {
	switch {
	case j.quote != 0:
		if c == j.quote {
			j.quote = 0
		}
	case c == '"' || c == '\'':
		j.quote = c
	case c == '>':
		j.state = inText
		j.element(j.tag.String())
		return
	}
	if j.tag.Len() < longestTag {
		j.tag.WriteByte(c)
	} else {
		j.long = true
	}
	switch j.tag.String() {
	case "!--":
		j.state, j.tail = inComment, ""
	case "![CDATA[":
		j.state, j.tail = inCDATA, ""
	}
}

// element reads one tag, without its brackets.
func (j *junit) element(tag string) {
	if strings.HasPrefix(tag, "?") || strings.HasPrefix(tag, "!") || tag == "" {
		return
	}
	alone := strings.HasSuffix(tag, "/")
	if name, ok := strings.CutPrefix(tag, "/"); ok {
		j.close(strings.TrimSpace(name))
		return
	}
	tag = strings.TrimSuffix(tag, "/")
	if j.long {
		tag, _, _ = strings.Cut(tag, " ")
	}
	name, attr := attributes(tag)
	j.begin(name, attr)
	if alone {
		j.close(name)
	}
}

func attributes(tag string) (string, map[string]string) {
	d := xml.NewDecoder(strings.NewReader("<" + tag + "/>"))
	d.Strict = false
	attr := map[string]string{}
	t, err := d.RawToken()
	e, ok := t.(xml.StartElement)
	if err != nil || !ok {
		name, _, _ := strings.Cut(tag, " ")
		return name, attr
	}
	for _, a := range e.Attr {
		attr[a.Name.Local] = a.Value
	}
	return e.Name.Local, attr
}

func (j *junit) begin(name string, attr map[string]string) {
	switch name {
	case "testsuites", "testsuite":
		j.depth++
		if len(j.suites) < maxNames {
			j.suites = append(j.suites, attr["name"])
		}
	case "testcase":
		j.failed, j.skipped, j.cause = false, false, ""
		j.test = j.nameOf(attr)
	case "failure", "error":
		if j.failed {
			return
		}
		j.failed = true
		for line := range strings.Lines(attr["message"]) {
			var done bool
			if j.cause, done = further(j.cause, line); done {
				break
			}
		}
		if j.cause == "" {
			j.cause = attr["type"]
		}
		if j.test == "" && j.depth > 0 { // of a whole suite
			j.add(j.suites[len(j.suites)-1])
		}
	case "skipped":
		j.skipped = true
	}
}

// nameOf is the class and the name. Node says "test" for a class, and has the suites
// around a test instead.
func (j *junit) nameOf(attr map[string]string) string {
	parts := []string{}
	class := attr["classname"]
	if class != "" && class != "test" {
		parts = append(parts, class)
	} else if len(j.suites) > 1 {
		parts = append(parts, j.suites[1:]...)
	}
	if name := attr["name"]; len(parts) == 0 || parts[len(parts)-1] != name {
		parts = append(parts, name)
	}
	return strings.Join(parts, " > ")
}

func (j *junit) close(name string) {
	switch name {
	case "testcase":
		if j.failed && !j.skipped {
			j.add(j.test)
		}
		j.test, j.failed = "", false
	case "testsuites", "testsuite":
		j.depth--
		if len(j.suites) > max(0, j.depth) {
			j.suites = j.suites[:max(0, j.depth)]
		}
		if j.depth <= 0 { // other output may follow
			j.on, j.open, j.depth = false, false, 0
		}
	}
}

func (j *junit) add(name string) {
	j.names.add(name)
	j.got++
	if j.head == "" {
		j.head = cutTo(named(name, j.cause), 2*longestHeadline, "")
	}
}

func (j *junit) result() outcome {
	return outcome{names: j.names, got: j.got, broken: j.open, rank: rankTest, headline: j.head}
}
