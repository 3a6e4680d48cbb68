package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/agent"
	"github.com/ralph-loop/ralph/internal/proc"
)

func askCodex(t *testing.T, env ...string) agent.Asker {
	t.Helper()
	a, ok, err := agent.AskerOf(codexSpec(t), proc.NewRunner(t.TempDir()), environ(t, env...))
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	return a
}

// A question opens a thread that codex forgets, without an environment, and with the schema of its answer; two
// questions are two threads of one process.
func TestCodexQuestion(t *testing.T) {
	t.Parallel()
	log := filepath.Join(t.TempDir(), "sent")
	a := askCodex(t, "FAKE_CODEX=echo", "FAKE_LOG="+log)
	for range 2 {
		got, err := a.Ask(t.Context(), agent.Question{System: "You decide.", Prompt: `{"x":1}`, Schema: json.RawMessage(`{"type":"object"}`), Model: "m2"})
		if err != nil || got.Err != nil || got.Text != `{"x":1}` {
			t.Fatalf("%+v, %v", got, err)
		}
	}
	b, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	sent := string(b)
	for want, n := range map[string]int{
		`"initialize"`: 1, `"thread/start"`: 2, `"ephemeral":true`: 2, `"environments":[]`: 2, `"sandbox":"read-only"`: 2, `"approvalPolicy":"never"`: 2,
		`"baseInstructions":"You decide."`: 2, `"model":"m2"`: 2, `"outputSchema":{"type":"object"}`: 2,
	} {
		if got := strings.Count(sent, want); got != n {
			t.Errorf("%s is sent %d times, want %d:\n%s", want, got, n, sent)
		}
	}
}

// What is no answer: a limit, a process that dies, an agent that does something instead.
func TestCodexQuestionFails(t *testing.T) {
	t.Parallel()
	for behaviour, want := range map[string]ralph.ErrorClass{
		"limited": ralph.ErrClassLimit, "fail": ralph.ErrClassOther, "crash": ralph.ErrClassOutput, "works": ralph.ErrClassOutput,
	} {
		t.Run(behaviour, func(t *testing.T) {
			t.Parallel()
			got, err := askCodex(t, "FAKE_CODEX="+behaviour).Ask(t.Context(), agent.Question{Prompt: "x", Schema: json.RawMessage(`{}`)})
			if err != nil || got.Err == nil || got.Err.Class != want {
				t.Fatalf("%+v %+v, %v", got, got.Err, err)
			}
			if behaviour == "works" && (got.Text != "" || !strings.Contains(got.Err.Message, "did something: rm -rf /")) {
				t.Errorf("%+v %+v", got, got.Err)
			}
		})
	}
}

// A question ends with its context.
func TestCodexQuestionTooSlow(t *testing.T) {
	t.Parallel()
	a := askCodex(t, "FAKE_CODEX=hang")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if got, err := a.Ask(ctx, agent.Question{Prompt: "x"}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%+v, %v", got, err)
	}
}
