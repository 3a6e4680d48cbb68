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

// Impossible says why there can be no screen here, "" where there can.
func Impossible(env workspace.Env) string {
	in, ok := env.Stdin.(*os.File)
	switch {
	case !env.Terminal:
		return "the output is no terminal"
	case !ok || !tty.Is(in):
		return "the input is no terminal"
	case proc.Getenv(env.Environ, "TERM") == "dumb" || proc.Getenv(env.Environ, "TERM") == "":
		return "this terminal cannot place its cursor (TERM=" + proc.Getenv(env.Environ, "TERM") + ")"
	}
	return ""
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
