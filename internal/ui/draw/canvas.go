package draw

import (
	"slices"
	"strconv"
	"unicode/utf8"
)

// Canvas is what stands on a terminal: a picture becomes the next one by writing what differs.
// Whatever a terminal makes of a sign that it counts in another way, what is drawn behind it
// stands in its place.
type Canvas struct {
	was, now [][]cell
	lines    []Line // that was is made of, none of them anybody else's
	known    bool   // what was is what stands there
	theme    *Theme // in which it stands there
}

// cell is one column: a sign with what joins it. The second column of a wide sign has no text.
type cell struct {
	style Style
	odd   bool // terminals may count it in another way
	text  string
}

// Forget has the next picture written whole.
func (c *Canvas) Forget() { c.known = false }

// gap is how many equal columns are written along rather than passed over: to go past them
// costs as much.
const gap = 5

// Paint appends to b what makes the picture of what stands there.
func (c *Canvas) Paint(b []byte, theme *Theme, lines []Line, columns int) []byte {
	if c.theme != theme { // the same styles in other colours
		c.theme, c.known = theme, false
	}
	if c.known && (len(c.was) != len(lines) || len(lines) > 0 && len(c.was[0]) != columns) {
		c.known = false
	}
	if cap(c.now) < len(lines) {
		c.now = make([][]cell, len(lines))
	}
	c.now = c.now[:len(lines)]
	for len(c.lines) < len(lines) {
		c.lines = append(c.lines, nil)
	}
	style := Style(1<<16 - 1) // of what was written last: none yet
	for y, l := range lines {
		if c.known && slices.Equal(l, c.lines[y]) { // most lines of most pictures
			c.now[y], c.was[y] = c.was[y], c.now[y]
			continue
		}
		c.lines[y] = append(c.lines[y][:0], l...)
		c.now[y] = cells(c.now[y][:0], l, columns)
		var was []cell
		if c.known {
			was = c.was[y]
		}
		b = paintLine(b, theme, y, was, c.now[y], &style)
	}
	if style != 1<<16-1 {
		b = append(b, theme.sequence(Plain)...)
	}
	c.was, c.now, c.known = c.now, c.was, true
	return b
}

func paintLine(b []byte, theme *Theme, y int, was, now []cell, style *Style) []byte {
	for x := 0; x < len(now); {
		if was != nil && now[x] == was[x] {
			x++
			continue
		}
		to := changed(was, now, x)
		for x > 0 && now[x].text == "" {
			x-- // the sign whose second half it is
		}
		b = moveTo(b, x, y)
		odd := false
		for ; x < to; x++ {
			if now[x].text == "" {
				continue
			}
			if odd {
				b = moveTo(b, x, y)
			}
			if now[x].style != *style {
				*style = now[x].style
				b = append(b, theme.sequence(*style)...)
			}
			b, odd = append(b, now[x].text...), now[x].odd
		}
	}
	return b
}

// changed is where the change that begins at from ends.
func changed(was, now []cell, from int) int {
	if was == nil {
		return len(now)
	}
	to := from + 1
	for x := to; x < len(now) && x-to < gap; x++ {
		if now[x] != was[x] {
			to = x + 1
		}
	}
	for to < len(now) && now[to].text == "" {
		to++
	}
	return to
}

func moveTo(b []byte, x, y int) []byte {
	b = append(b, "\x1b["...)
	b = strconv.AppendInt(b, int64(y+1), 10)
	b = append(b, ';')
	b = strconv.AppendInt(b, int64(x+1), 10)
	return append(b, 'H')
}

// cells takes a line apart, and makes it so many columns wide.
func cells(out []cell, l Line, columns int) []cell {
	for _, s := range l {
		for i := 0; i < len(s.Text) && len(out) <= columns; {
			if s.Text[i] < utf8.RuneSelf {
				out = append(out, cell{style: s.Style, text: s.Text[i : i+1]})
				i++
				continue
			}
			r, n := utf8.DecodeRuneInString(s.Text[i:])
			sign := s.Text[i : i+n]
			i += n
			switch w := runeWidth(r); {
			case w == 0 && len(out) > 0: // it joins the sign before it
				last := &out[len(out)-1]
				if last.text == "" && len(out) > 1 {
					last = &out[len(out)-2]
				}
				last.text, last.odd = last.text+sign, true
			case w == 0:
			case w == 2:
				out = append(out, cell{s.Style, true, sign}, cell{style: s.Style})
			default:
				out = append(out, cell{s.Style, isOdd(r), sign})
			}
		}
	}
	for len(out) < columns {
		out = append(out, cell{text: " "})
	}
	out = out[:columns]
	if last := &out[columns-1]; last.text != "" && columns > 0 && len(l) > 0 && last.odd && runeWidth([]rune(last.text)[0]) == 2 {
		*last = cell{style: last.style, text: " "} // half of a wide sign
	}
	return out
}

// isOdd reports whether there are terminals that give a sign two columns: all but letters,
// borders, blocks and the signs that the screen itself uses everywhere.
func isOdd(r rune) bool { return r >= 0x2190 && (r < 0x2500 || r > 0x259f) }
