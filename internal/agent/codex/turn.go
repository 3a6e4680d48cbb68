package codex

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/agent/wire"
	"github.com/ralph-loop/ralph/internal/proc"
	"github.com/ralph-loop/ralph/internal/text"
)

// errHalted is the cause with which an answer ends its turn (Reply.Stop).
var errHalted = errors.New("nobody answered in time")

// errNoServer marks the error of a process that lives but is no app-server.
var errNoServer = errors.New("is it codex? see `codex app-server --help`")

// turn is one turn of ralph's on one thread of an app-server. What it hears it
// hears on the goroutine that reads, under its lock.
type turn struct {
	*wire.Turn
	server *appServer
	ask    func(context.Context, ralph.Request) (ralph.Reply, error)
	on     ralph.TurnHooks
	asking *wire.Asking
	asks   sync.WaitGroup
	askCtx context.Context // ends with the turn

	question *question // nil: it is a turn of work

	known chan struct{} // id is known
	done  chan struct{} // turn/completed came, or codex refused to begin

	// All below is under mu.
	thread, id string
	begun      bool // the turn was asked for: what comes now may be of it
	closed     bool // the turn is over for us: nothing more is heard
	ending     bool // nobody is asked any more
	events     int64
	status     string
	refused    error     // why codex did not begin
	askErr     error     // of whoever should have answered a request
	failure    turnError // of turn/completed
	words      string    // the last message
	final      string    // the last one that codex calls its answer
	usage      ralph.Usage
	fill       ralph.ContextUse
	compacts   int
	denied     []string
	decided    map[string]bool // items that somebody was asked about
	edits      map[string]edit // under way, by item
	cancels    map[string]context.CancelFunc
	compacted  bool
}

func newCodexTurn(s *appServer, in ralph.TurnInput, on ralph.TurnHooks) *turn {
	return &turn{
		Turn: wire.NewTurn(in, on), server: s, ask: on.Ask, on: on, known: make(chan struct{}), done: make(chan struct{}),
		edits: map[string]edit{}, decided: map[string]bool{}, cancels: map[string]context.CancelFunc{},
	}
}

// run carries the turn out.
func (t *turn) run(ctx context.Context) (ralph.TurnResult, error) {
	run, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	t.Stop = stop
	t.asking = wire.NewAsking(t.ask, t.In.Timeout, func() { stop(wire.ErrOverTime) }).Tell(t.on)
	asks, endAsks := context.WithCancel(run)
	t.askCtx = asks
	defer endAsks()
	err := t.begin(run)
	if err == nil {
		t.await(run)
	}
	t.Mu.Lock()
	t.ending = true
	if err != nil {
		t.finish("") // it never began: what was asked all the same waits for no end
	}
	t.Mu.Unlock()
	endAsks()
	t.asks.Wait()
	if err != nil && run.Err() != nil && !t.server.answers(run) {
		t.server.kill() // it let the turn wait, and does not answer anybody: the next turn gets another one
	}
	waited := t.asking.Stop()
	leftover := 0
	if !t.server.gone() {
		leftover = t.clean(ctx)
	}
	t.Mu.Lock()
	defer t.Mu.Unlock()
	t.closed = true
	t.server.unroute(t)
	res := ralph.TurnResult{
		Code: -1, Session: t.thread, Events: t.events, Bytes: t.Bytes, Usage: t.usage, Context: t.fill, Compacts: t.compacts,
		Denied: t.denied, Leftover: leftover, Waited: waited, Text: text.Tail(cmp.Or(t.final, t.words), wire.MaxText),
	}
	if t.RawErr != nil {
		return res, fmt.Errorf("keep the agent's output: %w", t.RawErr)
	}
	if t.askErr != nil {
		return res, t.askErr
	}
	err = t.conclude(run, &res, err)
	return res, err
}

