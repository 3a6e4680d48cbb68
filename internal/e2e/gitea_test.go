//go:build e2e

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// gitea is a real Gitea on loopback, with SQLite below a folder of the test, and three people: ralph, whose
// repository it is, mia, who works on it, and mallory, who does not.
type gitea struct {
	t      *testing.T
	url    string
	tokens map[string]string
}

const giteaSettings = `APP_NAME = test
RUN_USER = %[1]s
RUN_MODE = prod
WORK_PATH = %[2]s
[server]
HTTP_ADDR = 127.0.0.1
HTTP_PORT = %[3]d
ROOT_URL = http://127.0.0.1:%[3]d/
STATIC_ROOT_PATH = %[4]s
DISABLE_SSH = true
OFFLINE_MODE = true
LFS_START_SERVER = false
[database]
DB_TYPE = sqlite3
PATH = %[2]s/gitea.db
[security]
INSTALL_LOCK = true
SECRET_KEY = x
PASSWORD_HASH_ALGO = pbkdf2
[oauth2]
ENABLED = false
[log]
MODE = file
LEVEL = warn
ROOT_PATH = %[2]s/log
[actions]
ENABLED = false
[packages]
ENABLED = false
[indexer]
ISSUE_INDEXER_TYPE = db
`

func startGitea(t *testing.T) *gitea {
	t.Helper()
	binary, root := os.Getenv("RALPH_E2E_GITEA"), os.Getenv("RALPH_E2E_GITEA_ROOT")
	if binary == "" || root == "" {
		t.Skip("needs a Gitea: `make e2e-services` builds it once, which takes some minutes and a C compiler")
	}
	work := t.TempDir()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := listener.Addr().(*net.TCPAddr).Port
	_ = listener.Close()
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	ini := filepath.Join(work, "app.ini")
	if err := os.WriteFile(ini, fmt.Appendf(nil, giteaSettings, me.Username, work, port, root), 0o600); err != nil {
		t.Fatal(err)
	}
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + work, "GITEA_WORK_DIR=" + work, "GITEA_I_AM_BEING_UNSAFE_RUNNING_AS_ROOT=true", "GIT_CONFIG_NOSYSTEM=1"}
	command := func(args ...string) *exec.Cmd {
		c := exec.Command(binary, append([]string{"--config", ini}, args...)...)
		c.Dir, c.Env = work, env
		return c
	}
	must := func(args ...string) string {
		out, err := command(args...).CombinedOutput()
		if err != nil {
			t.Fatalf("gitea %v: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	must("migrate")
	g := &gitea{t: t, url: fmt.Sprintf("http://127.0.0.1:%d", port), tokens: map[string]string{}}
	for _, name := range []string{"ralph", "mia", "mallory"} {
		must("admin", "user", "create", "--username", name, "--password", "no-secret-1", "--email", name+"@example.com", "--must-change-password=false")
		words := strings.Fields(must("admin", "user", "generate-access-token", "--username", name, "--token-name", "test", "--scopes", "all", "--raw"))
		g.tokens[name] = words[len(words)-1]
	}
	server := command("web")
	var said bytes.Buffer
	server.Stdout, server.Stderr = &said, &said
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Signal(os.Interrupt)
		end := time.AfterFunc(20*time.Second, func() { _ = server.Process.Kill() })
		_ = server.Wait()
		end.Stop()
	})
	for limit := time.Now().Add(2 * time.Minute); ; {
		if res, err := http.Get(g.url + "/api/v1/version"); err == nil {
			_ = res.Body.Close()
			return g
		} else if time.Now().After(limit) {
			t.Fatalf("gitea does not answer: %v\n%s", err, said.String())
		}
		<-time.After(50 * time.Millisecond)
	}
}

// call is a call of its API, by somebody.
func (g *gitea) call(as, method, path string, in, out any) {
	g.t.Helper()
	body, err := json.Marshal(in)
	if err != nil {
		g.t.Fatal(err)
	}
	req, err := http.NewRequest(method, g.url+"/api/v1/"+path, bytes.NewReader(body))
	if err != nil {
		g.t.Fatal(err)
	}
	req.Header.Set("Authorization", "token "+g.tokens[as])
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		g.t.Fatal(err)
	}
	defer res.Body.Close()
	text, _ := io.ReadAll(res.Body)
	if res.StatusCode >= 300 {
		g.t.Fatalf("%s %s: %d %s", method, path, res.StatusCode, text)
	}
	if out != nil {
		if err := json.Unmarshal(text, out); err != nil {
			g.t.Fatalf("%s %s: %v\n%s", method, path, err, text)
		}
	}
}

