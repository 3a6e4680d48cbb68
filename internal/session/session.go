// Package session owns one run of an engine command: what has to be so before it begins, the
// session lock and its heartbeat, the first and the last facts, signals, the end at once, and
// what is cleaned up, told and left to a person after it.
//
// It does NOT own the loop (engine), what a step does (step), the parts it is put together from
// (bootstrap), or the flags of the commands (cli).
package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/agentsock"
	"github.com/ralph-loop/ralph/internal/bootstrap"
	"github.com/ralph-loop/ralph/internal/console"
	"github.com/ralph-loop/ralph/internal/dashboard"
	"github.com/ralph-loop/ralph/internal/engine"
	"github.com/ralph-loop/ralph/internal/exit"
	"github.com/ralph-loop/ralph/internal/git/anchor"
	"github.com/ralph-loop/ralph/internal/git/commits"
	"github.com/ralph-loop/ralph/internal/git/info"
	"github.com/ralph-loop/ralph/internal/git/push"
	"github.com/ralph-loop/ralph/internal/journal"
	"github.com/ralph-loop/ralph/internal/locate"
	"github.com/ralph-loop/ralph/internal/notify"
	"github.com/ralph-loop/ralph/internal/outbox"
	"github.com/ralph-loop/ralph/internal/person"
	"github.com/ralph-loop/ralph/internal/policy"
	"github.com/ralph-loop/ralph/internal/proc"
	"github.com/ralph-loop/ralph/internal/redact"
	"github.com/ralph-loop/ralph/internal/regular"
	"github.com/ralph-loop/ralph/internal/status"
	"github.com/ralph-loop/ralph/internal/step"
	"github.com/ralph-loop/ralph/internal/workspace"
)

// Session is one engine command: agent, construct or plan.
type Session struct {
	Env        workspace.Env
	Mode       string
	Only       string            // construct, plan: the spec
	Flags      map[string]string // dotted settings
	DryRun     bool
	Fresh      bool // --fresh: do not resume
	Resume     bool // --resume: resume without asking
	AllowDirty bool
	Trust      bool              // --trust: yes to what the repository brings along
	isolated   bool              // agents work in worktrees
	Watch      bool              // --watch: an empty inbox ends nothing
	Web        bool              // --web: serve the dashboard meanwhile
	KeepWeb    bool              // and after the end, until holdWeb
	Unattended bool              // nobody will come: gates are over at once
	Threads    []ralph.NewThread // auto: to begin with, beside those that the plan has

	*bootstrap.Parts
	journal *journal.File
	lock    *journal.SessionLock
	died    string // which engine before this one died in the middle of its work, "" for none
	console *console.Console
	box     stallRecorder
	notices *notices // nil before this process is the engine, and at its end; under mu
	policy  policy.Config
	hooks   *hooks            // nil before the session begins
	outbox  *outbox.Outbox    // nil where nothing is sent to trackers
	window  *dashboard.Server // the dashboard, when this process serves it; under mu once the work has begun

	mu    sync.Mutex
	force context.CancelCauseFunc // ends everything at once; nil before the engine runs
	asked bool                    // by a signal, to stop

	atOnce bool // it was ended at once

	fleet   Fleet  // nil: all steps are carried out here
	fleetAt string // where it is, "" for the settings'
	claim   Claim  // to be its coordinator; nil before that
}

// forced is the cause of an end at once: the second Ctrl+C. Processes
// then have only a moment between TERM and KILL.
type forced struct {
	by string // who wants it, "" where the journal says so already
}

func (forced) Error() string        { return "stopped at once" }
func (forced) Grace() time.Duration { return 300 * time.Millisecond }

// termLimit is how long SIGTERM and SIGHUP wait for the iteration to end.
const termLimit = 30 * time.Second

