package testoutput

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph/internal/lazyregexp"
)

// goTest reads `go test`, plain and with -json, and the compiler and vet under it. Names
// are the package with the test behind a dot; a test that failed by its subtests alone is
// not named beside them.
type goTest struct {
	plain    *goPackage
	packages map[string]*goPackage // of -json, where packages run beside each other
	names    names
	got      int
	head     string
	untested string // the first package that was not tested at all
	building bool   // below the compiler's line about a package
	build    string
	over     bool
}

// goPackage is what is known of one package's tests while they run.
type goPackage struct {
	failed  []string
	running string            // the test that lines belong to
	causes  map[string]string // why, by test
	strong  map[string]bool   // the cause reads like one
	failure string            // the test of it whose testify block is being read
	crash   string            // panic, timed out
	panic   string            // the line that says so
	who     string            // whose panic it is
	listing bool              // of the tests that ran when the time was over
	closed  bool
}

func newGoTest() *goTest { return &goTest{plain: newGoPackage()} }

func newGoPackage() *goPackage {
	return &goPackage{causes: map[string]string{}, strong: map[string]bool{}}
}

var (
	goFail    = lazyregexp.New(`^( *)((?:.*\S)?)--- (FAIL|PASS|SKIP): (\S+)(?: \([0-9.]+s\))?$`)
	goMessage = lazyregexp.New(`^\s+\S+\.go:\d+: ?(.*)$`)
	goHeader  = lazyregexp.New(`^# (\S+( \[\S+\])?|\[\S+\])$`)
	goPlace   = lazyregexp.New(`^(?:vet: )?\S+\.go:\d+(:\d+)?: `)
	goCause   = lazyregexp.New(`(?i)want|got|expect|unexpected|error|fail|panic|cannot|mismatch|not equal|timed? ?out`)
)

// goEvent is a line of `go test -json`.
type goEvent struct {
	Action, Package, Test, Output string
}

func (g *goTest) line(s string) {
	if strings.HasPrefix(s, "{") && strings.Contains(s, `"Action":"`) {
		var e goEvent
		if json.Unmarshal([]byte(s), &e) == nil && e.Action != "" {
			g.event(e)
			return
		}
	}
	g.read(g.plain, s)
}

func (g *goTest) event(e goEvent) {
	out := strings.TrimRight(e.Output, " \t\r\n")
	if e.Action == "build-output" {
		g.compiler(out)
		return
	}
	p := g.packages[e.Package]
	if p == nil {
		if g.packages == nil {
			g.packages = map[string]*goPackage{}
		}
		if len(g.packages) >= maxHeld {
			g.over = true
			return
		}
		p = newGoPackage()
		g.packages[e.Package] = p
	}
	switch {
	case e.Action == "output":
		if e.Test != "" {
			p.running = e.Test
		}
		g.read(p, out)
	case e.Action == "fail" && e.Test != "":
		p.fail(e.Test)
	case e.Action == "fail" && !p.closed:
		g.end(p, e.Package, "failed")
	}
	if e.Test == "" && (e.Action == "fail" || e.Action == "pass" || e.Action == "skip") {
		delete(g.packages, e.Package)
	}
}

// read is one line of a package's tests, or about it.
func (g *goTest) read(p *goPackage, s string) {
	g.compiler(s)
	switch {
	case strings.HasPrefix(s, "=== "):
		if f := strings.Fields(s); len(f) > 2 {
			p.running = f[2]
		}
	case strings.HasPrefix(s, "FAIL\t"):
		g.ended(p, strings.Split(s, "\t"))
	case strings.HasPrefix(s, "ok  \t"):
		*p = *newGoPackage()
	case strings.HasPrefix(s, "panic: "), strings.HasPrefix(s, "fatal error: "):
		p.crashed(s)
	case p.crash == "timed out" && strings.TrimSpace(s) == "running tests:":
		p.listing = true
	case p.listing:
		if f := strings.Fields(s); len(f) == 2 && strings.HasPrefix(s, "\t\t") {
			p.fail(f[0])
			p.who = f[0]
		} else {
			p.listing = false
		}
	case strings.Contains(s, "--- "):
		g.verdict(p, s)
	default:
		p.message(s)
	}
}

// verdict reads "--- FAIL: TestX (0.00s)". What a test printed without a line end stands
// before it; deeper than its subtests go, it is the log of another run.
func (g *goTest) verdict(p *goPackage, s string) {
	m := goFail.FindStringSubmatch(s)
	if m == nil || m[2] == "" && len(m[1]) > 4*strings.Count(m[4], "/") {
		p.message(s)
		return
	}
	if p.running = m[4]; m[3] == "FAIL" {
		p.fail(m[4])
		return
	}
	delete(p.causes, m[4])
}

func (p *goPackage) fail(test string) {
	if len(p.failed) < maxHeld {
		p.failed = append(p.failed, test)
	}
}

