package git

import (
	"os"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph/internal/proc"
)

// foreign reports variables that point git to another repository, index or
// reading of paths (git rev-parse --local-env-vars lists most of them), or
// that would start a pager, an editor or another diff.
func foreign(name string) bool {
	switch name {
	case "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_NAMESPACE", "GIT_PREFIX",
		"GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_QUARANTINE_PATH",
		"GIT_CONFIG", "GIT_CONFIG_PARAMETERS", "GIT_GRAFT_FILE", "GIT_SHALLOW_FILE",
		"GIT_NO_REPLACE_OBJECTS", "GIT_REPLACE_REF_BASE", "GIT_INTERNAL_SUPER_PREFIX", "GIT_IMPLICIT_WORK_TREE",
		"GIT_LITERAL_PATHSPECS", "GIT_GLOB_PATHSPECS", "GIT_NOGLOB_PATHSPECS", "GIT_ICASE_PATHSPECS",
		"GIT_EXTERNAL_DIFF", "GIT_DIFF_OPTS", "GIT_REFLOG_ACTION", "GIT_INDEX_VERSION",
		"GIT_PAGER", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR", "GIT_TERMINAL_PROMPT", "GIT_OPTIONAL_LOCKS":
		return true
	}
	return strings.HasPrefix(name, "GIT_TRACE")
}

// cleanEnv returns env fit for git; nil stands for the environment of ralph.
func cleanEnv(env []string) []string {
	if env == nil {
		env = os.Environ()
	}
	clean := make([]string, 0, len(env)+3)
	for _, kv := range env {
		if name, _, _ := strings.Cut(kv, "="); !foreign(name) {
			clean = append(clean, kv)
		}
	}
	// Agents can write refs/replace: git would show one object as another (GIT_NO_REPLACE_OBJECTS).
	return append(clean, "GIT_TERMINAL_PROMPT=0", "GIT_EDITOR=true", "GIT_PAGER=cat", "GIT_NO_REPLACE_OBJECTS=1")
}

// Environ is the environment of one command. What is parsed is asked for in
// the C locale; hooks keep the user's, which they may depend on.
func (r *Repo) Environ(read bool, more ...string) []string {
	env := slices.Clone(r.env)
	if read {
		env = slices.DeleteFunc(env, func(kv string) bool { return strings.HasPrefix(kv, "LC_ALL=") })
		env = append(env, "LC_ALL=C", "GIT_OPTIONAL_LOCKS=0")
	}
	return append(env, more...)
}

// Getenv is a variable of the environment that git gets.
func (r *Repo) Getenv(name string) string { return proc.Getenv(r.env, name) }
