package testoutput

import (
	"maps"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph/internal/lazyregexp"
)

// cargo reads `cargo test` and the compiler under it. Names come from the list at the end
// of each test program: which program it is, is written to the other stream.
type cargo struct {
	list    bool // failures: with names below it
	names   names
	got     int
	want    int
	counted bool
	section string // ---- name stdout ----
	panics  bool   // the next line is the cause
	cause   string
	head    string
	builds  names
	error   string // error[E0425]: ...
	build   string // with its place
}

var rustLine = lazyregexp.New(` \(line \d+\)`) // of a doc test: it moves with each change

func (c *cargo) line(s string) {
	switch {
	case s == "failures:":
		c.settle()
		c.list = true
	case strings.HasPrefix(s, "---- ") && strings.HasSuffix(s, " stdout ----"):
		c.settle()
		c.list = false
		c.section = strings.TrimSuffix(strings.TrimPrefix(s, "---- "), " stdout ----")
	case strings.HasPrefix(s, "test result: "):
		c.settle()
		c.list, c.counted = false, true
		c.want += countOf(s, "failed")
	case c.list && strings.HasPrefix(s, "    "):
		name := rustLine.ReplaceAllString(s[4:], "")
		c.names.add(name)
		if c.got++; c.head == "" {
			c.head = name
		}
	case c.section != "":
		c.reads(s)
	default:
		c.compiler(s)
	}
}

// reads keeps why a test failed: what stands below "panicked at", or its first line.
func (c *cargo) reads(s string) {
	switch {
	case c.panics:
		c.cause, c.panics = s, false
	case strings.HasPrefix(s, "thread '") && strings.HasSuffix(s, ":"):
		c.panics = true
	case strings.HasPrefix(s, "  left: "), strings.HasPrefix(s, " right: "):
		c.cause = cutTo(c.cause+", "+strings.TrimSpace(s), longestHeadline, "")
	case c.cause == "":
		c.cause = s
	}
}

func (c *cargo) settle() {
	if c.section != "" && c.head == "" {
		c.head = named(rustLine.ReplaceAllString(c.section, ""), c.cause)
	}
	c.section, c.cause, c.panics = "", "", false
}

func (c *cargo) compiler(s string) {
	switch {
	case strings.HasPrefix(s, "error: could not compile `"):
		crate, what, _ := strings.Cut(strings.TrimPrefix(s, "error: could not compile `"), "`")
		if strings.Contains(what, " test)") || strings.HasPrefix(what, " (test ") { // not for cargo build, nor clippy
			c.builds.once(crate + " [build failed]")
		}
	case c.build != "":
	case strings.HasPrefix(s, "error[E"), strings.HasPrefix(s, "error: "):
		c.error = s
	case c.error != "" && strings.HasPrefix(strings.TrimSpace(s), "--> "):
		c.build = strings.TrimPrefix(strings.TrimSpace(s), "--> ") + ": " + c.error
	}
}

func (c *cargo) result() outcome {
	c.settle()
	o := outcome{names: c.names, got: c.got, want: c.want, counts: true, counted: c.counted, rank: rankTest, headline: c.head}
	for _, name := range slices.Sorted(maps.Keys(c.builds.times)) {
		o.names.add(name)
	}
	if c.build != "" {
		o.rank, o.headline = rankBuild, c.build
	}
	return o
}
