package proc

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
)

// Detached is a process that outlives the one that started it.
type Detached struct {
	Pid  int
	done chan struct{}
	cmd  *exec.Cmd
}

// Detach starts a process in a session of its own, with its output in a file and no
// input: a terminal that closes, Ctrl+C and the end of this process do not reach it. It
// is no part of any tracked process that this one may be part of. Of c, Args, Dir and Env
// count.
func Detach(c Command, output *os.File) (*Detached, error) {
	path, err := LookPath(c.Args[0], c.Dir, c.Env)
	if err != nil {
		return nil, err
	}
	cmd := &exec.Cmd{Path: path, Args: c.Args, Dir: c.Dir, Stdout: output, Stderr: output, SysProcAttr: &syscall.SysProcAttr{Setsid: true}}
	cmd.Env = make([]string, 0, len(c.Env))
	for _, v := range c.Env {
		if !strings.HasPrefix(v, NonceVar+"=") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	if err := cmd.Start(); err != nil {
		return nil, explainStart(path, c, err)
	}
	d := &Detached{Pid: cmd.Process.Pid, done: make(chan struct{}), cmd: cmd}
	go func() {
		_ = cmd.Wait()
		close(d.done)
	}()
	return d, nil
}

// Done is closed when the process has ended, while this one is there to see it.
func (d *Detached) Done() <-chan struct{} { return d.done }

// Code is the exit code of a process that has ended, -1 where a signal ended it.
func (d *Detached) Code() int { return d.cmd.ProcessState.ExitCode() }
