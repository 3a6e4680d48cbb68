package ralph

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Plain is what a program printed without what steers a terminal: no colours, no titles,
// no moves of the cursor. Lines and tabs stay; a lone carriage return, by which progress is
// written over itself, ends a line.
func Plain(s string) string {
	if strings.IndexFunc(s, func(r rune) bool { return r != '\n' && r != '\t' && unicode.IsControl(r) }) < 0 {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case r == 0x1b || r == 0x9b:
			s = s[escapeLen(s, r, n):]
			continue
		case r == '\r':
			if !strings.HasPrefix(s, "\r\n") {
				b.WriteByte('\n')
			}
		case r == '\n' || r == '\t' || !unicode.IsControl(r):
			b.WriteString(s[:n])
		}
		s = s[n:]
	}
	return b.String()
}

// escapeLen is how long the control sequence at the start of s is (ECMA-48). One that never
// ends takes its line and no more, so that it cannot swallow what follows.
func escapeLen(s string, first rune, n int) int {
	kind := byte('[')
	if first == 0x1b {
		if len(s) == n {
			return n
		}
		kind = s[n]
		n++
	}
	switch kind {
	case '[':
		for ; n < len(s); n++ {
			if c := s[n]; c >= 0x40 && c <= 0x7e {
				return n + 1
			} else if c < 0x20 || c > 0x7e {
				return n
			}
		}
	case ']', 'P', 'X', '^', '_': // strings, up to BEL or ESC \
		for ; n < len(s); n++ {
			switch {
			case s[n] == '\n':
				return n
			case s[n] == 0x07:
				return n + 1
			case s[n] == 0x1b:
				return min(n+2, len(s))
			}
		}
	default:
		if kind < 0x20 || kind > 0x7e {
			return n - 1
		}
		for kind <= 0x2f && n < len(s) && s[n] >= 0x20 && s[n] <= 0x7e {
			kind = s[n]
			n++
		}
	}
	return n
}
