package ui

import (
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/observe"
	"github.com/ralph-loop/ralph/internal/ui/draw"
	"github.com/ralph-loop/ralph/internal/ui/panes"
)

const (
	ringLines   = 5000                   // of an output that are kept
	outputEvery = 100 * time.Millisecond // how often an output is looked at while it grows
	outputRests = time.Second            // nothing has come for so long: it is read with each look at the repository
)

// pane is the right panel: lines that are longer than it, and where one is in them.
type pane struct {
	what    string // the row and the view
	key     string // what and when: changes when it has to be read again
	lines   []draw.Line
	reading bool
	ticking bool

	top    int
	follow bool // it stays at its end
	unread int  // lines that came while one looked further up
	wrap   bool // turned round by a person: words are wrapped, code and output are not
	prose  bool // it is words
	search string
	hit    int // the line that was found last

	stream  *observe.Stream
	next    time.Duration // how long until the output is looked at again
	colors  draw.Output
	partial bool // the newest line goes on
	wrapped []draw.Line
	wrapAt  [2]int // columns and lines that wrapped was made for
}

// clear shows lines that need no reading.
func (p *pane) clear(what string, lines []draw.Line) {
	if p.what != what {
		p.restart(what)
	}
	p.lines, p.key, p.wrapped, p.prose = lines, what, nil, true
}

// restart begins to show something else.
func (p *pane) restart(what string) {
	p.what, p.lines, p.top, p.follow, p.unread, p.hit, p.stream, p.partial, p.wrapped = what, nil, 0, false, 0, 0, nil, false, nil
	p.key, p.next = "", 0
}

// begin notes that lines are being read.
func (p *pane) begin(what, key string, prose bool) {
	if p.what != what {
		p.restart(what)
	}
	p.key, p.reading, p.prose = key, true, prose
}

// content takes in what was read; of what nobody looks at any more nothing is kept.
func (p *pane) content(msg contentMsg) {
	p.reading = false
	if msg.key == p.key {
		p.lines, p.wrapped = msg.lines, nil
	}
}

// readOutput reads what an agent has printed since the last panes.Look.
func (p *pane) readOutput(m *Model, what string, w panes.Wanted) tea.Cmd {
	if p.what != what {
		p.restart(what)
		p.follow = true
	}
	p.key, p.prose = what, false
	t := w.Look.State.Task(w.Row.Task)
	if t == nil || p.reading {
		return nil
	}
	p.reading = true
	stream, turns := p.stream, m.det.Turns
	cmd := func() tea.Msg {
		path := turns.Output(t)
		if path == "" {
			return outputMsg{}
		}
		if stream == nil || stream.Path != path {
			stream = turns.Follow(t, path)
		}
		pieces, err := stream.Read()
		return outputMsg{path, pieces, stream, err}
	}
	return cmd
}

// await has a growing output looked at again before the next look at the repository, the later the
// longer nothing has come: an agent that thinks is not asked ten times a second.
func (p *pane) await(m *Model, news bool) tea.Cmd {
	if p.next = min(outputRests, max(2*p.next, outputEvery)); news {
		p.next = outputEvery
	}
	if p.ticking || p.next == outputRests || !m.growing() {
		return nil
	}
	p.ticking = true
	return m.later(p.next)
}

// tick looks at a growing output once more.
func (m *Model) tick() tea.Cmd {
	m.pane.ticking, m.dirty = false, false
	if v, _ := m.viewNow(); v != panes.ViewOutput || m.past != nil {
		return nil
	}
	return m.read()
}

