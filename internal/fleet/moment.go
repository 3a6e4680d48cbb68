package fleet

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/ralph-loop/ralph/internal/fleet/ident"
	"github.com/ralph-loop/ralph/internal/git"
	"github.com/ralph-loop/ralph/internal/workers"
)

// What the coordinator writes down for the dashboard, the screen and `ralph status`, which know nothing of Temporal.

// maxAsked bounds the steps that the server is asked about at each look.
const maxAsked = 100

// onlooker looks at the fleet again and again.
type onlooker struct {
	d     *Doer
	judge workers.Judge
	steps map[string]told // by workflow
	last  *workers.Moment
	wrote time.Time
}

// told is what the server said of a step, and when.
type told struct {
	workers.Step

	at time.Time
}

// onlook has the file of the moment written until it is ended, and takes it away then.
func (d *Doer) onlook(ctx context.Context) (end func()) {
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	var done sync.WaitGroup
	done.Go(func() {
		o := &onlooker{d: d, steps: map[string]told{}}
		tick := time.NewTicker(o.every())
		defer tick.Stop()
		for {
			o.look(ctx)
			select {
			case <-ctx.Done():
				_ = os.Remove(d.momentFile())
				return
			case <-tick.C:
			}
		}
	})
	return func() { stop(); done.Wait() }
}

func (d *Doer) momentFile() string {
	return filepath.Join(d.in.Parts.Root, filepath.FromSlash(workers.File))
}

func (o *onlooker) every() time.Duration { return max(o.d.beat/5, 500*time.Millisecond) }

// look writes what it sees where that is another thing, or the file would soon be too old to be believed. What cannot be
// seen, as the server is away, leaves the file to become so.
func (o *onlooker) look(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, o.d.beat)
	defer cancel()
	m, err := o.see(ctx)
	if err != nil || m.Same(o.last) && time.Since(o.wrote) < o.d.beat {
		return
	}
	b, err := json.Marshal(m)
	if err == nil {
		err = git.WriteFile(o.d.momentFile(), string(b))
	}
	if err == nil {
		o.last, o.wrote = m, time.Now()
	}
}

func (o *onlooker) see(ctx context.Context) (*workers.Moment, error) {
	d := o.d
	now, ahead := time.Now(), d.hold.clock() // before the server's
	list, _, err := pollers(ctx, d.client, d.server.queue(), "")
	if err != nil {
		return nil, err
	}
	var seen []workers.Worker
	for _, w := range list {
		seen = append(seen, reader(d.seal, d.in.Env.Version).Worker(w))
	}
	steps, slack, err := o.underWay(ctx, now)
	if err != nil {
		return nil, err
	}
	m := &workers.Moment{
		At: now, Until: now.Add(2 * d.beat), Pid: os.Getpid(), Address: d.server.address(), Namespace: d.server.namespace(), Queue: d.server.queue(),
		Workers: o.judge.Look(now.Add(-ahead), d.beat+slack, seen, steps), Steps: []workers.Step{},
	}
	gone := map[string]bool{}
	for i, w := range m.Workers { // by this clock, like all that is shown
		m.Workers[i].Heard = w.Heard.Add(ahead)
		gone[w.Name] = w.State == workers.Lost
	}
	d.gone.Store(&gone)
	for _, s := range steps {
		if s.Mine {
			s.Since, s.Missing = s.Since.Add(ahead), d.places.Missing(s.ID)
			m.Steps = append(m.Steps, s)
		}
	}
	return m, nil
}

// lost reports whether a worker was lost when it was looked last: what it has is not waited for.
func (d *Doer) lost(name string) bool {
	gone := d.gone.Load()
	return gone != nil && (*gone)[name]
}

