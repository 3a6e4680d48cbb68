package draw

import "strings"

// Panel is a box with a title, and a sign of where one is in what is longer than it.
type Panel struct {
	Title, Right Line // in its upper border, from the left and from the right; Right is in the lower one where both have no room
	Lines        []Line
	On           bool // the keys are for it
	Top, All     int  // the first line that is seen, and how many there are
}

// Draw is the panel, so many columns wide with its borders, and so many rows high between them.
func (p Panel) Draw(wide, rows int) []Line {
	border := Border
	if p.On {
		border = Accent
	}
	head := Of(border, "╭─").Join(p.Title)
	tail, foot := p.Right.Add(border, "─╮"), Of(border, "─╯")
	if head.Width()+tail.Width() > wide {
		tail, foot = Of(border, "─╮"), p.Right.Add(border, "─╯")
	}
	fill := max(0, wide-head.Width()-tail.Width())
	out := []Line{head.Slice(0, wide-tail.Width()).Add(border, strings.Repeat("─", fill)).Join(tail)}
	thumb, size := -1, 0
	if p.All > rows && rows > 2 {
		size = max(1, rows*rows/p.All)
		thumb = min(rows-size, p.Top*rows/max(1, p.All))
	}
	left := Of(border, "│")
	for i := range rows {
		var l Line
		if i < len(p.Lines) {
			l = p.Lines[i]
		}
		end := "│"
		if i >= thumb && i < thumb+size && thumb >= 0 {
			end = "┃"
		}
		out = append(out, left.Join(l.Fit(wide-2)).Add(border, end))
	}
	return append(out, Of(border, "╰"+strings.Repeat("─", max(0, wide-1-foot.Width()))).Join(foot))
}

// Box is what stands above a picture: its body has so many columns, the box four more.
func Box(title string, body []Line, columns int) []Line {
	wide := columns + 4
	head := Of(Accent, "╭─ ").Add(Strong, title).Add(Accent, " ")
	out := []Line{head.Slice(0, wide-1).Add(Accent, strings.Repeat("─", max(0, wide-1-head.Width()))+"╮")}
	for _, l := range body {
		out = append(out, Of(Accent, "│").Add(Plain, " ").Join(l.Fit(columns)).Add(Plain, " ").Add(Accent, "│"))
	}
	return append(out, Of(Accent, "╰"+strings.Repeat("─", wide-2)+"╯"))
}

// Marked is a line in which words that were searched for stand out, wherever they are.
func (l Line) Marked(words string) Line {
	words = strings.ToLower(words)
	if words == "" {
		return l
	}
	plain := strings.ToLower(l.String())
	for from := 0; ; {
		i := strings.Index(plain[from:], words)
		if i < 0 || from+i >= len(l.String()) {
			return l
		}
		at := Width(plain[:from+i])
		w := Width(words)
		l = l.Slice(at, at+w).With(Found).Over(l, at)
		from += i + len(words)
	}
}
