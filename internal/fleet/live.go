package fleet

import (
	"context"
	"crypto/rand"
	"path"
	"sync"
	"time"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/fleet/ident"
	"github.com/ralph-loop/ralph/internal/fleet/place"
	"github.com/ralph-loop/ralph/internal/fleet/tail"
	"github.com/ralph-loop/ralph/internal/observe/wanted"
	stepping "github.com/ralph-loop/ralph/internal/step"
)

// The output of a turn while it goes on: a short workflow asks the worker for what is new, only while
// somebody looks (internal/fleet/tail). It is for people alone, so nothing waits for it and nothing
// fails with it: a worker that does not know of it yet is one that does not answer.

// asksFor bounds one question, with its answer.
const asksFor = 15 * time.Second

// Tail is what a worker is asked for.
type Tail struct {
	Queue string // of the worker
	Repo  string
	Turns []tail.Want
}

// Tailed is its answer: below maxPayload, by the bounds of internal/fleet/tail.
type Tailed struct {
	Turns []tail.Part
}

// showOutput asks one worker. One that does not begin is draining, gone or busy: it is asked again later.
func showOutput(ctx workflow.Context, in Tail) (Tailed, error) {
	var out Tailed
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue: in.Queue, ScheduleToStartTimeout: 3 * time.Second, StartToCloseTimeout: asksFor - 5*time.Second, RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 1},
	})
	err := workflow.ExecuteActivity(ctx, tailActivity, in).Get(ctx, &out)
	return out, err
}

// tail is the activity: it answers with what is there. Only the coordinator of a turn knows its ref.
func (w *Worker) tail(ctx context.Context, in Tail) (Tailed, error) {
	return Tailed{w.outputs.Read(ctx, tail.Wait, in.Repo, in.Turns)}, nil
}

// tail begins to look who looks. stop ends it.
func (d *Doer) tail() (stop func()) {
	d.tails = tail.New(d.askOutput, d.whoHas)
	ctx, cancel := context.WithCancel(context.Background())
	var over sync.WaitGroup
	over.Go(func() { d.tails.Run(ctx) })
	return func() { cancel(); over.Wait() }
}

// askOutput asks a worker, and leaves nothing of its answer at the server.
func (d *Doer) askOutput(ctx context.Context, worker string, wants []tail.Want) ([]tail.Part, error) {
	ctx, cancel := context.WithTimeout(ctx, asksFor)
	defer cancel()
	base := d.server.queue()
	run, err := d.client.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID: base + "/tail/" + rand.Text(), TaskQueue: coordinatorQueue(base, d.journal), WorkflowExecutionTimeout: 2 * asksFor,
	}, tailWorkflow, Tail{Queue: controlQueue(base, worker), Repo: d.url, Turns: wants})
	if err != nil {
		return nil, err
	}
	var out Tailed
	err = run.Get(ctx, &out)
	_, _ = d.client.WorkflowService().DeleteWorkflowExecution(ctx, &workflowservice.DeleteWorkflowExecutionRequest{ // else its retention does
		Namespace: d.server.namespace(), WorkflowExecution: &common.WorkflowExecution{WorkflowId: run.GetID(), RunId: run.GetRunID()},
	})
	return out.Turns, err
}

// whoHas is the worker that carries a step out; "" while none does.
func (d *Doer) whoHas(ctx context.Context, id string) (string, error) {
	there, err := d.client.DescribeWorkflowExecution(ctx, id, "")
	if err != nil {
		return "", err
	}
	for _, p := range there.GetPendingActivities() {
		if p.GetState() == enums.PENDING_ACTIVITY_STATE_STARTED {
			return lastWorker(p), nil
		}
	}
	return "", nil
}

// follow has the output of a turn come while it is under way and somebody looks. What stands in the
// way of that is none of the turn's business. When stop returns, its files may come.
func (d *Doer) follow(t *ralph.Task, step ralph.Step, k, id string, m place.Memory) (stop func()) {
	if _, ok := step.(ralph.Turn); !ok || m.Turn == "" || m.Step != k {
		return func() {} // the last: it was begun by a coordinator before this version
	}
	mark := wanted.Of(d.in.Parts.Root, t.ID)
	if mark.Begin() != nil {
		return func() {}
	}
	c, err := tail.OpenCopy(d.in.Parts.Root, path.Join(stepping.RecordsOf(t.ID), m.Turn), ident.In(d.journal, k), mark.File())
	if err != nil {
		mark.End()
		return func() {}
	}
	return d.tails.Follow(id, mark, c)
}
