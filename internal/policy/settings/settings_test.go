package settings_test

import (
	"testing"

	"github.com/ralph-loop/ralph/internal/policy/settings"
)

// S2: what the next start of ralph, git, CI or an agent acts on, and what is plain work.
func TestOf(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]string{
		"ralph/config.yaml": "settings of ralph", "Ralph/Config.yaml": "settings of ralph", "ralph": "settings of ralph", "ralph/config.yml": "settings of ralph",
		"ralph/hooks/pre-session": "a hook of ralph", "ralph/hooks": "a hook of ralph", "ralph/prompts/build.md": "a prompt of ralph",
		".gitattributes": "git's settings", "sub/dir/.gitattributes": "git's settings", ".gitmodules": "git's settings",
		".github/workflows/ci.yml": "CI", ".github": "CI", ".gitlab-ci.yml": "CI", "Jenkinsfile": "CI", "ci/Jenkinsfile.release": "CI", "azure-pipelines.yml": "CI",
		"azure-pipelines-release.yaml": "CI", ".circleci/config.yml": "CI", "x/.circleci/config.yml": "CI", ".github/CODEOWNERS": "who reviews changes",
		".claude/settings.json": "settings of an agent", "web/.claude/settings.json": "settings of an agent", ".codex/config.toml": "settings of an agent",
		".mcp.json": "settings of an agent", "opencode.json": "settings of an agent", ".gemini": "settings of an agent",
		".husky/pre-commit": "a git hook", ".pre-commit-config.yaml": "a git hook", ".envrc": "what a shell runs", ".vscode/tasks.json": "what an editor runs",

		"main.go": "", "README.md": "", ".gitignore": "", "AGENTS.md": "", "CLAUDE.md": "", "docs/azure-pipelines.md": "", "ralph/progress.md": "",
		"ralph/specs/a.md": "", "ralph/plan.jsonl": "", ".github/ISSUE_TEMPLATE/bug.md": "", "src/ralph/config.go": "", "src/ralph/hooks/x.go": "", "github/workflows/x": "",
		"package.json": "", "Makefile": "", "claude/settings.json": "",
	} {
		if got := settings.Of(file); got != want {
			t.Errorf("%s: %q, want %q", file, got, want)
		}
	}
}
