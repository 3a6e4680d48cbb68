// Package lazyregexp owns regular expressions that are compiled when they are first used:
// a package variable made by New costs nothing before main, and most commands use few of
// them. It is no language of its own: expressions and methods are those of regexp.
package lazyregexp

import (
	"regexp"
	"sync"
)

// Regexp is a regexp.Regexp that is not compiled yet. Use by several goroutines is safe.
type Regexp struct {
	source string
	once   sync.Once
	re     *regexp.Regexp
}

// New is regexp.MustCompile, later: what does not compile panics at its first use. A test of
// the root package compiles all that stand in package variables.
func New(source string) *Regexp { return &Regexp{source: source} } // inlined, and so no work before main

// Get is the compiled expression, for the methods that do not stand here.
func (r *Regexp) Get() *regexp.Regexp {
	r.once.Do(func() { r.re = regexp.MustCompile(r.source) })
	return r.re
}

func (r *Regexp) String() string { return r.source }

func (r *Regexp) Match(b []byte) bool        { return r.Get().Match(b) }
func (r *Regexp) MatchString(s string) bool  { return r.Get().MatchString(s) }
func (r *Regexp) Find(b []byte) []byte       { return r.Get().Find(b) }
func (r *Regexp) FindString(s string) string { return r.Get().FindString(s) }

func (r *Regexp) FindStringIndex(s string) []int       { return r.Get().FindStringIndex(s) }
func (r *Regexp) FindStringSubmatch(s string) []string { return r.Get().FindStringSubmatch(s) }
func (r *Regexp) FindSubmatch(b []byte) [][]byte       { return r.Get().FindSubmatch(b) }

func (r *Regexp) FindStringSubmatchIndex(s string) []int { return r.Get().FindStringSubmatchIndex(s) }

func (r *Regexp) FindAllString(s string, n int) []string { return r.Get().FindAllString(s, n) }

func (r *Regexp) FindAllStringSubmatch(s string, n int) [][]string {
	return r.Get().FindAllStringSubmatch(s, n)
}

func (r *Regexp) ReplaceAllString(s, with string) string { return r.Get().ReplaceAllString(s, with) }

func (r *Regexp) ReplaceAllStringFunc(s string, f func(string) string) string {
	return r.Get().ReplaceAllStringFunc(s, f)
}