// Run does the whole command and returns nil or an exitError, or why nothing was begun.
func (x *Session) Run(ctx context.Context) error {
	var err error
	if x.Parts, err = bootstrap.Open(ctx, x.Env, x.Flags); err != nil {
		return err
	}
	if err := x.trusted(ctx); err != nil {
		return err
	}
	if err := x.needsPerson(); err != nil {
		return err
	}
	if err := x.openThreads(); err != nil {
		return err
	}
	if err := x.choosePlace(ctx); err != nil {
		return err
	}
	if err := info.Exclude(x.Repo, workspace.RuntimePaths()); err != nil {
		return err
	}
	if err := x.askToResume(); err != nil {
		return err
	}
	x.console, x.box = console.New(x.Env), stallRecorder{root: x.Root, version: x.Env.Version}
	x.console.Redact = x.Parts.Redact
	defer x.console.Close()
	dispatcher, err := notify.Open(bootstrap.NoticeOptions(x.Env, x.Root, x.Config, x.console.Ring))
	if err != nil {
		return err
	}
	x.journal, err = journal.Open(journal.Options{
		Root: x.Root, Inbox: x.Mode == "agent", Plan: true, NewID: workspace.NewID, Observe: x.observe, Me: locate.Me(), Alive: proc.Alive,
		Redact: workspace.RedactFacts(func() *redact.Redactor { return x.Parts.Redact }),
	})
	if err != nil {
		return err
	}
	defer func() { _ = x.journal.Close() }()
	if err := x.needsTasks(ctx); err != nil {
		return err
	}
	if err := x.needsCheckout(x.journal.State()); err != nil {
		return err
	}
	defer x.CloseWeb() // after the lock is free, so that open pages show that the work has ended
	defer x.leavePlace()
	if err := x.takePlace(ctx); err != nil {
		return err
	}
	defer x.CloseAgents()
	x.openWeb(ctx)
	defer x.endNotices(noticeLimit)
	if err := x.startNotices(dispatcher); err != nil {
		return x.diskFull(err)
	}
	if x.hooks, err = x.openHooks(ctx); err != nil {
		return x.diskFull(err)
	}
	if err := x.startSync(); err != nil {
		return x.diskFull(err)
	}
	if err = x.diskFull(x.begin(ctx)); err == nil {
		err = x.work(ctx)
	}
	x.anchor(ctx)
	x.closeHooks(ctx)
	x.endSync(ctx)
	return err
}

// needsTasks refuses an autopilot without a plan, which may just have been written
// by hand.
func (x *Session) needsTasks(ctx context.Context) error {
	if x.Mode != "autopilot" {
		return nil
	}
	return x.journal.Update(ctx, "cli", func(s *ralph.State) ([]ralph.Fact, error) {
		if len(s.Plan.Tasks) > 0 {
			return nil, nil
		}
		return nil, &ralph.Refusal{
			Why: "there are no tasks in the plan", Kind: ralph.ErrUsage,
			Hint: "`ralph plan <spec>` has an agent make some, `ralph task add <name>` adds one by hand",
		}
	})
}

// takeLock makes this process the engine, and ends what a dead one left behind.
func (x *Session) takeLock() error {
	self, err := workspace.Owner(time.Now())
	if err != nil {
		return err
	}
	lock, dead, err := x.journal.Lock(self, proc.Alive)
	if err != nil {
		return err
	}
	x.lock = lock
	aside, err := x.journal.SetAside()
	if err != nil {
		return errors.Join(err, lock.Unlock())
	}
	if aside != "" {
		x.console.Note("%s", aside)
	}
	if dead != nil {
		then := "beginning a new session"
		if !x.Fresh && x.resumes(x.journal.State(), x.journal.Carries()) {
			then = "going on where it was"
		}
		x.died = fmt.Sprintf("pid %d%s", dead.Pid, workspace.Elsewhere(dead, self))
		x.console.Note("the last engine (%s) did not end cleanly; %s", x.died, then)
	}
	if dead != nil {
		for _, temp := range agentsock.Temps() {
			agentsock.Sweep(temp, time.Now())
		}
		push.Sweep(os.TempDir(), time.Now())
	}
	swept, err := x.Procs.Sweep(context.Background())
	if err != nil {
		return errors.Join(fmt.Errorf("end what the last engine left running: %w", err), lock.Unlock())
	}
	if left, err := person.ReadSessions(x.Root); err == nil {
		swept = append(swept, x.Procs.EndSessions(context.Background(), left)...)
	}
	if err := x.Repo.Settle(context.Background(), CutSince(dead, x.journal.State())); err != nil {
		return errors.Join(err, lock.Unlock())
	}
	for _, s := range swept {
		x.console.Note("ended a process that the last engine left running: %s (pid %d)", s.Args, s.Pid)
	}
	return nil
}

