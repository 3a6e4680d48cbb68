package acp

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"

	"github.com/ralph-loop/ralph/internal/agent/wire"

	acp "github.com/coder/acp-go-sdk"
	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/text"
)

// reader stands between the agent's stdout and the SDK's connection. The SDK gets the
// requests and responses; updates are read here. Three things need it: the SDK ends the
// connection on a line over 10 MiB and on a queue of 1024 updates, and it drops updates
// of kinds that it does not know.
//
// It runs under the turn's lock, in the order of the lines, so that an update is heard
// before the response that follows it.
type reader struct {
	a      *turn
	lines  lines
	toSDK  *io.PipeWriter
	asked  int       // requests of ours that are under way
	failed *rpcError // the error that the last response was
	answer []byte    // the result that the last response was
}

// longest is the longest line that the SDK gets; its own limit is 10 MiB.
const longest = 8 << 20

func (w *reader) init(a *turn, toSDK *io.PipeWriter) {
	w.a, w.toSDK = a, toSDK
	w.lines = lines{Events: wire.Events{Line: w.line}, long: w.long}
}

func (w *reader) Write(p []byte) { w.lines.Write(p) }

// Close takes the last line. When nothing is asked any more, the conversation ends by
// itself; else its requests have to fail.
func (w *reader) Close() {
	w.lines.Close()
	if w.asked > 0 {
		_ = w.toSDK.CloseWithError(errGone)
	}
}

func (w *reader) line(line []byte) {
	m, ok := wire.ReadRPC(line)
	if !ok {
		w.a.log.stray(line)
		return
	}
	method := wire.Text(m.Method)
	switch {
	case m.Method == nil:
		w.response(m, line)
	case m.ID == nil && method == acp.ClientMethodSessionUpdate:
		w.a.log.update(m.Params)
	case m.ID == nil && method == "$/cancel_request":
		w.pass(line) // the SDK ends the context of that request
	case m.ID == nil:
		w.a.log.unknown(method, m.Params)
	case len(line) > longest:
		w.a.log.unknown(method, m.Params)
		w.refuse(m.ID)
	default:
		if method == acp.ClientMethodSessionRequestPermission {
			w.a.log.asked(m.Params)
		}
		w.pass(line)
	}
}

func (w *reader) response(m wire.RPCMessage, line []byte) {
	w.asked--
	w.failed, w.answer = nil, nil
	switch {
	case m.Err != nil:
		w.failed = readError(m.Err)
	case m.Result != nil && len(line) <= longest:
		w.answer = bytes.Clone(m.Result)
	}
	if len(line) > longest {
		line = slices.Concat([]byte(`{"jsonrpc":"2.0","id":`), m.ID, []byte(`,"error":{"code":-32603,"message":"the answer is too long"}}`))
		w.failed = &rpcError{Code: -32603, Message: "the agent's answer is too long to be read"}
	}
	w.pass(line)
}

// pass gives a line to the SDK. A failure says that its end is closed: nobody waits.
func (w *reader) pass(line []byte) {
	_, _ = w.toSDK.Write(append(bytes.Clone(line), '\n'))
}

// refuse answers a request that is too long for the SDK, so that the agent goes on.
func (w *reader) refuse(id []byte) {
	answer := slices.Concat([]byte(`{"jsonrpc":"2.0","id":`), id, []byte(`,"error":{"code":-32600,"message":"the request is longer than 8 MiB"}}`+"\n"))
	go func() { _, _ = w.a.stdin.Write(answer) }() // it must not wait for the agent under the turn's lock
}

// long takes the beginning of a line that is too long to be kept at all.
func (w *reader) long(head []byte) {
	var m wire.RPCMessage
	wire.EachMember(head, func(key, value []byte) {
		switch string(key) {
		case "id":
			m.ID = bytes.Clone(value)
		case "method":
			m.Method = bytes.Clone(value)
		}
	})
	switch {
	case m.Method != nil && m.ID != nil:
		w.a.log.unknown(wire.Text(m.Method), nil)
		w.refuse(m.ID)
	case m.Method == nil && m.ID != nil:
		w.asked--
		w.failed = &rpcError{Code: -32603, Message: "the agent's answer is too long to be read"}
		w.pass(slices.Concat([]byte(`{"jsonrpc":"2.0","id":`), m.ID, []byte(`,"error":{"code":-32603,"message":"the answer is too long"}}`)))
	default:
		w.a.log.unknown(wire.Text(m.Method), nil)
	}
}

// lines is events that also tells how a line over its limit began.
type lines struct {
	wire.Events
	long func(head []byte)
	head []byte
}

func (l *lines) Write(p []byte) {
	for len(p) > 0 {
		piece := p
		if i := bytes.IndexByte(p, '\n'); i >= 0 {
			piece = p[:i+1]
		}
		if room := 4<<10 - len(l.head); room > 0 {
			l.head = append(l.head, piece[:min(room, len(piece))]...)
		}
		before := l.Dropped
		l.Events.Write(piece)
		if piece[len(piece)-1] == '\n' {
			if l.Dropped > before {
				l.long(l.head)
			}
			l.head = l.head[:0]
		}
		p = p[len(piece):]
	}
}

// rpcError is an error of JSON-RPC.
type rpcError struct {
	Code    int
	Message string
	Kind    string // data.errorKind: Claude's
	Name    string // data.errorName: opencode's
	Details string // data.details, or data as it is
}

func readError(raw []byte) *rpcError {
	e := &rpcError{}
	wire.EachMember(raw, func(key, value []byte) {
		switch string(key) {
		case "code":
			_ = json.Unmarshal(value, &e.Code) // else it stays 0, which is no code
		case "message":
			e.Message = wire.Text(value)
		case "data":
			var data struct {
				Kind    string `json:"errorKind"`
				Name    string `json:"errorName"`
				Details string `json:"details"`
			}
			if json.Unmarshal(value, &data) != nil || data.Details == "" && data.Kind == "" && data.Name == "" {
				data.Details = wire.Compact(value, wire.MaxMessage)
			}
			e.Kind, e.Name, e.Details = data.Kind, data.Name, data.Details
		}
	})
	return e
}

// agentError types the error. What is typed comes first, the text last.
func (e *rpcError) agentError() *ralph.AgentError {
	message := e.Message
	if e.Details != "" && e.Details != "null" {
		message += ": " + e.Details
	}
	out := &ralph.AgentError{Message: text.Cut(message, wire.MaxMessage), Status: wire.StatusIn(message)}
	if e.Code >= 400 && e.Code < 600 {
		out.Status = e.Code // Gemini's codes are those of HTTP
	}
	switch {
	case e.Kind == "rate_limit":
		out.Class = ralph.ErrClassLimit
	case e.Kind == "authentication_failed", e.Code == authRequired:
		out.Class = ralph.ErrClassAuth
	case e.Kind == "billing_error", e.Kind == "invalid_request", e.Kind == "model_not_found":
		out.Class = ralph.ErrClassRequest
	case e.Name == "ContextOverflowError":
		out.Class = ralph.ErrClassContext
	case e.Kind == "server_error" && wire.BusyText.MatchString(message):
		out.Class = ralph.ErrClassBusy
	default:
		out.Class = wire.ClassOf(out.Status, message)
		if e.Kind == "server_error" && out.Class == ralph.ErrClassOther {
			out.Class = ralph.ErrClassServer
		}
	}
	return out
}

// authRequired is the protocol's code for "log in first".
const authRequired = -32000
