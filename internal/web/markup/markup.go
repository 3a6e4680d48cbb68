// Package markup owns how text of others becomes HTML: what agents print, the markdown
// of specs, code, patches. Whoever wrote it may mean harm, so nothing but what this
// package writes itself is ever markup: the rest is escaped, and what steers a terminal,
// turns the direction of writing or cannot be seen is written as an escape. Where it
// stands on a page, and in which colours, is internal/web/view's and the style sheets'.
package markup

import (
	"bytes"
	"fmt"
	"html"
)

// Limits bound what is made of a text; zero is the value of DefaultLimits.
type Limits struct {
	Bytes     int // of the whole text
	Lines     int // of output; of one file of a patch
	LineBytes int // of one line
	Files     int // of a patch
}

// DefaultLimits are what a page can carry.
func DefaultLimits() Limits {
	return Limits{Bytes: 1 << 20, Lines: 2000, LineBytes: 4096, Files: 200}
}

func (l Limits) orDefault() Limits {
	d := DefaultLimits()
	if l.Bytes <= 0 {
		l.Bytes = d.Bytes
	}
	if l.Lines <= 0 {
		l.Lines = d.Lines
	}
	if l.LineBytes <= 0 {
		l.LineBytes = d.LineBytes
	}
	if l.Files <= 0 {
		l.Files = d.Files
	}
	return l
}

// note is a remark of ours among the text of others.
func note(text string) string {
	return `<span class="m-note">` + html.EscapeString(text) + `</span>`
}

// size writes a number of bytes for people.
func size(n int) string {
	switch {
	case n >= 10<<20:
		return fmt.Sprintf("%d MiB", n>>20)
	case n >= 10<<10:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d bytes", n)
}

// lineCount is how many lines a text has.
func lineCount(text []byte) int {
	n := bytes.Count(text, []byte("\n"))
	if len(text) > 0 && text[len(text)-1] != '\n' {
		n++
	}
	return n
}
