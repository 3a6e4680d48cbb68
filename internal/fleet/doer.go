package fleet

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/fleet/base"
	"github.com/ralph-loop/ralph/internal/fleet/ident"
	"github.com/ralph-loop/ralph/internal/fleet/metrics"
	"github.com/ralph-loop/ralph/internal/fleet/note"
	"github.com/ralph-loop/ralph/internal/fleet/place"
	"github.com/ralph-loop/ralph/internal/fleet/seal"
	"github.com/ralph-loop/ralph/internal/fleet/tail"
	"github.com/ralph-loop/ralph/internal/git"
	"github.com/ralph-loop/ralph/internal/git/carry"
	"github.com/ralph-loop/ralph/internal/git/push"
	"github.com/ralph-loop/ralph/internal/hook"
	"github.com/ralph-loop/ralph/internal/labels"
	"github.com/ralph-loop/ralph/internal/session"
	stepping "github.com/ralph-loop/ralph/internal/step"
	"github.com/ralph-loop/ralph/internal/workers/match"
)

// Times of the coordinator.
const (
	// heard is how long nothing may be heard of a worker before its step goes to another one.
	heard = 15 * time.Second
	// patient is how long the worker that has a tree may take to begin its next step.
	patient = 10 * time.Second
	// longest is how long one attempt at a step may take; the step's own limits are shorter.
	longest = 24 * time.Hour
	// goodbye is how long the server may take to hear that steps are given up.
	goodbye = 5 * time.Second
)

// BeatVar makes lost workers known sooner, for tests and for networks that never stutter: a
// duration like 3s.
const BeatVar = "RALPH_FLEET_HEARD"

// Doer carries out steps where they belong: what happens in a task's worktree on a worker, all
// else here.
type Doer struct {
	in      session.FleetIn
	hold    *hold // the lease
	client  client.Client
	seal    seal.Sealer
	server  Server
	url     string
	journal string
	beat    time.Duration
	asked   atomic.Pointer[workflow.Execution] // the newest action of a person elsewhere
	links   carry.Links
	bases   *base.Bases // that parcels are made from
	places  *place.Places
	tails   *tail.Tails // turns under way that people look at

	gone atomic.Pointer[map[string]bool] // workers that are lost, by name
}

var _ hook.Does = (*Doer)(nil)

// beatOf is how long nothing may be heard of who takes part.
func beatOf(s Server) (time.Duration, error) {
	words := s.env(BeatVar)
	if words == "" {
		return heard, nil
	}
	beat, err := time.ParseDuration(words)
	if err != nil || beat < time.Second {
		return 0, &ralph.Refusal{Why: BeatVar + "=" + words + " is no time of a second or more", Hint: "say it like 15s", Kind: ralph.ErrUsage}
	}
	return beat, nil
}

// Begin implements session.Claim.
func (h *hold) Begin(ctx context.Context, in session.FleetIn) (hook.Does, func(), error) {
	if err := h.tellOf(in.Lost); err != nil {
		return nil, nil, err
	}
	d := &Doer{in: in, hold: h, server: h.server, beat: h.beat, url: h.url, journal: in.Journal.State().Journal}
	var err error
	if d.server.meters, err = metrics.New(ctx, in.Env.Environ, metrics.Part{Service: "ralph-coordinator", ID: d.journal, Version: in.Env.Version}, in.Note); err != nil {
		return nil, nil, err
	}
	if d.client, d.seal, err = d.server.dial("coordinator " + d.journal); err != nil {
		d.server.meters.Close()
		return nil, nil, err
	}
	w := worker.New(d.client, coordinatorQueue(d.server.queue(), d.journal), worker.Options{WorkerStopTimeout: goodbye, MaxConcurrentActivityExecutionSize: 1000})
	register(w)
	w.RegisterActivityWithOptions(talkServer{in.Journal}.talk, activity.RegisterOptions{Name: talkActivity})
	people := worker.New(d.client, requestQueue(d.server.queue(), d.url), worker.Options{WorkerStopTimeout: goodbye})
	register(people)
	people.RegisterActivityWithOptions(answerer{in.Env, in.Parts.Root, in.Journal, &d.asked}.act, activity.RegisterOptions{Name: actActivity})
	for _, w := range []worker.Worker{w, people} {
		if err := w.Start(); err != nil {
			d.client.Close()
			d.server.meters.Close()
			return nil, nil, fmt.Errorf("take part in the fleet at %s: %w", d.server.address(), err)
		}
	}
	d.bases = base.New(ident.Refs(d.journal)+"base", func(ctx context.Context, specs ...string) error { return d.refs().Send(ctx, specs...) },
		func(ctx context.Context, commit string) (map[string]bool, error) {
			return carry.Before(ctx, in.Parts.Repo, commit)
		})
	in.Note("steps of tasks go to the workers of %s, namespace %s, by way of %s", d.server.address(), d.server.namespace(), d.url)
	looking, stop := context.WithCancel(ctx)
	d.places = place.New(d, in.Note)
	var looks sync.WaitGroup
	looks.Go(func() { d.places.Run(looking) })
	untail, blind := d.tail(), d.onlook(ctx)
	return d, func() { blind(); untail(); stop(); looks.Wait(); d.close(w, people) }, nil
}

