package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
)

// maxRPC is the longest line that is taken for a message, in bytes. A server that
// repeats an answer of 20 MB in one line was seen.
const maxRPC = 256 << 20

// RPC is one side of JSON-RPC in lines, as the Codex app-server speaks it: messages
// have no "jsonrpc" member, which libraries insist on, and lines have no limit, which
// libraries have. Requests, notifications and answers are told apart by "method".
//
// What it hears it hears by Write, in order, on the goroutine that calls Write. Nothing
// that it is told to send blocks: a server that does not read must not stop us from
// reading, or neither side would move.
type RPC struct {
	heard func(RPCMessage) // requests and notifications, on the goroutine of Write
	lines Events

	mu     sync.Mutex
	wake   *sync.Cond
	queue  [][]byte // lines to send
	closed bool     // nothing more is sent
	next   int64
	calls  map[int64]func(RPCAnswer)
	asked  map[string]bool // requests of the other side without an answer, by id as it came
	err    error           // why it is over
}

// RPCMessage is a line of JSON-RPC, as spans of it: what hears it must not keep them. A
// request has a method and an id, where 0 is an id like any other; a notification has no
// id, a response no method.
type RPCMessage struct {
	Line, ID, Method, Params, Result, Err []byte
}

// ReadRPC reads a line; false when it is no message.
func ReadRPC(line []byte) (m RPCMessage, ok bool) {
	m.Line = line
	ok = EachMember(line, func(key, value []byte) {
		switch string(key) {
		case "id":
			m.ID = value
		case "method":
			m.Method = value
		case "params":
			m.Params = value
		case "result":
			m.Result = value
		case "error":
			m.Err = value
		}
	})
	if string(m.ID) == "null" {
		m.ID = nil
	}
	return m, ok && (m.ID != nil || m.Method != nil)
}

// RPCAnswer is the answer to a call: a result, valid only during the callback, or err:
// an *RPCError that the other side sent, or why there is no answer.
type RPCAnswer struct {
	Result []byte
	Err    error
}

// RPCError is an error that the other side answered with.
type RPCError struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

func (e *RPCError) Error() string { return e.Message }

// ErrNoMethod is the code of JSON-RPC for a method that is not there.
const ErrNoMethod = -32601

// NewRPC is one side of a connection; heard takes the other side's requests and notices, one at a time.
func NewRPC(heard func(RPCMessage)) *RPC {
	r := &RPC{heard: heard, calls: map[int64]func(RPCAnswer){}, asked: map[string]bool{}}
	r.wake = sync.NewCond(&r.mu)
	r.lines = Events{Line: r.line, max: maxRPC}
	return r
}

// Write takes what the other side sent, in whatever chunks. It never fails.
func (r *RPC) Write(p []byte) (int, error) {
	r.lines.Write(p)
	return len(p), nil
}

// Pump sends what is queued to w until finish, then closes w. It returns early when
// w fails; whoever owns the process sees that it is over.
func (r *RPC) Pump(w io.WriteCloser) {
	defer w.Close()
	for {
		r.mu.Lock()
		for len(r.queue) == 0 && !r.closed {
			r.wake.Wait()
		}
		if len(r.queue) == 0 {
			r.mu.Unlock()
			return
		}
		line := r.queue[0]
		r.queue = r.queue[1:]
		r.mu.Unlock()
		if _, err := w.Write(line); err != nil {
			return
		}
	}
}

// Finish closes the other side's input once all that is queued is sent.
func (r *RPC) Finish() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	r.wake.Broadcast()
}

// Fail ends it: every call under way gets err, and so does each later one.
func (r *RPC) Fail(err error) {
	r.mu.Lock()
	if r.err != nil {
		r.mu.Unlock()
		return
	}
	r.err, r.closed = err, true
	calls := r.calls
	r.calls = nil
	r.wake.Broadcast()
	r.mu.Unlock()
	for _, done := range calls {
		done(RPCAnswer{Err: err})
	}
}