// CutSince is since when there may be a git that a dead engine took with it: zero for
// no such engine. The one that died last may have died while it waited here itself; then
// the session that the engine before it left open tells.
func CutSince(dead *journal.Owner, s *ralph.State) time.Time {
	switch {
	case dead == nil:
		return time.Time{}
	case s.Session.Live() && s.Session.Since.Before(dead.StartedAt):
		return s.Session.Since
	}
	return dead.StartedAt
}

// begin writes session.started: a new session, or the interrupted one.
func (x *Session) begin(ctx context.Context) error {
	s := x.journal.State()
	file, err := readAgentSession(x.Root)
	if err != nil {
		return err
	}
	resumed := !x.Fresh && x.resumes(s, file != nil)
	if err := x.lookAtDirt(ctx, s, resumed); err != nil {
		return err
	}
	now := time.Now()
	started := ralph.SessionStarted{
		ID: workspace.NewSessionID(now), Mode: x.Mode, Version: x.Env.Version, Pid: os.Getpid(), Auto: ralph.Autonomy(x.Config.Mode),
		Plan: s.Plan.File, Steps: len(s.Plan.Tasks), DryRun: x.DryRun || x.Mode == "plan",
	}
	started.Host, _ = os.Hostname()
	if started.Anchor, err = anchor.Of(x.Repo, s.Journal); err != nil {
		return err
	}
	switch {
	case resumed:
		started.ID, started.Resumed = s.Session.ID, true
	case file != nil && x.Mode == "agent" && !x.Fresh && s.Session.ID == "":
		started.Carry = file // a session file without its journal
	}
	x.policy = x.policyOf(started.DryRun)
	if started.Config, err = x.policy.Encode(); err != nil {
		return err
	}
	if x.Mode == "agent" || x.Mode == "autopilot" || x.Mode == ralph.ModeAuto {
		x.console.Debug, x.console.Before = x.Config.Log.Level == "debug", s
		if started.Log, err = x.console.OpenLog(x.Root, x.Mode, now); err != nil {
			return err
		}
	}
	if words := x.alone(); words != "" {
		x.console.Note("%s", words)
	}
	for _, n := range append(status.StillLimited(s, x.Chain, now), x.Notices...) {
		x.console.Note("%s", n)
	}
	if err := x.lock.Name(started.ID, now); err != nil {
		return err
	}
	return x.journal.Update(ctx, "engine", func(s *ralph.State) ([]ralph.Fact, error) {
		facts := s.Lost(ralph.LostCrash, x.died)
		started.Plan, started.Steps = s.Plan.File, len(s.Plan.Tasks)+len(x.Threads) // with what a person wrote into plan.jsonl
		if s.Job != nil && !resumed {                                               // what another session was on: its plan is kept
			facts = append(facts, ralph.JobEnded{Status: ralph.SpecPending, Error: "left by session " + string(s.Session.ID), Rule: "X-08", Cut: true})
		}
		added, err := x.newThreads(s)
		return append(append(facts, started), added...), err
	})
}

// resumes says whether this start goes on with the session in the journal.
func (x *Session) resumes(s *ralph.State, file bool) bool {
	return s.Resumable(x.Mode, x.Only, file) && len(x.Threads) == 0 // a new thread is a new session
}

