package ui

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/action"
	"github.com/ralph-loop/ralph/internal/keymap"
	"github.com/ralph-loop/ralph/internal/ui/draw"
	"github.com/ralph-loop/ralph/internal/ui/panes"
)

// binding is a key that moves about on the screen; what changes the work is an action.
type binding struct {
	name string   // in the key map; "" where no other key can be chosen
	keys []string // where it has no name
	// pair is the name of what the help has in the same line, "-" where it is that one.
	pair string
	sign string // of a key that cannot be shown by its name
	what string
	// can says whether it would do something now; nil: always.
	can func(*Model) bool
	do  func(*Model, string) tea.Cmd
}

func inPast(m *Model) bool    { return m.past != nil }
func inPresent(m *Model) bool { return m.past == nil }
func found(m *Model) bool     { return m.pane.search != "" }

// bindings are the keys of the screen itself, in the order of the help.
func bindings() []binding {
	return []binding{
		{name: "earlier", pair: "later", sign: " ← →", what: "a fact back, on", can: inPast, do: func(m *Model, _ string) tea.Cmd { return m.step(-1) }},
		{name: "later", pair: "-", can: inPast, do: func(m *Model, _ string) tea.Cmd { return m.step(1) }},
		{name: "far-earlier", pair: "far-later", what: "a good piece back, on", can: inPast, do: func(m *Model, _ string) tea.Cmd { return m.stride(-1) }},
		{name: "far-later", pair: "-", can: inPast, do: func(m *Model, _ string) tea.Cmd { return m.stride(1) }},
		{name: "next", sign: " ↓", what: "next", do: func(m *Model, _ string) tea.Cmd { return m.move(1) }},
		{name: "previous", sign: " ↑", what: "previous", do: func(m *Model, _ string) tea.Cmd { return m.move(-1) }},
		{name: "first", what: "to the first", do: func(m *Model, _ string) tea.Cmd { return m.move(-1 << 20) }},
		{name: "last", what: "to the last", do: func(m *Model, _ string) tea.Cmd { return m.move(1 << 20) }},
		{name: "page-down", what: "a page on", do: func(m *Model, _ string) tea.Cmd { return m.page(1) }},
		{name: "page-up", what: "a page back", do: func(m *Model, _ string) tea.Cmd { return m.page(-1) }},
		{keys: numbers(), what: "the lists", do: func(m *Model, k string) tea.Cmd { return m.open(panes.Tab(k[0] - '1')) }},
		{keys: []string{"tab"}, what: "the other panel", do: func(m *Model, _ string) tea.Cmd { m.right = !m.right; return nil }},
		{name: "into", what: "into the right panel", can: func(m *Model) bool { return !m.right }, do: func(m *Model, _ string) tea.Cmd { m.right = true; return nil }},
		{name: "back", what: "back", do: func(m *Model, k string) tea.Cmd { return m.back(k) }},
		{name: "next-view", pair: "previous-view", what: "next, previous view", do: func(m *Model, _ string) tea.Cmd { return m.turn(1) }},
		{name: "previous-view", pair: "-", do: func(m *Model, _ string) tea.Cmd { return m.turn(-1) }},
		{name: "follow", what: "follow the end", can: isOutput, do: func(m *Model, _ string) tea.Cmd { return m.follow() }},
		{name: "wrap", what: "wrap long lines", do: func(m *Model, _ string) tea.Cmd { m.pane.wrap = !m.pane.wrap; m.pane.wrapped = nil; return nil }},
		{name: "zoom", what: "the whole screen", do: func(m *Model, _ string) tea.Cmd { m.full = !m.full; return nil }},
		{name: "search", what: "search: rows on the left, text on the right", do: func(m *Model, _ string) tea.Cmd { return m.startSearch() }},
		{name: "next-found", pair: "previous-found", what: "next, previous that was found", can: found, do: func(m *Model, _ string) tea.Cmd { return m.again(false) }},
		{name: "previous-found", pair: "-", can: found, do: func(m *Model, _ string) tea.Cmd { return m.again(true) }},
		{name: "palette", what: "all that can be done, by its name", do: func(m *Model, _ string) tea.Cmd { m.popup = newPalette(m); return nil }},
		{name: "menu", what: "what can be done with this", can: inPresent, do: func(m *Model, _ string) tea.Cmd { m.popup = newMenu(m); return nil }},
		{name: "task-up", pair: "task-down", what: "move the task up, down in the plan", can: inPlan, do: func(m *Model, _ string) tea.Cmd { return m.reorder(-1) }},
		{name: "task-down", pair: "-", can: inPlan, do: func(m *Model, _ string) tea.Cmd { return m.reorder(1) }},
		{name: "switch", what: "have a thread pause, or go on", can: onThread, do: func(m *Model, _ string) tea.Cmd { return m.toggle() }},
		{name: "undo", what: "undo", can: func(m *Model) bool { return m.undo != nil && m.past == nil }, do: func(m *Model, _ string) tea.Cmd { return m.takeBack() }},
		{name: "travel", what: "travel through time", do: func(m *Model, _ string) tea.Cmd { return m.travel() }},
		{name: "copy", what: "copy what is chosen", do: func(m *Model, _ string) tea.Cmd { return m.copy() }},
		{name: "theme", what: "dark or light", do: func(m *Model, _ string) tea.Cmd {
			m.dark = !m.dark
			m.theme = draw.NewTheme(m.can, m.dark)
			return nil
		}},
		{name: "redraw", what: "draw anew", do: func(*Model, string) tea.Cmd { return func() tea.Msg { return redrawMsg{} } }},
		{name: "suspend", what: "put the screen aside", do: func(*Model, string) tea.Cmd { return tea.Suspend }},
		{name: "help", what: "these keys", do: func(m *Model, _ string) tea.Cmd { m.popup = newHelp(m); return nil }},
		{name: "leave", what: "leave; the work goes on", do: func(*Model, string) tea.Cmd { return tea.Quit }},
	}
}

