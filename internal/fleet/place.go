package fleet

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/fleet/place"
	"github.com/ralph-loop/ralph/internal/fleet/seal"
	"github.com/ralph-loop/ralph/internal/labels"
	"github.com/ralph-loop/ralph/internal/workers/match"
	"github.com/ralph-loop/ralph/internal/workspace"
)

// How a step finds a worker that has the labels it asks for (internal/fleet/place), at the server.

var _ place.Server = (*Doer)(nil)

// needsMemo is what a step needs, as the server shows it of the workflow.
const needsMemo = "needs"

// listen is the activity by which a worker is told of labels that a coordinator's steps ask for.
func (w *Worker) listen(_ context.Context, in Look) (Probe, error) {
	out := Probe{Name: w.o.Name}
	if err := w.has(in.Labels); err != nil {
		return out, err
	}
	return out, w.read(append(w.agentQueues(), anyQueue(w.server.queue())), in.Labels)
}

func (w *Worker) agentQueues() []string {
	var list []string
	for _, a := range w.o.Agents {
		list = append(list, agentQueue(w.server.queue(), a))
	}
	return list
}

// read takes steps from queues, or from those of them that ask for labels. What is read is read until the
// worker ends; once it is to end, nothing new is.
func (w *Worker) read(queues, list []string) error {
	w.reading.Lock()
	defer w.reading.Unlock()
	for _, q := range queues {
		q = place.Queue(q, list)
		if w.queues[q] != nil || w.asked.Err() != nil {
			continue
		}
		n := worker.New(w.client, q, w.options(w.work))
		n.RegisterActivityWithOptions(w.carry, activity.RegisterOptions{Name: carryActivity})
		if err := n.Start(); err != nil {
			return fmt.Errorf("read the queue %s of the fleet at %s: %w", q, w.server.address(), err)
		}
		w.queues[q] = n
	}
	return nil
}

// stop ends the reading of queues, at once for all, and waits for the steps under way.
func (w *Worker) stop(more ...worker.Worker) {
	w.reading.Lock()
	open := slices.AppendSeq(more, maps.Values(w.queues))
	w.reading.Unlock()
	var all sync.WaitGroup
	for _, n := range open {
		all.Go(n.Stop)
	}
	all.Wait()
}

// has refuses what asks for labels that this worker has not: another one under its name had them.
func (w *Worker) has(wanted []string) error {
	if missing := labels.Missing(wanted, w.o.Labels); len(missing) > 0 {
		return temporal.NewApplicationError(fmt.Sprintf("worker %s has not the labels %s", w.o.Name, strings.Join(missing, ", ")), "labels")
	}
	return nil
}

// needsOf is what a step needs of its worker.
func (d *Doer) needsOf(s *ralph.State, t *ralph.Task, step ralph.Step) match.Needs {
	file := t.Spec
	if file == "" && s.Job != nil {
		file = s.Job.File
	}
	n := match.Needs{Labels: labels.Union(d.in.Parts.Config.Fleet.Labels, workspace.SpecLabels(d.in.Parts.Root, file), t.Worker), Repo: d.url}
	switch step := step.(type) {
	case ralph.Turn:
		n.Agent = step.Agent
	case ralph.Compact:
		n.Agent = step.Agent
	}
	return n
}

// memoOf is what the server may show of a workflow's needs. It is sealed here: Temporal's library writes
// such a value in the clear, unless a variable of the environment says otherwise.
func memoOf(n match.Needs, k seal.Sealer) (map[string]any, error) {
	b, err := json.Marshal(n)
	if err == nil {
		b, err = k.Seal(b)
	}
	return map[string]any{needsMemo: b}, err
}

// needsIn is what the server shows of a workflow's needs; zero for a step of an older coordinator, or of
// another key.
func needsIn(memo *commonpb.Memo, k seal.Sealer) (n match.Needs) {
	p := memo.GetFields()[needsMemo]
	if p == nil {
		return n
	}
	var b []byte
	if dataConverter(k).FromPayload(p, &b) != nil && converter.GetDefaultDataConverter().FromPayload(p, &b) != nil {
		return n
	}
	if b, err := k.Open(b); err == nil && json.Unmarshal(b, &n) != nil {
		return match.Needs{}
	}
	return n
}

// stale reports whether a step that nobody has begun asks for other labels than it would now: somebody
// has changed what is asked for, and it would wait for what nobody wants any more.
func stale(there *workflowservice.DescribeWorkflowExecutionResponse, k seal.Sealer, want match.Needs) bool {
	pending := there.GetPendingActivities()
	for _, p := range pending {
		if p.GetState() != enums.PENDING_ACTIVITY_STATE_SCHEDULED {
			return false
		}
	}
	return len(pending) > 0 && !slices.Equal(needsIn(there.GetWorkflowExecutionInfo().GetMemo(), k).Labels, want.Labels)
}

// Workers implements place.Server.
func (d *Doer) Workers(ctx context.Context) ([]match.Worker, error) {
	there, _, err := pollers(ctx, d.client, d.server.queue(), "")
	list := []match.Worker{}
	for _, w := range there {
		if w.State == "" && !d.lost(w.Name) { // else it takes no more steps
			list = append(list, reader(d.seal, d.in.Env.Version).View(w))
		}
	}
	return list, err
}

// Replace implements place.Server.
func (d *Doer) Replace(ctx context.Context, id string, now match.Needs) bool {
	there, err := d.client.DescribeWorkflowExecution(ctx, id, "")
	if err != nil || !stale(there, d.seal, now) {
		return false
	}
	return d.giveUp(id) == nil
}

// Tell implements place.Server.
func (d *Doer) Tell(ctx context.Context, w match.Worker, list []string) error {
	base := d.server.queue()
	ctx, cancel := context.WithTimeout(ctx, time.Minute) // by this clock: a limit at the server would be compared with the worker's
	defer cancel()
	run, err := d.client.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID: base + "/listen/" + rand.Text(), TaskQueue: coordinatorQueue(base, d.journal),
	}, lookWorkflow, Look{Activity: listenActivity, Queue: controlQueue(base, w.Name), Labels: list, Patient: patient})
	if err != nil {
		return err
	}
	return run.Get(ctx, nil)
}
