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
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestScreenOnThisTerminal$", "-test.count=1")
			cmd.Env = append(os.Environ(), childKey+"="+tt.in, "TERM=xterm-256color", "SSH_TTY=no questions")
			editor := filepath.Join(t.TempDir(), "editor") // in raw mode, as editors are
			ralphtest.Program(t, editor, "#!/bin/sh\nstty raw -echo\necho $$ >\"$0.pid\"\necho it edits\nwhile :; do sleep 1; done\n")
			cmd.Env = append(cmd.Env, "VISUAL="+editor+" --option")
			x := ralphtest.OpenTerminal(t, 100, 30, nil)
			cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = x.Tty, x.Tty, x.Tty, x.Session()
			x.Run(cmd)
			if tt.in == "nothing" {
				x.Await("╯") // there is a picture
				if !x.Changed() {
					t.Error("the terminal was not taken")
				}
			}
			if tt.keys != "" {
				x.Press(tt.keys)
			}
			if tt.edits {
				x.Await("it edits")
			}
			if tt.signal != 0 {
				if err := cmd.Process.Signal(tt.signal); err != nil {
					t.Fatal(err)
				}
			}
			if err := x.Wait(); err != nil {
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
			words := x.Raw()
			if !strings.Contains(words, tt.told) || tt.in != "nothing" && !strings.Contains(words, "the work goes on") {
				t.Errorf("it does not say %q: %q", tt.told, words[max(0, len(words)-1500):])
			}
			x.GivenBack()
			told := strings.LastIndex(words, tt.told)
			for _, off := range ralphtest.Taken() {
				if back := strings.LastIndex(words, off); told < back {
					t.Errorf("%q is taken back at %d, and told at %d", off, back, told)
				}
			}
		})
	}
}