// numbers are the keys of the lists.
func numbers() []string {
	var out []string
	for t := range panes.Tabs {
		out = append(out, strconv.Itoa(int(t)+1))
	}
	return out
}

// keysOf are the keys of a binding, the one to show first.
func (m *Model) keysOf(b binding) []string {
	if b.name == "" {
		return b.keys
	}
	return m.keysFor(b.name)
}

// keysFor are the keys that do what a name of the key map says, the one to show first.
func (m *Model) keysFor(name string) []string {
	list, ok := m.keys[name]
	if !ok {
		list = keymap.Of(m.now.Context.Keys, name)
		m.keys[name] = list
	}
	return list
}

// keyOf is the key that does what a name of the key map says, as it is shown.
func (m *Model) keyOf(name string) string { return m.keysFor(name)[0] }

// means reports whether a key does what a name of the key map says.
func (m *Model) means(name, k string) bool { return slices.Contains(m.keysFor(name), k) }

// shown are the keys of a binding in the help, "" where another line has them.
func (m *Model) shown(b binding) string {
	keys := m.keysOf(b)
	switch {
	case b.pair == "-":
		return ""
	case b.pair != "":
		return keys[0] + " " + m.keyOf(b.pair) + b.sign
	case b.name == "" && len(keys) > 1:
		return keys[0] + "-" + keys[len(keys)-1]
	}
	return strings.NewReplacer("pgdown", "pgdn").Replace(keys[0]) + b.sign
}

func isOutput(m *Model) bool { v, _ := m.viewNow(); return v == panes.ViewOutput }

// inPlan reports whether the chosen task can be moved: rows that are filtered have no order.
func inPlan(m *Model) bool {
	r, ok := m.chosen()
	return ok && m.tab == panes.TabPlan && m.past == nil && r.Task != "" && m.lists[m.tab].filter == ""
}

// onThread reports whether the chosen row has a switch: a thread that goes on by itself, or would.
func onThread(m *Model) bool { return m.switchOf() != nil }

