package text

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Control is a control sequence of a terminal (ECMA-48) at the beginning of a text.
type Control struct {
	Len int // in bytes
	// Final and Params are those of a whole CSI sequence that is not private: 'm' and
	// "1;31". Final is 0 for all others.
	Final  byte
	Params []byte
}

const (
	longestControl = 256
	// longestString is how far the end of a string sequence is looked for.
	longestString = 64 << 10
)

// ControlAt is the control sequence that b begins with; Len is 0 when it begins with none. One
// that never ends takes its line and no more: text must not vanish because somebody began one.
func ControlAt(b []byte) Control {
	introducer, n := byte(0), 0
	switch {
	case len(b) > 0 && b[0] == 0x1b:
		if n = 1; len(b) > 1 {
			introducer, n = b[1], 2
		}
	case len(b) > 1 && b[0] == 0xc2 && b[1] >= 0x80 && b[1] < 0xa0: // the same as one sign
		introducer, n = b[1]-0x40, 2
	default:
		return Control{}
	}
	switch c := introducer; {
	case c == '[':
		out := csi(b[n:])
		out.Len += n
		return out
	case c == ']' || c == 'P' || c == 'X' || c == '^' || c == '_':
		return Control{Len: n + stringEnd(b[n:])}
	case c >= ' ' && c <= '/': // such as the choice of a set of signs
		for n < len(b) && b[n] >= ' ' && b[n] <= '/' {
			n++
		}
		if n < len(b) && b[n] >= '0' && b[n] <= '~' {
			n++
		}
		return Control{Len: n}
	case c >= '0' && c <= '~':
		return Control{Len: n}
	}
	return Control{Len: 1} // an ESC alone
}

// csi reads a control sequence after its CSI.
func csi(b []byte) Control {
	n := 0
	for n < min(len(b), longestControl) && b[n] >= '0' && b[n] <= '?' {
		n++
	}
	out := Control{Params: b[:n]}
	known := n == 0 || b[0] < '<' // else it is private
	for n < min(len(b), longestControl) && b[n] >= ' ' && b[n] <= '/' {
		n, known = n+1, false
	}
	if n == len(b) || b[n] < '@' || b[n] > '~' {
		return Control{Len: n} // torn
	}
	if out.Len = n + 1; known {
		out.Final = b[n]
	}
	return out
}

// stringEnd is where a string sequence (OSC, DCS, SOS, PM, APC) ends: with its terminator,
// or torn with its line.
func stringEnd(b []byte) int {
	b = b[:min(len(b), longestString)]
	for i, c := range b {
		switch {
		case c == '\n':
			return i
		case c == 0x07:
			return i + 1
		case c == 0x1b:
			if i+1 < len(b) && b[i+1] == '\\' {
				return i + 2
			}
			return i
		case c == 0x9c && i > 0 && b[i-1] == 0xc2: // not a part of another sign
			return i + 1
		}
	}
	return len(b)
}

// Plain is what a program printed without what steers a terminal: no colours, no titles,
// no moves of the cursor. Lines and tabs stay; a lone carriage return, by which progress is
// written over itself, ends a line.
func Plain(s string) string {
	if strings.IndexFunc(s, steers) < 0 {
		return s
	}
	var out bytes.Buffer
	out.Grow(len(s))
	for b := []byte(s); len(b) > 0; {
		if c := ControlAt(b); c.Len > 0 {
			b = b[c.Len:]
			continue
		}
		r, n := utf8.DecodeRune(b)
		switch {
		case r == '\r':
			if n == len(b) || b[n] != '\n' {
				out.WriteByte('\n')
			}
		case !steers(r):
			out.Write(b[:n])
		}
		b = b[n:]
	}
	return out.String()
}

func steers(r rune) bool { return r != '\n' && r != '\t' && unicode.IsControl(r) }
