package proc

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

const (
	chunk = 32 << 10
	// maxPipe is the largest pipe the kernel gives out by default, so the
	// most that a process which has ended can have left unread.
	maxPipe = 1 << 20
	// feedGrace is how long close waits for the feeder, which is only ever
	// late when its reader blocks.
	feedGrace = 50 * time.Millisecond
)

// buffers are handed from process to process: two or three of them for each git
// command would be most of the garbage that a run makes.
type buffers struct{ pool sync.Pool }

func (b *buffers) get() *[chunk]byte {
	if p, ok := b.pool.Get().(*[chunk]byte); ok {
		return p
	}
	return new([chunk]byte)
}

// streams are the pipes of one process. os/exec's own copying is not used: it
// waits for every holder of a pipe, where we decide how long.
type streams struct {
	in     *feed
	out    []*drain
	theirs []*os.File    // the child's ends, closed after the start
	failed chan struct{} // closed when a writer failed
	fail   func()
}

func openStreams(c Command, cmd *exec.Cmd, bufs *buffers) (*streams, error) {
	s := &streams{failed: make(chan struct{})}
	s.fail = sync.OnceFunc(func() { close(s.failed) })
	if c.Stdin != nil {
		r, w, err := os.Pipe()
		if err != nil {
			return nil, fmt.Errorf("make a pipe for %s: %w", c.Args[0], err)
		}
		cmd.Stdin = r
		s.theirs = append(s.theirs, r)
		s.in = &feed{from: c.Stdin, w: w, bufs: bufs, done: make(chan struct{})}
	}
	for _, o := range []struct {
		name string
		to   io.Writer
		set  *io.Writer
	}{{"stdout", c.Stdout, &cmd.Stdout}, {"stderr", c.Stderr, &cmd.Stderr}} {
		if o.to == nil {
			continue
		}
		r, w, err := os.Pipe()
		if err != nil {
			s.started()
			s.abandon()
			return nil, fmt.Errorf("make a pipe for %s: %w", c.Args[0], err)
		}
		*o.set = w
		s.theirs = append(s.theirs, w)
		s.out = append(s.out, &drain{name: o.name, r: r, to: o.to, bufs: bufs, done: make(chan struct{})})
	}
	return s, nil
}

// started closes the child's ends on our side.
func (s *streams) started() {
	for _, f := range s.theirs {
		_ = f.Close() // ours only; the child has its own
	}
	s.theirs = nil
}

// abandon closes pipes that never moved anything.
func (s *streams) abandon() {
	if s.in != nil {
		_ = s.in.w.Close()
	}
	for _, d := range s.out {
		_ = d.r.Close()
	}
}

// move starts moving bytes.
func (s *streams) move() {
	if s.in != nil {
		go s.in.run()
	}
	for _, d := range s.out {
		go d.run(s.fail)
	}
}

// settle waits at most d for the streams to end by themselves.
func (s *streams) settle(d time.Duration) {
	var late <-chan time.Time
	for _, o := range s.out {
		select {
		case <-o.done:
			continue
		default:
		}
		if late == nil {
			t := time.NewTimer(d)
			defer t.Stop()
			late = t.C
		}
		select {
		case <-o.done:
		case <-late:
			return
		}
	}
}

// close takes what the pipes still hold, closes them, whoever else has them
// open, and returns the first thing that went wrong with a reader or writer.
func (s *streams) close() error {
	for _, d := range s.out {
		_ = d.r.SetReadDeadline(time.Unix(1, 0)) // fails only when it is closed already
	}
	var err error
	for _, d := range s.out {
		<-d.done
		err = errors.Join(err, d.err)
	}
	if s.in == nil {
		return err
	}
	_ = s.in.w.Close() // ends a Write that nobody reads
	t := time.NewTimer(feedGrace)
	defer t.Stop()
	select {
	case <-s.in.done:
		err = errors.Join(err, s.in.err)
	case <-t.C:
	}
	return err
}

// feed moves a reader into the process's standard input.
type feed struct {
	from io.Reader
	w    *os.File
	bufs *buffers
	done chan struct{}
	err  error // of the reader; valid after done
}

func (f *feed) run() {
	defer close(f.done)
	defer f.w.Close()
	p := f.bufs.get()
	defer f.bufs.pool.Put(p)
	buf := p[:]
	for {
		n, err := f.from.Read(buf)
		if n > 0 {
			if _, werr := f.w.Write(buf[:n]); werr != nil {
				return // the process has ended or closed its input: its right
			}
		}
		if err == io.EOF {
			return
		}
		if err != nil {
			f.err = fmt.Errorf("read the input to send: %w", err)
			return
		}
	}
}

// drain moves one output of the process into a writer.
type drain struct {
	name string
	r    *os.File
	to   io.Writer
	bufs *buffers
	done chan struct{}
	err  error // of the writer; valid after done
}

func (d *drain) run(fail func()) {
	defer close(d.done)
	defer d.r.Close()
	p := d.bufs.get()
	defer d.bufs.pool.Put(p)
	buf := p[:]
	for {
		n, err := d.r.Read(buf)
		if n > 0 && !d.write(buf[:n], fail) {
			return
		}
		if errors.Is(err, os.ErrDeadlineExceeded) {
			d.rest(buf, fail)
			return
		}
		if err != nil {
			return // EOF
		}
	}
}

func (d *drain) write(p []byte, fail func()) bool {
	if _, err := d.to.Write(p); err != nil {
		d.err = fmt.Errorf("write its %s: %w", d.name, err)
		fail()
		return false
	}
	return true
}

// rest moves what lies in the pipe, without waiting. It stops at a pipe's full
// size, so that a process which still writes cannot hold us.
func (d *drain) rest(buf []byte, fail func()) {
	_ = d.r.SetReadDeadline(time.Time{}) // else the reads below are refused
	raw, err := d.r.SyscallConn()
	if err != nil {
		return
	}
	for moved := 0; moved < maxPipe; {
		n := 0
		err := raw.Read(func(fd uintptr) bool {
			for {
				n, err = syscall.Read(int(fd), buf)
				if !errors.Is(err, syscall.EINTR) {
					return true
				}
			}
		})
		if err != nil || n <= 0 || !d.write(buf[:n], fail) {
			return // empty (EAGAIN), ended, or refused
		}
		moved += n
	}
}
