package ui

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/action"
	"github.com/ralph-loop/ralph/internal/ui/draw"
	"github.com/ralph-loop/ralph/internal/ui/panes"
	"github.com/ralph-loop/ralph/internal/ui/typed"
)

// popup is what is open above the screen and has all keys.
type popup interface {
	key(m *Model, msg tea.KeyPressMsg) tea.Cmd
	paste(words string)
	// click is a click on a line of its body.
	click(m *Model, line, column int) tea.Cmd
	// body is what it shows in a box of at most so many columns and rows.
	body(m *Model, columns, rows int) (title string, lines []draw.Line, foot string)
}

// choice is a list to choose from, by typing what it is called.
type choice struct {
	title string
	input *typed.Line // nil: it is not typed
	all   func(words string) []entry
	list  []entry
	at    int
	top   int
	foot  string
}

// entry is one thing to choose.
type entry struct {
	name  string // that is typed for it
	key   string // that does the same on the screen
	left  draw.Line
	right draw.Line
	do    func(m *Model) tea.Cmd // nil: a heading
}

func (c *choice) refresh() {
	words := ""
	if c.input != nil {
		words = c.input.String()
	}
	c.list, c.at, c.top = c.all(words), 0, 0
	c.skip(1)
}

// again makes the list of what there is now, and keeps what is chosen.
func (c *choice) again() {
	was := ""
	if c.at < len(c.list) {
		was = c.list[c.at].left.String()
	}
	top := c.top
	c.refresh()
	if i := slices.IndexFunc(c.list, func(e entry) bool { return e.do != nil && e.left.String() == was }); i >= 0 {
		c.at, c.top = i, top
	}
}

// skip goes on where a heading stands.
func (c *choice) skip(step int) {
	for c.at >= 0 && c.at < len(c.list) && c.list[c.at].do == nil {
		c.at += step
	}
	if c.at < 0 || c.at >= len(c.list) {
		c.at = max(0, slices.IndexFunc(c.list, func(e entry) bool { return e.do != nil }))
	}
}

func (c *choice) paste(words string) {
	if c.input != nil {
		c.input.Insert(strings.Join(strings.Fields(words), " "))
		c.refresh()
	}
}

// head is how many lines stand above the list.
func (c *choice) head() int {
	if c.input != nil {
		return 2
	}
	return 0
}

// click chooses what is clicked on; a click on what is chosen does it.
func (c *choice) click(m *Model, line, _ int) tea.Cmd {
	at := c.top + line - c.head()
	if line < c.head() || at >= len(c.list) || c.list[at].do == nil {
		return nil
	}
	if at == c.at {
		m.popup = nil
		return c.list[at].do(m)
	}
	c.at = at
	return nil
}

func (c *choice) key(m *Model, msg tea.KeyPressMsg) tea.Cmd {
	k := msg.String()
	switch {
	case k == "esc", c.input == nil && (m.means("leave", k) || m.means("help", k) || m.means("menu", k)):
		m.popup = nil
		return nil
	case k == "enter":
		if c.at < len(c.list) && c.list[c.at].do != nil {
			m.popup = nil
			return c.list[c.at].do(m)
		}
		return nil
	case k == "down", k == "ctrl+n", k == "tab", c.input == nil && m.means("next", k):
		c.at = min(len(c.list)-1, c.at+1)
		c.skip(1)
	case k == "up", k == "ctrl+p", k == "shift+tab", c.input == nil && m.means("previous", k):
		c.at = max(0, c.at-1)
		c.skip(-1)
	case k == "pgdown":
		c.at = min(len(c.list)-1, c.at+10)
		c.skip(1)
	case k == "pgup":
		c.at = max(0, c.at-10)
		c.skip(-1)
	case c.input != nil:
		if c.input.Key(msg) {
			c.refresh()
		}
	default:
		for _, e := range c.list {
			if e.key == k && e.do != nil {
				m.popup = nil
				return e.do(m)
			}
		}
	}
	return nil
}

