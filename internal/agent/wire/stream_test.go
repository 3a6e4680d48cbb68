package wire

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestLongEventsAreCountedNotKept(t *testing.T) {
	t.Parallel()
	var got []string
	e := &Events{Line: func(b []byte) { got = append(got, string(b[:min(len(b), 20)])) }}
	chunk := bytes.Repeat([]byte("x"), 64<<10)
	e.Write([]byte("before\n"))
	for range 50 << 20 / len(chunk) {
		e.Write(chunk)
		if cap(e.buf) > maxEvent {
			t.Fatalf("buffer of %d bytes", cap(e.buf))
		}
	}
	e.Write([]byte("\nafter\n\nlast"))
	e.Close()
	if strings.Join(got, " ") != "before after last" || e.Dropped != 50<<20+1 && e.Dropped != 50<<20 || e.N != 5 {
		t.Errorf("lines %q, dropped %d, counted %d", got, e.Dropped, e.N)
	}
	if cap(e.buf) > keepBuffer {
		t.Errorf("%d bytes stay", cap(e.buf))
	}
}

func TestPieces(t *testing.T) {
	t.Parallel()
	type piece struct {
		n    int
		more bool
	}
	long := strings.Repeat("x", maxPiece-1) + "ä" + strings.Repeat("y", 10)
	for name, c := range map[string]struct {
		in   string
		want []piece
		text string
	}{
		"lines":          {"a\nbb\n\nc", []piece{{1, false}, {2, false}, {0, false}, {1, false}}, "a|bb||c|"},
		"crlf":           {"a\r\nb\r\n", []piece{{1, false}, {1, false}}, "a|b|"},
		"broken utf-8":   {"a\xffb\n", []piece{{5, false}}, "a\uFFFDb|"},
		"at rune border": {long + "\n", []piece{{maxPiece - 1, true}, {12, false}}, long + "|"},
		"exactly full":   {strings.Repeat("x", maxPiece) + "\n", []piece{{maxPiece, true}, {0, false}}, strings.Repeat("x", maxPiece) + "|"},
	} {
		for _, chunk := range []int{1, 7, maxPiece, 1 << 20} {
			var got []piece
			var text strings.Builder
			p := &Pieces{Emit: func(s string, more bool) {
				got = append(got, piece{len(s), more})
				text.WriteString(s)
				if !more {
					text.WriteString("|")
				}
			}}
			for b := []byte(c.in); len(b) > 0; {
				n := min(chunk, len(b))
				p.Write(b[:n])
				b = b[n:]
			}
			p.Close()
			if !reflect.DeepEqual(got, c.want) || text.String() != c.text {
				t.Errorf("%s in chunks of %d: %v, want %v", name, chunk, got, c.want)
			}
		}
	}
}

func TestTailKeepsTheEnd(t *testing.T) {
	t.Parallel()
	tl := Tail{Max: 5}
	for range 100 {
		tl.Add("aä")
	}
	if s := tl.String(); s != "äaä" && s != "aäaä"[len("a"):] || !utf8.ValidString(s) {
		t.Errorf("%q", s)
	}
	if tl.Dropped != 295 {
		t.Errorf("dropped %d", tl.Dropped)
	}
	tl.Add("123456789")
	if s := tl.String(); s != "56789" {
		t.Errorf("%q", s)
	}
}
