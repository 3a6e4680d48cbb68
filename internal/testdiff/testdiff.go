// Package testdiff owns what a patch does to tests: which it takes away, skips,
// focuses or weakens, so that a person can be asked before such a patch lands. It
// reads the patch alone, so it is quick and needs no language's tools; what it
// cannot know for sure it lets pass, because an alarm nobody believes helps nobody.
// It does not own how the patch is made (internal/git), whether the tests are green
// (internal/check), or what becomes of a finding (internal/policy).
package testdiff

import (
	"cmp"
	"path"
	"slices"

	"github.com/ralph-loop/ralph/internal/testdiff/language"
)

// The kinds of a finding.
const (
	Deleted  = "deleted"  // a test file is gone, or no runner looks at it under its new name
	Removed  = "removed"  // a test, or a case of one, is gone from a file that stays
	Skipped  = "skipped"  // a test is there, but does not run, or only under a condition
	Focused  = "focused"  // a test runs alone and so silences the others
	Weakened = "weakened" // a test, a threshold or a test command is there, but holds less
)

// Finding is one thing that a person must see before the patch lands.
type Finding struct {
	Path string `json:"path"`           // relative to the repository; the new name, or the old one when it is gone
	Line int    `json:"line,omitempty"` // 1-based, in the new file, or in the old one when what was found is gone; 0: the whole file
	Kind string `json:"kind"`           // Deleted, Removed, Skipped, Focused or Weakened
	What string `json:"what"`           // the test's name, or words for people
}

// Find says what a patch does to tests. The patch
// is what `git diff -M` writes, with the prefixes a/ and b/ and without colours; a
// few lines of context more than git's three make the answer better. It may be cut
// off at any byte: what is lost there is not guessed at.
//
// Findings come in the order of the patch, within a file by line. With an error,
// which says what of the patch cannot be read, they are those of the rest. No patch,
// no findings.
func Find(patch []byte) ([]Finding, error) {
	changes, err := read(patch)
	f := &finder{lexicons: map[string]*language.Lexicon{}}
	for _, c := range changes {
		f.look(c)
	}
	f.judge()
	slices.SortStableFunc(f.found, func(a, b placed) int {
		return cmp.Or(cmp.Compare(a.order, b.order), cmp.Compare(a.Line, b.Line))
	})
	var out []Finding
	for _, p := range f.found {
		out = append(out, p.Finding)
	}
	return slices.Compact(out), err
}

// IsTest reports whether the file is a test by its name or folder, as the runners
// of its language go about it. Rust's unit tests live in files that are not.
func IsTest(path string) bool {
	l := language.Of(path)
	return l != nil && l.IsTest(path)
}

// finder gathers the tests of a patch from all its files before it judges any: a
// test that is gone from one may be in another.
type finder struct {
	lexicons  map[string]*language.Lexicon // by name, and by the ending of file names: nil for none of ours
	files     []*file
	helpers   words // functions the patch adds that assert for their callers
	skippers  words // functions the patch adds that skip their callers
	moved     map[string]int
	snapshots []*change // deleted
	added     words     // base names of snapshots that the patch adds
	configs   []*change
	found     []placed
}

// placed is a finding and the file it is about, by the order of the patch.
type placed struct {
	Finding
	order int
}

func (f *finder) report(c *change, line int, kind, what string) {
	path := c.name
	if path == "" {
		path = c.old
	}
	f.found = append(f.found, placed{Finding{Path: path, Line: line, Kind: kind, What: what}, c.order})
}

// look sorts one file of the patch by what it is to tests.
func (f *finder) look(c *change) {
	switch {
	case isSnapshot(c.name) || isSnapshot(c.old):
		if c.name == "" {
			f.snapshots = append(f.snapshots, c)
		} else {
			f.added.add(base(c.name))
		}
		return
	case isConfig(c.name) || isConfig(c.old):
		f.configs = append(f.configs, c)
	}
	was, is := f.lexicon(c.old), f.lexicon(c.name)
	x := is
	if was != nil && (is == nil || was.IsTest(c.old)) {
		x = was // what it was decides: a test may hide under a new name
	}
	if x == nil || !x.Inline && !(was == x && x.IsTest(c.old)) && !(is == x && x.IsTest(c.name)) {
		return
	}
	t := &file{change: c, x: x}
	t.isTest = was == x && x.IsTest(c.old) || is == x && x.IsTest(c.name)
	t.ran, t.runs = was == x && x.Runs(c.old), is == x && x.Runs(c.name)
	t.read()
	f.files = append(f.files, t)
}

// lexicon returns the language of a file, made once for each ending.
func (f *finder) lexicon(name string) *language.Lexicon {
	ending := path.Ext(name)
	x, ok := f.lexicons[ending]
	if ok {
		return x
	}
	if l := language.Of(name); l != nil {
		if x = f.lexicons[l.Name]; x == nil {
			x = language.NewLexicon(l)
			f.lexicons[l.Name] = x
		}
	}
	f.lexicons[ending] = x
	return x
}

// judge compares what was with what is, in the whole patch.
func (f *finder) judge() {
	f.learn()
	f.pair()
	f.countMoved()
	for _, x := range f.files {
		f.compareFile(x)
	}
	f.judgeSnapshots()
	f.judgeConfigs()
}
