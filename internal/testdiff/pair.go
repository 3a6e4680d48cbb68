package testdiff

import (
	"strings"

	"github.com/ralph-loop/ralph/internal/testdiff/language"
)

// What counts as the same test under another name.
const (
	mostlySame = 0.5  // of its lines
	alike      = 0.75 // of its words, in the same file
	mostlyIn   = 0.6  // of its lines are in another test
	wordsIn    = 0.8  // of its words are in a table
)

// pair finds for each test what has become of it: first in its file, then anywhere
// in the patch by its name, then by its body.
func (f *finder) pair() {
	for _, x := range f.files {
		pairOutside(x)
		pairNamed(x)
	}
	f.pairMoved()
	f.pairInPlace()
	f.pairRenamed()
	for _, x := range f.files {
		joinRest(x)
	}
}

func marry(o, n *test) { o.mate, n.mate = n, o }

// pairOutside pairs what is around the tests, hunk by hunk.
func pairOutside(x *file) {
	var before []*test
	for _, t := range x.before {
		if t.outside {
			before = append(before, t)
		}
	}
	for _, t := range x.after {
		if t.outside {
			marry(before[0], t)
			before = before[1:]
		}
	}
}

// pairNamed pairs tests of the same name in one file. Where there are several, as
// below several describes, those with the most lines in common belong together.
func pairNamed(x *file) {
	named := map[string][]*test{}
	for _, t := range x.after {
		if !t.outside {
			named[t.name] = append(named[t.name], t)
		}
	}
	for _, o := range x.before {
		if o.outside {
			continue
		}
		var best *test
		most := -1
		for _, n := range named[o.name] {
			if o.gone() && n.declared == 0 {
				o.rest = n
				continue
			}
			if n.mate != nil {
				continue
			}
			common := 0
			if len(named[o.name]) > 1 {
				mine := o.body()
				common = mine.shared(n.body())
			}
			if common > most {
				best, most = n, common
			}
		}
		if best != nil {
			marry(o, best)
		}
	}
}

// gone reports whether the patch takes the head of the test, or what makes it one.
func (t *test) gone() bool { return t.declared > 0 && t.edited && !t.outside }

// lonely lists the tests that are gone, or new, and have no mate yet.
func (f *finder) lonely() (before, after []*test) {
	for _, x := range f.files {
		for _, t := range x.before {
			if t.mate == nil && t.gone() {
				before = append(before, t)
			}
		}
		for _, t := range x.after {
			if t.mate == nil && t.gone() && x.lives() {
				after = append(after, t)
			}
		}
	}
	return before, after
}

// lives reports whether what is in the file now is run as much as what was in it.
func (f *file) lives() bool {
	return f.runs || f.isTest && !f.ran && f.old != "" && f.name != ""
}

func (f *finder) pairMoved() {
	before, after := f.lonely()
	named := map[string][]*test{}
	for _, n := range after {
		named[n.name] = append(named[n.name], n)
	}
	for _, o := range before {
		if all := named[o.name]; len(all) > 0 {
			marry(o, all[0])
			named[o.name] = all[1:]
		}
	}
}

// pairInPlace pairs heads that take each other's place above a body that stays.
func (f *finder) pairInPlace() {
	type place struct {
		file *file
		run  int
	}
	before, after := f.lonely()
	at := map[place][]*test{}
	for _, n := range after {
		if run, ok := n.above(); ok {
			p := place{n.file, run}
			at[p] = append(at[p], n)
		}
	}
	for _, o := range before {
		if run, ok := o.above(); ok {
			if n := at[place{o.file, run}]; len(n) == 1 && n[0].mate == nil {
				marry(o, n[0])
			}
		}
	}
}

// above returns the run of changes that a test's head is in, if the body below it
// stays as it is.
func (t *test) above() (run int, ok bool) {
	for i, l := range t.lines {
		if l.number == t.declared && l.changed {
			for _, next := range t.lines[i+1:] {
				if next.indent >= 0 {
					return l.run, !next.changed
				}
			}
		}
	}
	return 0, false
}

