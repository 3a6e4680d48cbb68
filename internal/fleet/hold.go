package fleet

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"

	"github.com/ralph-loop/ralph/internal/fleet/clock"
	"github.com/ralph-loop/ralph/internal/fleet/lease"
	"github.com/ralph-loop/ralph/internal/fleetcmd"
	"github.com/ralph-loop/ralph/internal/git/push"
	"github.com/ralph-loop/ralph/internal/session"
)

// Times of a lease, in parts of how long nothing may be heard of who takes part.
const (
	lastsBeats = 2           // how long a lease lasts without a word
	asksOf     = 3           // a word comes so often in that time
	reminds    = time.Minute // how soon whoever waits hears again for whom
	leaves     = time.Minute // how long it may take to take the fence away
)

// hold is the lease of this process: it wants it, has it, or has lost it.
type hold struct {
	in     session.FleetIn
	server Server
	client client.Client
	worker worker.Worker
	beat   time.Duration
	url    string // how all machines reach the repository
	branch string
	id     string // of the lease
	claim  lease.Claim
	fence  *push.Fence
	end    func() // of keeping it

	mu    sync.Mutex
	ahead time.Duration // how far the clock here is before the server's
	until time.Time     // by the server's clock, nobody else has the lease before that

	has  lease.Tenure
	lost error
	tell func(error)
}

var _ session.Claim = (*hold)(nil)

// Claim implements session.Fleet.
func (p Program) Claim(ctx context.Context, in session.FleetIn) (session.Claim, error) {
	h := &hold{in: in, server: Server{At: fleetcmd.At{Address: in.Address}.Settled(in.Parts.Config), Environ: in.Env.Environ}, end: func() {}}
	if err := h.open(ctx); err != nil {
		return nil, err
	}
	if err := h.get(ctx); err != nil {
		h.Leave()
		return nil, err
	}
	return h, nil
}

// open finds out what is claimed, and begins to take part in answering who has it.
func (h *hold) open(ctx context.Context) error {
	c := h.in.Parts.Config
	var err error
	if h.beat, err = beatOf(h.server); err != nil {
		return err
	}
	if h.url, err = remote(ctx, h.in.Parts.Repo, c.Fleet.Remote); err != nil {
		return err
	}
	head, err := h.in.Parts.Repo.Head(ctx)
	if err != nil {
		return err
	}
	h.branch = cmp.Or(c.BaseBranch, head.Branch, "HEAD")
	h.id = leaseOf(h.server.queue(), h.url, h.branch)
	host, err := os.Hostname()
	if err != nil {
		host = "somewhere"
	}
	root := h.in.Parts.Root
	h.claim = lease.Claim{
		By: rand.Text(), Who: fmt.Sprintf("%s (pid %d, %s)", fleetcmd.Who(), os.Getpid(), root), Of: h.url + ", branch " + h.branch, Journal: h.in.Journal.State().Journal,
		Place: host + ":" + root, Locked: h.in.Locked, Lasts: lastsBeats * h.beat,
	}
	h.fence = push.NewFence(h.in.Parts.Repo, h.branch, h.lose)
	if h.client, _, err = h.server.dial("coordinator " + h.claim.Journal); err != nil {
		return err
	}
	h.worker = worker.New(h.client, h.id, worker.Options{LocalActivityWorkerOnly: true, WorkerStopTimeout: goodbye, StickyScheduleToStartTimeout: time.Second})
	register(h.worker)
	if err := h.worker.Start(); err != nil {
		h.client.Close()
		return fmt.Errorf("take part in the fleet at %s: %w", h.server.address(), err)
	}
	return nil
}

// get waits for the lease, and puts the fence where pushes go.
func (h *hold) get(ctx context.Context) error {
	number, _, err := h.fence.Number(ctx, h.url)
	if err != nil {
		return err
	}
	h.claim.Least = number + 1
	if err := h.wait(ctx); err != nil {
		return err
	}
	h.claim.Number, h.claim.Locked = h.has.Number, false
	h.fence.Own(h.has.Number, h.claim.Who)
	keep, stop := context.WithCancel(context.WithoutCancel(ctx))
	var kept sync.WaitGroup
	kept.Go(func() { h.keep(keep) })
	h.end = func() { stop(); kept.Wait() }
	urls, err := h.urls(ctx)
	for _, url := range urls {
		if err == nil {
			err = h.fence.Raise(ctx, url)
		}
	}
	if err != nil {
		return err
	}
	if err := h.renew(ctx); err != nil { // it may have taken long: is the fence that of who has the lease?
		return err
	}
	h.in.Parts.Fence = h.fence
	return nil
}

// urls are the addresses that are pushed to: that of steps, and that of branches where there is one.
func (h *hold) urls(ctx context.Context) ([]string, error) {
	b := push.Branch{Repo: h.in.Parts.Repo, Remote: h.in.Parts.Config.Land.Remote, Name: h.branch}
	if at, err := b.PushAddress(ctx); err == nil && at != h.url {
		return []string{h.url, at}, ctx.Err()
	}
	return []string{h.url}, ctx.Err() // a remote that is added later is none that a branch is pushed to
}

