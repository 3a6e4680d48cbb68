//go:build e2e

package e2e

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph/internal/ralphtest/modeltest"
	"github.com/ralph-loop/ralph/internal/sandbox"
)

// Three tasks are worked on at the same time by Codex: in a sandbox by a process for each
// worktree, which may write in no other (R-H5); without one, as on a system that has none,
// by three threads of one process (E-082).
func TestThreeThreadsOfCodex(t *testing.T) {
	t.Parallel()
	needProc(t)
	t.Run("sandbox auto", func(t *testing.T) {
		t.Parallel()
		if sandbox.ABI() == 0 {
			if _, err := exec.LookPath("bwrap"); err != nil {
				t.Skip("this system has neither Landlock nor bubblewrap")
			}
		}
		threeThreads(t, sandbox.Auto, 3)
	})
	t.Run("sandbox off", func(t *testing.T) {
		t.Parallel()
		threeThreads(t, sandbox.Off, 1)
	})
}

func threeThreads(t *testing.T, kind string, processes int) {
	const n = 3
	p := newPlace(t)
	a := programs()["codex-0.169.0"]
	all, at := make(chan struct{}), map[string]bool{}
	var running []string
	m := modeltest.New(t, script(func(q modeltest.Request) modeltest.Reply {
		if q.Results {
			return complete("I wrote it.")
		}
		i := 0
		for i < n && !strings.Contains(q.Prompt, fmt.Sprintf("## The task\n\nt-%d:", 1000+i)) {
			i++
		}
		reply := modeltest.Do(modeltest.Run(fmt.Sprintf("echo part > part%d.txt", i)))
		if at[q.Session] = true; len(at) <= n {
			reply.Wait = all // nobody goes on before all have come
		}
		if len(at) == n && running == nil {
			running = append([]string{}, p.processes()...)
			close(all)
		}
		return reply
	}))
	plan := `{"t":"spec","spec":"hello.md"}` + "\n"
	for i := range n {
		plan += fmt.Sprintf(`{"t":"task","id":"t-%d","spec":"hello.md","name":"Write part %d","status":"pending"}`+"\n", 1000+i, i)
	}
	p.write("ralph/plan.jsonl", plan)
	p.begin(strings.Replace(p.settings(m, "never", a), "grep -qx hello hello.txt", "true", 1))
	p.env = append(p.env, "RALPH_SANDBOX_KIND="+kind)
	out, code := p.run(p.ralph, "autopilot", "--parallel", "3")
	if code != 0 {
		t.Fatalf("ralph autopilot: exit code %d\n%s", code, out)
	}
	servers := 0
	for _, line := range running {
		program, _, _ := strings.Cut(line, " ") // not the sandbox around it, nor node
		if strings.Contains(line, " app-server") && filepath.Base(program) == "codex" {
			servers++
		}
	}
	if servers != processes {
		t.Errorf("%d Codex processes for three threads, want %d:\n%s", servers, processes, strings.Join(running, "\n"))
	}
	for i := range n {
		if text := p.must("git", "show", fmt.Sprintf("main:part%d.txt", i)); text != "part\n" {
			t.Errorf("part %d holds %q", i, text)
		}
	}
	p.checkRecord()
	p.checkAlone()
}
