package tty

import (
	"strings"
	"testing"
)

// Whatever was switched on is switched off, the newest first comes last, and twice is once
// (the terminal is left as it was).
func TestTerminalIsGivenBack(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	x := New(nil, &out, true, "question")
	for range 2 {
		if err := x.Take(); err != nil {
			t.Fatal(err)
		}
	}
	if n := strings.Count(out.String(), "question"); n != 1 {
		t.Errorf("a terminal that is taken was asked %d times", n)
	}
	x.Holds()
	if err := x.Show([]byte("picture"), "ti\atle"); err != nil {
		t.Fatal(err)
	}
	if words := out.String(); !strings.HasSuffix(words, "\x1b]2;ti\\atle\a\x1b[?2026hpicture\x1b[?2026l") && !strings.HasSuffix(words, "\x1b]2;ti\\x07tle\a\x1b[?2026hpicture\x1b[?2026l") && !strings.HasSuffix(words, "\x1b]2;ti\\u0007tle\a\x1b[?2026hpicture\x1b[?2026l") {
		t.Errorf("a picture is written as %q", words)
	}
	for range 2 {
		if err := x.Give(); err != nil {
			t.Fatal(err)
		}
	}
	words := out.String()
	for on, off := range map[string]string{"\x1b[?1049h": "\x1b[?1049l", "\x1b[?25l": "\x1b[?25h", "\x1b[?2004h": "\x1b[?2004l", "\x1b[?1002h": "\x1b[?1002l", "\x1b[?1006h": "\x1b[?1006l", "\x1b[22;2t": "\x1b[23;2t"} {
		if strings.Count(words, on) != 1 || strings.Count(words, off) != 1 || strings.Index(words, off) < strings.Index(words, on) {
			t.Errorf("%q is not taken back by %q: %q", on, off, words)
		}
	}
	n := out.Len()
	if err := x.Show([]byte("late"), "late"); err != nil || out.Len() != n {
		t.Errorf("something was written to a terminal that was given back: %q", out.String()[n:])
	}
}
