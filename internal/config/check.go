package config

import (
	"net"
	"net/url"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/ralph-loop/ralph/internal/labels"
	"github.com/ralph-loop/ralph/internal/lazyregexp"
)

// The checks of single texts. Each returns what is wrong, "" for nothing, in
// words that follow the key. None shows a text that may be a secret.

var (
	agentName = lazyregexp.New(`^[a-z0-9][a-z0-9_-]*$`)
	envName   = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*$`)
	repoName  = lazyregexp.New(`^[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+$`)
	secretVar = lazyregexp.New(`(?i)key|token|secret|passw|credential|auth`)
)

func checkFilled(s string) string {
	if s == "" {
		return "must not be empty"
	}
	return ""
}

// checkLabel takes a label of a worker.
func checkLabel(s string) string {
	if wrong := labels.Wrong(s); wrong != "" {
		return wrong + ", not " + show(s)
	}
	return ""
}

// checkBranch keeps a branch from being read as an option of git.
func checkBranch(s string) string {
	if strings.HasPrefix(s, "-") || strings.ContainsAny(s, " \t\n\x7f~^:?*[\\") {
		return "must be the name of a branch, not " + show(s)
	}
	return ""
}

// checkTemplate wants a name of a branch that differs from spec to spec.
func checkTemplate(s string) string {
	switch {
	case !strings.Contains(s, "{spec}") && !strings.Contains(s, "{id}"):
		return "must have {spec} or {id} in it, so that each spec has a branch of its own"
	case strings.HasPrefix(s, "-") || strings.ContainsAny(s, " \t\n\x7f~^:?*[\\"):
		return "must be the name of a branch with {spec}, {id} or {date} in it, not " + show(s)
	}
	return ""
}

func checkRemote(s string) string {
	if s == "" || strings.HasPrefix(s, "-") || strings.ContainsAny(s, " \t\n:/\\") {
		return "must be the name of a git remote such as origin, not " + show(s)
	}
	return ""
}

func noneOrEnvName(s string) string {
	if s == "" {
		return ""
	}
	return checkEnvName(s)
}

func checkEnvName(s string) string {
	if !envName.MatchString(s) {
		return "must be the name of an environment variable (letters, digits and _), not " + show(s)
	}
	return ""
}

func checkTokenEnv(s string) string {
	if !envName.MatchString(s) {
		return "must be the name of an environment variable, not the secret itself"
	}
	return ""
}

func checkPattern(s string) string {
	if _, err := regexp.Compile(s); err != nil {
		why := strings.TrimPrefix(err.Error(), "error parsing regexp: ")
		return "must be a regular expression: " + cut(why)
	}
	return ""
}

// checkLocal keeps a path inside the repository.
func checkLocal(s string) string {
	if !filepath.IsLocal(s) {
		return "must be a path inside the repository, not " + show(s)
	}
	return ""
}

func checkRepo(s string) string {
	if s != "" && !repoName.MatchString(s) {
		return "must be owner/name, not " + show(s)
	}
	return ""
}

func checkURL(s string) string {
	if s == "" {
		return ""
	}
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return "must be an address that begins with https:// or http://"
	}
	if u.User != nil {
		return "must not hold a user or password"
	}
	return ""
}

func checkWebhook(s string) string {
	if u, err := url.Parse(s); err != nil || u.Scheme == "" || u.Host == "" && u.Opaque == "" {
		return "must be an address such as https://host/path or slack://token@channel"
	}
	return ""
}

func checkModel(s string) string {
	service, model, found := strings.Cut(s, ":")
	switch service {
	case "":
		if !found {
			return ""
		}
	case "codex":
		if !found || model != "" {
			return ""
		}
	case "ollama", "openai", "responses", "anthropic":
		if model != "" {
			return ""
		}
	}
	return "must be ollama:<model>, openai:<model>, responses:<model>, anthropic:<model>, codex or codex:<model>, not " + show(s)
}

// checkFallback looks at a model that has to be one.
func checkFallback(s string) string {
	if s == "" {
		return "must name a model such as ollama:qwen3"
	}
	return checkModel(s)
}

func checkAddr(s string) string {
	_, port, err := net.SplitHostPort(s)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return "must be host:port such as 127.0.0.1:7777, not " + show(s)
	}
	return ""
}

// hidden stands for what must not be shown.
const hidden = "***"

// maskEnv hides the values of variables whose names speak of secrets.
func maskEnv(plain any) any {
	m, ok := plain.(map[string]string)
	if !ok {
		return plain
	}
	for name := range m {
		if secretVar.MatchString(name) {
			m[name] = hidden
		}
	}
	return m
}

// maskWebhooks leaves of an address only its kind: the rest is often a token.
func maskWebhooks(plain any) any {
	urls, ok := plain.([]string)
	if !ok {
		return plain
	}
	for i, s := range urls {
		scheme, _, _ := strings.Cut(s, ":")
		urls[i] = scheme + "://" + hidden
	}
	return urls
}

// checkProgram wants a name as it is looked up in PATH.
func checkProgram(s string) string {
	if s == "" || s != filepath.Base(s) || s == "." || s == ".." || strings.ContainsAny(s, "\x00\n") {
		return "must be a program's name without a folder, not " + show(s)
	}
	return ""
}

// checkFolder wants a path that means the same from everywhere.
func checkFolder(s string) string {
	if !filepath.IsAbs(s) && !strings.HasPrefix(s, "~/") {
		return "must be an absolute path, or one that begins with ~/, not " + show(s)
	}
	return ""
}
