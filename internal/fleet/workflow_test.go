package fleet

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
)

// play runs the workflow of a step with time skipped; do is the activity, and is told the queue
// that it was put on and which call it is.
func play(t *testing.T, in In, do func(queue string, call int) (Out, error)) (Out, []string, error) {
	t.Helper()
	env := skipping()
	var queues []string
	env.RegisterActivityWithOptions(func(ctx context.Context, _ In) (Out, error) {
		q := activity.GetInfo(ctx).TaskQueue
		queues = append(queues, q)
		return do(q, len(queues))
	}, activity.RegisterOptions{Name: carryActivity})
	env.ExecuteWorkflow(stepWorkflow, in)
	var out Out
	if err := env.GetWorkflowError(); err != nil {
		return out, queues, err
	}
	err := env.GetWorkflowResult(&out)
	return out, queues, err
}

func aStep() In {
	return In{Queue: "any", Prefer: "mine", Limit: time.Hour, Beat: time.Minute, Patient: time.Minute, Ref: "refs/ralph/fleet/j/k/in"}
}

// The worker that has the tree comes first; one that is lost, does not begin or cannot do it is no
// end: any other goes on.
func TestStepGoesOnElsewhere(t *testing.T) {
	t.Parallel()
	for name, failure := range map[string]error{
		"lost":       temporal.NewHeartbeatTimeoutError(),
		"not there":  temporal.NewTimeoutError(2, nil), // SCHEDULE_TO_START
		"a fault":    errors.New("the disk is full"),
		"not a repo": temporal.NewApplicationError("does not work for it", "repo"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, queues, err := play(t, aStep(), func(_ string, call int) (Out, error) {
				if call == 1 {
					return Out{}, failure
				}
				return Out{Worker: "other"}, nil
			})
			if err != nil || out.Worker != "other" || len(queues) != 2 || queues[0] != "mine" || queues[1] != "any" {
				t.Fatalf("%v, %+v by way of %v", err, out, queues)
			}
		})
	}
}

func TestStepStaysWhereItsTreeIs(t *testing.T) {
	t.Parallel()
	out, queues, err := play(t, aStep(), func(q string, _ int) (Out, error) { return Out{Worker: q}, nil })
	if err != nil || out.Worker != "mine" || len(queues) != 1 {
		t.Fatalf("%v, %+v by way of %v", err, out, queues)
	}
}

// What no worker can carry out is told to the coordinator in the end, with the words of the last.
func TestStepIsGivenUp(t *testing.T) {
	t.Parallel()
	in := aStep()
	in.Prefer = ""
	_, queues, err := play(t, in, func(string, int) (Out, error) { return Out{}, errors.New("there is no program codex") })
	var a *temporal.ApplicationError
	if !errors.As(err, &a) || a.Message() != "there is no program codex" || len(queues) != tries {
		t.Fatalf("after %d tries: %v", len(queues), err)
	}
}

// A coordinator of this build goes on with what was begun by an older one: histories of real runs of every
// workflow that may be under way while it is replaced. In one a step's worker was killed (kill -9) in the middle, in
// another one the holder of the lease.
func TestHistoriesReplay(t *testing.T) {
	t.Parallel()
	list, err := filepath.Glob("testdata/histories/*.json")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, name := range list {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range []string{stepWorkflow, talkWorkflow, actWorkflow, leaseWorkflow} {
			seen[w] = seen[w] || regexp.MustCompile(`"name": *"`+w+`"`).Match(b)
		}
		r := worker.NewWorkflowReplayer()
		register(r)
		if err := r.ReplayWorkflowHistoryFromJSONFile(nil, name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for w, has := range seen {
		if !has {
			t.Errorf("no history of %s", w)
		}
	}
}

// A parcel passes no fence at the remote: one that was sent when its coordinator may have lost the lease is given to
// no worker, whoever's clock says what.
func TestLateParcelIsRefused(t *testing.T) {
	t.Parallel()
	for name, until := range map[string]time.Duration{"in time": time.Minute, "late": -time.Minute} {
		in := aStep()
		in.Until = time.Now().Add(until)
		_, queues, err := play(t, in, func(string, int) (Out, error) { return Out{}, nil })
		if late := until < 0; isLate(err) != late || (err != nil) != late || (len(queues) == 0) != late {
			t.Errorf("%s: %v, given to %v", name, err, queues)
		}
	}
}
