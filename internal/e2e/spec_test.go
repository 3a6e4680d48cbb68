//go:build e2e

package e2e

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph/internal/ralphtest/modeltest"
)

// stage is what a turn is for, by the first words of its prompt.
func stage(q modeltest.Request) string {
	for stage, words := range map[string]string{
		"plan": "Plan the work for one spec", "verify": "Verify the work on a spec", "build": "Carry out one task of a spec", "investigate": "Investigate before the work goes on",
	} {
		if strings.Contains(q.Prompt, words) {
			return stage
		}
	}
	return ""
}

// script plans one task, leaves the work to build, and accepts it.
func script(build modeltest.Handler) modeltest.Handler {
	return func(q modeltest.Request) modeltest.Reply {
		switch stage(q) {
		case "plan":
			task := map[string]any{"name": "Write hello.txt", "notes": nil, "accept": nil, "deps": nil, "tags": nil, "priority": nil, "phase": nil}
			return modeltest.Reply{Answer: map[string]any{"tasks": []any{task}}}
		case "verify":
			return modeltest.Reply{Answer: map[string]any{"verdicts": []any{}, "tasks": []any{}, "issues": []any{}}}
		case "investigate":
			return modeltest.Reply{Answer: map[string]any{"tasks": []any{}, "resolved": []any{}}}
		}
		return build(q)
	}
}

// complete is how an agent says that its task is done.
func complete(words string) modeltest.Reply {
	return modeltest.Reply{Text: words + "\n\n<ralph>COMPLETE</ralph>"}
}

// checkHello wants the work of the spec in one commit, and nothing else.
func (p *place) checkHello(out string) {
	p.t.Helper()
	if subject := strings.TrimSpace(p.must("git", "log", "-1", "--format=%s")); subject != "ralph: complete hello" {
		p.t.Errorf("the commit's subject is %q\n%s", subject, out)
	}
	if files := p.must("git", "show", "--name-only", "--format=", "HEAD"); strings.TrimSpace(files) != "hello.txt" {
		p.t.Errorf("the commit holds %q, want hello.txt\n%s", files, out)
	}
	if text := p.must("git", "show", "HEAD:hello.txt"); text != "hello\n" {
		p.t.Errorf("hello.txt holds %q\n%s", text, out)
	}
	p.checkRecord()
	p.checkAlone()
}

// Every real agent takes a spec from the inbox to a commit: a plan and a verdict
// that are understood, a file by its own tool for that, a check that is red first
// and whose output it is told, a command by its own shell, a signal; and nothing of
// it is left running (A-124, B-010, B-011, D-002,
// D-042, D-044, D-046, E-016).
func TestEveryAgentBuildsASpec(t *testing.T) {
	t.Parallel()
	eachAndOurs(t, func(t *testing.T, a program) {
		p := newPlace(t)
		turns := 0
		m := modeltest.New(t, script(func(q modeltest.Request) modeltest.Reply {
			switch {
			case q.Results && strings.Contains(q.Last, "green again"):
				return complete("I have mended it.")
			case q.Results:
				return complete("I wrote it.")
			}
			if turns++; turns == 1 {
				file := filepath.Join(p.dir, "hello.txt")
				if a.bin == "" {
					file = "hello.txt" // a shell begins where the work is, which may be a worktree
				}
				return modeltest.Do(modeltest.Write(file, "helo\n"))
			}
			if !strings.Contains(q.Prompt, "grep -qx hello hello.txt") {
				t.Errorf("the second turn is not told of the check that failed:\n%s", q.Prompt)
			}
			return modeltest.Do(modeltest.Run("echo hello > hello.txt && grep -qx hello hello.txt && echo green again"))
		}))
		p.begin(p.settings(m, "never", a))
		out, code := p.run(p.ralph, "agent")
		if code != 0 {
			t.Fatalf("ralph agent: exit code %d\n%s", code, out)
		}
		if !strings.Contains(out, "CHECK: failed grep -qx hello hello.txt") || turns != 2 {
			t.Errorf("%d turns at the task, want a red one and a green one:\n%s", turns, out)
		}
		if body := p.must("git", "log", "-1", "--format=%b"); a.name == "claude" && strings.Contains(body, "Cost: $0.00") {
			t.Errorf("claude reported a cost, and it is not in the commit:\n%s", body)
		}
		p.checkHello(out)
	})
}

// A key that is refused is told as what it is, by every real agent, nobody tries it again
// and again, and the spec is not to blame (D-077, X-53, R-H4).
func TestEveryAgentWithABadKey(t *testing.T) {
	t.Parallel()
	eachAndOurs(t, func(t *testing.T, a program) {
		p := newPlace(t)
		m := modeltest.New(t, func(modeltest.Request) modeltest.Reply { return modeltest.Reply{Kind: modeltest.Auth} })
		p.begin(p.settings(m, "never", a))
		p.env = append(p.env, "RALPH_LIMITS_WAIT=off") // usual is to wait for a person
		out, code := p.run(p.ralph, "agent")
		if code != 3 || !strings.Contains(out, "not logged in") || !strings.Contains(p.must(p.ralph, "inbox"), "pending") {
			t.Errorf("exit code %d, want 3, a login that is missing, and a spec that waits:\n%s", code, out)
		}
		if turns := strings.Count(p.must(p.ralph, "log", "--json"), `"t":"turn.ended"`); turns != 1 {
			t.Errorf("%d turns with a key that is refused, want 1:\n%s", turns, out)
		}
		p.checkAlone()
	})
}
