package ui

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/action"
	"github.com/ralph-loop/ralph/internal/text"
	"github.com/ralph-loop/ralph/internal/ui/draw"
	"github.com/ralph-loop/ralph/internal/ui/panes"
)

const (
	leastWide = 60
	leastHigh = 20
	wholeWide = 80 // both panels fit
	wholeHigh = 24
	roomyWide = 104 // the lists have their whole names
)

// picture is what is to be seen now.
func (m *Model) picture() []draw.Line {
	m.dirty = false
	lines := m.frame()
	if keys := m.now.Context.Keys.Chosen(); len(keys) > 0 {
		for i, l := range lines {
			lines[i] = l.Keyed(keys)
		}
	}
	return lines
}

// title is what the window is called: what needs somebody comes first.
func (m *Model) title() string {
	if m.now.State == nil {
		return "ralph"
	}
	stands := m.now.Standing()
	words := "ralph"
	if m.now.State.Session.Live() {
		words += " " + stands.Status.Status
	}
	if n := len(stands.Needs); n > 0 {
		words = fmt.Sprintf("(%d) %s", n, words)
	}
	return words
}

// small reports whether there is no room for the screen.
func (m *Model) small() bool { return m.width < leastWide || m.height < leastHigh }

// single reports whether one panel is shown at a time.
func (m *Model) single() bool { return m.full || m.width < wholeWide || m.height < wholeHigh }

// split is how wide the two panels are.
func (m *Model) split() (left, right int) {
	if m.single() {
		return m.width, m.width
	}
	left = min(max(30, m.width*36/100), 60)
	return left, m.width - left
}

// bar is how many lines the control bar has: with the newest decision where there is room.
func (m *Model) bar() int {
	if m.height < wholeHigh || m.width < wholeWide {
		return 2
	}
	return 3
}

// high is how many lines the panels have.
func (m *Model) high() int { return m.height - m.bar() - 2 }

// paneSize is what there is room for in the right panel.
func (m *Model) paneSize() (columns, rows int) {
	_, right := m.split()
	return right - 2, m.high() - 2
}

// frame is the whole picture, line by line.
func (m *Model) frame() []draw.Line {
	if m.width == 0 || m.height == 0 {
		return nil
	}
	if m.small() {
		return m.tooSmall()
	}
	l := m.current()
	if l.State == nil {
		return m.filled([]draw.Line{draw.Of(draw.Dim, " Reading the journal …")})
	}
	out := append(panes.Bar(l, m.width, m.bar() > 2), m.tabLine(l))
	left, right := m.split()
	switch {
	case !m.single():
		a, b := m.listPanel(left), m.detailPanel(right)
		for i := range a {
			out = append(out, a[i].Join(b[i]))
		}
	case m.right:
		out = append(out, m.detailPanel(right)...)
	default:
		out = append(out, m.listPanel(left)...)
	}
	out = m.filled(append(out, m.lastLine()))
	if _, ok := m.popup.(*search); !ok && m.popup != nil {
		out = m.over(out)
	}
	return out
}

// filled makes every line as wide as the screen, and as many as it has.
func (m *Model) filled(lines []draw.Line) []draw.Line {
	for len(lines) < m.height {
		lines = append(lines, nil)
	}
	lines = lines[:m.height]
	for i, l := range lines {
		lines[i] = l.Fit(m.width)
	}
	return lines
}

// tooSmall says how much room there has to be, and what matters most.
func (m *Model) tooSmall() []draw.Line {
	out := []draw.Line{
		draw.Of(draw.Strong, fmt.Sprintf("%d by %d is too small.", m.width, m.height)),
		draw.Of(draw.Plain, fmt.Sprintf("It takes %d by %d, and shows all at %d by %d.", leastWide, leastHigh, wholeWide, wholeHigh)),
	}
	if m.now.State != nil {
		stands := m.now.Standing()
		out = append(out, draw.Of(draw.Plain, "ralph: "+stands.Status.Status))
		if n := len(stands.Needs); n > 0 {
			out = append(out, draw.Of(draw.Warn, panes.NeedWords(n)))
		}
	}
	var wrapped []draw.Line
	for _, l := range append(out, draw.Of(draw.Dim, m.keyOf("leave")+" leaves")) {
		wrapped = append(wrapped, l.Wrap(max(4, m.width), 0)...)
	}
	return m.filled(wrapped)
}

