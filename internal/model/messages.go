package model

import (
	"encoding/json"
	"errors"
)

// messages is Anthropic's Messages API, version 2023-06-01.
type messages struct{}

const (
	anthropicVersion = "2023-06-01"
	// anthropicMost is how long an answer may be when nobody says: the API wants a number.
	anthropicMost = 8192
)

func (messages) request(s Spec, key string, r Request, how fallback) (string, map[string]string, any) {
	header := map[string]string{"Anthropic-Version": anthropicVersion}
	if key != "" {
		header["X-Api-Key"] = key
	}
	body := object{"model": s.Model, "messages": blocks(r.Messages), "max_tokens": anthropicMost, "stream": false}
	if r.MaxTokens > 0 {
		body["max_tokens"] = r.MaxTokens
	}
	if system := system(r, how&^noSchema); system != "" {
		// What comes first is the same each time: the provider may read it from its cache.
		body["system"] = []object{{"type": "text", "text": system, "cache_control": object{"type": "ephemeral"}}}
	}
	if r.Temperature != nil && !how.has(noTemperature) { // this API has no seed
		body["temperature"] = *r.Temperature
	}
	tools := []object{}
	for _, t := range r.Tools {
		tools = append(tools, object{"name": t.Name, "description": t.Description, "input_schema": t.Parameters})
	}
	switch {
	case r.Schema == nil || how.has(noFormat):
	case how.has(noSchema): // older models: the answer is the input of a tool that has to be called
		tools = append(tools, object{"name": r.Schema.Name, "description": "Hand in the answer.", "input_schema": r.Schema.JSON})
		body["tool_choice"] = object{"type": "tool", "name": r.Schema.Name}
	default:
		body["output_config"] = object{"format": object{"type": "json_schema", "schema": r.Schema.JSON}}
	}
	if len(tools) > 0 {
		body["tools"] = tools
	}
	return "/v1/messages", header, body
}

// blocks are messages as Anthropic wants them: results of tools are the user's, and one role
// follows the other.
func blocks(list []Message) []object {
	out := []object{}
	add := func(role string, parts ...object) {
		if len(parts) == 0 {
			return
		}
		if n := len(out); n > 0 && out[n-1]["role"] == role {
			before, _ := out[n-1]["content"].([]object)
			out[n-1]["content"] = append(before, parts...)
			return
		}
		out = append(out, object{"role": role, "content": parts})
	}
	for _, m := range list {
		var parts []object
		switch m.Role {
		case Result:
			add("user", object{"type": "tool_result", "tool_use_id": m.CallID, "content": m.Text, "is_error": m.Failed})
			continue
		case Assistant:
			if m.Text != "" {
				parts = append(parts, object{"type": "text", "text": m.Text})
			}
			for _, c := range m.Calls {
				parts = append(parts, object{"type": "tool_use", "id": c.ID, "name": c.Name, "input": asObject(c.Arguments)})
			}
			add("assistant", parts...)
			continue
		}
		if m.Text != "" { // empty blocks are refused
			add("user", object{"type": "text", "text": m.Text})
		}
	}
	return out
}

func (messages) response(body []byte, r Request, how fallback) (Response, error) {
	var b struct {
		Type, Model string
		Stop        string `json:"stop_reason"`
		Content     []struct {
			Type, Text, ID, Name string
			Input                json.RawMessage
		}
		Usage struct {
			Input   count `json:"input_tokens"`
			Read    count `json:"cache_read_input_tokens"`
			Written count `json:"cache_creation_input_tokens"`
			Output  count `json:"output_tokens"`
		}
	}
	if err := json.Unmarshal(body, &b); err != nil {
		return Response{}, notJSON(err)
	}
	out := Response{Model: b.Model, Stop: End, Usage: Usage{
		Input: int64(b.Usage.Input + b.Usage.Read + b.Usage.Written), Cached: int64(b.Usage.Read), Written: int64(b.Usage.Written), Output: int64(b.Usage.Output),
	}}
	if b.Type != "message" {
		return out, errors.New("it is no message")
	}
	for i, c := range b.Content {
		switch {
		case c.Type == "text":
			out.Text += c.Text
		case c.Type != "tool_use":
		case how.has(noSchema) && r.Schema != nil && c.Name == r.Schema.Name:
			out.Text, b.Stop = string(c.Input), stopOf(b.Stop)
		default:
			out.Calls = append(out.Calls, Call{ID: idOr(c.ID, i), Name: c.Name, Arguments: arguments(string(c.Input))})
		}
	}
	switch {
	case b.Stop == "refusal":
		out.Stop = Refusal
	case b.Stop == "max_tokens" || b.Stop == "model_context_window_exceeded":
		out.Stop = Length
	case len(out.Calls) > 0:
		out.Stop = ToolUse
	}
	return out, nil
}

// stopOf is why the model stopped when the call that it made is the answer itself.
func stopOf(reason string) string {
	if reason == "tool_use" {
		return "end_turn"
	}
	return reason
}
