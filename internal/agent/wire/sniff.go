package wire

import (
	"bytes"
	"encoding/json"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/ralph-loop/ralph/internal/text"
)

// This file reads JSON by looking only at what is needed. An agent prints
// hundreds of thousands of events of which a few members matter; decoding each
// in full costs ten times as much as cutting the lines. The functions are right
// for every valid JSON value (fuzzed against encoding/json). They do not prove
// that one is valid, and on what is not they stop early, never out of bounds.

// EachMember calls yield for each member of the JSON object b, in order; key is
// without quotes, value a whole JSON value within b. It reports whether b was
// an object read to its end.
func EachMember(b []byte, yield func(key, value []byte)) bool {
	i := skipSpace(b, 0)
	if i >= len(b) || b[i] != '{' {
		return false
	}
	if i = skipSpace(b, i+1); i < len(b) && b[i] == '}' {
		return true
	}
	for i < len(b) && b[i] == '"' {
		end := skipString(b, i)
		if end < 0 {
			return false
		}
		key := b[i+1 : end-1]
		if bytes.IndexByte(key, '\\') >= 0 {
			key = appendUnquoted(nil, key)
		}
		if i = skipSpace(b, end); i >= len(b) || b[i] != ':' {
			return false
		}
		from := skipSpace(b, i+1)
		if end = skipValue(b, from); end < 0 {
			return false
		}
		yield(key, b[from:end])
		if i = skipSpace(b, end); i >= len(b) || b[i] != ',' {
			return i < len(b) && b[i] == '}'
		}
		i = skipSpace(b, i+1)
	}
	return false
}

// EachElement calls yield for each element of the JSON array b; it reports
// whether b was an array read to its end.
func EachElement(b []byte, yield func(value []byte)) bool {
	i := skipSpace(b, 0)
	if i >= len(b) || b[i] != '[' {
		return false
	}
	if i = skipSpace(b, i+1); i < len(b) && b[i] == ']' {
		return true
	}
	for i < len(b) {
		end := skipValue(b, i)
		if end < 0 {
			return false
		}
		yield(b[i:end])
		if i = skipSpace(b, end); i >= len(b) || b[i] != ',' {
			return i < len(b) && b[i] == ']'
		}
		i = skipSpace(b, i+1)
	}
	return false
}

func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\n' || b[i] == '\r') {
		i++
	}
	return i
}

// skipString returns the index after the string that begins at b[i], -1 when it
// has no end.
func skipString(b []byte, i int) int {
	from := i + 1
	for at := from; ; {
		q := bytes.IndexByte(b[at:], '"')
		if q < 0 {
			return -1
		}
		at += q
		slashes := 0
		for at-slashes > from && b[at-slashes-1] == '\\' {
			slashes++
		}
		at++
		if slashes%2 == 0 {
			return at
		}
	}
}

// skipValue returns the index after the value that begins at b[i], -1 when it
// has no end.
func skipValue(b []byte, i int) int {
	if i >= len(b) {
		return -1
	}
	switch b[i] {
	case '"':
		return skipString(b, i)
	case '{', '[':
		return skipNested(b, i)
	}
	from := i
	for i < len(b) && b[i] != ',' && b[i] != '}' && b[i] != ']' && b[i] > ' ' {
		i++
	}
	if i == from {
		return -1
	}
	return i
}

func skipNested(b []byte, i int) int {
	for depth := 0; i < len(b); {
		switch b[i] {
		case '"':
			if i = skipString(b, i); i < 0 {
				return -1
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
		i++
	}
	return -1
}

// Text returns the string that the JSON value v is, "" when it is none.
func Text(v []byte) string {
	if len(v) < 2 || v[0] != '"' {
		return ""
	}
	v = v[1 : len(v)-1]
	if bytes.IndexByte(v, '\\') < 0 {
		return Valid(v)
	}
	return Valid(appendUnquoted(nil, v))
}

// StartOf returns about the first max bytes of the string that the JSON value v
// is, without reading the rest of it.
func StartOf(v []byte, max int) string {
	if len(v) < 2 || v[0] != '"' || len(v) <= max {
		return Text(v)
	}
	v = v[1:max]
	// An escape must not be cut: the longest is a surrogate pair, 12 bytes.
	if i := bytes.LastIndexByte(v[len(v)-12:], '\\'); i >= 0 {
		v = v[:len(v)-12+i]
		for len(v) > 0 && v[len(v)-1] == '\\' {
			v = v[:len(v)-1]
		}
	}
	v = v[:RuneCut(v)]
	return Valid(appendUnquoted(nil, v)) + "…"
}

// appendUnquoted appends the inside of a JSON string with its escapes undone;
// broken ones become U+FFFD as with encoding/json.
func appendUnquoted(dst, s []byte) []byte {
	for {
		i := bytes.IndexByte(s, '\\')
		if i < 0 || i+1 >= len(s) {
			return append(dst, s...)
		}
		dst = append(dst, s[:i]...)
		c := s[i+1]
		s = s[i+2:]
		switch c {
		case 'n':
			dst = append(dst, '\n')
		case 't':
			dst = append(dst, '\t')
		case 'r':
			dst = append(dst, '\r')
		case 'b':
			dst = append(dst, '\b')
		case 'f':
			dst = append(dst, '\f')
		case 'u':
			var r rune
			r, s = hexRune(s)
			dst = utf8.AppendRune(dst, r)
		default: // quote, backslash, slash
			dst = append(dst, c)
		}
	}
}

// hexRune reads the four digits after \u, and the second half of a pair.
func hexRune(s []byte) (rune, []byte) {
	r, ok := hex4(s)
	if !ok {
		return utf8.RuneError, s
	}
	s = s[4:]
	if utf16.IsSurrogate(r) {
		if len(s) >= 6 && s[0] == '\\' && s[1] == 'u' {
			if low, ok := hex4(s[2:]); ok {
				if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
					return pair, s[6:]
				}
			}
		}
		return utf8.RuneError, s
	}
	return r, s
}

func hex4(s []byte) (rune, bool) {
	if len(s) < 4 {
		return 0, false
	}
	var r rune
	for _, c := range s[:4] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

// Compact returns a JSON value on one line, at most max bytes of it.
func Compact(v []byte, max int) string {
	var out bytes.Buffer
	if len(v) > 8*max || json.Compact(&out, v) != nil {
		return text.Cut(Valid(v[:min(len(v), max+utf8.UTFMax)]), max)
	}
	return text.Cut(Valid(out.Bytes()), max)
}
