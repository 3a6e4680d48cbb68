package agent

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

type playedAsk struct {
	N       int           `json:"n"`
	Request ralph.Request `json:"request"`
}

// playedReply is the line in the pipe.
type playedReply struct {
	Allow bool   `json:"allow"`
	Text  string `json:"text,omitempty"`
}

func askPipe(dir string, n int) string { return filepath.Join(dir, "ask-"+strconv.Itoa(n)) }

// errStopped is the cause with which a turn ends whose question ends it.
var errStopped = errors.New("what the agent asked ends its turn")

// playedAsks is the driver's side of a turn.
type playedAsks struct {
	turn   *turn
	dir    string
	ctx    context.Context // of the turn
	stop   context.CancelCauseFunc
	asking *asking
	work   sync.WaitGroup

	begun bool                       // under the turn's lock, as over
	over  map[int]context.CancelFunc // open asks
	mu    sync.Mutex
	err   error // machinery
}

// newPlayedAsks begins the clock of the turn, which stands still while it asks.
func newPlayedAsks(ctx context.Context, t *turn, on ralph.TurnHooks) *playedAsks {
	a := &playedAsks{turn: t, dir: t.in.Scratch, over: map[int]context.CancelFunc{}}
	a.ctx, a.stop = context.WithCancelCause(ctx)
	a.asking = newAsking(on.Ask, t.in.Timeout, func() { a.stop(errOverTime) }).tell(on)
	t.in.Timeout = 0 // kept here
	return a
}

// line takes a line of the agent's output; false when it is one of its words. It is
// called under the turn's lock.
func (a *playedAsks) line(text string) bool {
	var ask playedAsk
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
func (a *playedAsks) emit(e ralph.StreamEvent) {
	if !a.begun {
		a.begun = true
		a.turn.emit(ralph.StreamEvent{Kind: ralph.StreamTurn})
	}
	a.turn.emit(e)
}

func (a *playedAsks) begin(ask playedAsk) {
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
		reply, err := a.asking.answer(ctx, q)
		switch {
		case err != nil && ctx.Err() == nil:
			a.broken(err)
		case err == nil && reply.Stop:
			a.stop(errStopped)
		case err == nil:
			b, err := json.Marshal(playedReply{reply.Allow, reply.Text})
			if err == nil {
				_, err = pipe.Write(append(b, '\n'))
			}
			if err != nil && !errors.Is(err, syscall.EPIPE) { // an agent that is gone needs none
				a.broken(fmt.Errorf("answer the agent: %w", err))
			}
		}
		a.turn.mu.Lock()
		defer a.turn.mu.Unlock()
		a.turn.emit(ralph.StreamEvent{Kind: ralph.StreamResolved, Request: ralph.Request{ID: q.ID}})
	})
}

func (a *playedAsks) broken(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.err == nil {
		a.err = err
	}
	a.stop(err)
}

// close ends what is open, and tells how long the turn waited.
func (a *playedAsks) close(res *ralph.TurnResult) error {
	a.stop(context.Canceled)
	a.work.Wait()
	res.Waited = a.asking.stop()
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.err
}
