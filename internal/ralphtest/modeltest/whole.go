package modeltest

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// An answer in one piece, for who asks with "stream": false. One that is cut has half of
// its bytes.

// inOne reports whether a request wants its answer in one piece.
func inOne(body []byte) bool {
	var b struct {
		Stream *bool `json:"stream"`
	}
	return json.Unmarshal(body, &b) == nil && b.Stream != nil && !*b.Stream
}

func writeWhole(w http.ResponseWriter, v any, cut bool) {
	b := raw(v)
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", fmt.Sprint(len(b)))
	if cut {
		_, _ = w.Write(b[:len(b)/2])
		(&events{w: w}).flush()
		panic(http.ErrAbortHandler)
	}
	_, _ = w.Write(b)
}

func (chat) whole(q Request, a Reply, n int) any {
	finish, calls := "stop", []object{}
	for i, c := range a.Calls {
		finish = "tool_calls"
		calls = append(calls, object{"id": c.call(n, i), "type": "function", "function": object{"name": c.Tool, "arguments": c.input()}})
	}
	message := object{"role": "assistant", "content": a.Text, "refusal": nil}
	if len(calls) > 0 {
		message["tool_calls"] = calls
	}
	return object{
		"id": fmt.Sprintf("chatcmpl-%d", n), "object": "chat.completion", "created": 1, "model": q.Model,
		"choices": []object{{"index": 0, "message": message, "finish_reason": finish, "logprobs": nil}},
		"usage":   object{"prompt_tokens": a.Tokens, "completion_tokens": a.Output, "total_tokens": a.Tokens + a.Output},
	}
}

func (responses) whole(q Request, a Reply, n int) any {
	output := []object{}
	if a.Think != "" {
		output = append(output, object{"type": "reasoning", "id": fmt.Sprintf("rs_%d", n), "summary": []object{{"type": "summary_text", "text": a.Think}}})
	}
	if a.Text != "" || len(a.Calls) == 0 {
		output = append(output, object{
			"type": "message", "role": "assistant", "id": fmt.Sprintf("msg_%d", n), "status": "completed",
			"content": []object{{"type": "output_text", "text": a.Text, "annotations": []any{}}},
		})
	}
	for i, c := range a.Calls {
		output = append(output, object{"type": "function_call", "id": fmt.Sprintf("fc_%d_%d", n, i), "call_id": c.call(n, i), "name": c.Tool, "arguments": c.input(), "status": "completed"})
	}
	return object{
		"id": fmt.Sprintf("resp_%d", n), "object": "response", "created_at": 1, "status": "completed", "model": q.Model,
		"error": nil, "incomplete_details": nil, "output": output,
		"usage": object{
			"input_tokens": a.Tokens, "input_tokens_details": object{"cached_tokens": 0},
			"output_tokens": a.Output, "output_tokens_details": object{"reasoning_tokens": 0}, "total_tokens": a.Tokens + a.Output,
		},
	}
}

func (messages) whole(q Request, a Reply, n int) any {
	content, stop := []object{}, "end_turn"
	if a.Text != "" || len(a.Calls) == 0 {
		content = append(content, object{"type": "text", "text": a.Text})
	}
	for i, c := range a.Calls {
		stop = "tool_use"
		content = append(content, object{"type": "tool_use", "id": "toolu_" + c.call(n, i), "name": c.Tool, "input": json.RawMessage(c.input())})
	}
	return object{
		"id": fmt.Sprintf("msg_%d", n), "type": "message", "role": "assistant", "model": q.Model, "content": content,
		"stop_reason": stop, "stop_sequence": nil, "usage": object{"input_tokens": a.Tokens, "output_tokens": a.Output},
	}
}