// giteaIssue is an issue or a pull request as Gitea has it.
type giteaIssue struct {
	Number int
	State  string
	Body   string
	Merged bool
	Labels []struct{ Name string }
	Head   struct{ SHA, Ref string }
	User   struct{ Login string }
}

func (g *gitea) get(path string) (i giteaIssue) {
	g.t.Helper()
	g.call("ralph", http.MethodGet, "repos/ralph/shop/"+path, nil, &i)
	return i
}

const giteaRalph = `version: 1
agent: {primary: play, fallback: []}
agents:
  play: {driver: scripted, scenario: ../play.yaml}
quality: {commands: [test -e .git]}
task: {delay: 0s}
land: {how: pr, poll: 200ms, labels: [proposed], auto_merge: when_green}
inbox:
  sources:
    - {service: github, query: 'label:ralph is:open', every: 200ms}
sync:
  github:
    enabled: true
    repo: ralph/shop
    base_url: %s/api/v1
    token_env: GITEA_TOKEN
    labels: {start: at-work, done: '-at-work, finished'}
`

const giteaPlay = `rules:
  - when: {stage: plan}
    do: [{answer: {tasks: [{name: one}]}}]
  - when: {stage: investigate}
    do: [{answer: {tasks: [], resolved: []}}]
  - when: {stage: verify}
    do: [{answer: {verdicts: $accept, tasks: [], issues: []}}]
  - do:
      - run: echo "$RALPH_TASK" >> one.txt
      - signal: COMPLETE
`

// A real server that is not ours, from an issue to its merge: the issue comes in, progress goes to it as
// comments and labels, a branch and its pull request go out, a red status and a review come back as rounds, and
// green it is merged, which closes the issue. C-055, C-071, C-076.
func TestGitea(t *testing.T) {
	g := startGitea(t)
	g.call("ralph", http.MethodPost, "user/repos", map[string]any{"name": "shop", "auto_init": true, "default_branch": "main"}, nil)
	g.call("ralph", http.MethodPut, "repos/ralph/shop/collaborators/mia", map[string]any{"permission": "write"}, nil)
	p := newPlace(t)
	p.env = append(p.env, "GITEA_TOKEN="+g.tokens["ralph"])
	p.must("git", "clone", "-q", strings.Replace(g.url, "://", "://ralph:"+g.tokens["ralph"]+"@", 1)+"/ralph/shop.git", filepath.Join(p.base, "clone"))
	p.dir = filepath.Join(p.base, "clone")
	if err := os.MkdirAll(filepath.Join(p.dir, "ralph/specs"), 0o755); err != nil {
		t.Fatal(err)
	}
	p.write("ralph/config.yaml", fmt.Sprintf(giteaRalph, g.url))
	if err := os.WriteFile(filepath.Join(p.base, "play.yaml"), []byte(giteaPlay), 0o600); err != nil {
		t.Fatal(err)
	}
	p.must("git", "add", "-A")
	p.must("git", "commit", "-qm", "settings")
	p.must("git", "push", "-q", "origin", "main")
	if out := p.must(p.ralph, "doctor"); !strings.Contains(out, "GitHub") {
		t.Errorf("the doctor says nothing of the service:\n%s", out)
	}

	e := p.start("agent", "--watch")
	open := func(as, title string) (i giteaIssue) {
		g.call(as, http.MethodPost, "repos/ralph/shop/issues", map[string]any{"title": title, "body": "Codes are taken at the till."}, &i)
		return i
	}
	plain := open("mia", "Not for ralph") // while no such label is there, Gitea finds all issues with it
	var label struct{ ID int64 }
	g.call("ralph", http.MethodPost, "repos/ralph/shop/labels", map[string]any{"name": "ralph", "color": "#00aabb"}, &label)
	labelled := func(as, title string) giteaIssue {
		i := open(as, title)
		g.call("ralph", http.MethodPost, fmt.Sprintf("repos/ralph/shop/issues/%d/labels", i.Number), map[string]any{"labels": []int64{label.ID}}, nil)
		return i
	}
	stranger := labelled("mallory", "From a stranger")
	issue := labelled("mia", "Add a discount")

	var pull giteaIssue
	e.until("a pull request", func() bool {
		var pulls []giteaIssue
		g.call("ralph", http.MethodGet, "repos/ralph/shop/pulls?state=open", nil, &pulls)
		if len(pulls) > 0 {
			pull = pulls[0]
		}
		return len(pulls) == 1 && len(pulls[0].Labels) == 1
	})
	if want := fmt.Sprintf("Closes ralph/shop#%d", issue.Number); !strings.Contains(pull.Body, want) || !strings.Contains(pull.Body, "Codes are taken at the till.") || pull.Labels[0].Name != "proposed" {
		t.Errorf("the pull request is %+v, want %q", pull, want)
	}
	at := fmt.Sprintf("pulls/%d", pull.Number)
	status := func(state, words string) { // a list of pull requests may have the commit before
		g.call("mia", http.MethodPost, "repos/ralph/shop/statuses/"+g.get(at).Head.SHA, map[string]any{"state": state, "context": "lint", "description": words}, nil)
	}
	first := pull.Head.SHA
	status("failure", "one.txt is too short")
	e.until("another round after a red status", func() bool { return g.get(at).Head.SHA != first })
	second := g.get(at).Head.SHA
	g.call("mia", http.MethodPost, "repos/ralph/shop/"+at+"/reviews", map[string]any{"event": "REQUEST_CHANGES", "body": "say it louder"}, nil)
	e.until("another round after a review", func() bool { return g.get(at).Head.SHA != second })
	g.call("mia", http.MethodPost, "repos/ralph/shop/"+at+"/reviews", map[string]any{"event": "APPROVED", "body": ""}, nil)
	status("success", "ok")
	e.until("the merge", func() bool { return g.get(at).Merged })
	e.until("the issue to be told", func() bool {
		i := g.get(fmt.Sprintf("issues/%d", issue.Number))
		return i.State == "closed" && len(i.Labels) == 2
	})
	p.must(p.ralph, "stop")
	out := e.end()
	g.checkIssue(t, p, issue, out)
	for _, other := range []giteaIssue{plain, stranger} {
		if files, _ := filepath.Glob(filepath.Join(p.dir, fmt.Sprintf("ralph/specs/issue-%d-*", other.Number))); len(files) > 0 {
			t.Errorf("taken in: %v\n%s", files, out)
		}
	}
	if p.must(p.ralph, "verify"); strings.Count(out, "PULL: opened") != 1 {
		t.Errorf("more than one pull request:\n%s", out)
	}
}

// checkIssue wants what the issue was told once each, and nothing left.
func (g *gitea) checkIssue(t *testing.T, p *place, issue giteaIssue, out string) {
	t.Helper()
	var comments []giteaIssue
	g.call("ralph", http.MethodGet, fmt.Sprintf("repos/ralph/shop/issues/%d/comments", issue.Number), nil, &comments)
	said := map[string]int{}
	for _, c := range comments {
		for _, words := range []string{"ralph has begun", "ralph is done", "**ralph: "} {
			if strings.Contains(c.Body, words) {
				said[words]++
			}
		}
	}
	if said["ralph has begun"] != 3 || said["ralph is done"] != 3 || said["**ralph: "] != 1 {
		t.Errorf("the issue was told %v\n%+v\n%s", said, comments, out)
	}
	var labels []string
	for _, l := range g.get(fmt.Sprintf("issues/%d", issue.Number)).Labels {
		labels = append(labels, l.Name)
	}
	if strings.Join(labels, " ") != "finished ralph" {
		t.Errorf("its labels are %v\n%s", labels, out)
	}
	if list := p.must(p.ralph, "breaker", "list"); !strings.Contains(list, "0 waiting, 0 parked") || strings.Contains(list, "failure") {
		t.Errorf("%s\n%s", list, out)
	}
}
