package model_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ralph-loop/ralph/internal/model"
)

var update = flag.Bool("update", false, "write testdata/*.request.json anew")

const key = "sk-not-a-real-key-0123456789"

// server answers requests one after the other, the last answer for all that come after.
type server struct {
	*httptest.Server
	mu      sync.Mutex
	bodies  [][]byte
	headers []http.Header
	paths   []string
}

// answer is what a server says. do is for what no body can say.
type answer struct {
	status int
	body   string
	header map[string]string
	do     http.HandlerFunc
}

func serve(t *testing.T, answers ...answer) *server {
	t.Helper()
	s := &server{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		n := len(s.bodies)
		s.bodies, s.headers, s.paths = append(s.bodies, body), append(s.headers, r.Header), append(s.paths, r.URL.Path)
		s.mu.Unlock()
		a := answers[min(n, len(answers)-1)]
		if a.do != nil {
			a.do(w, r)
			return
		}
		for k, v := range a.header {
			w.Header().Set(k, v)
		}
		if a.status != 0 {
			w.WriteHeader(a.status)
		}
		_, _ = io.WriteString(w, a.body)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *server) asked() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.bodies)
}

// world is an environment in which nobody waits; waits says for how long they would have.
func world(waits *[]time.Duration) model.Environment {
	return model.Environment{
		Getenv: func(string) string { return key },
		Wait: func(_ context.Context, d time.Duration) error {
			if waits != nil {
				*waits = append(*waits, d)
			}
			return nil
		},
		Now: func() time.Time { return time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC) },
	}
}

