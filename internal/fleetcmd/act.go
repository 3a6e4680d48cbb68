package fleetcmd

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/action"
	"github.com/ralph-loop/ralph/internal/workspace"
)

// Act is what a person does with a repository whose coordinator is on another machine.
type Act struct {
	Repo   string // its address, just as the coordinator has it
	Action string // of the table of actions; "": it is looked at
	Input  action.Input
	Look   []string // the command that looks, with its arguments
	After  int64    // of a log: only what came after this fact; it is waited for
	Stays  bool     // it may wait until there is a coordinator
}

// Acted is what came of it.
type Acted struct {
	Result  action.Result
	Out     string // what the command said
	Seq     int64  // the newest fact that it could see
	Waiting bool   // there is no coordinator now: it is done when there is one
}

// Who is whoever uses this machine, as it says itself.
func Who() string {
	name, host := "somebody", "somewhere"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	if h, err := os.Hostname(); err == nil {
		host = h
	}
	return name + "@" + host
}

// Look prints what a command that looks says at the coordinator; it goes on, as a log does, until
// ctx is over.
func Look(ctx context.Context, f Fleet, env workspace.Env, at At, what Act, follow bool) error {
	if follow {
		var stop context.CancelFunc
		ctx, stop = signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
		defer stop()
	}
	for {
		done, err := f.Act(ctx, env, at, what)
		if ctx.Err() != nil && follow {
			return nil // Ctrl+C ends the view
		}
		if err != nil {
			return err
		}
		if _, err := io.WriteString(env.Stdout, done.Out); err != nil || !follow {
			return err
		}
		what.After = done.Seq
		what.Look = slices.DeleteFunc(slices.Clone(what.Look), func(w string) bool { return strings.HasPrefix(w, "--lines=") })
	}
}

// MaxSubmitted bounds a spec that travels: what is put into Temporal stays below 256 kB.
const MaxSubmitted = 128 << 10

// Submitted reads a spec that is to be queued elsewhere: a file, or - for standard input.
func Submitted(env workspace.Env, file, name string) (action.Input, error) {
	in, from := action.Input{File: name}, env.Stdin
	if file != "-" {
		if !filepath.IsAbs(file) {
			file = filepath.Join(env.Dir, file)
		}
		there, err := os.Open(file)
		if err != nil {
			return in, &ralph.Refusal{Why: "the spec cannot be read: " + err.Error(), Hint: "give the path of a markdown file, or - for standard input", Kind: ralph.ErrUsage}
		}
		defer there.Close()
		from = there
		if name == "" {
			in.File = filepath.Base(file)
		}
	}
	if in.File == "" {
		return in, usage("standard input has no name: say which file the spec is to be, --name NAME.md")
	}
	b, err := io.ReadAll(io.LimitReader(from, MaxSubmitted+1))
	switch {
	case err != nil:
		return in, fmt.Errorf("read the spec: %w", err)
	case len(b) > MaxSubmitted:
		return in, &ralph.Refusal{Why: fmt.Sprintf("the spec is larger than %d kB", MaxSubmitted>>10), Hint: "split it, or commit it to ralph/specs and queue it at the coordinator", Kind: ralph.ErrUsage}
	case strings.TrimSpace(string(b)) == "":
		return in, &ralph.Refusal{Why: "the spec is empty", Hint: "say in it what is wanted", Kind: ralph.ErrUsage}
	}
	in.Text = string(b)
	return in, nil
}