// begin opens the thread and asks for the turn. An error means that there is none.
func (t *turn) begin(ctx context.Context) error {
	select {
	case <-t.server.ready:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if err := t.server.refuse; err != nil {
		if !t.server.gone() {
			t.server.kill() // it does not speak our language: the next turn tries anew
			return fmt.Errorf("%w: %w", errNoServer, err)
		}
		return err
	}
	if err := t.open(ctx); err != nil {
		return err
	}
	t.Mu.Lock()
	t.begun = true
	t.Mu.Unlock()
	switch {
	case t.In.Compact:
		t.server.rpc.Send("thread/compact/start", map[string]any{"threadId": t.thread}, t.answered)
	case t.In.Review:
		target := map[string]string{"type": "custom", "instructions": t.In.Prompt}
		t.server.rpc.Send("review/start", map[string]any{"threadId": t.thread, "target": target}, func(a wire.RPCAnswer) {
			if a.Err != nil { // a version without it: an ordinary turn looks
				t.work()
				return
			}
			t.answered(a)
		})
	default:
		t.work()
	}
	return nil
}

// work asks for a turn of work, or with a schema for one of answers.
func (t *turn) work() {
	params := map[string]any{
		"threadId": t.thread, "input": []any{map[string]string{"type": "text", "text": t.In.Prompt}},
	}
	if len(t.In.Schema) > 0 {
		params["outputSchema"] = t.In.Schema
	}
	t.server.rpc.Send("turn/start", params, t.answered)
}

// open starts a thread, or goes on with one. On resume no notification says so:
// the answer counts.
func (t *turn) open(ctx context.Context) error {
	mark := newMark()
	if t.In.Resume != "" {
		mark = t.server.mark(t.In.Resume, mark)
		if !t.server.route(t.In.Resume, t) {
			return fmt.Errorf("a turn is under way on the thread %s already", t.In.Resume)
		}
		t.Mu.Lock()
		t.thread = t.In.Resume
		t.Mu.Unlock()
	}
	params := t.opening(ctx, mark)
	method := "thread/start"
	if t.In.Resume != "" {
		method, params["threadId"], params["excludeTurns"] = "thread/resume", t.In.Resume, true
	}
	answer, err := t.server.rpc.Call(ctx, method, params)
	if err != nil {
		return err
	}
	var got struct {
		Thread struct {
			ID string `json:"id"`
		} `json:"thread"`
		Model string `json:"model"`
	}
	if json.Unmarshal(answer, &got) != nil || got.Thread.ID == "" {
		return errors.New("codex answered " + method + " without a thread: " + wire.Compact(answer, wire.MaxSaidTool))
	}
	t.server.mark(got.Thread.ID, mark)
	if !t.server.route(got.Thread.ID, t) {
		return fmt.Errorf("a turn is under way on the thread %s already", got.Thread.ID)
	}
	t.Mu.Lock()
	defer t.Mu.Unlock()
	t.thread = got.Thread.ID
	if t.question != nil {
		t.question.answers = got.Model
	}
	t.Emit(ralph.StreamEvent{Kind: ralph.StreamSession, Thread: t.thread})
	return nil
}

// opening is what a thread is opened by. mark marks its commands.
func (t *turn) opening(ctx context.Context, mark string) map[string]any {
	d := t.server.driver
	var params map[string]any
	if t.question != nil {
		params = t.openQuestion(ctx)
	} else {
		set := commandEnv(t.server.env, t.In.Env)
		set[markVar] = mark
		config := map[string]any{"shell_environment_policy.set": set}
		if len(t.In.MCP) > 0 {
			config["mcp_servers."+wire.OwnServer] = mcpServer(t.In.MCP, t.In.Env)
		}
		params = map[string]any{
			"cwd": t.In.Dir, "approvalPolicy": approvalPolicy(t.ask != nil), "sandbox": d.sandboxMode(), "config": config,
		}
	}
	if d.spec.Model != "" && params["model"] == nil {
		params["model"] = d.spec.Model
	}
	return params
}

// answered takes the answer to the request for the turn. It and turn/started may come
// in either order; a compaction has no name in its answer.
func (t *turn) answered(a wire.RPCAnswer) {
	t.Mu.Lock()
	defer t.Mu.Unlock()
	if a.Err != nil {
		t.refused = a.Err
		t.finish("")
		return
	}
	var got struct {
		Turn struct {
			ID string `json:"id"`
		} `json:"turn"`
	}
	if json.Unmarshal(a.Result, &got) == nil && got.Turn.ID != "" {
		t.name(got.Turn.ID)
	}
}

// name tells which of the thread's turns is ours; the lock is held.
func (t *turn) name(id string) {
	if t.id == "" {
		t.id = id
		close(t.known)
	}
}

// finish ends the turn; the lock is held.
func (t *turn) finish(status string) {
	select {
	case <-t.done: // the end comes once
	default:
		t.status = status
		close(t.done)
	}
}

// await returns when the turn is over: by itself, because its process died, or since
// it has to end. Then it is interrupted, and its end waited for, with a bound.
func (t *turn) await(ctx context.Context) {
	select {
	case <-t.done:
		return
	case <-t.server.dead:
		return
	case <-ctx.Done():
	}
	limit := time.NewTimer(graceOf(ctx, t.In.Grace))
	defer limit.Stop()
	select {
	case <-t.known:
		t.Mu.Lock()
		params := map[string]any{"threadId": t.thread, "turnId": t.id}
		t.Mu.Unlock()
		t.server.rpc.Send("turn/interrupt", params, func(wire.RPCAnswer) {}) // an error: it is over already
	case <-t.done:
	case <-t.server.dead:
	case <-limit.C:
		t.server.kill()
		return
	}
	select {
	case <-t.done:
	case <-t.server.dead:
	case <-limit.C:
		t.server.kill() // it does not listen: its other turns end as well, and are tried again
	}
}

// graceOf is how long a turn may take to end when it is told to.
func graceOf(ctx context.Context, usual time.Duration) time.Duration {
	var hurry interface{ Grace() time.Duration }
	switch {
	case errors.As(context.Cause(ctx), &hurry):
		return hurry.Grace()
	case usual > 0:
		return usual
	}
	return settle
}

// clean ends what the turn's commands left running: codex lets them run on behind
// an interrupt or the end of a turn. It returns how many there were. The thread is
// let go of, so that it takes another environment the next time.
func (t *turn) clean(ctx context.Context) int {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), settle)
	defer stop()
	listed, found := 0, 0
	for _, thread := range t.server.threads(t) {
		params := map[string]any{"threadId": thread}
		var list struct {
			Data []json.RawMessage `json:"data"`
		}
		if answer, err := t.server.rpc.Call(ctx, "thread/backgroundTerminals/list", params); err == nil && json.Unmarshal(answer, &list) == nil {
			listed += len(list.Data)
		}
		// Errors: a version without them. What is marked is found in any case.
		_, _ = t.server.rpc.Call(ctx, "thread/backgroundTerminals/clean", params)
		_, _ = t.server.rpc.Call(ctx, "thread/unsubscribe", params)
	}
	t.Mu.Lock()
	thread := t.thread
	t.Mu.Unlock()
	if thread != "" {
		kv := markVar + "=" + t.server.mark(thread, newMark())
		found = t.server.driver.proc.EndMarked(ctx, kv, time.Second)
	}
	return max(listed, found)
}