// output takes in what an agent printed.
func (p *pane) output(m *Model, msg outputMsg) tea.Cmd {
	p.reading = false
	if v, _ := m.viewNow(); v != panes.ViewOutput || p.key != p.what {
		return m.read()
	}
	switch {
	case msg.err != nil:
		p.lines, p.stream = panes.Failed(msg.err), nil
		return nil
	case msg.stream == nil:
		if p.stream == nil {
			p.lines = []draw.Line{draw.Of(draw.Dim, "It has printed nothing yet.")}
		}
		return p.await(m, false)
	}
	if p.stream != msg.stream { // another turn
		p.stream, p.lines, p.colors, p.partial, p.unread = msg.stream, nil, draw.Output{}, false, 0
		if n := msg.stream.Before; n > 0 {
			p.lines = append(p.lines, draw.Of(draw.Dim, fmt.Sprintf("… %d bytes before this are in %s", n, m.short(msg.path))))
		}
	} else if len(msg.pieces) == 0 {
		m.dirty = false
		return p.await(m, false)
	}
	before := len(p.lines)
	for _, x := range msg.pieces {
		p.add(x)
	}
	p.wrapped = nil
	came := len(p.lines) - before
	if over := len(p.lines) - ringLines; over > 0 {
		p.lines = append([]draw.Line(nil), p.lines[over:]...)
		if !p.follow {
			p.top = max(0, p.top-over)
		}
	}
	if !p.follow {
		p.unread += came
	}
	return p.await(m, true)
}

// add puts a piece of an output behind the lines.
func (p *pane) add(x observe.Piece) {
	sign, style := "", draw.Plain
	switch x.Kind {
	case ralph.WordsTool:
		sign, style = "▸ ", draw.Accent
	case ralph.WordsResult, ralph.WordsReasoning:
		sign, style = "  ", draw.Dim
	case ralph.WordsError:
		sign, style = "✗ ", draw.Bad
	case ralph.WordsStderr:
		sign, style = "! ", draw.Warn
	}
	p.colors.In(style)
	for line := range strings.Lines(strings.TrimRight(x.Text, "\n") + "\n") {
		l := p.colors.Line([]byte(strings.TrimRight(line, "\n")))
		if sign != "" {
			l = draw.Line{{Style: style, Text: sign}}.Join(l)
			sign = strings.Repeat(" ", len([]rune(sign)))
		}
		p.lines = append(p.lines, l)
	}
}

// short is a path as it stands in the repository.
func (m *Model) short(path string) string {
	if rest, ok := strings.CutPrefix(path, m.opt.Root+"/"); ok {
		return rest
	}
	return path
}

// fitted are the lines as they stand in so many columns.
func (p *pane) fitted(columns int) []draw.Line {
	if p.wrap == p.prose {
		return p.lines
	}
	if p.wrapped == nil || p.wrapAt != [2]int{columns, len(p.lines)} {
		p.wrapped, p.wrapAt = nil, [2]int{columns, len(p.lines)}
		for _, l := range p.lines {
			p.wrapped = append(p.wrapped, l.Wrap(columns, 2)...)
		}
	}
	return p.wrapped
}

// visible are the lines that fit, from where one is.
func (p *pane) visible(columns, rows int) (lines []draw.Line, top, all int) {
	fitted := p.fitted(columns)
	most := max(0, len(fitted)-rows)
	if p.follow {
		p.top = most
	}
	p.top = min(max(0, p.top), most)
	return fitted[p.top:min(len(fitted), p.top+rows)], p.top, len(fitted)
}

// scroll moves what is seen; at the end of an output it follows again.
func (p *pane) scroll(by, rows, columns int, output bool) {
	fitted := len(p.fitted(columns))
	most := max(0, fitted-rows)
	if p.follow {
		p.top = most
	}
	p.top = min(max(0, p.top+by), most)
	p.follow = output && p.top == most
	if p.follow {
		p.unread = 0
	}
}

// find goes to the next line with the words, or the one before.
func (p *pane) find(back bool, columns, rows int) bool {
	fitted := p.fitted(columns)
	words := strings.ToLower(p.search)
	for i := range fitted {
		n := p.hit + 1 + i
		if back {
			n = p.hit - 1 - i
		}
		n = ((n % len(fitted)) + len(fitted)) % len(fitted)
		if strings.Contains(strings.ToLower(fitted[n].String()), words) {
			p.hit, p.follow = n, false
			p.top = max(0, min(n-rows/2, len(fitted)-rows))
			return true
		}
	}
	return false
}
