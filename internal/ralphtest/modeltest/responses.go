package modeltest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// responses is OpenAI's Responses API, as far as Codex reads it.
type responses struct{}

// namedTool is a tool, or a named group of them.
type namedTool struct {
	Type  string      `json:"type"`
	Name  string      `json:"name"`
	Tools []namedTool `json:"tools"`
}

func (t namedTool) into(names map[string]bool) {
	if t.Name != "" && len(t.Tools) == 0 {
		names[t.Name] = true
	}
	for _, sub := range t.Tools {
		sub.into(names)
	}
}

func (responses) read(body []byte, r *http.Request) (Request, error) {
	var b struct {
		Model        string            `json:"model"`
		Instructions string            `json:"instructions"`
		Input        []json.RawMessage `json:"input"`
		Tools        []namedTool       `json:"tools"`
		Cache        string            `json:"prompt_cache_key"`
		Text         struct {
			Format struct {
				Type string `json:"type"`
			} `json:"format"`
		} `json:"text"`
	}
	if err := decode(body, &b); err != nil {
		return Request{}, err
	}
	q := Request{API: Responses, Model: b.Model, System: b.Instructions, Tools: map[string]bool{}, Session: b.Cache, Header: r.Header}
	q.Answer = b.Text.Format.Type == "json_schema"
	for _, t := range b.Tools {
		t.into(q.Tools)
	}
	for _, m := range b.Input {
		q.Text += string(m)
		q.Last = string(m)
		var one struct {
			Type    string          `json:"type"`
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		}
		if json.Unmarshal(m, &one) != nil {
			continue
		}
		q.Results = slices.Contains([]string{"function_call_output", "custom_tool_call_output"}, one.Type)
		if one.Role == "user" {
			q.Prompt = plain(one.Content)
		}
	}
	return q, nil
}

func (responses) write(e *events, q Request, a Reply, n int) {
	id := fmt.Sprintf("resp_%d", n)
	send := func(kind string, fields object) {
		fields["type"] = kind
		e.send(kind, fields)
	}
	send("response.created", object{"response": object{"id": id}})
	if a.Think != "" {
		send("response.output_item.done", object{"item": object{
			"type": "reasoning", "id": fmt.Sprintf("rs_%d", n), "summary": []object{{"type": "summary_text", "text": a.Think}}, "encrypted_content": nil,
		}})
	}
	if a.Text != "" || len(a.Calls) == 0 {
		item := object{"type": "message", "role": "assistant", "id": fmt.Sprintf("msg_%d", n), "content": []object{}}
		send("response.output_item.added", object{"output_index": 0, "item": item})
		half := len([]rune(a.Text)) / 2
		send("response.output_text.delta", object{"item_id": item["id"], "output_index": 0, "delta": string([]rune(a.Text)[:half])})
		e.middle()
		send("response.output_text.delta", object{"item_id": item["id"], "output_index": 0, "delta": string([]rune(a.Text)[half:])})
		item["content"] = []object{{"type": "output_text", "text": a.Text, "annotations": []any{}}}
		send("response.output_item.done", object{"output_index": 0, "item": item})
	}
	e.middle()
	for i, c := range a.Calls {
		item := object{"type": "function_call", "id": fmt.Sprintf("fc_%d_%d", n, i), "call_id": c.call(n, i), "name": c.Tool, "arguments": c.input()}
		if c.space != "" {
			item["namespace"] = c.space
		}
		if c.free {
			item = object{"type": "custom_tool_call", "id": fmt.Sprintf("ctc_%d_%d", n, i), "call_id": c.call(n, i), "name": c.Tool, "input": c.input()}
		}
		send("response.output_item.done", object{"output_index": i + 1, "item": item})
	}
	send("response.completed", object{"response": object{"id": id, "usage": object{
		"input_tokens": a.Tokens, "input_tokens_details": object{"cached_tokens": 0},
		"output_tokens": a.Output, "output_tokens_details": object{"reasoning_tokens": 0}, "total_tokens": a.Tokens + a.Output,
	}}})
}

func (responses) failure(a Reply) any { return openAIError(a) }

// openAIError is an error as both of OpenAI's APIs write it.
func openAIError(a Reply) any {
	fields := object{"type": "server_error", "code": nil, "message": "The server had an error while processing your request."}
	set := func(kind, code, text string) {
		fields = object{"type": kind, "code": code, "message": text}
	}
	switch kindOf(a) {
	case RateLimit:
		set("requests", "rate_limit_exceeded", "Rate limit reached. Please try again later.")
	case UsageLimit:
		set("usage_limit_reached", "usage_limit_reached", "The usage limit has been reached")
	case Auth:
		set("invalid_request_error", "invalid_api_key", "Incorrect API key provided.")
	case Billing:
		set("insufficient_quota", "insufficient_quota", "You exceeded your current quota, please check your plan and billing details.")
	case Overloaded:
		set("server_error", "server_is_overloaded", "The server is overloaded.")
	case TooLong:
		set("invalid_request_error", "context_length_exceeded", "Your input exceeds the context window of this model.")
	case NoModel:
		set("invalid_request_error", "model_not_found", "The model does not exist or you do not have access to it.")
	case Bad:
		set("invalid_request_error", "invalid_value", "The request is malformed.")
	}
	fields["message"] = strings.TrimSpace(fmt.Sprint(fields["message"]))
	return object{"error": fields}
}
