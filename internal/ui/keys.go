package ui

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/ralph-loop/ralph/internal/action"
	"github.com/ralph-loop/ralph/internal/ui/draw"
	"github.com/ralph-loop/ralph/internal/ui/panes"
)

// binding is a key that moves about on the screen; what changes the work is an action.
type binding struct {
	keys []string
	show string // as the help writes them
	what string
	// can says whether it would do something now; nil: always.
	can func(*Model) bool
	do  func(*Model, string) tea.Cmd
}

func inPast(m *Model) bool    { return m.past != nil }
func inPresent(m *Model) bool { return m.past == nil }

// bindings are the keys of the screen itself, in the order of the help.
func bindings() []binding {
	return []binding{
		{[]string{",", "left"}, ", . ← →", "a fact back, on", inPast, func(m *Model, _ string) tea.Cmd { return m.step(-1) }},
		{[]string{".", "right"}, "", "", inPast, func(m *Model, _ string) tea.Cmd { return m.step(1) }},
		{[]string{"<", "shift+left"}, "< >", "a good piece back, on", inPast, func(m *Model, _ string) tea.Cmd { return m.stride(-1) }},
		{[]string{">", "shift+right"}, "", "", inPast, func(m *Model, _ string) tea.Cmd { return m.stride(1) }},
		{[]string{"j", "down"}, "j ↓", "next", nil, func(m *Model, _ string) tea.Cmd { return m.move(1) }},
		{[]string{"k", "up"}, "k ↑", "previous", nil, func(m *Model, _ string) tea.Cmd { return m.move(-1) }},
		{[]string{"g", "home"}, "g", "to the first", nil, func(m *Model, _ string) tea.Cmd { return m.move(-1 << 20) }},
		{[]string{"G", "end"}, "G", "to the last", nil, func(m *Model, _ string) tea.Cmd { return m.move(1 << 20) }},
		{[]string{"pgdown", "ctrl+d"}, "pgdn", "a page on", nil, func(m *Model, _ string) tea.Cmd { return m.page(1) }},
		{[]string{"pgup", "ctrl+u"}, "pgup", "a page back", nil, func(m *Model, _ string) tea.Cmd { return m.page(-1) }},
		{[]string{"1", "2", "3", "4", "5", "6"}, "1-6", "the lists", nil, func(m *Model, k string) tea.Cmd { return m.open(panes.Tab(k[0] - '1')) }},
		{[]string{"tab"}, "tab", "the other panel", nil, func(m *Model, _ string) tea.Cmd { m.right = !m.right; return nil }},
		{[]string{"enter", "l", "right"}, "enter", "into the right panel", func(m *Model) bool { return !m.right }, func(m *Model, _ string) tea.Cmd { m.right = true; return nil }},
		{[]string{"esc", "h", "left"}, "esc", "back", nil, func(m *Model, k string) tea.Cmd { return m.back(k) }},
		{[]string{"]"}, "] [", "next, previous view", nil, func(m *Model, _ string) tea.Cmd { return m.turn(1) }},
		{[]string{"["}, "", "", nil, func(m *Model, _ string) tea.Cmd { return m.turn(-1) }},
		{[]string{"f"}, "f", "follow the end", isOutput, func(m *Model, _ string) tea.Cmd { return m.follow() }},
		{[]string{"w"}, "w", "wrap long lines", nil, func(m *Model, _ string) tea.Cmd { m.pane.wrap = !m.pane.wrap; m.pane.wrapped = nil; return nil }},
		{[]string{"z"}, "z", "the whole screen", nil, func(m *Model, _ string) tea.Cmd { m.full = !m.full; return nil }},
		{[]string{"/"}, "/", "search: rows on the left, text on the right", nil, func(m *Model, _ string) tea.Cmd { return m.startSearch() }},
		{[]string{"n"}, "n N", "next, previous that was found", func(m *Model) bool { return m.pane.search != "" }, func(m *Model, _ string) tea.Cmd { return m.again(false) }},
		{[]string{"N"}, "", "", func(m *Model) bool { return m.pane.search != "" }, func(m *Model, _ string) tea.Cmd { return m.again(true) }},
		{[]string{":", "ctrl+p"}, ":", "all that can be done, by its name", nil, func(m *Model, _ string) tea.Cmd { m.popup = newPalette(m); return nil }},
		{[]string{"x"}, "x", "what can be done with this", inPresent, func(m *Model, _ string) tea.Cmd { m.popup = newMenu(m); return nil }},
		{[]string{"K", "shift+up"}, "K J", "move the task up, down in the plan", inPlan, func(m *Model, _ string) tea.Cmd { return m.reorder(-1) }},
		{[]string{"J", "shift+down"}, "", "", inPlan, func(m *Model, _ string) tea.Cmd { return m.reorder(1) }},
		{[]string{"u"}, "u", "undo", func(m *Model) bool { return m.undo != nil && m.past == nil }, func(m *Model, _ string) tea.Cmd { return m.takeBack() }},
		{[]string{"t"}, "t", "travel through time", nil, func(m *Model, _ string) tea.Cmd { return m.travel() }},
		{[]string{"y"}, "y", "copy what is chosen", nil, func(m *Model, _ string) tea.Cmd { return m.copy() }},
		{[]string{"T"}, "T", "dark or light", nil, func(m *Model, _ string) tea.Cmd {
			m.dark = !m.dark
			m.theme = draw.NewTheme(m.can, m.dark)
			return nil
		}},
		{[]string{"ctrl+l"}, "ctrl+l", "draw anew", nil, func(*Model, string) tea.Cmd { return tea.ClearScreen }},
		{[]string{"ctrl+z"}, "ctrl+z", "put the screen aside", nil, func(*Model, string) tea.Cmd { return tea.Suspend }},
		{[]string{"?"}, "?", "these keys", nil, func(m *Model, _ string) tea.Cmd { m.popup = newHelp(m); return nil }},
		{[]string{"q", "ctrl+c"}, "q", "leave; the work goes on", nil, func(*Model, string) tea.Cmd { return tea.Quit }},
	}
}