func (c *choice) body(_ *Model, columns, rows int) (string, []draw.Line, string) {
	var out []draw.Line
	if c.input != nil {
		out = append(out, draw.Of(draw.Accent, "› ").Join(c.input.Draw(columns-2, true)), nil)
	}
	room := max(1, rows-c.head())
	c.top = min(c.top, c.at)
	c.top = max(c.top, c.at-room+1)
	if c.at <= 1 {
		c.top = 0
	}
	for i, e := range c.list[min(c.top, len(c.list)):] {
		if i >= room {
			break
		}
		l := draw.Between(e.left, e.right, columns)
		if e.do == nil {
			l = e.left.Fit(columns)
		}
		if c.top+i == c.at && e.do != nil {
			l = l.With(draw.Chosen)
		}
		out = append(out, l)
	}
	title := c.title
	if len(c.list) > room {
		title += fmt.Sprintf(", %d to %d of %d", c.top+1, min(c.top+room, len(c.list)), len(c.list))
	}
	if len(c.list) == 0 {
		out = append(out, draw.Of(draw.Dim, "Nothing is called so."))
	}
	return title, out, c.foot
}

// offerEntry is an action to choose.
func offerEntry(o action.Available, about string) entry {
	tone := draw.Plain
	if o.Danger {
		tone = draw.Bad
	}
	title := o.Title
	if len(o.Fields) > 0 || o.Confirm != "" || asks(o) {
		title += " …"
	}
	left := draw.Of(tone, title)
	if about != "" {
		left = left.Add(draw.Dim, "  "+about)
	}
	return entry{name: o.Action, key: o.Key, left: left, right: draw.Of(draw.Key, o.Key), do: func(m *Model) tea.Cmd { return m.ask(o) }}
}

// newMenu lists what can be done with what is chosen, and with the whole.
func newMenu(m *Model) popup {
	c := &choice{title: "What can be done", foot: "enter: do it   esc: close"}
	c.all = func(string) []entry {
		var out []entry
		heading := "\x00"
		for _, o := range m.offers {
			if h := cmp.Or(o.ID, "the whole"); h != heading {
				heading = h
				out = append(out, entry{left: draw.Of(draw.Accent, h)})
			}
			out = append(out, offerEntry(o, ""))
		}
		return out
	}
	c.refresh()
	return c
}

// newHelp lists the keys that do something now.
func newHelp(m *Model) popup {
	c := &choice{title: "Keys", input: &typed.Line{}, foot: "type to filter   enter: do it   esc: close"}
	c.all = func(words string) []entry {
		var out []entry
		add := func(key string, what draw.Line, do func(m *Model) tea.Cmd) {
			if strings.Contains(strings.ToLower(key+" "+what.String()), strings.ToLower(words)) {
				out = append(out, entry{left: draw.Of(draw.Key, key).Fit(10).Join(what), do: do})
			}
		}
		for _, o := range m.offers {
			if o.Key != "" {
				about := ""
				if o.ID != "" {
					about = "  " + o.ID
				}
				add(o.Key, draw.Of(draw.Strong, o.Title).Add(draw.Dim, about), func(m *Model) tea.Cmd { return m.ask(o) })
			}
		}
		if k := m.now.Context.Keys.Of("approve"); m.needsElsewhere() {
			add(k, draw.Of(draw.Strong, "what needs you"), func(m *Model) tea.Cmd { cmd, _ := m.toGate(k); return cmd })
		}
		for _, b := range bindings() {
			if show := m.shown(b); show != "" && (b.can == nil || b.can(m)) {
				add(show, draw.Of(draw.Plain, b.what), func(m *Model) tea.Cmd { return b.do(m, m.keysOf(b)[0]) })
			}
		}
		return out
	}
	c.refresh()
	return c
}

// newPalette finds what can be done by its name: actions of what is chosen and of the whole,
// actions of any task by words of both, lists, and the screen's own.
func newPalette(m *Model) popup {
	c := &choice{title: "Do", input: &typed.Line{}, foot: "type a name: retry, queue, t-1a2b skip   enter: do it   esc: close"}
	c.all = func(words string) []entry { return m.palette(strings.Fields(strings.ToLower(words))) }
	c.refresh()
	return c
}

const maxFound = 60

