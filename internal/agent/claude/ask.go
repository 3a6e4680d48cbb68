package claude

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/agent/wire"
)

// hookWait is how long claude waits for the hook before a tool, and so for a person. After
// it the call is asked for as if there were no hook. Milliseconds of more than 24 days do
// not fit into claude's timers.
const hookWait = 14 * 24 * time.Hour

// passed is a call that ralph let pass in the hook: where claude's shell was, which keeps
// its folder, and with which input.
type passed struct {
	dir   string
	input []byte // compact
	allow bool
}

// before answers the hook before a tool. What ralph denies is denied here: the answer to
// can_use_tool comes too late where a person's PermissionRequest hook says yes, for claude
// takes whichever of the two comes first (2.1.197, 2.1.329), and of hooks before a tool one
// that denies wins. What ralph allows is left to claude's rules, which ask for it (a hook
// that allowed would switch off what else holds it), and that question is answered at once.
func (k *talk) before(e controlLine) {
	var in struct {
		Dir   string          `json:"cwd"`
		Mode  string          `json:"permission_mode"`
		Tool  string          `json:"tool_name"`
		Input json.RawMessage `json:"tool_input"`
		Call  string          `json:"tool_use_id"`
	}
	// What cannot be read leaves the tool without a name, which is asked for below.
	_ = json.Unmarshal(e.Request.Input, &in)
	if in.Call == "" {
		in.Call = e.Request.Call
	}
	p := passed{input: canonical(in.Input)}
	if in.Dir != k.t.In.Dir {
		p.dir = in.Dir
	}
	leave := func() {
		if len(k.passed) < wire.MaxAsks {
			k.passed[in.Call] = p
		}
		k.respond(e.ID, PreTool("ask", "ralph answers it"))
	}
	// In mode dontAsk claude denies what has to be asked for: nobody needs to be.
	if k.closed || in.Tool == "" || in.Mode == "dontAsk" || k.own(in.Tool) {
		leave()
		return
	}
	k.judge(e.ID, p.dir, controlRequest{Tool: in.Tool, Input: in.Input, Call: in.Call}, func(q ralph.Request, r ralph.Reply) {
		why, denied := denial(q, r)
		if !denied {
			p.allow = true
			leave()
			return
		}
		k.respond(e.ID, PreTool("deny", why))
		if r.Stop {
			k.interrupt()
		}
	})
}

// own reports whether a tool is ralph's, which talks to this very turn.
func (k *talk) own(tool string) bool {
	return strings.HasPrefix(tool, wire.OwnTools) && len(k.t.In.MCP) > 0
}

// ask answers can_use_tool. A call that ralph let pass before, and that a person's own hook
// has not changed since, passes.
func (k *talk) ask(e controlLine) {
	if k.closed { // its last words; nobody waits for an answer
		return
	}
	p := k.passed[e.Request.Call]
	delete(k.passed, e.Request.Call)
	if k.own(e.Request.Tool) || p.allow && bytes.Equal(p.input, canonical(e.Request.Input)) {
		k.respond(e.ID, reply(ralph.Request{Kind: ralph.RequestApproval}, e.Request.Input, ralph.Reply{Allow: true}))
		return
	}
	k.judge(e.ID, p.dir, e.Request, func(q ralph.Request, r ralph.Reply) {
		k.respond(e.ID, reply(q, e.Request.Input, r))
	})
}

// judge hands a request on to whoever answers it, and claude goes on reading meanwhile.
// answer is called below the turn's lock, or not at all when nobody waits any more. dir is
// where claude's shell is, "" for the turn's folder.
func (k *talk) judge(id, dir string, r controlRequest, answer func(ralph.Request, ralph.Reply)) {
	q := request(id, r)
	q.Dir = dir
	q.Shown = k.shown != nil && k.shown(r.Tool)
	kind := ralph.StreamApproval
	if q.Kind == ralph.RequestQuestion {
		kind = ralph.StreamInput
	}
	k.c.turn.Emit(ralph.StreamEvent{Kind: kind, Request: q})
	ctx, cancel := context.WithCancel(k.asked)
	k.open[id] = cancel
	k.waiting.Go(func() {
		defer cancel()
		reply, err := k.asks.Answer(ctx, q)
		k.t.Mu.Lock()
		defer k.t.Mu.Unlock()
		delete(k.open, id)
		k.c.turn.Emit(ralph.StreamEvent{Kind: ralph.StreamResolved, Request: ralph.Request{ID: id}})
		switch {
		case ctx.Err() != nil: // nobody waits for it any more
			return
		case err != nil:
			k.failed = errors.Join(k.failed, err)
			k.end(err)
			return
		}
		if reply.Stop && k.halted == nil {
			k.halted = errUnanswered
		}
		if !reply.Allow && q.Kind == ralph.RequestApproval || reply.Stop {
			k.c.refused[r.Call], k.c.answered[r.Call] = true, k.asks.Ask != nil
		}
		answer(q, reply)
	})
}

// canonical is JSON without what does not matter, nil where it is none.
func canonical(v json.RawMessage) []byte {
	var b bytes.Buffer
	if json.Compact(&b, v) != nil {
		return nil
	}
	return b.Bytes()
}