func isOutput(m *Model) bool { v, _ := m.viewNow(); return v == panes.ViewOutput }

// inPlan reports whether the chosen task can be moved: rows that are filtered have no order.
func inPlan(m *Model) bool {
	r, ok := m.chosen()
	return ok && m.tab == panes.TabPlan && m.past == nil && r.Task != "" && m.lists[m.tab].filter == ""
}

// reorder moves the chosen task in the plan; moving it back takes that back.
func (m *Model) reorder(by int) tea.Cmd {
	r, _ := m.chosen()
	in := action.Input{}
	at := -1
	for i, t := range m.now.State.Plan.Tasks {
		in.Names = append(in.Names, string(t.ID))
		if t.ID == r.Task {
			at = i
		}
	}
	to := at + by
	if at < 0 || to < 0 || to >= len(in.Names) {
		return nil
	}
	in.Names[at], in.Names[to] = in.Names[to], in.Names[at]
	return m.do(action.Call{Action: "order", Input: in})
}

// key does what a key means: in what is open above the screen first, then to what is chosen,
// then on the screen.
func (m *Model) key(msg tea.KeyPressMsg) tea.Cmd {
	k := msg.String()
	if k == "ctrl+c" {
		return tea.Quit
	}
	if m.small() {
		if k == "q" {
			return tea.Quit
		}
		return nil // what cannot be seen is not done
	}
	if m.popup != nil {
		return m.popup.key(m, msg)
	}
	m.note = note{} // it was read, and the keys stand there again
	if o, ok := m.offerOf(k); ok {
		return m.ask(o)
	}
	for _, b := range bindings() {
		for _, key := range b.keys {
			if key == k && (b.can == nil || b.can(m)) {
				return b.do(m, k)
			}
		}
	}
	if words := m.absent(k); words != "" {
		m.say(draw.Warn, words)
	} else {
		m.dirty = false
	}
	return nil
}

// offerOf is the action that a key does now: what is chosen comes before the whole.
func (m *Model) offerOf(k string) (action.Available, bool) {
	for _, o := range m.offers {
		if o.Key == k && o.Key != "" {
			return o, true
		}
	}
	return action.Available{}, false
}

// absent says why the key of an action does nothing now.
func (m *Model) absent(k string) string {
	for _, a := range action.Actions() {
		if a.Key != k {
			continue
		}
		if m.past != nil {
			return "This is how it was: nothing can be done about it. esc leads back to now."
		}
		return a.Title + " cannot be done " + map[bool]string{true: "now", false: "with this"}[a.About == action.Engine] + "; ? shows what can"
	}
	return ""
}

// move goes up or down in the panel that has the keys.
func (m *Model) move(by int) tea.Cmd {
	if m.right {
		columns, rows := m.paneSize()
		m.pane.scroll(by, rows, columns, isOutput(m))
		return nil
	}
	return m.choose(by)
}

func (m *Model) page(by int) tea.Cmd {
	_, rows := m.paneSize()
	if m.right {
		return m.move(by * max(1, rows-1))
	}
	return m.choose(by * max(1, rows/2))
}

