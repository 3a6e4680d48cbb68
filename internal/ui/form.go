package ui

import (
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

// asks reports whether an action is asked about although the table has no question: the word
// that opens a gate lets a command run, and nothing takes it back.
func asks(o action.Available) bool { return o.Action == "approve" || o.Action == "deny" }

// ask opens the form of an action, or the question; an action without either is done at once.
func (m *Model) ask(o action.Available) tea.Cmd {
	if len(o.Fields) == 0 && o.Confirm == "" && !asks(o) {
		return m.do(action.Call{Action: o.Action, Input: action.Input{ID: o.ID}})
	}
	f := &form{offer: o}
	for _, x := range o.Fields {
		f.fields = append(f.fields, typed.NewField(x))
	}
	f.at = len(f.fields) + 1 // no is the answer that stands there
	if len(f.fields) > 0 && !asks(o) && o.Confirm == "" {
		f.at = 0
	}
	f.about = m.aboutOf(o)
	m.popup = f
	return nil
}

// aboutOf is what an action is about, to be read before it is done.
func (m *Model) aboutOf(o action.Available) []draw.Line {
	var out []draw.Line
	if o.Ask != "" {
		out = append(out, draw.Of(draw.Strong, o.Ask))
	}
	if o.Confirm != "" {
		out = append(out, draw.Of(draw.Strong, o.Confirm))
	}
	s := m.now.State
	if i := slices.IndexFunc(s.Approvals, func(g *ralph.Approval) bool { return string(g.ID) == o.ID }); i >= 0 {
		r, ok := m.chosen()
		v, _ := m.viewNow()
		if ok && r.Gate != nil && string(r.Gate.ID) == o.ID && v == panes.ViewAsk && len(m.pane.lines) > 0 {
			return append(out, m.pane.lines...) // the same that stands there, with the diff
		}
		out = append(out, draw.Of(draw.Dim, string(s.Approvals[i].ID)+"  "+s.Approvals[i].Kind))
		return append(out, panes.Prose(s.Approvals[i].Text+"\n"+s.Approvals[i].Detail)...)
	}
	if t := s.Task(ralph.TaskID(o.ID)); t != nil {
		out = append(out, draw.Of(draw.Dim, string(t.ID)+"  ").Add(draw.Plain, t.Name))
	}
	return out
}

// form asks for what an action needs, and whether it is meant.
type form struct {
	offer  action.Available
	about  []draw.Line
	top    int // of what it is about
	fields []typed.Field
	at     int // a field, then do it, then cancel
	wrong  string
	busy   bool
	drawn  []int // for each line of its body as it was drawn the field, or -1
}

func (f *form) paste(words string) {
	if f.at < len(f.fields) {
		f.fields[f.at].Input.Insert(strings.ReplaceAll(words, "\r\n", "\n"))
	}
}

// click gives the keys to a field, or is the word of a button.
func (f *form) click(m *Model, line, column int) tea.Cmd {
	switch {
	case line < 0 || line >= len(f.drawn):
	case f.drawn[line] >= 0:
		f.at = f.drawn[line]
	case line == len(f.drawn)-1: // the buttons
		yes, no := f.answers()
		from := draw.Width(yes) + 4 + 3
		switch {
		case column >= 0 && column < from-3:
			return f.send(m)
		case column >= from && column < from+draw.Width(no)+4:
			m.popup = nil
		}
	}
	return nil
}

func (f *form) key(m *Model, msg tea.KeyPressMsg) tea.Cmd {
	k, last := msg.String(), len(f.fields)+1
	inField := f.at < len(f.fields)
	switch {
	case k == "esc":
		m.popup = nil
		return nil
	case k == "ctrl+s":
		return f.send(m)
	case k == "tab", k == "down":
		f.walk(1)
	case k == "shift+tab", k == "up":
		f.walk(-1)
	case k == "pgdown":
		f.top += 5
	case k == "pgup":
		f.top = max(0, f.top-5)
	case k == "ctrl+e" && inField && f.fields[f.at].Kind != "choice" && f.fields[f.at].Kind != "check":
		return m.editField(f)
	case inField:
		return f.edit(msg)
	case k == "left" || k == "right":
		f.at = len(f.fields) + map[bool]int{true: 0, false: 1}[f.at == last]
	case k == "y" || k == "Y":
		return f.send(m)
	case k == "n" || k == "N" || k == "q" || k == "enter" && f.at == last:
		m.popup = nil
	case k == "enter":
		return f.send(m)
	}
	return nil
}

// walk goes to the next field or button that is shown, or to the one before.
func (f *form) walk(step int) {
	at := f.at + step
	for at >= 0 && at < len(f.fields) && f.hidden(at) {
		at += step
	}
	if at >= 0 && at <= len(f.fields)+1 {
		f.at = at
	}
}

// enter goes on to what is typed next, and from the last of that to the button: who has said what
// is asked for need not pass by all that could be said.
func (f *form) enter() {
	for at := f.at + 1; at < len(f.fields); at++ {
		if kind := f.fields[at].Kind; kind != "check" && kind != "choice" && !f.hidden(at) {
			f.at = at
			return
		}
	}
	f.at = len(f.fields)
}

// hidden reports whether a field means nothing yet: how far and how long a rule holds, while
// none is wanted.
func (f *form) hidden(i int) bool {
	name := f.fields[i].Name
	if name != "scope" && name != "for" {
		return false
	}
	return slices.ContainsFunc(f.fields, func(x typed.Field) bool { return x.Name == "always" && x.Input.String() == "" })
}

// edit changes the field that has the keys.
func (f *form) edit(msg tea.KeyPressMsg) tea.Cmd {
	x, k := &f.fields[f.at], msg.String()
	switch x.Kind {
	case "choice":
		i := slices.Index(x.Choices, x.Input.String())
		switch k {
		case "left":
			i = max(0, i-1)
		case "right", "space":
			i = (i + 1) % len(x.Choices)
		case "enter":
			f.walk(1)
			return nil
		default:
			return nil
		}
		x.Input = typed.New(x.Choices[i])
	case "check":
		switch k {
		case "space":
			x.Input = typed.New(map[bool]string{true: "", false: "yes"}[x.Input.String() != ""])
		case "enter":
			f.walk(1)
		}
	default:
		switch {
		case k == "enter" && x.Kind == "area" && strings.Contains(x.Input.String(), "\n"), k == "alt+enter", k == "ctrl+j":
			x.Input.Insert("\n")
		case k == "enter":
			f.enter()
		default:
			x.Input.Key(msg)
		}
	}
	return nil
}

// send does what the form says.
func (f *form) send(m *Model) tea.Cmd {
	if f.busy {
		return nil
	}
	values := map[string]string{"id": f.offer.ID, "sure": "yes"}
	for i, x := range f.fields {
		v := x.Input.String()
		if x.Required && strings.TrimSpace(v) == "" {
			f.wrong, f.at = x.Label+": say something here", i
			return nil
		}
		if x.Kind != "check" || v != "" {
			values[x.Name] = v
		}
	}
	in, err := action.ReadForm(values)
	if err != nil {
		f.wrong = plainWords(err)
		return nil
	}
	for name, p := range map[string]**string{"name": &in.Name, "notes": &in.Notes, "accept": &in.Accept, "priority": &in.Priority, "phase": &in.Phase} {
		if f.unchanged(name) {
			*p = nil // what somebody else changed meanwhile stays
		}
	}
	if f.unchanged("deps") {
		in.Deps = nil
	}
	if f.unchanged("tags") {
		in.Tags = nil
	}
	if f.unchanged("worker") {
		in.Worker = nil
	}
	if f.unchanged("max_iterations") {
		in.MaxIterations = nil
	}
	cmd := m.do(action.Call{Action: f.offer.Action, Input: in})
	f.busy = cmd != nil
	return cmd
}

// unchanged reports whether a field of an edit still says what it said at first.
func (f *form) unchanged(name string) bool {
	if f.offer.Action != "edit" {
		return false
	}
	i := slices.IndexFunc(f.fields, func(x typed.Field) bool { return x.Name == name })
	return i >= 0 && f.fields[i].Input.String() == f.fields[i].Value
}

func (f *form) body(_ *Model, columns, rows int) (string, []draw.Line, string) {
	fields, owner := f.fieldLines(columns)
	var foot []draw.Line
	if f.wrong != "" {
		foot = append(foot, draw.Of(draw.Bad, f.wrong).Wrap(columns, 0)...)
	}
	foot = append(foot, nil, f.buttons())
	var about []draw.Line
	for _, l := range f.about {
		about = append(about, l.Wrap(columns, 2)...)
	}
	room := max(1, rows-len(foot))
	if len(fields) > room*2/3 && len(about) > 0 { // the fields scroll, what it is about does not
		about = about[:min(len(about), max(1, room/3))]
	}
	if more := len(about) + len(fields) + 1 - room; more > 0 && len(fields) <= room*2/3 {
		most := max(1, room-len(fields)-1)
		f.top = max(0, min(f.top, len(about)-most))
		hidden := len(about) - f.top - most
		about = slices.Clone(about[f.top:min(len(about), f.top+most)])
		if hidden > 0 && len(about) > 0 {
			about[len(about)-1] = draw.Of(draw.Warn, fmt.Sprintf("… %d lines more: pgdn", hidden+1))
		}
	}
	out := slices.Clone(about)
	if len(about) > 0 && len(fields) > 0 {
		out = append(out, nil)
	}
	left := max(1, room-len(out))
	from := 0
	if len(fields) > left {
		from = min(max(0, slices.Index(owner, f.at)-left/2), len(fields)-left)
	}
	f.drawn = slices.Repeat([]int{-1}, len(out))
	f.drawn = append(f.drawn, owner[from:min(len(fields), from+left)]...)
	f.drawn = append(f.drawn, slices.Repeat([]int{-1}, len(foot))...)
	out = append(out, fields[from:min(len(fields), from+left)]...)
	keys := "tab: next   ctrl+s: do it   esc: cancel"
	switch {
	case f.busy:
		keys = "it is being done …"
	case f.at < len(f.fields) && (f.fields[f.at].Kind == "area" || f.fields[f.at].Kind == "text"):
		keys = "tab: next   ctrl+e: in your editor   ctrl+s: do it   esc: cancel"
	case f.at < len(f.fields) && f.fields[f.at].Kind == "choice":
		keys = "← →: choose   tab: next   ctrl+s: do it   esc: cancel"
	case f.at < len(f.fields) && f.fields[f.at].Kind == "check":
		keys = "space: yes or no   tab: next   ctrl+s: do it   esc: cancel"
	case len(f.fields) == 0:
		keys = "y: yes   n, esc: no"
	case f.at >= len(f.fields):
		keys = "y: " + strings.ToLower(f.offer.Title) + "   n, esc: no   tab, ↑: what else can be said"
	}
	return f.offer.Title, append(out, foot...), keys
}

// fieldLines are the fields, and for each line whose it is.
func (f *form) fieldLines(columns int) (out []draw.Line, owner []int) {
	for i := range f.fields {
		if f.hidden(i) {
			continue
		}
		lines := f.fields[i].Draw(columns, i == f.at)
		out = append(out, lines...)
		owner = append(owner, slices.Repeat([]int{i}, len(lines))...)
	}
	return out, owner
}

// answers are the words of its buttons.
func (f *form) answers() (yes, no string) {
	if len(f.fields) == 0 {
		return "Yes, " + strings.ToLower(f.offer.Title), "No"
	}
	return f.offer.Title, "Cancel"
}

func (f *form) buttons() draw.Line {
	yes, no := f.answers()
	button := func(words string, on bool, tone draw.Style) draw.Line {
		if on {
			return draw.Of(tone|draw.Chosen|draw.Bold, "‹ "+words+" ›")
		}
		return draw.Of(draw.Dim, "  "+words+"  ")
	}
	tone := draw.Good
	if f.offer.Danger {
		tone = draw.Bad
	}
	return button(yes, f.at == len(f.fields), tone).Add(draw.Plain, "   ").Join(button(no, f.at == len(f.fields)+1, draw.Strong))
}