// Send asks for a method; done gets the answer, once, on the goroutine of Write or of
// fail, or at once when it is over.
func (r *RPC) Send(method string, params any, done func(RPCAnswer)) {
	r.mu.Lock()
	if r.err != nil || r.closed {
		err := r.err
		r.mu.Unlock()
		if err == nil {
			err = errors.New("it was told to end")
		}
		done(RPCAnswer{Err: err})
		return
	}
	r.next++
	id := r.next
	line, err := encode(struct {
		ID     int64  `json:"id"`
		Method string `json:"method"`
		Params any    `json:"params"`
	}{id, method, params})
	if err != nil {
		r.mu.Unlock()
		done(RPCAnswer{Err: fmt.Errorf("write %s: %w", method, err)})
		return
	}
	r.calls[id] = done
	r.put(line)
	r.mu.Unlock()
}

// Call asks for a method and waits for its result, which is the caller's own.
func (r *RPC) Call(ctx context.Context, method string, params any) (json.RawMessage, error) {
	answered := make(chan RPCAnswer, 1)
	r.Send(method, params, func(a RPCAnswer) {
		a.Result = bytes.Clone(a.Result)
		answered <- a
	})
	select {
	case a := <-answered:
		return a.Result, a.Err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Notify sends a notification.
func (r *RPC) Notify(method string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.put([]byte(`{"method":"` + method + `"}` + "\n"))
}

// Answer answers a request of the other side with a result, or with err. Only the
// first answer to an id is sent, and none to one that was resolved.
func (r *RPC) Answer(id string, result any, refusal *RPCError) {
	var line []byte
	var err error
	if refusal != nil {
		line, err = encode(struct {
			ID    json.RawMessage `json:"id"`
			Error *RPCError       `json:"error"`
		}{json.RawMessage(id), refusal})
	} else {
		line, err = encode(struct {
			ID     json.RawMessage `json:"id"`
			Result any             `json:"result"`
		}{json.RawMessage(id), result})
	}
	if err != nil { // an id that is no JSON: nobody can answer that
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.asked[id] {
		delete(r.asked, id)
		r.put(line)
	}
}

// Resolved forgets a request that needs no answer any more; false when it has one.
func (r *RPC) Resolved(id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	was := r.asked[id]
	delete(r.asked, id)
	return was
}

// put queues a line; the lock is held.
func (r *RPC) put(line []byte) {
	if !r.closed {
		r.queue = append(r.queue, line)
		r.wake.Signal()
	}
}

// encode writes a message as one line.
func encode(v any) ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return out.Bytes(), err
}

// line takes one line. What is no message is passed over: a wrapper may print what
// it likes.
func (r *RPC) line(line []byte) {
	m, ok := ReadRPC(line)
	if !ok {
		return
	}
	switch {
	case m.Method != nil && m.ID != nil:
		r.mu.Lock()
		r.asked[string(m.ID)] = true
		r.mu.Unlock()
		r.heard(m)
	case m.Method != nil:
		r.heard(m)
	case m.ID != nil:
		r.answered(m.ID, m.Result, m.Err)
	}
}

func (r *RPC) answered(id, result, refusal []byte) {
	n, err := strconv.ParseInt(string(id), 10, 64)
	if err != nil {
		return
	}
	r.mu.Lock()
	done, ok := r.calls[n]
	delete(r.calls, n)
	r.mu.Unlock()
	if !ok {
		return
	}
	if e := refusalOf(refusal); e != nil {
		done(RPCAnswer{Err: e})
		return
	}
	done(RPCAnswer{Result: result})
}

// refusalOf is the error of a response, nil for none.
func refusalOf(refusal []byte) *RPCError {
	if refusal == nil || string(refusal) == "null" {
		return nil
	}
	e := &RPCError{}
	if json.Unmarshal(refusal, e) != nil || e.Message == "" {
		e.Message = "an error without words: " + Compact(refusal, MaxSaidTool)
	}
	return e
}