// underWay are all steps of the fleet that are under way. slack is how much older than a look what is known of one
// may be: of many, only some are asked about each time, the longest ago first.
func (o *onlooker) underWay(ctx context.Context, now time.Time) (steps []workers.Step, slack time.Duration, err error) {
	d := o.d
	list, err := running(ctx, d.client, d.server, stepWorkflow)
	if err != nil {
		return nil, 0, err
	}
	open := map[string]told{}
	var ids []string
	for _, e := range list {
		id := e.GetExecution().GetWorkflowId()
		journal, task, ok := ident.Step(d.server.queue(), id)
		if !ok {
			continue
		}
		x := o.steps[id]
		x.ID, x.Task, x.Mine, x.Since = id, task, journal == d.journal, e.GetStartTime().AsTime()
		open[id] = x
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b string) int {
		if c := open[a].at.Compare(open[b].at); c != 0 {
			return c
		}
		return strings.Compare(a, b)
	})
	for _, id := range ids[:min(len(ids), maxAsked)] {
		x := open[id]
		if err := ask(ctx, d.client, &x.Step); err != nil {
			return nil, 0, err
		}
		x.at = now
		open[id] = x
	}
	o.steps = open
	slices.Sort(ids)
	for _, id := range ids {
		if x := open[id]; !x.at.IsZero() {
			steps = append(steps, x.Step)
		}
	}
	return steps, time.Duration(len(ids)/maxAsked) * o.every(), nil
}

// ask asks the server who carries a step out. One that has ended meanwhile is as it was.
func ask(ctx context.Context, c client.Client, x *workers.Step) error {
	d, err := c.DescribeWorkflowExecution(ctx, x.ID, "")
	if err != nil {
		return err
	}
	if len(d.GetPendingActivities()) == 0 {
		return nil
	}
	p := d.GetPendingActivities()[0]
	x.Attempt, x.Trouble, x.Worker = int(p.GetAttempt()), p.GetLastFailure().GetMessage(), ""
	x.Quiet = p.GetLastFailure().GetTimeoutFailureInfo() != nil
	if p.GetState() != enums.PENDING_ACTIVITY_STATE_SCHEDULED {
		x.Worker = lastWorker(p)
	}
	for _, t := range []time.Time{p.GetLastHeartbeatTime().AsTime(), p.GetLastStartedTime().AsTime()} {
		if x.Worker != "" && t.After(x.Heard) {
			x.Heard = t
		}
	}
	return nil
}

// stands says how a worker stands. It is a question for work that nobody has: nothing is ever to be done there, and the
// server tells all who ask which workers have put it, and when.
func (w *Worker) stands(ctx context.Context, state workers.State) {
	me := w.me
	me.State = state
	identity, err := me.Identity()
	if err != nil {
		return
	}
	_ = knock(ctx, w.client, w.server, identity)
}

// knock asks for work that there is not, until ctx is over or the server has had enough of it.
func knock(ctx context.Context, c client.Client, s Server, identity string) error {
	_, err := c.WorkflowService().PollActivityTaskQueue(ctx, &workflowservice.PollActivityTaskQueueRequest{
		Namespace: s.namespace(), TaskQueue: &taskqueue.TaskQueue{Name: seenQueue(s.queue())}, Identity: identity,
	})
	return err
}

// appear says again and again that the worker is there, also while all its slots are busy, and that it drains once it
// does, until it is ended; then that it has ended.
func (w *Worker) appear(ctx context.Context) (end func()) {
	asking, stop := context.WithCancel(context.WithoutCancel(ctx))
	var done sync.WaitGroup
	done.Go(func() {
		for asking.Err() == nil {
			begin, state, until := time.Now(), workers.State(""), w.asked
			if w.asked.Err() != nil {
				state, until = workers.Draining, asking
			}
			once, cancel := context.WithTimeout(until, appears)
			w.stands(once, state)
			cancel()
			select {
			case <-until.Done():
			case <-time.After(appears/2 - time.Since(begin)): // the server answers before it would be late
			}
		}
	})
	return func() {
		stop()
		done.Wait()
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewell)
		defer cancel()
		w.stands(last, workers.Ended)
	}
}

// appears is how often a worker says that it is there, at least.
const appears = 5 * time.Second

// farewell is how long the last word waits for an answer that does not come: the server refuses less than two seconds.
const farewell = 2500 * time.Millisecond
