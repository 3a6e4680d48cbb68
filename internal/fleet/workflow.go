package fleet

import (
	"errors"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/ralph-loop/ralph/internal/fleet/briefing"
)

// The names by which workflows and activities are known to the server. They stay as they are:
// what is under way while a coordinator is replaced goes by them.
const (
	stepWorkflow  = "ralph.step"
	talkWorkflow  = "ralph.talk"
	lookWorkflow  = "ralph.look"
	actWorkflow   = "ralph.act"
	tailWorkflow  = "ralph.tail"
	carryActivity = "ralph.carry"
	talkActivity  = "ralph.talk"
	actActivity   = "ralph.act"
	probeActivity = "ralph.probe"
	drainActivity = "ralph.drain"
	tailActivity  = "ralph.tail"

	listenActivity = "ralph.listen"
)

// tries is how often a step is given to workers that cannot carry it out, before the coordinator
// is told. A worker that is lost counts too.
const tries = 10

// step is the workflow of one step. It first waits for the worker that has the tree, and goes to
// any other when that one does not begin, or is lost.
func step(ctx workflow.Context, in In) (Out, error) {
	var out Out
	if err := intime(ctx, in); err != nil {
		return out, err
	}
	o := workflow.ActivityOptions{
		StartToCloseTimeout: in.Limit, HeartbeatTimeout: in.Beat, WaitForCancellation: true,
		RetryPolicy: &temporal.RetryPolicy{InitialInterval: 200 * time.Millisecond, BackoffCoefficient: 2, MaximumInterval: 10 * time.Second, MaximumAttempts: tries},
	}
	if in.Prefer != "" {
		first := o
		first.TaskQueue, first.ScheduleToStartTimeout = in.Prefer, in.Patient
		first.RetryPolicy = &temporal.RetryPolicy{MaximumAttempts: 1}
		err := workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, first), carryActivity, in).Get(ctx, &out)
		if err == nil || ctx.Err() != nil || final(err) {
			return out, err
		}
	}
	o.TaskQueue = in.Queue
	err := workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, o), carryActivity, in).Get(ctx, &out)
	return out, err
}

// final reports an error that would be the same on every worker.
func final(err error) bool {
	var a *temporal.ApplicationError
	return errors.As(err, &a) && a.NonRetryable()
}

// talk has the coordinator do what a worker asks of the journal. It waits for a coordinator for
// as long as there is none.
func talk(ctx workflow.Context, in Talk) (briefing.Told, error) {
	var out briefing.Told
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: 30 * 24 * time.Hour, HeartbeatTimeout: in.Beat,
		RetryPolicy: &temporal.RetryPolicy{InitialInterval: 200 * time.Millisecond, BackoffCoefficient: 1.5, MaximumInterval: 5 * time.Second},
	})
	err := workflow.ExecuteActivity(ctx, talkActivity, in).Get(ctx, &out)
	return out, err
}

// Look is what a worker is asked by `ralph fleet`.
type Look struct {
	Activity string // probeActivity, drainActivity, listenActivity
	Queue    string // of the worker
	Repo     string // that is tried, "" for none
	Patient  time.Duration
	Labels   []string `json:",omitempty"` // whose queues it is to read
}

// look asks one worker something.
func look(ctx workflow.Context, in Look) (Probe, error) {
	var out Probe
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue: in.Queue, ScheduleToStartTimeout: in.Patient, StartToCloseTimeout: 2 * time.Minute, RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 1},
	})
	err := workflow.ExecuteActivity(ctx, in.Activity, in).Get(ctx, &out)
	return out, err
}

// registry is what workflows are registered with.
type registry interface {
	RegisterWorkflowWithOptions(w any, o workflow.RegisterOptions)
}

func register(r registry) {
	r.RegisterWorkflowWithOptions(step, workflow.RegisterOptions{Name: stepWorkflow})
	r.RegisterWorkflowWithOptions(talk, workflow.RegisterOptions{Name: talkWorkflow})
	r.RegisterWorkflowWithOptions(look, workflow.RegisterOptions{Name: lookWorkflow})
	r.RegisterWorkflowWithOptions(holdLease, workflow.RegisterOptions{Name: leaseWorkflow})
	r.RegisterWorkflowWithOptions(showOutput, workflow.RegisterOptions{Name: tailWorkflow})
	r.RegisterWorkflowWithOptions(act, workflow.RegisterOptions{Name: actWorkflow})
}