// remote is the address by which all machines reach the repository.
func remote(ctx context.Context, r *git.Repo, name string) (string, error) {
	at, err := push.AddressOf(ctx, r, cmp.Or(name, "origin"))
	if err != nil {
		return "", &ralph.Refusal{Why: "work travels by way of a git remote that all machines reach: " + err.Error(), Hint: "add one, or name it: fleet.remote in ralph/config.yaml", Kind: ralph.ErrUsage}
	}
	return at, checkURL(at)
}

// checkURL refuses an address that says a password: it would stand in Temporal.
func checkURL(at string) error {
	if u, err := url.Parse(at); err == nil && u.User != nil {
		if _, secret := u.User.Password(); secret {
			return &ralph.Refusal{Why: "the address of the git remote holds a password", Hint: "take it out (`git remote set-url`) and let git's credential helper know it, on every machine", Kind: ralph.ErrUsage}
		}
	}
	return nil
}

// travels reports whether a step is carried out on a worker: what happens in the worktree of a
// task. A worktree in the middle of a merge, or with repositories inside it, stays here.
func (d *Doer) travels(ctx context.Context, t *ralph.Task, step ralph.Step) (bool, error) {
	switch step.(type) {
	case ralph.Turn, ralph.Check, ralph.Compact:
	default:
		return false, nil
	}
	if t == nil || !t.TakesSlot() || t.Kind == ralph.KindResolve || t.Run.Worktree.Dir == "" || t.Run.Worktree.Branch == "" {
		return false, nil
	}
	links, err := d.links.In(ctx, d.in.Parts.Repo, cmp.Or(t.Run.Worktree.Head, t.Run.Worktree.Base))
	return !links, err
}

// Do implements engine.Doer.
func (d *Doer) Do(ctx context.Context, s *ralph.State, id ralph.TaskID, step ralph.Step) ([]ralph.Fact, error) {
	t := s.Task(id)
	if ok, err := d.travels(ctx, t, step); err != nil || !ok || s.Job == nil {
		if err != nil {
			return nil, err
		}
		facts, err := d.in.Here.Do(ctx, s, id, step)
		d.server.meters.Turns(facts)
		return facts, err
	}
	facts, err := d.away(ctx, s, t, step)
	d.server.meters.Turns(facts)
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, fmt.Errorf("step %s of %s on the fleet: %w", step.StepName(), id, err)
	}
	return facts, nil
}

