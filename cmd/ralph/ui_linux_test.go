package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/charmbracelet/x/vt"
	"golang.org/x/sys/unix"
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
}

// openTerminal starts a command in a terminal of a size.
func openTerminal(t *testing.T, columns, rows int, environ []string, args ...string) *terminal {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("there are no terminals here: %v", err)
	}
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	slave, err := os.OpenFile(filepath.Join("/dev/pts", itoa(n)), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	x := &terminal{t: t, master: master, slave: slave, emulator: vt.NewEmulator(columns, rows), moved: make(chan struct{}), ended: make(chan error, 1), began: time.Now()}
	x.resize(columns, rows)
	x.cmd = exec.CommandContext(t.Context(), args[0], args[1:]...)
	x.cmd.Env, x.cmd.Dir = environ, t.TempDir()
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

func itoa(n int) string { b, _ := json.Marshal(n); return string(b) }

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
		event, _ := json.Marshal([]any{(time.Since(x.began) + x.ahead).Seconds(), "o", string(b[:n])})
		x.cast.Write(append(event, '\n'))
		close(x.moved)
		x.moved = make(chan struct{})
		x.mu.Unlock()
	}
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

// The screen over a running engine, in a terminal: pause, diff, time, sizes, an engine that is
// killed and started again, and a terminal that is given back (A-030, A-097, A-118, E-086).
func TestScreen(t *testing.T) {
	t.Parallel()
	if raceEnabled {
		t.Skip("the demo is over before a program built for the race detector has shown it: internal/ui has the screen's own tests")
	}
	ralph, err := exec.LookPath("ralph")
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "demo")
	environ := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "TERM=xterm-256color", "LANG=C.UTF-8", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null"}
	x := openTerminal(t, 100, 30, environ, ralph, "demo", "--parallel", "--ui", "--dir", dir)
	before, err := unix.IoctlGetTermios(int(x.slave.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) []byte {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), ralph, append([]string{"-C", dir}, args...)...)
		cmd.Env, cmd.Dir = environ, t.TempDir()
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("ralph %v: %v\n%s", args, err, out)
		}
		return out
	}
	x.want("▶ running")
	x.press("1") // the list that it begins with goes by what is at work then
	x.want("follows")
	x.press("p")
	x.want("paus", "u: undo")
	x.press("u")
	x.want("▶ running")
	x.press("2")
	x.want("✓ t-mend")
	x.press("]]]")
	x.want("+echo 'till 1'")

	sizesAndTime(x)

	var status struct{ Engine struct{ Pid int } }
	if err := json.Unmarshal(run("status", "--json"), &status); err != nil || status.Engine.Pid == 0 {
		t.Fatalf("no engine: %v", err)
	}
	if err := syscall.Kill(status.Engine.Pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	x.want("the engine died")
	x.press(":")
	x.press("resume")
	x.want("Resume")
	x.press("\r")
	x.want("▶ running")
	x.want("7/7", "ended: complete")

	x.press("\x1a") // put aside: the terminal is given back, and taken again
	x.until("gave the terminal back", func(string) bool { return x.left() == 1 })
	back := make(chan struct{})
	go func() { // it waits for the signal only a moment after it gave the terminal back
		for again := time.NewTicker(50 * time.Millisecond); ; {
			_ = x.cmd.Process.Signal(syscall.SIGCONT)
			select {
			case <-back:
				return
			case <-again.C:
			}
		}
	}()
	x.want("7/7", "ended: complete")
	close(back)

	if err := x.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := <-x.ended; err != nil {
		t.Errorf("the screen ended with %v", err)
	}
	after, err := unix.IoctlGetTermios(int(x.slave.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	if *after != *before {
		t.Errorf("the terminal is %+v, and was %+v", after, before)
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

// sizesAndTime makes the screen small and large again, with the diff that it shows, and looks back.
func sizesAndTime(x *terminal) {
	x.t.Helper()
	x.resize(60, 20)
	x.want("3 Needs you", "╰──────────────────────────────────────────────────────────╯")
	x.resize(50, 10)
	x.want("50 by 10 is too small")
	x.resize(100, 30)
	x.want("+echo 'till 1'", "leave")

	x.press("t")
	x.want("AS IT WAS", "esc now")
	x.press("<<<")
	x.press("\x1b")
	x.want("▶ running", "leave")
}

// TestCast records docs/ui.cast: RALPH_CAST=1 go test ./cmd/ralph -run TestCast. Look at it with
// asciinema play docs/ui.cast.
func TestCast(t *testing.T) {
	if os.Getenv("RALPH_CAST") == "" {
		t.Skip("it is a recording, made when somebody asks for it (RALPH_CAST=1)")
	}
	ralph, err := exec.LookPath("ralph")
	if err != nil {
		t.Fatal(err)
	}
	environ := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "TERM=xterm-256color", "COLORTERM=truecolor", "LANG=C.UTF-8", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null"}
	dir := filepath.Join(t.TempDir(), "demo")
	x := openTerminal(t, 110, 30, environ, ralph, "demo", "--parallel", "--ui", "--dir", dir)
	show := func(keys string, words ...string) {
		t.Helper()
		x.press(keys)
		x.want(words...)
		x.mu.Lock()
		x.ahead += 1500 * time.Millisecond
		x.mu.Unlock()
	}
	show("", "▶ running", "1 Slots 3", "follows")
	show("p", "paus", "u: undo")
	show("u", "▶ running")
	show("2", "✓ t-mend")
	show("]]]", "+echo 'till 1'")
	show("?", "Keys", "type to filter")
	closes := func(words string) { // a key behind esc would be taken for alt and that key
		t.Helper()
		x.press("\x1b")
		x.until("closes", func(screen string) bool { return !strings.Contains(screen, words) })
	}
	closes("type to filter")
	show("4", "conflict")
	show(":", "Do")
	show("receipt message", "Message")
	show("\r", "reads it in the prompt of its next iteration")
	show("Two lines are enough.\x13", "The agent reads it")
	show("6", "Receipt")
	show("", "ended: complete")
	show("2t", "AS IT WAS")
	show("<<<<<<<<", "AS IT WAS")
	closes("AS IT WAS")
	x.press("q")
	if err := <-x.ended; err != nil {
		t.Fatal(err)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	head := `{"version": 2, "width": 110, "height": 30, "title": "ralph demo --parallel --ui", "env": {"TERM": "xterm-256color"}}` + "\n"
	if err := os.WriteFile("../../docs/ui.cast", append([]byte(head), bytes.ReplaceAll(x.cast.Bytes(), []byte(dir), []byte("/tmp/demo"))...), 0o644); err != nil {
		t.Fatal(err)
	}
}

// left is how often the program has left the second screen of the terminal.
func (x *terminal) left() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return strings.Count(x.raw.String(), "\x1b[?1049l")
}
