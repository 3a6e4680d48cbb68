package proc

import (
	"context"
	"crypto/rand"
	"io"
	"os/exec"
	"slices"
	"syscall"
	"time"
)

// Foreground is a program that a person works with for a while, such as an editor: it gets the
// terminal, belongs to the same process group, and is not tracked, for its person ends it.
type Foreground struct {
	ctx context.Context //nolint:containedctx // as exec.CommandContext has it
	c   Command
	cmd exec.Cmd
}

// foregroundGrace is how long an editor that is told to end has to put aside what was typed.
const foregroundGrace = 3 * time.Second

// NewForeground returns a program that is not started yet. Of c, Args, Dir and Env count. With the
// end of ctx it is ended, with what it has started.
func NewForeground(ctx context.Context, c Command) *Foreground { return &Foreground{ctx: ctx, c: c} }

// SetStdin says where it reads.
func (f *Foreground) SetStdin(r io.Reader) { f.cmd.Stdin = r }

// SetStdout says where it writes.
func (f *Foreground) SetStdout(w io.Writer) { f.cmd.Stdout = w }

// SetStderr says where it complains.
func (f *Foreground) SetStderr(w io.Writer) { f.cmd.Stderr = w }

// Run starts it, and returns when it has ended.
func (f *Foreground) Run() error {
	path, err := LookPath(f.c.Args[0], f.c.Dir, f.c.Env)
	if err != nil {
		return err
	}
	mark := "RALPH_FOREGROUND=" + rand.Text() // a shell does not hand a signal on to the editor below it
	f.cmd.Path, f.cmd.Args, f.cmd.Dir, f.cmd.Env = path, f.c.Args, f.c.Dir, append(slices.Clone(f.c.Env), mark)
	if err := f.cmd.Start(); err != nil {
		return explainStart(path, f.c, err)
	}
	ended := make(chan struct{})
	stop := context.AfterFunc(f.ctx, func() {
		defer close(ended)
		if NewRunner("").EndMarked(context.WithoutCancel(f.ctx), mark, foregroundGrace) == 0 {
			_ = f.cmd.Process.Signal(syscall.SIGTERM) // nobody tells here what it has started
		}
	})
	err = f.cmd.Wait()
	if !stop() {
		<-ended
	}
	return err
}
