//go:build linux && soak

package soak

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ralph-loop/ralph/internal/ralphtest"
)

// ralphPath is handed to children of this test binary, so that the program is
// built once.
const ralphPath = "SOAK_RALPH"

func TestMain(m *testing.M) {
	os.Exit(runTests(m))
}

// runTests builds the program as users do.
func runTests(m *testing.M) int {
	if os.Getenv(ralphPath) != "" {
		return ralphtest.InMemory(m)
	}
	dir, err := os.MkdirTemp("", "ralph-soak-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	bin := filepath.Join(dir, "ralph")
	if err := ralphtest.Build(bin); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if err := os.Setenv(ralphPath, bin); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	ralphtest.AtOnce(8)
	return ralphtest.InMemory(m)
}

// patience is how long a test waits for what must come, on whatever machine: the slowest seen so far
// took three minutes for a session that another has done in six seconds.
const patience = 15 * time.Minute

func binary() string { return os.Getenv(ralphPath) }

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// child is a process with its output in files, so that nobody has to read it
// while it runs.
type child struct {
	t        *testing.T
	p        *os.Process
	out, err string // paths
	done     chan struct{}
	state    *os.ProcessState
	peak     int64 // VmHWM in KiB, with watchMemory
}

func startIn(t *testing.T, scratch, dir string, env []string, args ...string) *child {
	t.Helper()
	out, err := os.CreateTemp(scratch, "out-")
	must(t, err)
	defer out.Close()
	errs, err := os.CreateTemp(scratch, "err-")
	must(t, err)
	defer errs.Close()
	path := args[0]
	if !filepath.IsAbs(path) {
		path = lookPath(t, path)
	}
	p, err := os.StartProcess(path, args, &os.ProcAttr{Dir: dir, Env: env, Files: []*os.File{nil, out, errs}})
	must(t, err)
	c := &child{t: t, p: p, out: out.Name(), err: errs.Name(), done: make(chan struct{})}
	go func() {
		c.state, _ = p.Wait()
		close(c.done)
	}()
	t.Cleanup(c.kill)
	return c
}

func lookPath(t *testing.T, name string) string {
	t.Helper()
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		if path := filepath.Join(dir, name); exists(path) {
			return path
		}
	}
	t.Fatalf("there is no program %s", name)
	return ""
}

// kill is kill -9 of this one process, and returns when it is gone.
func (c *child) kill() {
	_ = c.p.Kill()
	<-c.done
}

func (c *child) running() bool {
	select {
	case <-c.done:
		return false
	default:
		return true
	}
}

// result is how a command ended.
type result struct {
	code      int
	out, errs string
}

func (r result) String() string {
	return fmt.Sprintf("exit code %d\n--- stdout\n%s--- stderr\n%s", r.code, r.out, r.errs)
}

// wait waits for the end, at most most.
func (c *child) wait(most time.Duration) result {
	c.t.Helper()
	limit := time.NewTimer(most)
	defer limit.Stop()
	select {
	case <-c.done:
	case <-limit.C:
		_ = c.p.Signal(syscall.SIGQUIT) // the goroutines of a program that hangs
		select {
		case <-c.done:
		case <-time.After(2 * time.Second):
			c.kill()
		}
		c.t.Fatalf("it did not end within %s: %s", most, c.result())
	}
	return c.result()
}

func (c *child) result() result {
	return result{c.state.ExitCode(), read(c.t, c.out), read(c.t, c.err)}
}

// watchMemory notes the process's peak memory until it ends; c.peak is valid then.
func (c *child) watchMemory() (stop func()) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for c.running() {
			if n := peakOf(c.p.Pid); n > 0 {
				c.peak = n
			}
			<-tick.C
		}
	}()
	return func() { <-ended }
}

func peakOf(pid int) int64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, rest, ok := bytes.Cut(b, []byte("VmHWM:"))
	if !ok {
		return 0
	}
	n, _ := strconv.ParseInt(strings.Fields(string(rest))[0], 10, 64)
	return n
}

// eventually waits for a fact that no channel tells.
func eventually(t *testing.T, what string, most time.Duration, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(most); !ok(); <-tick.C {
		if time.Now().After(end) {
			t.Fatalf("not within %s: %s", most, what)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	f, err := os.Open(path)
	must(t, err)
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, 1<<20))
	must(t, err)
	return string(b)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(t, os.WriteFile(path, []byte(text), 0o644))
}

// soakTime bounds the random part of a long test.
func soakTime(t *testing.T) time.Duration {
	t.Helper()
	s := os.Getenv("SOAK_TIME")
	if s == "" {
		return 2 * time.Minute
	}
	d, err := time.ParseDuration(s)
	must(t, err)
	return d
}
