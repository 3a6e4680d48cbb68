//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
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
// person answers from another terminal. A write outside of the work tree, by a shell's
// redirect, has nobody to ask for it: the sandbox refuses it, whatever a person would say
// (C-034, C-037 to C-041, X-77).
func TestGatesHoldAnExecAgent(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		approvals string
		allow     bool
		said      string
	}{
		{"policy", false, "ls 0\nrm 126\npush 126\nhook 1\n"},
		{"never", true, "ls 0\nrm 0\npush 0\nhook 0\n"},
	} {
		t.Run(c.approvals, func(t *testing.T) {
			t.Parallel()
			f := newFenced(t)
			temp := filepath.Join(f.base, "tmp")
			if err := os.Mkdir(temp, 0o755); err != nil {
				t.Fatal(err)
			}
			f.env = append(f.env, "TMPDIR="+temp, "BASE="+f.base)
			f.begun(f.execSettings(t, c.approvals))
			e := f.start("agent")
			f.answer(e, []attempted{
				{words: "rm -rf ../beside", kind: ralph.GateOperation, allow: c.allow},
				{words: "git push --force", kind: ralph.GateOperation, never: true, allow: c.allow},
				{words: "git push --force", kind: ralph.GateOperation, never: true, allow: c.allow},
			})
			out := e.end()
			side := !strings.Contains(f.must("git", "-C", f.remote, "log", "--format=%s", "side"), "of others")
			if f.has(filepath.Join(f.base, "beside/out")) == c.allow || f.pushed() != c.allow || side != c.allow {
				t.Errorf("approved: %t; beside is there: %t, pushed by name: %t, by full path: %t\n%s",
					c.allow, f.has(filepath.Join(f.base, "beside/out")), f.pushed(), side, out)
			}
			said, failed := f.read("said.txt"), f.read("errors.txt")
			if !strings.HasPrefix(said, c.said) || strings.Contains(failed, "not in this house") == c.allow {
				t.Errorf("it went\n%swant\n%s%s", said, c.said, failed)
			}
			f.checkHello(out)
			t.Run("a write outside", func(t *testing.T) {
				if sandbox.ABI() == 0 {
					t.Skip("this system has no Landlock, and nothing else refuses a shell's redirect")
				}
				if f.has(f.outside) || strings.Contains(said, "outside 0") {
					t.Errorf("it was written\n%s", said)
				}
			})
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

// execSettings are those of the agent of execAgent, in a sandbox where the system has one.
// It may write its notes and the remote, which is a folder here.
func (f *fenced) execSettings(t *testing.T, approvals string) string {
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
		"gate": map[string]any{"approvals": approvals}, "sandbox": map[string]any{"kind": sandbox.Auto, "write": write},
		"quality": map[string]any{"commands": []string{"grep -qx hello hello.txt"}},
	}, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintln(string(text))
}
