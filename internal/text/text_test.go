package text_test

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/ralph-loop/ralph/internal/text"
)

func TestWords(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ got, want string }{
		"one line":                  {text.OneLine(" a\t b\r\n\nc "), "a b c"},
		"one line of nothing":       {text.OneLine(" \n"), ""},
		"first line":                {text.FirstLine("\n\n  a  \r\nb"), "a"},
		"last line":                 {text.LastLine("a\n b \n\n "), "b"},
		"last line of one":          {text.LastLine("a"), "a"},
		"last line of nothing":      {text.LastLine("\n"), ""},
		"head":                      {text.Head("abcd", 2), "ab"},
		"head in a rune":            {text.Head("aöb", 2), "a"},
		"head of no text":           {text.Head("\x80\x80\x80\x80\x80", 4), "\x80"},
		"head that fits":            {text.Head("aö", 3), "aö"},
		"tail":                      {text.Tail("abcd", 2), "cd"},
		"tail in a rune":            {text.Tail("aöb", 2), "b"},
		"tail that fits":            {text.Tail("aö", 3), "aö"},
		"tail lines":                {text.TailLines("one\ntwo\nthree", 7), "three"},
		"tail lines of one":         {text.TailLines("one long line", 7), ""},
		"tail lines that fit":       {text.TailLines("one\ntwo", 7), "one\ntwo"},
		"cut":                       {text.Cut("abcd", 2), "ab…"},
		"cut in a rune":             {text.Cut("aöb", 2), "a…"},
		"cut that fits":             {text.Cut("abcd", 4), "abcd"},
		"clip":                      {text.Clip("abcd", 3), "ab…"},
		"clip counts signs":         {text.Clip("öäü", 3), "öäü"},
		"clip of many signs":        {text.Clip("öäüß", 3), "öä…"},
		"clip behind a word":        {text.Clip("ab cd", 4), "ab…"},
		"clip to one":               {text.Clip("ab", 1), "…"},
		"clip to nothing":           {text.Clip("ab", 0), "…"},
		"line":                      {text.Line("a\n b c", 4), "a b…"},
		"list":                      {text.List([]string{"a", "b"}, 2), "a, b"},
		"list of more":              {text.List([]string{"a", "b", "c", "d"}, 2), "a, b and 2 more"},
		"list of nothing":           {text.List([]string(nil), 2), ""},
		"few":                       {text.Few([]string{"a", "b"}, 2, "\n"), "a\nb"},
		"few of more":               {text.Few([]string{"a", "b", "c"}, 1, "\n"), "a\n… and 2 more"},
		"indent":                    {text.Indent("a\nb"), "  a\n  b"},
		"one":                       {text.Count(1, "try"), "1 try"},
		"none":                      {text.Count(0, "task"), "0 tasks"},
		"several that end in y":     {text.Count(3, "try"), "3 tries"},
		"plural of one":             {text.Plural(1, "waits", "wait"), "1 waits"},
		"plural":                    {text.Plural(2, "waits", "wait"), "2 wait"},
		"hash":                      {text.ShortHash("0123456789"), "0123456"},
		"hash that is short":        {text.ShortHash("012"), "012"},
		"safe line":                 {text.SafeLine("a\x1b[2J\n b\u202ec\u0085"), `a[2J b\u202ec`},
		"without control":           {text.WithoutControl("a\tb\x9b\r\n\u009bc"), "ab\uFFFDc"},
		"visible in the whole text": {text.Visible("a\x1bb"), `a\x1bb`},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: %q, want %q", name, tt.got, tt.want)
		}
	}
}

