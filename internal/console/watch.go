package console

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/action"
	"github.com/ralph-loop/ralph/internal/journal"
	"github.com/ralph-loop/ralph/internal/observe"
	"github.com/ralph-loop/ralph/internal/status"
	"github.com/ralph-loop/ralph/internal/termtext"
	"github.com/ralph-loop/ralph/internal/workspace"
)

const (
	// clockEvery is how often the status is looked at without news: clocks go on, agents
	// say something, an engine may have died without a word.
	clockEvery = time.Second
	// drawAtMost keeps a burst of facts from being a burst of pictures.
	drawAtMost = 100 * time.Millisecond
)

// Watch shows the status, and each change of it, until a signal or ctx ends it.
func Watch(ctx context.Context, env workspace.Env, asJSON bool) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	root, err := workspace.FindRoot(env)
	if err != nil {
		return err
	}
	j, err := workspace.OpenReader(env, true, true)
	if err != nil {
		return err
	}
	defer j.Close()
	w := &watcher{journal: j, listener: observe.NewOutputTail(env, root), show: (&blocks{env: env}).show}
	switch {
	case asJSON:
		w.show = (&objects{out: env.Stdout}).show
	case env.Terminal:
		s := &onTerminal{env: env, size: termtext.Size}
		defer s.leave()
		w.show = s.show
		w.signals = make(chan os.Signal, 4)
		signal.Notify(w.signals, syscall.SIGWINCH, syscall.SIGTSTP, syscall.SIGCONT)
		defer signal.Stop(w.signals)
		w.suspend = s.suspend
	}
	return w.run(ctx)
}

// watcher looks at the journal and has the status shown.
type watcher struct {
	journal  *journal.File
	listener *observe.OutputTail
	show     func(frame) error // an error ends the watch: nobody reads any more
	signals  chan os.Signal    // of a terminal: another size, put aside, back again
	suspend  func() error
}

// frame is the status at one moment.
type frame struct {
	state  *ralph.State
	engine status.Engine
	now    time.Time
}

func (w *watcher) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	moved := make(chan error, 1)
	waits := false
	var wait sync.WaitGroup
	defer wait.Wait() // it has to be over before the journal is closed
	defer cancel()
	tick := time.NewTicker(clockEvery)
	defer tick.Stop()
	for {
		s, _ := w.journal.Shown() // what cannot be read was said at the start
		engine := observe.Engine(w.journal)
		engine.Words = w.listener.Words(s, engine)
		if err := w.show(frame{s, engine, time.Now()}); err != nil {
			return err
		}
		if !waits {
			waits = true
			wait.Go(func() { moved <- w.journal.Wait(ctx, s.Seq) })
		}
		select {
		case <-ctx.Done():
			return nil
		case err := <-moved:
			if waits = false; err != nil {
				return ended(ctx, err)
			}
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(drawAtMost):
			}
		case <-tick.C:
		case sig := <-w.signals:
			if sig == syscall.SIGTSTP {
				if err := w.suspend(); err != nil {
					return err
				}
			}
		}
	}
}

// ended is nil when it was the watch that ended, not the journal.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// blocks prints the status whenever the journal moves, or the engine comes or goes: for
// pipes and files.
type blocks struct {
	env    workspace.Env
	change change
	text   string
}

// change tells one look from the next.
type change struct {
	begun bool
	seq   int64
	alive bool
}

// news reports whether anything happened since the last look; clocks are no news.
func (c *change) news(l frame) bool {
	now := change{true, l.state.Seq, l.engine.Alive}
	same := *c == now
	*c = now
	return !same
}

func (b *blocks) show(l frame) error {
	if !b.change.news(l) {
		return nil
	}
	text := action.Commands(status.Text(l.state, l.engine, l.now))
	if text == b.text {
		return nil
	}
	b.text = text
	_, err := fmt.Fprintf(b.env.Stdout, "--- %s ---\n%s\n", l.now.Local().Format("2006-01-02 15:04:05"), text)
	return err
}

// objects prints the status as JSON, one object a line.
type objects struct {
	out    io.Writer
	change change
}

func (o *objects) show(l frame) error {
	if !o.change.news(l) {
		return nil
	}
	enc := json.NewEncoder(o.out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(status.All(l.state, l.engine, l.now)); err != nil {
		return fmt.Errorf("print JSON: %w", err)
	}
	return nil
}

// onTerminal draws the status over itself on a terminal, in the second buffer that
// terminals have, so that what stood there before is back at the end.
type onTerminal struct {
	env  workspace.Env
	size func() (columns, rows int)
	open bool
	last string // picture that stands there
	text string // all of it, for the end
}

// What steers the terminal: the other buffer, no cursor, no wrapping; and back.
const (
	enterScreen = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J"
	leaveScreen = "\x1b[?7h\x1b[?25h\x1b[?1049l"
	homeCursor  = "\x1b[H"
	clearLine   = "\x1b[K"
	clearBelow  = "\x1b[J"
)

func (s *onTerminal) show(l frame) error {
	columns, rows := s.size()
	lines := termtext.Lines(action.Commands(status.Text(l.state, l.engine, l.now)), columns, s.env.Terminal && termtext.Colored(s.env.Environ))
	s.text = strings.Join(lines, "\n") + "\n"
	doing := "no engine runs" // said here too: on a small terminal its line may not fit
	if l.engine.Alive {
		doing = l.state.Mode()
	}
	foot := fmt.Sprintf("%s  %s  Ctrl+C ends this view, not the work", l.now.Local().Format("15:04:05"), doing)
	if most := max(1, rows-2); len(lines) > most {
		foot = fmt.Sprintf("... %d more: ralph status   %s", len(lines)-most, foot)
		lines = lines[:most]
	}
	c := Console{color: s.env.Terminal && termtext.Colored(s.env.Environ)}
	var b strings.Builder
	b.WriteString(homeCursor)
	for _, line := range lines {
		b.WriteString(line + clearLine + "\r\n")
	}
	b.WriteString(clearLine + "\r\n" + c.paint(dim, fit(foot, columns)) + clearLine + clearBelow)
	picture := fmt.Sprintf("%d %d %s", columns, rows, b.String())
	if picture == s.last {
		return nil
	}
	enter := ""
	if !s.open {
		enter = enterScreen
	}
	s.last, s.open = picture, true
	_, err := io.WriteString(s.env.Stdout, enter+b.String())
	return err
}

// leave gives the terminal back, with the last status on it.
func (s *onTerminal) leave() {
	if s.open {
		s.open, s.last = false, ""
		_, _ = io.WriteString(s.env.Stdout, leaveScreen+s.text)
	}
}

// suspend is Ctrl+Z: the terminal is given back until the shell lets the watch go on.
func (s *onTerminal) suspend() error {
	s.leave()
	if err := syscall.Kill(os.Getpid(), syscall.SIGSTOP); err != nil {
		return fmt.Errorf("suspend: %w", err)
	}
	return nil
}
