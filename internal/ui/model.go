package ui

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/action"
	"github.com/ralph-loop/ralph/internal/observe"
	"github.com/ralph-loop/ralph/internal/proc"
	"github.com/ralph-loop/ralph/internal/screen"
	"github.com/ralph-loop/ralph/internal/ui/draw"
	"github.com/ralph-loop/ralph/internal/ui/panes"
)

// Model is the screen: what it knows, what is chosen, and what is open above it.
type Model struct {
	opt Options
	ctx context.Context //nolint:containedctx // the screen's own life
	det *panes.Reader

	width, height int
	can           colorprofile.Profile
	dark          bool
	theme         *draw.Theme
	dirty         bool

	now  panes.Look
	past *travelled // travelling through time; nil for now
	seen lately

	tab    panes.Tab
	lists  [panes.Tabs]list
	views  map[string]panes.View // by kind of row: the view chosen last
	pane   pane
	right  bool // the keys are for the right panel
	full   bool // the panel with the keys takes the whole screen
	offers []action.Available
	keys   map[string][]string // by what they do, as far as that was asked: each picture names many

	popup popup
	note  note
	undo  *action.Call
	doing string // an action under way
	hello string

	later func(time.Duration) tea.Cmd                // a look at a growing output
	aside func(run *proc.Foreground) tea.ExecCommand // a program that gets the terminal for a while
}

// list is what a tab remembers.
type list struct {
	rows   []panes.Row
	key    string // of the chosen row
	at     int
	top    int
	filter string
}

// note is what the screen said last.
type note struct {
	tone  draw.Style
	words string
	until time.Time
	undo  bool // it was done, and can be taken back
}

// lately is what happened last.
type lately struct {
	told    *screen.Lately
	then    *ralph.State
	list    []screen.Happened
	reading bool
}

type (
	lookMsg    panes.Look
	contentMsg struct {
		key   string
		lines []draw.Line
	}
	outputMsg struct {
		path   string
		pieces []observe.Piece
		stream *observe.Stream
		err    error
	}
	latelyMsg struct {
		told *screen.Lately
		then *ralph.State
		err  error
	}
	doneMsg struct {
		call action.Call
		done action.Result
		err  error
	}
	tickMsg time.Time
)

// New returns the screen before it knows anything.
func New(ctx context.Context, opt Options) *Model {
	m := &Model{opt: opt, ctx: ctx, dark: opt.Theme != "light", can: colorprofile.TrueColor, views: map[string]panes.View{}, keys: map[string][]string{}, dirty: true, hello: opt.Hello}
	m.det = &panes.Reader{History: opt.Source, Env: opt.Env, Root: opt.Root, Turns: observe.NewTurns(opt.Env, opt.Root)}
	m.theme = draw.NewTheme(m.can, m.dark)
	m.pane.follow = true
	m.aside = func(run *proc.Foreground) tea.ExecCommand { return run }
	m.later = func(d time.Duration) tea.Cmd {
		return tea.Tick(d, func(t time.Time) tea.Msg { return tickMsg(t) })
	}
	return m
}

// current is what is shown: now, or a moment of the past.
func (m *Model) current() panes.Look {
	if m.past != nil && m.past.look.State != nil {
		return m.past.look
	}
	return m.now
}

// Update takes in what happened.
func (m *Model) Update(msg tea.Msg) tea.Cmd {
	m.dirty = true
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case tea.ColorProfileMsg:
		m.can = msg.Profile
		m.theme = draw.NewTheme(m.can, m.dark)
	case tea.BackgroundColorMsg:
		m.dark = msg.IsDark()
		m.theme = draw.NewTheme(m.can, m.dark)
	case lookMsg:
		return m.look(panes.Look(msg))
	case latelyMsg:
		m.told(msg)
	case contentMsg:
		m.pane.content(msg)
		if f, ok := m.popup.(*form); ok {
			f.about = m.aboutOf(f.offer) // it was opened before this was read
		}
		return m.read()
	case outputMsg:
		return m.pane.output(m, msg)
	case pastMsg:
		return m.arrived(msg)
	case doneMsg:
		m.done(msg)
	case editedMsg:
		return m.edited(msg)
	case tickMsg:
		return m.tick()
	case tea.KeyPressMsg:
		return m.key(msg)
	case tea.PasteMsg:
		if m.popup != nil {
			m.popup.paste(msg.Content)
		}
	case tea.MouseClickMsg:
		return m.click(msg)
	case tea.MouseWheelMsg:
		return m.wheel(msg)
	default:
		m.dirty = false
	}
	return nil
}