// choose selects another panes.Row; rows that only tell are passed over.
func (m *Model) choose(by int) tea.Cmd {
	x := &m.lists[m.tab]
	step := 1
	if by < 0 {
		step = -1
	}
	at := x.at
	for left := by; left != 0; left -= step {
		next := at + step
		for next >= 0 && next < len(x.rows) && x.rows[next].Rest {
			next += step
		}
		if next < 0 || next >= len(x.rows) {
			break
		}
		at = next
	}
	if at == x.at || at >= len(x.rows) {
		if step < 0 {
			x.top = 0 // what stands above the first one
		}
		return nil
	}
	x.at, x.key = at, x.rows[at].Key
	m.offered()
	return m.read()
}

// open shows another list.
func (m *Model) open(t panes.Tab) tea.Cmd {
	m.tab, m.right = t, false
	m.fill()
	return m.read()
}

// turn shows the chosen row in another way.
func (m *Model) turn(by int) tea.Cmd {
	v, list := m.viewNow()
	for i, x := range list {
		if x == v {
			return m.viewAs(list[(i+by+len(list))%len(list)])
		}
	}
	return nil
}

func (m *Model) viewAs(v panes.View) tea.Cmd {
	if r, ok := m.chosen(); ok {
		m.views[kindOf(r, m.tab)] = v
	}
	return m.read()
}

// back closes what was opened last.
func (m *Model) back(k string) tea.Cmd {
	x := &m.lists[m.tab]
	switch {
	case m.full:
		m.full = false
	case m.right:
		m.right = false
	case k != "esc":
	case x.filter != "":
		x.filter = ""
		m.fill()
		return m.read()
	case m.past != nil:
		m.past = nil
		m.fill()
		return m.read()
	}
	return nil
}

func (m *Model) follow() tea.Cmd {
	m.pane.follow, m.pane.unread = !m.pane.follow, 0
	return nil
}

// again goes to what was searched for.
func (m *Model) again(back bool) tea.Cmd {
	columns, rows := m.paneSize()
	if len(m.pane.lines) == 0 || !m.pane.find(back, columns, rows) {
		m.say(draw.Warn, "“"+m.pane.search+"” is not in this text")
	}
	return nil
}

// copy puts what is chosen into the clipboard of the terminal: the line on the right, or the id.
func (m *Model) copy() tea.Cmd {
	words := ""
	if r, ok := m.chosen(); ok {
		words = r.ID
	}
	if m.right {
		columns, rows := m.paneSize()
		lines, _, _ := m.pane.visible(columns, rows)
		var b strings.Builder
		for _, l := range lines {
			b.WriteString(strings.TrimRight(l.String(), " ") + "\n")
		}
		words = b.String()
	}
	if words == "" {
		return nil
	}
	m.say(draw.Note, "Copied, if this terminal lets programs copy")
	return tea.SetClipboard(words)
}

// takeBack undoes the action that was done last.
func (m *Model) takeBack() tea.Cmd {
	call := *m.undo
	m.undo = nil
	return m.do(call)
}

// wheel scrolls what is below the mouse.
func (m *Model) wheel(msg tea.MouseWheelMsg) tea.Cmd {
	if m.popup != nil || m.small() {
		return nil
	}
	by := 0
	switch msg.Button {
	case tea.MouseWheelDown:
		by = 3
	case tea.MouseWheelUp:
		by = -3
	}
	if left, _ := m.split(); msg.X >= left || m.right && m.single() {
		columns, rows := m.paneSize()
		m.pane.scroll(by, rows, columns, isOutput(m))
		return nil
	}
	return m.choose(by / 3)
}

// click chooses what is below the mouse.
func (m *Model) click(msg tea.MouseClickMsg) tea.Cmd {
	if m.popup != nil || m.small() || msg.Button != tea.MouseLeft {
		return nil
	}
	if msg.Y == barLines {
		for _, s := range m.tabSpots() {
			if msg.X >= s.from && msg.X < s.to {
				return m.open(panes.Tab(s.what))
			}
		}
		return nil
	}
	left, _ := m.split()
	inRight := msg.X >= left
	if m.single() {
		inRight = m.right
	}
	if msg.Y == barLines+1 && inRight {
		offset := left
		if m.single() {
			offset = 0
		}
		for _, s := range m.viewSpots() {
			if msg.X-offset >= s.from && msg.X-offset < s.to {
				return m.viewAs(panes.View(s.what))
			}
		}
	}
	m.right = inRight
	if inRight {
		return nil
	}
	if at, ok := m.rowAt(msg.Y - barLines - 2); ok {
		x := &m.lists[m.tab]
		x.at, x.key = at, x.rows[at].Key
		m.offered()
		return m.read()
	}
	return nil
}
