package main

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/charmbracelet/x/vt"

	"github.com/ralph-loop/ralph/internal/ralphtest"
)

// terminal is a terminal with a program in it, and what its bytes come to on a screen.
type terminal struct {
	*ralphtest.Terminal
	t        *testing.T
	emulator *vt.Emulator // while nothing is read: its safe kind does not hold all of it
	cmd      *exec.Cmd

	began time.Time
	ahead time.Duration // that a reader gets to look, in a recording
	cast  bytes.Buffer  // the recording, as asciinema has it
	half  []byte        // a sign that is to come whole
}

// openTerminalIn starts a command in a folder, in a terminal of a size.
func openTerminalIn(t *testing.T, dir string, columns, rows int, environ []string, args ...string) *terminal {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	x := &terminal{t: t, emulator: vt.NewEmulator(columns, rows), began: time.Now(), cmd: cmd}
	x.Terminal = ralphtest.OpenTerminal(t, columns, rows, func(piece []byte) {
		_, _ = x.emulator.Write(piece)
		x.record(piece)
	})
	cmd.Env, cmd.Dir = environ, dir
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = x.Tty, x.Tty, x.Tty, x.Session()
	x.Run(cmd)
	go func() { _, _ = io.Copy(x, x.emulator) }() // what the terminal answers
	return x
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

// want waits until the screen has all of the words.
func (x *terminal) want(words ...string) {
	x.t.Helper()
	x.until(strings.Join(words, ", "), func(screen string) bool {
		return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(screen, w) })
	})
}

func (x *terminal) until(what string, is func(screen string) bool) {
	x.t.Helper()
	screen := ""
	x.Until(what, func() bool {
		screen = x.emulator.String()
		return is(screen)
	}, func() string { return screen })
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
	x.want("Nobody works now", "8 Out")
	if !x.Changed() {
		t.Error("the terminal was not taken")
	}
	x.Press("2")
	x.want("There is no plan.")
	x.ends()
}

// ends ends the program by a signal, and looks whether the terminal is as it was.
func (x *terminal) ends() {
	x.t.Helper()
	if err := x.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		x.t.Fatal(err)
	}
	if err := x.Wait(); err != nil {
		x.t.Errorf("the screen ended with %v", err)
	}
	x.GivenBack()
}