// work runs the engine to its end.
func (x *Session) work(ctx context.Context) error {
	runCtx, force := context.WithCancelCause(ctx)
	defer force(nil)
	defer whenDone(runCtx, func() { x.hurry(lastWordsOf(context.Cause(runCtx))) })()
	x.mu.Lock()
	x.force = force
	x.mu.Unlock()
	stopSignals := x.signals(runCtx, force)
	defer stopSignals()
	beatCtx, stopBeat := context.WithCancel(ctx)
	defer stopBeat()
	go heartbeat(beatCtx, person.Guarded{SessionLock: x.lock, Root: x.Root}, force, x.console.Note)
	proc.PassNoneOn()
	if err := proc.AdoptOrphans(); err != nil {
		return x.broken(fmt.Errorf("become the parent of what agents leave behind: %w", err))
	}
	defer func() { _ = person.RememberSessions(x.Root) }()

	x.journal.Tolerate()
	x.Lines = new(agentsock.Lines)
	defer func() { _ = x.Lines.Close() }() // what is left lies in the folder for temporary files, and is swept
	executor := x.Executor(x.Env, x.policy, x.console)
	executor.Now, executor.Journal = x.journal.Now, x.journal
	executor.DiskSpace = func() error { return workspace.DiskSpace(x.Root) }
	endWatch, err := x.watch(runCtx)
	if err != nil {
		return x.broken(err)
	}
	defer endWatch()
	doer, leave, err := x.doer(ctx, executor)
	if err != nil {
		return x.broken(err)
	}
	defer leave()
	host := engine.NewLocal(runCtx, x.journal, x.hooks.before(doer), x.journal.Now)
	reason, err := engine.Run(host, x.policy)
	if closeErr := host.Close(); err == nil {
		err = closeErr
	}
	var tidied error
	if err == nil && runCtx.Err() == nil {
		tidied = x.tidy(ctx)
	}
	var end forced
	switch {
	case errors.As(context.Cause(runCtx), &end):
		x.wasForced(ctx, end.by)
		x.endNotices(noticeForced)
		if err := x.shelve(ctx, executor); err != nil {
			x.console.Note("%v", err)
		}
		x.atOnce = true
		x.console.Note("stopped at once; %s", x.journal.State().NextStart(true))
		return exit.Error{Code: exit.Interrupted}
	case err != nil:
		return x.broken(err)
	case tidied != nil:
		return tidied
	}
	s := x.journal.State()
	if s.Totals.Commits > 0 {
		if err := commits.Maintain(ctx, x.Repo); err != nil {
			x.console.Note("%v (the work is done; git will try again)", err)
		}
	}
	x.console.Finish(s)
	x.mu.Lock()
	defer x.mu.Unlock()
	return ExitFor(reason, s, x.asked)
}

const (
	// lastWords is how long an end at once waits for another process that has the journal's lock: what cannot be
	// written by then is not, and the session is told of as one that was cut.
	lastWords = 300 * time.Millisecond
	// lastWordsElsewhere is the same where no person waits at this terminal: who wants the end may have the lock
	// himself for a moment yet, as `ralph stop --now` does.
	lastWordsElsewhere = 3 * time.Second
)

func lastWordsOf(cause error) time.Duration {
	if end, ok := errors.AsType[forced](cause); ok && end.by != "" {
		return lastWords
	}
	return lastWordsElsewhere
}

// whenDone calls f when ctx is done, until stop: in a goroutine of its own, or in stop where that has not begun by then.
func whenDone(ctx context.Context, f func()) (stop func()) {
	never := context.AfterFunc(ctx, f)
	return func() {
		if never() && ctx.Err() != nil {
			f()
		}
	}
}

// hurry has nothing that this process still writes wait longer than that, in all.
func (x *Session) hurry(limit time.Duration) {
	x.journal.Hurry(limit)
	x.mu.Lock()
	w := x.window
	x.mu.Unlock()
	if w != nil {
		w.Hurry(limit)
	}
}

// tidy is what the engine's end leaves to do in the repository.
func (x *Session) tidy(ctx context.Context) error {
	if err := x.cleanUp(ctx); err != nil {
		return err
	}
	return x.journal.Flush(ctx)
}

// wasForced writes down that a person ended it at once, so that nobody takes it for a crash.
func (x *Session) wasForced(ctx context.Context, by string) {
	if by == "" {
		return
	}
	err := x.journal.Update(ctx, "person", func(s *ralph.State) ([]ralph.Fact, error) { return s.StopNow(by) })
	if errors.Is(err, journal.ErrHeld) {
		x.console.Note("it is not recorded that it was ended at once: %v", err)
	}
}

// observe shows each event, and looks for what concerns this process itself:
// `ralph stop --now` from any terminal. It is called under the journal's mutex.
func (x *Session) observe(e ralph.Event, s *ralph.State) {
	x.console.Observe(e, s)
	if err := x.box.observe(e, s); err != nil {
		x.console.Note("%v", err)
	}
	x.hear(e, s)
	if f, ok := e.Fact.(ralph.Control); ok && f.Immediate {
		x.mu.Lock()
		defer x.mu.Unlock()
		if x.force != nil {
			x.force(forced{})
		}
	}
}

