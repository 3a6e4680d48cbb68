package ui

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/action"
	"github.com/ralph-loop/ralph/internal/ralphtest"
	"github.com/ralph-loop/ralph/internal/workspace"
)

// childKey names the mistake of a screen that this test program shows in a process of its own.
const childKey = "RALPH_TEST_SCREEN"

// faulty is a repository that meets a mistake.
type faulty struct {
	*repository
	in string
}

func (r faulty) Context() action.Context {
	w := r.repository.Context()
	if r.in == "update" { // what can be done is asked in the loop of the screen
		w.ID = func(string) string { panic("a mistake in the loop") }
	}
	return w
}

func (r faulty) Each(after int64, visit func(ralph.Event) error) error {
	if r.in == "command" { // read beside the loop
		panic("a mistake beside the loop")
	}
	return r.repository.Each(after, visit)
}

func (r faulty) Wait(ctx context.Context, seq int64) error {
	if r.in == "watch" {
		panic("a mistake in watching")
	}
	return r.repository.Wait(ctx, seq)
}

// TestScreenOnThisTerminal is what TestTerminalAfterEachEnd starts: the screen on the terminal that
// the process has.
func TestScreenOnThisTerminal(t *testing.T) {
	in := os.Getenv(childKey)
	if in == "" {
		t.Skip("it is started by TestTerminalAfterEachEnd")
	}
	r := faulty{atWork(t), in}
	env := workspace.Env{Dir: r.root, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Environ: os.Environ(), Terminal: true}
	err := Run(t.Context(), Options{Source: r, Env: env, Root: r.root, Theme: "dark", Mouse: true})
	fmt.Printf("\nended: %v\n", err)
}

// The terminal is as it was after each kind of end, on a real one: keys that are echoed, no second
// screen, a cursor, no mouse. A mistake in ralph itself is told on it, wherever it is made.
func TestTerminalAfterEachEnd(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, in string
		signal   syscall.Signal
		keys     string
		edits    bool
		told     string
	}{
		{name: "left", in: "nothing", keys: "q", told: "ended: <nil>"},
		{name: "ctrl+c", in: "nothing", keys: "\x03", told: "ended: <nil>"},
		{name: "SIGTERM", in: "nothing", signal: syscall.SIGTERM, told: "ended: <nil>"},
		{name: "SIGHUP", in: "nothing", signal: syscall.SIGHUP, told: "ended: <nil>"},
		{name: "SIGINT", in: "nothing", signal: syscall.SIGINT, told: "ended: <nil>"},
		{name: "SIGTERM in an editor", in: "nothing", keys: ":settings\r", edits: true, signal: syscall.SIGTERM, told: "ended: <nil>"},
		{name: "a mistake in the loop", in: "update", told: "a mistake in the loop"},
		{name: "a mistake beside the loop", in: "command", told: "a mistake beside the loop"},
		{name: "a mistake in what watches", in: "watch", told: "a mistake in watching"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := openPty(t)
			before := p.modes(t)
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestScreenOnThisTerminal$", "-test.count=1")
			cmd.Env = append(os.Environ(), childKey+"="+tt.in, "TERM=xterm-256color", "SSH_TTY=no questions")
			editor := filepath.Join(t.TempDir(), "editor") // in raw mode, as editors are
			ralphtest.Program(t, editor, "#!/bin/sh\nstty raw -echo\necho $$ >\"$0.pid\"\necho it edits\nwhile :; do sleep 1; done\n")
			cmd.Env = append(cmd.Env, "VISUAL="+editor+" --option")
			cmd.Stdin, cmd.Stdout, cmd.Stderr = p.slave, p.slave, p.slave
			cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if tt.in == "nothing" {
				p.until(t, "╯") // there is a picture
				if p.modes(t) == before {
					t.Error("the terminal was not taken")
				}
			}
			if tt.keys != "" {
				if _, err := p.master.WriteString(tt.keys); err != nil {
					t.Fatal(err)
				}
			}
			if tt.edits {
				p.until(t, "it edits")
			}
			if tt.signal != 0 {
				if err := cmd.Process.Signal(tt.signal); err != nil {
					t.Fatal(err)
				}
			}
			if err := cmd.Wait(); err != nil {
				t.Errorf("the process ended with %v", err)
			}
			if tt.edits {
				pid, err := os.ReadFile(editor + ".pid")
				if err != nil {
					t.Fatal(err)
				}
				status, err := os.ReadFile("/proc/" + strings.TrimSpace(string(pid)) + "/status")
				if err == nil && !strings.Contains(string(status), "State:\tZ") {
					t.Errorf("the editor goes on:\n%s", status)
				}
			}
			words := p.until(t, "ended: ")
			if !strings.Contains(words, tt.told) || tt.in != "nothing" && !strings.Contains(words, "the work goes on") {
				t.Errorf("it does not say %q: %q", tt.told, words[max(0, len(words)-1500):])
			}
			if after := p.modes(t); after != before {
				t.Errorf("the terminal is %+v, and was %+v", after, before)
			}
			told := strings.LastIndex(words, tt.told)
			for on, off := range map[string]string{"\x1b[?1049h": "\x1b[?1049l", "\x1b[?25l": "\x1b[?25h", "\x1b[?1002h": "\x1b[?1002l", "\x1b[?2004h": "\x1b[?2004l"} {
				if at, back := strings.LastIndex(words, on), strings.LastIndex(words, off); at < 0 || back < at || told < back {
					t.Errorf("%q at %d is taken back at %d, and told at %d", on, at, back, told)
				}
			}
		})
	}
}

// pty is a terminal of the system, with what was written to it.
type pty struct {
	master, slave *os.File
	have          strings.Builder
	news          chan string
}

func openPty(t *testing.T) *pty {
	t.Helper()
	master, slave := ralphtest.OpenPty(t, 100, 30)
	p := &pty{master: master, slave: slave, news: make(chan string, 1024)}
	go func() {
		defer close(p.news)
		b := make([]byte, 64<<10)
		for {
			n, err := master.Read(b)
			if err != nil {
				return
			}
			p.news <- string(b[:n])
		}
	}()
	t.Cleanup(func() { _ = slave.Close(); _ = master.Close() })
	return p
}

// until waits for words on the terminal, and is all that was written to it.
func (p *pty) until(t *testing.T, words string) string {
	t.Helper()
	limit := time.NewTimer(time.Minute)
	defer limit.Stop()
	for !strings.Contains(p.have.String(), words) {
		select {
		case x, ok := <-p.news:
			if !ok {
				t.Fatal("the terminal is gone")
			}
			p.have.WriteString(x)
		case <-limit.C:
			t.Fatalf("%q never comes: %q", words, p.have.String())
		}
	}
	return p.have.String()
}

func (p *pty) modes(t *testing.T) unix.Termios {
	t.Helper()
	m, err := unix.IoctlGetTermios(int(p.slave.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	return *m
}
