// Package settings owns which files of a repository are settings, that the work of an agent may not change
// unseen (S2): what the next start of ralph, git, a CI service or an agent would read out of it and act on. Prose
// for agents (AGENTS.md, CLAUDE.md) and .gitignore are work like any other. It does not own what becomes of such a
// change (internal/policy).
package settings

import (
	"path"
	"strings"
)

// dirs are folders all of whose files are settings, wherever they are, by kind: arrays, which cost nothing to make.
func dirs() [6][2]string {
	return [...][2]string{
		{"settings of an agent", ".agents .claude .codex .copilot .cursor .gemini .goose .opencode"},
		{"CI", ".azure-pipelines .buildkite .circleci .forgejo/workflows .gitea/workflows .github/actions .github/workflows .gitlab/ci .semaphore .teamcity .tekton .woodpecker"},
		{"what an editor runs", ".devcontainer .vscode"},
		{"a git hook", ".git-hooks .githooks .husky"},
		{"a hook of ralph", "ralph/hooks"},
		{"a prompt of ralph", "ralph/prompts"},
	}
}

// files are files that are settings in any folder, by kind.
func files() [6][2]string {
	return [...][2]string{
		{"git's settings", ".gitattributes .gitmodules .gitconfig .lfsconfig"},
		{"CI", ".gitlab-ci.yml .gitlab-ci.yaml jenkinsfile .travis.yml .drone.yml .cirrus.yml appveyor.yml .appveyor.yml bitbucket-pipelines.yml .woodpecker.yml .woodpecker.yaml cloudbuild.yaml cloudbuild.yml buildspec.yml buildspec.yaml"},
		{"who reviews changes", "codeowners"},
		{"what a shell runs", ".envrc"},
		{"settings of an agent", ".mcp.json opencode.json opencode.jsonc .aider.conf.yml .cursorrules"},
		{"a git hook", ".pre-commit-config.yaml .pre-commit-config.yml lefthook.yml lefthook.yaml .lefthook.yml .lefthook.yaml .overcommit.yml .huskyrc .huskyrc.json"},
	}
}

// Of says what kind of settings a file of the repository is, "" for none. Upper and
// lower case are one, as they are on some systems. A folder of settings that is itself a
// file of git (a link, a submodule) leads to settings as well.
func Of(file string) string {
	name := strings.ToLower(path.Clean(strings.ReplaceAll(file, `\`, "/")))
	base := path.Base(name)
	switch {
	case name == "ralph", strings.HasPrefix(name, "ralph/config."):
		return "settings of ralph"
	case strings.HasPrefix(base, "jenkinsfile"), strings.HasPrefix(base, "azure-pipelines") && path.Ext(base) != ".md":
		return "CI"
	}
	for _, x := range files() {
		for file := range strings.SplitSeq(x[1], " ") {
			if base == file {
				return x[0]
			}
		}
	}
	for _, x := range dirs() {
		for dir := range strings.SplitSeq(x[1], " ") {
			top := strings.HasPrefix(dir, "ralph/") // nowhere else
			if name == dir || strings.HasPrefix(name, dir+"/") || strings.HasPrefix(dir, name+"/") ||
				!top && (strings.HasSuffix(name, "/"+dir) || strings.Contains(name, "/"+dir+"/")) {
				return x[0]
			}
		}
	}
	return ""
}

// Is reports whether a file is settings that a person looks at.
func Is(file string) bool { return Of(file) != "" }
