// Package text has the small things that every surface does to words: one line of many,
// the beginning or the end of what is too long, a few names of a list, what a program
// printed without what steers a terminal. Each has one meaning here. It knows nothing of
// what the words are about, takes no secrets out (internal/redact) and makes no HTML
// (internal/web/markup).
package text

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Mark stands where something was cut off.
const Mark = "…"

// OneLine makes every stretch of white space one space, and none at the ends.
func OneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// FirstLine is the first line with anything in it, without the space around it.
func FirstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return strings.TrimSpace(line)
}

// LastLine is the last line with anything in it, without the space around it.
func LastLine(s string) string {
	s = strings.TrimSpace(s)
	return strings.TrimSpace(s[strings.LastIndexByte(s, '\n')+1:])
}

// Head is the first most bytes of s, whole runes only. It holds on to the memory of s.
func Head[T string | []byte](s T, most int) T {
	if len(s) <= most {
		return s
	}
	n := max(0, most)
	for i := 1; i < utf8.UTFMax && n > 0 && !utf8.RuneStart(s[n]); i++ { // no longer than a rune: these may be any bytes
		n--
	}
	return s[:n]
}

// Tail is the last most bytes of s, whole runes only. It holds on to the memory of s.
func Tail[T string | []byte](s T, most int) T {
	if len(s) <= most {
		return s
	}
	s = s[len(s)-max(0, most):]
	for i := 1; i < utf8.UTFMax && len(s) > 0 && !utf8.RuneStart(s[0]); i++ {
		s = s[1:]
	}
	return s
}

// TailLines is the end of s in at most most bytes, from the beginning of a line.
func TailLines(s string, most int) string {
	if len(s) <= most {
		return s
	}
	_, rest, _ := strings.Cut(s[len(s)-most:], "\n")
	return rest
}

// Cut is Head with a Mark behind it where something was cut off: it bounds what is kept.
// What is kept is valid UTF-8.
func Cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(Head(s, most), "") + Mark
}

// Clip is at most most signs of s, the last of them a Mark where something was cut off: it
// fits a text into the room that it is shown in.
func Clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	n, end := 0, 0
	for i := range s {
		if n == most-1 {
			end = i
		}
		if n++; n > most {
			return strings.TrimRightFunc(s[:end], unicode.IsSpace) + Mark
		}
	}
	return s
}

// Line is a text of any shape as one line of at most most signs.
func Line(s string, most int) string { return Clip(OneLine(s), most) }

// List names the first most of a list and counts the others: "a, b and 3 more".
func List[T ~string](list []T, most int) string {
	var b strings.Builder
	for i, s := range list[:min(len(list), most)] {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(string(s))
	}
	if more := len(list) - most; more > 0 {
		fmt.Fprintf(&b, " and %d more", more)
	}
	return b.String()
}

// Few is List with other signs between: one a line, or words of a sentence.
func Few(list []string, most int, between string) string {
	if len(list) > most {
		list = append(slices.Clone(list[:most]), fmt.Sprintf("%s and %d more", Mark, len(list)-most))
	}
	return strings.Join(list, between)
}

// Sentence writes a cause, which is made to stand after a colon, as it stands alone: with a capital
// letter. What begins with a path, a command, a setting or an id stays, as such is what people type.
func Sentence(s string) string {
	word, _, _ := strings.Cut(s, " ")
	word = strings.TrimRight(word, ",.:;?!")
	other := func(r rune) bool { return r != '\'' && (r == utf8.RuneError || !unicode.IsLower(r)) }
	if word == "" || word == "ralph" || word == "git" || strings.ContainsFunc(word, other) {
		return s
	}
	first, n := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(first)) + s[n:]
}

// Indent moves every line two columns in.
func Indent(s string) string { return "  " + strings.ReplaceAll(s, "\n", "\n  ") }

// Count writes a number of things: "1 iteration", "3 tries".
func Count(n int, noun string) string {
	switch stem, y := strings.CutSuffix(noun, "y"); {
	case n == 1:
	case y:
		noun = stem + "ies"
	default:
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// Plural is Count for what has no regular plural, or a verb behind it.
func Plural(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}

// ShortHash is a commit's hash as people read it.
func ShortHash(hash string) string { return hash[:min(7, len(hash))] }
