package model

import (
	"encoding/json"
	"errors"
	"strings"
)

// chat is OpenAI's chat completions, which most servers speak.
type chat struct{}

// object is a JSON object.
type object = map[string]any

func bearer(key string) map[string]string {
	if key == "" {
		return nil
	}
	return map[string]string{"Authorization": "Bearer " + key}
}

func (chat) request(s Spec, key string, r Request, how fallback) (string, map[string]string, any) {
	system := system(r, how)
	list := []object{}
	if system != "" {
		list = append(list, object{"role": "system", "content": system})
	}
	for _, m := range r.Messages {
		list = append(list, chatMessage(m))
	}
	body := object{"model": s.Model, "messages": list, "stream": false}
	sampling(body, r, how)
	if r.MaxTokens > 0 {
		// OpenAI's own models that reason know the newer name alone, most other servers the older.
		name := "max_tokens"
		if base, _ := s.Provider.own(); (s.BaseURL == "" || s.BaseURL == base) != how.has(oldMaxTokens) {
			name = "max_completion_tokens"
		}
		body[name] = r.MaxTokens
	}
	for _, t := range r.Tools {
		tools, _ := body["tools"].([]object)
		body["tools"] = append(tools, object{"type": "function", "function": object{"name": t.Name, "description": t.Description, "parameters": t.Parameters}})
	}
	switch {
	case r.Schema == nil || how.has(noFormat):
	case how.has(noSchema):
		body["response_format"] = object{"type": "json_object"}
	default:
		body["response_format"] = object{"type": "json_schema", "json_schema": object{"name": r.Schema.Name, "strict": strict(r.Schema.JSON), "schema": r.Schema.JSON}}
	}
	return "/chat/completions", bearer(key), body
}

func sampling(body object, r Request, how fallback) {
	if r.Temperature != nil && !how.has(noTemperature) {
		body["temperature"] = *r.Temperature
	}
	if r.Seed != nil && !how.has(noSeed) {
		body["seed"] = *r.Seed
	}
}

func chatMessage(m Message) object {
	switch m.Role {
	case Result:
		return object{"role": "tool", "tool_call_id": m.CallID, "content": m.Text}
	case Assistant:
		out := object{"role": "assistant", "content": m.Text}
		var calls []object
		for _, c := range m.Calls {
			calls = append(calls, object{"id": c.ID, "type": "function", "function": object{"name": c.Name, "arguments": string(asObject(c.Arguments))}})
		}
		if len(calls) > 0 {
			out["tool_calls"] = calls
			if m.Text == "" {
				out["content"] = nil
			}
		}
		return out
	}
	return object{"role": "user", "content": m.Text}
}

func (chat) response(body []byte, _ Request, _ fallback) (Response, error) {
	var b struct {
		Model   string
		Choices []struct {
			Finish  string `json:"finish_reason"`
			Message struct {
				Content json.RawMessage // text, parts with a text, or null
				Refusal string
				Calls   []struct {
					ID       string
					Function struct{ Name, Arguments string }
				} `json:"tool_calls"`
			}
		}
		Usage struct {
			Prompt     count `json:"prompt_tokens"`
			Completion count `json:"completion_tokens"`
			In         struct {
				Cached count `json:"cached_tokens"`
			} `json:"prompt_tokens_details"`
			Out struct {
				Reasoning count `json:"reasoning_tokens"`
			} `json:"completion_tokens_details"`
		}
	}
	if err := json.Unmarshal(body, &b); err != nil {
		return Response{}, notJSON(err)
	}
	if len(b.Choices) == 0 {
		return Response{}, errors.New("it has no choices")
	}
	first := b.Choices[0]
	r := Response{Model: b.Model, Text: contentText(first.Message.Content), Stop: End, Usage: Usage{
		Input: int64(b.Usage.Prompt), Cached: int64(b.Usage.In.Cached), Output: int64(b.Usage.Completion), Reasoning: int64(b.Usage.Out.Reasoning),
	}}
	for i, c := range first.Message.Calls {
		r.Calls = append(r.Calls, Call{ID: idOr(c.ID, i), Name: c.Function.Name, Arguments: arguments(c.Function.Arguments)})
	}
	switch {
	case first.Message.Refusal != "":
		r.Text, r.Stop = first.Message.Refusal, Refusal
	case first.Finish == "content_filter":
		r.Stop = Refusal
	case first.Finish == "length":
		r.Stop = Length
	case len(r.Calls) > 0:
		r.Stop = ToolUse
	}
	return r, nil
}

// contentText is the text of a message's content: a string, or parts that have one.
func contentText(content json.RawMessage) string {
	var s string
	if json.Unmarshal(content, &s) == nil {
		return s
	}
	var parts []struct{ Type, Text string }
	_ = json.Unmarshal(content, &parts)
	var b strings.Builder
	for _, p := range parts {
		if p.Type == "text" || p.Type == "output_text" {
			b.WriteString(p.Text)
		}
	}
	return b.String()
}
