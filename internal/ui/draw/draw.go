// Package draw owns how lines of a terminal are made: text in styles, cut and filled to
// columns, laid over each other, and written with the colours that the terminal has.
//
// It does NOT own what is shown (ui), or the keys and the terminal's state (bubbletea).
package draw

import (
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"github.com/ralph-loop/ralph/internal/action"
	"github.com/ralph-loop/ralph/internal/text"
)

// Span is text in one style. It has no control characters.
type Span struct {
	Style Style
	Text  string
}

// Line is one line of the screen, from left to right.
type Line []Span

// Of is a line of one style. The text may come from anywhere: it is made safe, and its links
// name what can be done by its key.
func Of(s Style, words string) Line { return Line(nil).Add(s, words) }

// As is a line of one style as it stands: code is shown with what looks like a link.
func As(s Style, words string) Line { return Line{{s, Safe(words)}} }

// Add puts more text behind a line.
func (l Line) Add(s Style, words string) Line {
	if !strings.Contains(words, "[[") {
		return append(l, Span{s, Safe(words)})
	}
	const mark = "\x1e"
	words = action.MarkedButtons(strings.ReplaceAll(words, mark, ""), mark)
	for i, part := range strings.Split(words, mark) { // every second one is a key
		if i%2 == 1 {
			l = append(l, Span{s | ActionKey, Safe(part)})
		} else if part != "" {
			l = append(l, Span{s, Safe(part)})
		}
	}
	return l
}

// Keyed is a line with the keys of actions that a person chose, by the usual ones. Each is one
// column wide: the line stays as it was laid out.
func (l Line) Keyed(chosen map[string]string) Line {
	for i, s := range l {
		if s.Style&ActionKey == 0 {
			continue
		}
		out := append(Line(nil), l...)
		for j := i; j < len(out); j++ {
			if k, ok := chosen[out[j].Text]; ok && out[j].Style&ActionKey != 0 {
				out[j].Text = k
			}
		}
		return out
	}
	return l
}

// Join is a line behind another one.
func (l Line) Join(more Line) Line { return append(l[:len(l):len(l)], more...) }

// With gives every part of a line another flag, such as Chosen.
func (l Line) With(flag Style) Line {
	out := make(Line, len(l))
	for i, s := range l {
		out[i] = Span{s.Style | flag, s.Text}
	}
	return out
}

// String is the line without its styles.
func (l Line) String() string {
	var b strings.Builder
	for _, s := range l {
		b.WriteString(s.Text)
	}
	return b.String()
}

// Width is how many columns a line takes.
func (l Line) Width() int {
	n := 0
	for _, s := range l {
		n += Width(s.Text)
	}
	return n
}

// Width is how many columns a safe text takes. Each sign is counted by itself, as terminals
// without any notion of composed signs do; Safe leaves out what makes a difference.
func Width(s string) int {
	if plain(s) {
		return len(s)
	}
	return ansi.StringWidthWc(s)
}

func plain(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// Fit makes a line exactly so many columns wide: what is too long ends in a mark.
func (l Line) Fit(columns int) Line {
	if columns <= 0 {
		return nil
	}
	have := l.Width()
	if have > columns {
		l = l.Slice(0, columns-1)
		have = l.Width()
		last := Plain
		if len(l) > 0 {
			last = l[len(l)-1].Style
		}
		l, have = append(l, Span{last, text.Mark}), have+1
	}
	if have < columns {
		flags := Plain
		if len(l) > 0 {
			flags = l[len(l)-1].Style & Chosen
		}
		l = append(l[:len(l):len(l)], Span{flags, strings.Repeat(" ", columns-have)})
	}
	return l
}

// Slice are the columns from one to another; half of a wide sign is a space.
func (l Line) Slice(from, to int) Line {
	var out Line
	at := 0
	for _, s := range l {
		if at >= to {
			break
		}
		if w := Width(s.Text); at >= from && at+w <= to {
			out = append(out, s)
			at += w
			continue
		}
		var b strings.Builder
		for _, r := range s.Text {
			w := runeWidth(r)
			switch {
			case at >= to:
			case at >= from && at+w <= to:
				b.WriteRune(r)
			case at+w > from: // half of it
				b.WriteString(strings.Repeat(" ", min(at+w, to)-max(at, from)))
			}
			at += w
		}
		if b.Len() > 0 {
			out = append(out, Span{s.Style, b.String()})
		}
	}
	return out
}

func runeWidth(r rune) int {
	if r < utf8.RuneSelf {
		return 1
	}
	return ansi.StringWidthWc(string(r))
}

// Over lays a line over another one, from a column on.
func (l Line) Over(under Line, at int) Line {
	w := l.Width()
	left := under.Slice(0, at)
	if n := at - left.Width(); n > 0 {
		left = append(left, Span{Plain, strings.Repeat(" ", n)})
	}
	return left.Join(l).Join(under.Slice(at+w, at+w+4096))
}

// Wrap breaks a line at spaces where it can. Lines after the first begin so many columns in.
func (l Line) Wrap(columns, indent int) []Line {
	if columns < 4 || l.Width() <= columns {
		return []Line{l}
	}
	indent = min(indent, columns/3)
	var out []Line
	rest, room := l, columns
	for rest.Width() > room {
		cut := breakAt(rest.String(), room)
		part := rest.Slice(0, cut)
		rest = trimLeft(rest.Slice(cut, 1<<20))
		if len(out) > 0 {
			part = Line{{Plain, strings.Repeat(" ", indent)}}.Join(part)
		}
		out = append(out, part)
		room = columns - indent
	}
	if len(out) > 0 {
		rest = Line{{Plain, strings.Repeat(" ", indent)}}.Join(rest)
	}
	return append(out, rest)
}

// breakAt is the column after the last space that fits, or the room where none does.
func breakAt(s string, room int) int {
	at, last := 0, 0
	for _, r := range s {
		w := runeWidth(r)
		if at+w > room {
			if r == ' ' {
				return at
			}
			break
		}
		at += w
		if r == ' ' {
			last = at
		}
	}
	if last > room/3 {
		return last
	}
	return max(1, at)
}

func trimLeft(l Line) Line {
	for len(l) > 0 {
		t := strings.TrimLeft(l[0].Text, " ")
		if t != "" {
			return append(Line{{l[0].Style, t}}, l[1:]...)
		}
		l = l[1:]
	}
	return l
}

// Between is a line with one part at its left end and one at its right. The right part stays
// whole as long as there is room for it.
func Between(left, right Line, columns int) Line {
	w := right.Width()
	if w == 0 || w > columns-4 {
		return left.Fit(columns)
	}
	return left.Fit(columns - w - 1).Join(Line{{Plain, " "}}).Join(right)
}

// Safe is a text as it may stand on one line of the screen: what steers a terminal or is not
// seen is written as an escape, and signs that terminals count differently lose what joins
// them.
func Safe(s string) string {
	if strings.IndexFunc(s, unusual) < 0 {
		return s
	}
	s = strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", " "), "\n", " ")
	s = text.Visible(strings.ReplaceAll(s, "\t", "    "))
	return strings.Map(func(r rune) rune {
		switch {
		case r == 0x200d, r >= 0xfe00 && r <= 0xfe0f, r >= 0x1f3fb && r <= 0x1f3ff:
			return -1
		}
		return r
	}, s)
}

// unusual are all signs but those of which most texts and every border are made.
func unusual(r rune) bool {
	return (r < ' ' || r > '~') && (r < 0x2190 || r > 0x27bf) && r != '…'
}
