package gittest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph/internal/proc"
	"github.com/ralph-loop/ralph/internal/ralphtest"
)

// Program is a git of a test's own: a name for the real one, which can be another program for
// a while.
type Program struct {
	t          testing.TB
	name, real string
}

// NewProgram makes one, and returns the environment with it first in PATH.
func NewProgram(t testing.TB, env []string) (p *Program, with []string) {
	t.Helper()
	real, err := proc.LookPath("git", "/", env)
	if err != nil {
		t.Fatal(err)
	}
	p = &Program{t: t, name: filepath.Join(t.TempDir(), "git"), real: real}
	p.back()
	for _, e := range env {
		if path, ok := strings.CutPrefix(e, "PATH="); ok {
			e = "PATH=" + filepath.Dir(p.name) + string(filepath.ListSeparator) + path
		}
		with = append(with, e)
	}
	return p, with
}

func (p *Program) back() {
	p.t.Helper()
	_ = os.Remove(p.name)
	if err := os.Symlink(p.real, p.name); err != nil {
		p.t.Fatal(err)
	}
}

// As has a script in its place as long as do runs.
func (p *Program) As(script string, do func()) {
	p.t.Helper()
	_ = os.Remove(p.name)
	ralphtest.Program(p.t, p.name, "#!/bin/sh\n"+script)
	defer p.back()
	do()
}

// Starts counts the processes of it that do starts.
func (p *Program) Starts(do func()) int {
	p.t.Helper()
	return len(p.Calls(do))
}

// Calls are the processes of it that do starts, a line of arguments each.
func (p *Program) Calls(do func()) (calls []string) {
	p.t.Helper()
	log := filepath.Join(p.t.TempDir(), "log")
	p.As("echo \"$*\" >>'"+log+"'\nexec '"+p.real+"' \"$@\"\n", do)
	raw, _ := os.ReadFile(log) // none: nothing was started
	for call := range strings.Lines(string(raw)) {
		calls = append(calls, strings.TrimSuffix(call, "\n"))
	}
	return calls
}