// spot is where something can be clicked.
type spot struct{ from, to, what int }

// tabLine are the lists, with how much each has.
func (m *Model) tabLine(l panes.Look) draw.Line {
	out, _ := m.tabParts(l)
	return out.Fit(m.width)
}

func (m *Model) tabSpots() []spot {
	_, spots := m.tabParts(m.current())
	return spots
}

func (m *Model) tabParts(l panes.Look) (draw.Line, []spot) {
	counts := m.width >= roomyWide
	out := draw.Of(draw.Plain, " ")
	var spots []spot
	at, gap, sign := 1, "  ", " "
	if m.width < wholeWide {
		gap, sign = " ", "!"
	}
	for t := range panes.Tabs {
		name, tone := t.String(), draw.Dim
		if m.width < wholeWide || m.width < roomyWide && t != panes.TabNeeds {
			name = t.Short()
		}
		count := ""
		if counts || t == panes.TabNeeds || t == m.tab && m.width >= wholeWide {
			count = t.Counts(l)
		}
		if t == m.tab {
			tone = draw.Accent
		} else if t == panes.TabNeeds && count != "" {
			tone = draw.Warn
		}
		part := draw.Of(draw.Dim, fmt.Sprintf("%d ", t+1)).Add(tone, name)
		if t == m.tab {
			part = draw.Of(draw.Accent, fmt.Sprintf("%d ", t+1)).Add(draw.Accent|draw.Underlined, name)
		}
		if count != "" {
			part = part.Add(tone, sign+count)
		}
		w := part.Width()
		spots = append(spots, spot{at, at + w, int(t)})
		out, at = out.Join(part).Add(draw.Plain, gap), at+w+len(gap)
	}
	return out, spots
}

// listPanel is the left panel.
func (m *Model) listPanel(wide int) []draw.Line {
	x := &m.lists[m.tab]
	rows := m.high() - 2
	lines, at := m.rowLines(wide-2, rows)
	title := draw.Of(draw.Plain, "")
	if x.filter != "" {
		title = draw.Of(draw.Warn, " /"+x.filter+" ")
	}
	var right draw.Line
	if _, ok := m.chosen(); ok {
		right = m.way("into", "opens it")
	}
	return draw.Panel{Title: title, Right: right, Lines: lines, On: !m.right, Top: at, All: m.listHeight()}.Draw(wide, rows)
}

// way says how to get to the panel that is not shown.
func (m *Model) way(name, words string) draw.Line {
	if !m.single() || m.full {
		return nil
	}
	return draw.Of(draw.Key, " "+m.keyOf(name)).Add(draw.Dim, " "+words+" ")
}

// listHeight is how many lines the rows take.
func (m *Model) listHeight() int {
	n := 0
	for _, r := range m.lists[m.tab].rows {
		n += len(r.Lines)
	}
	return n
}

// rowLines are the rows that fit, with the chosen one among them.
func (m *Model) rowLines(columns, room int) (lines []draw.Line, top int) {
	x := &m.lists[m.tab]
	x.top = min(x.top, x.at)
	for x.top < x.at && m.linesBetween(x.top, x.at+1) > room {
		x.top++
	}
	for x.top > 0 && m.linesBetween(x.top-1, len(x.rows)) <= room { // there is room at the end
		x.top--
	}
	for i := x.top; i < len(x.rows) && len(lines) < room; i++ {
		for _, part := range x.rows[i].Lines {
			l := draw.Between(part.Left, part.Right, columns)
			if i == x.at && !x.rows[i].Rest {
				flag := draw.ChosenFaint
				if !m.right {
					flag = draw.Chosen
				}
				l = l.With(flag)
			}
			lines = append(lines, l)
		}
	}
	return lines[:min(len(lines), room)], m.linesBetween(0, x.top)
}