func open(t *testing.T, p model.Provider, url string, env model.Environment) model.Client {
	t.Helper()
	c, err := model.Open(model.Spec{Provider: p, Model: "m1", BaseURL: url, KeyEnv: "A_KEY"}, env)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

const answerSchema = `{"type":"object","properties":{"ok":{"type":"boolean"}},"required":["ok"],"additionalProperties":false}`

// conversation has one of everything.
func conversation() model.Request {
	temperature, seed := 0.0, int64(7)
	return model.Request{
		System: "Be good.",
		Messages: []model.Message{
			{Role: model.User, Text: "Is a < b?"},
			{Role: model.Assistant, Text: "I look.", Calls: []model.Call{{ID: "c1", Name: "bash", Arguments: json.RawMessage(`{"command":"test a"}`)}, {ID: "c2", Name: "bash", Arguments: json.RawMessage(`"no object"`)}}},
			{Role: model.Result, CallID: "c1", Tool: "bash", Text: "yes"},
			{Role: model.Result, CallID: "c2", Tool: "bash", Text: "no object", Failed: true},
			{Role: model.User, Text: "And now?"},
		},
		Tools:       []model.Tool{{Name: "bash", Description: "Runs a command.", Parameters: json.RawMessage(`{"type":"object","properties":{"command":{"type":"string"}},"required":["command"]}`)}},
		Schema:      &model.Schema{Name: "answer", JSON: json.RawMessage(answerSchema)},
		MaxTokens:   500,
		Temperature: &temperature,
		Seed:        &seed,
	}
}

func recorded(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Each provider is asked in its own words, and its answers, as it writes them, are read alike.
func TestWire(t *testing.T) {
	t.Parallel()
	call := []model.Call{{ID: "call_7", Name: "bash", Arguments: json.RawMessage(`{"command":"go test"}`)}}
	for provider, want := range map[model.Provider]struct {
		path, header string
		tool         model.Usage
		text         model.Usage
	}{
		model.OpenAI:    {"/chat/completions", "Authorization", model.Usage{Input: 82, Cached: 64, Output: 17, Reasoning: 5}, model.Usage{Input: 19, Output: 10}},
		model.Responses: {"/responses", "Authorization", model.Usage{Input: 82, Cached: 64, Output: 17, Reasoning: 5}, model.Usage{Input: 36, Output: 87}},
		model.Anthropic: {"/v1/messages", "X-Api-Key", model.Usage{Input: 82, Cached: 64, Written: 10, Output: 17}, model.Usage{Input: 12, Output: 6}},
		model.Ollama:    {"/api/chat", "Authorization", model.Usage{Input: 82, Output: 17}, model.Usage{Input: 26, Output: 10}},
	} {
		t.Run(string(provider), func(t *testing.T) {
			t.Parallel()
			name := string(provider)
			refused := answer{status: http.StatusTeapot}
			if provider != model.Ollama { // has no way to refuse but words
				refused = answer{body: recorded(t, name+".refusal.json")}
			}
			s := serve(t, answer{body: recorded(t, name+".tool.json")}, answer{body: recorded(t, name+".text.json")}, answer{body: recorded(t, name+".length.json")}, refused)
			c := open(t, provider, s.URL, world(nil))
			r := conversation()
			first, err := c.Complete(t.Context(), r)
			if err != nil || !reflect.DeepEqual(first.Calls, call) || first.Stop != model.ToolUse || first.Usage != want.tool || first.Tries != 1 || len(first.Raw) == 0 {
				t.Errorf("tool: %v\n%+v", err, first)
			}
			second, err := c.Complete(t.Context(), r)
			if err != nil || second.Text != `{"ok":true}` || second.Stop != model.End || second.Usage != want.text || second.Model == "" {
				t.Errorf("text: %v\n%+v", err, second)
			}
			// Half an answer is one without a schema, and an error with one.
			short, err := c.Complete(t.Context(), r)
			if e, ours := errors.AsType[*model.Error](err); !ours || e.Kind != model.Truncated || short.Text != `{"o` || s.asked() != 3 {
				t.Errorf("length: %v\n%+v", err, short)
			}
			if provider != model.Ollama {
				refused, err := c.Complete(t.Context(), r)
				if e, ours := errors.AsType[*model.Error](err); !ours || e.Kind != model.Refused || refused.Stop != model.Refusal {
					t.Errorf("refusal: %v\n%+v", err, refused)
				}
				r.Schema = nil
				if refused, err = c.Complete(t.Context(), r); err != nil || refused.Stop != model.Refusal {
					t.Errorf("refusal without a schema: %v\n%+v", err, refused)
				}
			}
			if s.paths[0] != want.path || !strings.Contains(s.headers[0].Get(want.header), key) || s.headers[0].Get("Content-Type") != "application/json" {
				t.Errorf("asked at %s with %v", s.paths[0], s.headers[0])
			}
			golden(t, name+".request.json", s.bodies[0])
		})
	}
}

// golden compares what was sent with what providers' documents ask for; it was read beside them.
func golden(t *testing.T, name string, sent []byte) {
	t.Helper()
	var b bytes.Buffer
	if err := json.Indent(&b, sent, "", "  "); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil { //nolint:gosec // no secret
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil || !bytes.Equal(want, b.Bytes()) {
		t.Errorf("%s: %v; sent was\n%s", name, err, b.String())
	}
}

// Errors are told apart by what a person can do, in each provider's own words.
func TestErrors(t *testing.T) {
	t.Parallel()
	openai := func(kind, code, text string) string {
		return `{"error":{"message":"` + text + `","type":"` + kind + `","param":null,"code":"` + code + `"}}`
	}
	claude := func(kind, text string) string {
		return `{"type":"error","error":{"type":"` + kind + `","message":"` + text + `"},"request_id":"req_1"}`
	}
	for name, c := range map[string]struct {
		provider model.Provider
		status   int
		body     string
		kind     model.Kind
		next     string
	}{
		"openai limit":        {model.OpenAI, 429, openai("requests", "rate_limit_exceeded", "Rate limit reached"), model.Limit, "Try again"},
		"openai quota":        {model.OpenAI, 429, openai("insufficient_quota", "insufficient_quota", "You exceeded your current quota"), model.Billing, "balance"},
		"openai key":          {model.OpenAI, 401, openai("invalid_request_error", "invalid_api_key", "Incorrect API key provided"), model.SignIn, "A_KEY"},
		"openai region":       {model.OpenAI, 403, openai("request_forbidden", "unsupported_country_region_territory", "Country not supported"), model.SignIn, "A_KEY"},
		"openai model":        {model.Responses, 404, openai("invalid_request_error", "model_not_found", "The model does not exist"), model.NotFound, "model's name"},
		"responses model":     {model.Responses, 400, openai("invalid_request_error", "model_not_found", "The requested model does not exist"), model.NotFound, "model's name"},
		"openai context":      {model.OpenAI, 400, openai("invalid_request_error", "context_length_exceeded", "too many tokens"), model.TooLong, "larger context"},
		"openai policy":       {model.Responses, 400, openai("invalid_request_error", "content_policy_violation", "no"), model.Refused, "other words"},
		"openai down":         {model.OpenAI, 500, openai("server_error", "", "The server had an error"), model.Overloaded, "few minutes"},
		"gateway":             {model.OpenAI, 502, "<html><title>502 Bad Gateway</title></html>", model.Overloaded, "few minutes"},
		"error in a 200":      {model.OpenAI, 200, `{"error":{"message":"Rate limit","code":429,"type":"rate_limit"}}`, model.Limit, "Try again"},
		"anthropic limit":     {model.Anthropic, 429, claude("rate_limit_error", "would exceed your rate limit"), model.Limit, "Try again"},
		"anthropic overload":  {model.Anthropic, 529, claude("overloaded_error", "Overloaded"), model.Overloaded, "few minutes"},
		"anthropic key":       {model.Anthropic, 401, claude("authentication_error", "invalid x-api-key"), model.SignIn, "A_KEY"},
		"anthropic may not":   {model.Anthropic, 403, claude("permission_error", "no permission"), model.SignIn, "A_KEY"},
		"anthropic model":     {model.Anthropic, 404, claude("not_found_error", "model: m1"), model.NotFound, "model's name"},
		"anthropic credit":    {model.Anthropic, 400, claude("invalid_request_error", "Your credit balance is too low"), model.Billing, "balance"},
		"anthropic context":   {model.Anthropic, 400, claude("invalid_request_error", "prompt is too long: 250000 tokens > 200000 maximum"), model.TooLong, "larger context"},
		"anthropic size":      {model.Anthropic, 413, claude("request_too_large", "Request exceeds the maximum size"), model.TooLong, "larger context"},
		"anthropic bad":       {model.Anthropic, 400, claude("invalid_request_error", "messages: at least one message is required"), model.Rejected, "Choose a model"},
		"ollama model":        {model.Ollama, 404, `{"error":"model \"m1\" not found, try pulling it first"}`, model.NotFound, "ollama pull m1"},
		"ollama without tool": {model.Ollama, 400, `{"error":"registry.ollama.ai/library/m1:latest does not support tools"}`, model.Rejected, "Choose a model"},
		"ollama busy":         {model.Ollama, 503, `{"error":"server busy, please try again. maximum pending requests exceeded"}`, model.Overloaded, "few minutes"},
		"ollama memory":       {model.Ollama, 500, `{"error":"model requires more system memory"}`, model.Overloaded, "few minutes"},
		"no json":             {model.Ollama, 200, "<html>welcome</html>", model.Malformed, "base_url"},
		"nothing":             {model.OpenAI, 200, "", model.Malformed, "base_url"},
		"another API":         {model.Anthropic, 200, `{"object":"list","data":[]}`, model.Malformed, "base_url"},
		"no choices":          {model.OpenAI, 200, `{"choices":[]}`, model.Malformed, "base_url"},
		"failed response":     {model.Responses, 200, `{"status":"failed","output":[],"error":{"code":"server_error","message":"oops"}}`, model.Overloaded, "few minutes"},
		"ollama is not done":  {model.Ollama, 200, `{"message":{"content":"half"},"done":false}`, model.Malformed, "base_url"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, answer{status: c.status, body: c.body})
			_, err := open(t, c.provider, s.URL, world(nil)).Complete(t.Context(), model.Request{Messages: []model.Message{{Role: model.User, Text: "hi"}}})
			e, ours := errors.AsType[*model.Error](err)
			if !ours || e.Kind != c.kind || !strings.Contains(e.Next(), c.next) || !strings.HasSuffix(err.Error(), e.Next()) {
				t.Errorf("%v: %+v", err, e)
			}
			if tries := map[bool]int{true: 4, false: 1}[c.kind == model.Limit || c.kind == model.Overloaded]; s.asked() != tries || e.Tries != tries {
				t.Errorf("asked %d times, says %d; want %d", s.asked(), e.Tries, tries)
			}
		})
	}
}

// What may pass is tried again, as late as the provider says, and not for ever.
func TestAgain(t *testing.T) {
	t.Parallel()
	busy := func(after string) answer {
		return answer{status: 429, body: `{"error":{"type":"rate_limit"}}`, header: map[string]string{"Retry-After": after}}
	}
	fine := answer{body: recorded(t, "openai.text.json")}
	for name, c := range map[string]struct {
		answers []answer
		waits   []time.Duration
		after   time.Duration // of the error, 0: none
	}{
		"seconds":  {[]answer{busy("3"), fine}, []time.Duration{3 * time.Second}, 0},
		"fraction": {[]answer{busy("0.5"), fine}, []time.Duration{500 * time.Millisecond}, 0},
		"a date":   {[]answer{busy("Mon, 23 Nov 2026 12:00:20 GMT"), fine}, []time.Duration{20 * time.Second}, 0},
		"millis":   {[]answer{{status: 503, header: map[string]string{"Retry-After-Ms": "250", "Retry-After": "9"}}, fine}, []time.Duration{250 * time.Millisecond}, 0},
		"too long": {[]answer{busy("3600"), fine}, nil, time.Hour},
		"for ever": {[]answer{busy("2")}, []time.Duration{2 * time.Second, 2 * time.Second, 2 * time.Second}, 2 * time.Second},
	} {
		var waits []time.Duration
		s := serve(t, c.answers...)
		r, err := open(t, model.OpenAI, s.URL, world(&waits)).Complete(t.Context(), conversation())
		e, ours := errors.AsType[*model.Error](err)
		if !reflect.DeepEqual(waits, c.waits) || ours != (c.after > 0) || (ours && (e.RetryAfter != c.after || e.Tries != len(waits)+1)) || (!ours && r.Tries != len(waits)+1) {
			t.Errorf("%s: waited %v, %v", name, waits, err)
		}
	}
	// A lying date or number is no wait, and own waits grow.
	for _, after := range []string{"-5", "soon", "1e400", ""} {
		var waits []time.Duration
		_, _ = open(t, model.OpenAI, serve(t, busy(after)).URL, world(&waits)).Complete(t.Context(), conversation())
		if len(waits) != 3 || waits[0] > time.Second || waits[0] < time.Second/2 || waits[2] < 2*time.Second || waits[2] > 4*time.Second {
			t.Errorf("Retry-After %q: waited %v", after, waits)
		}
	}
	// Who is ended while it waits ends.
	env := world(nil)
	gone := errors.New("the person has gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	env.Wait = func(ctx context.Context, _ time.Duration) error { cancel(gone); return context.Cause(ctx) }
	s := serve(t, busy("1"))
	if _, err := open(t, model.OpenAI, s.URL, env).Complete(ctx, conversation()); !errors.Is(err, gone) || s.asked() != 1 {
		t.Errorf("%v after %d", err, s.asked())
	}
}