// conclude settles the turn; the lock is held. err is why it did not begin.
func (t *turn) conclude(run context.Context, res *ralph.TurnResult, err error) error {
	over := errors.Is(context.Cause(run), wire.ErrOverTime)
	stopped := run.Err() != nil && !over
	if t.refused != nil && err == nil {
		err = t.refused
	}
	if lost(err) {
		res.Session = "" // so that the next try does not ask for it again
	}
	switch {
	case stopped:
		res.Exit = ralph.ExitUser
	case t.status == string(ralph.TurnCompleted):
		res.Exit, res.Code = ralph.ExitOK, 0
		if t.In.Compact && !t.compacted {
			res.Exit = ralph.ExitFailed
			res.Err = &ralph.AgentError{Class: ralph.ErrClassOther, Message: "codex did not compact its session"}
		}
		if text := strings.TrimSpace(cmp.Or(t.final, t.words)); len(t.In.Schema) > 0 && json.Valid([]byte(text)) {
			res.Answer = json.RawMessage(text)
		}
	case over:
		res.Exit = ralph.ExitTimeout
	case t.status == string(ralph.TurnFailed):
		res.Exit, res.Err = ralph.ExitFailed, t.apiError()
	case t.status != "":
		res.Exit = ralph.ExitCrashed // interrupted, by somebody else
	case errors.Is(err, errNoServer):
		t.explain(res, err)
	case t.server.gone():
		return t.died(res)
	case err != nil:
		t.explain(res, err)
	}
	return nil
}

// died settles a turn whose process is gone.
func (t *turn) died(res *ralph.TurnResult) error {
	s := t.server
	start := (*proc.StartError)(nil)
	res.Code, res.Leftover = s.ended.Code, res.Leftover+s.ended.Leftover
	switch {
	case errors.As(s.err, &start):
		res.Exit = ralph.ExitSpawn
		res.Err = &ralph.AgentError{Class: ralph.ErrClassSpawn, Message: start.Error(), Lasting: start.Lasting()}
	case s.err != nil:
		return fmt.Errorf("run the agent: %w", s.err)
	case s.ended.Signal != "" || s.ended.Code == 0 || s.ended.Ended == proc.EndedCancelled: // also by us, for another turn
		res.Exit = ralph.ExitCrashed
	default:
		res.Exit = ralph.ExitFailed
		res.Err = wire.Failure(s.stderr(), s.obituary())
	}
	return nil
}

// explain settles a turn that codex did not begin.
func (t *turn) explain(res *ralph.TurnResult, err error) {
	res.Exit = ralph.ExitFailed
	refusal := (*wire.RPCError)(nil)
	if !errors.As(err, &refusal) {
		res.Err = &ralph.AgentError{Class: ralph.ErrClassOutput, Message: text.Cut(err.Error(), wire.MaxMessage)}
		return
	}
	res.Err = &ralph.AgentError{Class: wire.Classify(refusal.Message), Message: text.Cut("codex: "+refusal.Message, wire.MaxMessage)}
	if strings.Contains(string(refusal.Data), "input_too_large") {
		res.Err.Class = ralph.ErrClassRequest // over 1,048,576 characters
	}
}

// lost reports that codex does not have the thread that it was asked for: its files
// are gone, or it never had a turn. There is only prose for that (0.169.0).
func lost(err error) bool {
	refusal := (*wire.RPCError)(nil)
	return errors.As(err, &refusal) && (strings.HasPrefix(refusal.Message, "no rollout found") || strings.HasPrefix(refusal.Message, "thread not found"))
}