func (m *Model) palette(words []string) []entry {
	fits := func(text string) bool {
		text = strings.ToLower(text)
		return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, w) })
	}
	var out []entry
	for _, o := range m.offers {
		if fits(o.Action + " " + o.Title + " " + o.ID) {
			out = append(out, offerEntry(o, o.ID))
		}
	}
	for t := range panes.Tabs {
		if fits("go to " + t.String()) {
			out = append(out, entry{name: strings.ToLower(t.String()), left: draw.Of(draw.Plain, t.String()), right: draw.Of(draw.Dim, "list"), do: func(m *Model) tea.Cmd { return m.open(t) }})
		}
	}
	if fits("settings edit config.yaml") && m.past == nil {
		out = append(out, entry{name: "settings", left: draw.Of(draw.Plain, "Settings: edit ralph/config.yaml …"), right: draw.Of(draw.Dim, "editor"), do: (*Model).editSettings})
	}
	for _, b := range bindings() {
		if show := m.shown(b); show != "" && len(words) > 0 && fits(b.what) && (b.can == nil || b.can(m)) {
			out = append(out, entry{name: b.name, left: draw.Of(draw.Plain, b.what), right: draw.Of(draw.Key, show), do: func(m *Model) tea.Cmd { return b.do(m, m.keysOf(b)[0]) }})
		}
	}
	if len(words) > 0 && m.current().State != nil {
		out = append(out, m.paletteTasks(words, fits)...)
	}
	slices.SortStableFunc(out, func(a, b entry) int { return cmp.Compare(a.far(words), b.far(words)) })
	return out[:min(len(out), maxFound)]
}

// far is how far an entry is from what was typed: whoever types a name means what is called so.
func (e entry) far(words []string) int {
	least := 2
	for _, w := range words {
		switch {
		case w == e.name:
			return 0
		case strings.HasPrefix(e.name, w):
			least = 1
		}
	}
	return least
}

// paletteTasks are tasks to go to, and what can be done with them.
func (m *Model) paletteTasks(words []string, fits func(string) bool) []entry {
	var out []entry
	l := m.current()
	for _, t := range l.State.Plan.Tasks {
		if len(out) > maxFound {
			break
		}
		id, about := string(t.ID), string(t.ID)+" "+t.Name
		if fits(about + " " + string(t.Status)) {
			tone, sign := panes.TaskSign(t.Status)
			out = append(out, entry{left: draw.Of(tone, sign+" ").Add(draw.Plain, about), right: draw.Of(draw.Dim, "task"), do: func(m *Model) tea.Cmd { return m.goTo(t.ID) }})
		}
		if slices.ContainsFunc(m.offers, func(o action.Available) bool { return o.ID == id }) {
			continue // it is the chosen one: what can be done with it stands there already
		}
		names := slices.ContainsFunc(words, func(w string) bool { return strings.Contains(strings.ToLower(about), w) })
		if !names || m.past != nil {
			continue
		}
		for _, o := range action.AllAvailable(l.State, l.Context, action.Task, id) {
			if fits(o.Action + " " + o.Title + " " + about) {
				out = append(out, offerEntry(o, about))
			}
		}
	}
	return out
}

// goTo chooses a task in the plan.
func (m *Model) goTo(id ralph.TaskID) tea.Cmd {
	x := &m.lists[panes.TabPlan]
	x.filter, x.key = "", "task "+string(id)
	return m.open(panes.TabPlan)
}

// search is the line in which a person types what to look for.
type search struct {
	input typed.Line
	right bool
	was   string // the filter before
	began string // the row that was chosen before
}

func (m *Model) startSearch() tea.Cmd {
	s := &search{right: m.right, was: m.lists[m.tab].filter, began: m.lists[m.tab].key}
	if m.right {
		s.input = typed.New(m.pane.search)
	} else {
		s.input = typed.New(s.was)
	}
	m.popup = s
	return nil
}

func (s *search) paste(words string) { s.input.Insert(strings.Join(strings.Fields(words), " ")) }

func (s *search) key(m *Model, msg tea.KeyPressMsg) tea.Cmd {
	switch msg.String() {
	case "esc":
		m.popup = nil
		if !s.right {
			m.lists[m.tab].filter = s.was
			m.fill()
			return m.read()
		}
		m.pane.search = ""
		return nil
	case "enter":
		m.popup = nil
		if s.right && m.pane.search != "" {
			m.pane.hit = m.pane.top - 1
			return m.again(false)
		}
		return nil
	}
	if !s.input.Key(msg) {
		return nil
	}
	if s.right {
		m.pane.search = s.input.String()
		return nil
	}
	m.lists[m.tab].filter, m.lists[m.tab].key = s.input.String(), s.began
	m.fill()
	return m.read()
}

func (s *search) click(*Model, int, int) tea.Cmd { return nil }

func (s *search) body(*Model, int, int) (string, []draw.Line, string) { return "", nil, "" }
