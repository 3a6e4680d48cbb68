//go:build e2e

package browser

import (
	"bytes"
	"context"
	"encoding/json"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ralph-loop/ralph/internal/ralphtest"
)

// patience is how long a test waits for what must come, on whatever machine. While one
// works on a test, RALPH_E2E_PATIENCE makes it shorter.
func patience() time.Duration {
	if d, err := time.ParseDuration(os.Getenv("RALPH_E2E_PATIENCE")); err == nil {
		return d
	}
	return 5 * time.Minute
}

// place is a repository with an empty environment around it.
type place struct {
	t    testing.TB
	base string // everything of the test
	dir  string // the repository
	env  []string
}

// newPlace makes a repository in which a scripted agent plays a scenario, with more
// settings as `key=value`.
func newPlace(t testing.TB, scenario string, settings ...string) *place {
	t.Helper()
	base := t.TempDir()
	p := &place{t: t, base: base, dir: filepath.Join(base, "repo")}
	p.env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(base, "home"), "TMPDIR=" + os.TempDir(), "TZ=UTC",
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "NO_COLOR=1",
		"GIT_AUTHOR_NAME=e2e", "GIT_AUTHOR_EMAIL=e2e@ralph.invalid", "GIT_COMMITTER_NAME=e2e", "GIT_COMMITTER_EMAIL=e2e@ralph.invalid",
	}
	p.env = append(p.env, ralphtest.Sandbox()...)
	p.write("../home/.keep", "")
	p.write("../play.yaml", scenario)
	p.write("ralph/config.yaml", `version: 1
agent: {primary: me, fallback: []}
agents:
  me: {driver: scripted, scenario: ../play.yaml}
task: {delay: 0s}
errors: {retry_base: 10ms, rate_limit_base: 10ms}
quality: {commands: ["true"]}
`)
	p.write("ralph/specs/a.md", "# A greeting\n\nSay hello to *everybody*.\n\n- [x] begin\n- [ ] end\n")
	p.must("git", "init", "-q", "-b", "main")
	for _, s := range settings {
		p.ralph("config", "edit", s)
	}
	p.must("git", "add", "-A")
	p.must("git", "commit", "-qm", "start")
	return p
}

// plan writes a plan of tasks, each a JSON object without its type and spec.
func (p *place) plan(tasks ...string) {
	p.t.Helper()
	text := `{"t":"spec","spec":"a.md"}` + "\n"
	for _, task := range tasks {
		text += `{"t":"task","spec":"a.md","status":"pending",` + strings.TrimPrefix(task, "{") + "\n"
	}
	p.write("ralph/plan.jsonl", text)
}

func (p *place) write(name, text string) {
	p.t.Helper()
	path := filepath.Join(p.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

func (p *place) must(args ...string) string {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), patience())
	defer cancel()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir, cmd.Env = p.dir, p.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		p.t.Fatalf("%v: %v\n%s", args, err, out)
	}
	return string(out)
}

func (p *place) ralph(args ...string) string {
	p.t.Helper()
	return p.must(append([]string{os.Getenv(builtKey)}, args...)...)
}

// process is a ralph that runs while the test does something else.
type process struct {
	*exec.Cmd
	out  *output
	done chan struct{}
}

// output is what a process says, to be read while it speaks.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// start starts a ralph; the test's end ends it.
func (p *place) start(args ...string) *process {
	p.t.Helper()
	cmd := exec.Command(os.Getenv(builtKey), args...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = p.dir, p.env, 10*time.Second
	x := &process{Cmd: cmd, out: &output{}, done: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = x.out, x.out
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	go func() {
		_ = cmd.Wait()
		close(x.done)
	}()
	p.t.Cleanup(func() {
		x.end(os.Interrupt)
		if p.t.Failed() {
			p.t.Logf("%v said:\n%s", args, x.out)
		}
	})
	return x
}

// end signals the process and waits for its end.
func (x *process) end(sig os.Signal) {
	_ = x.Process.Signal(sig)
	select {
	case <-x.done:
	case <-time.After(30 * time.Second):
		_ = x.Process.Kill()
		<-x.done
	}
}

// served is a running `ralph serve`.
type served struct {
	*process
	URL  string `json:"url"`
	Link string `json:"link"` // enters once
}

// serve starts the dashboard at an address, "127.0.0.1:0" for any.
func (p *place) serve(addr string) *served {
	p.t.Helper()
	s := &served{process: p.start("serve", "--addr", addr, "--json")}
	p.until("ralph serve to say where it is", func() bool {
		return json.NewDecoder(strings.NewReader(s.out.String())).Decode(s) == nil
	})
	return s
}

// stopEngine ends an engine that a page has started, and what it runs; one whose session
// has ended still has to tell git of it.
func (p *place) stopEngine() {
	for limit := time.Now().Add(patience()); time.Now().Before(limit); { // the test's own context is over
		cmd := exec.Command(os.Getenv(builtKey), "stop", "--now")
		cmd.Dir, cmd.Env = p.dir, p.env
		if out, err := cmd.CombinedOutput(); err != nil && strings.Contains(string(out), "no engine is running here") {
			return
		}
	}
	p.t.Error("the engine did not end")
}

// until waits for a fact.
func (p *place) until(what string, fact func() bool) {
	p.t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	limit := time.After(patience())
	for !fact() {
		select {
		case <-p.t.Context().Done():
			p.t.Fatalf("waited for %s", what)
		case <-limit:
			p.t.Fatalf("waited in vain for %s", what)
		case <-tick.C:
		}
	}
}

// taskRecord is what tests want to know of a task.
type taskRecord struct {
	ID         string `json:"id"`
	Name       string `json:"name"`
	Status     string `json:"status"`
	RetryCount int    `json:"retry_count"`
}

func (p *place) tasks() (list []taskRecord) {
	p.t.Helper()
	if err := json.Unmarshal([]byte(p.ralph("query", "tasks")), &list); err != nil {
		p.t.Fatal(err)
	}
	return list
}

func (p *place) task(id string) taskRecord {
	p.t.Helper()
	for _, t := range p.tasks() {
		if t.ID == id {
			return t
		}
	}
	p.t.Fatalf("there is no task %s", id)
	return taskRecord{}
}

// gateRecord is what tests want to know of a gate.
type gateRecord struct{ ID, Kind string }

// gates are the open gates.
func (p *place) gates() (list []gateRecord) {
	p.t.Helper()
	if err := json.Unmarshal([]byte(p.ralph("gates", "--json")), &list); err != nil {
		p.t.Fatal(err)
	}
	return list
}

// gate is the id of the only open gate, "" while there is none.
func (p *place) gate() string {
	p.t.Helper()
	if list := p.gates(); len(list) == 1 {
		return list[0].ID
	}
	return ""
}

// session is the id of the newest session.
func (p *place) session() string {
	p.t.Helper()
	var status struct {
		Session string `json:"session_id"`
	}
	if err := json.Unmarshal([]byte(p.ralph("status", "--json")), &status); err != nil {
		p.t.Fatal(err)
	}
	return status.Session
}

// hostOf is the host and port of an address.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Host
}