// What is cut is a beginning or an end of the text, no longer than it may be, without half
// a sign, and as long as can be.
func TestCuts(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s, most := rapid.String().Draw(t, "s"), rapid.IntRange(0, 40).Draw(t, "most")
		head, tail := text.Head(s, most), text.Tail(s, most)
		if !strings.HasPrefix(s, head) || !strings.HasSuffix(s, tail) || !utf8.ValidString(head) || !utf8.ValidString(tail) {
			t.Fatalf("%q: head %q, tail %q", s, head, tail)
		}
		least := min(len(s), most-utf8.UTFMax+1)
		if len(head) > most || len(tail) > most || len(head) < least || len(tail) < least {
			t.Fatalf("%q to %d bytes: head %q, tail %q", s, most, head, tail)
		}
		if string(text.Head([]byte(s), most)) != head || string(text.Tail([]byte(s), most)) != tail {
			t.Fatalf("%q: bytes are cut elsewhere", s)
		}
		cut := text.Cut(s, most)
		if rest, marked := strings.CutSuffix(cut, text.Mark); len(s) > most && (!marked || rest != head) || len(s) <= most && cut != s {
			t.Fatalf("%q: cut to %q", s, cut)
		}
		clip := text.Clip(s, most)
		if n := utf8.RuneCountInString(s); n <= most && clip != s || n > most && (utf8.RuneCountInString(clip) > max(1, most) || !strings.HasSuffix(clip, text.Mark)) {
			t.Fatalf("%q: clipped to %q", s, clip)
		}
	})
}

// Bytes that are no text cost nobody more than a rune.
func TestCutOfBytes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		b, most := rapid.SliceOf(rapid.Byte()).Draw(t, "b"), rapid.IntRange(-1, 40).Draw(t, "most")
		least := min(len(b), most-utf8.UTFMax+1)
		if head, tail := text.Head(b, most), text.Tail(b, most); len(head) < least || len(tail) < least || len(head) > max(0, most) || len(tail) > max(0, most) {
			t.Fatalf("%q to %d bytes: head %q, tail %q", b, most, head, tail)
		}
	})
}

// F-33: one of a thing is not "1 iterations", and many tries are no "trys".
func TestCount(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		n    int
		noun string
		want string
	}{{0, "spec", "0 specs"}, {1, "iteration", "1 iteration"}, {2, "iteration", "2 iterations"}, {1, "try", "1 try"}, {3, "try", "3 tries"}, {1, "time", "1 time"}} {
		if got := text.Count(c.n, c.noun); got != c.want {
			t.Errorf("Count(%d, %q) = %q, want %q", c.n, c.noun, got, c.want)
		}
	}
}

// It says what an expression without regard to case says.
func TestHasAnyFold(t *testing.T) {
	t.Parallel()
	re := regexp.MustCompile(`(?i)denied|-only|erof`)
	rapid.Check(t, func(t *rapid.T) {
		s := strings.Join(rapid.SliceOf(rapid.SampledFrom([]string{"d", "E", "e", "n", "denie", "Denied", "-", "-on", "LY", "ERO", "f", "\r", " ", "é"})).Draw(t, "text"), "")
		if got := text.HasAnyFold(s, "denied", "-only", "erof"); got != re.MatchString(s) {
			t.Fatalf("%q: %t", s, got)
		}
	})
}

// A cause that stands alone begins with a capital letter; paths, commands and ids stay what they are.
func TestSentence(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"": "", "x": "X", "there is no fact \"9\"": "There is no fact \"9\"", "ärger": "Ärger", "refused: no": "Refused: no", "it's so": "It's so", "Now": "Now",
		"/log shows each with its number": "/log shows each with its number", "ralph/config.yaml cannot be read": "ralph/config.yaml cannot be read", "`ralph serve` prints one": "`ralph serve` prints one",
		"ralph serve prints one": "ralph serve prints one", "git ended with 1": "git ended with 1", "t-1a2b is done": "t-1a2b is done", "t-abcd is done": "t-abcd is done", "web.addr is wrong": "web.addr is wrong",
		"web.json was broken": "web.json was broken", "--addr is missing": "--addr is missing", "17 tasks": "17 tasks", "\xff": "\xff",
	} {
		if got := text.Sentence(in); got != want {
			t.Errorf("Sentence(%q) = %q, want %q", in, got, want)
		}
	}
}
