package ralphtest

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Terminal is a terminal of the system with a program in it, and all that was written to it.
type Terminal struct {
	Tty *os.File // what its program has as its terminal

	tb     testing.TB
	master *os.File // who sits before it
	see    func(piece []byte)
	before unix.Termios
	ended  chan struct{} // the program has ended, with err
	err    error
	over   chan struct{} // and what it wrote is all here

	mu     sync.Mutex
	raw    bytes.Buffer
	pieces int
	moved  chan struct{}
}

// last is what is written behind all that a program wrote to its terminal, to see that come.
const last = "\x1b_the program has ended\x1b\\"

// OpenTerminal opens a terminal of a size. What is written to it is kept, and shown piece by piece to see,
// if there is one, by one at a time. Where there are no terminals, the test is skipped.
func OpenTerminal(tb testing.TB, columns, rows int, see func(piece []byte)) *Terminal {
	tb.Helper()
	x := &Terminal{tb: tb, see: see, ended: make(chan struct{}), over: make(chan struct{}), moved: make(chan struct{})}
	x.open()
	x.Resize(columns, rows)
	x.before = x.modes()
	return x
}

// Session has a program begin a session of its own, of which its terminal is the one.
func (x *Terminal) Session() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Setctty: true}
}

// Run starts a program that has the terminal, and is killed when the test has ended: a command with
// the context of the test.
func (x *Terminal) Run(cmd interface {
	Start() error
	Wait() error
},
) {
	x.tb.Helper()
	if err := cmd.Start(); err != nil {
		x.tb.Fatal(err)
	}
	go x.read()
	go func() {
		x.err = cmd.Wait()
		close(x.ended)
		_, _ = x.Tty.WriteString(last)
	}()
	x.tb.Cleanup(func() {
		<-x.over
		_ = x.Tty.Close()
		_ = x.master.Close()
	})
}

func (x *Terminal) open() {
	x.tb.Helper()
	var err error
	if x.master, err = os.OpenFile("/dev/ptmx", os.O_RDWR, 0); err != nil {
		x.tb.Skipf("there are no terminals here: %v", err)
	}
	if err := unix.IoctlSetPointerInt(int(x.master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		x.tb.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(x.master.Fd()), unix.TIOCGPTN)
	if err != nil {
		x.tb.Fatal(err)
	}
	if x.Tty, err = os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|syscall.O_NOCTTY, 0); err != nil {
		x.tb.Fatal(err)
	}
}

func (x *Terminal) read() {
	defer close(x.over)
	b := make([]byte, 64<<10)
	for {
		n, err := x.master.Read(b)
		if err != nil {
			return
		}
		x.mu.Lock()
		x.raw.Write(b[:n])
		piece, _, _ := bytes.Cut(b[:n], []byte(last))
		end := bytes.Index(x.raw.Bytes(), []byte(last))
		if end >= 0 {
			x.raw.Truncate(end)
		}
		if x.see != nil && len(piece) > 0 {
			x.see(piece)
		}
		x.pieces++
		close(x.moved)
		x.moved = make(chan struct{})
		x.mu.Unlock()
		if end >= 0 {
			<-x.ended
			return
		}
	}
}

// Resize gives the terminal another size, of which its program is told.
func (x *Terminal) Resize(columns, rows int) {
	x.tb.Helper()
	size := &unix.Winsize{Col: uint16(columns), Row: uint16(rows)} //nolint:gosec // sizes of tests
	if err := unix.IoctlSetWinsize(int(x.master.Fd()), unix.TIOCSWINSZ, size); err != nil {
		x.tb.Fatal(err)
	}
}

// Write is what somebody types, or what the terminal answers.
func (x *Terminal) Write(b []byte) (int, error) { return x.master.Write(b) }

// Press types keys.
func (x *Terminal) Press(keys string) {
	x.tb.Helper()
	if _, err := x.master.WriteString(keys); err != nil {
		x.tb.Fatal(err)
	}
}

// modes are how the terminal takes keys now.
func (x *Terminal) modes() unix.Termios {
	x.tb.Helper()
	m, err := unix.IoctlGetTermios(int(x.Tty.Fd()), unix.TCGETS)
	if err != nil {
		x.tb.Fatal(err)
	}
	return *m
}

// Changed reports whether the terminal takes keys in another way than before its program.
func (x *Terminal) Changed() bool {
	x.tb.Helper()
	return x.modes() != x.before
}

// GivenBack fails the test unless the terminal is as it was before its program, which has ended: it
// takes keys as then, and what was switched on is off.
func (x *Terminal) GivenBack() {
	x.tb.Helper()
	if after := x.modes(); after != x.before {
		x.tb.Errorf("the terminal is %+v, and was %+v", after, x.before)
	}
	raw := x.Raw()
	for on, off := range Taken() {
		if at := strings.LastIndex(raw, on); at < 0 || strings.LastIndex(raw, off) < at {
			x.tb.Errorf("%q at %d is not taken back", on, at)
		}
	}
}

// Locked does something while nothing is read.
func (x *Terminal) Locked(do func()) {
	x.mu.Lock()
	defer x.mu.Unlock()
	do()
}

// Moved is closed when something more was written.
func (x *Terminal) Moved() <-chan struct{} {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.moved
}

// Raw is all that was written, since it was forgotten.
func (x *Terminal) Raw() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.raw.String()
}

// Forget is how many bytes were written in how many pieces since it was asked last, and forgets them.
func (x *Terminal) Forget() (size, pieces int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	size, pieces = x.raw.Len(), x.pieces
	x.raw.Reset()
	x.pieces = 0
	return size, pieces
}

// Until waits until something is so, which it asks while nothing is read; look is what to say
// where it never is.
func (x *Terminal) Until(what string, is func() bool, look func() string) {
	x.tb.Helper()
	limit := time.NewTimer(time.Minute)
	defer limit.Stop()
	for {
		var over bool
		select {
		case <-x.over:
			over = true
		default:
		}
		x.mu.Lock()
		moved, yes := x.moved, is()
		x.mu.Unlock()
		if yes {
			return
		}
		if over {
			x.tb.Fatalf("the program has ended (%v) while %q was waited for:\n%s", x.err, what, look())
		}
		select {
		case <-moved:
		case <-x.over:
		case <-limit.C:
			x.tb.Fatalf("%q never comes:\n%s", what, look())
		}
	}
}

// Await waits until words were written.
func (x *Terminal) Await(words string) {
	x.tb.Helper()
	x.Until(words, func() bool { return bytes.Contains(x.raw.Bytes(), []byte(words)) }, func() string {
		raw := x.Raw()
		return fmt.Sprintf("%q", raw[max(0, len(raw)-2000):])
	})
}

// Wait waits until the program has ended, and is what it ended with. All that it wrote is here then.
func (x *Terminal) Wait() error {
	<-x.over
	return x.err
}
