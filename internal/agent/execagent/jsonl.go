package execagent

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/agent/wire"
	"github.com/ralph-loop/ralph/internal/text"
)

// jsonl turns the lines of an agent that prints JSON into the normalised stream, by a
// table of rows. It is used under the turn's lock.
//
// A table that has rows of kind done asks for one: an exit code of 0 alone is no success
// then, as every agent that is known has failures that exit 0.
type jsonl struct {
	t     *wire.Turn
	rows  []ralph.EventRow
	lines wire.Events

	session string
	text    wire.Tail // the last message
	open    *ralph.Item
	body    wire.Tail
	n       int // items without an id of their own
	noise   wire.Tail
	usage   ralph.Usage
	steps   bool // usage was told
	costs   bool // with its cost, each time
	err     *ralph.AgentError
	status  int // of the last try that failed
	done    bool
}

func newJSONL(t *wire.Turn, rows []ralph.EventRow) *jsonl {
	j := &jsonl{t: t, rows: rows, costs: true, text: wire.Tail{Max: wire.MaxText}, body: wire.Tail{Max: wire.MaxText}, noise: wire.Tail{Max: wire.MaxErrors}}
	j.lines.Line = j.line
	return j
}

func (j *jsonl) line(line []byte) {
	var v any
	if line[0] != '{' || json.Unmarshal(line, &v) != nil {
		s := wire.StartLine(wire.Valid(line[:min(len(line), wire.MaxSaidResult)]), wire.MaxSaidResult)
		j.noise.Add(s + "\n")
		j.t.Print(s, false)
		return
	}
	known := false
	for i := range j.rows {
		if matches(v, j.rows[i].Match) {
			known = true
			j.apply(&j.rows[i], v)
		}
	}
	if known {
		return
	}
	name, _ := pick(v, "type").(string)
	j.t.Emit(ralph.StreamEvent{Kind: ralph.StreamUnknown, Thread: j.session, Method: name, Raw: wire.KeptRaw(line)})
}

func matches(v any, want map[string]string) bool {
	for path, text := range want {
		got := pick(v, path)
		if got == nil || text != "*" && plainText(got) != text {
			return false
		}
	}
	return true
}

func (j *jsonl) apply(r *ralph.EventRow, v any) {
	read := func(name string) string {
		if path, ok := r.Read[name]; ok {
			return plainText(pick(v, path))
		}
		return ""
	}
	if s := read("session"); s != "" && j.session == "" {
		j.session = s
		j.t.Emit(ralph.StreamEvent{Kind: ralph.StreamSession, Thread: s})
	}
	if r.Kind != ralph.RowDelta && r.Kind != ralph.RowSession && r.Kind != ralph.RowIgnore {
		j.close()
	}
	switch r.Kind {
	case ralph.RowMessage, ralph.RowReasoning:
		j.said(r.Kind, read("text"))
	case ralph.RowDelta:
		j.delta(read("text"))
	case ralph.RowTool, ralph.RowToolDone, ralph.RowToolFail:
		j.tool(r.Kind, ralph.Item{ID: read("id"), Kind: ralph.ItemTool, Type: read("tool"), Text: read("text"), Output: text.Cut(read("output"), wire.MaxToolOutput)})
	case ralph.RowUsage, ralph.RowTotal:
		j.count(r, v)
	case ralph.RowError, ralph.RowRetry:
		j.fail(r, read("text"), read("status"))
	case ralph.RowDone:
		j.done = true
	case ralph.RowUndone:
		j.done = false
	}
}

// id names an item that has no name of its own.
func (j *jsonl) id(own string) string {
	if own != "" {
		return own
	}
	j.n++
	return fmt.Sprintf("item-%d", j.n)
}

func (j *jsonl) said(kind, text string) {
	if text == "" {
		return
	}
	item := ralph.Item{ID: j.id(""), Kind: ralph.ItemMessage, Text: text, Status: ralph.ItemCompleted}
	if kind == ralph.RowReasoning {
		item.Kind = ralph.ItemReasoning
	} else {
		j.text = wire.Tail{Max: wire.MaxText}
		j.text.Add(text)
	}
	j.t.Emit(ralph.StreamEvent{Kind: ralph.StreamItemDone, Thread: j.session, Item: item})
}

func (j *jsonl) delta(text string) {
	if text == "" {
		return
	}
	if j.open == nil {
		j.open = &ralph.Item{ID: j.id(""), Kind: ralph.ItemMessage}
		j.body = wire.Tail{Max: wire.MaxText}
		j.t.Emit(ralph.StreamEvent{Kind: ralph.StreamItem, Thread: j.session, Item: *j.open})
	}
	j.body.Add(text)
	j.t.Emit(ralph.StreamEvent{Kind: ralph.StreamDelta, Thread: j.session, Item: *j.open, Delta: text})
}