// wait claims the lease until it is there, and says who has it meanwhile.
func (h *hold) wait(ctx context.Context) error {
	said, at := "", time.Time{}
	for {
		t, err := h.ask(ctx, h.claim)
		if err != nil {
			return err
		}
		if t.Has(h.claim) {
			h.has = t
			return nil
		}
		if t.By != said {
			said, at = t.By, time.Now()
			h.in.Note("another coordinator works for %s, branch %s: %s; this one waits until it ends, or nothing was heard of it for %s (Ctrl+C leaves)", h.url, h.branch, t.Words(), t.Lasts)
		} else if time.Since(at) >= reminds {
			at = time.Now()
			h.in.Note("still waiting: %s", t.Words())
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(h.every()):
		}
	}
}

func (h *hold) every() time.Duration { return h.claim.Lasts / asksOf }

// ask asks until there is an answer. A workflow that does not run is started: it is the first claim
// ever, or the server has lost its data.
func (h *hold) ask(ctx context.Context, c lease.Claim) (out lease.Tenure, err error) {
	told := false
	err = tryAgain(ctx, pause, func() (err error) {
		before := time.Now()
		if out, err = h.once(ctx, c); err != nil {
			return err
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		h.ahead = clock.Apart(before, time.Now(), out.At)
		if out.Has(h.claim) {
			h.until = out.Heard.Add(out.Lasts)
		}
		return nil
	}, func(err error) bool {
		if !told && !away(err) {
			told = true
			h.in.Note("the server does not say who the coordinator is: %v; it is asked again", err)
		}
		return true
	})
	if err != nil {
		err = context.Cause(ctx) // nothing else ends it
	}
	return out, err
}

func (h *hold) once(ctx context.Context, c lease.Claim) (out lease.Tenure, err error) {
	ctx, cancel := context.WithTimeout(ctx, max(c.Lasts, 5*time.Second))
	defer cancel()
	_, err = h.client.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID: h.id, TaskQueue: h.id, WorkflowTaskTimeout: 3 * time.Second,
		WorkflowIDConflictPolicy: enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING, WorkflowIDReusePolicy: enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
	}, leaseWorkflow, lease.Tenure{})
	if err != nil {
		return out, err
	}
	answer, err := h.client.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
		UpdateID: rand.Text(), WorkflowID: h.id, UpdateName: claimUpdate, Args: []any{c}, WaitForStage: client.WorkflowUpdateStageCompleted,
	})
	if err != nil {
		return out, err
	}
	return out, answer.Get(ctx, &out)
}

// keep says that this process lives, until ctx ends or another one has the lease. After a sleep of the
// machine, or of the server, it is the same question: does anybody else have it?
func (h *hold) keep(ctx context.Context) {
	tick := time.NewTicker(h.every())
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := h.renew(ctx); err != nil {
			return
		}
	}
}

// renew fails when the lease is lost, or ctx is over.
func (h *hold) renew(ctx context.Context) error {
	t, err := h.ask(ctx, h.claim)
	if err != nil {
		return err
	}
	if !t.Has(h.claim) {
		h.lose(errors.New(t.Words()))
	}
	return h.ended()
}

// lose ends the work: another coordinator has come.
func (h *hold) lose(why error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.lost != nil {
		return
	}
	h.lost = fmt.Errorf("this coordinator was taken for dead, and lost lease %d of %s, branch %s: %w. It has pushed nothing since another one began, and ends; what it has here is kept", h.claim.Number, h.url, h.branch, why)
	if h.tell != nil {
		go h.tell(h.lost)
	}
}

// tellOf says who is told when the lease is lost; it may be so already.
func (h *hold) tellOf(tell func(error)) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tell = tell
	return h.lost
}

// ended is why the lease is lost, nil where it is not.
func (h *hold) ended() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.lost
}

// clock is how far the clock here is before the server's, as the newest answer told.
func (h *hold) clock() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.ahead
}

// certain is until when nobody else can have the lease, by the server's clock, before which the clock here is by so much.
func (h *hold) certain() (until time.Time, ahead time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.until, h.ahead
}

// number is that of the lease: a session has one.
func (h *hold) number() int64 { return h.claim.Number }

// SameCheckout implements session.Claim.
func (h *hold) SameCheckout() bool { return h.has.Before.Is(h.claim) }

// Leave implements session.Claim.
func (h *hold) Leave() {
	h.end()
	if h.ended() == nil { // it may have got the lease, and not heard it
		ctx, cancel := context.WithTimeout(context.Background(), leaves)
		defer cancel()
		if err := h.fence.Lower(ctx); err != nil {
			h.in.Note("%v; the next coordinator does it", err)
		}
		c := h.claim
		c.Leave = true
		ctx, cancel = context.WithTimeout(context.Background(), goodbye)
		defer cancel()
		if _, err := h.once(ctx, c); err != nil {
			h.in.Note("the server has not heard that this coordinator has ended: the next one waits for %s", c.Lasts)
		}
	}
	h.worker.Stop()
	h.client.Close()
}
