// Package language owns what has to be known of a language to read its tests: which
// files are tests, how a test begins, how strings and comments are written, and the
// words of its test libraries for an assertion, a skip, a table. It does not own what
// a patch does to tests (internal/testdiff).
package language

import (
	"path"
	"slices"
	"strings"
)

// Language is what has to be known of one to find its tests. To add one, write a
// function that returns it, name that in Of, and add patches to testdata.
//
// Phrases are code as it is written, up to where it may differ. A phrase that ends
// with a letter ends a word there, unless a * follows; a $ is the end of the line. One that begins with a letter
// begins a word, and, for assertions alone, may follow a dot.
type Language struct {
	Name    string
	globs   []string // base names that its runner takes for tests
	folders []string // below which its files are tests
	strict  bool     // the runner goes by globs alone; what else is in folders only serves
	Inline  bool     // tests are also in files that are not tests
	Syntax  Syntax

	// Test returns the name of the test that a line begins. nil: attributes alone tell.
	Test func(code, text string) (string, bool)
	// attributes make a test of the function that follows.
	attributes []string
	Mark       string // the same, in a comment
	// Function returns the name of the function that a line begins.
	Function func(code string) (string, bool)

	Module    string                             // what encloses tests in a file that is no test begins so
	LeavesOut func(text string, isNew bool) bool // the line takes its file out of the runs

	skip   []string // the test does not run
	guard  []string // the test does not run under a condition
	focus  []string // the test runs alone
	assert []string // an assertion
	setup  []string // an assertion that only stops the test where nothing can be tested
	starts []string // lines that begin so are assertions
	fail   []string // fails the test; what it asserts is the condition it stands under

	exact   []string // the assertion allows one value
	Equal   []string // operators for that
	Differ  []string // operators that allow any value but one
	Negate  []string // turns what follows, or comes before, around
	Nothing []string // operators that ask for true, false or nothing
	present []string // the assertion allows any value that is there
	truth   []string // the assertion allows whatever is true, or any error

	table   []string // runs a body for each of many cases
	row     []string // begins one such case
	soft    []string // says what went wrong, or drops it, and lets the test go on
	swallow []string // lets assertions fail
}

// Of is the table of the languages, by the endings of file names. It is no
// lookup of tests: it knows files that are none. nil: none of ours.
func Of(file string) *Language {
	switch path.Ext(file) {
	case ".go":
		return golang()
	case ".js", ".jsx", ".ts", ".tsx", ".mjs", ".cjs", ".mts", ".cts", ".vue", ".svelte":
		return javascript()
	case ".py", ".pyi":
		return python()
	case ".rs":
		return rust()
	case ".java", ".kt", ".kts", ".groovy", ".scala":
		return java()
	case ".rb":
		return ruby()
	case ".php", ".phpt":
		return php()
	case ".cs", ".fs", ".vb":
		return csharp()
	case ".bats":
		return bats()
	}
	return nil
}

// IsTest reports a file that the language's runner takes for a test, by its name or its folder.
func (l *Language) IsTest(file string) bool { return l.Collects(file) || l.inFolder(file) }

// Collects reports whether the runner takes the file by its name.
func (l *Language) Collects(file string) bool {
	return slices.ContainsFunc(l.globs, func(g string) bool {
		ok, _ := path.Match(g, path.Base(file))
		return ok
	})
}

func (l *Language) inFolder(file string) bool {
	dirs := strings.Split(file, "/")
	dirs = dirs[:len(dirs)-1]
	return slices.ContainsFunc(l.folders, func(g string) bool {
		return slices.ContainsFunc(dirs, func(d string) bool {
			ok, _ := path.Match(g, d)
			return ok
		})
	})
}

// Runs reports whether a runner looks at the file.
func (l *Language) Runs(file string) bool {
	return l.Collects(file) || !l.strict && l.inFolder(file) || l.Inline
}

// Class is what a phrase means.
type Class uint32

