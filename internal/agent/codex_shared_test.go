package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/agent"
	"github.com/ralph-loop/ralph/internal/agent/codex"
	"github.com/ralph-loop/ralph/internal/proc"
	"github.com/ralph-loop/ralph/internal/ralphtest"
)

// codexTurn runs a turn on an app-server that behaves so.
func codexTurn(t *testing.T, d agent.Driver, in ralph.TurnInput) ralph.TurnResult {
	t.Helper()
	in.Grace = 5 * time.Second
	res, err := d.Turn(t.Context(), in, ralph.TurnHooks{})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// E-082: turns in parallel share one process, each with a thread of its own. None of
// these ends before all are under way.
func TestCodexTurnsTogether(t *testing.T) {
	t.Parallel()
	const n = 10
	spec := codexSpec(t)
	d, log := openCodex(t, spec), filepath.Join(t.TempDir(), "sent")
	in := input(t, spec, "FAKE_CODEX=together", "FAKE_LOG="+log)
	in.Prompt = fmt.Sprint(n)
	texts := make([]string, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			res := codexTurn(t, d, in)
			if texts[i] = res.Text; res.Text != "of "+res.Session {
				t.Errorf("the words %q came to the turn of %s", res.Text, res.Session)
			}
		})
	}
	all.Wait()
	if slices.Sort(texts); len(slices.Compact(texts)) != n {
		t.Errorf("%d threads", len(texts))
	}
	b, err := os.ReadFile(log)
	if n := strings.Count(string(b), `"initialize"`); n != 1 || err != nil {
		t.Errorf("%d processes, %v", n, err)
	}
}

// E-082: a thread never has two turns: the second would be words to the first.
func TestCodexOneTurnAThread(t *testing.T) {
	t.Parallel()
	spec := codexSpec(t)
	d := openCodex(t, spec)
	in := input(t, spec, "FAKE_CODEX=hang")
	in.Resume, in.Grace = "thread-x", 5*time.Second
	first, hooks := make(chan ralph.TurnResult, 1), ralph.TurnHooks{}
	up := make(chan struct{})
	hooks.Event = ralph.HearWords(func(ralph.Words) { close(up) })
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	go func() {
		res, _ := d.Turn(ctx, in, hooks)
		first <- res
	}()
	<-up
	if res := codexTurn(t, d, in); res.Exit != ralph.ExitFailed || !strings.Contains(res.Err.Message, "a turn is under way on the thread thread-x already") {
		t.Errorf("second turn: %+v %+v", res, res.Err)
	}
	stop()
	if res := <-first; res.Exit != ralph.ExitUser {
		t.Errorf("first turn: %+v", res)
	}
}

// A process that died is started again by the next turn; one that is closed or idle is
// gone, and its folder of processes empty.
func TestCodexProcesses(t *testing.T) {
	t.Parallel()
	spec := codexSpec(t)
	d := openCodex(t, spec)
	in := input(t, spec, "FAKE_CODEX=once")
	in.Prompt = filepath.Join(t.TempDir(), "died")
	if res := codexTurn(t, d, in); res.Exit != ralph.ExitCrashed {
		t.Errorf("its process died: %+v", res)
	}
	if res := codexTurn(t, d, in); res.Exit != ralph.ExitOK || res.Text != "alive" {
		t.Errorf("after that: %+v", res)
	}
	if err := agent.Close(d); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Turn(t.Context(), in, ralph.TurnHooks{}); err == nil {
		t.Error("a closed driver runs turns")
	}
}

// E-014: a line of 20 MB is one event; of its text the end is kept.
func TestCodexHugeLine(t *testing.T) { // not beside others: the conformance suite measures the heap
	spec := codexSpec(t)
	res := codexTurn(t, openCodex(t, spec), input(t, spec, "FAKE_CODEX=huge"))
	if res.Exit != ralph.ExitOK || len(res.Text) > 1<<20 || !strings.HasSuffix(res.Text, "\nthe end") || res.Bytes < 20<<20 {
		t.Errorf("%s, %d bytes of text of %d", res.Exit, len(res.Text), res.Bytes)
	}
}

// The process has the turn's environment without what is the turn's alone; commands get
// that by the thread's configuration, the second turn's too.
func TestCodexEnvironment(t *testing.T) {
	t.Parallel()
	spec := codexSpec(t)
	d, log := openCodex(t, spec), filepath.Join(t.TempDir(), "sent")
	base := input(t, spec, "FAKE_CODEX=environment", "FAKE_LOG="+log, "KEPT=1")
	for i, more := range [][]string{{"RALPH_TASK=one", "GIT_CEILING_DIRECTORIES=/x"}, {"RALPH_TASK=two", "KEPT=2"}} {
		in := base
		in.Env = append(slices.Clone(base.Env), more...)
		if i == 1 {
			in.Env = slices.DeleteFunc(in.Env, func(kv string) bool { return kv == "KEPT=1" })
		}
		res := codexTurn(t, d, in)
		if strings.Contains(res.Text, "RALPH_TASK") || strings.Contains(res.Text, "GIT_CEILING") || !strings.Contains(res.Text, "KEPT=1") {
			t.Errorf("the server's environment:\n%s", res.Text)
		}
	}
	if err := agent.Close(d); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	var sets []map[string]string
	for line := range strings.Lines(string(b)) {
		var m struct {
			Params struct {
				Config struct {
					Set map[string]string `json:"shell_environment_policy.set"`
				} `json:"config"`
			} `json:"params"`
		}
		if json.Unmarshal([]byte(line), &m) == nil && m.Params.Config.Set != nil {
			if m.Params.Config.Set["RALPH_THREAD"] == "" {
				t.Error("commands are not marked")
			}
			for _, usual := range []string{"RALPH_THREAD", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_NOSYSTEM"} {
				delete(m.Params.Config.Set, usual)
			}
			sets = append(sets, m.Params.Config.Set)
		}
	}
	want := `[{"GIT_CEILING_DIRECTORIES":"/x","RALPH_TASK":"one"},{"KEPT":"2","RALPH_TASK":"two"}]`
	if got, _ := json.Marshal(sets); string(got) != want {
		t.Errorf("commands get %s\nwant %s", got, want)
	}
}

