package text_test

import (
	"strings"
	"testing"
	"unicode"

	"github.com/ralph-loop/ralph/internal/text"
	"pgregory.net/rapid"
)

// R-H3: what a program printed in colours is text in a line for people.
func TestPlain(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"a\n\tb":                           "a\n\tb",
		"\x1b[31m\x1b[2m⎯⎯⎯\x1b[22m red":   "⎯⎯⎯ red",
		"\x1b]0;title\x07x":                "x",
		"\x1b]8;;http://x\x1b\\link":       "link",
		"\x1b(Bx\x1b=y\x1bMz":              "xyz",
		"10 %\r20 %\rdone\r\nnext":         "10 %\n20 %\ndone\nnext",
		"\u009b31mred":                     "red",
		"a\x00\x08b\x7f":                   "ab",
		"cut \x1b[3":                       "cut ",
		"cut \x1b":                         "cut ",
		"\x1b]never ends\nnext":            "\nnext",
		"\x1b[31\nnext":                    "\nnext",
		"\x1b\nnext":                       "\nnext",
		"täst \x1b[1m字":                    "täst 字",
		"\x1b]0;✳ title\x07x":              "x", // its second byte is what ends a string where bytes are signs
		"\u009d0;title\u009cx":             "x",
		"\u0090data\x1b\\x":                "x",
		"\x1b_data\x1b[1mx":                "x",
		"\x1b[" + strings.Repeat("1", 300): strings.Repeat("1", 44),
	} {
		if got := text.Plain(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		in := rapid.StringOf(rapid.RuneFrom([]rune("a1;[]mK(\\\x1b\x9b\x07\r\n\tä"))).Draw(t, "in")
		got := text.Plain(in)
		if strings.ContainsFunc(got, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }) {
			t.Fatalf("%q leaves %q", in, got)
		}
		if was, is := strings.Count(in, "\n"), strings.Count(got, "\n"); is < was {
			t.Fatalf("%q has %d lines less: %q", in, was-is, got)
		}
		if text.Plain(got) != got {
			t.Fatalf("%q is not plain", got)
		}
	})
}

// Of a whole sequence of colours, and of no other, it is known what it says.
func TestControlAt(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]text.Control{
		"words":         {},
		"":              {},
		"\x1b[1;31mx":   {Len: 7, Final: 'm', Params: []byte("1;31")},
		"\u009b2Kx":     {Len: 4, Final: 'K', Params: []byte("2")},
		"\x1b[mx":       {Len: 3, Final: 'm', Params: []byte{}},
		"\x1b[?25lx":    {Len: 6, Params: []byte("?25")},
		"\x1b[1 qx":     {Len: 5, Params: []byte("1")},
		"\x1b[31\nx":    {Len: 4},
		"\x1b[3":        {Len: 3},
		"\x1b]0;t\x07x": {Len: 6},
		"\x1b]0;t\nx":   {Len: 5},
		"\x1bPq\x1b[1m": {Len: 3},
		"\x1b(Bx":       {Len: 3},
		"\x1b7x":        {Len: 2},
		"\x1b":          {Len: 1},
		"\x1b\n":        {Len: 1},
		"\u0085x":       {Len: 2},
		"\x9b31m":       {},
	} {
		if got := text.ControlAt([]byte(in)); got.Len != want.Len || got.Final != want.Final || string(got.Params) != string(want.Params) {
			t.Errorf("%q: %+v, want %+v", in, got, want)
		}
	}
}
