package wire

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// maxPiece is how much of a line is handed on at once, in bytes, so that a line
// of any length needs bounded memory.
const maxPiece = 64 << 10

// Pieces cuts text output into lines, and long lines into pieces, whatever the
// chunks it comes in. Invalid UTF-8 is replaced; a CR before the LF goes.
type Pieces struct {
	Emit func(text string, more bool)
	buf  []byte // the begun line, less than maxPiece
	open bool   // a piece of the begun line was handed on
	N    int64  // lines
}

// Write takes the next chunk; it keeps none of p.
func (l *Pieces) Write(p []byte) {
	for len(p) > 0 {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			l.add(p)
			return
		}
		if len(l.buf) == 0 && i < maxPiece {
			l.end(p[:i])
		} else {
			l.add(p[:i])
			l.end(l.buf)
		}
		p = p[i+1:]
	}
}

// Close hands on a last line without an end; it reports whether there was one.
func (l *Pieces) Close() bool {
	if len(l.buf) == 0 && !l.open {
		return false
	}
	l.end(l.buf)
	return true
}

func (l *Pieces) add(p []byte) {
	for len(p) > 0 {
		n := min(len(p), maxPiece-len(l.buf))
		l.buf = append(l.buf, p[:n]...)
		p = p[n:]
		if len(l.buf) < maxPiece {
			return
		}
		cut := RuneCut(l.buf)
		l.Emit(Valid(l.buf[:cut]), true)
		l.open = true
		l.buf = append(l.buf[:0], l.buf[cut:]...)
	}
}

func (l *Pieces) end(line []byte) {
	l.N++
	l.Emit(Valid(bytes.TrimSuffix(line, []byte("\r"))), false)
	l.buf, l.open = l.buf[:0], false
}

// RuneCut returns the length of b without a rune that is cut off at its end.
func RuneCut(b []byte) int {
	for i := len(b) - 1; i >= max(0, len(b)-utf8.UTFMax+1); i-- {
		if utf8.RuneStart(b[i]) {
			if !utf8.FullRune(b[i:]) {
				return i
			}
			break
		}
	}
	return len(b)
}

// Valid is a text in which U+FFFD stands for what is no UTF-8.
func Valid(b []byte) string {
	if utf8.Valid(b) { // as nearly always, and told eight bytes at a time
		return string(b)
	}
	return strings.ToValidUTF8(string(b), "\uFFFD")
}

// Tail keeps the last max bytes of a text, cut at a rune border.
type Tail struct {
	Max     int
	buf     []byte // at most 2*max
	Dropped int64
}

// Add appends a text; what no longer fits is dropped from the front and counted.
func (t *Tail) Add(s string) {
	if over := len(s) - t.Max; over > 0 {
		t.Dropped += int64(len(t.buf) + over)
		t.buf, s = t.buf[:0], s[over:]
	}
	t.buf = append(t.buf, s...)
	if len(t.buf) > 2*t.Max {
		t.trim()
	}
}

func (t *Tail) trim() {
	if over := len(t.buf) - t.Max; over > 0 {
		t.Dropped += int64(over)
		t.buf = append(t.buf[:0], t.buf[over:]...)
	}
}

// String returns the text kept, whole runes only.
func (t *Tail) String() string {
	t.trim()
	b := t.buf
	for i := 0; i < utf8.UTFMax && len(b) > 0 && !utf8.RuneStart(b[0]); i++ {
		b = b[1:]
	}
	return string(b)
}
