package ui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/ralph-loop/ralph/internal/proc"
	"github.com/ralph-loop/ralph/internal/ui/draw"
	"github.com/ralph-loop/ralph/internal/ui/panes"
	"github.com/ralph-loop/ralph/internal/ui/tty"
	"github.com/ralph-loop/ralph/internal/ui/watch"
)

const (
	// paintEvery is how often what comes by itself is drawn at most.
	paintEvery = 80 * time.Millisecond
	// warm is how long after a key all is drawn at once: it is what came of the key.
	warm = 150 * time.Millisecond
)

type (
	paintMsg   struct{}
	redrawMsg  struct{}
	copyMsg    string
	mistakeMsg struct {
		what  any
		stack []byte
	}
)

// program is the model on a terminal: what bubbletea calls, and what draws. It draws when
// something has changed, not by a clock: a key has its picture at once, and a screen on which
// nothing happens costs nothing.
type program struct {
	m        *Model
	terminal *tty.Terminal
	canvas   draw.Canvas
	buf      []byte

	painted time.Time
	touched time.Time // the newest key
	due     bool      // a painting is on its way
	mistake *mistakeMsg
}

// newProgram puts a model on a terminal. The options of bubbletea say where keys come from.
func newProgram(ctx context.Context, m *Model, t *tty.Terminal, options ...tea.ProgramOption) (*program, *tea.Program) {
	p := &program{m: m, terminal: t}
	m.aside = p.aside
	options = append(options,
		// An end of ctx is told to the program in run: one that is killed does not wait for what reads
		// the keys, which would then read from a file that is closed.
		tea.WithContext(context.WithoutCancel(ctx)), tea.WithoutRenderer(), tea.WithFPS(1), // of nothing: it only looks whether there is something to write
		tea.WithFilter(func(_ tea.Model, msg tea.Msg) tea.Msg {
			switch msg.(type) {
			case tea.SuspendMsg:
				_ = t.Give() // what cannot be written to a terminal ends the screen by its next picture
			case tea.InterruptMsg:
				return tea.Quit() // ends as any other way out, for the same reason
			}
			return msg
		}))
	return p, tea.NewProgram(p, options...)
}

// questions are what the terminal is asked when it is taken: its background, and whether it can
// hold a picture back until it is whole. That is not asked where a terminal is known to write
// the question on the screen.
func questions(environ []string, theme string) string {
	words := ""
	if theme == "" {
		words = ansi.RequestBackgroundColor
	}
	if proc.Getenv(environ, "SSH_TTY") == "" && proc.Getenv(environ, "TERM_PROGRAM") != "Apple_Terminal" {
		words += ansi.RequestModeSynchronizedOutput
	}
	return words
}

// Init does nothing: the terminal was asked when it was taken.
func (p *program) Init() tea.Cmd { return nil }

// View is nothing to bubbletea: pictures are written by paint.
func (p *program) View() tea.View { return tea.View{} }

// Update hands a message to the model, and draws what has changed.
func (p *program) Update(msg tea.Msg) (next tea.Model, cmd tea.Cmd) {
	defer func() {
		if x := recover(); x != nil {
			next, cmd = p, p.broke(mistakeMsg{x, debug.Stack()})
		}
	}()
	if cmd, ok := p.own(msg); ok {
		return p, cmd
	}
	cmd = p.guard(p.m.Update(msg))
	if !p.m.dirty {
		return p, cmd
	}
	now := time.Now()
	if byPerson(msg) {
		p.touched = now
	}
	since := now.Sub(p.painted)
	if since >= paintEvery || now.Sub(p.touched) < warm {
		return p, tea.Batch(cmd, p.paint())
	}
	if !p.due {
		p.due = true
		cmd = tea.Batch(cmd, tea.Tick(paintEvery-since, func(time.Time) tea.Msg { return paintMsg{} }))
	}
	return p, cmd
}

// own is what concerns the terminal alone.
func (p *program) own(msg tea.Msg) (tea.Cmd, bool) {
	switch msg := msg.(type) {
	case mistakeMsg:
		return p.broke(msg), true
	case paintMsg:
		p.due = false
		return p.paint(), true
	case redrawMsg:
		_ = p.terminal.Clear()
		p.canvas.Forget()
		p.m.dirty = true
		return p.paint(), true
	case copyMsg:
		_ = p.terminal.Copy(string(msg))
		return nil, true
	case tea.ModeReportMsg:
		if msg.Mode == ansi.ModeSynchronizedOutput && msg.Value == ansi.ModeReset {
			p.terminal.Holds()
		}
		return nil, true
	case tea.ResumeMsg:
		if err := p.takeAgain(); err != nil {
			return tea.Quit, true
		}
		return p.paint(), true
	}
	return nil, false
}

