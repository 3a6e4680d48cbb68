package testdiff

import (
	"slices"
	"strings"

	"github.com/ralph-loop/ralph/internal/testdiff/language"
)

// words is a set of names and literals, in the order they came. Most are small, and
// a few comparisons cost less than a map.
type words struct {
	list []string
	in   map[string]bool // once there are many
}

const many = 12

func (w *words) add(s string) {
	if w.has(s) {
		return
	}
	w.list = append(w.list, s)
	if w.in != nil {
		w.in[s] = true
		return
	}
	if len(w.list) > many {
		w.in = make(map[string]bool, 4*many)
		for _, s := range w.list {
			w.in[s] = true
		}
	}
}

func (w *words) has(s string) bool {
	if w.in != nil {
		return w.in[s]
	}
	return slices.Contains(w.list, s)
}

func (w *words) size() int { return len(w.list) }

// within reports whether all of w are in other.
func (w *words) within(other words) bool { return w.shared(other) == len(w.list) }

// shared counts what is in both.
func (w *words) shared(other words) (n int) {
	for _, s := range w.list {
		if other.has(s) {
			n++
		}
	}
	return n
}

// literals returns the strings and numbers.
func (w *words) literals() (out words) {
	for _, s := range w.list {
		if s[0] == '"' || s[0] >= '0' && s[0] <= '9' {
			out.add(s)
		}
	}
	return out
}

// collect adds the names and numbers of the code, and each string as one, but what
// asserts.
func collect(x *language.Lexicon, w *words, code, text string) {
	language.EachWord(code, func(from, end int) {
		if s := code[from:end]; !x.Asserts(s) {
			w.add(s)
		}
	})
	for i := 0; i < len(code); i++ {
		if code[i] != language.InString {
			continue
		}
		from := i
		for i < len(code) && code[i] == language.InString {
			i++
		}
		if s := text[from:i]; !strings.ContainsAny(s, "% ") || len(s) < 12 { // not what is said to people
			w.add(`"` + s)
		}
	}
}

// squeeze is a line's text without comments, each run of blanks as one.
func squeeze(code, text string) string {
	b := make([]byte, 0, len(code))
	for i := 0; i < len(code); i++ {
		c := code[i]
		if c == language.InString {
			c = text[i]
		}
		if c == '\t' {
			c = ' '
		}
		if c == ' ' && (len(b) == 0 || b[len(b)-1] == ' ') {
			continue
		}
		b = append(b, c)
	}
	return strings.TrimRight(string(b), " ;,")
}
