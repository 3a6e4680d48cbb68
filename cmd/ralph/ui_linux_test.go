package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/charmbracelet/x/vt"
	"golang.org/x/sys/unix"

	"github.com/ralph-loop/ralph/internal/ralphtest"
)

// terminal is a terminal with a program in it: a pty, and what its bytes come to on a screen.
type terminal struct {
	t        *testing.T
	master   *os.File
	slave    *os.File
	emulator *vt.Emulator // under mu: its safe kind does not hold all of it
	cmd      *exec.Cmd
	ended    chan error

	mu    sync.Mutex
	raw   bytes.Buffer
	moved chan struct{}

	began time.Time
	ahead time.Duration // that a reader gets to look, in a recording
	cast  bytes.Buffer  // the recording, as asciinema has it
	half  []byte        // a sign that is to come whole
}

// openTerminalIn starts a command in a folder, in a terminal of a size.
func openTerminalIn(t *testing.T, dir string, columns, rows int, environ []string, args ...string) *terminal {
	t.Helper()
	master, slave := ralphtest.OpenPty(t, columns, rows)
	x := &terminal{t: t, master: master, slave: slave, emulator: vt.NewEmulator(columns, rows), moved: make(chan struct{}), ended: make(chan error, 1), began: time.Now()}
	x.resize(columns, rows)
	x.cmd = exec.CommandContext(t.Context(), args[0], args[1:]...)
	x.cmd.Env, x.cmd.Dir = environ, dir
	x.cmd.Stdin, x.cmd.Stdout, x.cmd.Stderr = slave, slave, slave
	x.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	go func() { _, _ = io.Copy(master, x.emulator) }() // what the terminal answers
	go x.read()
	if err := x.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { x.ended <- x.cmd.Wait() }()
	t.Cleanup(func() { _ = x.cmd.Process.Kill(); _ = slave.Close(); _ = master.Close() })
	return x
}

func (x *terminal) read() {
	b := make([]byte, 64<<10)
	for {
		n, err := x.master.Read(b)
		if err != nil {
			return
		}
		x.mu.Lock()
		_, _ = x.emulator.Write(b[:n])
		x.raw.Write(b[:n])
		x.record(b[:n])
		close(x.moved)
		x.moved = make(chan struct{})
		x.mu.Unlock()
	}
}

// record adds to the recording what was read. A sign of which only the beginning has come waits for
// the rest of it.
func (x *terminal) record(b []byte) {
	b = append(x.half, b...)
	whole := len(b)
	for i := max(0, whole-utf8.UTFMax); i < whole; i++ {
		if utf8.RuneStart(b[i]) && !utf8.FullRune(b[i:]) {
			whole = i
		}
	}
	x.half = bytes.Clone(b[whole:])
	event, _ := json.Marshal([]any{(time.Since(x.began) + x.ahead).Seconds(), "o", string(b[:whole])})
	x.cast.Write(append(event, '\n'))
}

func (x *terminal) resize(columns, rows int) {
	x.t.Helper()
	x.mu.Lock()
	x.emulator.Resize(columns, rows)
	x.mu.Unlock()
	size := &unix.Winsize{Col: uint16(columns), Row: uint16(rows)} //nolint:gosec // small
	if err := unix.IoctlSetWinsize(int(x.master.Fd()), unix.TIOCSWINSZ, size); err != nil {
		x.t.Fatal(err)
	}
}

func (x *terminal) press(keys string) {
	x.t.Helper()
	if _, err := x.master.WriteString(keys); err != nil {
		x.t.Fatal(err)
	}
}

// want waits until the screen has all of the words.
func (x *terminal) want(words ...string) {
	x.t.Helper()
	x.until(strings.Join(words, ", "), func(screen string) bool {
		return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(screen, w) })
	})
}

func (x *terminal) until(what string, is func(screen string) bool) {
	x.t.Helper()
	limit := time.NewTimer(time.Minute)
	defer limit.Stop()
	for {
		x.mu.Lock()
		moved, screen := x.moved, x.emulator.String()
		x.mu.Unlock()
		if is(screen) {
			return
		}
		select {
		case <-moved:
		case err := <-x.ended:
			x.t.Fatalf("the program has ended (%v) while %q was waited for:\n%s", err, what, screen)
		case <-limit.C:
			x.t.Fatalf("the screen never has %q:\n%s", what, screen)
		}
	}
}

// The terminal is given back as it was: the screen before an engine, in a repository that has
// just been set up, and its end by a signal. With an engine at work: TestScreen and TestTmux
// (-tags e2e).
func TestTerminalIsGivenBack(t *testing.T) {
	t.Parallel()
	ralph, err := exec.LookPath("ralph")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	environ := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "TERM=xterm-256color", "LANG=C.UTF-8", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null"}
	for _, args := range [][]string{{"git", "init", "-q"}, {ralph, "init"}} {
		cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
		cmd.Env, cmd.Dir = environ, dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	x := openTerminalIn(t, dir, 80, 24, environ, ralph, "ui")
	before := x.modes()
	x.want("Nobody works now", "8 Out")
	if x.modes() == before {
		t.Error("the terminal was not taken")
	}
	x.press("2")
	x.want("There is no plan.")
	x.ends(before)
}

func (x *terminal) modes() unix.Termios {
	x.t.Helper()
	m, err := unix.IoctlGetTermios(int(x.slave.Fd()), unix.TCGETS)
	if err != nil {
		x.t.Fatal(err)
	}
	return *m
}

// ends ends the program by a signal, and looks whether the terminal is as it was.
func (x *terminal) ends(before unix.Termios) {
	x.t.Helper()
	if err := x.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		x.t.Fatal(err)
	}
	if err := <-x.ended; err != nil {
		x.t.Errorf("the screen ended with %v", err)
	}
	if after := x.modes(); after != before {
		x.t.Errorf("the terminal is %+v, and was %+v", after, before)
	}
	for on, off := range map[string]string{"\x1b[?1049h": "\x1b[?1049l", "\x1b[?25l": "\x1b[?25h", "\x1b[?1002h": "\x1b[?1002l", "\x1b[?2004h": "\x1b[?2004l"} {
		x.until(fmt.Sprintf("%q taken back", on), func(string) bool { return x.lastOf(on) <= x.lastOf(off) }) // its last bytes may be under way
	}
}

// lastOf is where a program last wrote a sequence, -1 for never.
func (x *terminal) lastOf(sequence string) int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return strings.LastIndex(x.raw.String(), sequence)
}
