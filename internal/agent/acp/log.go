package acp

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/agent/wire"
	"github.com/ralph-loop/ralph/internal/text"
)

const (
	maxACPMessage = 256 << 10 // a longer message is told in parts
	maxACPItems   = 10_000    // calls that are followed at once
)

// log turns session/update into the normalised stream. It is used under the turn's
// lock.
type log struct {
	t      *wire.Turn
	agent  string // its name, as it says
	live   bool   // the prompt is sent: what comes before it is replay
	end    ending
	stderr *wire.Pieces
	errs   wire.Tail // stderr
	noise  wire.Tail // lines of stdout that are no message

	session string
	open    ralph.Item // the message or thought that is being said
	chunk   string     // its messageId
	said    int        // messages and thoughts so far
	body    strings.Builder
	text    wire.Tail // the last message of the agent
	part    int       // of the open message, when it is told in parts
	calls   map[string]*call

	context ralph.ContextUse
	cost    *float64 // of the session so far
	before  *float64 // the same, before the prompt
	status  int      // of HTTP, of the last error that the agent tried again
	stopped bool     // a request was answered by ending the turn
	broken  bool     // the agent's own word for a failed turn (Codex)
	failure string   // the error in its words
	denied  []string
	refused map[string]bool // calls that nobody allowed
}

// call is a call of a tool, as far as it is known. A call may be told of by a
// request alone.
type call struct {
	item  ralph.Item
	begun bool // it was told
}

func newLog(t *wire.Turn) *log {
	l := &log{
		t: t, errs: wire.Tail{Max: wire.MaxErrors}, noise: wire.Tail{Max: wire.MaxErrors}, text: wire.Tail{Max: wire.MaxText},
		calls: map[string]*call{}, refused: map[string]bool{},
	}
	l.stderr = &wire.Pieces{Emit: func(s string, more bool) {
		l.errs.Add(s)
		if !more {
			l.errs.Add("\n")
		}
		t.PrintError(s, more)
	}}
	return l
}

// update is an update. Members of other types than known are left out.
type update struct {
	Kind      string          `json:"sessionUpdate"`
	Content   json.RawMessage `json:"content"`
	Message   string          `json:"messageId"`
	Call      string          `json:"toolCallId"`
	Title     string          `json:"title"`
	Op        string          `json:"kind"`
	Status    string          `json:"status"`
	Input     json.RawMessage `json:"rawInput"`
	Output    json.RawMessage `json:"rawOutput"`
	Locations []location      `json:"locations"`
	Entries   []planEntry     `json:"entries"`
	Used      int64           `json:"used"`
	Size      int64           `json:"size"`
	Cost      *cost           `json:"cost"`
	Meta      meta            `json:"_meta"`
}

type location struct {
	Path string `json:"path"`
}

type planEntry struct {
	Content string `json:"content"`
	Status  string `json:"status"`
}

type cost struct {
	Amount   float64 `json:"amount"`
	Currency string  `json:"currency"`
}

// meta is what known agents say beside the protocol.
type meta struct {
	Claude struct {
		Tool   string `json:"toolName"`
		Parent string `json:"parentToolUseId"`
	} `json:"claudeCode"`
	Codex struct {
		Thread struct {
			Type string `json:"type"`
		} `json:"threadStatus"`
		Error *struct {
			Message string          `json:"message"`
			Info    json.RawMessage `json:"codexErrorInfo"`
			Details string          `json:"additionalDetails"`
			Retry   bool            `json:"willRetry"`
		} `json:"error"`
	} `json:"codex"`
	Exit *struct {
		Code *int `json:"exit_code"`
	} `json:"terminal_exit"`
}

func (l *log) begin(session string) {
	l.session, l.live, l.before = session, true, l.cost
	l.t.Emit(ralph.StreamEvent{Kind: ralph.StreamSession, Thread: session})
	l.t.Emit(ralph.StreamEvent{Kind: ralph.StreamTurn, Thread: session})
}

// update takes the params of a session/update.
func (l *log) update(params []byte) {
	var p struct {
		Update json.RawMessage `json:"update"`
	}
	tolerant(params, &p)
	var u update
	tolerant(p.Update, &u)
	if u.Kind == "usage_update" {
		l.fill(u)
	}
	if !l.live {
		return // the history of a session that goes on
	}
	switch u.Kind {
	case "agent_message_chunk":
		l.words(ralph.ItemMessage, u)
	case "agent_thought_chunk":
		l.words(ralph.ItemReasoning, u)
	case "tool_call", "tool_call_update":
		l.call(u)
	case "plan":
		l.plan(u)
	case "session_info_update":
		l.codex(u.Meta)
	case "usage_update", "user_message_chunk", "available_commands_update", "current_mode_update", "config_option_update":
	default:
		l.unknown("session/update "+u.Kind, p.Update)
	}
}

