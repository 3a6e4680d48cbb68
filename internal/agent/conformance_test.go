package agent_test

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/agent"
	"github.com/ralph-loop/ralph/internal/agent/agenttest"
	"github.com/ralph-loop/ralph/internal/agentcheck"
	"github.com/ralph-loop/ralph/internal/proc"
)

// environ is what an agent gets in these tests; nothing of the user's.
func environ(t *testing.T, more ...string) []string {
	t.Helper()
	home := t.TempDir()
	return append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "XDG_CONFIG_HOME=" + home,
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"GORACE=atexit_sleep_ms=0", // or each fake takes a second to leave under the race detector
	}, more...)
}

func open(t *testing.T, spec ralph.AgentSpec) agent.Driver {
	t.Helper()
	d, err := agent.Open(spec, proc.NewRunner(t.TempDir()), self(t))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func self(t *testing.T) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return exe
}

func input(t *testing.T, spec ralph.AgentSpec, env ...string) ralph.TurnInput {
	t.Helper()
	return ralph.TurnInput{Agent: spec, Stage: ralph.KindBuild, Dir: t.TempDir(), Env: environ(t, env...), Scratch: t.TempDir()}
}

// floods take turns: what a flood may hold is measured on the heap, which all tests share.
var floods sync.Mutex

// conforms runs the suite of every driver.
func conforms(t *testing.T, open agenttest.Open, more ...agenttest.Behaviour) {
	t.Helper()
	agenttest.Run(t, func(t *testing.T, b agenttest.Behaviour) (agent.Driver, ralph.TurnInput) {
		if b == agenttest.Flood {
			floods.Lock()
			t.Cleanup(floods.Unlock)
		}
		return open(t, b)
	}, more...)
}

// one suite for every driver, through the one interface.
func TestExecConforms(t *testing.T) {
	t.Parallel()
	conforms(t, func(t *testing.T, b agenttest.Behaviour) (agent.Driver, ralph.TurnInput) {
		spec := ralph.AgentSpec{Name: "mine", Driver: "exec", Command: []string{"sh", "-c", shellAgent(b)}}
		if b == agenttest.Missing {
			spec.Command = []string{"no-such-agent-anywhere"}
		}
		return open(t, spec), input(t, spec)
	})
}

func shellAgent(b agenttest.Behaviour) string {
	switch b {
	case agenttest.Echo:
		return "cat"
	case agenttest.Complete:
		return "cat >/dev/null; echo All is done.; echo '<ralph>COMPLETE</ralph>'"
	case agenttest.Fail:
		return "echo it broke >&2; exit 3"
	case agenttest.Limited:
		return "echo '429 Too Many Requests' >&2; exit 1"
	case agenttest.Crash:
		return "echo begun; kill -9 $$"
	case agenttest.Hang:
		return "echo ready; sleep 60"
	case agenttest.HangHard:
		return "trap '' TERM; echo ready; while :; do sleep 60; done"
	case agenttest.Flood:
		return "head -c 105000000 /dev/zero | tr '\\0' x"
	case agenttest.Background:
		return "setsid sh -c 'echo >up; sleep 60; :' >/dev/null 2>&1 & until [ -e up ]; do sleep 0.01; done"
	}
	return "exit 0"
}

func TestScriptedConforms(t *testing.T) {
	t.Parallel()
	conforms(t, func(t *testing.T, b agenttest.Behaviour) (agent.Driver, ralph.TurnInput) {
		file := filepath.Join(t.TempDir(), "s.yaml")
		text, ok := agentcheck.Scenario(b)
		if !ok {
			t.Fatalf("the scripted agent does not play %s", b)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		spec := ralph.AgentSpec{Name: "played", Driver: "scripted", Scenario: file}
		exe := self(t)
		if b == agenttest.Missing {
			exe = "/no/such/ralph"
		}
		d, err := agent.Open(spec, proc.NewRunner(t.TempDir()), exe)
		if err != nil {
			t.Fatal(err)
		}
		return d, input(t, spec)
	}, agenttest.Remember, agenttest.Metered)
}

func TestClaudeConforms(t *testing.T) {
	t.Parallel()
	conforms(t, func(t *testing.T, b agenttest.Behaviour) (agent.Driver, ralph.TurnInput) {
		spec := ralph.AgentSpec{Name: "claude", Driver: "claude", Command: []string{self(t)}}
		if b == agenttest.Missing {
			spec.Command = []string{"no-such-claude-anywhere"}
		}
		return open(t, spec), input(t, spec, "FAKE_CLAUDE="+string(b))
	})
}
