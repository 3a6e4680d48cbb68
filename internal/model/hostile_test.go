package model_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph/internal/model"
)

func hello() model.Request {
	return model.Request{Messages: []model.Message{{Role: model.User, Text: "hi"}}}
}

func kind(t *testing.T, err error) model.Kind {
	t.Helper()
	e, ours := errors.AsType[*model.Error](err)
	if !ours {
		t.Fatalf("%T: %v", err, err)
	}
	return e.Kind
}

// An answer that breaks off is asked for again; one without an end is cut.
func TestBrokenLines(t *testing.T) {
	t.Parallel()
	half := answer{do: func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "5000")
		_, _ = io.WriteString(w, `{"choices":[{"message":{"content":"ha`)
	}}
	s := serve(t, half, answer{body: recorded(t, "openai.text.json")})
	if r, err := open(t, model.OpenAI, s.URL, world(nil)).Complete(t.Context(), hello()); err != nil || r.Tries != 2 {
		t.Errorf("%v %+v", err, r)
	}
	_, err := open(t, model.OpenAI, serve(t, half).URL, world(nil)).Complete(t.Context(), hello())
	if kind(t, err) != model.Truncated {
		t.Error(err)
	}
	flood := answer{do: func(w http.ResponseWriter, r *http.Request) {
		block := strings.Repeat(" ", 1<<20)
		for r.Context().Err() == nil {
			if _, err := io.WriteString(w, block); err != nil {
				return
			}
		}
	}}
	s = serve(t, flood)
	_, err = open(t, model.Ollama, s.URL, world(nil)).Complete(t.Context(), hello())
	if kind(t, err) != model.Malformed || !strings.Contains(err.Error(), "16 MiB") || s.asked() != 1 {
		t.Error(err)
	}
	deep := answer{body: `{"choices":` + strings.Repeat("[", 100_000)}
	if _, err = open(t, model.OpenAI, serve(t, deep).URL, world(nil)).Complete(t.Context(), hello()); kind(t, err) != model.Malformed {
		t.Error(err)
	}
	nobody := serve(t, deep)
	nobody.Close()
	if _, err = open(t, model.Ollama, nobody.URL, world(nil)).Complete(t.Context(), hello()); kind(t, err) != model.Unreachable || !strings.Contains(err.Error(), "ollama serve") {
		t.Error(err)
	}
}

// A server that says nothing is given up; what a person ends is no error of the server's.
func TestSlow(t *testing.T) {
	t.Parallel()
	silent := answer{do: func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }}
	env := world(nil)
	var s *server
	for env.Timeout = 50 * time.Millisecond; s == nil || s.asked() == 0; env.Timeout *= 2 { // on a busy machine it is over before the server hears of it
		s = serve(t, silent)
		if _, err := open(t, model.Anthropic, s.URL, env).Complete(t.Context(), hello()); kind(t, err) != model.TimedOut {
			t.Fatal(err)
		}
	}
	if s.asked() != 1 {
		t.Errorf("asked %d times", s.asked())
	}
	asked := make(chan struct{})
	until := answer{do: func(_ http.ResponseWriter, r *http.Request) {
		close(asked)
		<-r.Context().Done()
	}}
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("stopped by hand")
	go func() { <-asked; cancel(why) }()
	if _, err := open(t, model.Anthropic, serve(t, until).URL, world(nil)).Complete(ctx, hello()); !errors.Is(err, why) {
		t.Error(err)
	}
}

// The key stays with the server that it is for, and out of everything that is told.
func TestKeyIsKept(t *testing.T) {
	t.Parallel()
	other := serve(t, answer{body: recorded(t, "openai.text.json")})
	for _, status := range []int{301, 302, 303, 307, 308} {
		s := serve(t, answer{status: status, header: map[string]string{"Location": strings.Replace(other.URL, "127.0.0.1", "localhost", 1) + "/chat/completions"}})
		_, err := open(t, model.OpenAI, s.URL, world(nil)).Complete(t.Context(), hello())
		if kind(t, err) != model.Unreachable || s.asked() != 1 || other.asked() != 0 {
			t.Errorf("%d: %v, the other was asked %d times", status, err, other.asked())
		}
	}
	for _, status := range []int{400, 200} {
		s := serve(t, answer{status: status, body: `{"error":{"message":"Incorrect API key provided: ` + key + ` \u001b[2J","type":"invalid_request_error"}}`})
		_, err := open(t, model.OpenAI, s.URL, world(nil)).Complete(t.Context(), hello())
		if said := fmt.Sprintf("%v %+v", err, err); strings.Contains(said, key) || strings.Contains(said, "\x1b") || !strings.Contains(said, "Incorrect API key") {
			t.Errorf("%q", said)
		}
	}
	s := serve(t, answer{body: `{"choices":[{"message":{"content":"fine"}}],"echo":"` + key + `"}`})
	if r, err := open(t, model.OpenAI, s.URL, world(nil)).Complete(t.Context(), hello()); err != nil || strings.Contains(string(r.Raw), key) {
		t.Errorf("%v %s", err, r.Raw)
	}
}

