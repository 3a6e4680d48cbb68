package fleet

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/fleet/checkout"
	"github.com/ralph-loop/ralph/internal/fleet/clock"
	"github.com/ralph-loop/ralph/internal/fleet/metrics"
	"github.com/ralph-loop/ralph/internal/fleet/offer"
	"github.com/ralph-loop/ralph/internal/fleet/roster"
	"github.com/ralph-loop/ralph/internal/fleet/seal"
	"github.com/ralph-loop/ralph/internal/fleet/tail"
	"github.com/ralph-loop/ralph/internal/fleetcmd"
	"github.com/ralph-loop/ralph/internal/git/push"
	"github.com/ralph-loop/ralph/internal/proc"
	"github.com/ralph-loop/ralph/internal/text"
	"github.com/ralph-loop/ralph/internal/workspace"
)

// Worker carries steps out for coordinators.
type Worker struct {
	env    workspace.Env
	o      fleetcmd.WorkerOptions
	server Server
	seal   seal.Sealer
	client client.Client
	slots  *slots
	drain  context.CancelFunc // takes no more steps
	asked  context.Context    // over once it is to end
	hands  chan struct{}      // one for each slot
	me     roster.Said

	work context.Context // of steps: over once they are to end at once

	reading sync.Mutex
	queues  map[string]worker.Worker // that steps are taken from

	mu     sync.Mutex
	clones map[string]*clone // by folder
	leases map[string]newest // by lease

	outputs tail.Sources
}

// newest is the newest holder of a lease that a worker has seen.
type newest struct {
	number  int64
	journal string
}

// Worker implements fleetcmd.Fleet: it works until ctx ends, or it is drained.
func (p Program) Worker(ctx context.Context, env workspace.Env, o fleetcmd.WorkerOptions) error {
	w := &Worker{env: env, o: o, clones: map[string]*clone{}, queues: map[string]worker.Worker{}, leases: map[string]newest{}, slots: newSlots(o.Slots), hands: make(chan struct{}, o.Slots), server: Server{At: o.At, Environ: env.Environ}}
	for _, repo := range o.Repos {
		if err := checkURL(repo); err != nil {
			return err
		}
	}
	if len(o.Agents) == 0 {
		w.o.Agents = offer.Here(env)
	}
	if len(w.o.Agents) == 0 {
		return &ralph.Refusal{Why: "there is no program of an agent here (" + strings.Join(offer.Names(), ", ") + ")", Hint: "install one, or name your own as the settings of the repository call it: --agent NAME", Kind: ralph.ErrUsage}
	}
	if err := os.MkdirAll(filepath.Join(o.Home, "repos"), 0o700); err != nil {
		return fmt.Errorf("make the worker's folder: %w", err)
	}
	lock := flock.New(filepath.Join(o.Home, "lock"))
	if got, err := lock.TryLock(); err != nil || !got {
		return &ralph.Refusal{Why: "another worker has the folder " + o.Home, Hint: "end it, or give this one a folder of its own: --home DIR", Kind: ralph.ErrUsage}
	}
	defer func() { _ = lock.Unlock() }()
	if err := w.sweep(ctx); err != nil {
		return err
	}
	proc.PassNoneOn()
	if err := proc.AdoptOrphans(); err != nil {
		return fmt.Errorf("become the parent of what agents leave behind: %w", err)
	}
	me := roster.Said{Name: o.Name, Agents: w.o.Agents, Slots: o.Slots, Version: env.Version, Revision: revision(), Pid: os.Getpid(), Labels: o.Labels, Run: rand.Text()[:10], Every: int(appears / time.Second), Versions: offer.Versions(ctx, env, o.Home, w.o.Agents)}
	k, err := seal.New(w.server.env(seal.KeyVar))
	if err != nil {
		return err
	}
	me.Key = k.Fingerprint()
	w.me = me
	if w.server.meters, err = metrics.New(ctx, env.Environ, metrics.Part{Service: "ralph-worker", ID: o.Name, Version: env.Version}, w.say); err != nil {
		return err
	}
	defer w.server.meters.Close()
	if err := w.server.meters.Slots(o.Slots, func() int { return len(w.hands) }); err != nil {
		return err
	}
	identity, err := me.Identity()
	if err != nil {
		return err
	}
	if w.client, w.seal, err = w.server.dial(identity); err != nil {
		return err
	}
	defer w.client.Close()
	return w.run(ctx)
}

