package fleet

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/fleet/checkout"
	"github.com/ralph-loop/ralph/internal/fleet/ident"
	"github.com/ralph-loop/ralph/internal/fleet/lease"
	"github.com/ralph-loop/ralph/internal/fleet/roster"
	"github.com/ralph-loop/ralph/internal/fleet/seal"
	"github.com/ralph-loop/ralph/internal/fleetcmd"
	"github.com/ralph-loop/ralph/internal/git"
	"github.com/ralph-loop/ralph/internal/git/carry"
	"github.com/ralph-loop/ralph/internal/git/push"
	"github.com/ralph-loop/ralph/internal/proc"
	"github.com/ralph-loop/ralph/internal/workspace"
)

// Program is the fleet as commands need it.
type Program struct{}

var _ fleetcmd.Fleet = Program{}

// controlQueue is that of one worker of any version, for what `ralph fleet` asks it.
func controlQueue(base, name string) string { return base + "/control/" + name }

// Probe is what a worker says of itself.
type Probe struct {
	Name  string
	Words []string // what it did
	Wrong []string // what is missing, with what to do
}

// probe is the activity that tries a step end to end, without an agent: fetch, worktree, push.
func (w *Worker) probe(ctx context.Context, in Look) (Probe, error) {
	out := Probe{Name: w.o.Name}
	wrong := func(err error) { out.Wrong = append(out.Wrong, err.Error()) }
	for _, a := range w.o.Agents {
		out.Words = append(out.Words, "agent "+a)
	}
	if err := workspace.DiskSpace(w.o.Home); err != nil {
		wrong(err)
	}
	if in.Repo == "" {
		return out, nil
	}
	if !slices.Contains(w.o.Repos, in.Repo) {
		wrong(fmt.Errorf("it does not work for %s: start it with --repo %s", in.Repo, in.Repo))
		return out, nil
	}
	dir := filepath.Join(w.o.Home, "repos", checkout.Folder(in.Repo, "probe"))
	c := &clone{w: w, dir: dir, url: in.Repo}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := c.make(ctx); err != nil {
		wrong(err)
		return out, nil
	}
	began := time.Now()
	if err := tryPush(ctx, c.repo, in.Repo, w.o.Name); err != nil {
		wrong(err)
		return out, nil
	}
	out.Words = append(out.Words, fmt.Sprintf("pushed and deleted a ref at %s in %s", in.Repo, time.Since(began).Round(time.Millisecond)))
	return out, nil
}

// tryPush pushes a commit of nothing, and takes its ref away again.
func tryPush(ctx context.Context, r *git.Repo, url, name string) error {
	nothing, err := carry.Empty(ctx, r)
	if err != nil {
		return err
	}
	commit, err := carry.Pack(ctx, r, nothing, []byte("probe"))
	if err != nil {
		return err
	}
	refs, ref := push.Refs{Repo: r, URL: url}, push.Space+"probe/"+name
	if err := refs.Send(ctx, commit+":"+ref); err != nil {
		return err
	}
	return refs.Send(ctx, ":"+ref)
}

// pollers are the workers that the server has heard of in the last minutes, each as it stood last. heard is when it heard
// of whoever has an identity.
func pollers(ctx context.Context, c client.Client, base, identity string) (list []roster.Seen, heard time.Time, err error) {
	there, err := c.DescribeTaskQueue(ctx, seenQueue(base), enums.TASK_QUEUE_TYPE_ACTIVITY)
	if err != nil {
		return nil, heard, fmt.Errorf("ask the server for its workers: %w", err)
	}
	for _, p := range there.GetPollers() {
		at := p.GetLastAccessTime().AsTime()
		if p.GetIdentity() == identity {
			heard = at
		}
		if said, ok := roster.Of(p.GetIdentity()); ok {
			list = append(list, roster.Seen{Said: said, At: at})
		}
	}
	return roster.Newest(list), heard, nil
}

