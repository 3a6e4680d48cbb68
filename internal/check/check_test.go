package check

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/proc"
	"github.com/ralph-loop/ralph/internal/ralphtest"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func runner(maxOutput int64) *Runner {
	return New(proc.NewRunner(""), maxOutput, 50*time.Millisecond, []string{"PATH=" + os.Getenv("PATH"), "WHO=check"})
}

func specs(commands ...string) []ralph.CheckSpec {
	var list []ralph.CheckSpec
	for _, c := range commands {
		list = append(list, ralph.CheckSpec{Name: c, Command: c})
	}
	return list
}

// B-036, B-038: in order, in the given folder, with the given environment.
func TestAllPassInOrder(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	results, err := runner(0).Run(t.Context(), dir, append(specs(`echo "one $WHO" >>log; pwd`, `echo two >>log`), ralph.CheckSpec{Command: "true"}))
	if err != nil || len(results) != 3 {
		t.Fatalf("%+v, %v", results, err)
	}
	for _, r := range results {
		if !r.Pass || r.Exit != 0 || r.Why != "" || r.Took <= 0 {
			t.Errorf("%+v", r)
		}
	}
	if log, _ := os.ReadFile(filepath.Join(dir, "log")); string(log) != "one check\ntwo\n" {
		t.Errorf("log %q", log)
	}
	if want := "--- stdout ---\n" + dir + "\n"; results[0].Output != want {
		t.Errorf("output %q, want %q", results[0].Output, want)
	}
	if results[1].Output != "" || results[2].Name != "true" {
		t.Errorf("%+v", results)
	}
}

// B-037, X-48: the first failure ends it, with its stderr and stdout, marked.
func TestFirstFailureStops(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	results, err := runner(0).Run(t.Context(), dir, specs(`true`, `echo out; echo err >&2; printf "no end"; exit 3`, `touch third`))
	if err != nil || len(results) != 2 {
		t.Fatalf("%+v, %v", results, err)
	}
	r := results[1]
	if r.Pass || r.Exit != 3 || r.Cut != 0 || r.Output != "--- stderr ---\nerr\n--- stdout ---\nout\nno end\n" {
		t.Errorf("%+v", r)
	}
	if _, err := os.Stat(filepath.Join(dir, "third")); err == nil {
		t.Error("the third check ran")
	}
}

func TestHowAGateEnds(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct {
		check ralph.CheckSpec
		exit  int
		why   string
		text  string
	}{
		"missing command": {ralph.CheckSpec{Command: "no-such-linter ."}, 127, "", "no-such-linter"},
		"over time":       {ralph.CheckSpec{Command: "echo begun; sleep 300", Timeout: 3 * time.Second}, -1, "timed out after 3s: it did not end", "begun"},
		"ignores TERM":    {ralph.CheckSpec{Command: `trap "" TERM; echo begun; sleep 300; sleep 300`, Timeout: 3 * time.Second}, -1, "timed out after 3s: it did not end", "begun"},
		"killed":          {ralph.CheckSpec{Command: "kill -9 $$"}, -1, "ended by SIGKILL", ""},
		"exits 0 on TERM": {ralph.CheckSpec{Command: `trap "exit 0" TERM; sleep 300 & wait`, Timeout: 500 * time.Millisecond}, -1, "timed out after 500ms: it did not end", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if x.check.Timeout > time.Second {
				ralphtest.NeedsTime(t)
			}
			results, err := runner(0).Run(t.Context(), t.TempDir(), []ralph.CheckSpec{x.check})
			if err != nil || len(results) != 1 {
				t.Fatalf("%+v, %v", results, err)
			}
			if r := results[0]; r.Pass || r.Exit != x.exit || r.Why != x.why || r.Hung != (x.why != "" && x.exit < 0 && x.why != "ended by SIGKILL") || r.Failed != nil || !strings.Contains(r.Output, x.text) {
				t.Errorf("%+v", r)
			}
		})
	}
}

// A server that a test command left running neither hangs the check nor lives on.
func TestBackgroundProcessOfAGate(t *testing.T) {
	t.Parallel()
	results, err := runner(0).Run(t.Context(), t.TempDir(), specs(`sleep 300 & echo tested`))
	if err != nil || len(results) != 1 || !results[0].Pass || results[0].Took > time.Minute {
		t.Errorf("%+v, %v", results, err)
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	stop := errors.New("stop --now")
	ctx, cancel := context.WithCancelCause(t.Context())
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo")
	go func() {
		<-opened(fifo)
		cancel(stop)
	}()
	results, err := runner(0).Run(ctx, dir, specs("true", "mkfifo f; mv f fifo; echo >fifo; sleep 300"))
	if !errors.Is(err, stop) || len(results) != 1 {
		t.Errorf("%+v, %v", results, err)
	}
}

// opened is closed when somebody writes to the fifo, which has to appear first.
func opened(fifo string) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for range 24_000 { // two minutes
			if f, err := os.Open(fifo); err == nil { // blocks until there is a writer
				_, _ = io.Copy(io.Discard, f) // one that finds nobody reading dies of SIGPIPE
				f.Close()
				return
			}
			<-tick.C
		}
	}()
	return done
}

func TestFolderThatIsGone(t *testing.T) {
	t.Parallel()
	_, err := runner(0).Run(t.Context(), filepath.Join(t.TempDir(), "gone"), specs("true"))
	var start *proc.StartError
	if !errors.As(err, &start) || !strings.Contains(err.Error(), "working folder") {
		t.Errorf("err = %v", err)
	}
}

// head and tail stay, whole lines, and what is missing is said.
func TestLongOutputKeepsHeadAndTail(t *testing.T) {
	t.Parallel()
	const limit = 2000
	results, err := runner(limit).Run(t.Context(), t.TempDir(),
		specs(`i=0; while [ $i -lt 9000 ]; do echo "line $i"; i=$((i+1)); done; echo only this >&2; exit 1`))
	if err != nil {
		t.Fatal(err)
	}
	r := results[0]
	if !strings.HasPrefix(r.Output, "--- stderr ---\nonly this\n--- stdout ---\nline 0\nline 1\n") || !strings.HasSuffix(r.Output, "line 8998\nline 8999\n") {
		t.Errorf("output %q", r.Output)
	}
	if mark := fmt.Sprintf("\n... %d bytes left out ...\n", r.Cut); r.Cut < 80000 || strings.Count(r.Output, mark) != 1 {
		t.Errorf("cut %d, output %q", r.Cut, r.Output)
	}
	for line := range strings.Lines(r.Output) {
		var n int
		if _, err := fmt.Sscanf(line, "line %d\n", &n); err != nil && !strings.HasPrefix(line, "-") && !strings.HasPrefix(line, ".") && line != "only this\n" {
			t.Errorf("line %q is cut", line)
		}
	}
	if len(r.Output) > limit+100 || len(r.Output) < limit*9/10 {
		t.Errorf("%d bytes kept of %d", len(r.Output), limit)
	}
}

// F-01, R-H3: a red command says which tests failed and what to read first of it, also where
// that is in the middle of more output than is kept. Colours are left out; a command that
// does not end names nothing.
func TestNamesAndHeadline(t *testing.T) {
	t.Parallel()
	flood := `i=0; while [ $i -lt 4000 ]; do echo "a line of a log that says nothing at all"; i=$((i+1)); done; `
	for name, x := range map[string]struct {
		command  string
		failed   []string
		headline string
	}{
		"tests":       {`printf -- '--- FAIL: TestX (0.00s)\n    x_test.go:5: want 1, got 2\nFAIL\nFAIL\texample.com/x\t0.01s\n'; exit 1`, []string{"example.com/x.TestX"}, "TestX: want 1, got 2"},
		"in a flood":  {flood + `printf -- '--- FAIL: TestX (0.00s)\n    x_test.go:5: want 1, got 2\nFAIL\nFAIL\texample.com/x\t0.01s\n'; ` + flood + `exit 1`, []string{"example.com/x.TestX"}, "TestX: want 1, got 2"},
		"no tests":    {`printf '\033[31m\033[1merror\033[0m: no such color\n\033[2m⎯⎯⎯⎯\033[0m\n' >&2; exit 2`, nil, "error: no such color"},
		"make":        {`echo "lint.c:3: missing semicolon"; echo "make: *** [Makefile:2: test] Error 1" >&2; exit 2`, nil, "lint.c:3: missing semicolon"},
		"make alone":  {`echo "make: *** [Makefile:2: test] Error 1" >&2; exit 2`, nil, "make: *** [Makefile:2: test] Error 1"},
		"silent":      {`exit 4`, nil, ""},
		"its folder":  {`printf "TAP version 13\nnot ok 1 - $PWD/a.test.js\n# fail 1\n"; exit 1`, []string{"a.test.js"}, "a.test.js"},
		"other count": {`printf "TAP version 13\nnot ok 1 - a\n# fail 2\n"; exit 1`, nil, "a"},
		"killed":      {`printf "TAP version 13\nnot ok 1 - a\n# fail 1\n"; kill -9 $$`, nil, "a"},
		"green":       {`printf "TAP version 13\nnot ok 1 - a\n# fail 1\n"`, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			results, err := runner(8<<10).Run(t.Context(), t.TempDir(), specs(x.command))
			if err != nil {
				t.Fatal(err)
			}
			if r := results[0]; !slices.Equal(r.Failed, x.failed) || r.Headline != x.headline {
				t.Errorf("%q, %q", r.Failed, r.Headline)
			}
		})
	}
}

// A socket that went while the sandbox was made is not the work's fault: the check is started in
// another one. One whose sandbox cannot be made at all is red, with what bubblewrap says.
func TestSandboxThatCannotBeMade(t *testing.T) {
	t.Parallel()
	if !ralphtest.Bubblewrap() {
		t.Skip("bubblewrap does not work here")
	}
	gone := filepath.Join(t.TempDir(), "socket")
	for _, c := range []struct {
		name     string
		bad      int // sandboxes that cover what is not there
		started  int
		pass     bool
		headline string
	}{
		{"once", 1, 2, true, ""},
		{"always", 9, 3, false, "bwrap: Can't create file at " + gone},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r, started := runner(0), 0
			r.proc = r.proc.Wrapped(func(cmd proc.Command) proc.Command {
				args := []string{"bwrap", "--ro-bind", "/", "/"}
				if started++; started <= c.bad {
					args = append(args, "--ro-bind", "/dev/null", gone)
				}
				cmd.Args = append(append(args, "--"), cmd.Args...)
				return cmd
			})
			got, err := r.Run(t.Context(), t.TempDir(), specs("true"))
			if err != nil {
				t.Fatal(err)
			}
			if started != c.started || got[0].Pass != c.pass || !strings.HasPrefix(got[0].Headline, c.headline) {
				t.Fatalf("started %d times (want %d): %+v", started, c.started, got[0])
			}
		})
	}
}
