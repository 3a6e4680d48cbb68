// Package coprocess owns the processes of git that stay to be asked again: a question to a git
// that is there already costs a tenth of one to a git that has to be started. Each ends with its
// input: when it was not asked for a while, and when ralph dies.
//
// It does NOT own what is asked, or how a git is started: package git makes the commands, with
// its safeguards.
package coprocess

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/ralph-loop/ralph/internal/proc"
)

const (
	// idleTime is how long a git waits for another question.
	idleTime = 2 * time.Second
	// maxAsked is how many questions one git answers: it remembers objects that it has read.
	maxAsked = 1000
)

// errEnded is that a git which stayed did not answer as it should.
var errEnded = errors.New("git ended before it had answered")

// Error is a git that stayed and did not answer.
type Error struct {
	Why  error  // what reading its answer came to
	Said string // what it said to people
}

func (e *Error) Error() string { return e.Said + ": " + e.Why.Error() }
func (e *Error) Unwrap() error { return e.Why }

// Pool are the gits that stay, of a checkout and of all its worktrees. Its zero value has none.
type Pool struct {
	mu   sync.Mutex
	kept map[string]*process
}

// process is one of them.
type process struct {
	mu    sync.Mutex
	reads []os.FileInfo
	in    *io.PipeWriter
	out   *bufio.Reader
	done  chan struct{}
	stop  context.CancelFunc
	said  *Head // its stderr
	asked int
	idle  *time.Timer
}

// How is the way in which a git is started that none is there for.
type How struct {
	Name    string                       // gits of the same name do for each other
	Reads   []os.FileInfo                // the files that it reads when it starts, as they are now
	Same    func(a, b os.FileInfo) bool  // whether nobody has written one of them between two looks
	Command func() (proc.Command, error) // without its streams
}

// Ask writes a question to the git of that name, which is started where none is there, and has
// answer read what it says. One that was there and does not answer is started anew, once. What
// answer returns with ErrFull is given back as it is, the cause of the context's end too; any
// other failure to answer is an *Error.
func (p *Pool) Ask(ctx context.Context, run *proc.Runner, how How, question []byte, answer func(*bufio.Reader) error) error {
	t := p.named(how.Name)
	t.mu.Lock()
	defer t.mu.Unlock()
	for again := false; ; again = true {
		fresh, err := t.ready(ctx, run, how)
		if err != nil {
			return err
		}
		off := context.AfterFunc(ctx, t.stop)
		t.asked++
		to, wrote := t.in, make(chan error, 1)
		go func() { _, err := to.Write(question); wrote <- err }()
		if err = answer(t.out); err == nil {
			err = <-wrote
		}
		if off() && err == nil {
			t.idle = time.AfterFunc(idleTime, t.rest)
			return nil
		}
		t.stop()
		said := t.end()
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, ErrFull):
			return err
		case fresh || again:
			return &Error{err, said}
		}
	}
}

func (p *Pool) named(name string) *process {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.kept == nil {
		p.kept = map[string]*process{}
	}
	if p.kept[name] == nil {
		p.kept[name] = &process{}
	}
	return p.kept[name]
}

// Running returns how many names have been asked for, and a channel for each git that is there
// now, which is closed when that has ended.
func (p *Pool) Running() (names int, ended []<-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, t := range p.kept {
		t.mu.Lock()
		if t.in != nil {
			ended = append(ended, t.done)
		}
		t.mu.Unlock()
	}
	return len(p.kept), ended
}

// ready has a git that can be asked; fresh is one that was started for it.
func (t *process) ready(ctx context.Context, run *proc.Runner, how How) (fresh bool, err error) {
	if t.idle != nil && !t.idle.Stop() {
		t.end() // its time is up, whether it knows or not
	}
	t.idle = nil
	if t.in != nil {
		select {
		case <-t.done:
			t.end()
		default:
			if t.asked < maxAsked && sameFiles(how, t.reads) {
				return false, nil
			}
			t.end()
		}
	}
	cmd, err := how.Command()
	if err != nil {
		return false, err
	}
	in, toGit := io.Pipe()
	fromGit, out := io.Pipe()
	life, stop := context.WithCancel(context.WithoutCancel(ctx))
	said, done := &Head{left: 1 << 16}, make(chan struct{})
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, out, said
	t.in, t.out, t.done, t.stop, t.said, t.asked, t.reads = toGit, bufio.NewReaderSize(fromGit, 1<<16), done, stop, said, 0, how.Reads
	go func() {
		defer close(done)
		defer stop()
		res, err := run.Run(life, cmd)
		if err == nil && (res.Ended != proc.EndedSelf || res.Signal != "" || res.Code != 0) {
			err = fmt.Errorf("exit %d %s", res.Code, res.Signal)
		}
		_ = out.CloseWithError(errors.Join(errEnded, err))
		_ = in.CloseWithError(errEnded)
	}()
	return true, nil
}

func sameFiles(how How, was []os.FileInfo) bool {
	if len(was) != len(how.Reads) {
		return false
	}
	for i, info := range how.Reads {
		if !how.Same(info, was[i]) {
			return false
		}
	}
	return true
}

// rest ends a git that nobody has asked for a while.
func (t *process) rest() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.end()
}

// end ends it, waits until it has ended, and returns what it said to people.
func (t *process) end() string {
	if t.in == nil {
		return ""
	}
	_ = t.in.Close()
	_, _ = io.Copy(io.Discard, t.out) // it may be about to write
	<-t.done
	t.in, t.out = nil, nil
	return string(bytes.TrimSpace(t.said.Bytes()))
}
