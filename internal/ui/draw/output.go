package draw

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/ralph-loop/ralph/internal/text"
)

// maxLine bounds how much of one line is kept, in bytes.
const maxLine = 4 << 10

// Output reads what programs print as lines. Their colours stay, as far as they are the 16
// that every terminal has; whatever else steers a terminal is left out, and a line that was
// written over itself is what stood there at last.
type Output struct {
	now  Style
	base Style
}

// In gives all that has no colour of its own a style.
func (o *Output) In(base Style) *Output {
	o.base = base
	return o
}

// Line is one line of a program, without its line end.
func (o *Output) Line(b []byte) Line {
	b = bytes.TrimRight(b, "\r")
	if i := bytes.LastIndexByte(b, '\r'); i >= 0 {
		b = b[i+1:]
	}
	more := len(b) > maxLine
	if more {
		b = text.Head(b, maxLine)
	}
	var out Line
	var words strings.Builder
	flush := func() {
		if words.Len() > 0 {
			out = append(out, Span{o.style(), words.String()})
			words.Reset()
		}
	}
	column := 0
	for len(b) > 0 {
		if n := asIs(b); n > 0 { // nearly all of nearly every line
			if words.Len() == 0 {
				words.Grow(n)
			}
			words.Write(b[:n])
			column += n
			b = b[n:]
			continue
		}
		if b[0] == 0x1b || b[0] == 0xc2 {
			if c := text.ControlAt(b); c.Len > 0 {
				if c.Final == 'm' {
					flush()
					o.set(c.Params)
				}
				b = b[c.Len:]
				continue
			}
		}
		r, n := utf8.DecodeRune(b)
		switch {
		case r == '\t':
			n := 8 - column%8
			words.WriteString(strings.Repeat(" ", n))
			column += n
		case r == '\b', r == '\a':
		default:
			s := Safe(string(b[:n]))
			words.WriteString(s)
			column += Width(s)
		}
		b = b[n:]
	}
	flush()
	if more {
		out = append(out, Span{Dim, text.Mark})
	}
	return out
}

// asIs is how many signs at the beginning are one byte and one column each, and steer nothing.
func asIs(b []byte) int {
	n := 0
	for n < len(b) && b[n] >= ' ' && b[n] < 0x7f {
		n++
	}
	return n
}

func (o *Output) style() Style {
	if o.now&tone == Plain {
		return o.now | o.base
	}
	return o.now
}

// set follows a program's choice of colours.
func (o *Output) set(params []byte) {
	if len(params) == 0 {
		o.now = Plain
		return
	}
	codes := strings.FieldsFunc(string(params), func(r rune) bool { return r == ';' || r == ':' })
	for i := 0; i < len(codes); i++ {
		n, err := strconv.Atoi(codes[i])
		if err != nil {
			continue
		}
		switch {
		case n == 0:
			o.now = Plain
		case n == 1:
			o.now |= Bold
		case n == 2:
			o.now |= Faint
		case n == 4:
			o.now |= Underlined
		case n == 22:
			o.now &^= Bold | Faint
		case n == 24:
			o.now &^= Underlined
		case n >= 30 && n <= 37:
			o.now = o.now&^tone | Color(n-30)
		case n >= 90 && n <= 97:
			o.now = o.now&^tone | Color(n-90+8)
		case n == 39:
			o.now &^= tone
		case n == 38 || n == 48:
			var style Style
			style, i = extended(codes, i)
			if n == 38 && style != Plain {
				o.now = o.now&^tone | style
			}
		}
	}
}

// extended reads a colour of 256 or of all: one of the 16 is kept, others are not. It returns
// where the colour ends.
func extended(codes []string, i int) (Style, int) {
	if i+1 >= len(codes) {
		return Plain, i
	}
	switch codes[i+1] {
	case "5":
		if i+2 < len(codes) {
			if n, err := strconv.Atoi(codes[i+2]); err == nil && n < 16 {
				return Color(n), i + 2
			}
		}
		return Plain, i + 2
	case "2":
		return Plain, i + 4
	}
	return Plain, i
}

// Lines are all lines of what a program printed.
func Lines(b []byte) []Line {
	var o Output
	var out []Line
	for l := range bytes.Lines(b) {
		out = append(out, o.Line(bytes.TrimRight(l, "\n")))
	}
	return out
}

// Patch are the lines of a unified diff in their colours.
func Patch(b []byte) []Line {
	var out []Line
	inHunk := false // what looks like the name of a file may be a line of one
	for l := range bytes.Lines(b) {
		words := string(text.Head(bytes.TrimRight(l, "\r\n"), maxLine))
		s := Dim
		switch first := words[:min(1, len(words))]; {
		case strings.HasPrefix(words, "diff --git "):
			if len(out) > 0 {
				out = append(out, nil)
			}
			s, inHunk = Strong, false
		case strings.HasPrefix(words, "@@"):
			s, inHunk = Hunk, true
		case inHunk && first == "+":
			s = Added
		case inHunk && first == "-":
			s = Removed
		case inHunk:
			s = Plain
		}
		out = append(out, As(s, words))
	}
	return out
}

// Conflict are the lines of a file with both sides of a conflict between git's marks, each side
// in its colour.
func Conflict(b []byte) []Line {
	var out []Line
	side := Plain
	for l := range bytes.Lines(b) {
		words := string(text.Head(bytes.TrimRight(l, "\r\n"), maxLine))
		s := side
		switch {
		case strings.HasPrefix(words, "<<<<<<<"):
			s, side = Hunk, Removed
		case strings.HasPrefix(words, "|||||||"):
			s, side = Hunk, Dim
		case strings.HasPrefix(words, "=======") && side != Plain:
			s, side = Hunk, Added
		case strings.HasPrefix(words, ">>>>>>>"):
			s, side = Hunk, Plain
		}
		out = append(out, As(s, words))
	}
	return out
}
