package api

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/agent/wire"
	"github.com/ralph-loop/ralph/internal/text"
)

// maxStops is how often one turn is kept from ending.
const maxStops = 2

// turn is the driver's side of one turn.
type turn struct {
	t       *wire.Turn
	on      ralph.TurnHooks
	session *session
	free    bool
	ctx     context.Context
	stop    context.CancelCauseFunc
	asking  *wire.Asking
	work    sync.WaitGroup
	toLoop  *io.PipeWriter

	// Under the turn's lock.
	lines    wire.Events
	stderr   wire.Pieces
	noise    wire.Tail
	said     string // the last message
	result   json.RawMessage
	usage    ralph.Usage
	context  ralph.ContextUse
	compacts int
	denied   []string
	stops    int
	err      *ralph.AgentError
	over     bool // the loop has said that its turn is over

	mu     sync.Mutex
	failed error // of the machinery
}

// send tells the loop something, without waiting until it reads.
func (a *turn) send(v any) {
	b, err := json.Marshal(v)
	if err != nil {
		_ = a.broken(fmt.Errorf("tell the agent: %w", err))
		return
	}
	a.work.Go(func() { _, _ = a.toLoop.Write(append(b, '\n')) }) // one that is gone needs nothing
}

// broken keeps the first failure of the machinery, which ends the turn.
func (a *turn) broken(err error) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err != nil && a.failed == nil {
		a.failed = err
		a.stop(err)
	}
	return a.failed
}

func (a *turn) wrong(s string, more bool) {
	a.noise.Add(s)
	if !more {
		a.noise.Add("\n")
	}
	a.t.PrintError(s, more)
}

// line takes a line of the loop's.
func (a *turn) line(b []byte) {
	var l line
	if len(b) == 0 {
		return
	}
	if json.Unmarshal(b, &l) != nil {
		a.t.Print(text.Head(wire.Valid(b), wire.MaxToolOutput), false)
		return
	}
	switch {
	case l.Record != nil:
		if err := a.session.add(l.Record, l.Anew); err != nil {
			_ = a.broken(err)
		}
	case l.Answer != nil:
		a.result = append(json.RawMessage(nil), l.Answer...)
	case l.Stopping != nil:
		a.stopping(*l.Stopping)
	case l.Event != nil:
		a.event(*l.Event)
	}
}

func (a *turn) event(e ralph.StreamEvent) {
	switch e.Kind {
	case ralph.StreamApproval, ralph.StreamInput:
		a.t.Emit(e)
		a.ask(e.Request)
		return
	case ralph.StreamItemDone:
		if e.Item.Kind == ralph.ItemMessage {
			a.said = text.Tail(e.Item.Text, wire.MaxText)
		}
		if e.Item.Status == ralph.ItemDeclined && len(a.denied) < wire.MaxDenied {
			a.denied = append(a.denied, wire.StartLine(e.Item.Text, wire.MaxSaidTool))
		}
	case ralph.StreamUsage:
		e.Usage.Known = a.free
		a.usage, a.context = e.Usage, e.Context
	case ralph.StreamCompacted:
		a.compacts++
	case ralph.StreamError:
		if !e.WillRetry {
			a.err = e.Err
		}
	case ralph.StreamTurnDone: // told when its process is gone
		a.over = true
		_ = a.toLoop.Close()
		return
	}
	a.t.Emit(e)
}

// ask puts a request of the loop's to whoever answers, while the loop waits.
func (a *turn) ask(q ralph.Request) {
	a.work.Go(func() {
		r, err := a.asking.Answer(a.ctx, q)
		switch {
		case err != nil && a.ctx.Err() == nil:
			_ = a.broken(err)
		case err == nil && r.Stop:
			a.stop(errStopped)
		case err == nil:
			a.send(answer{ID: q.ID, Allow: r.Allow, Text: r.Text})
		}
		a.t.Mu.Lock()
		defer a.t.Mu.Unlock()
		a.t.Emit(ralph.StreamEvent{Kind: ralph.StreamResolved, Request: ralph.Request{ID: q.ID}})
	})
}

// stopping answers a model that is about to end its turn.
func (a *turn) stopping(s stopping) {
	reason := ""
	if a.on.Stopping != nil && a.stops < maxStops {
		if reason = a.on.Stopping(s.Words); reason != "" {
			a.stops++
		}
	}
	a.send(answer{ID: s.ID, Text: reason})
}

// conclude settles a turn whose process has ended.
func (a *turn) conclude(res *ralph.TurnResult) {
	a.t.Mu.Lock()
	defer a.t.Mu.Unlock()
	a.lines.Close()
	a.stderr.Close()
	res.Events, res.Dropped = a.lines.N+a.stderr.N, a.lines.Dropped
	if res.Exit == ralph.ExitSpawn {
		return
	}
	res.Text, res.Answer, res.Session, res.Usage = a.said, a.result, a.session.id, a.usage
	res.Context, res.Compacts, res.Denied = a.context, a.compacts, a.denied
	switch {
	case res.Exit != ralph.ExitOK && res.Exit != ralph.ExitFailed:
	case a.err != nil:
		res.Exit, res.Err = ralph.ExitFailed, a.err
	case res.Exit == ralph.ExitFailed:
		res.Err = wire.Failure(text.Plain(a.noise.String()), "")
	case !a.over:
		res.Exit, res.Err = ralph.ExitFailed, &ralph.AgentError{Class: ralph.ErrClassOutput, Message: "the agent ended before its turn was over"}
	}
	a.t.Emit(ralph.StreamEvent{Kind: ralph.StreamTurnDone, Thread: res.Session, Status: wire.EndStatus(res.Exit), Err: res.Err})
}