func (m *Model) linesBetween(from, to int) int {
	n := 0
	for _, r := range m.lists[m.tab].rows[from:to] {
		n += len(r.Lines)
	}
	return n
}

// rowAt is the row that stands on a line of the panel.
func (m *Model) rowAt(line int) (int, bool) {
	x := &m.lists[m.tab]
	for i := x.top; i < len(x.rows); i++ {
		if line < len(x.rows[i].Lines) {
			return i, line >= 0 && !x.rows[i].Rest
		}
		line -= len(x.rows[i].Lines)
	}
	return 0, false
}

// detailPanel is the right panel.
func (m *Model) detailPanel(wide int) []draw.Line {
	p := &m.pane
	columns, rows := wide-2, m.high()-2
	title, _ := m.viewParts(wide)
	v, views := m.viewNow()
	var lines []draw.Line
	top, all := 0, 0
	var right draw.Line
	if len(views) == 0 {
		lines = m.hints()
	} else {
		var seen []draw.Line
		seen, top, all = p.visible(columns, rows)
		for _, l := range seen {
			lines = append(lines, l.Marked(m.pane.search).Fit(columns))
		}
		switch {
		case v == panes.ViewOutput && p.unread > 0:
			right = draw.Of(draw.Warn, fmt.Sprintf(" %s below: %s ", text.Plural(p.unread, "new line", "new lines"), m.keyOf("follow")))
		case v == panes.ViewOutput && p.follow && m.growing():
			right = draw.Of(draw.Good, " follows ")
		case all > rows:
			right = draw.Of(draw.Dim, fmt.Sprintf(" %d%% ", 100*(top+rows)/max(1, all)))
		}
	}
	right = right.Join(m.way("back", "leads back"))
	return draw.Panel{Title: title, Right: right, Lines: lines, On: m.right, Top: top, All: all}.Draw(wide, rows)
}

// growing reports whether the output that is shown may go on.
func (m *Model) growing() bool {
	r, ok := m.chosen()
	l := m.current()
	if !ok || m.past != nil || !l.Engine.Alive {
		return false
	}
	t := l.State.Task(r.Task)
	return t != nil && t.Status == ralph.TaskActive
}

// viewParts are the ways to look at what is chosen, in the upper border.
func (m *Model) viewParts(wide int) (draw.Line, []spot) {
	v, list := m.viewNow()
	if len(list) == 0 {
		return draw.Of(draw.Dim, " Nothing is chosen "), nil
	}
	out := draw.Of(draw.Plain, " ")
	var spots []spot
	at := 3
	for _, x := range list {
		part := draw.Of(draw.Dim, x.String())
		if x == v {
			part = draw.Of(draw.Accent|draw.Underlined, x.String())
		}
		spots = append(spots, spot{at, at + part.Width(), int(x)})
		at += part.Width() + 1
		out = out.Join(part).Add(draw.Plain, " ")
	}
	if out.Width() > wide-4 {
		i := slices.Index(list, v)
		return draw.Of(draw.Plain, " ").Add(draw.Accent|draw.Underlined, v.String()).Add(draw.Dim, fmt.Sprintf(" %d of %d: %s %s ", i+1, len(list), m.keyOf("next-view"), m.keyOf("previous-view"))), nil
	}
	return out, spots
}

// hints are what to do where nothing can be chosen.
func (m *Model) hints() []draw.Line {
	if m.past != nil || m.tab != panes.TabSlots {
		return nil
	}
	var out []draw.Line
	for _, o := range m.offers {
		if len(out) > 8 {
			break
		}
		if o.Primary || o.Key != "" || slices.Contains([]string{"start", "queue", "add"}, o.Action) {
			out = append(out, draw.Of(draw.Key, cmp.Or(o.Key, m.keyOf("palette")+" "+o.Action)).Fit(12).Add(draw.Plain, o.Title))
		}
	}
	if len(out) > 0 {
		out = append([]draw.Line{draw.Of(draw.Dim, "What can be done now:"), nil}, out...)
	}
	return out
}

