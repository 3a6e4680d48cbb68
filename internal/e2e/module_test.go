//go:build e2e || soak

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The module that is worked on: small, with tests, without dependencies. Only the
// proxy is asked for it; its sum is known here, so no database of sums is.
const (
	moduleAt  = "github.com/google/shlex@v0.0.0-20191202100458-e7afc7fbc510"
	moduleSum = "h1:El6M4kTTCOh6aBiKaUGG7oYTSPP8MxqL4YI3kZKwcP4="
)

// garden is a repository with a real module in it, and what runs there.
type garden struct {
	t                *testing.T
	base, dir, ralph string
	env              []string
}

// Eight agents work on a real module at the same time. Six add to the ends of the
// same two files, two are green alone and red together, one claims too early. The
// engine is killed twice. It ends merged and green, and the report explains each
// task (issue 3, "Done when"; B-010, B-088, B-103, P-14, X-28, X-72).
func TestEightAgentsOnAModule(t *testing.T) {
	g := newGarden(t)
	g.killed("all eight at work", func() bool { return g.began() == len(chores()) && g.count("step.started") > len(chores()) })
	g.killed("a conflict is being resolved", func() bool { return strings.Contains(g.journal(), `"stage":"resolve"`) })
	out, code := g.run(g.ralph, "autopilot", "--parallel", "8")
	if code != 0 {
		t.Fatalf("ralph autopilot: exit code %d\n%s", code, out)
	}
	for _, c := range chores() {
		if text := g.must("git", "show", "main:"+c.file); !strings.Contains(text, "\nfunc "+c.makes+"(") {
			t.Errorf("main lacks the work of %q in %s:\n%s", c.name, c.file, text)
		}
	}
	g.must("go", "test", "./...")
	g.checkTidy()
	g.checkReport()
	if t.Failed() {
		t.Log(out)
	}
}

// began is how many agents have begun.
func (g *garden) began() int {
	names, _ := filepath.Glob(filepath.Join(g.base, "began-*"))
	return len(names)
}

func (g *garden) journal() string {
	b, err := os.ReadFile(filepath.Join(g.dir, "ralph/.state/journal.jsonl"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		g.t.Fatal(err)
	}
	return string(b)
}

func (g *garden) count(fact string) int { return strings.Count(g.journal(), `"t":"`+fact+`"`) }

// killed starts an engine and kills it with kill -9 as soon as something holds.
func (g *garden) killed(when string, holds func() bool) {
	g.t.Helper()
	cmd := exec.Command(g.ralph, "autopilot", "--parallel", "8")
	var out bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = g.dir, g.env, &out, &out
	cmd.WaitDelay = time.Second // agents that outlive it hold its output
	if err := cmd.Start(); err != nil {
		g.t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(done)
	}()
	limit := time.After(10 * time.Minute)
	for look := time.NewTicker(5 * time.Millisecond); ; {
		select {
		case <-done:
			g.t.Fatalf("it ended before it could be killed (%s):\n%s", when, out.String())
		case <-limit:
			_ = cmd.Process.Kill()
			<-done
			g.t.Fatalf("not within a minute: %s\n%s", when, out.String())
		case <-look.C:
		}
		if holds() {
			look.Stop()
			_ = cmd.Process.Kill()
			<-done
			return
		}
	}
}

// checkTidy wants nothing left over, and a record that proves itself.
func (g *garden) checkTidy() {
	g.t.Helper()
	if branches := g.must("git", "for-each-ref", "--format=%(refname)", "refs/heads"); branches != "refs/heads/main" {
		g.t.Errorf("branches are left over:\n%s", branches)
	}
	if trees := g.must("git", "worktree", "list"); strings.Contains(trees, "\n") {
		g.t.Errorf("worktrees are left over:\n%s", trees)
	}
	if dirty := g.must("git", "status", "--porcelain", "--", ".", ":!ralph"); dirty != "" {
		g.t.Errorf("the checkout is not clean:\n%s", dirty)
	}
	if stashes := g.must("git", "stash", "list"); stashes != "" {
		g.t.Errorf("stashes are left over:\n%s", stashes)
	}
	g.must("git", "fsck", "--full", "--strict")
	g.must(g.ralph, "verify")
	if replay := g.must(g.ralph, "replay"); !strings.Contains(replay, " 0 differ") {
		g.t.Errorf("ralph replay: %s", replay)
	}
}

// run runs a program in the repository.
func (g *garden) run(args ...string) (string, int) {
	g.t.Helper()
	ctx, cancel := context.WithTimeout(g.t.Context(), 15*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = g.dir, g.env, time.Second
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // it ends its agents
	out, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		g.t.Fatalf("%v: %v", args, err)
	}
	return strings.TrimSpace(string(out)), cmd.ProcessState.ExitCode()
}

func (g *garden) must(args ...string) string {
	g.t.Helper()
	out, code := g.run(args...)
	if code != 0 {
		g.t.Fatalf("%v: exit code %d\n%s", args, code, out)
	}
	return out
}

func (g *garden) write(name string, text []byte) {
	g.t.Helper()
	path := filepath.Join(g.dir, name)
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = os.WriteFile(path, text, 0o644)
	}
	if err != nil {
		g.t.Fatal(err)
	}
}