// unknown keeps what ralph does not know.
func (l *log) unknown(method string, raw []byte) {
	l.t.Emit(ralph.StreamEvent{Kind: ralph.StreamUnknown, Thread: l.session, Method: method, Raw: wire.KeptRaw(raw)})
}

// stray takes a line that is no message: a program in front of the agent, or an error.
func (l *log) stray(line []byte) {
	s := wire.StartLine(wire.Valid(line[:min(len(line), wire.MaxSaidResult)]), wire.MaxSaidResult)
	l.noise.Add(s + "\n")
	l.t.PrintError(s, false)
}

// words joins the pieces of a message or thought.
func (l *log) words(kind ralph.ItemKind, u update) {
	var block struct {
		Text string `json:"text"`
	}
	tolerant(u.Content, &block)
	parent := u.Meta.Claude.Parent
	// Copilot's own words have no id, and no end of line either.
	notice := l.agent == copilotACP && (strings.HasPrefix(block.Text, "Info: ") || strings.HasPrefix(block.Text, "Error: "))
	if l.open.ID != "" && (l.open.Kind != kind || l.chunk != u.Message || l.open.Parent != parent || notice) {
		l.close()
	}
	if block.Text == "" {
		return
	}
	if l.open.ID == "" {
		l.said++
		l.part = 0
		l.begun(kind, u.Message, parent)
		if kind == ralph.ItemMessage && parent == "" {
			l.text = wire.Tail{Max: wire.MaxText}
		}
	}
	if kind == ralph.ItemMessage && parent == "" {
		l.text.Add(block.Text)
	}
	for rest := block.Text; rest != ""; {
		piece := rest
		if room := maxACPMessage - l.body.Len(); len(piece) > room {
			piece = piece[:wholeLines(piece[:max(room, 1)])]
		}
		l.body.WriteString(piece)
		l.t.Emit(ralph.StreamEvent{Kind: ralph.StreamDelta, Thread: l.session, Item: ralph.Item{ID: l.open.ID, Kind: kind, Parent: parent}, Delta: piece})
		if rest = rest[len(piece):]; l.body.Len() >= maxACPMessage-1 || rest != "" {
			l.finish()
			l.part++
			l.begun(kind, u.Message, parent)
		}
	}
}

// wholeLines is where to cut a text, best after a line: signals are read by line.
func wholeLines(s string) int {
	if i := strings.LastIndexByte(s, '\n'); i > 0 {
		return i + 1
	}
	return max(1, wire.RuneCut([]byte(s)))
}

func (l *log) begun(kind ralph.ItemKind, message, parent string) {
	l.body.Reset()
	l.chunk = message
	id := fmt.Sprintf("said-%d", l.said)
	if l.part > 0 {
		id += fmt.Sprintf(".%d", l.part)
	}
	l.open = ralph.Item{ID: id, Kind: kind, Parent: parent}
	l.t.Emit(ralph.StreamEvent{Kind: ralph.StreamItem, Thread: l.session, Item: l.open})
}

// finish ends the item that is open.
func (l *log) finish() {
	item := l.open
	item.Text, item.Status = strings.Clone(l.body.String()), ralph.ItemCompleted
	l.open = ralph.Item{}
	l.t.Emit(ralph.StreamEvent{Kind: ralph.StreamItemDone, Thread: l.session, Item: item})
}

// declined ends the calls that nobody allowed, where the agent does not.
func (l *log) declined() {
	for _, id := range slices.Sorted(maps.Keys(l.calls)) {
		if c := l.calls[id]; c.begun && l.refused[id] {
			c.item.Status = ralph.ItemDeclined
			l.t.Emit(ralph.StreamEvent{Kind: ralph.StreamItemDone, Thread: l.session, Item: c.item})
			delete(l.calls, id)
		}
	}
}

// close ends the message or thought that is open, if there is one.
func (l *log) close() {
	if l.open.ID != "" {
		l.finish()
	}
}

