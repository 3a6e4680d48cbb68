package modeltest

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// local is Ollama's own API, POST /api/chat. Streams are lines of JSON there.
type local struct{}

func (local) read(body []byte, r *http.Request) (Request, error) {
	q, err := chat{}.read(body, r)
	if err != nil {
		return q, err
	}
	var b struct {
		Format json.RawMessage `json:"format"`
	}
	_ = decode(body, &b)
	q.API, q.Answer = Local, len(b.Format) > 0 && string(b.Format) != "null"
	return q, nil
}

func (local) whole(q Request, a Reply, n int) any {
	message := object{"role": "assistant", "content": a.Text}
	if a.Think != "" {
		message["thinking"] = a.Think
	}
	calls := []object{}
	for i, c := range a.Calls {
		calls = append(calls, object{"id": c.call(n, i), "function": object{"index": i, "name": c.Tool, "arguments": json.RawMessage(c.input())}})
	}
	if len(calls) > 0 {
		message["tool_calls"] = calls
	}
	return object{
		"model": q.Model, "created_at": "2026-01-01T00:00:00Z", "message": message, "done": true, "done_reason": "stop",
		"total_duration": 1, "prompt_eval_count": a.Tokens, "eval_count": a.Output,
	}
}

func (l local) write(e *events, q Request, a Reply, n int) {
	text := []rune(a.Text)
	fmt.Fprintf(e.w, "%s\n", raw(object{"model": q.Model, "message": object{"role": "assistant", "content": string(text[:len(text)/2])}, "done": false}))
	e.flush()
	e.middle()
	a.Text = string(text[len(text)/2:])
	fmt.Fprintf(e.w, "%s\n", raw(l.whole(q, a, n)))
	e.flush()
}

func (local) failure(a Reply) any {
	said := "internal server error"
	switch kindOf(a) {
	case NoModel:
		said = "model \"m\" not found, try pulling it first"
	case Auth:
		said = "unauthorized"
	case RateLimit, UsageLimit:
		said = "too many requests"
	case Overloaded:
		said = "server busy, please try again. maximum pending requests exceeded"
	case TooLong:
		said = "the input length exceeds the context length"
	case Bad:
		said = "invalid request"
	}
	return object{"error": said}
}
