package step

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/ralph-loop/ralph"
)

// errWindowFull is the cause with which a turn is ended whose context window is
// too full: neither a person's wish nor the end of the engine.
var errWindowFull = errors.New("the agent's context window is too full")

// guard ends a turn when the agent's context window is too full to come to a good
// end: what follows would be an agent that has forgotten what it was doing.
type guard struct {
	kill float64 // part of the window, 0 is off
	cut  context.CancelCauseFunc
	ctx  context.Context

	mu sync.Mutex       // a driver's last words may come when the turn has returned
	at ralph.ContextUse // when the turn was ended, zero as long as it was not
}

// guardWindow returns the context that the turn runs in. release must be called.
func guardWindow(ctx context.Context, kill float64) (*guard, context.Context) {
	ctx, cut := context.WithCancelCause(ctx)
	return &guard{kill: kill, cut: cut, ctx: ctx}, ctx
}

func (g *guard) release() { g.cut(context.Canceled) }

// heard is the hook of the turn.
func (g *guard) heard(use ralph.ContextUse) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.kill > 0 && use.Part() >= g.kill && g.at == (ralph.ContextUse{}) {
		g.at = use
		g.cut(errWindowFull)
	}
}

// settle makes a failed turn of one that was ended by the guard. An agent that had
// come to its end at the same moment keeps its own outcome.
func (g *guard) settle(res *ralph.TurnResult) {
	if !errors.Is(context.Cause(g.ctx), errWindowFull) || res.Exit != ralph.ExitUser {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	res.Exit = ralph.ExitFailed
	if res.Context == (ralph.ContextUse{}) {
		res.Context = g.at
	}
	res.Err = &ralph.AgentError{
		Class:   ralph.ErrClassContext,
		Message: fmt.Sprintf("%.0f %% of the window used (construct.context_kill)", 100*g.at.Part()),
	}
}

// warnContext tells once a session of the agent that its window is rather full.
func (x *Executor) warnContext(t *ralph.Task, f ralph.TurnEnded) []ralph.Fact {
	told := f.Session == t.Run.Session && slices.Contains(t.Run.Alerts, ralph.AlertContext)
	if told || x.Config.ContextWarn <= 0 || f.Context.Part() < x.Config.ContextWarn {
		return nil
	}
	return []ralph.Fact{ralph.ContextWarned{Task: t.ID, Agent: f.Agent, Use: f.Context}}
}
