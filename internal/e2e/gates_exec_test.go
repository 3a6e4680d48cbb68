//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/ralphtest"
	"github.com/ralph-loop/ralph/internal/sandbox"
)

// execAgent tries what the real agents try, and writes down how each try ended.
const execAgent = `#!/bin/sh
cat > /dev/null
try() { name=$1; shift; "$@" > /dev/null 2>> "$BASE/errors.txt"; echo "$name $?" >> "$BASE/said.txt"; }
case $RALPH_STAGE in
plan) printf '` + "```json\\n" + `{"tasks":[{"name":"Write hello.txt"}]}\n` + "```\\n" + `' ;;
build)
	try ls ls
	try deploy npm run deploy
	try rm rm -rf ../beside
	try push git push --force origin main
	try hook "$(PATH=${PATH#*:} command -v git)" push -q -f origin main:side
	try outside sh -c 'echo x > "$BASE/outside.txt"'
	echo hello > hello.txt
	echo '<ralph>COMPLETE</ralph>' ;;
*) printf '` + "```json\\n" + `{"verdicts":[],"tasks":[],"resolved":[],"issues":[]}\n` + "```\\n" + `' ;;
esac
`

// The same with an agent that cannot ask: the shims and the hook below it do, and a
// person answers from another terminal (C-034, C-037 to C-041, X-77). What it deletes and
// writes outside of the work tree the sandbox refuses, whatever a person would say; where
// there is none nobody asks for a folder below /tmp, nor for a shell's redirect.
func TestGatesHoldAnExecAgent(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		approvals string
		kind      string // of the sandbox
		allow     bool
		said      string
	}{
		{"policy", sandbox.Auto, false, "ls 0\ndeploy 126\nrm 1\npush 126\nhook 1\noutside 2\n"},
		{"never", sandbox.Auto, true, "ls 0\ndeploy 0\nrm 1\npush 0\nhook 0\noutside 2\n"},
		{"policy", sandbox.Off, false, "ls 0\ndeploy 126\nrm 0\npush 126\nhook 1\noutside 0\n"},
		{"never", sandbox.Off, true, "ls 0\ndeploy 0\nrm 0\npush 0\nhook 0\noutside 0\n"},
	} {
		t.Run(c.approvals+", sandbox "+c.kind, func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath("bwrap"); c.kind == sandbox.Auto && err != nil && sandbox.ABI() == 0 {
				t.Skip("this system has neither bubblewrap nor Landlock")
			}
			f := newFenced(t)
			f.env = append(f.env, "BASE="+f.base)
			f.begun(f.execSettings(t, c.approvals, c.kind))
			e := f.start("agent")
			f.answer(e, []attempted{
				{words: "npm run deploy", kind: ralph.ApprovalOperation, allow: c.allow},
				{words: "git push --force", kind: ralph.ApprovalOperation, never: true, allow: c.allow},
				{words: "git push --force", kind: ralph.ApprovalOperation, never: true, allow: c.allow},
			})
			out := e.end()
			side := !strings.Contains(f.must("git", "-C", f.remote, "log", "--format=%s", "side"), "of others")
			open := c.kind == sandbox.Off
			if f.has(filepath.Join(f.dir, "build/deployed")) != c.allow || f.pushed() != c.allow || side != c.allow || f.has(filepath.Join(f.base, "beside/out")) == open || f.has(f.outside) != open {
				t.Errorf("approved: %t; deployed: %t, pushed by name: %t, by full path: %t; elsewhere deleted: %t, written: %t\n%s", c.allow,
					f.has(filepath.Join(f.dir, "build/deployed")), f.pushed(), side, !f.has(filepath.Join(f.base, "beside/out")), f.has(f.outside), out)
			}
			said, failed := f.read("said.txt"), f.read("errors.txt")
			if said != c.said || strings.Contains(failed, "not in this house") == c.allow {
				t.Errorf("it went\n%swant\n%s%s", said, c.said, failed)
			}
			f.checkHello(out)
		})
	}
}

// read returns what a file beside the repository holds.
func (f *fenced) read(name string) string {
	f.t.Helper()
	b, err := os.ReadFile(filepath.Join(f.base, name))
	if err != nil {
		f.t.Fatal(err)
	}
	return string(b)
}

// execSettings are those of the agent of execAgent.
// It may write its notes and the remote, which is a folder here.
func (f *fenced) execSettings(t *testing.T, approvals, kind string) string {
	t.Helper()
	path := filepath.Join(f.base, "agent")
	ralphtest.Program(t, path, execAgent)
	write := []string{f.remote, filepath.Join(f.base, "said.txt"), filepath.Join(f.base, "errors.txt")}
	for _, name := range write[1:] {
		if err := os.WriteFile(name, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := json.MarshalIndent(map[string]any{
		"version": 1, "agents": map[string]any{"mine": map[string]any{"driver": "exec", "command": []string{path}, "pass_env": []string{"BASE"}}},
		"agent": map[string]any{"primary": "mine"}, "task": map[string]any{"delay": "0s"},
		"gate": map[string]any{"approvals": approvals}, "sandbox": map[string]any{"kind": kind, "write": write},
		"quality": map[string]any{"commands": []string{"grep -qx hello hello.txt"}},
	}, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintln(string(text))
}