// switchOf is what the switch of the chosen thread does now, nil for none. What goes past a stop
// condition is asked for only where nothing else lets it go on.
func (m *Model) switchOf() *action.Available {
	for _, name := range []string{"thread-pause", "thread-resume", "thread-continue"} {
		if i := slices.IndexFunc(m.offers, func(o action.Available) bool { return o.Action == name }); i >= 0 {
			return &m.offers[i]
		}
	}
	return nil
}

func (m *Model) toggle() tea.Cmd { return m.ask(*m.switchOf()) }

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
		if m.means("leave", k) {
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
		if slices.Contains(m.keysOf(b), k) && (b.can == nil || b.can(m)) {
			return b.do(m, k)
		}
	}
	if cmd, ok := m.toGate(k); ok {
		return cmd
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

// toGate shows what waits for a person where its key was pressed on something else: it is read
// before it is answered.
func (m *Model) toGate(k string) (tea.Cmd, bool) {
	if m.past != nil || m.tab == panes.TabNeeds || !slices.ContainsFunc(action.Actions(), func(a action.Action) bool { return a.About == action.Gate && m.now.Context.Keys.Of(a.Name) == k }) {
		return nil, false
	}
	about := ralph.TaskID("")
	if r, ok := m.chosen(); ok {
		about = r.Task
	}
	at := ""
	for _, r := range panes.Rows(panes.TabNeeds, m.current(), nil) {
		if r.Gate != nil && (at == "" || r.Task == about) {
			at = r.Key
			if r.Task == about {
				break
			}
		}
	}
	if at == "" {
		return nil, false
	}
	m.lists[panes.TabNeeds].key = at
	cmd := m.open(panes.TabNeeds)
	m.say(draw.Note, "This waits for you: read it first.")
	return cmd, true
}

// absent says why the key of an action does nothing now.
func (m *Model) absent(k string) string {
	for _, a := range action.Actions() {
		if m.now.Context.Keys.Of(a.Name) != k {
			continue
		}
		if m.past != nil {
			return "This is how it was: nothing can be done about it. esc leads back to now."
		}
		if a.About == action.Gate && len(m.now.State.Approvals) == 0 {
			if len(m.now.Standing().Needs) > 0 {
				return fmt.Sprintf("Nothing waits to be approved or answered; %d shows what needs you", panes.TabNeeds+1)
			}
			return "Nothing waits for you now"
		}
		return a.Title + " cannot be done " + map[bool]string{true: "now", false: "with this"}[a.About == action.Engine] + "; " + m.keyOf("help") + " shows what can"
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
	return func() tea.Msg { return copyMsg(words) }
}

// takeBack undoes the action that was done last.
func (m *Model) takeBack() tea.Cmd {
	call := *m.undo
	m.undo = nil
	return m.do(call)
}

// wheel scrolls what is below the mouse.
func (m *Model) wheel(msg tea.MouseWheelMsg) tea.Cmd {
	by := 0
	switch msg.Button {
	case tea.MouseWheelDown:
		by = 3
	case tea.MouseWheelUp:
		by = -3
	}
	if m.small() || by == 0 {
		return nil
	}
	switch p := m.popup.(type) {
	case nil:
	case *choice:
		return p.key(m, tea.KeyPressMsg{Code: map[bool]rune{true: tea.KeyDown, false: tea.KeyUp}[by > 0]})
	case *form:
		return p.key(m, tea.KeyPressMsg{Code: map[bool]rune{true: tea.KeyPgDown, false: tea.KeyPgUp}[by > 0]})
	default:
		return nil
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
	if m.small() || msg.Button != tea.MouseLeft {
		return nil
	}
	if _, ok := m.popup.(*search); ok {
		return nil
	}
	if m.popup != nil {
		_, x, y := m.box()
		return m.popup.click(m, msg.Y-y-1, msg.X-x-2)
	}
	if msg.Y == m.bar() {
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
	if msg.Y == m.bar()+1 && inRight {
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
	if at, ok := m.rowAt(msg.Y - m.bar() - 2); ok {
		x := &m.lists[m.tab]
		x.at, x.key = at, x.rows[at].Key
		m.offered()
		return m.read()
	}
	return nil
}