// away has a worker carry out a step: a new one, or the one that was under way when the
// coordinator before this one ended.
func (d *Doer) away(ctx context.Context, s *ralph.State, t *ralph.Task, step ralph.Step) (facts []ralph.Fact, err error) {
	ended := d.server.meters.Step(step.StepName())
	defer func() { ended(err) }()
	k, err := ident.Key(s, t, step)
	if err != nil {
		return nil, err
	}
	id := ident.Workflow(d.server.queue(), d.journal, t.ID, k)
	m := place.Remembered(d.in.Parts.Root, t.ID)
	for {
		want := d.needsOf(s, t, step)
		var needs match.Needs
		var run client.WorkflowRun
		begun, free := false, func() {}
		err = again(ctx, func() (err error) {
			if m.Step == k { // else nobody has begun it here
				if run, needs, err = d.attach(ctx, id, want); err != nil || run != nil {
					return err
				}
			}
			needs = want
			run, free, err = d.begin(ctx, s, t, step, k, id, &m, needs)
			if begun = err == nil; errors.As(err, new(*serviceerror.WorkflowExecutionAlreadyStarted)) { // by a session whose memory is gone
				if run, needs, err = d.attach(ctx, id, want); err == nil && run == nil {
					err = serviceerror.NewUnavailable("the step ended while it was looked at") // it is begun anew
				}
			}
			return err
		})
		if err != nil {
			return nil, err
		}
		over := d.places.Add(id, place.Step{Task: t.ID, Needs: needs, Now: func() match.Needs { return d.needsOf(s, t, step) }})
		var out Out
		stop := d.follow(t, step, k, id, m)
		err := outcome(ctx, run, &out)
		stop()
		free()
		anew := over()
		if isLate(err) && ctx.Err() == nil {
			anew = true
			if err := d.hold.renew(ctx); err != nil {
				return nil, err
			}
		}
		if anew && err != nil && ctx.Err() == nil {
			continue
		}
		if err != nil {
			if ctx.Err() != nil && d.hold.ended() == nil { // who has lost the lease takes the outcome when it has it again
				_ = d.giveUp(id) // else it ends by itself, and its outcome counts for nothing
			}
			return nil, err
		}
		if m.Labels = needs.Labels; out.Commit != "" {
			m.Refs = append(m.Refs, out.Ref)
		}
		return d.take(ctx, t, k, out, m, begun)
	}
}

// attach finds a step that is under way, or whose outcome nobody has taken, with what it asks of its
// worker. One that asks for other labels than it would now, and that nobody has begun, is given up.
func (d *Doer) attach(ctx context.Context, id string, want match.Needs) (run client.WorkflowRun, needs match.Needs, err error) {
	there, err := d.client.DescribeWorkflowExecution(ctx, id, "")
	var none *serviceerror.NotFound
	if errors.As(err, &none) {
		return nil, needs, nil
	}
	if err != nil {
		return nil, needs, err
	}
	info := there.GetWorkflowExecutionInfo()
	switch status := info.GetStatus(); {
	case status == enums.WORKFLOW_EXECUTION_STATUS_RUNNING && stale(there, d.seal, want):
		return nil, needs, d.giveUp(id)
	case status == enums.WORKFLOW_EXECUTION_STATUS_RUNNING, status == enums.WORKFLOW_EXECUTION_STATUS_COMPLETED:
		return d.client.GetWorkflow(ctx, id, info.GetExecution().GetRunId()), needsIn(info.GetMemo(), d.seal), nil
	}
	return nil, needs, nil // it was given up: a new run takes its place
}

// begin sends the worktree and all that the step depends on, and starts its workflow. over ends the need of its base.
func (d *Doer) begin(ctx context.Context, s *ralph.State, t *ralph.Task, step ralph.Step, k, id string, m *place.Memory, needs match.Needs) (run client.WorkflowRun, over func(), err error) {
	in := In{
		Repo: d.url, Ref: ident.In(d.journal, k), Journal: d.journal, Task: string(t.ID), Step: step.StepName(), Base: d.server.queue(),
		Queue: anyQueue(d.server.queue()), Labels: needs.Labels, Ahead: d.hold.clock(), Lease: d.hold.number(), Held: d.hold.id, Limit: longest, Beat: d.beat, Patient: patient,
	}
	if needs.Agent != "" {
		in.Queue = agentQueue(d.server.queue(), needs.Agent)
	}
	in.Queue = place.Queue(in.Queue, needs.Labels)
	if m.Worker != "" && !d.lost(m.Worker) && len(labels.Missing(needs.Labels, m.Labels)) == 0 {
		in.Prefer = hostQueue(d.server.queue(), m.Worker)
	}
	n, err := d.note(ctx, s, t, step)
	if err != nil {
		return nil, nil, err
	}
	if over, err = d.pack(ctx, t, k, n, &in, m); err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			over()
		}
	}()
	m.Step = k
	if turn, ok := step.(ralph.Turn); ok {
		m.Turn = note.Turn(turn.Iteration, n.Turns)
	}
	if err := place.Remember(d.in.Parts.Root, t.ID, *m); err != nil {
		return nil, over, err
	}
	memo, err := memoOf(needs, d.seal)
	if err != nil {
		return nil, over, err
	}
	run, err = d.client.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID: id, TaskQueue: coordinatorQueue(d.server.queue(), d.journal), EnableEagerStart: true, WorkflowExecutionErrorWhenAlreadyStarted: true,
		WorkflowIDReusePolicy: enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE_FAILED_ONLY, Memo: memo,
	}, stepWorkflow, in)
	return run, over, err
}

