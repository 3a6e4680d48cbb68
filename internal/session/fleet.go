package session

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/bootstrap"
	"github.com/ralph-loop/ralph/internal/exit"
	"github.com/ralph-loop/ralph/internal/hook"
	"github.com/ralph-loop/ralph/internal/journal"
	"github.com/ralph-loop/ralph/internal/labels"
	"github.com/ralph-loop/ralph/internal/policy"
	"github.com/ralph-loop/ralph/internal/step"
	"github.com/ralph-loop/ralph/internal/workspace"
)

// Fleet carries steps out on other machines.
type Fleet interface {
	// Claim waits until this process may be the coordinator of the repository: one at a time is.
	// What of in is known before the work begins is in it.
	Claim(ctx context.Context, in FleetIn) (Claim, error)
}

// Claim is the right to be the coordinator. From then on each push of the session's parts is
// refused by the remote when another one has got the right.
type Claim interface {
	// Begin takes part in the fleet. The doer has what can travel carried out there, and all else
	// by Here; leave is called when the work is over.
	Begin(ctx context.Context, in FleetIn) (doer hook.Does, leave func(), err error)
	// SameCheckout reports whether who had the right before worked in this very checkout.
	SameCheckout() bool
	// Leave gives the right back.
	Leave()
}

// FleetIn is what a fleet needs of a session.
type FleetIn struct {
	Env     workspace.Env
	Parts   *bootstrap.Parts
	Policy  policy.Config
	Journal *journal.File
	Here    hook.Does
	Flags   map[string]string
	Address string // said on the command line, "" for the settings'
	Note    func(format string, args ...any)
	Locked  bool        // this process has the session lock
	Lost    func(error) // another coordinator works now: the work has to end
}

// OnFleet has the session's tasks worked on by the workers of a fleet: each in a worktree.
func (x *Session) OnFleet(f Fleet, address string) {
	x.fleet, x.fleetAt = f, address
	x.Set("isolation", "worktree")
}

// doer is who carries out the session's steps: this process, or with a fleet its workers.
func (x *Session) doer(ctx context.Context, here *step.Executor) (hook.Does, func(), error) {
	if x.fleet == nil {
		return &alone{next: here, x: x}, func() {}, nil
	}
	return x.claim.Begin(ctx, x.fleetIn(here))
}

// alone carries steps out on this machine, and says once that labels of workers have no effect here.
type alone struct {
	next hook.Does
	x    *Session

	mu   sync.Mutex
	said bool
	seen map[string]bool // specs that were looked at
}

// Do implements engine.Doer.
func (a *alone) Do(ctx context.Context, s *ralph.State, id ralph.TaskID, step ralph.Step) ([]ralph.Fact, error) {
	a.tell(s)
	return a.next.Do(ctx, s, id, step)
}

func (a *alone) tell(s *ralph.State) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.said || s.Job == nil || a.seen[s.Job.File] {
		return
	}
	if a.seen == nil {
		a.seen = map[string]bool{}
	}
	a.seen[s.Job.File] = true
	var own []string
	for _, t := range s.Plan.Tasks {
		own = append(own, t.Worker...)
	}
	if list := labels.Union(a.x.Config.Fleet.Labels, workspace.SpecLabels(a.x.Root, s.Job.File), own); len(list) > 0 {
		a.said = true
		a.x.console.Note("the work asks for workers with %s; without --fleet it is done on this machine, whatever that has", strings.Join(list, ", "))
	}
}

func (x *Session) fleetIn(here hook.Does) FleetIn {
	return FleetIn{
		Env: x.Env, Parts: x.Parts, Policy: x.policy, Journal: x.journal, Here: here, Flags: x.Flags, Address: x.fleetAt, Note: x.console.Note,
		Locked: x.lock != nil, Lost: x.end,
	}
}

// end ends all work at once, for a cause.
func (x *Session) end(cause error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.force != nil {
		x.force(cause)
	}
}

// lookEach is how soon it is seen that an engine has ended whose end nobody tells.
const lookEach = time.Second

// takePlace makes this process the engine. The coordinator of a fleet waits for that: until it is
// the only one of the repository, and until the engine in this checkout that was it before has ended.
func (x *Session) takePlace(ctx context.Context) error {
	err := x.lockNow()
	if x.fleet == nil || err != nil && !errors.Is(err, ralph.ErrLocked) {
		return err
	}
	if !x.isolated {
		return &ralph.Refusal{Why: "a fleet works in worktrees, and this session works in your checkout", Hint: "leave out --fleet, --simple or --dry-run", Kind: ralph.ErrUsage}
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	claim, claimErr := x.fleet.Claim(ctx, x.fleetIn(nil))
	if claimErr != nil {
		return x.left(ctx, claimErr)
	}
	x.claim = claim
	if err == nil || !claim.SameCheckout() {
		return err
	}
	x.console.Note("%v; it is the coordinator no more, and this one begins when it has ended (Ctrl+C leaves)", err)
	for errors.Is(err, ralph.ErrLocked) {
		select {
		case <-ctx.Done():
			return x.left(ctx, err)
		case <-time.After(lookEach):
			err = x.lockNow()
		}
	}
	return err
}

// lockNow takes the lock, or has none.
func (x *Session) lockNow() error {
	err := x.takeLock()
	if err != nil {
		x.lock = nil
	}
	return err
}

// left is the end of waiting: a person's, or what went wrong.
func (x *Session) left(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return err
	}
	x.console.Note("nothing was begun")
	return exit.Error{Code: exit.Interrupted}
}

// leavePlace gives back what takePlace took.
func (x *Session) leavePlace() {
	if x.claim != nil {
		x.claim.Leave()
	}
	if x.lock != nil {
		_ = x.lock.Unlock()
	}
}
