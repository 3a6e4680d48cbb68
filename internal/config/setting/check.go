package setting

import (
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/ralph-loop/ralph/internal/labels"
	"github.com/ralph-loop/ralph/internal/lazyregexp"
)

// The checks of single texts. Each returns what is wrong, "" for nothing, in
// words that follow the key. None shows a text that may be a secret.

var (
	envName  = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*$`)
	repoName = lazyregexp.New(`^[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+$`)
)

// CheckFilled takes any text but an empty one.
func CheckFilled(s string) string {
	if s == "" {
		return "must not be empty"
	}
	return ""
}

// CheckLabel takes a label of a worker.
func CheckLabel(s string) string {
	if wrong := labels.Wrong(s); wrong != "" {
		return wrong + ", not " + Quote(s)
	}
	return ""
}

// CheckBranch keeps a branch from being read as an option of git.
func CheckBranch(s string) string {
	if strings.HasPrefix(s, "-") || strings.ContainsAny(s, " \t\n\x7f~^:?*[\\") {
		return "must be the name of a branch, not " + Quote(s)
	}
	return ""
}

// CheckTemplate wants a name of a branch that differs from spec to spec.
func CheckTemplate(s string) string {
	switch {
	case !strings.Contains(s, "{spec}") && !strings.Contains(s, "{id}"):
		return "must have {spec} or {id} in it, so that each spec has a branch of its own"
	case strings.HasPrefix(s, "-") || strings.ContainsAny(s, " \t\n\x7f~^:?*[\\"):
		return "must be the name of a branch with {spec}, {id} or {date} in it, not " + Quote(s)
	}
	return ""
}

// CheckRemote takes the name of a git remote, not its address.
func CheckRemote(s string) string {
	if s == "" || strings.HasPrefix(s, "-") || strings.ContainsAny(s, " \t\n:/\\") {
		return "must be the name of a git remote such as origin, not " + Quote(s)
	}
	return ""
}

// NoneOrEnvName takes the name of a variable, or nothing.
func NoneOrEnvName(s string) string {
	if s == "" {
		return ""
	}
	return CheckEnvName(s)
}

// CheckEnvName takes the name of a variable.
func CheckEnvName(s string) string {
	if !envName.MatchString(s) {
		return "must be the name of an environment variable (letters, digits and _), not " + Quote(s)
	}
	return ""
}

// CheckTokenEnv takes the name of a variable. What is none may be the secret itself, so it is not shown.
func CheckTokenEnv(s string) string {
	if !envName.MatchString(s) {
		return "must be the name of an environment variable, not the secret itself"
	}
	return ""
}

// CheckPattern takes a regular expression of Go.
func CheckPattern(s string) string {
	if _, err := regexp.Compile(s); err != nil {
		why := strings.TrimPrefix(err.Error(), "error parsing regexp: ")
		return "must be a regular expression: " + cut(why)
	}
	return ""
}

// CheckLocal keeps a path inside the repository.
func CheckLocal(s string) string {
	if !filepath.IsLocal(s) {
		return "must be a path inside the repository, not " + Quote(s)
	}
	return ""
}

// CheckRepo takes owner/name, or nothing.
func CheckRepo(s string) string {
	if s != "" && !repoName.MatchString(s) {
		return "must be owner/name, not " + Quote(s)
	}
	return ""
}

// CheckURL takes a web address without a login in it, or nothing.
func CheckURL(s string) string {
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

// CheckWebhook takes the address of a service for notices. It may hold a token, so it is not shown.
func CheckWebhook(s string) string {
	if u, err := url.Parse(s); err != nil || u.Scheme == "" || u.Host == "" && u.Opaque == "" {
		return "must be an address such as https://host/path or slack://token@channel"
	}
	return ""
}

// CheckModel takes service:model, or nothing.
func CheckModel(s string) string {
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
	return "must be ollama:<model>, openai:<model>, responses:<model>, anthropic:<model>, codex or codex:<model>, not " + Quote(s)
}

// CheckFallback looks at a model that has to be one.
func CheckFallback(s string) string {
	if s == "" {
		return "must name a model such as ollama:qwen3"
	}
	return CheckModel(s)
}

// CheckAddr takes host:port; port 0 is any free one.
func CheckAddr(s string) string {
	_, port, err := net.SplitHostPort(s)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return "must be host:port such as 127.0.0.1:7777, not " + Quote(s)
	}
	return ""
}

// CheckProgram wants a name as it is looked up in PATH.
func CheckProgram(s string) string {
	if s == "" || s != filepath.Base(s) || s == "." || s == ".." || strings.ContainsAny(s, "\x00\n") {
		return "must be a program's name without a folder, not " + Quote(s)
	}
	return ""
}

// CheckFolder wants a path that means the same from everywhere.
func CheckFolder(s string) string {
	if !filepath.IsAbs(s) && !strings.HasPrefix(s, "~/") {
		return "must be an absolute path, or one that begins with ~/, not " + Quote(s)
	}
	return ""
}

// moments are when items of trackers are changed.
func moments() []string { return []string{"start", "done", "failed", "question"} }

// CheckMoment takes one of the moments.
func CheckMoment(s string) string {
	if !slices.Contains(moments(), s) {
		return fmt.Sprintf("has %s, which is no moment: use %s", Quote(s), strings.Join(moments(), ", "))
	}
	return ""
}

// CheckPairs looks at a list of Name=Value with commas between them.
func CheckPairs(s string) string {
	for part := range strings.SplitSeq(s, ",") {
		if name, _, ok := strings.Cut(part, "="); !ok || strings.TrimSpace(name) == "" {
			return "must be written as Name=Value, Name=Value"
		}
	}
	return ""
}

// CheckBoard takes a GitHub project as owner's kind, owner and number, or nothing.
func CheckBoard(s string) string {
	p := strings.Split(s, "/")
	if s != "" && (len(p) != 3 || p[0] != "orgs" && p[0] != "users" || p[1] == "" || strings.Trim(p[2], "0123456789") != "" || p[2] == "") {
		return "must be written as orgs/acme/7 or users/anna/7"
	}
	return ""
}