// What ralph needs is set by -c, unless the agent's args set it; so is the sandbox. The
// approval policy is ralph's: with another one nothing could be held (C-036).
func TestCodexSettings(t *testing.T) {
	t.Parallel()
	run := replayCase(t, codexCase{name: "messages-and-phases", reply: allow, spec: func(s *ralph.AgentSpec) {
		s.Args, s.Model = []string{"-c", `sandbox_mode="danger-full-access"`, "--config=approval_policy=on-request"}, "gpt-x"
	}})
	start := run.params(t, "thread/start")
	if start["sandbox"] != "danger-full-access" || start["approvalPolicy"] != "untrusted" || start["model"] != "gpt-x" {
		t.Errorf("%v", start)
	}
}

// R-H5, messages 45: where codex cannot make its sandbox, the first turn says so and what to do,
// before anything is started, and is not tried again; so does `ralph doctor`.
func TestCodexWithoutSandbox(t *testing.T) {
	t.Parallel()
	spec := codexSpec(t)
	d := openCodex(t, spec)
	in := input(t, spec, "FAKE_CODEX=echo", "FAKE_SANDBOX=bwrap: No permissions to create new namespace")
	res := codexTurn(t, d, in)
	if res.Exit != ralph.ExitSpawn || !res.Err.Permanent() || !strings.Contains(res.Err.Message, "No permissions") ||
		!strings.Contains(res.Err.Message, "set sandbox.kind: auto (then ralph's own keeps it)") ||
		!strings.Contains(res.Err.Message, `agents.codex.args: [-c, 'sandbox_mode="danger-full-access"']`) {
		t.Errorf("%+v %+v", res, res.Err)
	}
	if err := codex.TryOwnSandbox(t.Context(), proc.NewRunner(t.TempDir()), spec, in.Dir, in.Env, in.Timeout); err == nil || err.Error() != res.Err.Message {
		t.Errorf("for the doctor: %v", err)
	}
}

// E-023: codex repeats the usage of an earlier turn at the begin of a compaction, which
// is not paid for again.
func TestCodexUsageOnce(t *testing.T) {
	t.Parallel()
	file, err := filepath.Abs("testdata/codex/compact-manual.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	spec := codexSpec(t)
	d, in := openCodex(t, spec), input(t, spec, "FAKE_CODEX_REPLAY="+file)
	first := codexTurn(t, d, in)
	in.Compact, in.Resume = true, first.Session
	second := codexTurn(t, d, in)
	if want := (ralph.Usage{Input: 1000, Output: 50}); first.Usage != want || second.Usage != want {
		t.Errorf("%+v, then %+v", first.Usage, second.Usage)
	}
}

// A request that came before a turn which never begins holds nobody up: its answer is
// not waited for any more.
func TestCodexAskedBeforeARefusal(t *testing.T) {
	t.Parallel()
	spec := codexSpec(t)
	in := input(t, spec, "FAKE_CODEX=early")
	in.Resume, in.Grace = "thread-x", 5*time.Second
	asked := make(chan struct{})
	res, err := openCodex(t, spec).Turn(t.Context(), in, ralph.TurnHooks{Ask: func(ctx context.Context, q ralph.Request) (ralph.Reply, error) {
		close(asked)
		<-ctx.Done()
		return ralph.Reply{}, ctx.Err()
	}})
	<-asked
	if err != nil || res.Exit != ralph.ExitFailed || res.Session != "" {
		t.Errorf("%+v, %v", res, err)
	}
}

// A process that answers nobody before the turn begins does not last: the turn after
// the time limit has another one, and a turn beside it is one that crashed.
func TestCodexDeafServer(t *testing.T) {
	t.Parallel()
	ralphtest.NeedsTime(t)
	spec := codexSpec(t)
	d, log := openCodex(t, spec), filepath.Join(t.TempDir(), "sent")
	in := input(t, spec, "FAKE_CODEX=mute", "FAKE_LOG="+log)
	in.Grace = time.Second
	beside := make(chan ralph.TurnResult)
	other := in
	other.Timeout = time.Minute
	go func() {
		res, _ := d.Turn(t.Context(), other, ralph.TurnHooks{})
		beside <- res
	}()
	in.Timeout = 3 * time.Second
	if res := codexTurn(t, d, in); res.Exit != ralph.ExitTimeout {
		t.Errorf("%+v", res)
	}
	if res := <-beside; res.Exit != ralph.ExitCrashed {
		t.Errorf("beside: %+v %+v", res, res.Err)
	}
	in.Timeout, in.Prompt = time.Minute, "hello"
	if res := codexTurn(t, d, in); res.Exit != ralph.ExitOK || res.Text != "hello" {
		t.Errorf("after that: %+v", res)
	}
}
