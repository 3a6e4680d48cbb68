package wire

import "bytes"

// This file reads values that EachMember or EachElement has handed out of a text that was read to
// its end: they are known to be JSON, so nothing has to be looked at but where each value ends, and
// most bytes are those of strings, which the processor searches for their end.

// Members is EachMember of a value that is known to be JSON. What is no object has no members.
func Members(v []byte, yield func(key, value []byte)) {
	at := opened(v, '{')
	for at < len(v) && v[at] == '"' {
		key := v[at:valueEnd(v, at)]
		at = after(v, at+len(key))
		value := v[at:valueEnd(v, at)]
		if len(key) < 2 || len(value) == 0 {
			return
		}
		at = after(v, at+len(value))
		yield(inside(key), value)
	}
}

// Elements is EachElement of a value that is known to be JSON. What is no array has no elements.
func Elements(v []byte, yield func(value []byte)) {
	at := opened(v, '[')
	for at < len(v) && v[at] != ']' {
		value := v[at:valueEnd(v, at)]
		if len(value) == 0 {
			return
		}
		at = after(v, at+len(value))
		yield(value)
	}
}

// opened is where the first member of a value stands that begins with open, else its end.
func opened(v []byte, open byte) int {
	if at := after(v, 0); at < len(v) && v[at] == open {
		return after(v, at+1)
	}
	return len(v)
}

// after is the next byte from at on that is no space and parts no two values.
func after(v []byte, at int) int {
	for at < len(v) {
		switch v[at] {
		case ' ', '\t', '\n', '\r', ',', ':':
			at++
		default:
			return at
		}
	}
	return at
}

// valueEnd is where the value ends that begins at.
func valueEnd(v []byte, at int) int {
	depth := 0
	for at < len(v) {
		switch v[at] {
		case '"':
			at = stringEnd(v, at)
		case '{', '[':
			depth++
			at++
		case '}', ']':
			if depth == 0 {
				return at
			}
			depth--
			at++
		case ',', ' ', '\t', '\n', '\r', ':':
			if depth == 0 {
				return at
			}
			at++
			continue
		default: // of a number or a word
			at++
			if depth > 0 || at < len(v) && word(v[at]) {
				continue
			}
		}
		if depth == 0 {
			return at
		}
	}
	return at
}

// word reports a byte that a number, true, false or null goes on with.
func word(c byte) bool {
	switch c {
	case ',', '}', ']', ' ', '\t', '\n', '\r', ':', '"', '{', '[':
		return false
	}
	return true
}

// stringEnd is where the string ends that begins at.
func stringEnd(v []byte, at int) int {
	for from := at + 1; ; {
		i := bytes.IndexByte(v[from:], '"')
		if i < 0 {
			return len(v)
		}
		quote := from + i
		back := quote
		for back > from && v[back-1] == '\\' {
			back--
		}
		if (quote-back)%2 == 0 {
			return quote + 1
		}
		from = quote + 1
	}
}
