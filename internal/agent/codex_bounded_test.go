package agent_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/agent"
	"github.com/ralph-loop/ralph/internal/proc"
)

// R-H5: inside ralph's sandbox codex makes none of its own, which is not tried out either,
// and each place of work has a process of its own that starts there: the sandbox is made
// for that folder, and a process for all of them could write in each. One around a folder
// that was made anew since then is of no use.
func TestCodexBounded(t *testing.T) {
	t.Parallel()
	spec := codexSpec(t)
	spec.Sandbox = "landlock"
	var dirs []string // of each process
	runner := proc.NewRunner(t.TempDir()).Wrapped(func(c proc.Command) proc.Command {
		dirs = append(dirs, c.Dir)
		if slices.Contains(c.Args, "sandbox") {
			t.Error("codex's own sandbox is tried out")
		}
		return c
	})
	d, err := agent.Open(spec, runner, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = agent.Close(d) })
	log := filepath.Join(t.TempDir(), "sent")
	one, two := filepath.Join(t.TempDir(), "one"), filepath.Join(t.TempDir(), "two")
	work := func(dir string) {
		t.Helper()
		in := input(t, spec, "FAKE_CODEX=environment", "FAKE_LOG="+log, "RALPH_ROOT=/the/repository")
		if in.Dir = dir; os.MkdirAll(dir, 0o755) != nil {
			t.Fatal(dir)
		}
		if res := codexTurn(t, d, in); res.Exit != ralph.ExitOK || !strings.Contains(res.Text, "RALPH_ROOT=/the/repository") {
			t.Errorf("%+v %+v", res, res.Err)
		}
	}
	work(one)
	work(two)
	work(one)
	// The old folder stays under another name, so that the new one is another for sure.
	if err := os.Rename(one, one+"-old"); err != nil {
		t.Fatal(err)
	}
	work(one)
	if want := []string{one, two, one}; !slices.Equal(dirs, want) {
		t.Errorf("processes in %q, want %q", dirs, want)
	}
	if err := agent.Close(d); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	threads := 0
	for line := range strings.Lines(string(b)) {
		var m struct {
			Method string
			Params struct{ Sandbox, ApprovalPolicy, Cwd string }
		}
		if json.Unmarshal([]byte(line), &m) != nil || m.Method != "thread/start" {
			continue
		}
		threads++
		if m.Params.Sandbox != "danger-full-access" {
			t.Errorf("a thread with the sandbox %q", m.Params.Sandbox)
		}
	}
	if threads != 4 {
		t.Errorf("%d threads", threads)
	}
}

// Without a sandbox of ralph's, codex has its own and one process; what its args say counts
// in both.
func TestCodexOwnSandbox(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		ours string
		args []string
		want string
	}{
		{"", nil, "workspace-write"},
		{"bubblewrap", nil, "danger-full-access"},
		{"bubblewrap", []string{"-c", `sandbox_mode="read-only"`}, "read-only"},
	} {
		run := replayCase(t, codexCase{name: "messages-and-phases", reply: allow, spec: func(s *ralph.AgentSpec) {
			s.Sandbox, s.Args = c.ours, c.args
		}})
		if start := run.params(t, "thread/start"); start["sandbox"] != c.want {
			t.Errorf("ralph's sandbox %q, args %q: codex's is %v, want %s", c.ours, c.args, start["sandbox"], c.want)
		}
	}
}
