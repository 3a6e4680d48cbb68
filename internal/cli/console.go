package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/proc"
	"github.com/ralph-loop/ralph/internal/report"
)

// console shows a running session: one line for each thing that happens, into
// the agent log and to the person; on a terminal also a line at the bottom that
// says what goes on right now. What it is told it queues, so that a terminal
// that stands still never holds the engine up.
type console struct {
	env   Env
	color bool

	mu     sync.Mutex
	queue  []shown
	closed bool
	wake   chan struct{}
	idle   chan struct{} // closed when the writer has ended

	log  *os.File
	now  status // what goes on, for the bottom line
	tick *time.Ticker
}

// shown is one line with its time; log says whether the agent log gets it.
type shown struct {
	at   time.Time
	text string
	log  bool
}

// status is what the bottom line says.
type status struct {
	stage string
	what  string
	agent string
	since time.Time
	words string
}

func newConsole(env Env) *console {
	c := &console{
		env: env, wake: make(chan struct{}, 1), idle: make(chan struct{}),
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

// openLog makes build/ralph-logs/agent-<timestamp>.log and returns its name
// (D-081). Two runs in the same second get two files.
func (c *console) openLog(root string, now time.Time) (string, error) {
	dir := filepath.Join(root, "build/ralph-logs")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("make the log folder: %w", err)
	}
	for at := now.UTC(); ; at = at.Add(time.Second) {
		name := "agent-" + at.Format("20060102T150405Z") + ".log"
		f, err := os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o644)
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

// observe is called by the journal for each event.
func (c *console) observe(e ralph.Event, s *ralph.State) {
	lines := report.Lines(e, s)
	now, changed := nextStatus(e, s)
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, l := range lines {
		c.queue = append(c.queue, shown{e.At, l, true})
	}
	if changed {
		c.now = now
	}
	c.poke()
}

// nextStatus is what the bottom line says after an event.
func nextStatus(e ralph.Event, s *ralph.State) (status, bool) {
	switch f := e.Fact.(type) {
	case ralph.StepStarted:
		what := ""
		if t := s.Task(f.Task); t != nil {
			what = t.Name
		}
		st := status{stage: strings.ToUpper(f.Step.StepName()), what: what, since: e.At}
		if turn, ok := f.Step.(ralph.Turn); ok {
			st.stage, st.agent = strings.ToUpper(string(turn.Stage)), turn.Agent
		}
		return st, true
	case ralph.TurnEnded, ralph.ChecksRan, ralph.Committed, ralph.SessionEnded, ralph.Shelved:
		return status{}, true
	case ralph.Asked:
		return status{stage: "WAITING", what: "for your answer to " + string(f.Gate.ID), since: e.At}, true
	}
	return status{}, false
}

// Said implements step.Live: the newest words go to the bottom line.
func (c *console) Said(_ ralph.TaskID, said ralph.Said) {
	if c.tick == nil || said.Kind == ralph.SaidResult || said.Kind == ralph.SaidStderr {
		return
	}
	words := strings.TrimSpace(said.Text)
	if i := strings.LastIndexByte(words, '\n'); i >= 0 {
		words = words[i+1:]
	}
	if words == "" || strings.HasPrefix(words, "```") {
		return
	}
	c.mu.Lock()
	c.now.words = words[:min(len(words), 400)]
	c.mu.Unlock()
}

// note tells the person something that is no fact of the journal.
func (c *console) note(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.queue = append(c.queue, shown{time.Now(), "NOTE: " + fmt.Sprintf(format, args...), false})
	c.poke()
}

// poke wakes the writer. Called with mu held.
func (c *console) poke() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// finish says where to look, on a terminal.
func (c *console) finish(s *ralph.State) {
	if s.Session.Ended == ralph.ReasonInterrupted && s.Session.Mode == "agent" {
		c.note("`ralph agent` goes on where it was")
	}
}

// close writes what is queued and ends the writer.
func (c *console) close() {
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

func (c *console) write(ticks <-chan time.Time) {
	defer close(c.idle)
	out := bufio.NewWriter(c.env.Stdout)
	for {
		select {
		case <-c.wake:
		case <-ticks:
		}
		c.mu.Lock()
		lines, now, closed, log := c.queue, c.now, c.closed, c.log
		c.queue = nil
		c.mu.Unlock()
		if log != nil {
			writeLog(log, lines)
		}
		if c.env.Terminal {
			_, _ = io.WriteString(out, "\r\x1b[2K")
		}
		for _, l := range lines {
			c.line(out, l)
		}
		if c.env.Terminal && now.stage != "" && !closed {
			_, _ = io.WriteString(out, c.bottom(now, time.Now()))
		}
		_ = out.Flush() // a reader that is gone does not stop the work
		if closed {
			return
		}
	}
}

// writeLog appends lines in D-082's form, with one write.
func writeLog(log *os.File, lines []shown) {
	var b strings.Builder
	for _, l := range lines {
		if l.log {
			fmt.Fprintf(&b, "[%s] %s\n", l.at.UTC().Format("2006-01-02T15:04:05Z"), l.text)
		}
	}
	_, _ = log.WriteString(b.String()) // the journal has it all; a full disk shows there
}

// line writes one line: as it is, or for a terminal.
func (c *console) line(w io.Writer, l shown) {
	text := l.text
	if c.env.Terminal {
		if text = c.pretty(l.text); text == "" {
			return
		}
	}
	fmt.Fprintln(w, text)
}

// bottom is the line that changes: a spinner, the stage, how long, the last words.
func (c *console) bottom(now status, at time.Time) string {
	spin := []rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")
	d := max(0, at.Sub(now.since))
	parts := []string{now.stage, now.what}
	if now.agent != "" {
		parts = append(parts, now.agent)
	}
	parts = append(parts, ralph.Elapsed(d))
	if now.words != "" {
		parts = append(parts, now.words)
	}
	text := []rune(fmt.Sprintf("%c %s", spin[int(d/(120*time.Millisecond))%len(spin)], strings.Join(parts, " · ")))
	if width := columns(); len(text) > width-1 {
		text = append(text[:max(0, width-2)], '…')
	}
	line := strings.Map(func(r rune) rune {
		if r < ' ' {
			return -1
		}
		return r
	}, string(text))
	return c.paint(dim, line)
}