// goEnv asks the go command of whoever runs the tests.
func goEnv(t *testing.T, name string) string {
	t.Helper()
	out, err := exec.Command("go", "env", name).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// download gets the module into a cache of the test's own.
func download(t *testing.T, base string) (dir string) {
	t.Helper()
	cmd := exec.Command("go", "mod", "download", "-json", moduleAt)
	cmd.Dir = base
	cmd.Env = append(os.Environ(), "GOMODCACHE="+filepath.Join(base, "mod"), "GOFLAGS=-modcacherw", "GONOSUMDB=*", "GOWORK=off")
	out, err := cmd.Output()
	var got struct{ Dir, Sum, Error string }
	if jsonErr := json.Unmarshal(out, &got); err != nil || jsonErr != nil || got.Error != "" {
		t.Skipf("the module proxy cannot be reached (%v): %s", err, got.Error)
	}
	if got.Sum != moduleSum {
		t.Fatalf("%s has the sum %s, want %s", moduleAt, got.Sum, moduleSum)
	}
	return got.Dir
}

// newGarden makes the repository: the module's files, a plan, and a scenario that
// the agents play.
func newGarden(t *testing.T) *garden {
	t.Helper()
	base := t.TempDir()
	module := download(t, base)
	g := &garden{t: t, base: base, dir: filepath.Join(base, "repo"), ralph: filepath.Join(base, "ralph")}
	home := filepath.Join(base, "home")
	g.env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"GOCACHE=" + goEnv(t, "GOCACHE"), "GOPROXY=off", "GOTOOLCHAIN=local", "GOFLAGS=-mod=readonly", "GOENV=off", "NO_COLOR=1",
	}
	if err := os.MkdirAll(home, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(g.dir, os.DirFS(module)); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("go", "build", "-o", g.ralph, "../../cmd/ralph").CombinedOutput(); err != nil {
		t.Fatalf("build ralph: %v\n%s", err, out)
	}
	scenario, err := json.MarshalIndent(map[string]any{"rules": rules()}, "", " ") // YAML as well
	if err != nil {
		t.Fatal(err)
	}
	played := filepath.Join(base, "scenario.yaml")
	if err := os.WriteFile(played, scenario, 0o644); err != nil {
		t.Fatal(err)
	}
	g.write("ralph/config.yaml", fmt.Appendf(nil, gardenSettings, played))
	g.write("ralph/specs/words.md", []byte("# Words\n\nFunctions on the words of a line.\n"))
	g.must("git", "init", "-q", "-b", "main")
	g.must("git", "config", "user.name", "e2e")
	g.must("git", "config", "user.email", "e2e@ralph.invalid")
	g.must("git", "add", "-A")
	g.must("git", "commit", "-q", "-m", "start")
	g.must("go", "test", "./...") // real and green before
	plan := `{"t":"spec","spec":"words.md"}` + "\n"
	for n, c := range chores() {
		plan += fmt.Sprintf(`{"t":"task","id":"t-%d","spec":"words.md","name":%q,"status":"pending"}`+"\n", 1000+n, c.name)
	}
	g.write("ralph/plan.jsonl", []byte(plan))
	return g
}

const gardenSettings = `version: 1
agent: {primary: gardener, fallback: []}
agents:
  gardener:
    driver: scripted
    scenario: %q
quality: {commands: [go test ./...]}
errors: {retry_base: 10ms}
task: {delay: 0s}
`
