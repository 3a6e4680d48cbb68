package modeltest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// messages is Anthropic's Messages API.
type messages struct{}

func (messages) read(body []byte, r *http.Request) (Request, error) {
	var b struct {
		Model    string            `json:"model"`
		System   json.RawMessage   `json:"system"`
		Messages []json.RawMessage `json:"messages"`
		Tools    []struct {
			Name string `json:"name"`
		} `json:"tools"`
		Metadata struct {
			User string `json:"user_id"`
		} `json:"metadata"`
		Output struct {
			Format struct {
				Type string `json:"type"`
			} `json:"format"`
		} `json:"output_config"`
	}
	if err := decode(body, &b); err != nil {
		return Request{}, err
	}
	q := Request{API: Messages, Model: b.Model, System: string(b.System), Tools: map[string]bool{}, Session: sessionOf(b.Metadata.User), Header: r.Header}
	for _, t := range b.Tools {
		q.Tools[t.Name] = true
	}
	q.Answer = q.Tools["StructuredOutput"] || b.Output.Format.Type == "json_schema"
	for _, m := range b.Messages {
		var one struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		}
		if err := json.Unmarshal(m, &one); err != nil {
			return q, fmt.Errorf("read a message: %w", err)
		}
		if one.Role == "system" { // told in between, and after the prompt: no turn of anybody's
			q.System += string(m)
			continue
		}
		q.Text += string(m)
		q.Last = string(m)
		q.Results = strings.Contains(q.Last, `"tool_result"`)
		if one.Role == "user" && !q.Results {
			q.Prompt = withoutReminders(plain(one.Content))
		}
	}
	return q, nil
}

// withoutReminders takes out what Claude Code adds to what the user said.
func withoutReminders(text string) string {
	const from, to = "<system-reminder>", "</system-reminder>"
	for {
		before, rest, found := strings.Cut(text, from)
		_, after, closed := strings.Cut(rest, to)
		if !found || !closed {
			return strings.TrimSpace(text)
		}
		text = before + after
	}
}

// sessionOf finds the session in what Claude Code calls the user: JSON, or words
// joined by _.
func sessionOf(user string) string {
	var u struct {
		Session string `json:"session_id"`
	}
	if json.Unmarshal([]byte(user), &u) == nil && u.Session != "" {
		return u.Session
	}
	_, id, _ := strings.Cut(user, "session_")
	return id
}

func (messages) write(e *events, q Request, a Reply, n int) {
	send := func(kind string, fields object) {
		fields["type"] = kind
		e.send(kind, fields)
	}
	send("message_start", object{"message": object{
		"id": fmt.Sprintf("msg_%d", n), "type": "message", "role": "assistant", "model": q.Model, "content": []any{},
		"stop_reason": nil, "stop_sequence": nil, "usage": object{"input_tokens": a.Tokens, "output_tokens": 1},
	}})
	index := 0
	block := func(start, delta object) {
		send("content_block_start", object{"index": index, "content_block": start})
		send("content_block_delta", object{"index": index, "delta": delta})
		e.middle()
		send("content_block_stop", object{"index": index})
		index++
	}
	if a.Think != "" {
		block(object{"type": "thinking", "thinking": "", "signature": "c2lnbmVk"}, object{"type": "thinking_delta", "thinking": a.Think})
	}
	if a.Text != "" || len(a.Calls) == 0 {
		block(object{"type": "text", "text": ""}, object{"type": "text_delta", "text": a.Text})
	}
	stop := "end_turn"
	for i, c := range a.Calls {
		stop = "tool_use"
		id := "toolu_" + c.call(n, i)
		block(object{"type": "tool_use", "id": id, "name": c.Tool, "input": object{}}, object{"type": "input_json_delta", "partial_json": c.input()})
	}
	send("message_delta", object{"delta": object{"stop_reason": stop, "stop_sequence": nil}, "usage": object{"output_tokens": a.Output}})
	send("message_stop", object{})
}

func (messages) failure(a Reply) any {
	kind, text := "api_error", "Internal server error"
	switch kindOf(a) {
	case RateLimit:
		kind, text = "rate_limit_error", "This request would exceed your account's rate limit. Please try again later."
	case UsageLimit:
		kind, text = "rate_limit_error", "You have reached your usage limit."
	case Auth:
		kind, text = "authentication_error", "invalid x-api-key"
	case Billing:
		kind, text = "billing_error", "Your credit balance is too low to access the API."
	case Overloaded:
		kind, text = "overloaded_error", "Overloaded"
	case TooLong:
		kind, text = "invalid_request_error", "prompt is too long: 250000 tokens > 200000 maximum"
	case NoModel:
		kind, text = "not_found_error", "model: no such model"
	case Bad:
		kind, text = "invalid_request_error", "the request is malformed"
	}
	return object{"type": "error", "error": object{"type": kind, "message": text}}
}
