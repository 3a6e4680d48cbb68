package proc

import (
	"io"
	"os/exec"
)

// Foreground is a program that a person works with for a while, such as an editor: it gets the
// terminal, belongs to the same process group, and is not tracked, for its person ends it.
type Foreground struct {
	c   Command
	cmd exec.Cmd
}

// NewForeground returns a program that is not started yet. Of c, Args, Dir and Env count.
func NewForeground(c Command) *Foreground { return &Foreground{c: c} }

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
	f.cmd.Path, f.cmd.Args, f.cmd.Dir, f.cmd.Env = path, f.c.Args, f.c.Dir, f.c.Env
	if err := f.cmd.Start(); err != nil {
		return explainStart(path, f.c, err)
	}
	return f.cmd.Wait()
}
