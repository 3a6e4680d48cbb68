package cli

import (
	"context"
	"errors"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph/internal/git"
	"github.com/ralph-loop/ralph/internal/git/push"
	"github.com/ralph-loop/ralph/internal/proc"
	"github.com/ralph-loop/ralph/internal/workspace"
	"github.com/ralph-loop/ralph/internal/worktree"
)

// remoteWithLogin is a repository behind HTTP that wants a password, and the environment of a
// person whose git has it.
func remoteWithLogin(t *testing.T) (url, bare string, person []string) {
	t.Helper()
	home, root := t.TempDir(), t.TempDir()
	bare = filepath.Join(root, "o.git")
	path, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	exe, err := exec.CommandContext(t.Context(), path, "--exec-path").Output()
	if err != nil {
		t.Fatal(err)
	}
	backend := &cgi.Handler{
		Path: filepath.Join(strings.TrimSpace(string(exe)), "git-http-backend"),
		Env:  []string{"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER=ada"},
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, pass, ok := r.BasicAuth(); !ok || user != "ada" || pass != "canary" {
			w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		backend.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	config := "[user]\n\tname = Ada\n\temail = a@example.org\n[credential]\n\thelper = \"!f() { echo username=ada; echo password=canary; }; f\"\n"
	if err := os.WriteFile(filepath.Join(home, ".gitconfig"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	person = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "GIT_CONFIG_NOSYSTEM=1", "TMPDIR=" + t.TempDir(), "SSH_AUTH_SOCK=/dev/null", "GITHUB_TOKEN=canary"}
	gitIn(t, root, person, "init", "-q", "--bare", "-b", "main", bare)
	gitIn(t, bare, person, "config", "http.receivepack", "true")
	return server.URL + "/o.git", bare, person
}

func gitIn(t *testing.T, dir string, env []string, args ...string) string {
	t.Helper()
	out, code := tryGit(t, dir, env, append([]string{"git"}, args...)...)
	if code != 0 {
		t.Fatalf("git %v: %d\n%s", args, code, out)
	}
	return strings.TrimSpace(out)
}

func tryGit(t *testing.T, dir string, env []string, argv ...string) (string, int) {
	t.Helper()
	out, errs, res, err := proc.NewRunner("").Output(t.Context(), proc.Command{Args: argv, Dir: dir, Env: env})
	if err != nil {
		t.Fatal(err)
	}
	return string(out) + string(errs), res.Code
}

// S4: no process of a turn has what a person logs in to the remote with, however it calls git;
// ralph pushes for it, by the commits that it was allowed, and nothing of what the repository's
// settings say but the address.
func TestPushIsRalphs(t *testing.T) {
	t.Parallel()
	url, bare, person := remoteWithLogin(t)
	dir := t.TempDir()
	gitIn(t, dir, person, "init", "-q", "-b", "main", ".")
	commit := func(words string) string {
		gitIn(t, dir, person, "commit", "-q", "--allow-empty", "-m", words)
		return gitIn(t, dir, person, "rev-parse", "HEAD")
	}
	one, two := commit("one"), commit("two")
	gitIn(t, dir, person, "remote", "add", "origin", url)
	gitIn(t, dir, person, "push", "-q", "origin", "main")
	there := func(ref string) string {
		out, _ := tryGit(t, bare, person, "git", "rev-parse", "-q", "--verify", ref)
		return strings.TrimSpace(out)
	}

	// what the agent has: none of these comes through
	agent := workspace.BaseEnv(person)
	if slices.ContainsFunc(agent, func(kv string) bool { return strings.Contains(kv, "canary") || strings.HasPrefix(kv, "SSH_AUTH_SOCK=") }) {
		t.Errorf("the agent's environment has a credential: %q", agent)
	}
	for _, argv := range [][]string{
		{"git", "push", "origin", "main"},
		{"git", "push", "-f", "origin", one + ":refs/heads/main"},
		{"git", "push", "--no-verify", "origin", ":main"},
		{"git", "-c", "core.hooksPath=/dev/null", "push", "origin", "+" + one + ":refs/heads/main"},
		{"git", "send-pack", "--force", url, one + ":refs/heads/main"},
		{"git", "push", "--prune", "origin", "refs/heads/z*:refs/heads/m*"},
		{"sh", "-c", "RALPH_PASSED=x git push -f origin " + one + ":refs/heads/main"},
	} {
		if out, code := tryGit(t, dir, agent, argv...); code == 0 || there("refs/heads/main") != two {
			t.Errorf("%q: %d, main is %s\n%s", argv, code, there("refs/heads/main"), out)
		}
	}

	// what the agent has written into the repository runs nowhere
	repo, err := git.Open(t.Context(), proc.NewRunner(""), dir, person)
	if err != nil {
		t.Fatal(err)
	}
	trap := filepath.Join(t.TempDir(), "trap")
	for _, key := range []string{"core.sshCommand", "core.fsmonitor", "credential.helper", "core.gitProxy"} {
		gitIn(t, dir, person, "config", key, "!touch "+trap)
	}
	hook := filepath.Join(dir, ".git/hooks/pre-push")
	if err := os.WriteFile(hook, []byte("#!/bin/sh\ntouch '"+trap+"'\n"), 0o755); err != nil { //nolint:gosec // a hook
		t.Fatal(err)
	}
	gitIn(t, dir, person, "config", "remote.origin.push", "+"+one+":refs/heads/main")
	var asked []string
	answer := errors.New("no")
	allow := func(_ context.Context, argv []string) error {
		asked = append(asked, strings.Join(argv, " "))
		return answer
	}
	pushed := func(args ...string) (string, int, error) {
		asked = nil
		return worktree.Pushing{Repo: repo}.Push(t.Context(), dir, append([]string{"git", "push"}, args...), allow)
	}
	three := commit("three")
	if said, code, err := pushed("-u", "origin", "main"); err != nil || code != 0 || len(asked) != 0 || there("refs/heads/main") != three {
		t.Fatalf("an ordinary push: %d %v, asked %q, main is %s\n%s", code, err, asked, there("refs/heads/main"), said)
	}
	if at := gitIn(t, dir, person, "rev-parse", "refs/remotes/origin/main"); at != three || gitIn(t, dir, person, "config", "branch.main.merge") != "refs/heads/main" {
		t.Errorf("origin/main is %s", at)
	}
	for _, args := range [][]string{{"origin", one + ":refs/heads/main"}, {"origin", ":main"}, {"--delete", "origin", "main"}, {"-f", "origin", one + ":main"}, {"origin", "+" + one + ":main"}} {
		if _, _, err := pushed(args...); !errors.Is(err, answer) || len(asked) != 1 || there("refs/heads/main") != three {
			t.Errorf("%q: %v, asked %q, main is %s", args, err, asked, there("refs/heads/main"))
		}
	}
	for _, args := range [][]string{{"--mirror"}, {"--prune", "origin", "main"}, {"--receive-pack=x", "origin", "main"}, {"ext::sh", "main"}, {"origin", "refs/heads/*:refs/heads/*"}, {"origin", "nothing"}} {
		if _, _, err := pushed(args...); !errors.Is(err, push.ErrRefused) {
			t.Errorf("%q: %v", args, err)
		}
	}
	answer = nil
	if said, code, err := pushed("-f", "origin", two+":refs/heads/main"); err != nil || code != 0 || len(asked) != 1 || there("refs/heads/main") != two {
		t.Errorf("a push that was allowed: %d %v, asked %q, main is %s\n%s", code, err, asked, there("refs/heads/main"), said)
	}
	if _, err := os.Stat(trap); err == nil {
		t.Error("the repository's own settings ran something")
	}
}
