package draw

import (
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"
	"pgregory.net/rapid"
)

// Whatever stands in it, a line is as wide as is asked, cut at any place and laid over any other.
func TestWidths(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"界", "👩‍👩‍👧", "👍🏽", "é", "שלום", "\u202e", "🇩🇪", "\x1b[31m", "\t", "❤️"})), 0, 6).Draw(t, "words")
		var l Line
		for i, w := range words {
			l = l.Add(Style(i), w)
		}
		columns := rapid.IntRange(1, 60).Draw(t, "columns")
		if w := l.Fit(columns).Width(); w != columns {
			t.Fatalf("%d columns wide, not %d: %q", w, columns, l.Fit(columns).String())
		}
		at := rapid.IntRange(0, 40).Draw(t, "at")
		if w := l.Fit(100).Slice(at, at+columns).Width(); w != min(columns, 100-at) {
			t.Fatalf("a slice from %d is %d wide, not %d", at, w, columns)
		}
		if w := Of(Plain, "over").Over(l.Fit(80), at).Width(); w != 80 {
			t.Fatalf("with another line over it it is %d wide", w)
		}
		for _, part := range l.Wrap(columns+4, 2) {
			if part.Width() > columns+4 {
				t.Fatalf("a wrapped part is %d wide, more than %d: %q", part.Width(), columns+4, part.String())
			}
		}
	})
}

// What a program printed keeps its colours and nothing else that steers a terminal.
func TestOutput(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"\x1b[31mred\x1b[0m plain":              "red plain",
		"\x1b]0;title\aleft":                    "left",
		"\x1b[2J\x1b[Hclean":                    "clean",
		"10%\r50%\rdone":                        "done",
		"a\tb":                                  "a       b",
		"\x1bP1;2|evil\x1b\\after":              "after",
		"back\b\bspace":                         "backspace",
		"\u202eturned":                          `\u202eturned`,
		"\x1b[38;5;1mred\x1b[38;2;1;2;3m other": "red other",
	} {
		var o Output
		if have := o.Line([]byte(in)).String(); have != want {
			t.Errorf("%q is shown as %q, want %q", in, have, want)
		}
	}
	var o Output
	l := o.Line([]byte("\x1b[1;31mred"))
	if l[0].Style&tone != Color(1) || l[0].Style&Bold == 0 {
		t.Errorf("red and bold is style %x", l[0].Style)
	}
	if next := o.Line([]byte("goes on")); next[0].Style&tone != Color(1) {
		t.Error("a colour ends with its line")
	}
}

// Each terminal gets the colours that it has: none, 16, 256, or all; what is chosen is told apart in
// each.
func TestThemes(t *testing.T) {
	t.Parallel()
	line := []Line{Of(Bad, "bad").With(Chosen)}
	for can, want := range map[colorprofile.Profile]string{
		colorprofile.Ascii: "\x1b[0;7mbad\x1b[0m", colorprofile.ANSI: "\x1b[0;31;7mbad\x1b[0m", colorprofile.ANSI256: "\x1b[0;38;5;203;48;5;24mbad\x1b[0m", colorprofile.TrueColor: "\x1b[0;38;2;240;110;110;48;2;45;62;84mbad\x1b[0m",
	} {
		if have := NewTheme(can, true).Frame(line); have != want {
			t.Errorf("%s: %q, want %q", can, have, want)
		}
	}
	if dark, light := NewTheme(colorprofile.TrueColor, true).Frame(line), NewTheme(colorprofile.TrueColor, false).Frame(line); dark == light {
		t.Error("both themes are the same")
	}
}

// Of a diff the lines are told apart, also one whose content looks like the name of a file.
func TestPatch(t *testing.T) {
	t.Parallel()
	lines := Patch([]byte("diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n--- an old comment of SQL\n+new\n same\n"))
	want := []Style{Strong, Dim, Dim, Hunk, Removed, Added, Plain}
	for i, l := range lines {
		if l[0].Style != want[i] {
			t.Errorf("%q is style %d, want %d", l.String(), l[0].Style, want[i])
		}
	}
	if s := Patch([]byte("@@ -1 +1 @@\n+[[retry t-1a2b]]\n"))[1].String(); !strings.Contains(s, "[[retry t-1a2b]]") {
		t.Errorf("code was written anew: %q", s)
	}
	if s := Of(Plain, "try `[[retry t-1a2b]]`").String(); s != "try Retry (r) on t-1a2b" {
		t.Errorf("a link is %q", s)
	}
}