// What servers claim is believed as far as it can be true.
func TestLies(t *testing.T) {
	t.Parallel()
	body := `{"model":"m","choices":[{"finish_reason":"tool_calls","message":{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}],"tool_calls":[
		{"id":"","function":{"name":"bash","arguments":"{\"command\":"}},{"id":"x","function":{"name":"bash","arguments":""}},{"id":"y","function":{"name":"rm","arguments":"[1]"}}]}}],
		"usage":{"prompt_tokens":-5,"completion_tokens":1e300,"prompt_tokens_details":null,"completion_tokens_details":{"reasoning_tokens":"many"}}}`
	s := serve(t, answer{body: body})
	c := open(t, model.OpenAI, s.URL, world(nil))
	r, err := c.Complete(t.Context(), hello())
	if err != nil || r.Text != "ab" || r.Usage != (model.Usage{}) || len(r.Calls) != 3 || r.Calls[0].ID == "" {
		t.Fatalf("%v %+v", err, r)
	}
	for i, want := range []string{`"{\"command\":"`, `{}`, `[1]`} {
		if string(r.Calls[i].Arguments) != want {
			t.Errorf("arguments %d are %s", i, r.Calls[i].Arguments)
		}
	}
	// And what is no object goes back as one.
	for _, p := range model.Providers() {
		s := serve(t, answer{body: "{}"})
		_, _ = open(t, p, s.URL, world(nil)).Complete(t.Context(), model.Request{Messages: []model.Message{{Role: model.User, Text: "hi"}, r.Message()}})
		if !json.Valid(s.bodies[0]) || !strings.Contains(string(s.bodies[0]), `text`) || strings.Contains(string(s.bodies[0]), `"input":[1]`) {
			t.Errorf("%s: %s", p, s.bodies[0])
		}
	}
}

// A server that does not take something is asked without it, and from then on always.
func TestAdapt(t *testing.T) {
	t.Parallel()
	no := func(text string) answer {
		return answer{status: 400, body: `{"error":{"type":"invalid_request_error","message":"` + text + `"}}`}
	}
	for name, c := range map[string]struct {
		provider model.Provider
		no       []answer
		want     []string // in the last request
		without  string
	}{
		"temperature":  {model.OpenAI, []answer{no("Unsupported value: 'temperature' does not support 0 with this model")}, []string{"seed", "json_schema"}, `"temperature"`},
		"token limit":  {model.OpenAI, []answer{no("Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.")}, []string{`"max_completion_tokens":500`}, `"max_tokens"`},
		"schema":       {model.OpenAI, []answer{no("response_format json_schema is not available")}, []string{`"json_object"`, "valid by this JSON schema", "additionalProperties"}, `"json_schema"`},
		"any format":   {model.OpenAI, []answer{no("response_format json_schema is not available"), no("unknown field response_format")}, []string{"valid by this JSON schema"}, "response_format"},
		"claude":       {model.Anthropic, []answer{no("output_config: Extra inputs are not permitted")}, []string{`"tool_choice":{"name":"answer","type":"tool"}`}, "output_config"},
		"sampling":     {model.Anthropic, []answer{no("temperature is deprecated for this model")}, []string{"output_config"}, `"temperature"`},
		"responses":    {model.Responses, []answer{no("text.format: json_schema is not supported")}, []string{`"json_object"`, "valid by this JSON schema"}, `"json_schema"`},
		"old ollama":   {model.Ollama, []answer{no("invalid JSON schema in format")}, []string{"valid by this JSON schema"}, `"format"`},
		"seed and all": {model.Ollama, []answer{no("seed is unknown"), no("temperature is unknown"), no("invalid schema")}, []string{"num_predict"}, `"seed"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fine := recorded(t, string(c.provider)+".text.json")
			s := serve(t, append(c.no, answer{body: fine})...)
			client := open(t, c.provider, s.URL, world(nil))
			for range 2 {
				if _, err := client.Complete(t.Context(), conversation()); err != nil {
					t.Fatal(err)
				}
			}
			last := string(s.bodies[len(s.bodies)-1])
			if s.asked() != len(c.no)+2 || strings.Contains(last, c.without) {
				t.Errorf("asked %d times, at last %s", s.asked(), last)
			}
			for _, part := range c.want {
				if !strings.Contains(last, part) {
					t.Errorf("the last request lacks %s: %s", part, last)
				}
			}
		})
	}
	// It ends, whatever a server says.
	for _, p := range model.Providers() {
		s := serve(t, no("temperature seed max_tokens unsupported response_format output_config schema"))
		if _, err := open(t, p, s.URL, world(nil)).Complete(t.Context(), conversation()); kind(t, err) != model.Rejected || s.asked() > 6 {
			t.Errorf("%s: asked %d times", p, s.asked())
		}
	}
}

// With a tool that has to be called the answer is the tool's input.
func TestAnswerByTool(t *testing.T) {
	t.Parallel()
	s := serve(t, answer{status: 400, body: `{"type":"error","error":{"type":"invalid_request_error","message":"output_config is unknown"}}`},
		answer{body: `{"type":"message","model":"m","stop_reason":"tool_use","content":[{"type":"tool_use","id":"t","name":"answer","input":{"ok":false}}],"usage":{}}`})
	r, err := open(t, model.Anthropic, s.URL, world(nil)).Complete(t.Context(), conversation())
	if err != nil || r.Text != `{"ok":false}` || r.Stop != model.End || len(r.Calls) != 0 {
		t.Errorf("%v %+v", err, r)
	}
}
