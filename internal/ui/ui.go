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
	return &ralph.Refusal{Why: "no screen can be shown: " + why, Hint: "`ralph log -f` shows what happens line by line, `ralph status` where the work stands", Kind: ralph.ErrUsage}
}

// Run shows the screen until the person leaves it. The terminal is as it was before when it
// returns, whatever ended it.
func Run(ctx context.Context, opt Options) error {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	m := New(ctx, opt)
	p := tea.NewProgram(m, tea.WithContext(ctx), tea.WithInput(opt.Env.Stdin), tea.WithOutput(opt.Env.Stdout), tea.WithEnvironment(opt.Env.Environ), tea.WithFPS(fps))
	return run(ctx, p, m)
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
		fmt.Fprintf(out, "The screen is closed; the work goes on (pid %d): `ralph ui`, `ralph status`, `ralph stop`.\n", e.Pid)
	}
}

const (
	quietEvery = time.Second            // how often one looks without news
	wordsEvery = 700 * time.Millisecond // how often agents are listened to
	burst      = 100 * time.Millisecond // keeps many facts from being many pictures
)

// watch tells of the repository whenever it has changed, and each second. What cannot be read
// is said, and tried again: an engine that is killed and started again is no reason to end.
func watch(ctx context.Context, source Source, send func(tea.Msg)) {
	var last panes.Look
	var heard time.Time
	for ctx.Err() == nil {
		next, err := lookAt(source, last, &heard)
		if err != nil {
			next = last
			next.Broken, next.Now = err.Error(), time.Now()
		}
		if next.State != nil {
			send(lookMsg(next))
		}
		last = next
		if !pause(ctx, source, last) {
			return
		}
	}
}

// pause lets time pass until there may be something new; false at the end.
func pause(ctx context.Context, source Source, last panes.Look) bool {
	if last.State == nil || last.Broken != "" {
		return sleep(ctx, quietEvery)
	}
	wait, cancel := context.WithTimeout(ctx, quietEvery)
	defer cancel()
	err := source.Wait(wait, last.State.Seq)
	switch {
	case ctx.Err() != nil:
		return false
	case err == nil, !errors.Is(err, context.DeadlineExceeded):
		return sleep(ctx, burst)
	}
	return true
}

func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// lookAt looks at the repository. A mistake in what reads it is an error, not the end of the
// screen.
func lookAt(source Source, last panes.Look, heard *time.Time) (l panes.Look, err error) {
	defer func() {
		if x := recover(); x != nil {
			err = fmt.Errorf("a mistake in ralph itself: %v", x)
		}
	}()
	l = panes.Look{State: source.State(), Now: source.Now(), World: source.Context(), Trouble: source.Trouble()}
	if l.State == nil {
		return l, errors.New("the journal cannot be read")
	}
	if now := time.Now(); now.Sub(*heard) >= wordsEvery || last.Engine.Alive != l.World.Engine {
		l.Engine, *heard = source.Engine(l.State), now
	} else {
		l.Engine = last.Engine
	}
	l.World.Engine = l.Engine.Alive
	return l, nil
}

// plainWords is an error for one line of the screen.
func plainWords(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }
