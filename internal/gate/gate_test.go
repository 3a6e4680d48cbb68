package gate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/proc"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func runner(maxOutput int64) *Runner {
	return New(proc.NewRunner(""), maxOutput, 50*time.Millisecond, []string{"PATH=" + os.Getenv("PATH"), "WHO=gate"})
}

func specs(commands ...string) []ralph.GateSpec {
	var list []ralph.GateSpec
	for _, c := range commands {
		list = append(list, ralph.GateSpec{Name: c, Command: c})
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
	results, err := runner(0).Run(t.Context(), dir, append(specs(`echo "one $WHO" >>log; pwd`, `echo two >>log`), ralph.GateSpec{Command: "true"}))
	if err != nil || len(results) != 3 {
		t.Fatalf("%+v, %v", results, err)
	}
	for _, r := range results {
		if !r.Pass || r.Exit != 0 || r.Why != "" || r.Took <= 0 {
			t.Errorf("%+v", r)
		}
	}
	if log, _ := os.ReadFile(filepath.Join(dir, "log")); string(log) != "one gate\ntwo\n" {
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
		t.Error("the third gate ran")
	}
}

func TestHowAGateEnds(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct {
		gate ralph.GateSpec
		exit int
		why  string
		text string
	}{
		"missing command": {ralph.GateSpec{Command: "no-such-linter ."}, 127, "", "no-such-linter"},
		"over time":       {ralph.GateSpec{Command: "echo begun; sleep 300", Timeout: 5 * time.Second}, -1, "timed out after 5s", "begun"},
		"ignores TERM":    {ralph.GateSpec{Command: `trap "" TERM; echo begun; sleep 300; sleep 300`, Timeout: 5 * time.Second}, -1, "timed out after 5s", "begun"},
		"killed":          {ralph.GateSpec{Command: "kill -9 $$"}, -1, "ended by SIGKILL", ""},
		"exits 0 on TERM": {ralph.GateSpec{Command: `trap "exit 0" TERM; sleep 300 & wait`, Timeout: 500 * time.Millisecond}, -1, "timed out after 500ms", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			results, err := runner(0).Run(t.Context(), t.TempDir(), []ralph.GateSpec{x.gate})
			if err != nil || len(results) != 1 {
				t.Fatalf("%+v, %v", results, err)
			}
			if r := results[0]; r.Pass || r.Exit != x.exit || r.Why != x.why || !strings.Contains(r.Output, x.text) {
				t.Errorf("%+v", r)
			}
		})
	}
}

// A server that a test command left running neither hangs the gate nor lives on.
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
