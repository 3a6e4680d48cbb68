// Package typed owns what a person types on the terminal screen: a line of text with its keys, its
// cursor and as much of it as there is room for, and the fields of a form.
//
// It does NOT own what is done with it (ui).
package typed

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/ralph-loop/ralph/internal/ui/draw"
)

// Line is one line of text that a person types.
type Line struct {
	Text []rune
	At   int // the cursor
}

// New is a line with the cursor at its end.
func New(words string) Line { r := []rune(words); return Line{r, len(r)} }

func (x *Line) String() string { return string(x.Text) }

// Insert puts words at the cursor.
func (x *Line) Insert(words string) {
	r := []rune(words)
	x.Text = slices.Insert(x.Text, x.At, r...)
	x.At += len(r)
}

// Key edits the text; false when the key is no editing.
func (x *Line) Key(msg tea.KeyPressMsg) bool {
	switch msg.String() {
	case "left", "ctrl+b":
		x.At = max(0, x.At-1)
	case "right":
		x.At = min(len(x.Text), x.At+1)
	case "home", "ctrl+a":
		x.At = 0
	case "end":
		x.At = len(x.Text)
	case "backspace":
		if x.At > 0 {
			x.Text = slices.Delete(x.Text, x.At-1, x.At)
			x.At--
		}
	case "delete":
		if x.At < len(x.Text) {
			x.Text = slices.Delete(x.Text, x.At, x.At+1)
		}
	case "ctrl+u":
		x.Text, x.At = x.Text[x.At:], 0
	case "ctrl+k":
		x.Text = x.Text[:x.At]
	case "ctrl+w":
		to := x.At
		for x.At > 0 && x.Text[x.At-1] == ' ' {
			x.At--
		}
		for x.At > 0 && x.Text[x.At-1] != ' ' {
			x.At--
		}
		x.Text = slices.Delete(x.Text, x.At, to)
	default:
		if msg.Text == "" || msg.Mod&^tea.ModShift != 0 {
			return false
		}
		x.Insert(msg.Text)
	}
	return true
}

// Draw is the text with its cursor, as much of it as there is room for.
func (x *Line) Draw(columns int, on bool) draw.Line {
	before, after := draw.Safe(string(x.Text[:x.At])), draw.Safe(string(x.Text[x.At:]))
	if !on {
		return draw.Of(draw.Plain, before+after).Fit(columns)
	}
	under := " "
	if after != "" {
		r := []rune(after)
		under, after = string(r[0]), string(r[1:])
	}
	for draw.Width(before) > columns-2 && before != "" {
		r := []rune(before)
		before = string(r[1:])
	}
	return draw.Of(draw.Plain, before).Join(draw.Line{{Style: draw.Plain | draw.Found | draw.Underlined, Text: under}}).Add(draw.Plain, after).Fit(columns)
}

// Lines are a text of several lines as it stands in a form: with the cursor in it, or only the
// beginning of a long one that does not have the keys.
func (x *Line) Lines(columns int, keys bool) []draw.Line {
	var out []draw.Line
	at := 0
	for words := range strings.Lines(string(x.Text) + "\n") {
		part := New(strings.TrimSuffix(words, "\n"))
		n := len(part.Text)
		on := keys && x.At >= at && x.At <= at+n
		if on {
			part.At = x.At - at
		}
		out = append(out, draw.Of(draw.Border, "│ ").Join(part.Draw(columns-1, on)))
		at += n + 1
	}
	if len(out) > 8 && !keys {
		out = append(out[:7:7], draw.Of(draw.Dim, fmt.Sprintf("│ … %d lines more", len(out)-7)))
	}
	return out
}
