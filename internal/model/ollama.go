package model

import (
	"cmp"
	"encoding/json"
	"errors"
)

// OllamaContext is how many tokens Ollama is told to hold where nothing else is said. By itself it takes 4096 on a machine
// without a large graphics card, less than a question has, and forgets the beginning without a word.
const OllamaContext = 32_768

// ollama is Ollama's own API: that one takes a schema, a seed and the size of the context.
type ollama struct{}

func (ollama) request(s Spec, key string, r Request, how fallback) (string, map[string]string, any) {
	list := []object{}
	if system := system(r, how); system != "" {
		list = append(list, object{"role": "system", "content": system})
	}
	for _, m := range r.Messages {
		list = append(list, ollamaMessage(m))
	}
	options := object{}
	sampling(options, r, how)
	if r.MaxTokens > 0 {
		options["num_predict"] = r.MaxTokens
	}
	options["num_ctx"] = cmp.Or(s.Context, OllamaContext)
	body := object{"model": s.Model, "messages": list, "stream": false, "options": options}
	for _, t := range r.Tools {
		tools, _ := body["tools"].([]object)
		body["tools"] = append(tools, object{"type": "function", "function": object{"name": t.Name, "description": t.Description, "parameters": t.Parameters}})
	}
	if r.Schema != nil && !how.has(noSchema) {
		body["format"] = r.Schema.JSON
	}
	return "/api/chat", bearer(key), body
}

func ollamaMessage(m Message) object {
	switch m.Role {
	case Result:
		return object{"role": "tool", "content": m.Text, "tool_name": m.Tool, "tool_call_id": m.CallID}
	case Assistant:
		out := object{"role": "assistant", "content": m.Text}
		var calls []object
		for _, c := range m.Calls {
			calls = append(calls, object{"id": c.ID, "function": object{"name": c.Name, "arguments": asObject(c.Arguments)}})
		}
		if len(calls) > 0 {
			out["tool_calls"] = calls
		}
		return out
	}
	return object{"role": "user", "content": m.Text}
}

func (ollama) response(body []byte, _ Request, _ fallback) (Response, error) {
	var b struct {
		Model   string
		Done    bool
		Reason  string `json:"done_reason"`
		Message *struct {
			Content string
			Calls   []struct {
				ID       string
				Function struct {
					Name      string
					Arguments json.RawMessage
				}
			} `json:"tool_calls"`
		}
		Input  count `json:"prompt_eval_count"`
		Output count `json:"eval_count"`
	}
	if err := json.Unmarshal(body, &b); err != nil {
		return Response{}, notJSON(err)
	}
	r := Response{Model: b.Model, Stop: End, Usage: Usage{Input: int64(b.Input), Output: int64(b.Output)}}
	if b.Message == nil || !b.Done {
		return r, errors.New("it has no message that is done")
	}
	r.Text = b.Message.Content
	for i, c := range b.Message.Calls {
		r.Calls = append(r.Calls, Call{ID: idOr(c.ID, i), Name: c.Function.Name, Arguments: arguments(string(c.Function.Arguments))})
	}
	switch {
	case b.Reason == "length":
		r.Stop = Length
	case len(r.Calls) > 0:
		r.Stop = ToolUse
	}
	return r, nil
}