func byPerson(msg tea.Msg) bool {
	switch msg.(type) {
	case tea.KeyPressMsg, tea.MouseMsg, tea.PasteMsg, tea.WindowSizeMsg:
		return true
	}
	return false
}

// paint writes what has changed. A terminal that takes nothing any more ends the screen.
func (p *program) paint() tea.Cmd {
	if !p.m.dirty {
		return nil
	}
	p.buf = p.canvas.Paint(p.buf[:0], p.m.theme, p.m.picture(), p.m.width)
	if err := p.terminal.Show(p.buf, p.m.title()); err != nil {
		return tea.Quit
	}
	p.painted = time.Now()
	return nil
}

// takeAgain takes the terminal after it was given to somebody else; it may have another size.
func (p *program) takeAgain() error {
	p.canvas.Forget()
	p.m.dirty = true
	if w, h := p.terminal.Size(); w > 0 {
		p.m.width, p.m.height = w, h
	}
	return p.terminal.Take()
}

// outside is a program that gets the terminal for a while.
type outside struct {
	*proc.Foreground
	p *program
}

func (p *program) aside(run *proc.Foreground) tea.ExecCommand { return outside{run, p} }

// Run gives it the terminal, and takes that again when it has ended.
func (o outside) Run() error {
	if err := o.p.terminal.Give(); err != nil {
		return err
	}
	return errors.Join(o.Foreground.Run(), o.p.terminal.Mend(), o.p.takeAgain())
}

// guard has a mistake in what runs beside the screen end the screen, not the terminal's use.
func (p *program) guard(cmd tea.Cmd) tea.Cmd {
	if cmd == nil {
		return nil
	}
	return func() (msg tea.Msg) {
		defer func() {
			if x := recover(); x != nil {
				msg = mistakeMsg{x, debug.Stack()}
			}
		}()
		msg = cmd()
		if batch, ok := msg.(tea.BatchMsg); ok {
			for i := range batch {
				batch[i] = p.guard(batch[i])
			}
		}
		return msg
	}
}

func (p *program) broke(x mistakeMsg) tea.Cmd {
	if p.mistake == nil {
		p.mistake = &x
	}
	return tea.Quit
}

// frugal is the GOGC of a screen: it is open all day beside the work, has little, and time to look
// for what it needs no more.
const frugal = 30

// Run shows the screen until the person leaves it. The terminal is as it was before when it
// returns, whatever ended it.
func Run(ctx context.Context, opt Options) error {
	if proc.Getenv(opt.Env.Environ, "GOGC") == "" {
		defer debug.SetGCPercent(debug.SetGCPercent(frugal))
	}
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	in, _ := opt.Env.Stdin.(*os.File)
	out := tty.Below(opt.Env.Stdout)
	t := tty.New(in, out, opt.Mouse, questions(opt.Env.Environ, opt.Theme))
	columns, rows := t.Size()
	p, program := newProgram(ctx, New(ctx, opt), t, tea.WithInput(in), tea.WithOutput(out), tea.WithEnvironment(opt.Env.Environ), tea.WithWindowSize(columns, rows))
	sizes := make(chan os.Signal, 1)
	signal.Notify(sizes, syscall.SIGWINCH)
	defer signal.Stop(sizes)
	gone := make(chan struct{})
	defer close(gone)
	go func() {
		for {
			select {
			case <-gone:
				return
			case <-sizes:
				if w, h := t.Size(); w > 0 {
					program.Send(tea.WindowSizeMsg{Width: w, Height: h})
				}
			}
		}
	}()
	return p.run(ctx, program)
}

// run is Run with a program that is made.
func (p *program) run(ctx context.Context, program *tea.Program) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := p.terminal.Take(); err != nil {
		return err
	}
	defer func() { _ = p.terminal.Give() }() // after a panic of what is not ours
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		defer func() {
			if x := recover(); x != nil {
				program.Send(mistakeMsg{x, debug.Stack()})
			}
		}()
		watch.Follow(ctx, p.m.opt.Source, func(l panes.Look) { program.Send(lookMsg(l)) })
	}()
	stop := context.AfterFunc(ctx, program.Quit)
	_, err := program.Run()
	stop()
	given := p.terminal.Give()
	cancel()
	<-watched // the journal is closed after this
	switch {
	case p.mistake != nil:
		return p.mistake.of(p.m.opt.Env.Stderr)
	case errors.Is(err, tea.ErrProgramPanic):
		return fmt.Errorf("the screen met a mistake in ralph itself, and has ended; the work goes on: %w", err)
	}
	return errors.Join(err, given)
}

// of tells of a mistake in the screen, with where it was made.
func (x *mistakeMsg) of(stderr io.Writer) error {
	if stderr != nil {
		fmt.Fprintf(stderr, "%s\n", strings.TrimSpace(string(x.stack)))
	}
	return fmt.Errorf("the screen met a mistake in ralph itself, and has ended; the work goes on: %v", x.what)
}
