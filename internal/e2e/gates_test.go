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
	"github.com/ralph-loop/ralph/internal/ralphtest/modeltest"
	"github.com/ralph-loop/ralph/internal/sandbox"
)

// attempted is one thing that an agent tries, and what becomes of it.
type attempted struct {
	call  modeltest.Call
	words string // of the gate
	kind  string // of the gate, "" where nobody is asked
	never bool
	allow bool // the person's answer
}

// fenced is a repository with a remote of its own and a folder that builds fill.
type fenced struct {
	*place
	remote, outside string
}

func newFenced(t *testing.T) *fenced {
	t.Helper()
	p := newPlace(t)
	f := &fenced{p, filepath.Join(p.base, "remote.git"), filepath.Join(p.base, "outside.txt")}
	// Else all of this is in the folder for temporary files, and the sandbox lets them write it.
	p.env = append(p.env, "TMPDIR="+filepath.Join(p.base, "tmp"))
	for _, dir := range []string{filepath.Join(p.dir, "build"), filepath.Join(p.base, "beside"), filepath.Join(p.base, "tmp")} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(p.base, "beside/out"), []byte("x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.write("build/out", "x\n")
	p.write(".gitignore", "build/\n")
	p.write("package.json", `{"name": "x", "version": "1.0.0", "scripts": {"deploy": "echo x > build/deployed"}}`+"\n")
	return f
}

// begun makes the first commit and the remote, whose branches main and side have one that
// main lacks here: only --force moves them.
func (f *fenced) begun(config string) {
	f.t.Helper()
	f.begin(config)
	f.must("git", "init", "-q", "--bare", "-b", "main", f.remote)
	f.must("git", "remote", "add", "origin", f.remote)
	f.must("git", "commit", "-q", "--allow-empty", "-m", "of others")
	f.must("git", "push", "-q", "origin", "main", "main:side")
	f.must("git", "reset", "-q", "--hard", "HEAD~1")
}

func (f *fenced) has(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// pushed reports whether the remote lost the commit of others.
func (f *fenced) pushed() bool {
	return !strings.Contains(f.must("git", "-C", f.remote, "log", "--format=%s", "main"), "of others")
}

// gateSettings are settings with more to say about gates than gate.approvals, and about the
// sandbox.
func (p *place) gateSettings(m *modeltest.Server, a program, kind string, gate map[string]any) string {
	p.t.Helper()
	var all map[string]any
	if err := json.Unmarshal([]byte(p.settings(m, "ask", a)), &all); err != nil {
		p.t.Fatal(err)
	}
	all["gate"], all["sandbox"] = gate, map[string]any{"kind": kind}
	text, err := json.Marshal(all)
	if err != nil {
		p.t.Fatal(err)
	}
	return string(text) + "\n"
}

// tries lets a model try one thing after the other, then do its work.
func tries(list []attempted) modeltest.Handler {
	n := 0
	return script(func(modeltest.Request) modeltest.Reply {
		switch n++; {
		case n <= len(list):
			return modeltest.Do(list[n-1].call)
		case n == len(list)+1:
			return modeltest.Do(modeltest.Run("echo hello > hello.txt"))
		}
		return complete("I wrote it.")
	})
}

// answer answers from a process of its own what waits, as the list says.
func (p *place) answer(e *engine, list []attempted) {
	p.t.Helper()
	for _, try := range list {
		if try.kind == "" {
			continue
		}
		var g ralph.Approval
		e.until(try.words+" is held", func() bool {
			open := p.gates()
			if len(open) > 0 {
				g = open[0]
			}
			return len(open) > 0
		})
		if g.Kind != try.kind || g.Never != try.never || !strings.Contains(g.Text+g.Detail, try.words) {
			p.t.Errorf("held as %s (never: %t), want %s (%t): %s\n%s", g.Kind, g.Never, try.kind, try.never, g.Text, g.Detail)
		}
		if try.allow {
			p.must(p.ralph, "approve", string(g.ID))
		} else {
			p.must(p.ralph, "deny", string(g.ID), "--reason", "not in this house")
		}
		e.until(try.words+" is answered", func() bool {
			for _, open := range p.gates() {
				if open.ID == g.ID {
					return false
				}
			}
			return true
		})
	}
}

// What needs a person is held, whatever an agent asks for by itself, and a person
// answers from another terminal: what was denied did not happen, what was approved did.
// An ordinary command runs without a question (C-037 to C-041, E-077, X-77).
//
// No yes opens the sandbox that users have: a push is ralph's own and goes out, files
// elsewhere stay as they are (issue 15).
func TestGatesHoldARealAgent(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		program   string
		approvals string
		kind      string // of the sandbox
		allow     bool
	}{
		{"claude-2.1.329", "policy", sandbox.Off, false},
		{"claude-2.1.329", "never", sandbox.Auto, true},
		{"claude-2.1.197", "policy", sandbox.Auto, true},
		{"codex-0.169.0", "policy", sandbox.Auto, true},
		{"codex-0.169.0", "never", sandbox.Off, true},
	} {
		t.Run(fmt.Sprintf("%s, %s, sandbox %s", c.program, c.approvals, c.kind), func(t *testing.T) {
			t.Parallel()
			f := newFenced(t)
			list := []attempted{
				{call: modeltest.Run("ls")},
				{call: modeltest.Run("npm run deploy"), words: "npm run deploy", kind: ralph.ApprovalOperation, allow: c.allow},
				{call: modeltest.Run("rm -rf ../beside"), words: "rm -rf ../beside", kind: ralph.ApprovalRequest, allow: c.allow},
				{call: modeltest.Run("git push --force origin main"), words: "git push --force", kind: ralph.ApprovalOperation, never: true, allow: c.allow},
				{call: modeltest.Write(f.outside, "x\n"), words: f.outside, kind: ralph.ApprovalRequest, allow: c.allow},
			}
			if c.approvals == "never" {
				list[2].kind, list[4].kind = "", "" // they are neither a pattern's nor on the never list
			}
			a := programs()[c.program]
			f.begun(f.gateSettings(modeltest.New(t, tries(list)), a, c.kind, map[string]any{"approvals": c.approvals}))
			e := f.start("agent")
			f.answer(e, list)
			out := e.end()
			elsewhere := c.kind == sandbox.Off && (c.allow || c.approvals == "never")
			deployed, gone, written := f.has(filepath.Join(f.dir, "build/deployed")), !f.has(filepath.Join(f.base, "beside/out")), f.has(f.outside)
			if deployed != c.allow || f.pushed() != c.allow || gone != elsewhere || written != elsewhere {
				t.Errorf("approved: %t; deployed: %t, pushed: %t; elsewhere deleted: %t, written: %t\n%s", c.allow, deployed, f.pushed(), gone, written, out)
			}
			if told := strings.Count(out, "may not write "+f.outside); told != 1 && c.allow && c.kind != sandbox.Off {
				t.Errorf("a person is told %d times that what was approved was refused:\n%s", told, out)
			}
			if log := f.must(f.ralph, "log", "--json"); !strings.Contains(log, `"command":"ls"`) {
				t.Errorf("nothing is recorded of ls:\n%s", log)
			}
			f.checkHello(out)
		})
	}
}

// The never list holds when everything that can be is switched off, in ralph's settings,
// the sandbox too, and in the agent's own (C-034 to C-036, X-77, X-79).
func TestNeverListHoldsARealClaude(t *testing.T) {
	t.Parallel()
	f := newFenced(t)
	list := []attempted{
		{call: modeltest.Run("rm -rf ../beside")},
		{call: modeltest.Run("sh -c 'git push -f origin main'"), words: "git push -f", kind: ralph.ApprovalOperation, never: true},
		{call: modeltest.Run("git push origin +main:main"), words: "+main:main", kind: ralph.ApprovalOperation, never: true},
	}
	a := programs()["claude-2.1.329"]
	whole := a.agent
	a.agent = func(p *place, path string, m *modeltest.Server) map[string]any {
		spec := whole(p, path, m)
		spec["args"] = []string{"--dangerously-skip-permissions", "--allowedTools", "Bash", "--settings", `{"permissions":{"allow":["Bash"],"defaultMode":"bypassPermissions"}}`}
		return spec
	}
	if err := os.MkdirAll(filepath.Join(f.home, ".claude"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(f.home, ".claude/settings.json"), []byte(`{"permissions":{"allow":["Bash(git push:*)"]}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	f.begun(f.gateSettings(modeltest.New(t, tries(list)), a, sandbox.Off, map[string]any{
		"approvals": "never", "patterns": []string{}, "pre_approved": []string{"git push", "push --force"}, "allow": []string{"git push", "sh"},
	}))
	e := f.start("agent")
	f.answer(e, list)
	out := e.end()
	if f.has(filepath.Join(f.base, "beside/out")) || f.pushed() {
		t.Errorf("beside is there: %t, pushed: %t\n%s", f.has(filepath.Join(f.base, "beside/out")), f.pushed(), out)
	}
	f.checkHello(out)
}
