package claude

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/agent/wire"
)

const (
	// interruptGrace is the most that claude gets to end its turn by an interrupt
	// before it is sent INT. It answers in milliseconds.
	interruptGrace = 2 * time.Second
	// maxStops is how often one turn is kept from ending. claude itself lets a stop
	// pass after eight, but with an empty result.
	maxStops = 2

	callbackPre  = "pre-tool-use"
	callbackStop = "stop"
)

// talk is ralph's side of the control channel of one claude process: what it
// says to it, and the answers to what claude asks. A hook over this channel is bound
// to the turn by being in it, and claude waits for its answer. Before a tool that hook is
// where ralph says no, and the rules of settings are the second line (ask.go).
type talk struct {
	t    *wire.Turn
	c    *reader
	on   ralph.TurnHooks
	asks *wire.Asking
	// shown tells the tools that claude asks for only because ralph has it do so.
	shown func(tool string) bool
	in    *typed
	run   context.Context // of the process: outlives the caller's, to be ended in order
	end   context.CancelCauseFunc
	stop  func() bool // no more heed to the caller's context

	asked   context.Context // of open requests
	unask   context.CancelFunc
	waiting sync.WaitGroup

	// below the turn's lock
	open   map[string]context.CancelFunc // requests by claude's id of them
	passed map[string]passed             // by call: what ralph let pass before claude asked for it
	closed bool                          // nothing is asked any more
	halted error                         // why the turn is being ended
	failed error                         // of the machinery
	stops  int
}

func openTalk(ctx context.Context, t *wire.Turn, c *reader, on ralph.TurnHooks, limit time.Duration) *talk {
	k := &talk{t: t, c: c, on: on, in: newTyped(), open: map[string]context.CancelFunc{}, passed: map[string]passed{}}
	k.asked, k.unask = context.WithCancel(ctx)
	k.asks = wire.NewAsking(on.Ask, limit, func() { k.halt(wire.ErrOverTime, t.In.Grace) }).Tell(on)
	if ctx.Err() != nil {
		k.run, k.end = context.WithCancelCause(ctx) // it does not start
		k.stop = func() bool { return true }
		return k
	}
	k.run, k.end = context.WithCancelCause(context.WithoutCancel(ctx))
	k.stop = context.AfterFunc(ctx, func() {
		grace := t.In.Grace
		var quick interface{ Grace() time.Duration }
		if errors.As(context.Cause(ctx), &quick) {
			grace = quick.Grace()
		}
		k.halt(context.Cause(ctx), grace)
	})
	return k
}

// begin says what the turn is about. Both lines wait in the pipe until claude reads.
func (k *talk) begin(prompt string) {
	type matcher struct {
		Matcher *string  `json:"matcher"`
		IDs     []string `json:"hookCallbackIds"`
		Timeout int      `json:"timeout,omitempty"` // seconds; claude's own is 600
	}
	hooks := map[string][]matcher{}
	if k.on.Ask != nil {
		tools := Asked()
		hooks["PreToolUse"] = []matcher{{&tools, []string{callbackPre}, int(hookWait.Seconds())}}
	}
	if k.on.Stopping != nil {
		hooks["Stop"] = []matcher{{IDs: []string{callbackStop}}}
	}
	if len(hooks) > 0 {
		k.request("hooks", map[string]any{"subtype": "initialize", "hooks": hooks})
	}
	k.say(map[string]any{"type": "user", "message": map[string]any{
		"role": "user", "content": []any{map[string]any{"type": "text", "text": prompt}},
	}})
}

func (k *talk) say(v any) {
	line, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("claude: a line of our own cannot be encoded: %v", err)) // maps of strings always can
	}
	k.in.Write(append(line, '\n'))
}

func (k *talk) request(id string, request any) {
	k.say(map[string]any{"type": "control_request", "request_id": id, "request": request})
}

func (k *talk) interrupt() {
	k.request("interrupt", map[string]string{"subtype": "interrupt"})
}

func (k *talk) respond(id string, response any) {
	k.say(map[string]any{"type": "control_response", "response": map[string]any{
		"subtype": "success", "request_id": id, "response": response,
	}})
}

// halt ends the turn: an interrupt, and when that does not help, signals.
func (k *talk) halt(cause error, grace time.Duration) {
	k.t.Mu.Lock()
	first := k.halted == nil
	if first {
		k.halted = cause
	}
	k.t.Mu.Unlock()
	if !first {
		k.end(cause) // a second wish is a stronger one
		return
	}
	k.interrupt()
	if grace <= 0 {
		grace = interruptGrace
	}
	timer := time.AfterFunc(min(interruptGrace, grace/2), func() { k.end(cause) })
	context.AfterFunc(k.run, func() { timer.Stop() })
}

