package step_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/policy"
	"github.com/ralph-loop/ralph/internal/redact"
)

// loud are checks that print much.
type loud struct {
	output string
	pass   bool
}

func (l loud) Run(_ context.Context, _ string, gates []ralph.CheckSpec) ([]ralph.CheckResult, error) {
	r := ralph.CheckResult{Name: gates[0].Name, Command: gates[0].Command, Pass: l.pass, Output: l.output}
	if !l.pass {
		r.Exit = 1
	}
	return []ralph.CheckResult{r}, nil
}

func bytesOf(t *testing.T, v any) int {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return len(b)
}

// Issue 16.1, the review's 1.1: 500 tasks with 64 KiB of output each are less than 2 MiB of
// state (31.6 before), green as they are when they are done; and no fact is longer for it.
func TestStateIsSmall(t *testing.T) {
	t.Parallel()
	const tasks = 500
	for _, pass := range []bool{true, false} {
		w, _ := checkable(t, policy.Config{}, nil)
		w.Checker = loud{strings.Repeat("ok  \texample.com/module/package\t0.012s\n", 64<<10/37), pass}
		w.Checks = w.Checks[:1]
		ran, _ := w.check(t)
		if n := bytesOf(t, ran); n > 5<<10 {
			t.Errorf("pass %v: checks.ran has %d bytes", pass, n)
		}
		s := &ralph.State{}
		for i := range tasks {
			ran.Task = ralph.TaskID(fmt.Sprint("t-", i))
			s.Apply(ralph.Event{Seq: int64(2*i + 1), Fact: ralph.TaskAdded{Task: ralph.Task{ID: ran.Task, Name: "Add the login form"}}})
			s.Apply(ralph.Event{Seq: int64(2*i + 2), Fact: ran})
		}
		most := 2 << 20
		if !pass { // all at once red, each twice: as the newest checks and for the next prompt; a snapshot has them once
			most = 4 << 20
		}
		if n := bytesOf(t, s); n > most {
			t.Errorf("pass %v: the state of %d tasks has %d bytes", pass, tasks, n)
		}
	}
}

// The agent that is to mend a red check is told all of it, without secrets, from a file that
// nobody else may read; when it is gone, the prompt says so.
func TestPromptHasTheWhole(t *testing.T) {
	t.Parallel()
	const secret = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"
	var long strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&long, "a line in the middle, number %d\n", i)
	}
	w, _ := checkable(t, policy.Config{}, nil)
	w.Redact = redact.New([]redact.Secret{{Name: "TOKEN", Value: secret}}, nil)
	w.Checker, w.Checks = loud{strings.Replace(long.String(), "number 1000\n", "number 1000 "+secret+"\n", 1), false}, w.Checks[:1]
	w.state.Task("t-1").Run.Last.Dir = "ralph/.state/tasks/t-1/1"
	ran, _ := w.check(t)
	file := filepath.Join(w.Root, ran.Path())
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("%s: %v, %v", ran.Path(), info, err)
	}
	text, err := os.ReadFile(file)
	if err != nil || bytes.Contains(text, []byte(secret)) || !bytes.Contains(text, []byte("number 1000 ")) {
		t.Errorf("the file: secret %v, %v", bytes.Contains(text, []byte(secret)), err)
	}
	prompt := func(iteration int) string {
		w.do(t, ralph.Turn{Stage: ralph.KindBuild, Agent: "played", Iteration: iteration})
		b, err := os.ReadFile(filepath.Join(w.Root, "ralph/.state/tasks/t-1", fmt.Sprint(iteration), "prompt.md"))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	if p := prompt(2); !strings.Contains(p, "number 999\n") || !strings.Contains(p, "number 1000 ") || strings.Contains(p, secret) {
		t.Errorf("the prompt has no middle, or a secret:\n%s", p)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if p := prompt(3); strings.Contains(p, "number 999\n") || !strings.Contains(p, "number 1999") || !strings.Contains(p, "checks.json is gone") {
		t.Errorf("the file is gone, and the prompt says:\n%s", p)
	}
}
