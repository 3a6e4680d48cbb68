package codex

import (
	"cmp"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/agent/wire"
	"github.com/ralph-loop/ralph/internal/text"
)

// eventParams are members of a message's params, as spans.
type eventParams struct {
	all, thread, turnID, turn, item, itemID, delta, usage, plan, diff, err, retry, request []byte
}

func readParams(params []byte) eventParams {
	p := eventParams{all: params}
	wire.Members(params, func(key, value []byte) {
		switch string(key) {
		case "threadId":
			p.thread = value
		case "turnId":
			p.turnID = value
		case "turn":
			p.turn = value
		case "item":
			p.item = value
		case "itemId":
			p.itemID = value
		case "delta":
			p.delta = value
		case "tokenUsage":
			p.usage = value
		case "plan":
			p.plan = value
		case "diff":
			p.diff = value
		case "error":
			p.err = value
		case "willRetry":
			p.retry = value
		case "requestId":
			p.request = value
		}
	})
	return p
}

// hear takes a notification or request of one of the turn's threads.
func (t *turn) hear(method string, m wire.RPCMessage, p eventParams) {
	t.Mu.Lock()
	defer t.Mu.Unlock()
	if t.closed {
		t.server.rpc.Answer(string(m.ID), nil, &wire.RPCError{Code: wire.ErrNoMethod, Message: "the turn is over"})
		return
	}
	t.keep(m.Line)
	if m.ID != nil {
		t.asked(method, string(m.ID), p)
		return
	}
	thread, turn := wire.Text(p.thread), wire.Text(p.turnID)
	switch method {
	case "turn/started", "turn/completed":
		t.border(method, thread, p.turn)
		return
	case "serverRequest/resolved":
		t.resolved(string(p.request))
		return
	case "thread/tokenUsage/updated":
		t.tokens(thread, turn, p.usage)
		return
	}
	if thread == t.thread && turn != "" && turn != t.id {
		return // an earlier turn's: what runs on in the background, or a replay
	}
	t.inTurn(method, ralph.StreamEvent{Thread: thread, Turn: turn}, p)
}

// keep gives the line to the sink of raw output.
func (t *turn) keep(line []byte) {
	t.events++
	t.Bytes += int64(len(line)) + 1
	if t.In.Raw == nil || t.RawErr != nil {
		return
	}
	_, err := t.In.Raw.Write(line)
	if err == nil {
		_, err = t.In.Raw.Write([]byte("\n"))
	}
	if err != nil {
		t.RawErr = err
		t.Stop(err)
	}
}

// border takes the begin or end of a turn. A subagent's end is not ours; only that of
// our own turn on our own thread counts. A review's turn/started has an id of
// its own, its root is the one that everything else names.
func (t *turn) border(method, thread string, turn []byte) {
	var v struct {
		ID     string     `json:"id"`
		Root   string     `json:"rootTurnId"`
		Status string     `json:"status"`
		Err    *turnError `json:"error"`
	}
	if json.Unmarshal(turn, &v) != nil {
		return
	}
	own := thread == t.thread
	if method == "turn/started" {
		if own && v.Root != "" {
			v.ID = v.Root
		}
		if own && t.begun {
			t.name(v.ID)
		}
		if !own || v.ID == t.id {
			t.Emit(ralph.StreamEvent{Kind: ralph.StreamTurn, Thread: thread, Turn: v.ID})
		}
		return
	}
	if own && v.ID != t.id {
		return
	}
	e := ralph.StreamEvent{Kind: ralph.StreamTurnDone, Thread: thread, Turn: v.ID, Status: ralph.TurnStatus(v.Status)}
	if v.Err != nil {
		e.Err = v.Err.typed(t.server)
	}
	if own && v.Err != nil {
		t.failure = *v.Err
	}
	t.Emit(e)
	if own {
		t.finish(cmp.Or(v.Status, string(ralph.TurnCompleted)))
	}
}

// inTurn takes what happens within a turn. e says where.
func (t *turn) inTurn(method string, e ralph.StreamEvent, p eventParams) {
	switch method {
	case "item/started", "item/completed":
		t.item(method == "item/completed", e, p.item)
	case "item/agentMessage/delta":
		t.delta(ralph.ItemMessage, e, p)
	case "item/reasoning/summaryTextDelta", "item/reasoning/textDelta":
		t.delta(ralph.ItemReasoning, e, p)
	case "item/commandExecution/outputDelta":
		t.delta(ralph.ItemCommand, e, p)
	case "item/plan/delta":
		t.delta(ralph.ItemOther, e, p)
	case "turn/plan/updated":
		e.Kind, e.Plan = ralph.StreamPlan, readPlan(p.plan)
		t.Emit(e)
	case "turn/diff/updated":
		e.Kind, e.Diff = ralph.StreamDiff, wire.Text(p.diff)
		t.Emit(e)
	case "error":
		var err turnError
		if json.Unmarshal(p.err, &err) == nil {
			e.Kind, e.Err, e.WillRetry = ralph.StreamError, err.typed(t.server), string(p.retry) == "true"
			t.Emit(e)
		}
	case "thread/status/changed", "thread/started", "thread/readState/changed", "thread/settings/updated", "thread/goal/updated",
		"thread/goal/cleared", "item/reasoning/summaryPartAdded", "mcpServer/startupStatus/updated", "item/fileChange/outputDelta":
		// They say nothing that other events do not.
	default:
		e.Kind, e.Method, e.Raw = ralph.StreamUnknown, method, wire.KeptRaw(p.all)
		t.Emit(e)
	}
}