// look takes in what the repository is now.
func (m *Model) look(l panes.Look) tea.Cmd {
	before := m.now
	m.now = l.Stood()
	if !maps.Equal(before.Context.Keys, l.Context.Keys) {
		m.keys = map[string][]string{}
	}
	over := before.State != nil && m.note.tone == draw.Warn && len(before.State.Approvals) != len(l.State.Approvals) // what it says cannot be done may be by now
	if over || !m.note.until.IsZero() && l.Now.After(m.note.until) {
		m.note = note{}
	}
	if before.State == nil && m.hello != "" {
		m.say(draw.Note, m.hello)
		m.hello = ""
	}
	if before.State == nil && len(l.State.Plan.Tasks) > 0 && len(m.now.Standing().Work) == 0 {
		m.tab = panes.TabPlan // nobody works: what there is to do
	}
	m.fill()
	if c, ok := m.popup.(*choice); ok {
		c.again() // what can be done may be something else by now
	}
	return tea.Batch(m.read(), m.readLately())
}

// fill makes the rows of the open tab anew, and keeps what is chosen.
func (m *Model) fill() {
	l := m.current()
	if l.State == nil {
		return
	}
	x := &m.lists[m.tab]
	x.rows = panes.Rows(m.tab, l, m.happened())
	if x.filter != "" {
		words := strings.Fields(strings.ToLower(x.filter))
		x.rows = slices.DeleteFunc(x.rows, func(r panes.Row) bool {
			have := r.Words()
			return r.Rest || slices.ContainsFunc(words, func(w string) bool {
				if not, ok := strings.CutPrefix(w, "!"); ok {
					return not != "" && strings.Contains(have, not)
				}
				return !strings.Contains(have, w)
			})
		})
		if len(x.rows) == 0 {
			x.rows = []panes.Row{panes.Say("Nothing has these words.")}
		}
	}
	at := slices.IndexFunc(x.rows, func(r panes.Row) bool { return r.Key == x.key && !r.Rest })
	if m.tab == panes.TabDecisions && x.at == 0 && !m.right {
		at = -1 // who is at the newest stays there
	}
	if at < 0 {
		at = min(x.at, len(x.rows)-1)
		for at > 0 && x.rows[at].Rest {
			at--
		}
		for at < len(x.rows)-1 && x.rows[max(at, 0)].Rest {
			at++
		}
	}
	x.at = max(at, 0)
	if x.at < len(x.rows) {
		x.key = x.rows[x.at].Key
	}
	if _, ok := m.chosen(); !ok && m.single() {
		m.right = false // else there would be nothing to see
	}
	m.offered()
}

// happened is what the tab of decisions lists.
func (m *Model) happened() []screen.Happened {
	if m.past == nil || m.past.look.State == nil {
		return m.seen.list
	}
	return slices.DeleteFunc(slices.Clone(m.seen.list), func(x screen.Happened) bool { return x.Seq > m.past.look.State.Seq })
}

// chosen is the row that is selected; false for none.
func (m *Model) chosen() (panes.Row, bool) {
	x := &m.lists[m.tab]
	if x.at >= len(x.rows) || x.rows[x.at].Rest {
		return panes.Row{}, false
	}
	return x.rows[x.at], true
}

// offered finds out what can be done with what is chosen, and with the whole.
func (m *Model) offered() {
	l := m.current()
	m.offers = nil
	if l.State == nil || m.past != nil {
		return
	}
	if r, ok := m.chosen(); ok && r.About != action.Engine {
		m.offers = action.AllAvailable(l.State, l.Context, r.About, r.ID)
		if r.About == action.Gate {
			if t := l.State.Task(r.Task); t != nil && t.IsBuild() {
				m.offers = append(m.offers, action.AllAvailable(l.State, l.Context, action.Task, string(r.Task))...)
			}
		}
	}
	for _, about := range []action.Subject{action.Engine, action.Inbox, action.Plan} {
		m.offers = append(m.offers, action.AllAvailable(l.State, l.Context, about, "")...)
	}
}