// pack puts the worktree and a note into a step: as a parcel, or by way of the remote.
func (d *Doer) pack(ctx context.Context, t *ralph.Task, k string, n note.Note, in *In, m *place.Memory) (over func(), err error) {
	repo, err := d.in.Parts.Repo.Tree(filepath.Join(d.in.Parts.Root, filepath.FromSlash(t.Run.Worktree.Dir)))
	if err != nil {
		return nil, err
	}
	at, err := carry.Look(ctx, repo)
	if err != nil {
		return nil, err
	}
	b, err := n.Encode(d.seal)
	if err != nil {
		return nil, err
	}
	if over = d.parcel(ctx, repo, at, n, b, in); len(in.Parcel) > 0 {
		return over, nil
	}
	if in.Commit, err = carry.Pack(ctx, repo, at, b); err != nil {
		return over, err
	}
	specs := []string{in.Commit + ":" + in.Ref}
	for _, old := range m.Refs { // the outcome of the step before this one is written
		if ident.KeyOf(old) != k {
			specs = append(specs, ":"+old)
		}
	}
	m.Refs = []string{in.Ref}
	return over, d.send(ctx, specs)
}

// send pushes; what is to go and is gone already is no reason to stay.
func (d *Doer) send(ctx context.Context, specs []string) error {
	refs := d.refs()
	err := refs.Send(ctx, specs...)
	if err != nil && len(specs) > 1 && !errors.Is(err, push.ErrFenced) {
		return refs.Send(ctx, specs[0])
	}
	return err
}

// refs are those of the remote, behind the fence.
func (d *Doer) refs() push.Refs {
	return push.Refs{Repo: d.in.Parts.Repo, URL: d.url, Fence: d.in.Parts.Fence}
}

// note is what goes with the files.
func (d *Doer) note(ctx context.Context, s *ralph.State, t *ralph.Task, step ralph.Step) (note.Note, error) {
	root := d.in.Parts.Root
	n := note.Note{Version: d.in.Env.Version, Branch: t.Run.Worktree.Branch, Dir: t.Run.Worktree.Dir, Task: t.ID, Flags: d.in.Flags, SentAt: time.Now()}
	var err error
	if n.Step, err = json.Marshal(ralph.StepStarted{Task: t.ID, Step: step}); err != nil {
		return n, err
	}
	if n.Policy, err = d.in.Policy.Encode(); err != nil {
		return n, err
	}
	cut := s.Clone() // what no turn of a task looks at stays here
	cut.Inbox, cut.Pulls, cut.Tracked, cut.Gone, cut.Aside = nil, nil, nil, nil, nil
	n.State = cut
	if n.Files, err = note.Settings(root, s.Job.File); err != nil {
		return n, err
	}
	if err := note.Take(root, note.RecordsOf(t), n.Files); err != nil {
		return n, err
	}
	n.Turns, _ = note.Listed(root, filepath.ToSlash(stepping.RecordsOf(t.ID)))
	if n.Name, err = d.in.Parts.Repo.Author(ctx); err != nil {
		return n, err
	}
	name, rest, _ := strings.Cut(n.Name, " <")
	email, _, _ := strings.Cut(rest, ">")
	n.Name, n.Email = name, email
	return n, nil
}