// sweep ends what a worker that was killed left running.
func (w *Worker) sweep(ctx context.Context) error {
	push.Sweep(os.TempDir(), time.Now())
	list, err := os.ReadDir(filepath.Join(w.o.Home, "repos"))
	if err != nil {
		return fmt.Errorf("read the worker's folder: %w", err)
	}
	for _, e := range list {
		dir := filepath.Join(w.o.Home, "repos", e.Name(), "ralph/.state/procs")
		swept, err := proc.NewRunner(dir).Sweep(ctx)
		if err != nil {
			return fmt.Errorf("end what the last worker left running: %w", err)
		}
		for _, s := range swept {
			w.say("ended a process that the last worker left running: %s (pid %d)", s.Args, s.Pid)
		}
	}
	return nil
}

func (w *Worker) say(format string, args ...any) {
	_, _ = fmt.Fprintf(w.env.Stdout, "%s "+format+"\n", append([]any{time.Now().Format(time.TimeOnly)}, args...)...)
}

// run reads the queues until the worker is told to end.
func (w *Worker) run(ctx context.Context) error {
	asked, drain := context.WithCancel(ctx)
	defer drain()
	w.asked, w.drain = asked, drain
	work, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	w.work = work
	base := w.server.queue()
	if err := w.read(append(w.agentQueues(), anyQueue(base), hostQueue(base, w.o.Name)), nil); err != nil {
		w.stop()
		return err
	}
	control := worker.New(w.client, controlQueue(base, w.o.Name), worker.Options{DisableWorkflowWorker: true, MaxConcurrentActivityTaskPollers: 1})
	control.RegisterActivityWithOptions(w.probe, activity.RegisterOptions{Name: probeActivity})
	control.RegisterActivityWithOptions(w.drained, activity.RegisterOptions{Name: drainActivity})
	control.RegisterActivityWithOptions(w.listen, activity.RegisterOptions{Name: listenActivity})
	control.RegisterActivityWithOptions(w.tail, activity.RegisterOptions{Name: tailActivity})
	if err := control.Start(); err != nil {
		w.stop()
		return fmt.Errorf("read the queues of the fleet at %s: %w", w.server.address(), err)
	}
	defer w.appear(ctx)()
	w.say("worker %s: %s, agents %s, labels %s, for %s at %s (namespace %s)", w.o.Name, text.Count(w.o.Slots, "slot"), strings.Join(w.o.Agents, ", "), strings.Join(w.o.Labels, ", "), strings.Join(w.o.Repos, ", "), w.server.address(), w.server.namespace())
	<-asked.Done()
	w.say("takes no more steps; %s under way", text.Count(len(w.hands), "step"))
	limit := time.AfterFunc(w.o.Drain, cut)
	defer limit.Stop()
	hard := make(chan struct{})
	go func() {
		select {
		case <-w.o.Hard:
			w.say("ends at once; what is under way goes to another worker")
			cut()
		case <-hard:
		}
	}()
	w.stop(control)
	close(hard)
	w.say("ended")
	return nil
}

func (w *Worker) options(work context.Context) worker.Options {
	fixed := func(n int) worker.SlotSupplier {
		s, _ := worker.NewFixedSizeSlotSupplier(n) // it fails for less than one
		return s
	}
	tuner, _ := worker.NewCompositeTuner(worker.CompositeTunerOptions{
		ActivitySlotSupplier: w.slots, WorkflowSlotSupplier: fixed(2), LocalActivitySlotSupplier: fixed(1), NexusSlotSupplier: fixed(1), SessionActivitySlotSupplier: fixed(1),
	})
	return worker.Options{
		DisableWorkflowWorker: true, Tuner: tuner, MaxConcurrentActivityTaskPollers: 1, BackgroundActivityContext: work,
		WorkerStopTimeout: w.o.Drain + 10*time.Second, MaxHeartbeatThrottleInterval: time.Second, DefaultHeartbeatThrottleInterval: time.Second,
	}
}

