package model

import (
	"encoding/json"
	"errors"
	"fmt"
)

// responses is OpenAI's Responses API. Nothing is stored there: each request has it all.
type responses struct{}

func (responses) request(s Spec, key string, r Request, how fallback) (string, map[string]string, any) {
	system := system(r, how)
	list := []object{}
	for _, m := range r.Messages {
		list = append(list, responsesItems(m)...)
	}
	body := object{"model": s.Model, "input": list, "store": false, "stream": false}
	if system != "" {
		body["instructions"] = system
	}
	if r.MaxTokens > 0 {
		body["max_output_tokens"] = r.MaxTokens
	}
	if r.Temperature != nil && !how.has(noTemperature) { // this API has no seed
		body["temperature"] = *r.Temperature
	}
	for _, t := range r.Tools {
		tools, _ := body["tools"].([]object)
		body["tools"] = append(tools, object{"type": "function", "name": t.Name, "description": t.Description, "parameters": t.Parameters, "strict": strict(t.Parameters)})
	}
	switch {
	case r.Schema == nil || how.has(noFormat):
	case how.has(noSchema):
		body["text"] = object{"format": object{"type": "json_object"}}
	default:
		body["text"] = object{"format": object{"type": "json_schema", "name": r.Schema.Name, "strict": strict(r.Schema.JSON), "schema": r.Schema.JSON}}
	}
	return "/responses", bearer(key), body
}

func responsesItems(m Message) []object {
	switch m.Role {
	case Result:
		return []object{{"type": "function_call_output", "call_id": m.CallID, "output": m.Text}}
	case Assistant:
		var out []object
		if m.Text != "" {
			out = append(out, object{"type": "message", "role": "assistant", "content": m.Text})
		}
		for _, c := range m.Calls {
			out = append(out, object{"type": "function_call", "call_id": c.ID, "name": c.Name, "arguments": string(asObject(c.Arguments))})
		}
		return out
	}
	return []object{{"type": "message", "role": "user", "content": m.Text}}
}

func (responses) response(body []byte, _ Request, _ fallback) (Response, error) {
	var b struct {
		Model      string
		Status     string
		Incomplete struct{ Reason string } `json:"incomplete_details"`
		Output     []struct {
			Type, Name, Arguments string
			CallID                string `json:"call_id"`
			Content               []struct{ Type, Text, Refusal string }
		}
		Usage struct {
			Input  count `json:"input_tokens"`
			Output count `json:"output_tokens"`
			In     struct {
				Cached count `json:"cached_tokens"`
			} `json:"input_tokens_details"`
			Out struct {
				Reasoning count `json:"reasoning_tokens"`
			} `json:"output_tokens_details"`
		}
	}
	if err := json.Unmarshal(body, &b); err != nil {
		return Response{}, notJSON(err)
	}
	r := Response{Model: b.Model, Stop: End, Usage: Usage{
		Input: int64(b.Usage.Input), Cached: int64(b.Usage.In.Cached), Output: int64(b.Usage.Output), Reasoning: int64(b.Usage.Out.Reasoning),
	}}
	if b.Status != "completed" && b.Status != "incomplete" {
		return r, fmt.Errorf("its status is %q", b.Status)
	}
	if len(b.Output) == 0 && b.Status == "completed" {
		return r, errors.New("it has no output")
	}
	for i, item := range b.Output {
		if item.Type == "function_call" {
			r.Calls = append(r.Calls, Call{ID: idOr(item.CallID, i), Name: item.Name, Arguments: arguments(item.Arguments)})
		}
		for _, c := range item.Content {
			switch c.Type {
			case "output_text":
				r.Text += c.Text
			case "refusal":
				r.Text, r.Stop = r.Text+c.Refusal, Refusal
			}
		}
	}
	switch {
	case r.Stop == Refusal || b.Incomplete.Reason == "content_filter":
		r.Stop = Refusal
	case b.Status == "incomplete":
		r.Stop = Length
	case len(r.Calls) > 0:
		r.Stop = ToolUse
	}
	return r, nil
}

func notJSON(err error) error { return fmt.Errorf("it is no JSON of this API: %w", err) }

// idOr is the id of a call; some servers give none.
func idOr(id string, i int) string {
	if id != "" {
		return id
	}
	return fmt.Sprintf("call_%d", i+1)
}
