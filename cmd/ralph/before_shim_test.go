package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/agentsock"
	"github.com/ralph-loop/ralph/internal/config"
	"github.com/ralph-loop/ralph/internal/fastpath"
	"github.com/ralph-loop/ralph/internal/interceptor"
	"github.com/ralph-loop/ralph/internal/policy"
	"github.com/ralph-loop/ralph/internal/proc"
	"github.com/ralph-loop/ralph/internal/step"
)

// asked is a turn that says no to all that it is asked.
type asked struct{ agentsock.Turn }

func (asked) Ask(context.Context, ralph.Request) (ralph.Reply, error) {
	return ralph.Reply{Text: "a person said no"}, nil
}

// shimmed is a folder with shims of a turn, before programs that say how they were called.
type shimmed struct {
	work, home string
	env        []string
	line       *agentsock.Server
}

func newShimmed(t *testing.T) *shimmed { return newShimmedFor(t, asked{}) }

func newShimmedFor(t *testing.T, turn agentsock.Turn) *shimmed {
	t.Helper()
	self, err := exec.LookPath("ralph")
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	s := &shimmed{work: filepath.Join(root, "work"), home: filepath.Join(root, "home")}
	bin := filepath.Join(root, "bin")
	for _, dir := range []string{s.work, s.home, bin} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"npm", "rm", "docker"} {
		say := "#!/bin/sh\nprintf '%s' \"" + name + "\"\nfor a; do printf '|%s' \"$a\"; done\n[ \"$1\" != fail ] || exit \"$2\"\n"
		if err := os.WriteFile(filepath.Join(bin, name), []byte(say), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	s.env = []string{"PATH=" + bin + ":/usr/bin:/bin", "HOME=" + s.home, "GODEBUG=inittrace=1"}
	if s.line, err = interceptor.Listen(t.Context(), turn); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.line.Close() })
	s.env = append(s.env, s.line.Env()...)
	gate := config.Defaults().Gate
	below := interceptor.Interceptor{Self: self, Programs: gate.Shims, Policy: policy.Config{}, Plain: new(interceptor.PlainCalls)}
	below.Policy.Patterns = gate.Patterns
	if s.env, err = below.Put(t.Context(), s.line.Dir(), s.env, step.InterceptedTurn{Work: s.work}); err != nil {
		t.Fatal(err)
	}
	return s
}

// run calls a program as an agent would. before is how many packages ralph initialised.
func (s *shimmed) run(t *testing.T, argv ...string) (said, held string, code, before int) {
	t.Helper()
	path, err := proc.LookPath(argv[0], s.work, s.env)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), path, argv[1:]...)
	cmd.Dir, cmd.Env = s.work, append(slices.Clone(s.env), "PWD="+s.work)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	var exit *exec.ExitError
	if err := cmd.Run(); errors.As(err, &exit) {
		code = exit.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(errs.String()) {
		if strings.HasPrefix(line, "init ") {
			before++
		} else {
			held += line
		}
	}
	return out.String(), held, code, before
}

// maxBeforeShim is how many packages are initialised before a shim asks: a few of the standard library.
const maxBeforeShim = 40

// Issue 17, row 3: a call that passes becomes the program before other packages are initialised, with
// the words that it was called with; what is held, and all without an engine, goes through main.
func TestBeforeShim(t *testing.T) {
	t.Parallel()
	s := newShimmed(t)
	long := strings.Repeat("x", 3<<10)
	for _, c := range []struct {
		argv  []string
		early bool
	}{
		{[]string{"npm", "ci"}, true},
		{[]string{"npm", "run", `a "b" \c`, "", "two\nlines", "tab\there", "naïve", "$HOME", "'"}, true},
		{[]string{"npm", "--msg", "\xff\xfe"}, false}, // no text that JSON has
		{[]string{"npm", long}, true},
		{[]string{"rm", "-rf", "build"}, true},
		{[]string{"docker", "ps"}, true},
	} {
		said, held, code, before := s.run(t, c.argv...)
		if want := strings.Join(c.argv, "|"); said != want || code != 0 || held != "" {
			t.Errorf("%.60q ran as %.60q, exit %d, %s", c.argv, said, code, held)
		}
		if early := before < maxBeforeShim; early != c.early {
			t.Errorf("%.60q: %d packages before it, early is %v\n%s", c.argv, before, c.early, held)
		}
	}
	never := []string{"rm", "-rf", s.home}
	held := func(when string) {
		t.Helper()
		said, why, code, before := s.run(t, never...)
		if said != "" || code != 126 || !strings.Contains(why, "held:") || before < maxBeforeShim {
			t.Errorf("%s: %q ran: %q, exit %d, %d packages, %s", when, never, said, code, before, why)
		}
	}
	held("with an engine")
	if err := os.Symlink("/etc", filepath.Join(s.work, "link")); err != nil {
		t.Fatal(err)
	}
	if said, _, code, before := s.run(t, "rm", "-rf", "link/x"); said != "rm|-rf|link/x" || code != 0 || before < maxBeforeShim {
		t.Errorf("past the work tree, where the engine has no word: %q, exit %d, after %d packages", said, code, before)
	}
	s.env = append(s.env, agentsock.EnvNonce+"=of another turn")
	if said, _, code, before := s.run(t, "npm", "ci"); said != "npm|ci" || code != 0 || before < maxBeforeShim {
		t.Errorf("with another turn's nonce: %q, exit %d, after %d packages", said, code, before)
	}
}

// The engine was killed, and its turn's folder is still there: the shims judge by themselves.
func TestShimAlone(t *testing.T) {
	t.Parallel()
	s := newShimmed(t)
	if err := os.Remove(filepath.Join(s.line.Dir(), fastpath.Socket)); err != nil {
		t.Fatal(err)
	}
	if said, _, code, before := s.run(t, "npm", "ci"); said != "npm|ci" || code != 0 || before < maxBeforeShim {
		t.Errorf("%q, exit %d, after %d packages", said, code, before)
	}
	if said, why, code, _ := s.run(t, "rm", "-rf", s.home); said != "" || code != 126 || !strings.Contains(why, "held:") {
		t.Errorf("ran %q, exit %d, %s", said, code, why)
	}
}
