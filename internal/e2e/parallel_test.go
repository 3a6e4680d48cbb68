//go:build e2e

package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph/internal/ralphtest/modeltest"
)

// Three tasks are worked on at the same time by Codex: three threads of one process
// (E-082).
func TestThreeThreadsOfOneCodex(t *testing.T) {
	t.Parallel()
	needProc(t)
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
	out, code := p.run(p.ralph, "autopilot", "--parallel", "3")
	if code != 0 {
		t.Fatalf("ralph autopilot: exit code %d\n%s", code, out)
	}
	servers := 0
	for _, line := range running {
		if strings.Contains(line, "app-server") && !strings.HasPrefix(line, "node ") {
			servers++
		}
	}
	if servers != 1 {
		t.Errorf("%d Codex processes for three threads, want 1:\n%s", servers, strings.Join(running, "\n"))
	}
	for i := range n {
		if text := p.must("git", "show", fmt.Sprintf("main:part%d.txt", i)); text != "part\n" {
			t.Errorf("part %d holds %q", i, text)
		}
	}
	p.checkRecord()
	p.checkAlone()
}