// call follows a call of a tool. An update says only what changed, and may be the
// first that is heard of the call.
func (l *log) call(u update) {
	l.close()
	c := l.merge(u)
	if c == nil {
		return
	}
	// Some tell of a call before they know its input.
	known := len(u.Input) > 2 && (c.item.Kind != ralph.ItemCommand || commandOf(u.Input) != "") || u.Status == "in_progress"
	over := u.Status == "completed" || u.Status == "failed"
	if (known || over) && !c.begun {
		l.tell(c)
	}
	if !over {
		return
	}
	if out := outputOf(u); out != "" {
		c.item.Output = text.Cut(out, wire.MaxToolOutput)
	}
	c.item.Status = ralph.ItemCompleted
	if u.Status == "failed" {
		c.item.Status = ralph.ItemFailed
	}
	if l.refused[c.item.ID] {
		c.item.Status = ralph.ItemDeclined
	}
	l.t.Emit(ralph.StreamEvent{Kind: ralph.StreamItemDone, Thread: l.session, Item: c.item})
	delete(l.calls, c.item.ID)
}

func (l *log) tell(c *call) {
	c.begun = true
	l.t.Emit(ralph.StreamEvent{Kind: ralph.StreamItem, Thread: l.session, Item: c.item})
}

// merge adds what an update says to its call.
func (l *log) merge(u update) *call {
	c := l.calls[u.Call]
	if c == nil {
		if u.Call == "" || len(l.calls) >= maxACPItems {
			return nil
		}
		c = &call{item: ralph.Item{ID: u.Call, Kind: ralph.ItemTool}}
		l.calls[u.Call] = c
	}
	i := &c.item
	if u.Op != "" {
		i.Kind = itemKind(u.Op)
		i.Type = cmp.Or(strings.TrimSpace(i.Type), u.Op)
	}
	if u.Meta.Claude.Tool != "" {
		i.Type = u.Meta.Claude.Tool
	}
	if u.Meta.Claude.Parent != "" {
		i.Parent = u.Meta.Claude.Parent
	}
	if s := commandOf(u.Input); s != "" && i.Kind == ralph.ItemCommand {
		i.Text = s
	} else if u.Title != "" && (i.Kind != ralph.ItemCommand || i.Text == "") {
		i.Text = text.Cut(u.Title, wire.MaxMessage)
	}
	if i.Kind == ralph.ItemEdit {
		for _, p := range pathsOf(u) {
			if !slices.Contains(i.Files, p) && len(i.Files) < 100 {
				i.Files = append(i.Files[:len(i.Files):len(i.Files)], p)
			}
		}
	}
	if u.Meta.Exit != nil {
		i.Exit = u.Meta.Exit.Code
	}
	return c
}

func itemKind(op string) ralph.ItemKind {
	switch op {
	case "execute":
		return ralph.ItemCommand
	case "edit", "delete", "move":
		return ralph.ItemEdit
	}
	return ralph.ItemTool
}

func (l *log) plan(u update) {
	steps := make([]ralph.PlanStep, len(u.Entries))
	for i, e := range u.Entries {
		steps[i] = ralph.PlanStep{Text: e.Content, Status: e.Status}
	}
	l.t.Emit(ralph.StreamEvent{Kind: ralph.StreamPlan, Thread: l.session, Plan: steps})
}

// fill takes how full the window is, and what the session has cost so far.
func (l *log) fill(u update) {
	if u.Cost != nil && (u.Cost.Currency == "" || u.Cost.Currency == "USD") {
		amount := u.Cost.Amount
		l.cost = &amount
	}
	if l.live && u.Used > 0 {
		l.context = ralph.ContextUse{Used: u.Used, Window: u.Size}
		l.t.Emit(ralph.StreamEvent{Kind: ralph.StreamUsage, Thread: l.session, Context: l.context})
	}
}

// codex takes what Codex tells of errors: it has no other way to say that a turn failed.
func (l *log) codex(m meta) {
	if e := m.Codex.Error; e != nil {
		message := strings.TrimSpace(e.Message + " " + e.Details)
		if s := wire.StatusIn(string(e.Info) + " " + e.Details); s != 0 {
			l.status = s
		}
		l.failure = message
		l.t.Emit(ralph.StreamEvent{
			Kind: ralph.StreamError, Thread: l.session, WillRetry: e.Retry,
			Err: &ralph.AgentError{Class: wire.ClassOf(l.status, message), Status: l.status, Message: text.Cut(message, wire.MaxMessage)},
		})
	}
	if m.Codex.Thread.Type == "systemError" {
		l.close() // what it says next is the error
		l.broken = true
	}
}
