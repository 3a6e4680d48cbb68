package agent

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph"
)

const (
	maxACPMessage = 256 << 10 // a longer message is told in parts
	maxACPItems   = 10_000    // calls that are followed at once
)

// acpLog turns session/update into the normalised stream. It is used under the turn's
// lock.
type acpLog struct {
	t      *turn
	agent  string // its name, as it says
	live   bool   // the prompt is sent: what comes before it is replay
	end    acpEnd
	stderr *pieces
	errs   tail // stderr
	noise  tail // lines of stdout that are no message

	session string
	open    ralph.Item // the message or thought that is being said
	chunk   string     // its messageId
	said    int        // messages and thoughts so far
	body    strings.Builder
	text    tail // the last message of the agent
	part    int  // of the open message, when it is told in parts
	calls   map[string]*acpCall

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

// acpCall is a call of a tool, as far as it is known. A call may be told of by a
// request alone.
type acpCall struct {
	item  ralph.Item
	begun bool // it was told
}

func newACPLog(t *turn) *acpLog {
	l := &acpLog{
		t: t, errs: tail{max: maxErrors}, noise: tail{max: maxErrors}, text: tail{max: maxText},
		calls: map[string]*acpCall{}, refused: map[string]bool{},
	}
	l.stderr = &pieces{emit: func(s string, more bool) {
		l.errs.add(s)
		if !more {
			l.errs.add("\n")
		}
		t.said(ralph.Said{Kind: ralph.SaidStderr, Text: s, More: more})
	}}
	return l
}

// acpUpdate is an update. Members of other types than known are left out.
type acpUpdate struct {
	Kind      string          `json:"sessionUpdate"`
	Content   json.RawMessage `json:"content"`
	Message   string          `json:"messageId"`
	Call      string          `json:"toolCallId"`
	Title     string          `json:"title"`
	Op        string          `json:"kind"`
	Status    string          `json:"status"`
	Input     json.RawMessage `json:"rawInput"`
	Output    json.RawMessage `json:"rawOutput"`
	Locations []acpPlace      `json:"locations"`
	Entries   []acpPlanEntry  `json:"entries"`
	Used      int64           `json:"used"`
	Size      int64           `json:"size"`
	Cost      *acpCost        `json:"cost"`
	Meta      acpMeta         `json:"_meta"`
}

type acpPlace struct {
	Path string `json:"path"`
}

type acpPlanEntry struct {
	Content string `json:"content"`
	Status  string `json:"status"`
}

type acpCost struct {
	Amount   float64 `json:"amount"`
	Currency string  `json:"currency"`
}

// acpMeta is what known agents say beside the protocol.
type acpMeta struct {
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

func (l *acpLog) begin(session string) {
	l.session, l.live, l.before = session, true, l.cost
	l.t.emit(ralph.StreamEvent{Kind: ralph.StreamSession, Thread: session})
	l.t.emit(ralph.StreamEvent{Kind: ralph.StreamTurn, Thread: session})
}

// update takes the params of a session/update.
func (l *acpLog) update(params []byte) {
	var p struct {
		Update json.RawMessage `json:"update"`
	}
	tolerant(params, &p)
	var u acpUpdate
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

// unknown keeps what ralph does not know (E-015).
func (l *acpLog) unknown(method string, raw []byte) {
	l.t.emit(ralph.StreamEvent{Kind: ralph.StreamUnknown, Thread: l.session, Method: method, Raw: keptRaw(raw)})
}

// stray takes a line that is no message: a program in front of the agent, or an error.
func (l *acpLog) stray(line []byte) {
	s := startLine(valid(line[:min(len(line), maxSaidResult)]), maxSaidResult)
	l.noise.add(s + "\n")
	l.t.said(ralph.Said{Kind: ralph.SaidStderr, Text: s})
}

// words joins the pieces of a message or thought.
func (l *acpLog) words(kind ralph.ItemKind, u acpUpdate) {
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
			l.text = tail{max: maxText}
		}
	}
	if kind == ralph.ItemMessage && parent == "" {
		l.text.add(block.Text)
	}
	for rest := block.Text; rest != ""; {
		piece := rest
		if room := maxACPMessage - l.body.Len(); len(piece) > room {
			piece = piece[:wholeLines(piece[:max(room, 1)])]
		}
		l.body.WriteString(piece)
		l.t.emit(ralph.StreamEvent{Kind: ralph.StreamDelta, Thread: l.session, Item: ralph.Item{ID: l.open.ID, Kind: kind, Parent: parent}, Delta: piece})
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
	return max(1, runeCut([]byte(s)))
}

func (l *acpLog) begun(kind ralph.ItemKind, message, parent string) {
	l.body.Reset()
	l.chunk = message
	id := fmt.Sprintf("said-%d", l.said)
	if l.part > 0 {
		id += fmt.Sprintf(".%d", l.part)
	}
	l.open = ralph.Item{ID: id, Kind: kind, Parent: parent}
	l.t.emit(ralph.StreamEvent{Kind: ralph.StreamItem, Thread: l.session, Item: l.open})
}

// finish ends the item that is open.
func (l *acpLog) finish() {
	item := l.open
	item.Text, item.Status = strings.Clone(l.body.String()), ralph.ItemCompleted
	l.open = ralph.Item{}
	l.t.emit(ralph.StreamEvent{Kind: ralph.StreamItemDone, Thread: l.session, Item: item})
}

// declined ends the calls that nobody allowed, where the agent does not.
func (l *acpLog) declined() {
	for _, id := range slices.Sorted(maps.Keys(l.calls)) {
		if c := l.calls[id]; c.begun && l.refused[id] {
			c.item.Status = ralph.ItemDeclined
			l.t.emit(ralph.StreamEvent{Kind: ralph.StreamItemDone, Thread: l.session, Item: c.item})
			delete(l.calls, id)
		}
	}
}

// close ends the message or thought that is open, if there is one.
func (l *acpLog) close() {
	if l.open.ID != "" {
		l.finish()
	}
}

// call follows a call of a tool. An update says only what changed, and may be the
// first that is heard of the call.
func (l *acpLog) call(u acpUpdate) {
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
		c.item.Output = cutBack(out, maxToolOutput)
	}
	c.item.Status = ralph.ItemCompleted
	if u.Status == "failed" {
		c.item.Status = ralph.ItemFailed
	}
	if l.refused[c.item.ID] {
		c.item.Status = ralph.ItemDeclined
	}
	l.t.emit(ralph.StreamEvent{Kind: ralph.StreamItemDone, Thread: l.session, Item: c.item})
	delete(l.calls, c.item.ID)
}

func (l *acpLog) tell(c *acpCall) {
	c.begun = true
	l.t.emit(ralph.StreamEvent{Kind: ralph.StreamItem, Thread: l.session, Item: c.item})
}

// merge adds what an update says to its call.
func (l *acpLog) merge(u acpUpdate) *acpCall {
	c := l.calls[u.Call]
	if c == nil {
		if u.Call == "" || len(l.calls) >= maxACPItems {
			return nil
		}
		c = &acpCall{item: ralph.Item{ID: u.Call, Kind: ralph.ItemTool}}
		l.calls[u.Call] = c
	}
	i := &c.item
	if u.Op != "" {
		i.Kind = acpItemKind(u.Op)
		i.Type = orText(i.Type, u.Op)
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
		i.Text = cutBack(u.Title, maxMessage)
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

func acpItemKind(op string) ralph.ItemKind {
	switch op {
	case "execute":
		return ralph.ItemCommand
	case "edit", "delete", "move":
		return ralph.ItemEdit
	}
	return ralph.ItemTool
}

func (l *acpLog) plan(u acpUpdate) {
	steps := make([]ralph.PlanStep, len(u.Entries))
	for i, e := range u.Entries {
		steps[i] = ralph.PlanStep{Text: e.Content, Status: e.Status}
	}
	l.t.emit(ralph.StreamEvent{Kind: ralph.StreamPlan, Thread: l.session, Plan: steps})
}

// fill takes how full the window is, and what the session has cost so far.
func (l *acpLog) fill(u acpUpdate) {
	if u.Cost != nil && (u.Cost.Currency == "" || u.Cost.Currency == "USD") {
		amount := u.Cost.Amount
		l.cost = &amount
	}
	if l.live && u.Used > 0 {
		l.context = ralph.ContextUse{Used: u.Used, Window: u.Size}
		l.t.emit(ralph.StreamEvent{Kind: ralph.StreamUsage, Thread: l.session, Context: l.context})
	}
}

// codex takes what Codex tells of errors: it has no other way to say that a turn failed.
func (l *acpLog) codex(m acpMeta) {
	if e := m.Codex.Error; e != nil {
		message := strings.TrimSpace(e.Message + " " + e.Details)
		if s := acpStatus(string(e.Info) + " " + e.Details); s != 0 {
			l.status = s
		}
		l.failure = message
		l.t.emit(ralph.StreamEvent{
			Kind: ralph.StreamError, Thread: l.session, WillRetry: e.Retry,
			Err: &ralph.AgentError{Class: acpClass(l.status, message), Status: l.status, Message: cutBack(message, maxMessage)},
		})
	}
	if m.Codex.Thread.Type == "systemError" {
		l.close() // what it says next is the error
		l.broken = true
	}
}
