package text_test

import (
	"testing"

	"github.com/ralph-loop/ralph/internal/text"
)

// E-080: what a person decides by is what would be done: no sequence hides a part of it.
func TestVisible(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"ls -la\n\tb":              "ls -la\n\tb",
		"ls\x1b[2K\rrm":            `ls\x1b[2K\x0drm`,
		"a\r\nb":                   "a\nb",
		"a\u009b2Jb\u202ec\u2066d": `a\u009b2Jb\u202ec\u2066d`,
		"r\u200bm \ufeffx\u2028y":  `r\u200bm \ufeffx\u2028y`,
		"\x00\a\x7f":               `\x00\x07\x7f`,
		"f\xffg":                   "f\uFFFDg",
		"täst \U0001F468\u200d💻 字": "täst \U0001F468\u200d💻 字",
	} {
		if got := text.Visible(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