// there are the workers with the time of the server, by which who is heard of no more is lost. No answer of the server
// says its time: it is when it heard of who asks, where it tells that at once, and else that of this machine.
func (s Server) there(ctx context.Context, c client.Client) (list []roster.Seen, now time.Time, err error) {
	me := "look " + rand.Text()
	asking, stop := context.WithTimeout(ctx, farewell)
	var asked sync.WaitGroup
	asked.Go(func() { _ = knock(asking, c, s, me) })
	defer asked.Wait()
	defer stop()
	for {
		if list, now, err = pollers(ctx, c, s.queue(), me); err != nil || !now.IsZero() {
			return list, now, err
		}
		select {
		case <-asking.Done():
			return list, time.Now(), nil
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// underWay are the steps that are carried out or wait.
func underWay(ctx context.Context, c client.Client, s Server, k seal.Sealer) ([]fleetcmd.Step, error) {
	list, err := running(ctx, c, s, stepWorkflow)
	if err != nil {
		return nil, fmt.Errorf("ask the server for the steps under way: %w", err)
	}
	var out []fleetcmd.Step
	for _, e := range list {
		id := e.GetExecution().GetWorkflowId()
		journal, task, ok := ident.Step(s.queue(), id)
		if !ok {
			continue
		}
		step := fleetcmd.Step{Journal: journal, Task: string(task), Since: e.GetStartTime().AsTime(), Needs: needsIn(e.GetMemo(), k)}
		if d, err := c.DescribeWorkflowExecution(ctx, id, ""); err == nil && len(d.GetPendingActivities()) > 0 {
			p := d.GetPendingActivities()[0]
			step.Worker = lastWorker(p)
			step.Attempt = int(p.GetAttempt())
			step.Waits = p.GetState() == enums.PENDING_ACTIVITY_STATE_SCHEDULED
			step.Trouble = p.GetLastFailure().GetMessage()
		}
		out = append(out, step)
	}
	slices.SortFunc(out, func(a, b fleetcmd.Step) int { return a.Since.Compare(b.Since) })
	return out, nil
}

// lastWorker is who carries an activity out, or did so last; "" for nobody yet.
func lastWorker(p *workflow.PendingActivityInfo) string {
	who, _ := roster.Of(p.GetLastWorkerIdentity())
	return who.Name
}

// running are the open workflows of a type: the server lists them a page at a time.
func running(ctx context.Context, c client.Client, s Server, kind string) (all []*workflow.WorkflowExecutionInfo, err error) {
	ask := &workflowservice.ListWorkflowExecutionsRequest{Namespace: s.namespace(), Query: fmt.Sprintf("WorkflowType = '%s' AND ExecutionStatus = 'Running'", kind)}
	for {
		list, err := c.ListWorkflow(ctx, ask)
		if err != nil {
			return nil, err
		}
		all = append(all, list.GetExecutions()...)
		if ask.NextPageToken = list.GetNextPageToken(); len(ask.NextPageToken) == 0 {
			return all, nil
		}
	}
}

// coordinators are who has a lease, by what it is of. who asks for one of them.
func coordinators(ctx context.Context, c client.Client, s Server, who func(ctx context.Context, id string) (lease.Tenure, error)) ([]fleetcmd.Coordinator, error) {
	list, err := running(ctx, c, s, leaseWorkflow)
	if err != nil {
		return nil, fmt.Errorf("ask the server for the coordinators: %w", err)
	}
	var out []fleetcmd.Coordinator
	for _, e := range list {
		id := e.GetExecution().GetWorkflowId()
		if !strings.HasPrefix(id, s.queue()+"/lease/") {
			continue
		}
		t, err := who(ctx, id)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil: // all else can be shown
			out = append(out, fleetcmd.Coordinator{Since: e.GetStartTime().AsTime(), Wrong: mute(err)})
		case t.By != "":
			out = append(out, fleetcmd.Coordinator{Of: t.Of, Who: t.Who, Lease: t.Number, Since: t.Since, Heard: t.Heard, Lost: time.Since(t.Heard) > t.Lasts})
		}
	}
	slices.SortFunc(out, func(a, b fleetcmd.Coordinator) int { return strings.Compare(a.Of, b.Of) })
	return out, nil
}

// mute says why nobody answers for a lease, and what can be done.
func mute(err error) string {
	var failed *serviceerror.QueryFailed
	if errors.As(err, &failed) {
		return "it does not say who it is: it is a ralph older than this one, which knows no such question; its steps go on, install the same version there to see it"
	}
	return "it does not say who it is: " + err.Error()
}

// holder asks who has a lease. The answer is worked out here too: there may be no coordinator any more.
func holder(ctx context.Context, c client.Client, id string) (t lease.Tenure, err error) {
	ctx, cancel := context.WithTimeout(ctx, goodbye)
	defer cancel()
	w := worker.New(c, id, worker.Options{LocalActivityWorkerOnly: true})
	register(w)
	if err := w.Start(); err != nil {
		return t, err
	}
	defer w.Stop()
	said, err := c.QueryWorkflow(ctx, id, "", whoQuery)
	if err != nil {
		return t, err
	}
	return t, said.Get(&t)
}

// Look implements fleetcmd.Fleet.
func (p Program) Look(ctx context.Context, env workspace.Env, at fleetcmd.At) (fleetcmd.View, error) {
	s := Server{At: at, Environ: env.Environ}
	c, k, err := s.dial("ralph fleet")
	if err != nil {
		return fleetcmd.View{}, err
	}
	defer c.Close()
	v := fleetcmd.View{Address: s.address(), Namespace: s.namespace()}
	list, now, err := s.there(ctx, c)
	if err != nil {
		return v, err
	}
	all, ready := reader(k, env.Version).Views(list, now, heard)
	v.Workers = append(v.Workers, all...)
	if v.Coordinators, err = coordinators(ctx, c, s, func(ctx context.Context, id string) (lease.Tenure, error) { return holder(ctx, c, id) }); err != nil {
		return v, err
	}
	if v.Steps, err = underWay(ctx, c, s, k); err != nil {
		return v, err
	}
	for i, x := range v.Steps {
		if x.Waits {
			v.Steps[i].Missing = x.Needs.Missing(ready)
		}
	}
	return v, nil
}

// reader is who looks from here, with a key.
func reader(k seal.Sealer, version string) roster.Reader {
	return roster.Reader{Key: k.Fingerprint(), Revision: revision(), Version: version}
}

// Ask implements fleetcmd.Fleet: it drains or tries one worker.
func (p Program) Ask(ctx context.Context, env workspace.Env, at fleetcmd.At, what fleetcmd.Ask) (fleetcmd.Answer, error) {
	s := Server{At: at, Environ: env.Environ}
	c, _, err := s.dial("ralph fleet")
	if err != nil {
		return fleetcmd.Answer{}, err
	}
	defer c.Close()
	queue := s.queue() + "/ask/" + rand.Text()
	w := worker.New(c, queue, worker.Options{LocalActivityWorkerOnly: true}) // carries the workflow alone
	register(w)
	if err := w.Start(); err != nil {
		return fleetcmd.Answer{}, fmt.Errorf("ask worker %s: %w", what.Worker, err)
	}
	defer w.Stop()
	in := Look{Activity: probeActivity, Queue: controlQueue(s.queue(), what.Worker), Repo: what.Repo, Patient: 10 * time.Second}
	if what.Drain {
		in.Activity = drainActivity
	}
	run, err := c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: queue, TaskQueue: queue}, lookWorkflow, in)
	if err != nil {
		return fleetcmd.Answer{}, fmt.Errorf("ask worker %s: %w", what.Worker, err)
	}
	var out Probe
	err = run.Get(ctx, &out)
	var late *temporal.TimeoutError
	if errors.As(err, &late) {
		return fleetcmd.Answer{}, &ralph.Refusal{Why: "worker " + what.Worker + " does not answer", Hint: "`ralph fleet workers` shows when it was seen last", Kind: ralph.ErrNotFound}
	}
	return fleetcmd.Answer{Words: out.Words, Wrong: out.Wrong}, err
}

// Remote implements fleetcmd.Fleet.
func (p Program) Remote(ctx context.Context, env workspace.Env, root, name string) (string, error) {
	r, err := git.Open(ctx, proc.NewRunner(filepath.Join(root, "ralph/.state/procs")), root, env.Environ)
	if err != nil {
		return "", err
	}
	return remote(ctx, r, name)
}
