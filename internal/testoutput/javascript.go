package testoutput

import "strings"

// jest reads the headings that jest writes for each failed test below its file.
type jest struct {
	file     string
	files    names
	tests    names
	names    names
	counted  bool
	want     int // tests and files
	last     string
	cause    string
	expected bool
	head     string
}

func (j *jest) line(s string) {
	text := strings.TrimSpace(s)
	switch {
	case strings.HasPrefix(text, "FAIL ") && !strings.HasPrefix(s, "   "):
		j.settle()
		j.file = strings.TrimPrefix(strings.TrimSpace(text[5:]), "./")
		if i := strings.LastIndex(j.file, " ("); i > 0 && strings.HasSuffix(j.file, "s)") {
			j.file = j.file[:i]
		}
	case strings.HasPrefix(text, "PASS "):
		j.settle()
		j.file = ""
	case strings.HasPrefix(s, "  ● ") && j.file != "":
		j.heading(strings.TrimSpace(strings.TrimPrefix(text, "●")))
	case strings.HasPrefix(s, "Test Suites:"):
		j.settle()
		j.file = ""
		j.want += countOf(s, "failed")
	case strings.HasPrefix(s, "Tests:"):
		j.counted = true
		j.want += countOf(s, "failed")
	case j.last != "" && text != "":
		j.reads(text)
	}
}

func (j *jest) heading(title string) {
	j.settle()
	if title == "Console" || title == "" {
		return
	}
	j.files.once(j.file)
	name := j.file + " > " + title
	if title == "Test suite failed to run" {
		name = j.file + " [failed to run]"
	} else {
		j.tests.once(name)
	}
	j.names.once(name)
	j.last = name
}

// reads keeps why: what was expected says more than the matcher's name.
func (j *jest) reads(text string) {
	switch {
	case j.head != "":
	case j.cause == "":
		j.cause = text
	case strings.HasPrefix(text, "Expected") && strings.HasPrefix(j.cause, "expect("):
		j.cause, j.expected = text, true
	case strings.HasPrefix(text, "Received") && j.expected:
		j.cause, j.expected = j.cause+", "+text, false
	}
}

func (j *jest) settle() {
	if j.last != "" && j.head == "" {
		j.head = named(j.last, j.cause)
	}
	j.last, j.cause, j.expected = "", "", false
}

func (j *jest) result() outcome {
	j.settle()
	over := j.files.over || j.tests.over
	return outcome{
		names: j.names, got: len(j.tests.times) + len(j.files.times), want: j.want, counts: true, counted: j.counted,
		broken: over, rank: rankTest, headline: j.head,
	}
}

// vitest reads the list of what failed, on stderr, and the counts on stdout.
type vitest struct {
	names   names
	files   names
	tests   names
	want    int
	counted bool
	on      bool // inside of the list
	errors  bool
	last    string
	head    string
}

func (v *vitest) line(s string) {
	text := strings.TrimSpace(s)
	switch {
	case strings.HasPrefix(text, "⎯⎯⎯") && (strings.Contains(text, " Failed Tests ") || strings.Contains(text, " Failed Suites ")):
		v.on = true
	case strings.HasPrefix(text, "⎯⎯⎯") && strings.Contains(text, " Unhandled Error"):
		v.errors = true
		v.names.once("[unhandled errors]")
	case v.on && strings.HasPrefix(s, " FAIL ") && text != "FAIL":
		v.entry(strings.TrimSpace(text[5:]))
	case strings.HasPrefix(s, " Test Files "):
		v.on, v.want = false, v.want+countOf(s, "failed")
	case strings.HasPrefix(s, "      Tests "):
		v.counted, v.want = true, v.want+countOf(s, "failed")
	case v.last != "" && text != "":
		if v.head == "" {
			v.head = named(v.last, text)
		}
		v.last = ""
	}
}

// entry reads "src/a.test.js > box > opens", and "src/a.test.js [ src/a.test.js ]" of a
// file that could not be run.
func (v *vitest) entry(s string) {
	file, _, isTest := strings.Cut(s, " > ")
	if !isTest {
		file, _, _ = strings.Cut(s, " [ ")
		s = file + " [failed to run]"
	}
	v.files.once(file)
	if isTest {
		v.tests.once(s)
	}
	v.names.once(s)
	if v.last == "" { // one error may have several tests above it
		v.last = s
	}
}

func (v *vitest) result() outcome {
	return outcome{
		names: v.names, got: len(v.tests.times) + len(v.files.times), want: v.want, counts: true, counted: v.counted,
		broken: v.files.over || v.tests.over, rank: rankTest, headline: v.head,
	}
}

// mocha reads the numbered list at the end of its output. Titles are on lines of their
// own, each deeper than the one before, the last with a colon behind it.
type mocha struct {
	want    int
	counted bool
	on      bool
	titles  []string
	titling bool
	names   names
	got     int
	last    string
	cause   string
	head    string
}

func (m *mocha) line(s string) {
	text := strings.TrimSpace(s)
	switch {
	case strings.HasPrefix(s, "  ") && strings.HasSuffix(text, " failing") && number(text) > 0:
		m.on, m.counted = true, true
		m.want += number(text)
	case !m.on:
	case strings.HasPrefix(s, "  ") && !strings.HasPrefix(s, "   ") && number(text) > 0 && strings.Contains(text, ") "):
		_, title, _ := strings.Cut(text, ") ")
		m.titles, m.titling = []string{title}, true
		m.ends(title)
	case m.titling && text != "" && len(m.titles) < 64:
		m.titles = append(m.titles, text)
		m.ends(text)
	case m.last != "" && m.head == "":
		if cause, done := further(m.cause, text); done {
			m.head = named(m.last, cause)
		} else {
			m.cause = cause
		}
	}
}

// ends looks whether a title is the test's own. One that ends in a colon itself may be the
// name of a suite: then the rest of its titles is missing, but always in the same way.
func (m *mocha) ends(title string) {
	if !strings.HasSuffix(title, ":") {
		return
	}
	m.titling = false
	name := strings.TrimSuffix(strings.Join(m.titles, " > "), ":")
	m.names.add(name)
	m.got++
	if m.head == "" && m.last != "" { // the one before said nothing
		m.head = named(m.last, m.cause)
	}
	m.last, m.cause = name, ""
}

func (m *mocha) result() outcome {
	if m.head == "" {
		m.head = named(m.last, m.cause)
	}
	return outcome{names: m.names, got: m.got, want: m.want, counts: true, counted: m.counted, rank: rankTest, headline: m.head}
}
