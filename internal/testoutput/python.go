package testoutput

import (
	"maps"
	"slices"
	"strings"
)

// pytest reads its short summary, and the lines of -v. Names are its node IDs.
type pytest struct {
	summary bool              // inside of the short summary
	causes  map[string]string // the first line of E below a test's heading
	heading string
	failed  names
	errors  names
	order   []string
	msgs    map[string]string
	got     int
	want    int
	counted bool
}

func (p *pytest) line(s string) {
	switch {
	case strings.HasPrefix(s, "=====") || strings.HasPrefix(s, "!!!!!"):
		p.title(strings.TrimSpace(strings.Trim(s, "=!")))
	case p.summary && (strings.HasPrefix(s, "FAILED ") || strings.HasPrefix(s, "ERROR ")):
		p.entry(s)
	case strings.HasPrefix(s, "____") && strings.HasSuffix(s, "____"):
		p.heading = strings.TrimSpace(strings.Trim(s, "_"))
	case strings.HasPrefix(s, "E   ") && p.heading != "":
		p.cause(strings.TrimSpace(s[4:]))
	case p.isCount(s):
		p.count(s)
	case strings.Contains(s, "::"):
		p.verbose(s)
	}
}

func (p *pytest) title(s string) {
	p.summary = s == "short test summary info"
	p.heading = ""
	if p.isCount(s) {
		p.count(s)
	}
}

// isCount knows "1 failed, 2 passed in 0.12s".
func (p *pytest) isCount(s string) bool {
	if !strings.Contains(s, " in ") || number(s) < 0 {
		return false
	}
	_, word, _ := strings.Cut(s, " ")
	word, _, _ = strings.Cut(strings.TrimSuffix(word, ","), " ")
	switch strings.Trim(word, ",") {
	case "failed", "passed", "error", "errors", "skipped", "xfailed", "xpassed", "deselected", "warnings", "warning":
		return true
	}
	return false
}

func (p *pytest) count(s string) {
	p.summary = false
	p.counted = true
	p.want += countOf(s, "failed") + countOf(s, "error") + countOf(s, "errors")
}

// cause keeps what went wrong first below a heading, which may be "ERROR at setup of X".
func (p *pytest) cause(s string) {
	for _, before := range []string{"ERROR collecting ", "ERROR at setup of ", "ERROR at teardown of "} {
		p.heading = strings.TrimPrefix(p.heading, before)
	}
	if p.causes == nil {
		p.causes = map[string]string{}
	}
	if _, ok := p.causes[p.heading]; !ok && len(p.causes) < maxNames {
		p.causes[p.heading] = cutTo(s, longestHeadline, "")
	}
}

// entry reads "FAILED a.py::test[x - y] - why".
func (p *pytest) entry(s string) {
	kind, rest, _ := strings.Cut(s, " ")
	id, msg := rest, ""
	from := 0
	if i := strings.IndexByte(rest, '['); i >= 0 && strings.Contains(rest[:i], "::") && !strings.Contains(rest[:i], " - ") {
		if j := strings.LastIndex(rest, "] - "); j > i {
			if k := strings.Index(rest[i:], "] - "); k >= 0 {
				from = i + k
			}
		} else {
			from = len(rest)
		}
	}
	if i := strings.Index(rest[from:], " - "); i >= 0 {
		id, msg = rest[:from+i], rest[from+i+3:]
	}
	if strings.Contains(id, ": ") && !strings.Contains(id, "::") {
		return // ERROR: file or directory not found
	}
	p.add(kind, id, msg)
}

func (p *pytest) add(kind, id, msg string) {
	list := &p.failed
	if kind == "ERROR" {
		list = &p.errors
	}
	if list.once(id) {
		p.got++
	}
	if p.msgs == nil {
		p.msgs = map[string]string{}
	}
	if _, ok := p.msgs[id]; !ok && len(p.order) < maxHeld {
		p.order = append(p.order, id)
	}
	if len(p.order) <= maxNames && (msg != "" || p.msgs[id] == "") {
		p.msgs[id] = msg
	}
}

// verbose reads "a.py::test FAILED [ 10%]", and "[gw0] [ 10%] FAILED a.py::test" of xdist.
func (p *pytest) verbose(s string) {
	if strings.HasPrefix(s, "[gw") {
		for _, kind := range []string{"FAILED", "ERROR"} {
			if _, id, ok := strings.Cut(s, "] "+kind+" "); ok {
				p.add(kind, id, "")
			}
		}
		return
	}
	if !strings.HasSuffix(s, "%]") || strings.HasPrefix(s, " ") {
		return
	}
	s = strings.TrimRight(s[:strings.LastIndexByte(s, '[')], " ")
	for _, kind := range []string{"FAILED", "ERROR"} {
		if id, ok := strings.CutSuffix(s, " "+kind); ok {
			p.add(kind, id, "")
		}
	}
}

func (p *pytest) result() outcome {
	o := outcome{got: p.got, want: p.want, counts: true, counted: p.counted, rank: rankTest}
	o.names.over = p.failed.over || p.errors.over
	for _, list := range []names{p.failed, p.errors} {
		for _, name := range slices.Sorted(maps.Keys(list.times)) {
			o.names.once(name)
		}
	}
	if len(p.order) > 0 {
		id := p.order[0]
		cause := p.msgs[id]
		if full := p.causes[lastOf(id)]; full != "" && (cause == "" || strings.HasSuffix(cause, "...")) {
			cause = full
		}
		o.headline = named(id, cause)
	}
	return o
}

// lastOf is a node ID as headings write it: without its file, classes behind dots.
func lastOf(id string) string {
	if _, rest, ok := strings.Cut(id, "::"); ok {
		return strings.ReplaceAll(rest, "::", ".")
	}
	return id
}

// unittest reads Python's own test program.
type unittest struct {
	bar     bool // a line of === came before
	names   names
	got     int
	want    int
	counted bool
	last    string
	trace   bool
	cause   string
	head    string
}

func (u *unittest) line(s string) {
	if strings.HasPrefix(s, "======") && strings.Trim(s, "=") == "" {
		u.settle()
		u.bar = true
		return
	}
	bar := u.bar
	u.bar = false
	switch {
	case bar:
		for _, kind := range []string{"FAIL: ", "ERROR: ", "UNEXPECTED SUCCESS: "} {
			if name, ok := strings.CutPrefix(s, kind); ok {
				u.settle()
				u.names.add(name)
				u.got++
				u.last = name
				u.bar = strings.HasPrefix(kind, "UNEXP") // the next follows at once
			}
		}
	case strings.HasPrefix(s, "FAILED ("):
		u.settle()
		u.counted = true
		for part := range strings.SplitSeq(strings.Trim(s[len("FAILED ("):], ")"), ", ") {
			if what, n, ok := strings.Cut(part, "="); ok && (what == "failures" || what == "errors" || what == "unexpected successes") {
				u.want += max(0, number(n))
			}
		}
	case u.last == "":
	case s == "Traceback (most recent call last):":
		u.trace, u.cause = true, ""
	case u.trace && s != "" && s[0] != ' ':
		u.cause, u.trace = s, false
	}
}

func (u *unittest) settle() {
	if u.last != "" && u.head == "" {
		u.head = named(u.last, u.cause)
	}
	u.last, u.cause, u.trace = "", "", false
}

func (u *unittest) result() outcome {
	u.settle()
	return outcome{names: u.names, got: u.got, want: u.want, counted: u.counted, counts: true, rank: rankTest, headline: u.head}
}
