package wire

import (
	"bytes"
	"encoding/json"
	"sync"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/ralph-loop/ralph/internal/text"
)

// This file reads JSON by looking only at what is needed. An agent prints
// hundreds of thousands of events of which a few members matter; decoding each
// in full costs ten times as much as cutting the lines. What is not JSON stops a
// function early; what was read before that has been yielded.

// walker reads one value after the other where they stand: nothing is copied, so a line
// of any length costs no memory.
type walker struct {
	*jsontext.Decoder
	in bytes.Buffer
	of []byte
}

// walkers are used again and again: a line has several objects, and an agent many lines.
var walkers = sync.OnceValue(func() *sync.Pool {
	return &sync.Pool{New: func() any { return &walker{Decoder: jsontext.NewDecoder(&bytes.Buffer{})} }}
})

// walk begins to read b, which has to begin with open.
func walk(b []byte, open jsontext.Kind) (w *walker, ok bool) {
	w = walkers().Get().(*walker)
	w.in, w.of = *bytes.NewBuffer(b), b
	w.Reset(&w.in, jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
	t, err := w.ReadToken()
	return w, err == nil && t.Kind() == open
}

// next is the next value, as it stands in what is read.
func (w *walker) next() (value []byte, ok bool) {
	v, err := w.ReadValue()
	if err != nil {
		return nil, false
	}
	end := w.InputOffset()
	return w.of[end-int64(len(v)) : end], true
}

// end reports whether what was begun is read to its end.
func (w *walker) end() bool {
	_, err := w.ReadToken()
	return err == nil
}

// maxHeld is what a walker may hold on to until it is used again.
const maxHeld = 64 << 10

// done gives the walker back.
func (w *walker) done() {
	if len(w.of) > maxHeld {
		w.in, w.of = bytes.Buffer{}, nil
		w.Reset(&w.in)
	}
	walkers().Put(w)
}

// EachMember calls yield for each member of the JSON object b, in order; key is
// without quotes, value a whole JSON value within b. It reports whether b was
// an object read to its end.
func EachMember(b []byte, yield func(key, value []byte)) bool {
	w, ok := walk(b, '{')
	defer w.done()
	for ok && w.PeekKind() == '"' {
		var key, value []byte
		if key, ok = w.next(); !ok {
			break
		}
		if value, ok = w.next(); ok {
			yield(inside(key), value)
		}
	}
	return ok && w.end()
}

// EachElement calls yield for each element of the JSON array b; it reports
// whether b was an array read to its end.
func EachElement(b []byte, yield func(value []byte)) bool {
	w, ok := walk(b, '[')
	defer w.done()
	for ok && w.PeekKind() != ']' {
		var value []byte
		if value, ok = w.next(); ok {
			yield(value)
		}
	}
	return ok && w.end()
}

// inside is what is between the quotes of a JSON string, its escapes undone; broken ones
// become U+FFFD as with encoding/json.
func inside(v []byte) []byte {
	if bytes.IndexByte(v, '\\') < 0 {
		return v[1 : len(v)-1]
	}
	out, _ := jsontext.AppendUnquote(nil, v) // an error tells of what was replaced
	return out
}

// Text returns the string that the JSON value v is, "" when it is none.
func Text(v []byte) string {
	if len(v) < 2 || v[0] != '"' {
		return ""
	}
	return Valid(inside(v))
}

// StartOf returns about the first most bytes of the string that the JSON value v
// is, without reading the rest of it.
func StartOf(v []byte, most int) string {
	if len(v) < 2 || v[0] != '"' || len(v) <= most {
		return Text(v)
	}
	v = v[:most]
	from := max(0, len(v)-12)
	// An escape must not be cut: the longest is a surrogate pair, 12 bytes.
	if i := bytes.LastIndexByte(v[from:], '\\'); i >= 0 {
		v = v[:from+i]
		for v[len(v)-1] == '\\' {
			v = v[:len(v)-1]
		}
	}
	v = v[:RuneCut(v)]
	return Valid(inside(append(v[:len(v):len(v)], '"'))) + text.Mark
}

// Compact returns a JSON value on one line, at most max bytes of it.
func Compact(v []byte, max int) string {
	var out bytes.Buffer
	if len(v) > 8*max || json.Compact(&out, v) != nil {
		return text.Cut(Valid(v[:min(len(v), max+utf8.UTFMax)]), max)
	}
	return text.Cut(Valid(out.Bytes()), max)
}
