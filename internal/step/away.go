package step

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ralph-loop/ralph"
)

// The causes with which a turn is ended whose agent tries again by itself.
var (
	errTakenOver = errors.New("the agent cannot be used now")
	errWaitsOnly = errors.New("the engine stops, and the agent only waits")
)

// watch hears in a turn that its agent cannot be used and tries again by itself: at a
// limit, without a login or a connection. It tells of it once, and ends the turn when that
// takes longer than errors.rate_limit_patience, so that another agent gets the slot;
// at once where waiting does not help, or where the engine is to stop.
type watch struct {
	x     *Executor
	task  ralph.TaskID
	agent string
	ctx   context.Context
	cut   context.CancelCauseFunc
	work  sync.WaitGroup

	mu    sync.Mutex
	last  *ralph.AgentError // that the agent tries to get over; nil: it works
	waits time.Duration     // announced since it worked last
	timer *time.Timer
	told  bool
	idle  context.CancelFunc // ends the look-out for a stop
}

// watchAgent returns the context that the turn runs in. close must be called.
func (x *Executor) watchAgent(ctx context.Context, t *ralph.Task, step ralph.Turn) (*watch, context.Context) {
	ctx, cut := context.WithCancelCause(ctx)
	return &watch{x: x, task: t.ID, agent: step.Agent, ctx: ctx, cut: cut}, ctx
}

func (w *watch) close() {
	w.works()
	w.cut(context.Canceled)
	w.work.Wait()
}

// heard is the hook of the turn, besides whoever else hears it.
func (w *watch) heard(e ralph.StreamEvent) {
	switch e.Kind {
	case ralph.StreamError:
		if e.WillRetry && e.Err != nil && e.Err.OfAgent() {
			w.retries(*e.Err)
		}
	case ralph.StreamItem, ralph.StreamItemDone, ralph.StreamDelta, ralph.StreamPlan, ralph.StreamDiff, ralph.StreamCompacted, ralph.StreamApproval, ralph.StreamInput:
		w.works()
	}
}

// works: whatever it was, the agent has got over it.
func (w *watch) works() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.last == nil || errors.Is(context.Cause(w.ctx), errTakenOver) {
		return // what it says while its turn is ended changes nothing
	}
	w.last, w.waits = nil, 0
	w.timer.Stop()
	w.idle()
}

func (w *watch) retries(e ralph.AgentError) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ctx.Err() != nil {
		return
	}
	patience := w.x.Config.Patience
	if w.last == nil {
		w.timer = time.AfterFunc(patience, func() { w.cut(errTakenOver) })
		var ctx context.Context
		ctx, w.idle = context.WithCancel(w.ctx)
		if w.x.Journal != nil {
			w.work.Go(func() { w.lookOut(ctx) })
		}
	}
	w.last, w.waits = &e, w.waits+e.Wait
	if !w.told && w.x.Journal != nil {
		w.told = true
		w.work.Go(func() { w.tell(e) })
	}
	if e.Class == ralph.ErrClassAuth || w.waits > patience || e.ResetAt.After(w.x.Now().Add(patience)) {
		w.cut(errTakenOver)
	}
}

// tell records the first try, unless everybody knows already. A journal that cannot be
// written ends the turn by its own end, which is recorded there too.
func (w *watch) tell(e ralph.AgentError) {
	_ = w.x.Journal.Update(context.WithoutCancel(w.ctx), "engine", func(s *ralph.State) ([]ralph.Fact, error) {
		away := e.Class == ralph.ErrClassAuth || e.Class == ralph.ErrClassNetwork
		if l := s.Limit(w.agent); l != nil && (l.Class == e.Class || !l.Away() && !away) {
			return nil, nil
		}
		return []ralph.Fact{ralph.AgentRetries{Task: w.task, Agent: w.agent, Class: e.Class, Message: e.Message}}, nil
	})
}

// lookOut ends the turn when the engine is to stop: there is no iteration to wait for.
func (w *watch) lookOut(ctx context.Context) {
	for {
		s := w.x.Journal.State()
		if s.Session.Want == ralph.WantStop {
			w.cut(errWaitsOnly)
			return
		}
		if w.x.Journal.Wait(ctx, s.Seq) != nil {
			return
		}
	}
}

// settle makes a failed turn of one that was taken over. An agent that had come to its end
// at the same moment keeps its own outcome.
func (w *watch) settle(res *ralph.TurnResult) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !errors.Is(context.Cause(w.ctx), errTakenOver) || res.Exit != ralph.ExitUser || w.last == nil {
		return
	}
	e := *w.last
	e.Retried = true
	switch e.Class {
	case ralph.ErrClassAuth:
		e.Message = "the service refuses its login: " + e.Message
	default:
		e.Message = fmt.Sprintf("it tried again by itself for longer than errors.rate_limit_patience (%s): %s", ralph.ClockTime(w.x.Config.Patience), e.Message)
	}
	res.Exit, res.Err = ralph.ExitFailed, &e
}
