// Package ui owns `ralph ui`, the terminal screen: what it shows of the repository, its keys,
// its forms, and the program around it that gives the terminal back as it was.
//
// It does NOT own what actions are (action), what is shown as a function of State (screen,
// status, report), where it is read (observe), or how lines are drawn (ui/draw).
package ui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/action"
	"github.com/ralph-loop/ralph/internal/proc"
	"github.com/ralph-loop/ralph/internal/status"
	"github.com/ralph-loop/ralph/internal/ui/panes"
	"github.com/ralph-loop/ralph/internal/workspace"
)

// Source is the repository as the screen sees it.
type Source interface {
	action.Backend
	panes.History
	// State is the newest state; it never changes.
	State() *ralph.State
	// Engine says who works here, with the last words of the agents at work.
	Engine(s *ralph.State) status.Engine
	// Trouble is which file cannot be read, and why; "" for none.
	Trouble() string
	// Wait returns when the state has moved past seq, or with ctx.
	Wait(ctx context.Context, seq int64) error
	// Now is the time that a fact recorded now would have.
	Now() time.Time
}

// Options are what the screen needs from outside.
type Options struct {
	Source Source
	Env    workspace.Env
	Root   string // the repository
	Theme  string // dark, light; "" is found out
	Mouse  bool
	Hello  string // said at first
}

// fps is how often the terminal is drawn at most: a key is answered within one of these, and
// each costs a little also while nothing happens.
const fps = 35

// Refused says why there can be no screen here, nil where there can.
func Refused(env workspace.Env) error {
	why := ""
	in, ok := env.Stdin.(*os.File)
	switch {
	case !env.Terminal:
		why = "the output is no terminal"
	case !ok || !isTerminal(in):
		why = "the input is no terminal"
	case proc.Getenv(env.Environ, "TERM") == "dumb" || proc.Getenv(env.Environ, "TERM") == "":
		why = "this terminal cannot place its cursor (TERM=" + proc.Getenv(env.Environ, "TERM") + ")"
	default:
		return nil
	}
	return &ralph.Refusal{Why: "no screen can be shown: " + why, Hint: "[[log -f]] shows what happens line by line, [[status]] where the work stands", Kind: ralph.ErrUsage}
}

// Run shows the screen until the person leaves it. The terminal is as it was before when it
// returns, whatever ended it.
func Run(ctx context.Context, opt Options) error {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	m := New(ctx, opt)
	p := tea.NewProgram(m, tea.WithContext(ctx), tea.WithInput(opt.Env.Stdin), tea.WithOutput(terminalOf(opt.Env.Stdout)), tea.WithEnvironment(opt.Env.Environ), tea.WithFPS(fps))
	return run(ctx, p, m)
}

// terminalOf is the terminal below what rewrites words for it: its size is asked there.
func terminalOf(out io.Writer) io.Writer {
	for {
		w, ok := out.(interface{ Unwrap() io.Writer })
		if !ok {
			return out
		}
		out = w.Unwrap()
	}
}

// run is Run with a program that is made.
func run(ctx context.Context, p *tea.Program, m *Model) error {
	ctx, cancel := context.WithCancel(ctx)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		watch(ctx, m.opt.Source, p.Send)
	}()
	_, err := p.Run()
	cancel()
	<-watched // the journal is closed after this
	switch {
	case errors.Is(err, tea.ErrProgramPanic):
		return fmt.Errorf("the screen met a mistake in ralph itself, and has ended; the work goes on: %w", err)
	case ctx.Err() != nil && errors.Is(err, tea.ErrProgramKilled), errors.Is(err, tea.ErrInterrupted):
		return nil
	}
	return err
}

// Goodbye is what is left to say when the screen is gone.
func Goodbye(out io.Writer, source Source) {
	s := source.State()
	if e := source.Engine(s); e.Alive {
		fmt.Fprintf(out, "The screen is closed; the work goes on (pid %d): `ralph ui`, [[status]], [[stop]].\n", e.Pid)
	}
}

const (
	quietEvery = time.Second            // how often one looks without news while an engine works
	restEvery  = 2 * time.Second        // and how often without one: it may have come
	sameFor    = 5 * time.Second        // how long nothing is said where nothing has changed
	wordsEvery = 700 * time.Millisecond // how often agents are listened to
	burst      = 100 * time.Millisecond // keeps many facts from being many pictures
)

// watch tells of the repository whenever it has changed, and while an engine works each second:
// clocks go on. What cannot be read is said, and tried again: an engine that is killed and
// started again is no reason to end.
func watch(ctx context.Context, source Source, send func(tea.Msg)) {
	moved, waits := make(chan error, 1), false
	var wait sync.WaitGroup
	defer wait.Wait() // before the journal is closed
	w := watcher{source: source}
	for ctx.Err() == nil {
		if next, news := w.look(time.Now()); news {
			send(lookMsg(next))
		}
		if !waits && w.last.State != nil {
			waits = true
			seq := w.last.State.Seq
			wait.Go(func() { moved <- source.Wait(ctx, seq) })
		}
		every := restEvery
		if w.last.Engine.Alive {
			every = quietEvery
		}
		tick := time.NewTimer(every)
		select {
		case <-ctx.Done():
		case err := <-moved:
			waits = false
			rest := burst
			if err != nil {
				rest = quietEvery
			}
			sleep(ctx, rest)
		case <-tick.C:
		}
		tick.Stop()
	}
}

func sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

// watcher remembers what was seen last.
type watcher struct {
	source Source
	last   panes.Look
	sent   time.Time
	heard  time.Time // when agents were listened to
	asked  time.Time // when it was asked what actions go by
}

// look looks at the repository, and says whether there is anything to show. A mistake in what
// reads it is said, and is not the end of the screen.
func (w *watcher) look(now time.Time) (l panes.Look, news bool) {
	l, err := w.see(now)
	if err != nil {
		l = w.last
		l.Broken, l.Now = err.Error(), now
	}
	same := l.State == w.last.State && l.Engine.Alive == w.last.Engine.Alive && l.Broken == w.last.Broken && l.Trouble == w.last.Trouble
	w.last = l
	if l.State == nil || same && !l.Engine.Alive && now.Sub(w.sent) < sameFor {
		return l, false
	}
	w.sent = now
	return l, true
}

func (w *watcher) see(now time.Time) (l panes.Look, err error) {
	defer func() {
		if x := recover(); x != nil {
			err = fmt.Errorf("a mistake in ralph itself: %v", x)
		}
	}()
	l = panes.Look{State: w.source.State(), Now: w.source.Now(), Trouble: w.source.Trouble(), Engine: w.last.Engine, World: w.last.World}
	if l.State == nil {
		return l, errors.New("the journal cannot be read")
	}
	if now.Sub(w.heard) >= wordsEvery {
		l.Engine, w.heard = w.source.Engine(l.State), now
	}
	if l.State != w.last.State || l.Engine.Alive != w.last.Engine.Alive || now.Sub(w.asked) >= sameFor {
		l.World, w.asked = w.source.Context(), now
	}
	l.World.Engine, l.World.Now = l.Engine.Alive, l.Now
	return l, nil
}

// plainWords is an error for one line of the screen.
func plainWords(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }
