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
	"strings"
	"unicode"
	"unicode/utf8"
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

// zeroWidthJoiner holds pictures together that are one to people.
const zeroWidthJoiner = '\u200d'

// escape is how a sign is written that must not be seen as itself, as report.Visible
// writes it; "" for all others.
func escape(r rune) string {
	switch {
	case r >= ' ' && r < 0x7f, r == '\n', r == '\t', r == zeroWidthJoiner:
		return ""
	case unicode.IsControl(r) && r < 0x80:
		return fmt.Sprintf(`\x%02x`, r)
	case unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp):
		return fmt.Sprintf(`\u%04x`, r)
	}
	return ""
}

// visible is a text with its hidden signs written as escapes and its bad bytes replaced.
func visible(s string) string {
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\r\n", "\n")
	if strings.IndexFunc(s, func(r rune) bool { return escape(r) != "" }) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if e := escape(r); e != "" {
			b.WriteString(e)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// cut is the beginning of a text of at most n bytes, without half a sign at its end.
func cut(text []byte, n int) []byte {
	if len(text) <= n {
		return text
	}
	for n > 0 && len(text)-n < utf8.UTFMax && !utf8.RuneStart(text[n]) {
		n--
	}
	for i := 0; i < utf8.UTFMax && n > 0 && !utf8.RuneStart(text[n]); i++ {
		n--
	}
	return text[:n]
}

// Plain is a text as HTML that looks like it.
func Plain(text []byte) string { return html.EscapeString(visible(string(text))) }

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
