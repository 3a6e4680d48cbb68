package tracker

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/ralph-loop/ralph"
)

// Places are what the settings say of the trackers: what a short name of an item belongs to.
type Places struct {
	GitHubRepo string // owner/name, for #12
	GitHubURL  string // of an Enterprise server
	JiraURL    string
	ADOURL     string
}

// String is the item as people write it.
func (r Ref) String() string {
	if r.Service == ralph.AzureDevOps {
		return "ado:" + r.Key
	}
	return r.Key
}

// Repo takes the item of GitHub apart.
func (r Ref) Repo() (owner, name string, number int) {
	repo, n, _ := strings.Cut(r.Key, "#")
	owner, name, _ = strings.Cut(repo, "/")
	number, _ = strconv.Atoi(n)
	return owner, name, number
}

// Parse reads the name of an item: owner/name#12, #12, PROJ-7, ado:123, and the addresses of
// their pages.
func Parse(text string, at Places) (Ref, error) {
	text = strings.TrimSpace(text)
	if strings.Contains(text, "://") {
		return parseURL(text, at)
	}
	if id, ok := cutFold(text, "ado:"); ok && isNumber(id) {
		return Ref{ralph.AzureDevOps, id}, nil
	}
	if repo, n, ok := strings.Cut(text, "#"); ok && isNumber(n) {
		if repo == "" {
			repo = at.GitHubRepo
		}
		if isRepo(repo) {
			return Ref{ralph.GitHub, repo + "#" + n}, nil
		}
		if repo == "" {
			return Ref{}, refusal(text, "has no repository", "write owner/repository"+text+", or set `sync.github.repo`")
		}
	}
	if isJiraKey(text) {
		return Ref{ralph.Jira, text}, nil
	}
	return Ref{}, refusal(text, "is no item of a tracker", "write owner/repository#12, PROJ-7, ado:123, or the address of its page")
}

func refusal(text, why, hint string) error {
	if len(text) > 100 {
		text = text[:100] + "..."
	}
	return &ralph.Refusal{Why: fmt.Sprintf("%q %s", text, why), Hint: hint, Kind: ralph.ErrUsage}
}

func parseURL(text string, at Places) (Ref, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return Ref{}, refusal(text, "is no address", "copy it from the browser")
	}
	p := strings.Split(strings.Trim(u.Path, "/"), "/")
	switch {
	case u.Host == "github.com" || sameHost(u, at.GitHubURL):
		for len(p) > 4 && (p[0] == "api" || p[0] == "v3" || p[0] == "v1" || p[0] == "repos") { // an address of the API
			p = p[1:]
		}
		if len(p) >= 4 && isRepo(p[0]+"/"+p[1]) && (p[2] == "issues" || p[2] == "pull" || p[2] == "pulls") && isNumber(p[3]) {
			return Ref{ralph.GitHub, p[0] + "/" + p[1] + "#" + p[3]}, nil
		}
	case strings.HasSuffix(u.Host, ".atlassian.net") || sameHost(u, at.JiraURL):
		for i, part := range p {
			if part == "browse" && i+1 < len(p) && isJiraKey(p[i+1]) {
				return Ref{ralph.Jira, p[i+1]}, nil
			}
		}
		if key := u.Query().Get("selectedIssue"); isJiraKey(key) {
			return Ref{ralph.Jira, key}, nil
		}
	case u.Host == "dev.azure.com" || strings.HasSuffix(u.Host, ".visualstudio.com") || sameHost(u, at.ADOURL):
		if len(p) >= 3 && strings.EqualFold(p[len(p)-3], "_workitems") && isNumber(p[len(p)-1]) {
			return Ref{ralph.AzureDevOps, p[len(p)-1]}, nil
		}
		if id := u.Query().Get("workitem"); isNumber(id) {
			return Ref{ralph.AzureDevOps, id}, nil
		}
	}
	return Ref{}, refusal(text, "is no address of an item of the trackers in ralph/config.yaml", "look at `sync.github`, `sync.jira` and `sync.ado` there, or write owner/repository#12, PROJ-7 or ado:123")
}

func sameHost(u *url.URL, of string) bool {
	v, err := url.Parse(of)
	return err == nil && of != "" && (v.Host == u.Host || v.Host == "api."+u.Host)
}

func cutFold(s, prefix string) (string, bool) {
	if len(s) < len(prefix) || !strings.EqualFold(s[:len(prefix)], prefix) {
		return "", false
	}
	return s[len(prefix):], true
}

func isNumber(s string) bool {
	n, err := strconv.Atoi(s)
	return err == nil && n > 0 && s[0] != '+' && s[0] != '0'
}

func isRepo(s string) bool {
	owner, name, ok := strings.Cut(s, "/")
	return ok && isName(owner) && isName(name)
}

func isName(s string) bool {
	if s == "" || s == "." || s == ".." || len(s) > 100 {
		return false
	}
	for _, r := range s {
		if !isLetter(r) && !isDigit(r) && r != '-' && r != '_' && r != '.' {
			return false
		}
	}
	return true
}

func isJiraKey(s string) bool {
	project, n, ok := strings.Cut(s, "-")
	if !ok || !isNumber(n) || project == "" || len(project) > 50 {
		return false
	}
	for i, r := range project {
		if upper := r >= 'A' && r <= 'Z'; !upper && (i == 0 || !isDigit(r) && r != '_') {
			return false
		}
	}
	return true
}

func isLetter(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' }
func isDigit(r rune) bool  { return r >= '0' && r <= '9' }
