//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// claudeBinary is the real program, installed by `make e2e`.
func claudeBinary(t *testing.T) string {
	t.Helper()
	path := os.Getenv("RALPH_E2E_CLAUDE")
	if path == "" {
		t.Fatal("RALPH_E2E_CLAUDE is not set: run `make e2e`, which installs the program from npm")
	}
	return path
}

// place is a repository with an empty environment around it.
type place struct {
	t     *testing.T
	dir   string
	ralph string
	env   []string
}

func newPlace(t *testing.T, config string) *place {
	t.Helper()
	base := t.TempDir()
	p := &place{t: t, dir: filepath.Join(base, "repo"), ralph: filepath.Join(base, "ralph")}
	home := filepath.Join(base, "home")
	p.env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=e2e", "GIT_AUTHOR_EMAIL=e2e@ralph.invalid", "GIT_COMMITTER_NAME=e2e", "GIT_COMMITTER_EMAIL=e2e@ralph.invalid",
	}
	build := exec.Command("go", "build", "-o", p.ralph, "../../cmd/ralph")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build ralph: %v\n%s", err, out)
	}
	for _, dir := range []string{home, filepath.Join(p.dir, "ralph/specs")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	p.write("ralph/config.yaml", config)
	p.write("ralph/specs/hello.md", "# Hello\n\nMake hello.txt with a greeting.\n")
	p.must("git", "init", "-q", ".")
	p.must("git", "add", "-A")
	p.must("git", "commit", "-qm", "start")
	p.must(p.ralph, "inbox", "add", "hello.md")
	return p
}

func (p *place) write(name, text string) {
	p.t.Helper()
	if err := os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

func (p *place) run(args ...string) (string, int) {
	p.t.Helper()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir, cmd.Env = p.dir, p.env
	out, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		p.t.Fatalf("%v: %v", args, err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

func (p *place) must(args ...string) string {
	p.t.Helper()
	out, code := p.run(args...)
	if code != 0 {
		p.t.Fatalf("%v: exit code %d\n%s", args, code, out)
	}
	return out
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
	binary := claudeBinary(t)
	var p *place
	builds := 0
	m := newModel(t, func(r request) reply {
		structured := r.Tools["StructuredOutput"]
		switch {
		case structured && r.Results:
			return reply{Text: "Done."}
		case structured && strings.Contains(r.Text, "verdict"):
			return reply{Tool: "StructuredOutput", Input: map[string]any{"verdicts": []any{}, "tasks": []any{}, "issues": []any{}}}
		case structured:
			task := map[string]any{"name": "Write hello.txt", "notes": nil, "accept": nil, "deps": nil, "tags": nil, "priority": nil, "phase": nil}
			return reply{Tool: "StructuredOutput", Input: map[string]any{"tasks": []any{task}}}
		case r.Results:
			return reply{Text: "I wrote it.\n\n<ralph>COMPLETE</ralph>"}
		}
		if builds++; builds == 1 {
			return reply{Text: "It is done, believe me.\n\n<ralph>COMPLETE</ralph>"}
		}
		return reply{Tool: "Write", Input: map[string]any{"file_path": filepath.Join(p.dir, "hello.txt"), "content": "hello\n"}}
	})
	p = newPlace(t, claudeConfig(binary, m.URL))
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
	binary := claudeBinary(t)
	m := newModel(t, func(request) reply { return reply{Status: 401} })
	p := newPlace(t, claudeConfig(binary, m.URL))
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
