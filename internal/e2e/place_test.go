//go:build e2e || soak

package e2e

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
)

// built is the environment variable with the path of the ralph that all tests run.
const built = "RALPH_E2E_BUILT"

// TestMain builds ralph once for all tests.
func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "ralph-e2e-")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		binary := filepath.Join(dir, "ralph")
		if out, err := exec.Command("go", "build", "-o", binary, "../../cmd/ralph").CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "build ralph: %v\n%s", err, out)
			return 1
		}
		if err := os.Setenv(built, binary); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return m.Run()
	}())
}

// place is a repository with an empty environment around it.
type place struct {
	t     *testing.T
	base  string // everything of the test
	dir   string // the repository
	home  string
	ralph string
	env   []string

	listed int64            // size of the journal when gates were listed, in bytes
	list   []ralph.Approval // what waited then
}

func newPlace(t *testing.T) *place {
	t.Helper()
	base := t.TempDir()
	p := &place{t: t, base: base, dir: filepath.Join(base, "repo"), home: filepath.Join(base, "home"), ralph: os.Getenv(built)}
	p.env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + p.home, "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "NO_COLOR=1",
		"GIT_AUTHOR_NAME=e2e", "GIT_AUTHOR_EMAIL=e2e@ralph.invalid", "GIT_COMMITTER_NAME=e2e", "GIT_COMMITTER_EMAIL=e2e@ralph.invalid",
	}
	for _, dir := range []string{p.home, filepath.Join(p.dir, "ralph/specs")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// begin makes the first commit, with the settings and a spec that is in the inbox.
func (p *place) begin(config string) {
	p.t.Helper()
	p.write("ralph/config.yaml", config)
	p.write("ralph/specs/hello.md", "# Hello\n\nMake hello.txt with a greeting.\n")
	p.must("git", "init", "-q", "-b", "main", ".")
	p.must("git", "add", "-A")
	p.must("git", "commit", "-qm", "start")
	p.must(p.ralph, "inbox", "add", "hello.md")
}

func (p *place) write(name, text string) {
	p.t.Helper()
	if err := os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

// run runs a program in the repository; it has a quarter of an hour, as other tests are busy.
func (p *place) run(args ...string) (string, int) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), 15*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = p.dir, p.env, 5*time.Second
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // it ends its agents
	out, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		p.t.Fatalf("%v: %v", args, err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

func (p *place) must(args ...string) string {
	p.t.Helper()
	out, code := p.run(args...)
	if code != 0 {
		p.t.Fatalf("%v: exit code %d\n%s", args, code, out)
	}
	return out
}

// engine is a ralph, or another program, that runs while the test does something else.
type engine struct {
	*exec.Cmd
	t    *testing.T
	out  bytes.Buffer // to be read after its end
	done chan struct{}
}

func (p *place) start(args ...string) *engine {
	p.t.Helper()
	return p.startProgram(p.env, p.ralph, args...)
}

func (p *place) startProgram(env []string, name string, args ...string) *engine {
	p.t.Helper()
	e := &engine{Cmd: exec.Command(name, args...), t: p.t, done: make(chan struct{})}
	e.Dir, e.Env, e.Stdout, e.Stderr = p.dir, env, &e.out, &e.out
	e.WaitDelay = time.Second // agents that outlive it hold its output
	if err := e.Start(); err != nil {
		p.t.Fatal(err)
	}
	go func() {
		_ = e.Wait()
		close(e.done)
	}()
	p.t.Cleanup(func() {
		_ = e.Process.Signal(os.Interrupt)
		select {
		case <-e.done:
		case <-time.After(20 * time.Second):
			e.kill()
		}
	})
	return e
}

// kill is kill -9.
func (e *engine) kill() {
	_ = e.Process.Kill()
	<-e.done
}

// until looks until something holds, while the engine runs; it has ten minutes.
func (e *engine) until(what string, holds func() bool) {
	e.t.Helper()
	limit := time.After(10 * time.Minute)
	for look := time.NewTicker(100 * time.Millisecond); ; {
		if holds() {
			look.Stop()
			return
		}
		select {
		case <-look.C:
		case <-e.done:
			e.t.Fatalf("it ended too early (%s):\n%s", what, e.out.String())
		case <-limit:
			e.kill()
			e.t.Fatalf("not within ten minutes: %s\n%s", what, e.out.String())
		}
	}
}

// end waits for the engine's end and returns what it said.
func (e *engine) end() string {
	e.t.Helper()
	select {
	case <-e.done:
	case <-time.After(10 * time.Minute): // as for until: OpenCode starts four times, and takes ten seconds of a processor each time
		e.kill()
		e.t.Fatalf("it does not end:\n%s", e.out.String())
	}
	if code := e.ProcessState.ExitCode(); code != 0 {
		e.t.Fatalf("%v: exit code %d\n%s", e.Args, code, e.out.String())
	}
	return e.out.String()
}

// needProc skips a test that counts on processes where they cannot be listed.
func needProc(t *testing.T) {
	t.Helper()
	if _, err := os.Stat("/proc/self/environ"); err != nil {
		t.Skipf("needs /proc: %v", err)
	}
}

// processes lists the command lines of what runs with the place's home folder in
// its environment: agents, and what they have started. Without /proc that is none.
func (p *place) processes() (lines []string) {
	names, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, name := range names {
		env, err := os.ReadFile(name)
		if err != nil || !bytes.Contains(env, []byte("HOME="+p.home+"\x00")) {
			continue // gone, or not ours to look at
		}
		line, _ := os.ReadFile(filepath.Join(filepath.Dir(name), "cmdline"))
		if text := strings.TrimSpace(strings.ReplaceAll(string(line), "\x00", " ")); text != "" {
			lines = append(lines, text)
		}
	}
	return lines
}

// checkAlone wants nothing of the test to run any more.
func (p *place) checkAlone() {
	p.t.Helper()
	var left []string
	for range 100 { // what was killed takes a moment to go
		if left = p.processes(); len(left) == 0 {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	p.t.Errorf("processes are left over:\n%s", strings.Join(left, "\n"))
}

// checkRecord wants a journal that proves itself.
func (p *place) checkRecord() {
	p.t.Helper()
	p.must(p.ralph, "verify")
	if replay := p.must(p.ralph, "replay"); !strings.Contains(replay, " 0 differ") {
		p.t.Errorf("ralph replay: %s", replay)
	}
}
