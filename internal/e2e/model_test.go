//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// model is a scripted model server that speaks the Anthropic Messages API as
// far as Claude Code needs it. It never leaves loopback.
type model struct {
	*httptest.Server
	mu      sync.Mutex
	seen    []request
	respond func(request) reply
}

// request is what a test decides on.
type request struct {
	Text    string // all messages, as JSON
	Tools   map[string]bool
	Results bool // the last message carries tool results
}

// reply is one answer: text, or a tool call, or an HTTP error.
type reply struct {
	Text   string
	Tool   string
	Input  any
	Status int
	Tokens int // of the input, 0 is 1000
}

func newModel(t *testing.T, respond func(request) reply) *model {
	m := &model{respond: respond}
	m.Server = httptest.NewServer(http.HandlerFunc(m.serve))
	t.Cleanup(m.Close)
	return m
}

// requests is how many messages the model was asked for.
func (m *model) requests() []request {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]request(nil), m.seen...)
}

func (m *model) serve(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost || !strings.HasPrefix(r.URL.Path, "/v1/messages") || strings.Contains(r.URL.Path, "count_tokens") {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"input_tokens":100}`)
		return
	}
	var body struct {
		Model    string            `json:"model"`
		Messages []json.RawMessage `json:"messages"`
		Tools    []struct {
			Name string `json:"name"`
		} `json:"tools"`
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	req := request{Tools: map[string]bool{}}
	for _, t := range body.Tools {
		req.Tools[t.Name] = true
	}
	for i, msg := range body.Messages {
		req.Text += string(msg)
		req.Results = i == len(body.Messages)-1 && strings.Contains(string(msg), `"tool_result"`)
	}
	m.mu.Lock()
	m.seen = append(m.seen, req)
	answer := m.respond(req)
	m.mu.Unlock()
	if answer.Tokens == 0 {
		answer.Tokens = 1000
	}
	if answer.Status != 0 {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(answer.Status)
		fmt.Fprint(w, `{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}`)
		return
	}
	stream(w, body.Model, answer, len(req.Text))
}

// stream writes one answer as server-sent events.
func stream(w http.ResponseWriter, name string, answer reply, n int) {
	w.Header().Set("Content-Type", "text/event-stream")
	event := func(kind string, fields map[string]any) {
		fields["type"] = kind
		b, _ := json.Marshal(fields)
		fmt.Fprintf(w, "event: %s\ndata: %s\n\n", kind, b)
	}
	type object = map[string]any
	event("message_start", object{"message": object{
		"id": fmt.Sprintf("msg_%d", n), "type": "message", "role": "assistant", "model": name, "content": []any{},
		"stop_reason": nil, "stop_sequence": nil, "usage": object{"input_tokens": answer.Tokens, "output_tokens": 1},
	}})
	stop := "end_turn"
	if answer.Tool == "" {
		event("content_block_start", object{"index": 0, "content_block": object{"type": "text", "text": ""}})
		event("content_block_delta", object{"index": 0, "delta": object{"type": "text_delta", "text": answer.Text}})
	} else {
		stop = "tool_use"
		input, _ := json.Marshal(answer.Input)
		event("content_block_start", object{"index": 0, "content_block": object{"type": "tool_use", "id": fmt.Sprintf("toolu_%d", n), "name": answer.Tool, "input": object{}}})
		event("content_block_delta", object{"index": 0, "delta": object{"type": "input_json_delta", "partial_json": string(input)}})
	}
	event("content_block_stop", object{"index": 0})
	event("message_delta", object{"delta": object{"stop_reason": stop, "stop_sequence": nil}, "usage": object{"output_tokens": 50}})
	event("message_stop", object{})
}