// carry is the activity: it carries out one step.
func (w *Worker) carry(ctx context.Context, in In) (out Out, err error) {
	if !slices.Contains(w.o.Repos, in.Repo) {
		return Out{}, temporal.NewApplicationError(fmt.Sprintf("worker %s does not work for %s: it was started with --repo %s", w.o.Name, in.Repo, strings.Join(w.o.Repos, ", ")), "repo")
	}
	if err := errors.Join(w.mind(in), w.has(in.Labels)); err != nil {
		return Out{}, err
	}
	began := time.Now()
	attempt := activity.GetInfo(ctx)
	in.Ahead = clock.Shift(in.Ahead, attempt.StartedTime, began) // from now on of the clock here
	stop := beat(ctx, in.Beat)
	defer stop()
	hands := w.hands
	if w.asked.Err() != nil {
		hands = nil // it was asked for work before that, and got some after it
	}
	select {
	case hands <- struct{}{}:
		defer func() { <-w.hands }()
	case <-w.asked.Done():
		return Out{}, temporal.NewApplicationError("worker "+w.o.Name+" is about to end, and had no slot for it any more", "drained")
	case <-ctx.Done():
		return Out{}, context.Cause(ctx)
	}
	activity.RecordHeartbeat(ctx) // it is answered: a machine that slept wakes with steps that others have by now
	if ctx.Err() != nil {
		return Out{}, context.Cause(ctx)
	}
	w.say("%s of %s begins (attempt %d)", in.Step, in.Task, attempt.Attempt)
	if in.Ahead != 0 {
		w.say("the clock of its coordinator is %s before the one here: its times are counted by that", in.Ahead.Round(time.Second))
	}
	ended := w.server.meters.Step(in.Step)
	defer func() {
		ended(err)
		switch {
		case ctx.Err() != nil: // also where the server cannot be reached: it counts this worker for lost by then
			w.say("%s of %s is given up: %v", in.Step, in.Task, context.Cause(ctx))
			return
		case err != nil:
			w.say("%s of %s: %v", in.Step, in.Task, err)
			return
		}
		w.say("%s of %s is done (%s)", in.Step, in.Task, time.Since(began).Round(time.Millisecond))
	}()
	c, err := w.open(ctx, in)
	if err != nil {
		return Out{}, err
	}
	said := fmt.Sprintf("%s/%s/%s", attempt.WorkflowExecution.ID, attempt.ActivityID, shortAttempt(attempt))
	return c.carry(ctx, in, said, shortAttempt(attempt))
}

// mind refuses a step of a coordinator after which another one has got the lease. A step that it began
// in an earlier lease of its own is none of those.
func (w *Worker) mind(in In) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if known := w.leases[in.Held]; in.Lease >= known.number {
		w.leases[in.Held] = newest{in.Lease, in.Journal}
	} else if known.journal != in.Journal {
		return temporal.NewNonRetryableApplicationError(fmt.Sprintf("its coordinator has lease %d, and another one has lease %d by now", in.Lease, known.number), "lease", nil)
	}
	return nil
}

// shortAttempt names one attempt at a step as no other is.
func shortAttempt(i activity.Info) string {
	run := i.WorkflowExecution.RunID // it begins with the time
	return fmt.Sprintf("%s-%s-%d", run[max(0, len(run)-8):], i.ActivityID, i.Attempt)
}

// open is the worker's clone of a repository, for one coordinator.
func (w *Worker) open(ctx context.Context, in In) (*clone, error) {
	dir := filepath.Join(w.o.Home, "repos", checkout.Folder(in.Repo, in.Journal))
	w.mu.Lock()
	defer w.mu.Unlock()
	if c := w.clones[dir]; c != nil {
		return c, nil
	}
	c := &clone{w: w, dir: dir, url: in.Repo}
	if err := c.make(ctx); err != nil {
		return nil, err
	}
	w.clones[dir] = c
	return c, nil
}

// drained is the activity by which a worker is told to take no more steps.
func (w *Worker) drained(context.Context, Look) (Probe, error) {
	w.drain()
	return Probe{Name: w.o.Name, Words: []string{text.Count(len(w.hands), "step") + " under way"}}, nil
}

// slots bound the steps that are taken over all queues. A queue is asked while a slot is free, so a
// few more may be taken than there are; those wait here until a slot is (Worker.hands).
type slots struct {
	mu   sync.Mutex
	most int
	used int
	free chan struct{} // closed and made anew when a slot becomes free
}

func newSlots(n int) *slots { return &slots{most: n, free: make(chan struct{})} }

func (s *slots) now() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used
}

// ReserveSlot implements worker.SlotSupplier.
func (s *slots) ReserveSlot(ctx context.Context, _ worker.SlotReservationInfo) (*worker.SlotPermit, error) {
	for {
		s.mu.Lock()
		full, free := s.used >= s.most, s.free
		s.mu.Unlock()
		if !full {
			return &worker.SlotPermit{UserData: new(bool)}, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-free:
		}
	}
}

// TryReserveSlot implements worker.SlotSupplier.
func (s *slots) TryReserveSlot(worker.SlotReservationInfo) *worker.SlotPermit {
	if s.now() >= s.most {
		return nil
	}
	return &worker.SlotPermit{UserData: new(bool)}
}

// MarkSlotUsed implements worker.SlotSupplier.
func (s *slots) MarkSlotUsed(i worker.SlotMarkUsedInfo) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if used, ok := i.Permit().UserData.(*bool); ok && !*used {
		*used = true
		s.used++
	}
}

// ReleaseSlot implements worker.SlotSupplier.
func (s *slots) ReleaseSlot(i worker.SlotReleaseInfo) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if used, ok := i.Permit().UserData.(*bool); !ok || !*used {
		return // it was asked with, and nothing came
	}
	s.used--
	close(s.free)
	s.free = make(chan struct{})
}

// MaxSlots implements worker.SlotSupplier.
func (s *slots) MaxSlots() int { return s.most }
