package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph/internal/cli"
	"github.com/ralph-loop/ralph/internal/ralphtest"
	"github.com/ralph-loop/ralph/internal/workspace"
)

// On a terminal real turns begin only after a yes; nothing else is spent (issue 5, 7).
func TestAgentCheckAsks(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, typed string
		code        int
	}{{"no", "n\n", 2}, {"nothing typed", "", 2}, {"just return", "\n", 2}, {"yes", "y\n", 0}} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			ralphtest.Program(t, filepath.Join(dir, "agent"), "#!/bin/sh\ntouch '"+dir+"/turned'\necho '<ralph>COMPLETE</ralph>'\n")
			var out, errs bytes.Buffer
			code := cli.Main(t.Context(), workspace.Env{
				Stdin: strings.NewReader(test.typed), Stdout: &out, Stderr: &errs, Dir: dir, Terminal: true, Self: "ralph",
				Args:    []string{"agent-check", "--command", "./agent", "--turns", "--only", "signal"},
				Environ: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1"},
			})
			if want := "This runs 1 short turn of agent with its own model, at its price. Go on? [y/N]"; !strings.Contains(out.String(), want) {
				t.Errorf("stdout is %q, want %q in it", out.String(), want)
			}
			_, err := os.Stat(filepath.Join(dir, "turned"))
			if turned := err == nil; code != test.code || turned != (test.code == 0) {
				t.Errorf("exit code %d, a turn was run: %t; %s%s", code, turned, out.String(), errs.String())
			}
		})
	}
}