func (t *turn) delta(kind ralph.ItemKind, e ralph.StreamEvent, p eventParams) {
	if t.Event == nil {
		return // deltas say nothing to those who only listen to words
	}
	e.Kind, e.Item, e.Delta = ralph.StreamDelta, ralph.Item{ID: wire.Text(p.itemID), Kind: kind, Parent: t.parent(e.Thread)}, wire.Text(p.delta)
	t.Emit(e)
}

// parent is what items of a thread belong to: a subagent's are not the agent's word.
func (t *turn) parent(thread string) string {
	if thread == t.thread {
		return ""
	}
	return thread
}

func readPlan(v []byte) []ralph.PlanStep {
	var steps []ralph.PlanStep
	wire.Elements(v, func(step []byte) {
		var s ralph.PlanStep
		wire.Members(step, func(key, value []byte) {
			switch string(key) {
			case "step":
				s.Text = wire.Text(value)
			case "status":
				if s.Status = wire.Text(value); s.Status == "inProgress" {
					s.Status = "in_progress"
				}
			}
		})
		steps = append(steps, s)
	})
	return steps
}

// totals is a thread/tokenUsage/updated.
type totals struct {
	total  int64       // tokens of the thread so far
	last   ralph.Usage // of the last answer of the model
	filled int64       // tokens in the window
	window int64
}

func readUsageTotals(v []byte) totals {
	type tokens struct {
		Total      int64 `json:"totalTokens"`
		Input      int64 `json:"inputTokens"` // with what came from the cache
		Cached     int64 `json:"cachedInputTokens"`
		CacheWrite int64 `json:"cacheWriteInputTokens"`
		Output     int64 `json:"outputTokens"`
	}
	var u struct {
		Total  tokens `json:"total"`
		Last   tokens `json:"last"`
		Window int64  `json:"modelContextWindow"`
	}
	if json.Unmarshal(v, &u) != nil {
		return totals{}
	}
	return totals{
		total: u.Total.Total, filled: u.Last.Total, window: u.Window,
		last: ralph.Usage{
			Input: max(0, u.Last.Input-u.Last.Cached-u.Last.CacheWrite), CacheRead: u.Last.Cached, CacheWrite: u.Last.CacheWrite, Output: u.Last.Output,
		},
	}
}

// tokens adds up what the model's answers in this turn took, subagents' too. What the
// thread had used before is not ours to count. Codex does not say what it costs.
func (t *turn) tokens(thread, turn string, v []byte) {
	u := readUsageTotals(v)
	fresh := t.server.used(thread, u.total)
	own := thread == t.thread
	if own && turn != t.id {
		return
	}
	if fresh {
		t.usage = t.usage.Add(u.last)
	}
	e := ralph.StreamEvent{Kind: ralph.StreamUsage, Thread: t.thread, Turn: t.id, Usage: t.usage}
	if own { // a subagent has a window of its own
		t.fill = ralph.ContextUse{Used: u.filled, Window: u.window}
		e.Context = t.fill
	}
	t.Emit(e)
}

// edit is what a person decides by when codex asks for a change of files: the
// request itself names the item alone.
type edit struct {
	files  []string
	detail string
}

// item takes a started or completed item.
func (t *turn) item(whole bool, e ralph.StreamEvent, v []byte) {
	c := readCodexItem(v)
	kind := wire.Text(c.kind)
	if kind == "userMessage" {
		return // our own words
	}
	e.Kind, e.Item = ralph.StreamItem, c.item(kind)
	e.Item.Parent = t.parent(e.Thread)
	if whole {
		e.Kind, e.Item.Status = ralph.StreamItemDone, c.ending()
	}
	switch {
	case kind == "subAgentActivity" && len(c.agent) > 2:
		t.server.route(wire.Text(c.agent), t)
	case kind == "contextCompaction" && whole && e.Item.Parent == "":
		t.Emit(e)
		t.compacted = true
		if e.Kind = ralph.StreamCompacted; !t.In.Compact {
			t.compacts++
		}
		e.Item = ralph.Item{}
	case kind == "fileChange" && whole:
		delete(t.edits, e.Item.ID)
	case kind == "fileChange":
		t.edits[e.Item.ID] = edit{e.Item.Files, c.patch()}
	case kind == "agentMessage" && whole && e.Item.Parent == "" && e.Item.Text != "":
		t.words = e.Item.Text
		if e.Item.Final {
			t.final = e.Item.Text
		}
	}
	if whole && e.Item.Status == ralph.ItemDeclined && !t.decided[e.Item.ID] && len(t.denied) < wire.MaxDenied {
		t.denied = append(t.denied, e.Item.Line())
	}
	t.Emit(e)
}

