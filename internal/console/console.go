// Package console owns what a terminal shows: the lines and the panel of a session, a text
// that fits its width, and a status that stays.
//
// It does NOT own the words (report), or any command (cli).
package console

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/action"
	"github.com/ralph-loop/ralph/internal/proc"
	"github.com/ralph-loop/ralph/internal/redact"
	"github.com/ralph-loop/ralph/internal/report"
	"github.com/ralph-loop/ralph/internal/termtext"
	"github.com/ralph-loop/ralph/internal/workspace"
)

// Console shows a running session: one line for each thing that happens, into
// the agent log and to the person; on a terminal also a line at the bottom that
// says what goes on right now. What it is told it queues, so that a terminal
// that stands still never holds the engine up.
type Console struct {
	env   workspace.Env
	color bool

	Redact *redact.Redactor // set before anything is shown

	mu     sync.Mutex
	queue  []shown
	bell   bool // to be rung
	closed bool
	wake   chan struct{}
	idle   chan struct{} // closed when the writer has ended

	log   *os.File
	panel *panel // what goes on, for the bottom of a terminal
	tick  *time.Ticker
	lines report.Log // used by observe alone

	Debug  bool         // log.level: the log file has every fact with its cause
	Before *ralph.State // debug: the state before the next event; used by observe alone
}

// shown is one line with its time; slot is the slot that it is about, 0 for none;
// log says whether the agent log gets it.
type shown struct {
	at   time.Time
	text string
	slot int
	log  bool
	mute bool // only for the log
}

// New returns the console of a session; it draws a panel where there is a terminal.
func New(env workspace.Env) *Console {
	c := &Console{
		env: env, wake: make(chan struct{}, 1), idle: make(chan struct{}), panel: newPanel(),
		color: env.Terminal && proc.Getenv(env.Environ, "NO_COLOR") == "" && proc.Getenv(env.Environ, "TERM") != "dumb",
	}
	var ticks <-chan time.Time
	if env.Terminal {
		c.tick = time.NewTicker(120 * time.Millisecond)
		ticks = c.tick.C
	}
	go c.write(ticks)
	return c
}

// OpenLog makes build/ralph-logs/<mode>-<timestamp>.log and returns its name.
// Two runs in the same second get two files.
func (c *Console) OpenLog(root, mode string, now time.Time) (string, error) {
	dir := filepath.Join(root, "build/ralph-logs")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("make the log folder: %w", err)
	}
	_ = os.Chmod(dir, 0o700) // it may be of an older ralph; whoever owns it else decides
	for at := now.UTC(); ; at = at.Add(time.Second) {
		name := mode + "-" + at.Format("20060102T150405Z") + ".log"
		f, err := os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o600)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return "", fmt.Errorf("make the agent log: %w", err)
		}
		c.mu.Lock()
		c.log = f
		c.mu.Unlock()
		return "build/ralph-logs/" + name, nil
	}
}

// Observe is called by the journal for each event.
func (c *Console) Observe(e ralph.Event, s *ralph.State) {
	lines := c.lines.Lines(e, s)
	c.mu.Lock()
	defer c.mu.Unlock()
	slot := c.panel.slotOf[report.About(e.Fact)] // before the event takes it away
	c.panel.see(e, s)
	if slot == 0 {
		slot = c.panel.slotOf[report.About(e.Fact)]
	}
	_, end := e.Fact.(ralph.SessionEnded)
	after := s.Session.Ended != "" && !end // the log ends with the summary
	for _, l := range lines {
		l = action.Commands(l)
		if strings.HasPrefix(l, "SLOT ") {
			slot = 0 // it says so itself
		}
		c.queue = append(c.queue, shown{at: e.At, text: l, slot: slot, log: !after})
	}
	if c.Debug && !after { // before its lines: the log ends with the summary
		c.queue = slices.Insert(c.queue, len(c.queue)-len(lines), shown{at: e.At, text: report.Debug(e, c.Before, s), log: true, mute: true})
	}
	if c.Debug {
		c.Before = s.Clone()
	}
	c.poke()
}

// Say implements step.Live: the newest words go to the bottom line.
func (c *Console) Say(task ralph.TaskID, w ralph.Words) {
	if c.tick == nil || w.Kind == ralph.WordsResult || w.Kind == ralph.WordsStderr {
		return
	}
	words := strings.TrimSpace(c.Redact.String(w.Text))
	if i := strings.LastIndexByte(words, '\n'); i >= 0 {
		words = words[i+1:]
	}
	if words == "" || strings.HasPrefix(words, "```") {
		return
	}
	c.mu.Lock()
	c.panel.said(task, words[:min(len(words), 400)])
	c.mu.Unlock()
}

