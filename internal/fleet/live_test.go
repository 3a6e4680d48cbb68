package fleet

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"github.com/ralph-loop/ralph/internal/fleet/tail"
)

// A worker answers on its own queue, at once or not at all: one that is gone, or does not know the
// question yet, is asked no second time by the same one.
func TestWorkerIsAskedForOutputOnce(t *testing.T) {
	t.Parallel()
	for name, failure := range map[string]error{"": nil, "gone": temporal.NewTimeoutError(2, nil), "older": errors.New("unable to find activityType=ralph.tail")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var suite testsuite.WorkflowTestSuite
			env := suite.NewTestWorkflowEnvironment()
			env.SetTestTimeout(time.Minute)
			register(env)
			var queues []string
			env.RegisterActivityWithOptions(func(ctx context.Context, in Tail) (Tailed, error) {
				queues = append(queues, activity.GetInfo(ctx).TaskQueue)
				return Tailed{[]tail.Part{{Ref: in.Turns[0].Ref}}}, failure
			}, activity.RegisterOptions{Name: tailActivity})
			env.ExecuteWorkflow(tailWorkflow, Tail{Queue: "control", Turns: []tail.Want{{Ref: "r"}}})
			if len(queues) != 1 || queues[0] != "control" || (env.GetWorkflowError() == nil) != (failure == nil) {
				t.Errorf("asked by way of %q: %v", queues, env.GetWorkflowError())
			}
			var out Tailed
			if failure == nil && (env.GetWorkflowResult(&out) != nil || len(out.Turns) != 1 || out.Turns[0].Ref != "r") {
				t.Errorf("the answer is %+v", out)
			}
		})
	}
}

// What a worker answers is sealed as all payloads are, and is of the repository that it is asked for.
func TestOutputIsSealed(t *testing.T) {
	t.Parallel()
	const folder = "ralph/.state/tasks/t-1/1"
	w := &Worker{}
	dir := t.TempDir()
	if err := errors.Join(os.MkdirAll(filepath.Join(dir, folder), 0o700), os.WriteFile(filepath.Join(dir, folder, "output.log"), []byte(strings.Repeat("a plan\n", 3)), 0o600)); err != nil {
		t.Fatal(err)
	}
	w.outputs.Show("ref", tail.Source{Attempt: "a plan", Repo: "hub", Root: dir, Task: "t-1", Iteration: 1})
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	env.RegisterActivityWithOptions(w.tail, activity.RegisterOptions{Name: tailActivity})
	ask := func(repo string) (out Tailed) {
		t.Helper()
		got, err := env.ExecuteActivity(tailActivity, Tail{Repo: repo, Turns: []tail.Want{{Ref: "ref"}}})
		if err == nil {
			err = got.Get(&out)
		}
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	out := ask("hub")
	if len(out.Turns) != 1 || len(out.Turns[0].Output) == 0 || len(ask("another").Turns) > 0 {
		t.Fatalf("the answer is %+v", out)
	}
	p, err := dataConverter(sealerOf(t, 1)).ToPayload(out)
	if err != nil || bytes.Contains(p.GetData(), []byte("a plan")) {
		t.Errorf("%v: %q", err, p.GetData())
	}
}
