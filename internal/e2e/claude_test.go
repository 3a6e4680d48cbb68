//go:build e2e

package e2e

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph/internal/ralphtest/modeltest"
)

// claude is the program that the tests of its driver run.
func claude(t *testing.T) string {
	t.Helper()
	return programs()["claude-2.1.329"].path(t)
}

// helloPlace is a repository with a spec in the inbox.
func helloPlace(t *testing.T, config string) *place {
	t.Helper()
	p := newPlace(t)
	p.begin(config)
	return p
}

// claudeConfig points the built-in agent claude at the binary and the model.
func claudeConfig(binary, url string) string {
	return fmt.Sprintf(`version: 1
agents:
  claude:
    command: [%q]
    env:
      ANTHROPIC_BASE_URL: %q
      ANTHROPIC_API_KEY: dummy
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1"
      CLAUDE_CODE_MAX_RETRIES: "0"
task: {delay: 0s}
quality: {commands: [test -f hello.txt]}
errors: {retry_base: 1ms}
`, binary, url)
}

// The real Claude Code takes a spec from the inbox to a commit: a plan and a
// verdict as structured output, a file by its Write tool, a check that is red
// first, a signal (D-002, D-042, D-044, D-046, B-010, B-011).
func TestClaudeBuildsASpec(t *testing.T) {
	binary := claude(t)
	var p *place
	builds := 0
	m := modeltest.New(t, func(r modeltest.Request) modeltest.Reply {
		structured := r.Tools["StructuredOutput"]
		switch {
		case structured && r.Results:
			return modeltest.Reply{Text: "Done."}
		case structured && strings.Contains(r.Text, "verdict"):
			return modeltest.Reply{Tool: "StructuredOutput", Input: map[string]any{"verdicts": []any{}, "tasks": []any{}, "issues": []any{}}}
		case structured:
			task := map[string]any{"name": "Write hello.txt", "notes": nil, "accept": nil, "deps": nil, "tags": nil, "priority": nil, "phase": nil}
			return modeltest.Reply{Tool: "StructuredOutput", Input: map[string]any{"tasks": []any{task}}}
		case r.Results:
			return modeltest.Reply{Text: "I wrote it.\n\n<ralph>COMPLETE</ralph>"}
		}
		if builds++; builds == 1 {
			return modeltest.Reply{Text: "It is done, believe me.\n\n<ralph>COMPLETE</ralph>"}
		}
		return modeltest.Reply{Tool: "Write", Input: map[string]any{"file_path": filepath.Join(p.dir, "hello.txt"), "content": "hello\n"}}
	})
	p = helloPlace(t, claudeConfig(binary, m.URL))
	out, code := p.run(p.ralph, "agent")
	if code != 0 {
		t.Fatalf("ralph agent: exit code %d\n%s", code, out)
	}
	if subject := strings.TrimSpace(p.must("git", "log", "-1", "--format=%s")); subject != "ralph: complete hello" {
		t.Errorf("the commit's subject is %q\n%s", subject, out)
	}
	if files := p.must("git", "show", "--name-only", "--format=", "HEAD"); strings.TrimSpace(files) != "hello.txt" {
		t.Errorf("the commit holds %q, want hello.txt\n%s", files, out)
	}
	if !strings.Contains(out, "CHECK: failed test -f hello.txt") {
		t.Errorf("the claim without work was believed:\n%s", out)
	}
	if body := p.must("git", "log", "-1", "--format=%b"); strings.Contains(body, "Cost: $0.00") {
		t.Errorf("claude reported a cost, and it is not in the commit:\n%s", body)
	}
	if replay := p.must(p.ralph, "replay"); !strings.Contains(replay, " 0 differ") {
		t.Errorf("replay: %s", replay)
	}
}

// A key that is refused is a permanent error: typed, told at once, not tried
// again for every spec's every task (X-43, D-077).
func TestClaudeWithABadKey(t *testing.T) {
	binary := claude(t)
	m := modeltest.New(t, func(modeltest.Request) modeltest.Reply { return modeltest.Reply{Status: 401} })
	p := helloPlace(t, claudeConfig(binary, m.URL))
	out, code := p.run(p.ralph, "agent")
	if code != 1 || !strings.Contains(out, "authentication") {
		t.Errorf("exit code %d, want 1 and an authentication error:\n%s", code, out)
	}
	turns := strings.Count(p.must(p.ralph, "log", "--json"), `"t":"turn.ended"`)
	if turns != 1 {
		t.Errorf("%d turns with a key that is refused, want 1:\n%s", turns, out)
	}
	if inbox := p.must(p.ralph, "query", "inbox"); !strings.Contains(inbox, `"status": "failed"`) {
		t.Errorf("the spec is not failed: %s", inbox)
	}
}
