package agent_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
)

// The time limit of an exec agent stands still while one of its programs waits for a
// person, who takes longer than the limit; without that it ends the turn (C-039).
func TestExecClockStandsStill(t *testing.T) {
	t.Parallel()
	const limit = 3 * time.Second
	spec := ralph.AgentSpec{Name: "mine", Driver: "exec", Command: []string{"sh", "-c", `while ! [ -e "$GO" ]; do sleep 0.02; done; echo done`}}
	in := input(t, spec)
	file := filepath.Join(t.TempDir(), "go")
	in.Env, in.Timeout = append(in.Env, "GO="+file), limit
	asked := make(chan struct{})
	res, err := open(t, spec).Turn(t.Context(), in, ralph.TurnHooks{
		Ask: func(ctx context.Context, _ ralph.Request) (ralph.Reply, error) {
			select {
			case <-time.After(limit + limit/10): // a person thinks for longer than the turn may take
			case <-ctx.Done():
			}
			return ralph.Reply{Allow: true}, ctx.Err()
		},
		Asking: func(ask func(context.Context, ralph.Request) (ralph.Reply, error)) {
			go func() {
				defer close(asked)
				if _, err := ask(t.Context(), ralph.Request{}); err != nil {
					t.Error(err)
				}
				if err := os.WriteFile(file, nil, 0o600); err != nil {
					t.Error(err)
				}
			}()
		},
	})
	<-asked
	if err != nil || res.Exit != ralph.ExitOK || res.Waited < limit {
		t.Errorf("%s, waited %s: %v", res.Exit, res.Waited, err)
	}
	in.Env, in.Timeout = append(in.Env, "GO=/no/such/file"), 50*time.Millisecond
	if res, err = open(t, spec).Turn(t.Context(), in, ralph.TurnHooks{}); err != nil || res.Exit != ralph.ExitTimeout {
		t.Errorf("%s: %v", res.Exit, err)
	}
}
