package ralph_test

import (
	"strings"
	"testing"
	"unicode"

	"github.com/ralph-loop/ralph"
	"pgregory.net/rapid"
)

// R-H3: what a program printed in colours is text in a line for people.
func TestPlain(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"a\n\tb":                         "a\n\tb",
		"\x1b[31m\x1b[2m⎯⎯⎯\x1b[22m red": "⎯⎯⎯ red",
		"\x1b]0;title\x07x":              "x",
		"\x1b]8;;http://x\x1b\\link":     "link",
		"\x1b(Bx\x1b=y\x1bMz":            "xyz",
		"10 %\r20 %\rdone\r\nnext":       "10 %\n20 %\ndone\nnext",
		"\u009b31mred":                   "red",
		"a\x00\x08b\x7f":                 "ab",
		"cut \x1b[3":                     "cut ",
		"cut \x1b":                       "cut ",
		"\x1b]never ends\nnext":          "\nnext",
		"\x1b[31\nnext":                  "\nnext",
		"\x1b\nnext":                     "\nnext",
		"täst \x1b[1m字":                  "täst 字",
	} {
		if got := ralph.Plain(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		in := rapid.StringOf(rapid.RuneFrom([]rune("a1;[]mK(\\\x1b\x9b\x07\r\n\tä"))).Draw(t, "in")
		got := ralph.Plain(in)
		if strings.ContainsFunc(got, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }) {
			t.Fatalf("%q leaves %q", in, got)
		}
		if ralph.Plain(got) != got {
			t.Fatalf("%q is not plain", got)
		}
	})
}
