//go:build e2e && linux

package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The screen over a running engine, in a terminal: pause, diff, time, sizes, an engine that is
// killed and started again, and a terminal that is given back; approve with the change and the command before one's eyes, a conflict
// answered (A-030, A-097, A-118, E-086).
func TestScreen(t *testing.T) {
	t.Parallel()
	ralph, err := exec.LookPath("ralph")
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "demo")
	environ := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "TERM=xterm-256color", "LANG=C.UTF-8", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null"}
	x := openTerminal(t, 100, 30, environ, ralph, "demo", "--parallel", "--ui", "--dir", dir)
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
	x.want("Autopilot Running")
	x.Press("1") // the list that it begins with goes by what is at work then
	x.want("follows")
	x.Press("p")
	x.want("Paus", "u undo")
	x.Press("u")
	x.want("Autopilot Running")
	x.Press("2")
	x.want("✓ t-mend")
	x.Press("]]]")
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
	x.Press(":")
	x.Press("resume")
	x.want("Resume")
	x.Press("\r")
	x.want("Autopilot Running")
	x.want("needs you")
	x.Press("a")
	x.want("git push origin HEAD:refs/heads/preview", "a approve")
	x.Press("\tG") // the end of what it is about: the newest change
	x.want("new file, which git does not know yet")
	x.Press("a")
	x.want("‹ Cancel ›")
	x.Press("y")
	x.want("✓ Approved")
	x.want("needs you")
	x.Press("3")
	x.want("Which comes first?", "Conflicts in commands.txt", "a answer")
	x.Press("a")
	x.want("Answers to choose from")
	x.Press("2\x13")
	x.want("✓ Answered")
	x.want("No engine runs", "ended: complete (every task is done and merged)")

	x.Press("\x1a") // put aside: the terminal is given back, and taken again
	x.until("gave the terminal back", func(string) bool { return !x.emulator.IsAltScreen() })
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
	x.want("No engine runs", "ended: complete (every task is done and merged)")
	close(back)

	x.ends()
}

// sizesAndTime makes the screen small and large again, with the diff that it shows, and looks back.
func sizesAndTime(x *terminal) {
	x.t.Helper()
	x.resize(60, 20)
	x.want("3 You", "╰──────────────────────────────────────────────────────────╯")
	x.resize(50, 10)
	x.want("50 by 10 is too small")
	x.resize(100, 30)
	x.want("+echo 'till 1'", "leave")

	x.Press("t")
	x.want("AS IT WAS", "esc now")
	x.Press("<<<")
	x.Press("\x1b")
	x.want("Autopilot Running", "leave")
}

// TestCast records docs/ui.cast: RALPH_CAST=1 go test -tags e2e ./cmd/ralph -run TestCast. Look at it with
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
	folder, err := os.MkdirTemp("/tmp", "d") // it is on the screen: nothing can be put in its place that is shorter
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	dir := filepath.Join(folder, "demo")
	x := openTerminal(t, 110, 30, environ, ralph, "demo", "--parallel", "--ui", "--dir", dir)
	show := func(keys string, words ...string) {
		t.Helper()
		x.Press(keys)
		x.want(words...)
		x.Locked(func() { x.ahead += 1500 * time.Millisecond })
	}
	x.want("Autopilot Running")
	show("1", "1 Slots 3", "follows")
	show("p", "Paus", "u undo")
	show("u", "Autopilot Running", "✓ Going on")
	show("2", "✓ t-mend")
	show("]]]", "+echo 'till 1'")
	show("?", "Keys", "type to filter")
	closes := func(words string) { // a key behind esc would be taken for alt and that key
		t.Helper()
		x.Press("\x1b")
		x.until("closes", func(screen string) bool { return !strings.Contains(screen, words) })
	}
	closes("type to filter")
	show("", "needs you")
	show("a", "git push origin HEAD:refs/heads/preview", "a approve")
	show("\tG", "new file, which git does not know yet")
	show("a", "‹ Cancel ›")
	show("y", "✓ Approved")
	show("", "needs you")
	show("3", "Which comes first?", "Conflicts in commands.txt")
	show("\tG", ">>>>>>>")
	show("\t", ">>>>>>>")
	show("a", "Answers to choose from")
	show("2\x13", "✓ Answered")
	show("7", "Receipt")
	show("", "ended: complete")
	show("2t", "AS IT WAS")
	show("<<<<<<<<", "AS IT WAS")
	closes("AS IT WAS")
	x.Press("q")
	if err := x.Wait(); err != nil {
		t.Fatal(err)
	}
	head := `{"version": 2, "width": 110, "height": 30, "title": "ralph demo --parallel --ui", "env": {"TERM": "xterm-256color"}}` + "\n"
	if err := os.WriteFile("../../docs/ui.cast", append([]byte(head), x.cast.Bytes()...), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (x *terminal) resize(columns, rows int) {
	x.t.Helper()
	x.Locked(func() { x.emulator.Resize(columns, rows) })
	x.Resize(columns, rows)
}

// openTerminal starts a command in a terminal of a size.
func openTerminal(t *testing.T, columns, rows int, environ []string, args ...string) *terminal {
	t.Helper()
	return openTerminalIn(t, t.TempDir(), columns, rows, environ, args...)
}