// giveUp ends a step that nobody waits for any more. Its worker hears of it with the next sign of
// life, and ends the agent; a word that had to go through the workflow would need a coordinator.
func (d *Doer) giveUp(id string) error {
	ctx, cancel := context.WithTimeout(context.Background(), goodbye)
	defer cancel()
	return d.client.TerminateWorkflow(ctx, id, "", "given up by its coordinator")
}

// take brings what came of a step: files of the turn, the worktree as it is there, the facts.
// It may be done again after a crash. A step that was begun just now has its outcome from this lease, one
// that was found from this or one before.
func (d *Doer) take(ctx context.Context, t *ralph.Task, k string, out Out, m place.Memory, begun bool) ([]ralph.Fact, error) {
	if ident.KeyOf(out.Ref) != k || !strings.HasPrefix(out.Ref, ident.Refs(d.journal)) {
		return nil, fmt.Errorf("worker %s answers with %s, which is none of this step's", out.Worker, out.Ref)
	}
	repo, err := d.in.Parts.Repo.Tree(filepath.Join(d.in.Parts.Root, filepath.FromSlash(t.Run.Worktree.Dir)))
	if err != nil {
		return nil, err
	}
	at, sealed, err := d.receive(ctx, repo, out)
	if err != nil {
		return nil, err
	}
	n, err := note.Decode(sealed, d.seal)
	switch now := d.hold.number(); {
	case err != nil:
	case n.Task != t.ID:
		err = fmt.Errorf("worker %s answers about %s", out.Worker, n.Task)
	case n.Lease != out.Lease || n.Lease > now || begun && n.Lease != now:
		err = fmt.Errorf("worker %s answers for lease %d with what was done for lease %d, and this coordinator has lease %d", out.Worker, out.Lease, n.Lease, now)
	}
	if err != nil {
		return nil, err
	}
	facts, err := note.DecodeFacts(n.Facts)
	if err != nil {
		return nil, err
	}
	if err := note.Place(d.in.Parts.Root, n.Files, note.ForCoordinator(filepath.ToSlash(stepping.RecordsOf(t.ID)))); err != nil {
		return nil, err
	}
	at.Branch = t.Run.Worktree.Branch
	is, err := carry.Look(ctx, repo)
	if err != nil || is != at { // a check leaves files as they are, most often
		if err != nil {
			is = carry.Snapshot{}
		}
		if err := carry.Become(ctx, repo, is, at); err != nil {
			return nil, err
		}
		is, err = carry.Look(ctx, repo)
	}
	if err != nil || is.Tree != at.Tree {
		return nil, errors.Join(err, fmt.Errorf("the worktree of %s is %s here and %s at worker %s: git changes its files otherwise there (core.autocrlf, filters)", t.ID, is.Tree, at.Tree, out.Worker))
	}
	note.Took(facts, out.Worker)
	m.Worker = out.Worker
	return facts, place.Remember(d.in.Parts.Root, t.ID, m)
}

// answered waits until the server has the answer to whoever did something from elsewhere last: it may
// be what ended the session.
func (d *Doer) answered() {
	if asked := d.asked.Load(); asked != nil {
		ctx, cancel := context.WithTimeout(context.Background(), goodbye)
		defer cancel()
		_ = d.client.GetWorkflow(ctx, asked.ID, asked.RunID).Get(ctx, nil)
	}
}

// close takes part no more, and clears the refs of steps that are over away. What it cannot clear
// the end of the next session does. Whoever ended the session from elsewhere hears of it meanwhile.
func (d *Doer) close(steps, people worker.Worker) {
	defer d.client.Close()
	defer people.Stop()
	defer d.answered()
	steps.Stop()
	d.bases.Close()
	d.server.meters.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	refs := d.refs()
	left, err := refs.List(ctx, ident.Refs(d.journal))
	if err == nil && len(left) > 0 {
		for i := range left {
			left[i] = ":" + left[i]
		}
		err = refs.Send(ctx, left...)
	}
	if err != nil {
		d.in.Note("refs below %s stay at the remote until the next session ends: %v", ident.Refs(d.journal), err)
	}
	place.Forget(d.in.Parts.Root) // who has which worktree says nothing any more
}