// item is an item, as spans.
type item struct {
	kind, id, text, phase, command, status, output, exit, changes, summary, content []byte
	server, tool, args, result, review, query, agent                                []byte
}

func readCodexItem(v []byte) item {
	var c item
	wire.Members(v, func(key, value []byte) {
		if span := c.span(key); span != nil {
			*span = value
		}
	})
	return c
}

// span is where a member of an item is kept, nil for those that nobody asks for.
func (c *item) span(key []byte) *[]byte {
	switch string(key) {
	case "type":
		return &c.kind
	case "id":
		return &c.id
	case "text":
		return &c.text
	case "phase":
		return &c.phase
	case "command":
		return &c.command
	case "status":
		return &c.status
	case "aggregatedOutput":
		return &c.output
	case "exitCode":
		return &c.exit
	case "changes":
		return &c.changes
	case "summary":
		return &c.summary
	case "content":
		return &c.content
	case "server":
		return &c.server
	case "tool":
		return &c.tool
	case "arguments":
		return &c.args
	case "result":
		return &c.result
	case "review":
		return &c.review
	case "query":
		return &c.query
	case "agentThreadId":
		return &c.agent
	}
	return nil
}

// item is what ralph calls it. Types that are not known are ItemOther.
func (c *item) item(kind string) ralph.Item {
	i := ralph.Item{ID: wire.Text(c.id), Type: kind, Kind: ralph.ItemOther}
	switch kind {
	case "agentMessage":
		i.Kind, i.Text, i.Final = ralph.ItemMessage, wire.Text(c.text), wire.Text(c.phase) == "final_answer"
	case "reasoning":
		i.Kind, i.Text = ralph.ItemReasoning, strings.TrimSpace(texts(c.summary)+"\n"+texts(c.content))
	case "plan":
		i.Text = wire.Text(c.text)
	case "commandExecution":
		i.Kind, i.Text, i.Output = ralph.ItemCommand, wire.UnwrapShell(wire.Text(c.command)), wire.Text(c.output)
		if n, err := strconv.Atoi(string(c.exit)); err == nil {
			i.Exit = &n
		}
	case "fileChange":
		i.Kind = ralph.ItemEdit
		wire.Elements(c.changes, func(change []byte) {
			wire.Members(change, func(key, value []byte) {
				switch string(key) {
				case "path":
					i.Files = append(i.Files, wire.Text(value))
				case "kind":
					wire.Members(value, func(key, to []byte) {
						if to := wire.Text(to); to != "" && string(key) == "move_path" {
							i.Files = append(i.Files, to)
						}
					})
				}
			})
		})
	case "mcpToolCall", "dynamicToolCall", "collabAgentToolCall":
		i.Kind, i.Type = ralph.ItemTool, strings.Trim(wire.Text(c.server)+"/"+wire.Text(c.tool), "/")
		i.Text, i.Output = wire.Compact(c.args, wire.MaxSaidResult), wire.Compact(c.result, wire.MaxSaidResult)
		i.Text, i.Output = strings.TrimPrefix(i.Text, "null"), strings.TrimPrefix(i.Output, "null")
	case "webSearch", "imageView", "sleep":
		i.Kind, i.Text = ralph.ItemTool, wire.Text(c.query)
	case "enteredReviewMode", "exitedReviewMode":
		i.Text = wire.Text(c.review)
	}
	return i
}

// ending is how an item that is over ended.
func (c *item) ending() string {
	switch s := wire.Text(c.status); s {
	case "failed", "declined":
		return s
	}
	return ralph.ItemCompleted
}

// patch is the change of an edit, for a person to read.
func (c *item) patch() string {
	var out strings.Builder
	wire.Elements(c.changes, func(change []byte) {
		var path, diff []byte
		wire.Members(change, func(key, value []byte) {
			switch string(key) {
			case "path":
				path = value
			case "diff":
				diff = value
			}
		})
		if out.Len() < wire.MaxDetail {
			out.WriteString(wire.Text(path) + "\n" + wire.StartOf(diff, wire.MaxDetail) + "\n")
		}
	})
	return text.Cut(out.String(), wire.MaxDetail)
}

// texts joins an array of strings.
func texts(v []byte) string {
	var all []string
	wire.Elements(v, func(one []byte) { all = append(all, wire.Text(one)) })
	return strings.Join(all, "\n")
}