// lastLine is what was said last, else the keys for what is chosen.
func (m *Model) lastLine() draw.Line {
	if s, ok := m.popup.(*search); ok {
		where := "rows with"
		if s.right {
			where = "text with"
		}
		return draw.Of(draw.Accent, " "+m.keyOf("search")+" "+where+" ").Join(s.input.Draw(max(4, m.width-24), true))
	}
	if m.doing != "" {
		return draw.Of(draw.Note, " … "+m.doing)
	}
	if m.past != nil && m.note.words == "" {
		return m.slider(m.width)
	}
	if m.past != nil || m.popup != nil { // what is open has its own keys
		return draw.Of(m.note.tone, " "+m.note.words).Fit(m.width)
	}
	return m.keyLine()
}

// keyLine is what was said last, and the keys that do something now, the most special first.
func (m *Model) keyLine() draw.Line {
	var fixed draw.Line
	for _, x := range []struct{ name, words string }{{"menu", " menu  "}, {"help", " keys  "}, {"palette", " do  "}, {"leave", " leave "}} {
		fixed = fixed.Add(draw.Key, m.keyOf(x.name)).Add(draw.Dim, x.words)
	}
	out := draw.Of(draw.Plain, " ")
	if m.note.words != "" {
		out = out.Add(m.note.tone, m.note.words+"   ")
		if out.Width()+20+fixed.Width() > m.width {
			fixed = nil // what can be done now comes first
		}
	}
	room := m.width - fixed.Width() - 1
	seen := map[string]bool{}
	put := func(key, words string, tone draw.Style) {
		part := draw.Of(draw.Key, key).Add(tone, " "+words+"  ")
		if out.Width()+part.Width() <= room && !seen[key] {
			out, seen[key] = out.Join(part), true
		}
	}
	if m.note.undo {
		put(m.keyOf("undo"), "undo", draw.Plain)
	}
	for _, o := range m.offers {
		if o.Key != "" {
			put(o.Key, shortTitle(o), draw.Plain)
		}
	}
	if m.needsElsewhere() {
		put(m.now.Context.Keys.Of("approve"), "needs you", draw.Warn)
	}
	if m.undo != nil {
		put(m.keyOf("undo"), "undo", draw.Plain)
	}
	if _, list := m.viewNow(); len(list) > 1 {
		put(m.keyOf("next-view"), "view", draw.Dim)
	}
	put(m.keyOf("search"), "search", draw.Dim)
	put(m.keyOf("travel"), "time", draw.Dim)
	put(m.keyOf("zoom"), "zoom", draw.Dim)
	return draw.Between(out, fixed, m.width)
}

// needsElsewhere reports whether something waits for a person that another list has.
func (m *Model) needsElsewhere() bool {
	return len(m.now.State.Approvals) > 0 && m.tab != panes.TabNeeds && m.past == nil
}

func shortTitle(o action.Available) string {
	if o.Action == "extend" {
		return "more"
	}
	return strings.ToLower(o.Title)
}

// over lays what is open above the picture.
func (m *Model) over(lines []draw.Line) []draw.Line {
	box, x, y := m.box()
	for i, l := range box {
		if y+i < len(lines) {
			lines[y+i] = l.Over(lines[y+i], x).Fit(m.width)
		}
	}
	return lines
}

// box is what is open above the picture, and where its upper left corner is.
func (m *Model) box() (box []draw.Line, x, y int) {
	columns, most := m.boxSize()
	title, body, foot := m.popup.body(m, columns, most)
	body = append(slices.Clone(body[:min(len(body), most)]), nil, draw.Of(draw.Dim, foot).Fit(columns))
	box = draw.Box(title, body, columns)
	return box, (m.width - columns - 4) / 2, max(0, (m.height-len(box))/3)
}

// boxSize is what there is room for in the box.
func (m *Model) boxSize() (columns, rows int) { return min(m.width-4, 84) - 4, m.height - 6 }

func (m *Model) viewSpots() []spot {
	_, right := m.split()
	_, spots := m.viewParts(right)
	return spots
}
