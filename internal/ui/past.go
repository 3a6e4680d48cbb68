package ui

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/ralph-loop/ralph/internal/action"
	"github.com/ralph-loop/ralph/internal/status"
	"github.com/ralph-loop/ralph/internal/ui/draw"
	"github.com/ralph-loop/ralph/internal/ui/panes"
)

// travelled is the way through time: the facts of the newest session, and where one is.
type travelled struct {
	first, last int64
	at          int64 // where one wants to be
	reading     bool
	look        panes.Look // what was there; its state is nil until it is read
}

type pastMsg struct {
	at    int64
	first int64 // of the session, where it was asked for
	look  panes.Look
	err   error
}

// travel begins the way back, or ends it.
func (m *Model) travel() tea.Cmd {
	if m.past != nil {
		m.past = nil
		m.fill()
		return m.read()
	}
	s := m.now.State
	if s == nil || s.Seq < 2 {
		m.say(draw.Warn, "There is no past yet.")
		return nil
	}
	m.past = &travelled{first: 1, last: s.Seq, at: s.Seq}
	return m.step(-1)
}

// step goes some facts back or on.
func (m *Model) step(by int64) tea.Cmd {
	p := m.past
	p.at = min(max(p.first, p.at+by), p.last)
	return m.goThere()
}

// stride goes a good piece of the way.
func (m *Model) stride(by int64) tea.Cmd {
	return m.step(by * max(2, (m.past.last-m.past.first)/20))
}

// goThere reads the state that one wants to see. Who goes on meanwhile is taken there next.
func (m *Model) goThere() tea.Cmd {
	p := m.past
	if p.reading {
		return nil
	}
	p.reading = true
	at, source, newest, keys := p.at, m.opt.Source, m.now.State, m.now.Context.Keys
	first := int64(0)
	if p.look.State != nil {
		first = p.first
	}
	return func() tea.Msg {
		if first == 0 {
			first = 1
			if begun, err := source.AtTime(newest.Session.Since); err == nil && begun.Seq > 0 && begun.Seq < at {
				first = begun.Seq
			}
		}
		s, err := source.At(at)
		if err != nil {
			return pastMsg{at: at, first: first, err: err}
		}
		s = s.Clone()
		engine := status.Then(s)
		world := action.Context{Engine: engine.Alive, Now: s.At, Past: true, Keys: keys}
		return pastMsg{at: at, first: first, look: panes.Look{State: s, Engine: engine, Now: s.At, Context: world, Past: true}}
	}
}

// arrived shows the moment that was read.
func (m *Model) arrived(msg pastMsg) tea.Cmd {
	p := m.past
	if p == nil {
		return nil
	}
	p.reading = false
	if msg.err != nil {
		m.past = nil
		m.say(draw.Bad, "The past cannot be read: "+plainWords(msg.err))
		m.fill()
		return m.read()
	}
	p.first, p.look = msg.first, msg.look.Stood()
	p.at = max(p.at, p.first)
	m.fill()
	if p.at != msg.at {
		return tea.Batch(m.goThere(), m.read())
	}
	return m.read()
}

// slider is the way through time as a line.
func (m *Model) slider(columns int) draw.Line {
	p := m.past
	at := p.at
	words := fmt.Sprintf(" fact %d of %d ", at, p.last)
	if p.look.State != nil {
		words += p.look.State.At.Local().Format("15:04:05 ")
	}
	one, more := m.keyOf("earlier")+" "+m.keyOf("later"), m.keyOf("far-earlier")+" "+m.keyOf("far-later")
	keys := " " + one + " one   " + more + " more   esc now "
	if columns < 70 {
		keys = " " + one + " " + more + " esc "
	}
	room := columns - draw.Width(words) - draw.Width(keys)
	if room < 8 {
		return draw.Of(draw.Warn, words+keys).Fit(columns)
	}
	n := int(int64(room-1) * (at - p.first) / max(1, p.last-p.first))
	n = min(max(0, n), room-1)
	return draw.Of(draw.Warn, words).Add(draw.Accent, strings.Repeat("━", n)+"●").Add(draw.Border, strings.Repeat("─", room-1-n)).Add(draw.Dim, keys)
}
