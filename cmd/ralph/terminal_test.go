package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph/internal/cli"
	"github.com/ralph-loop/ralph/internal/workspace"
)

// On a terminal an unfinished plan is dropped only after a yes (D-042, product 3).
func TestPlanAsks(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, typed, want string }{
		{"no", "n\n", "a.md"},
		{"nothing typed", "", "a.md"},
		{"just return", "\n", "a.md"},
		{"yes", "y\n", "b.md"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for name, text := range map[string]string{
				"ralph/specs/a.md": "- [ ] one\n", "ralph/specs/b.md": "- [ ] two\n", ".git/HEAD": "ref: refs/heads/main\n",
				".git/objects/.keep": "", ".git/refs/.keep": "",
			} {
				if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			var out, errs bytes.Buffer
			env := workspace.Env{
				Stdin: strings.NewReader(test.typed), Stdout: &out, Stderr: &errs, Dir: dir, Terminal: true, Self: "ralph",
				Environ: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1"},
			}
			env.Args = []string{"plan", "--from-checklist", "a.md"}
			if code := cli.Main(t.Context(), env); code != 0 {
				t.Fatalf("exit code %d: %s", code, errs.String())
			}
			env.Args = []string{"plan", "--from-checklist", "b.md"}
			code := cli.Main(t.Context(), env)
			if want := "The plan of a.md has 1 unfinished task. Drop it and plan b.md? [y/N]"; !strings.Contains(out.String(), want) {
				t.Errorf("stdout is %q, want %q in it", out.String(), want)
			}
			plan, err := os.ReadFile(filepath.Join(dir, "ralph/plan.jsonl"))
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(plan), `{"t":"spec","spec":"`+test.want+`"}`) {
				t.Errorf("exit code %d, the plan is %s, want that of %s", code, plan, test.want)
			}
			if (code == 0) != (test.want == "b.md") {
				t.Errorf("exit code %d", code)
			}
		})
	}
}
