package modeltest

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// chat is OpenAI's chat completions API.
type chat struct{}

func (chat) read(body []byte, r *http.Request) (Request, error) {
	var b struct {
		Model    string            `json:"model"`
		Messages []json.RawMessage `json:"messages"`
		Tools    []struct {
			Function struct {
				Name string `json:"name"`
			} `json:"function"`
		} `json:"tools"`
		Format struct {
			Type string `json:"type"`
		} `json:"response_format"`
	}
	if err := decode(body, &b); err != nil {
		return Request{}, err
	}
	q := Request{API: Chat, Model: b.Model, Tools: map[string]bool{}, Header: r.Header, Answer: b.Format.Type == "json_schema"}
	q.Session = r.Header.Get("X-Session-Affinity")
	for _, t := range b.Tools {
		q.Tools[t.Function.Name] = true
	}
	q.Answer = q.Answer || q.Tools["StructuredOutput"]
	for _, m := range b.Messages {
		var one struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		}
		if json.Unmarshal(m, &one) != nil {
			continue
		}
		if one.Role == "system" || one.Role == "developer" {
			q.System += string(m)
			continue
		}
		q.Text += string(m)
		q.Last = string(m)
		q.Results = one.Role == "tool"
		if one.Role == "user" {
			q.Prompt = plain(one.Content)
		}
	}
	return q, nil
}

func (chat) write(e *events, q Request, a Reply, n int) {
	send := func(delta object, finish any) {
		e.send("", object{
			"id": fmt.Sprintf("chatcmpl-%d", n), "object": "chat.completion.chunk", "created": 1, "model": q.Model,
			"choices": []object{{"index": 0, "delta": delta, "finish_reason": finish}},
		})
	}
	send(object{"role": "assistant", "content": ""}, nil)
	if a.Think != "" {
		send(object{"reasoning_content": a.Think}, nil)
	}
	text := []rune(a.Text)
	if len(text) > 0 {
		send(object{"content": string(text[:len(text)/2])}, nil)
	}
	e.middle()
	if len(text) > 0 {
		send(object{"content": string(text[len(text)/2:])}, nil)
	}
	finish := "stop"
	for i, c := range a.Calls {
		finish = "tool_calls"
		send(object{"tool_calls": []object{{
			"index": i, "id": c.call(n, i), "type": "function",
			"function": object{"name": c.Tool, "arguments": c.input()},
		}}}, nil)
	}
	send(object{}, finish)
	e.send("", object{
		"id": fmt.Sprintf("chatcmpl-%d", n), "object": "chat.completion.chunk", "created": 1, "model": q.Model, "choices": []object{},
		"usage": object{"prompt_tokens": a.Tokens, "completion_tokens": a.Output, "total_tokens": a.Tokens + a.Output},
	})
	fmt.Fprint(e.w, "data: [DONE]\n\n")
	e.flush()
}

func (chat) failure(a Reply) any { return openAIError(a) }
