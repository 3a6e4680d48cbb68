package scripted

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/agent/wire"
)

// How the scripted agent asks in the middle of its turn: it makes a named pipe, prints
// a line of its own, and reads the answer from the pipe.
//
//	<ralph-ask>{"n":1,"request":{"kind":"approval","op":"command","command":"make"}}</ralph-ask>
//	<ralph-ask-over>{"n":1}</ralph-ask-over>     it needs no answer any more
//	<ralph-event>{"kind":"plan.updated", ...}</ralph-event>
//
// The driver opens the pipe when it reads the line, and removes its name at once.

// envAskDir is the folder for the pipes.
const envAskDir = "RALPH_ASK_DIR"

type askLine struct {
	N       int           `json:"n"`
	Request ralph.Request `json:"request"`
}

// replyLine is the line in the pipe.
type replyLine struct {
	Allow bool   `json:"allow"`
	Text  string `json:"text,omitempty"`
}

func askPipe(dir string, n int) string { return filepath.Join(dir, "ask-"+strconv.Itoa(n)) }

// errStopped is the cause with which a turn ends whose question ends it.
var errStopped = errors.New("what the agent asked ends its turn")

// asks is the driver's side of a turn.
type asks struct {
	turn   *wire.Turn
	dir    string
	ctx    context.Context // of the turn
	stop   context.CancelCauseFunc
	asking *wire.Asking
	work   sync.WaitGroup

	begun bool                       // under the turn's lock, as over
	over  map[int]context.CancelFunc // open asks
	mu    sync.Mutex
	err   error // machinery
}

// newPlayedAsks begins the clock of the turn, which stands still while it asks.
func newPlayedAsks(ctx context.Context, t *wire.Turn, on ralph.TurnHooks) *asks {
	a := &asks{turn: t, dir: t.In.Scratch, over: map[int]context.CancelFunc{}}
	a.ctx, a.stop = context.WithCancelCause(ctx)
	a.asking = wire.NewAsking(on.Ask, t.In.Timeout, func() { a.stop(wire.ErrOverTime) }).Tell(on)
	t.In.Timeout = 0 // kept here
	return a
}

// line takes a line of the agent's output; false when it is one of its words. It is
// called under the turn's lock.
func (a *asks) line(text string) bool {
	var ask askLine
	if tagged(text, "ralph-ask", &ask) {
		a.begin(ask)
		return true
	}
	if tagged(text, "ralph-ask-over", &ask) {
		if over := a.over[ask.N]; over != nil {
			over()
		}
		return true
	}
	var e ralph.StreamEvent
	if tagged(text, "ralph-event", &e) {
		a.emit(e)
		return true
	}
	return false
}

// emit passes an event on, after the start of the turn, which the played agent leaves out.
func (a *asks) emit(e ralph.StreamEvent) {
	if !a.begun {
		a.begun = true
		a.turn.Emit(ralph.StreamEvent{Kind: ralph.StreamTurn})
	}
	a.turn.Emit(e)
}

func (a *asks) begin(ask askLine) {
	q := ask.Request
	q.ID = strconv.Itoa(ask.N)
	name := askPipe(a.dir, ask.N)
	pipe, err := os.OpenFile(name, os.O_WRONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, syscall.ENXIO) { // nobody reads any more: it has taken the question back, which is its next line
		pipe, err = os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	}
	if err = errors.Join(err, os.Remove(name)); err != nil {
		a.broken(fmt.Errorf("open the pipe for the agent's answer: %w", err))
		return
	}
	kind := ralph.StreamApproval
	if q.Kind == ralph.RequestQuestion {
		kind = ralph.StreamInput
	}
	a.emit(ralph.StreamEvent{Kind: kind, Request: q})
	ctx, cancel := context.WithCancel(a.ctx)
	a.over[ask.N] = cancel
	a.work.Go(func() {
		defer cancel()
		defer pipe.Close()
		reply, err := a.asking.Answer(ctx, q)
		// What the agent says once it has its answer comes after the word that it has.
		a.turn.Mu.Lock()
		defer a.turn.Mu.Unlock()
		switch {
		case err != nil && ctx.Err() == nil:
			a.broken(err)
		case err == nil && reply.Stop:
			a.stop(errStopped)
		case err == nil:
			b, err := json.Marshal(replyLine{reply.Allow, reply.Text})
			if err == nil {
				_, err = pipe.Write(append(b, '\n'))
			}
			if err != nil && !errors.Is(err, syscall.EPIPE) { // an agent that is gone needs none
				a.broken(fmt.Errorf("answer the agent: %w", err))
			}
		}
		a.turn.Emit(ralph.StreamEvent{Kind: ralph.StreamResolved, Request: ralph.Request{ID: q.ID}})
	})
}

func (a *asks) broken(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.err == nil {
		a.err = err
	}
	a.stop(err)
}

// close ends what is open, and tells how long the turn waited.
func (a *asks) close(res *ralph.TurnResult) error {
	a.stop(context.Canceled)
	a.work.Wait()
	res.Waited = a.asking.Stop()
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.err
}