// heard takes a line of the control channel, under the turn's lock.
func (k *talk) heard(line []byte) {
	var e controlLine
	if json.Unmarshal(line, &e) != nil {
		k.c.unknown("control", line)
		return
	}
	switch {
	case e.Type == "control_cancel_request":
		if cancel := k.open[e.ID]; cancel != nil {
			cancel()
		}
	case e.Type == "control_response":
		if e.Response.ID == "hooks" && e.Response.Subtype == "error" {
			// Without its hooks a turn is not held to the rules.
			k.c.noise.Add("claude did not take the hooks of this turn: " + e.Response.Error + "\n")
			k.in.Close()
			k.end(wire.ErrEnough)
		}
	case e.Request.Subtype == "can_use_tool":
		k.ask(e)
	case e.Request.Subtype == "hook_callback" && e.Request.Callback == callbackPre:
		k.before(e)
	case e.Request.Subtype == "hook_callback":
		k.respond(e.ID, k.stopping(e.Request))
	default:
		k.c.unknown(e.Request.Subtype, line)
		k.say(map[string]any{"type": "control_response", "response": map[string]any{
			"subtype": "error", "request_id": e.ID, "error": "ralph does not answer " + e.Request.Subtype,
		}})
	}
}

type controlLine struct {
	Type     string         `json:"type"`
	ID       string         `json:"request_id"`
	Request  controlRequest `json:"request"`
	Response struct {
		Subtype string `json:"subtype"`
		ID      string `json:"request_id"`
		Error   string `json:"error"`
	} `json:"response"`
}

type controlRequest struct {
	Subtype  string          `json:"subtype"`
	Tool     string          `json:"tool_name"`
	Input    json.RawMessage `json:"input"`
	Call     string          `json:"tool_use_id"`
	Callback string          `json:"callback_id"`
}

// stopping answers the hook before claude's end. Of a session that is not this turn's, or
// that does not say which it is, nothing is changed.
func (k *talk) stopping(r controlRequest) any {
	var in struct {
		Session string `json:"session_id"`
		Words   string `json:"last_assistant_message"`
	}
	if json.Unmarshal(r.Input, &in) != nil || in.Session == "" || in.Session != k.c.session {
		return struct{}{}
	}
	if k.on.Stopping == nil || k.stops >= maxStops || k.halted != nil {
		return struct{}{}
	}
	if in.Words == "" {
		in.Words = k.c.words
	}
	reason := k.on.Stopping(in.Words)
	if reason == "" {
		return struct{}{}
	}
	k.stops++
	return map[string]string{"decision": "block", "reason": reason}
}

// errUnanswered is why a turn ends whose request nobody answered in time.
var errUnanswered = errors.New("nobody answered the agent in time")

// close ends what waits for answers; it may be called twice. The error is one of the
// machinery.
func (k *talk) close() error {
	k.stop()
	k.t.Mu.Lock()
	k.closed = true
	k.t.Mu.Unlock()
	k.unask()
	k.waiting.Wait()
	k.asks.Stop()
	k.end(nil)
	k.in.Close()
	return k.failed
}

// settle tells a process that ended because ralph wanted it from one that ended by
// itself: after an interrupt it leaves with an exit code of its own.
func (k *talk) settle(res *ralph.TurnResult) {
	if k.halted == nil || res.Exit == ralph.ExitSpawn {
		return
	}
	if res.Exit = ralph.ExitUser; errors.Is(k.halted, wire.ErrOverTime) {
		res.Exit = ralph.ExitTimeout
	}
}

// typed is what is written to a process: a reader that waits for more, and a writer
// that never waits, so that it can be used below the turn's lock.
type typed struct {
	mu     sync.Mutex
	more   *sync.Cond
	buf    []byte
	closed bool
}

func newTyped() *typed {
	b := &typed{}
	b.more = sync.NewCond(&b.mu)
	return b
}

// Write adds p; after Close it is dropped.
func (b *typed) Write(p []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.closed {
		b.buf = slices.Concat(b.buf, p)
		b.more.Signal()
	}
}

func (b *typed) Close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	b.more.Broadcast()
}

// Read implements io.Reader.
func (b *typed) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.buf) == 0 && !b.closed {
		b.more.Wait()
	}
	if len(b.buf) == 0 {
		return 0, io.EOF
	}
	n := copy(p, b.buf)
	b.buf = b.buf[n:]
	return n, nil
}
