package policy

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/text"
)

// The settings that the work of an agent may not change unseen (S2): what the next start of
// ralph, git, a CI service or an agent would read out of the repository and act on. Prose
// for agents (AGENTS.md, CLAUDE.md) and .gitignore are work like any other.

// settingsDirs are folders all of whose files are settings, wherever they are.
func settingsDirs() map[string]string {
	return map[string]string{
		"ralph/hooks": "a hook of ralph", "ralph/prompts": "a prompt of ralph",
		".github/workflows": "CI", ".github/actions": "CI", ".gitea/workflows": "CI", ".forgejo/workflows": "CI", ".gitlab/ci": "CI",
		".circleci": "CI", ".buildkite": "CI", ".azure-pipelines": "CI", ".woodpecker": "CI", ".teamcity": "CI", ".semaphore": "CI", ".tekton": "CI",
		".claude": "settings of an agent", ".codex": "settings of an agent", ".opencode": "settings of an agent", ".gemini": "settings of an agent",
		".cursor": "settings of an agent", ".goose": "settings of an agent", ".copilot": "settings of an agent", ".agents": "settings of an agent",
		".vscode": "what an editor runs", ".devcontainer": "what an editor runs", ".husky": "a git hook", ".githooks": "a git hook", ".git-hooks": "a git hook",
	}
}

// settingsFiles are files that are settings in any folder, by name.
func settingsFiles() map[string]string {
	return map[string]string{
		".gitattributes": "git's settings", ".gitmodules": "git's settings", ".gitconfig": "git's settings", ".lfsconfig": "git's settings",
		".gitlab-ci.yml": "CI", ".gitlab-ci.yaml": "CI", "jenkinsfile": "CI", ".travis.yml": "CI", ".drone.yml": "CI", ".cirrus.yml": "CI",
		"appveyor.yml": "CI", ".appveyor.yml": "CI", "bitbucket-pipelines.yml": "CI", ".woodpecker.yml": "CI", ".woodpecker.yaml": "CI",
		"cloudbuild.yaml": "CI", "cloudbuild.yml": "CI", "buildspec.yml": "CI", "buildspec.yaml": "CI", "codeowners": "who reviews changes",
		".envrc": "what a shell runs", ".mcp.json": "settings of an agent", "opencode.json": "settings of an agent", "opencode.jsonc": "settings of an agent",
		".aider.conf.yml": "settings of an agent", ".cursorrules": "settings of an agent",
		".pre-commit-config.yaml": "a git hook", ".pre-commit-config.yml": "a git hook", "lefthook.yml": "a git hook", "lefthook.yaml": "a git hook",
		".lefthook.yml": "a git hook", ".lefthook.yaml": "a git hook", ".overcommit.yml": "a git hook", ".huskyrc": "a git hook", ".huskyrc.json": "a git hook",
	}
}

// SettingsOf says what kind of settings a file of the repository is, "" for none. Upper and
// lower case are one, as they are on some systems. A folder of settings that is itself a
// file of git (a link, a submodule) leads to settings as well.
func SettingsOf(file string) string {
	name := strings.ToLower(path.Clean(strings.ReplaceAll(file, `\`, "/")))
	base := path.Base(name)
	switch {
	case name == "ralph", strings.HasPrefix(name, "ralph/config."):
		return "settings of ralph"
	case strings.HasPrefix(base, "jenkinsfile"), strings.HasPrefix(base, "azure-pipelines") && path.Ext(base) != ".md":
		return "CI"
	}
	if kind := settingsFiles()[base]; kind != "" {
		return kind
	}
	dirs := settingsDirs()
	for _, dir := range slices.Sorted(maps.Keys(dirs)) {
		kind := dirs[dir]
		if name == dir || strings.HasPrefix(name, dir+"/") || strings.HasPrefix(dir, name+"/") {
			return kind
		}
		if !strings.HasPrefix(dir, "ralph/") && (strings.HasSuffix(name, "/"+dir) || strings.Contains(name, "/"+dir+"/")) {
			return kind
		}
	}
	return ""
}

// IsSettings reports whether a file is settings that a person looks at.
func IsSettings(file string) bool { return SettingsOf(file) != "" }

// unseen are the changes of settings in a task's work that a person has still to see before
// it is merged.
func unseen(s *ralph.State, t *ralph.Task, c Config) []ralph.Finding {
	if !c.Diff.Looks(ralph.CheckSettings) || t.Run.Queue.Approved {
		return nil
	}
	return s.Unseen(t.Run.Queue.Settings)
}

// settingsWords names the files of changes.
func settingsWords(list []ralph.Finding) string {
	var names []string
	for _, f := range list {
		names = append(names, f.Path)
	}
	const most = 3
	if len(names) > most {
		names = append(slices.Clone(names[:most]), "...")
	}
	return strings.Join(names, ", ")
}

// settingsDetail is what a person decides by: each file, and how it changes.
func settingsDetail(list []ralph.Finding, patch string) string {
	var b strings.Builder
	for _, f := range list {
		b.WriteString(f.Path + ": " + f.What + "\n")
	}
	return b.String() + "\n" + text.Plain(patch)
}