// view is how the chosen row is looked at.
func (m *Model) viewNow() (panes.View, []panes.View) {
	r, ok := m.chosen()
	if !ok {
		return panes.ViewWhy, nil
	}
	list := panes.Views(r, m.tab)
	v, known := m.views[kindOf(r, m.tab)]
	if !known || !slices.Contains(list, v) {
		v = list[0]
	}
	return v, list
}

// kindOf is the kind of row that remembers a view together.
func kindOf(r panes.Row, t panes.Tab) string {
	switch {
	case r.Gate != nil:
		return "gate"
	case r.Seq > 0:
		return "fact"
	}
	return t.String()
}

// read has the right panel read what it shows, where that may have changed.
func (m *Model) read() tea.Cmd {
	l := m.current()
	r, ok := m.chosen()
	if l.State == nil {
		return nil
	}
	if !ok {
		m.pane.clear("none", nil)
		return nil
	}
	v, _ := m.viewNow()
	w := panes.Wanted{View: v, Row: r, Look: l}
	what := fmt.Sprintf("%s %d", r.Key, v)
	if v == panes.ViewOutput {
		if m.past != nil {
			m.pane.clear(what, panes.NotThen())
			return nil
		}
		return m.pane.readOutput(m, what, w)
	}
	key := fmt.Sprintf("%s %d", what, l.State.Seq)
	if v == panes.ViewItems || v == panes.ViewDiff || v == panes.ViewService { // they grow in the middle of a turn, or go by the clock
		key += fmt.Sprint(l.Engine.Words[r.Task], l.Now.Unix()/2)
	}
	if key == m.pane.key || m.pane.reading {
		return nil
	}
	code := v == panes.ViewChecks || m.past == nil && (v == panes.ViewDiff || v == panes.ViewItems) // of the past there are words instead
	m.pane.begin(what, key, !code)
	ctx, det := m.ctx, m.det
	return func() tea.Msg { return contentMsg{key, det.Lines(ctx, w)} }
}

// readLately reads the facts since the last panes.Look.
func (m *Model) readLately() tea.Cmd {
	s := m.now.State
	if m.seen.reading || s == nil || m.seen.then != nil && m.seen.then.Seq >= s.Seq {
		return nil
	}
	m.seen.reading = true
	told, then, source := m.seen.told, m.seen.then, m.opt.Source
	return func() tea.Msg {
		told, then, err := panes.CatchUp(source, told, then, s)
		return latelyMsg{told, then, err}
	}
}

func (m *Model) told(msg latelyMsg) {
	m.seen.reading = false
	if msg.err != nil {
		m.say(draw.Bad, "What happened cannot be read: "+plainWords(msg.err))
		m.seen = lately{}
		return
	}
	m.seen.told, m.seen.then, m.seen.list = msg.told, msg.then, msg.told.List()
	if m.tab == panes.TabDecisions {
		m.fill()
	}
}

const noteFor = 8 * time.Second

// say tells the person something on the last line.
func (m *Model) say(tone draw.Style, words string) {
	m.note = note{tone: tone, words: strings.Join(strings.Fields(words), " "), until: m.now.Now.Add(noteFor)}
}

// do carries an action out beside the screen.
func (m *Model) do(call action.Call) tea.Cmd {
	if m.doing != "" {
		m.say(draw.Warn, m.doing+" is still under way")
		return nil
	}
	m.doing = call.Action
	ctx, source := m.ctx, m.opt.Source
	return func() tea.Msg {
		done, err := action.Do(ctx, source, call.Action, call.Input)
		return doneMsg{call, done, err}
	}
}

// done says what came of an action.
func (m *Model) done(msg doneMsg) {
	m.doing = ""
	if msg.err != nil {
		m.say(draw.Bad, plainWords(msg.err))
		if f, ok := m.popup.(*form); ok && f.offer.Action == msg.call.Action {
			f.wrong = plainWords(msg.err) // what was typed stays
			f.busy = false
		}
		return
	}
	if f, ok := m.popup.(*form); ok && f.offer.Action == msg.call.Action {
		m.popup = nil
	}
	m.undo = msg.done.Undo
	m.say(draw.Good, "✓ "+msg.done.Said)
	m.note.undo = m.undo != nil
}