// close ends the message that comes in pieces.
func (j *jsonl) close() {
	if j.open == nil {
		return
	}
	item := *j.open
	item.Text, item.Status = j.body.String(), ralph.ItemCompleted
	j.open, j.text = nil, j.body
	j.t.Emit(ralph.StreamEvent{Kind: ralph.StreamItemDone, Thread: j.session, Item: item})
}

func (j *jsonl) tool(kind string, item ralph.Item) {
	item.ID = j.id(item.ID)
	e := ralph.StreamEvent{Kind: ralph.StreamItem, Thread: j.session, Item: item}
	if kind != ralph.RowTool {
		e.Kind, e.Item.Status = ralph.StreamItemDone, ralph.ItemCompleted
		if kind == ralph.RowToolFail {
			e.Item.Status = ralph.ItemFailed
		}
	}
	j.t.Emit(e)
}

func (j *jsonl) count(r *ralph.EventRow, v any) {
	number := func(name string) (float64, bool) {
		f, ok := pick(v, r.Read[name]).(float64)
		return max(0, f), ok && r.Read[name] != "" && f < math.MaxInt64
	}
	tokens := func(name string) int64 { f, _ := number(name); return int64(f) }
	cost, known := number("cost")
	u := ralph.Usage{Input: tokens("input"), Output: tokens("out"), CacheRead: tokens("cached"), CacheWrite: tokens("cache_write"), Cost: cost}
	if r.Kind == ralph.RowTotal {
		j.usage = ralph.Usage{}
	}
	j.steps = true
	// A price of 0 for tokens is no price: the agent has no list that names the model.
	j.costs = j.costs && known && (cost > 0 || u.Input+u.Output == 0)
	j.usage = ralph.Usage{
		Input: j.usage.Input + u.Input, Output: j.usage.Output + u.Output,
		CacheRead: j.usage.CacheRead + u.CacheRead, CacheWrite: j.usage.CacheWrite + u.CacheWrite,
		Cost: j.usage.Cost + u.Cost, Known: j.costs,
	}
	j.t.Emit(ralph.StreamEvent{Kind: ralph.StreamUsage, Thread: j.session, Usage: j.usage})
}

func (j *jsonl) fail(r *ralph.EventRow, s, status string) {
	code, _ := strconv.Atoi(status) // none: it may stand in the text
	if code == 0 {
		code = wire.StatusIn(s)
	}
	e := &ralph.AgentError{Class: r.Class, Status: code, Message: text.Cut(s, wire.MaxMessage)}
	if e.Class == "" {
		e.Class = wire.ClassOf(code, s)
	}
	if e.Message == "" {
		e.Message = "the agent says that it failed, and not why"
	}
	if r.Kind == ralph.RowRetry {
		j.status = code
	} else {
		j.err = e
	}
	j.t.Emit(ralph.StreamEvent{Kind: ralph.StreamError, Thread: j.session, Err: e, WillRetry: r.Kind == ralph.RowRetry})
}

// conclude settles a turn whose process has ended as res says.
func (j *jsonl) conclude(res *ralph.TurnResult, stderr string) {
	res.Text, res.Session = wire.Valid([]byte(j.text.String())), j.session
	if res.Usage = j.usage; !j.steps {
		res.Usage = ralph.Usage{}
	}
	if res.Exit != ralph.ExitOK && res.Exit != ralph.ExitFailed {
		return
	}
	stderr = text.Plain(stderr)
	wants := slices.ContainsFunc(j.rows, func(r ralph.EventRow) bool { return r.Kind == ralph.RowDone })
	switch {
	case j.err != nil:
		res.Exit, res.Err = ralph.ExitFailed, j.err
		if j.err.Status == 0 && j.err.Class == ralph.ErrClassOther && j.status != 0 {
			j.err.Status, j.err.Class = j.status, wire.ClassOf(j.status, "")
		}
	case res.Exit == ralph.ExitFailed:
		res.Err = wire.Failure(stderr, j.noise.String())
	case wants && !j.done:
		res.Exit, res.Err = ralph.ExitFailed, wire.Failure(stderr, j.noise.String())
		if res.Err.Class == ralph.ErrClassOther {
			res.Err.Class = ralph.ErrClassOutput
		}
		res.Err.Message = strings.TrimSpace("the agent ended with exit code 0, but its output does not say that it was done\n" + res.Err.Message)
	}
}

// pick returns what stands at a dotted path: a member, or in a list a place, counted
// from 0; * is all places, whose texts are joined. nil when there is nothing.
func pick(v any, path string) any {
	for path != "" {
		var name string
		name, path, _ = strings.Cut(path, ".")
		switch at := v.(type) {
		case map[string]any:
			v = at[name]
		case []any:
			if name == "*" {
				var all strings.Builder
				for _, item := range at {
					all.WriteString(plainText(pick(item, path)))
				}
				return all.String()
			}
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= len(at) {
				return nil
			}
			v = at[i]
		default:
			return nil
		}
	}
	return v
}

// plainText is a value as text: what is no text, as JSON.
func plainText(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	}
	b, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(b)
}