const (
	Skip Class = 1 << iota
	Guard
	Focus
	Assert
	Setup
	Fail
	Exact
	Present
	Truth
	Table
	Row
	Soft
	Swallow
	Attribute
)

// dotted are the classes whose phrases may follow a dot: nothing else is called so.
const dotted = Assert | Setup | Exact | Present | Truth | Fail

type phrase struct {
	text  string
	word  int // where its first word begins
	whole bool
	last  bool // in its line
	class Class
}

// Lexicon is a language's phrases by their first word.
type Lexicon struct {
	*Language
	phrases map[string][]phrase
	vocab   map[string]bool // all words of all assertions: they are not what is tested
}

// NewLexicon sorts a language's phrases for look-up.
func NewLexicon(l *Language) *Lexicon {
	x := &Lexicon{Language: l, phrases: map[string][]phrase{}, vocab: map[string]bool{}}
	for _, group := range []struct {
		class Class
		texts []string
	}{
		{Skip, l.skip},
		{Guard, l.guard},
		{Focus, l.focus},
		{Assert, l.assert},
		{Assert | Setup, l.setup},
		{Fail, l.fail},
		{Exact, l.exact},
		{Present, l.present},
		{Truth, l.truth},
		{Table, l.table},
		{Row, l.row},
		{Soft, l.soft},
		{Swallow, l.swallow},
		{Attribute, l.attributes},
	} {
		for _, t := range group.texts {
			x.add(t, group.class)
		}
	}
	for _, w := range []string{"true", "True", "false", "False", "null", "nil", "None", "undefined", "not", "is", "if", "await", "return"} {
		x.vocab[w] = true
	}
	return x
}

// Asserts reports whether a word is one that assertions are written with.
func (x *Lexicon) Asserts(word string) bool { return x.vocab[word] }

func (x *Lexicon) add(text string, c Class) {
	p := phrase{class: c}
	var open bool
	p.text, p.last = strings.CutSuffix(text, "$")
	p.text, open = strings.CutSuffix(p.text, "*")
	p.whole = !open && isWord(p.text[len(p.text)-1])
	for p.word < len(p.text) && !isWord(p.text[p.word]) {
		p.word++
	}
	end := p.word
	for end < len(p.text) && isWord(p.text[end]) {
		end++
	}
	key := p.text[p.word:end]
	if open && end == len(p.text) {
		key = key[:min(3, len(key))] + "*"
	}
	x.phrases[key] = append(x.phrases[key], p)
	if c&(Assert|Fail|Exact|Present|Truth) != 0 {
		EachWord(p.text, func(at, end int) { x.vocab[p.text[at:end]] = true })
	}
}

// Classes says what a line of code has in it, and where its first assertion begins.
func (x *Lexicon) Classes(code string) (has Class, at int) {
	at = -1
	EachWord(code, func(i, end int) {
		key := code[i:end]
		c := x.match(x.phrases[key], code, i)
		if len(key) >= 3 {
			if open := x.phrases[key[:3]+"*"]; open != nil {
				c |= x.match(open, code, i)
			}
		}
		if at < 0 && c&(Assert|Fail) != 0 {
			at = i
		}
		has |= c
	})
	trimmed := strings.TrimLeft(code, " \t")
	for _, s := range x.starts {
		if strings.HasPrefix(trimmed, s) && at < 0 {
			has, at = has|Assert, len(code)-len(trimmed)
		}
	}
	return has, at
}

func (x *Lexicon) match(all []phrase, code string, word int) (has Class) {
	for _, p := range all {
		from := word - p.word
		if from < 0 || !strings.HasPrefix(code[from:], p.text) {
			continue
		}
		end := from + len(p.text)
		if p.whole && end < len(code) && isWord(code[end]) {
			continue
		}
		if p.last && strings.TrimRight(code[end:], " ;,") != "" {
			continue
		}
		if p.word == 0 && from > 0 && code[from-1] == '.' && p.class&dotted == 0 {
			continue
		}
		has |= p.class
	}
	return has
}