// Note tells the person something that is no fact of the journal.
func (c *Console) Note(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.queue = append(c.queue, shown{at: time.Now(), text: c.Redact.String("NOTE: " + fmt.Sprintf(format, args...))})
	c.poke()
}

// Ring sounds the bell of the terminal.
func (c *Console) Ring() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bell = true
	c.poke()
}

// poke wakes the writer. Called with mu held.
func (c *Console) poke() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// Finish says what is left for the person to do.
func (c *Console) Finish(s *ralph.State) {
	if s.Session.Mode == "autopilot" {
		c.mu.Lock()
		for _, l := range report.EndWords(s) {
			c.queue = append(c.queue, shown{at: time.Now(), text: l})
		}
		c.poke()
		c.mu.Unlock()
	}
	if s.Session.Ended == ralph.ReasonInterrupted && s.Session.Mode != "plan" {
		c.Note("%s", s.NextStart(true))
	}
}

// Close writes what is queued and ends the writer.
func (c *Console) Close() {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return
	}
	c.closed = true
	c.poke()
	c.mu.Unlock()
	<-c.idle
	if c.tick != nil {
		c.tick.Stop()
	}
	if c.log != nil {
		_ = c.log.Close()
	}
}

func (c *Console) write(ticks <-chan time.Time) {
	defer close(c.idle)
	out := bufio.NewWriter(c.env.Stdout)
	drawn := 0 // lines of the panel that stand on the terminal
	for {
		select {
		case <-c.wake:
		case <-ticks:
		}
		now := time.Now()
		columns, rows := 0, 0
		if c.env.Terminal {
			columns, rows = termtext.Size()
		}
		c.mu.Lock()
		lines, closed, log, bell := c.queue, c.closed, c.log, c.bell
		c.queue, c.bell = nil, false
		var bottom []string
		if c.env.Terminal && !closed {
			bottom = c.panel.rows(now, rows/2)
		}
		c.mu.Unlock()
		if log != nil {
			writeLog(log, lines)
		}
		lines = slices.DeleteFunc(lines, func(l shown) bool { return l.mute })
		if c.env.Terminal {
			drawn = c.draw(out, lines, bottom, now, columns, drawn)
		} else {
			for _, l := range lines {
				fmt.Fprintln(out, marked(l))
			}
		}
		if bell {
			_ = out.WriteByte('\a')
		}
		_ = out.Flush() // a reader that is gone does not stop the work
		if closed {
			return
		}
	}
}

// marked is a plain line with the slot that it is about, so that one can be followed.
func marked(l shown) string {
	if l.slot > 0 {
		return fmt.Sprintf("[%d] %s", l.slot, l.text)
	}
	return l.text
}

// draw writes lines above the panel and the panel anew over the old one, in one
// piece, so that nothing flickers. It returns how many lines the panel has.
func (c *Console) draw(w io.Writer, lines []shown, panel []string, now time.Time, columns, drawn int) int {
	if drawn > 1 {
		fmt.Fprintf(w, "\x1b[%dA", drawn-1)
	}
	_, _ = io.WriteString(w, "\r")
	if len(lines) > 0 {
		_, _ = io.WriteString(w, "\x1b[J") // a long line would show what stood below it
	}
	for _, l := range lines {
		if text := c.pretty(l.text); text != "" {
			if l.slot > 0 {
				text = c.paint(dim, fmt.Sprintf("[%d]", l.slot)) + " " + text
			}
			fmt.Fprintln(w, text)
		}
	}
	spin := []rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")
	turn := spin[int(now.UnixMilli()/120)%len(spin)]
	for i, text := range panel {
		_, _ = io.WriteString(w, c.paint(dim, fit(string(turn)+" "+text, columns))+"\x1b[K")
		if i < len(panel)-1 {
			_, _ = io.WriteString(w, "\n")
		}
	}
	_, _ = io.WriteString(w, "\x1b[J")
	return len(panel)
}

// writeLog appends lines, each with its time, with one write.
func writeLog(log *os.File, lines []shown) {
	var b strings.Builder
	for _, l := range lines {
		if l.log {
			fmt.Fprintf(&b, "[%s] %s\n", l.at.UTC().Format("2006-01-02T15:04:05Z"), marked(l))
		}
	}
	_, _ = log.WriteString(b.String()) // the journal has it all; a full disk shows there
}