// pairRenamed pairs what is gone with what is new and mostly the same. What is left
// may have become a part of another test, or rows of a table.
func (f *finder) pairRenamed() {
	before, after := f.lonely()
	byLine := map[string][]*test{}
	for _, n := range after {
		body := n.body()
		for _, l := range body.list {
			byLine[l] = append(byLine[l], n)
		}
	}
	for _, o := range before {
		if n := resembling(o, byLine); n != nil {
			marry(o, n)
		} else if n := worded(o, after); n != nil {
			marry(o, n)
		}
	}
	before, _ = f.lonely()
	if len(before) == 0 {
		return
	}
	g := f.growth()
	for _, o := range before {
		o.absorbed = g.tookLines(o) || g.tookRows(o)
	}
}

// resembling finds the lonely new test with the most lines of o, the first of equals.
func resembling(o *test, byLine map[string][]*test) (best *test) {
	var body, rest words
	mine := o.body()
	if o.rest != nil {
		rest = o.rest.body()
	}
	for _, l := range mine.list {
		if !rest.has(l) {
			body.add(l)
		}
	}
	count := map[*test]int{}
	var met []*test
	for _, l := range body.list {
		for _, n := range byLine[l] {
			if count[n]++; count[n] == 1 {
				met = append(met, n)
			}
		}
	}
	for _, n := range met {
		theirs := n.body()
		enough := float64(count[n]) >= mostlySame*float64(max(body.size(), theirs.size()))
		if n.mate == nil && enough && (best == nil || count[n] > count[best]) {
			best = n
		}
	}
	return best
}

// worded finds a lonely new test of the same file with nearly the same words: a short
// test that is renamed and tried with other inputs has no line left.
func worded(o *test, after []*test) *test {
	const most = 200 // words to look at
	mine := o.words()
	if mine.size() < 4 || mine.size() > most {
		return nil
	}
	for _, n := range after {
		if n.mate != nil || n.file != o.file {
			continue
		}
		theirs := n.words()
		common := float64(mine.shared(theirs))
		if 2*common >= alike*float64(mine.size()+theirs.size()) {
			return n
		}
		grown := len(n.asserts()) >= len(o.asserts()) && strings.HasPrefix(n.name, o.name)
		if grown && common >= wordsIn*float64(mine.size()) {
			return n
		}
	}
	return nil
}

// joinRest gives lines that only a hunk's heading ascribes to a test to what this
// test has become, since headings bear the names of before.
func joinRest(x *file) {
	for _, n := range x.after {
		if n.mate != nil || n.declared > 0 {
			continue
		}
		for _, o := range x.before {
			if o.name == n.name && o.mate != nil && !o.outside {
				o.mate.lines, o.mate.read = append(o.mate.lines, n.lines...), false
				n.lines = nil
				break
			}
		}
	}
}

func (t *test) has(c language.Class) bool {
	for _, l := range t.lines {
		if l.has&c != 0 {
			return true
		}
	}
	return false
}

// body is the lines of a test that tell something, without its head and what is
// above that.
func (t *test) body() words {
	if !t.bodied {
		t.bodied = true
		for _, l := range t.lines {
			if l.number <= t.declared {
				continue
			}
			if s := squeeze(l.code, l.text); telling(s) {
				t.bodyWords.add(s)
			}
		}
	}
	return t.bodyWords
}

// telling reports whether a line is more than brackets and a word.
func telling(line string) bool {
	n := 0
	language.EachWord(line, func(int, int) { n++ })
	return n > 1
}

// words is what a test is about, without its head.
func (t *test) words() words {
	if !t.worded {
		t.worded = true
		for _, l := range t.lines {
			if l.number > t.declared {
				collect(t.file.x, &t.allWords, l.code, l.text)
			}
		}
	}
	return t.allWords
}
