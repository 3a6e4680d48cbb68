// Package ui owns `ralph ui`, the terminal screen: what it shows of the repository, its keys,
// its forms, and the program around it that gives the terminal back as it was.
//
// It does NOT own what actions are (action), what is shown as a function of State (screen,
// status, report), where it is read (observe), or how lines are drawn (ui/draw).
package ui

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/proc"
	"github.com/ralph-loop/ralph/internal/ui/tty"
	"github.com/ralph-loop/ralph/internal/ui/watch"
	"github.com/ralph-loop/ralph/internal/workspace"
)

// Options are what the screen needs from outside.
type Options struct {
	Source watch.Source
	Env    workspace.Env
	Root   string // the repository
	Theme  string // dark, light; "" is found out
	Mouse  bool
	Hello  string // said at first
}

// Refused says why there can be no screen here, nil where there can.
func Refused(env workspace.Env) error {
	why := ""
	in, ok := env.Stdin.(*os.File)
	switch {
	case !env.Terminal:
		why = "the output is no terminal"
	case !ok || !tty.Is(in):
		why = "the input is no terminal"
	case proc.Getenv(env.Environ, "TERM") == "dumb" || proc.Getenv(env.Environ, "TERM") == "":
		why = "this terminal cannot place its cursor (TERM=" + proc.Getenv(env.Environ, "TERM") + ")"
	default:
		return nil
	}
	return &ralph.Refusal{Why: "no screen can be shown: " + why, Hint: "[[log -f]] shows what happens line by line, [[status]] where the work stands", Kind: ralph.ErrUsage}
}

// Goodbye is what is left to say when the screen is gone.
func Goodbye(out io.Writer, source watch.Source) {
	s := source.State()
	if e := source.Engine(s); e.Alive {
		fmt.Fprintf(out, "The screen is closed; the work goes on (pid %d): `ralph ui`, [[status]], [[stop]].\n", e.Pid)
	}
}

// plainWords is an error for one line of the screen.
func plainWords(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }
