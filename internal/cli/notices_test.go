package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/console"
	"github.com/ralph-loop/ralph/internal/follow"
	"github.com/ralph-loop/ralph/internal/journal"
	"github.com/ralph-loop/ralph/internal/ralphtest"
	"github.com/ralph-loop/ralph/internal/workspace"
)

// post is a server that keeps what it gets; below /gone it has nothing.
type post struct {
	*httptest.Server
	mu  sync.Mutex
	got []map[string]any
}

func newPost(t *testing.T) *post {
	t.Helper()
	p := &post{}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/gone/") {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		body, _ := io.ReadAll(r.Body)
		var m map[string]any
		if err := json.Unmarshal(body, &m); err != nil {
			t.Errorf("%s: %v", body, err)
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		p.got = append(p.got, m)
	}))
	t.Cleanup(p.Close)
	return p
}

// engineIn is a repository with a plan of two tasks, an agent that does them
// (the script says how it ends), a player that keeps what it played, and settings.
func engineIn(t *testing.T, build string, settings string) (workspace.Env, *bytes.Buffer) {
	t.Helper()
	dir := t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		ralphtest.Program(t, path, text)
	}
	write("bin/pw-play", "#!/bin/sh\necho \"${1##*/}\" >> '"+dir+"/played'\n")
	write("agent", "#!/bin/sh\ncat > /dev/null\ncase $RALPH_STAGE in\n"+
		"verify) printf '```json\\n{\"verdicts\":[],\"tasks\":[],\"issues\":[]}\\n```\\n' ;;\nbuild) "+build+" ;;\nesac\n")
	write("repo/ralph/specs/shop.md", "# A shop\n")
	write("repo/ralph/config.yaml", `agent: {primary: mine, fallback: []}
agents: {mine: {driver: exec, command: ['`+dir+`/agent']}}
quality: {commands: [test -e .git]}
task: {delay: 0s}
errors: {max_retries: 2, retry_base: 1ms}
`+settings)
	env := workspace.Env{
		Dir: filepath.Join(dir, "repo"), Environ: []string{
			"PATH=" + filepath.Join(dir, "bin") + ":" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
			"GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.com", "GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=ada@example.com",
		},
		Stdin: strings.NewReader(""), Version: "test",
	}
	env.Environ = append(env.Environ, ralphtest.Sandbox()...)
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "-A"}, {"commit", "-q", "-m", "start"}} {
		cmd := exec.CommandContext(t.Context(), "git", args...)
		cmd.Dir, cmd.Env = env.Dir, env.Environ
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	out := &bytes.Buffer{}
	env.Stdout, env.Stderr = out, out
	return env, out
}

func ralphIn(t *testing.T, env workspace.Env, want int, args ...string) {
	t.Helper()
	env.Args = args
	if code := Main(t.Context(), env); code != want {
		t.Fatalf("ralph %v: exit code %d, want %d\n%s", args, code, want, env.Stdout)
	}
}

func readAll(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// A whole run is heard and told: once per finished task, once at the end (A-027,
// A webhook that is gone is one fact, without its
// address, and holds nothing up.
func TestNoticesOfARun(t *testing.T) {
	t.Parallel()
	p := newPost(t)
	env, out := engineIn(t, `echo x >> done.txt; echo '<ralph>COMPLETE</ralph>'`,
		"notify: {sounds: true, webhooks: ['"+p.URL+"/hook/s3cret-1', '"+p.URL+"/gone/s3cret-2']}\n")
	ralphIn(t, env, 0, "task", "add", "Make the basket")
	ralphIn(t, env, 0, "task", "add", "Pay")
	ralphIn(t, env, 0, "autopilot", "--parallel", "1")
	if diff := cmp.Diff("aiComplete.wav\naiComplete.wav\nworkflowDone.wav\n", readAll(t, filepath.Join(env.Dir, "../played"))); diff != "" {
		t.Errorf("played (-want +got):\n%s", diff)
	}
	if len(p.got) != 1 || p.got[0]["event"] != "complete" || p.got[0]["title"] != "All done" || p.got[0]["repository"] != "repo" || p.got[0]["session"] == "" {
		t.Errorf("sent: %v", p.got)
	}
	journal := readAll(t, filepath.Join(env.Dir, "ralph/.state/journal.jsonl"))
	if n := strings.Count(journal, `"t":"notice.failed"`); n != 1 {
		t.Errorf("%d facts, want 1", n)
	}
	if !strings.Contains(out.String(), "NOTICE: http 127.0.0.1 #2 does not work: it answered 404 Not Found") {
		t.Errorf("it is not shown:\n%s", out)
	}
	if strings.Contains(journal+out.String(), "s3cret") {
		t.Error("an address was shown")
	}
	ralphIn(t, env, 0, "replay")
	ralphIn(t, env, 0, "verify")
}

// A task whose three attempts all fail is heard once.
func TestNoticesOfAFailure(t *testing.T) {
	t.Parallel()
	p := newPost(t)
	env, _ := engineIn(t, `echo broken >&2; exit 1`, "notify: {sounds: true, webhooks: ['"+p.URL+"/hook'], events: {'autopilot:complete': none}}\n")
	ralphIn(t, env, 0, "task", "add", "Make the basket")
	ralphIn(t, env, 1, "autopilot", "--parallel", "1")
	if got := readAll(t, filepath.Join(env.Dir, "../played")); got != "aiError.wav\n" {
		t.Errorf("played %q", got)
	}
	if len(p.got) != 1 || !strings.Contains(p.got[0]["body"].(string), "ralph task retry t-") {
		t.Errorf("sent: %v", p.got)
	}
	if n := strings.Count(readAll(t, filepath.Join(env.Dir, "ralph/.state/journal.jsonl")), `"t":"turn.ended"`); n != 3 {
		t.Errorf("%d attempts, want 3", n)
	}
}

// Where another process still tells hooks and a webhook of facts, the work goes on without, says
// so, and the next start tells them (issue 16.4).
func TestFollowedByAnother(t *testing.T) {
	t.Parallel()
	p := newPost(t)
	env, out := engineIn(t, `echo x >> done.txt; echo '<ralph>COMPLETE</ralph>'`, "notify: {webhooks: ['"+p.URL+"/hook']}\n")
	if err := os.MkdirAll(filepath.Join(env.Dir, "ralph/hooks"), 0o755); err != nil {
		t.Fatal(err)
	}
	ralphtest.Program(t, filepath.Join(env.Dir, "ralph/hooks/session.ended"), "#!/bin/sh\necho told >> ../hooked\n")
	ralphIn(t, env, 0, "task", "add", "Make the basket")
	j, err := journal.Open(journal.Options{Root: env.Dir})
	if err != nil {
		t.Fatal(err)
	}
	var others []*follow.Follower[int]
	for _, name := range []string{"hooks", "notice-http-127.0.0.1"} {
		f, err := follow.Start(j, follow.Options[int]{Name: name, From: j.State().Seq, See: func(ralph.Event, *ralph.State) []int { return []int{1} }, Deliver: func(ctx context.Context, _ []int) (int, error) {
			return 0, errors.New("it is stuck")
		}})
		if err != nil {
			t.Fatal(err)
		}
		others = append(others, f)
	}
	ralphIn(t, env, 0, "autopilot", "--parallel", "1")
	for _, note := range []string{"NOTE: no hook is told of events: another process follows the journal as hooks", "NOTE: no notices are sent: another process"} {
		if !strings.Contains(out.String(), note) {
			t.Errorf("%q is not said:\n%s", note, out)
		}
	}
	for _, f := range others {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		f.Close(ctx)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if len(p.got) > 0 {
		t.Errorf("sent: %v", p.got)
	}
	ralphIn(t, env, 0, "autopilot", "--parallel", "1")
	if got := readAll(t, filepath.Join(env.Dir, "../hooked")); got != "told\ntold\n" { // this end as well
		t.Errorf("hooks: %q", got)
	}
	if len(p.got) != 1 || p.got[0]["event"] != "complete" {
		t.Errorf("sent: %v", p.got)
	}
}

// An address that cannot be right is refused before anything is changed.
func TestNoticesRefused(t *testing.T) {
	t.Parallel()
	env, out := engineIn(t, "", "notify: {webhooks: ['slak://s3cret@x']}\n")
	ralphIn(t, env, 0, "task", "add", "Make the basket")
	ralphIn(t, env, 2, "autopilot")
	if text := out.String(); !strings.Contains(text, "item 1 of `notify.webhooks` is for \"slak\", which is not known") || strings.Contains(text, "s3cret") {
		t.Error(text)
	}
	if strings.Contains(readAll(t, filepath.Join(env.Dir, "ralph/.state/journal.jsonl")), "session.started") {
		t.Error("a session was begun")
	}
}

// The bell of a terminal goes out with the lines, and once.
func TestBell(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	c := console.New(workspace.Env{Stdout: &out})
	c.Note("one")
	c.Ring()
	c.Close()
	if text := out.String(); strings.Count(text, "\a") != 1 || !strings.Contains(text, "NOTE: one\n") {
		t.Errorf("%q", text)
	}
}
