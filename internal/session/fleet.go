package session

import (
	"context"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/bootstrap"
	"github.com/ralph-loop/ralph/internal/hook"
	"github.com/ralph-loop/ralph/internal/journal"
	"github.com/ralph-loop/ralph/internal/policy"
	"github.com/ralph-loop/ralph/internal/step"
	"github.com/ralph-loop/ralph/internal/workspace"
)

// Fleet carries steps out on other machines.
type Fleet interface {
	// Begin takes part in the fleet. The doer has what can travel carried out there, and all else
	// by Here; leave is called when the work is over.
	Begin(ctx context.Context, in FleetIn) (doer hook.Does, leave func(), err error)
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
}

// OnFleet has the session's tasks worked on by the workers of a fleet: each in a worktree.
func (x *Session) OnFleet(f Fleet, address string) {
	x.fleet, x.fleetAt = f, address
	x.Set("isolation", "worktree")
}

// doer is who carries out the session's steps: this process, or with a fleet its workers.
func (x *Session) doer(ctx context.Context, here *step.Executor) (hook.Does, func(), error) {
	if x.fleet == nil {
		return here, func() {}, nil
	}
	if !x.isolated {
		return nil, nil, &ralph.Refusal{Why: "a fleet works in worktrees, and this session works in your checkout", Hint: "leave out --fleet, --simple or --dry-run", Kind: ralph.ErrUsage}
	}
	return x.fleet.Begin(ctx, FleetIn{
		Env: x.Env, Parts: x.Parts, Policy: x.policy, Journal: x.journal, Here: here, Flags: x.Flags, Address: x.fleetAt, Note: x.console.Note,
	})
}