func (p *goPackage) crashed(s string) {
	if p.crash != "" {
		return
	}
	p.crash, p.panic, p.who = "panic", s, p.running
	if strings.HasPrefix(s, "panic: test timed out") {
		p.crash, p.who = "timed out", ""
	}
}

// message keeps why a test failed: the first line that reads like it, or else the last.
func (p *goPackage) message(s string) {
	if p.failure != "" {
		p.testify(strings.TrimSpace(s))
		return
	}
	if p.running == "" || p.strong[p.running] || !strings.Contains(s, ".go:") {
		return
	}
	m := goMessage.FindStringSubmatch(s)
	if m == nil {
		return
	}
	if len(p.causes) >= maxNames && p.causes[p.running] == "" {
		return
	}
	if m[1] == "" { // testify writes its own block below
		p.failure = p.running
		return
	}
	p.causes[p.running] = cutTo(m[1], longestHeadline, "")
	if goCause.MatchString(m[1]) {
		p.strong[p.running] = true
	}
}

// testify reads the block that testify writes about an assertion.
func (p *goPackage) testify(s string) {
	switch word, rest, _ := strings.Cut(s, ":"); word {
	case "Error Trace":
	case "Error":
		p.causes[p.failure], p.strong[p.failure] = cutTo(strings.TrimSpace(rest), longestHeadline, ""), true
	case "expected", "actual  ", "actual":
		p.causes[p.failure] = cutTo(p.causes[p.failure]+" "+strings.TrimSpace(word)+": "+strings.TrimSpace(rest), longestHeadline, "")
	default:
		if strings.HasPrefix(s, "Test:") || s == "" || p.strong[p.failure] {
			p.failure = ""
		}
	}
}

// ended reads "FAIL\tpackage\t0.01s" and "FAIL\tpackage [build failed]".
func (g *goTest) ended(p *goPackage, f []string) {
	pkg, note, ok := strings.Cut(f[1], " [")
	if ok {
		g.got++
		g.names.once(pkg + " [" + note)
		if g.untested == "" {
			g.untested = pkg + " [" + note
		}
		p.closed = true
		return
	}
	g.end(p, pkg, "failed")
}

// end names what failed in a package. Where none of its tests did, or not all of them ran,
// the package itself is named too.
func (g *goTest) end(p *goPackage, pkg, otherwise string) {
	list := leaves(p.failed)
	prefix := ""
	if pkg != "" {
		prefix = pkg + "."
	}
	for _, test := range list {
		g.names.once(prefix + test)
	}
	switch {
	case pkg == "":
	case p.crash != "":
		g.names.once(pkg + " [" + p.crash + "]")
	case len(list) == 0:
		g.names.once(pkg + " [" + otherwise + "]")
	}
	g.got++
	g.over = g.over || len(p.failed) >= maxHeld
	g.headline(p.headline(list, pkg))
	*p = *newGoPackage()
	p.closed = true
}

func (g *goTest) headline(s string) {
	if g.head == "" {
		g.head = s
	}
}

func (p *goPackage) headline(list []string, pkg string) string {
	if p.panic != "" {
		who := p.who
		if who == "" {
			who = pkg
		}
		if who == "" { // a program, not a test
			return p.panic
		}
		return named(who, p.panic)
	}
	for _, test := range list {
		if p.causes[test] != "" {
			return named(test, p.causes[test])
		}
	}
	if len(list) > 0 {
		return list[0]
	}
	return pkg + " failed"
}

// leaves are tests without those that have failed by a subtest.
func leaves(failed []string) []string {
	parents := map[string]bool{}
	for _, test := range failed {
		for i, c := range test {
			if c == '/' {
				parents[test[:i]] = true
			}
		}
	}
	var list []string
	seen := map[string]bool{}
	for _, test := range failed {
		if !parents[test] && !seen[test] {
			list = append(list, test)
		}
		seen[test] = true
	}
	return list
}

// compiler keeps the first error below the go tool's line about a package.
func (g *goTest) compiler(s string) {
	switch {
	case strings.HasPrefix(s, "# ") && goHeader.MatchString(s):
		g.building = true
	case g.building && goPlace.MatchString(s):
		if g.build == "" {
			g.build = strings.TrimPrefix(s, "vet: ")
		}
	default:
		g.building = false
	}
}

func (g *goTest) result() outcome {
	for _, pkg := range slices.Sorted(maps.Keys(g.packages)) { // the run was cut
		if p := g.packages[pkg]; len(p.failed) > 0 {
			g.end(p, pkg, "failed")
			g.over = true
		}
	}
	if len(g.plain.failed) > 0 || g.plain.crash != "" { // a test program by itself, without the go tool
		g.end(g.plain, "", "")
	}
	o := outcome{names: g.names, got: g.got, broken: g.over, rank: rankTest, headline: g.head}
	if g.head == "" {
		o.rank, o.headline = rankPackage, g.untested
	}
	if g.build != "" {
		o.rank, o.headline = rankBuild, g.build
	}
	return o
}
