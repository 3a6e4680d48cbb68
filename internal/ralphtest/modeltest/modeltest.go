// Package modeltest owns a scripted model server on loopback, which stands in for
// the model of a real agent program: Anthropic Messages (Claude Code), OpenAI
// Responses (Codex), OpenAI chat completions (OpenCode) and Ollama, so that one script
// drives them all. It does not own what an agent's own output looks like:
// internal/agent has recordings of that, and agenttest scripts it.
package modeltest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// API is one of the shapes that the server speaks.
type API string

// The shapes, by the path of a request: /v1/messages, /v1/responses,
// /v1/chat/completions and /api/chat.
const (
	Messages  API = "messages"
	Responses API = "responses"
	Chat      API = "chat"
	Local     API = "ollama"
)

// Request is what a script decides on: one question to the model.
type Request struct {
	API     API
	Model   string
	Text    string          // all messages, as JSON, without the system prompt
	System  string          // system prompt and instructions, as JSON
	Prompt  string          // the last words of a user in Text: the prompt of this turn
	Last    string          // the last message, as JSON: the prompt or a tool's result
	Tools   map[string]bool // by name
	Results bool            // the last message carries a tool's result
	Answer  bool            // structured output is wanted by a schema: reply with Reply.Answer
	Session string          // what the agent calls its session, "" when it does not say
	Header  http.Header
}

// Reply is the model's answer: text, calls of tools, both in this order, or a
// failure. The zero value is an empty text.
type Reply struct {
	Text   string
	Think  string // reasoning before the text
	Tool   string // one call by the tool's own name, with Input; see Calls for several
	Input  any    // becomes JSON; a string goes as it is to a tool that takes free text
	Calls  []Call
	Answer any // structured output: the tool StructuredOutput where there is one, else JSON text

	Status     int           // an HTTP error instead of an answer; 0 with a Kind is that kind's
	Kind       Kind          // what the error says it is
	RetryAfter time.Duration // header of an error, whole seconds
	Headers    map[string]string
	Cut        bool            // the stream breaks off in the middle of the answer
	Tokens     int             // of the input, 0 is 1000
	Output     int             // tokens of the answer, 0 is 50
	Wait       <-chan struct{} // answers when this is closed, or the agent has gone
}

// Handler is the script. The server calls it for one request at a time, in the
// order in which they come, so that it may count in plain variables.
type Handler func(Request) Reply

// Server is a running model server.
type Server struct {
	URL    string // http://127.0.0.1:port, without /v1
	http   *httptest.Server
	script Handler
	mu     sync.Mutex
	seen   []Request
	quit   chan struct{}
}

// New starts a server that ends with the test.
func New(t testing.TB, script Handler) *Server {
	t.Helper()
	s := Start(script)
	t.Cleanup(s.Close)
	return s
}

// Start starts a server on a free port of loopback, for use outside of a test.
func Start(script Handler) *Server {
	s := &Server{script: script, quit: make(chan struct{})}
	s.http = httptest.NewServer(http.HandlerFunc(s.serve))
	s.URL = s.http.URL
	return s
}

// Close ends the server, also replies that still wait.
func (s *Server) Close() {
	s.mu.Lock()
	select {
	case <-s.quit:
	default:
		close(s.quit)
	}
	s.mu.Unlock()
	s.http.CloseClientConnections()
	s.http.Close()
}

// Requests is everything that the script was asked, in order.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.seen...)
}

// shape is how one API is read and written.
type shape interface {
	read(body []byte, r *http.Request) (Request, error)
	write(e *events, q Request, a Reply, n int)
	whole(q Request, a Reply, n int) any
	failure(a Reply) any
}

func shapeOf(path string) shape {
	switch {
	case strings.HasSuffix(path, "/messages"):
		return messages{}
	case strings.HasSuffix(path, "/responses"):
		return responses{}
	case strings.HasSuffix(path, "/chat/completions"):
		return chat{}
	case strings.HasSuffix(path, "/api/chat"):
		return local{}
	}
	return nil
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	how := shapeOf(r.URL.Path)
	if err != nil || how == nil || r.Method != http.MethodPost {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"input_tokens":100,"object":"list","data":[],"models":[]}`) // count_tokens, models
		return
	}
	q, err := how.read(body, r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	a, n := s.ask(q)
	if a.Wait != nil {
		select {
		case <-a.Wait:
		case <-r.Context().Done():
			return
		case <-s.quit:
			return
		}
	}
	answer(w, how, q, a, n, inOne(body))
}

// ask runs the script, and answers by itself what no script should care for: the
// turn after structured output, and the title of a session.
func (s *Server) ask(q Request) (Reply, int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case q.Results && strings.Contains(q.Last, answerID):
		return Reply{Text: "Done."}, len(s.seen)
	case len(q.Tools) == 0 && strings.Contains(q.System, "title generator"):
		return Reply{Text: "A title"}, len(s.seen)
	}
	s.seen = append(s.seen, q)
	return s.script(q), len(s.seen)
}

func answer(w http.ResponseWriter, how shape, q Request, a Reply, n int, inOne bool) {
	if a.Tokens == 0 {
		a.Tokens = 1000
	}
	if a.Output == 0 {
		a.Output = 50
	}
	for k, v := range a.Headers {
		w.Header().Set(k, v)
	}
	if a.Kind != "" && a.Status == 0 {
		a.Status = a.Kind.status()
	}
	if a.Status != 0 {
		if a.RetryAfter > 0 {
			w.Header().Set("Retry-After", strconv.Itoa(int(a.RetryAfter.Round(time.Second)/time.Second)))
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(a.Status)
		_ = json.NewEncoder(w).Encode(how.failure(a))
		return
	}
	a.Calls = a.calls(q)
	if a.Answer != nil && len(a.Calls) == 0 {
		a.Text = string(raw(a.Answer))
	}
	if inOne {
		writeWhole(w, how.whole(q, a, n), a.Cut)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	how.write(&events{w: w, cut: a.Cut}, q, a, n)
}

// object is a JSON object.
type object = map[string]any

// events writes server-sent events.
type events struct {
	w   http.ResponseWriter
	cut bool
}

// send writes one event, with its name unless that is empty.
func (e *events) send(name string, data any) {
	if name != "" {
		fmt.Fprintf(e.w, "event: %s\n", name)
	}
	fmt.Fprintf(e.w, "data: %s\n\n", raw(data))
	e.flush()
}

func (e *events) flush() {
	if f, ok := e.w.(http.Flusher); ok {
		f.Flush()
	}
}

// middle is where a stream that is to be cut breaks off.
func (e *events) middle() {
	if e.cut {
		panic(http.ErrAbortHandler)
	}
}

// raw is v as JSON on one line, < and > as they are: agents show them.
func raw(v any) json.RawMessage {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(fmt.Errorf("a script's value is no JSON: %w", err))
	}
	return bytes.TrimSpace(b.Bytes())
}

// plain is the text within a message's content: a string, or parts with a text.
func plain(content json.RawMessage) string {
	var s string
	if json.Unmarshal(content, &s) == nil {
		return s
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(content, &parts) != nil {
		return string(content)
	}
	var texts []string
	for _, p := range parts {
		if p.Text != "" {
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// decode reads a request's body.
func decode(body []byte, into any) error {
	if err := json.Unmarshal(body, into); err != nil {
		return errors.Join(errors.New("the request is no JSON of this API"), err)
	}
	return nil
}