// broken ends a session whose machinery failed: state intact, cause named.
func (x *Session) broken(err error) error {
	end := func(*ralph.State) ([]ralph.Fact, error) {
		return []ralph.Fact{ralph.SessionEnded{Reason: ralph.ReasonError, Detail: err.Error()}}, nil
	}
	if !errors.Is(err, ralph.ErrLocked) {
		_ = x.journal.Update(context.Background(), "engine", end) // the disk may be full: then the session counts as cut, which is as good
	}
	switch {
	case errors.Is(err, journal.ErrGone):
		return fmt.Errorf("%w\nGit, ralph/inbox.jsonl and ralph/plan.jsonl have what is left. Look at `git status`, restore what is missing (`git checkout -- ralph`), then start again: `ralph %s`", err, x.Mode)
	case errors.Is(err, ralph.ErrLocked):
		return fmt.Errorf("%w\nWhat was recorded before is kept, and the other engine goes on from there: `ralph status`", err)
	case step.NoSpace(err):
		return x.diskFull(err)
	}
	return fmt.Errorf("%w\nThe state is kept; %s.", err, x.journal.State().NextStart(true))
}

// diskFull says which disk is full, and what then.
func (x *Session) diskFull(err error) error {
	if !step.NoSpace(err) {
		return err
	}
	return &workspace.FullDisk{Err: err, Advice: fmt.Sprintf("%s: free some space, then %s; what is recorded stays.", workspace.FullDisks(x.Env), x.journal.State().NextStart(true))}
}

// signals turns the first SIGINT into a wanted stop, and the second into an end
// at once; SIGTERM and SIGHUP are a stop with a time limit (D-051).
func (x *Session) signals(ctx context.Context, force context.CancelCauseFunc) func() {
	ch := make(chan os.Signal, 4)
	signal.Notify(ch, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	done := make(chan struct{})
	var heard sync.WaitGroup
	heard.Go(func() { x.hearSignals(ctx, ch, done, force) })
	return func() {
		signal.Stop(ch)
		close(done)
		heard.Wait()
	}
}

// hearSignals acts on signals until done. A stop is written beside the hearing: whoever holds the
// journal's lock meanwhile, the second signal and the limit still end the session at once. A stop that is not
// written by then is not wanted any more.
func (x *Session) hearSignals(ctx context.Context, ch <-chan os.Signal, done <-chan struct{}, force context.CancelCauseFunc) {
	var stops sync.WaitGroup
	defer stops.Wait()
	ctx, giveUp := context.WithCancel(ctx)
	defer giveUp()
	var limit <-chan time.Time
	ended := ""
	asked := false
	for {
		select {
		case <-done:
			return
		case <-limit:
			force(forced{ended})
			return
		case sig := <-ch:
			if asked && sig == os.Interrupt {
				force(forced{"Ctrl+C twice"})
				return
			}
			asked = true
			if sig != os.Interrupt && limit == nil {
				limit, ended = time.After(termLimit), causeOf(sig)
			}
			x.mu.Lock()
			x.asked = true
			x.mu.Unlock()
			stops.Go(func() { x.stop(ctx, sig) })
		}
	}
}

func (x *Session) stop(ctx context.Context, sig os.Signal) {
	if sig == os.Interrupt {
		x.console.Note("press Ctrl+C again to stop at once")
	}
	_ = x.journal.Update(ctx, "person", func(s *ralph.State) ([]ralph.Fact, error) {
		return s.Steer(ralph.WantStop, causeOf(sig))
	})
}

// causeOf names a signal as people know it.
func causeOf(sig os.Signal) string {
	return map[os.Signal]string{os.Interrupt: "Ctrl+C", syscall.SIGTERM: "SIGTERM", syscall.SIGHUP: "SIGHUP"}[sig]
}

// readAgentSession reads ralph/.agent-session; nil when there is none.
func readAgentSession(root string) (*ralph.Carry, error) {
	const name = "ralph/.agent-session"
	b, err := regular.ReadFile(filepath.Join(root, name), 1<<20)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	var c ralph.Carry
	if err := json.Unmarshal(b, &c); err != nil {
		return nil, &ralph.CorruptError{File: name, Why: err.Error()}
	}
	return &c, nil
}
