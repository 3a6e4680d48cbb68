package modeltest

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// asks are the same first question by each agent, as far as the server reads it:
// a prompt with two tools.
func asks() map[API]string {
	return map[API]string{
		Messages: `{"model":"m","system":[{"text":"be good"}],"metadata":{"user_id":"{\"session_id\":\"s1\"}"},"tools":[{"name":"Bash"},{"name":"Write"}],
			"messages":[{"role":"user","content":[{"type":"text","text":"<system-reminder>not this</system-reminder>"},{"type":"text","text":"Do it."}]},{"role":"system","content":"where you are"}]}`,
		Responses: `{"model":"m","instructions":"be good","prompt_cache_key":"s1","tools":[{"type":"function","name":"exec_command"},{"type":"namespace","name":"n","tools":[{"type":"custom","name":"apply_patch"}]}],
			"input":[{"type":"message","role":"developer","content":[{"type":"input_text","text":"not this"}]},{"type":"message","role":"user","content":[{"type":"input_text","text":"Do it."}]}]}`,
		Chat: `{"model":"m","tools":[{"type":"function","function":{"name":"bash"}},{"type":"function","function":{"name":"write"}}],
			"messages":[{"role":"system","content":"be good"},{"role":"user","content":"Do it."}]}`,
	}
}

func path(api API) string {
	if api == Local {
		return "/api/chat"
	}
	return "/v1/" + strings.ReplaceAll(string(api), "chat", "chat/completions")
}

// got is what came back; err says that it broke off.
type got struct {
	status int
	header http.Header
	text   string
	err    error
}

func post(t *testing.T, s *Server, api API, body string) got {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+path(api), strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Session-Affinity", "s1")
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	return got{res.StatusCode, res.Header, string(text), err}
}

// One script is told the same by all three APIs, and its words for tools become
// those of the agent.
func TestOneScriptForThreeAPIs(t *testing.T) {
	t.Parallel()
	want := map[API][]string{
		Messages: {
			`"text":"I "`, `"name":"Bash"`, `{\"command\":\"go test\",\"description\":\"Run a command\"}`,
			`"name":"Write"`, `{\"content\":\"a\\n\",\"file_path\":\"/x\"}`, `"stop_reason":"tool_use"`, `"input_tokens":7`, "event: message_stop",
		},
		Responses: {
			`"text":"I "`, `"name":"exec_command"`, `{\"cmd\":\"go test\",`, `"type":"custom_tool_call"`,
			`*** Add File: /x\n+a\n*** End Patch`, `"input_tokens":7`, "event: response.completed",
		},
		Chat: {`"content":"I"`, `"name":"bash"`, `{\"command\":\"go test\",`, `"name":"write"`, `\"filePath\":\"/x\"`, `"finish_reason":"tool_calls"`, `"prompt_tokens":7`, "data: [DONE]"},
	}
	for api, body := range asks() {
		t.Run(string(api), func(t *testing.T) {
			t.Parallel()
			s := New(t, func(Request) Reply {
				return Reply{Text: "I ", Calls: []Call{Run("go test"), Write("/x", "a\n")}, Tokens: 7}
			})
			res := post(t, s, api, body)
			text := res.text
			if res.err != nil || res.header.Get("Content-Type") != "text/event-stream" {
				t.Fatalf("%v, content type %q", res.err, res.header.Get("Content-Type"))
			}
			for _, part := range want[api] {
				if !strings.Contains(text, part) {
					t.Errorf("the answer lacks %s:\n%s", part, text)
				}
			}
			for line := range strings.Lines(text) {
				data, ok := strings.CutPrefix(strings.TrimSpace(line), "data: ")
				if ok && data != "[DONE]" && !json.Valid([]byte(data)) {
					t.Errorf("no JSON: %s", data)
				}
			}
			q := s.Requests()[0]
			if q.API != api || q.Model != "m" || q.Prompt != "Do it." || q.Session != "s1" || q.Results || q.Answer || len(q.Tools) != 2 || !strings.Contains(q.System, "be good") {
				t.Errorf("the script was asked %+v", q)
			}
		})
	}
}

// A tool's result is seen as such, the prompt of the turn stays the same.
func TestResults(t *testing.T) {
	t.Parallel()
	more := map[API]string{
		Messages:  `{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"Bash"}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"ok"}]}]}`,
		Responses: `{"type":"function_call","call_id":"t","name":"exec_command","arguments":"{}"},{"type":"function_call_output","call_id":"t","output":"ok"}]}`,
		Chat:      `{"role":"assistant","tool_calls":[{"id":"t"}]},{"role":"tool","tool_call_id":"t","content":"ok"}]}`,
	}
	for api, body := range asks() {
		s := New(t, func(Request) Reply { return Reply{} })
		if res := post(t, s, api, strings.TrimSuffix(body, "]}")+","+more[api]); res.err != nil {
			t.Fatal(res.err)
		}
		if q := s.Requests()[0]; !q.Results || q.Prompt != "Do it." || !strings.Contains(q.Last, "ok") {
			t.Errorf("%s: %+v", api, q)
		}
	}
}

// Structured output is a call of Claude Code's tool, and what comes after it is no
// matter of the script; elsewhere it is JSON text.
func TestAnswer(t *testing.T) {
	t.Parallel()
	s := New(t, func(q Request) Reply {
		if !q.Answer {
			t.Error("the script was not told that structured output is wanted")
		}
		return Reply{Answer: object{"tasks": []any{}}}
	})
	claude := strings.Replace(asks()[Messages], `{"name":"Write"}`, `{"name":"StructuredOutput"}`, 1)
	text := post(t, s, Messages, claude).text
	if !strings.Contains(text, `"name":"StructuredOutput"`) || !strings.Contains(text, `toolu_`+answerID) {
		t.Fatal(text)
	}
	after := `,{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_` + answerID + `1_0","content":"ok"}]}]}`
	if text = post(t, s, Messages, strings.TrimSuffix(claude, "]}")+after).text; !strings.Contains(text, "Done.") || len(s.Requests()) != 1 {
		t.Errorf("%d requests: %s", len(s.Requests()), text)
	}
	codex := strings.Replace(asks()[Responses], `{"model"`, `{"text":{"format":{"type":"json_schema"}},"model"`, 1)
	if text = post(t, s, Responses, codex).text; !strings.Contains(text, `"text":"{\"tasks\":[]}"`) {
		t.Error(text)
	}
}

// Failures come in each API's own words.
func TestFailures(t *testing.T) {
	t.Parallel()
	kinds := map[Kind][2]string{
		RateLimit: {"rate_limit_error", "rate_limit_exceeded"}, UsageLimit: {"usage limit", "usage_limit_reached"},
		Auth: {"authentication_error", "invalid_api_key"}, Billing: {"billing_error", "insufficient_quota"},
		Overloaded: {"overloaded_error", "server_is_overloaded"}, Broken: {"api_error", "server_error"},
		TooLong: {"prompt is too long", "context_length_exceeded"}, NoModel: {"not_found_error", "model_not_found"}, Bad: {"invalid_request_error", "invalid_value"},
	}
	var now Reply
	s := New(t, func(Request) Reply { return now })
	for kind, words := range kinds {
		now = Reply{Kind: kind, RetryAfter: 3 * time.Second, Headers: map[string]string{"X-Why": "test"}}
		for i, api := range []API{Messages, Responses, Chat} {
			res := post(t, s, api, asks()[api])
			if res.status != kind.status() || res.header.Get("Retry-After") != "3" || res.header.Get("X-Why") != "test" || !strings.Contains(res.text, words[min(i, 1)]) {
				t.Errorf("%s %s: %d %v %s", kind, api, res.status, res.header, res.text)
			}
		}
	}
	for status, word := range map[int]string{401: "authentication_error", 429: "rate_limit_error", 402: "billing_error", 529: "overloaded_error", 502: "api_error"} {
		now = Reply{Status: status}
		if res := post(t, s, Messages, asks()[Messages]); res.status != status || !strings.Contains(res.text, word) {
			t.Errorf("%d: %d %s", status, res.status, res.text)
		}
	}
}

// A stream that is cut has begun and has no end.
func TestCut(t *testing.T) {
	t.Parallel()
	s := New(t, func(Request) Reply { return Reply{Text: "half of it", Cut: true} })
	for api, end := range map[API]string{Messages: "message_stop", Responses: "response.completed", Chat: "[DONE]"} {
		res := post(t, s, api, asks()[api])
		if res.err == nil || !strings.Contains(res.text, "half") || strings.Contains(res.text, end) {
			t.Errorf("%s: %v %s", api, res.err, res.text)
		}
	}
}

// A reply waits for its channel; Close lets go of one that waits for ever.
func TestWait(t *testing.T) {
	t.Parallel()
	gate, asked := make(chan struct{}), make(chan struct{}, 2)
	s := Start(func(q Request) Reply {
		asked <- struct{}{}
		if strings.Contains(q.Text, "for ever") {
			return Reply{Wait: make(chan struct{})}
		}
		return Reply{Text: "at last", Wait: gate}
	})
	go func() { <-asked; close(gate) }()
	if res := post(t, s, Chat, asks()[Chat]); res.err != nil || !strings.Contains(res.text, "last") {
		t.Errorf("%v %s", res.err, res.text)
	}
	go func() { <-asked; s.Close() }()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+path(Chat), strings.NewReader(`{"messages":[{"role":"user","content":"for ever"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if res, err := http.DefaultClient.Do(r); err == nil {
		text, _ := io.ReadAll(res.Body)
		res.Body.Close()
		if len(text) > 0 {
			t.Errorf("%d %q", res.StatusCode, text)
		}
	}
	s.Close()
}

// The vocabulary knows the tools of every agent, also Codex's code mode.
func TestVocabulary(t *testing.T) {
	t.Parallel()
	tools := func(names ...string) Request {
		q := Request{API: Responses, Tools: map[string]bool{}}
		for _, n := range names {
			q.Tools[n] = true
		}
		return q
	}
	runs := map[string]string{
		"exec_command": `{"cmd":"a > b","yield_time_ms":30000}`, "shell_command": `{"command":"a > b"}`, "shell": `{"command":["sh","-c","a > b"]}`,
		"exec": `text(JSON.stringify(await tools.exec_command({cmd: "a > b"})))`, "Bash": `{"command":"a > b","description":"Run a command"}`,
	}
	for _, name := range slices.Sorted(maps.Keys(runs)) {
		c := Do(Run("a > b")).calls(tools(name))[0]
		if c.Tool != name || c.input() != runs[name] {
			t.Errorf("%s: %s %s", name, c.Tool, c.input())
		}
	}
	q := tools("request_user_input")
	if c := Do(Ask("Which?", "a", "b")).calls(q)[0]; !q.CanAsk() || c.Tool != "request_user_input" || !strings.Contains(c.input(), `"label":"b"`) {
		t.Errorf("%+v", c)
	}
	if c := (Reply{Tool: "x"}).calls(tools())[0]; c.input() != "{}" {
		t.Errorf("a call without input: %s", c.input())
	}
}

// Each program is pointed at this server.
func TestEnvironments(t *testing.T) {
	t.Parallel()
	s := New(t, func(Request) Reply { return Reply{} })
	if env := s.ClaudeEnv(); env["ANTHROPIC_BASE_URL"] != s.URL {
		t.Error(env)
	}
	var opencode struct {
		Provider map[string]struct {
			Options struct {
				BaseURL string `json:"baseURL"`
			} `json:"options"`
		} `json:"provider"`
		Permission map[string]string `json:"permission"`
	}
	env := s.OpenCodeEnv(map[string]string{"bash": "ask"})
	if err := json.Unmarshal([]byte(env["OPENCODE_CONFIG_CONTENT"]), &opencode); err != nil || opencode.Provider["scripted"].Options.BaseURL != s.URL+"/v1" || opencode.Permission["bash"] != "ask" || env["npm_config_offline"] != "true" {
		t.Errorf("%v %v", err, env)
	}
	home := t.TempDir()
	codex, err := s.CodexEnv(home)
	text, _ := os.ReadFile(filepath.Join(home, "config.toml"))
	if err != nil || codex["CODEX_HOME"] != home || !strings.Contains(string(text), s.URL+"/v1") {
		t.Errorf("%v %v %s", err, codex, text)
	}
	if _, err := s.CodexEnv(filepath.Join(home, "none")); err == nil {
		t.Error("no error for a home that is not there")
	}
}

// Who asks for an answer in one piece gets one, of all APIs; Ollama's is among them.
func TestInOnePiece(t *testing.T) {
	t.Parallel()
	bodies := asks()
	bodies[Local] = bodies[Chat]
	want := map[API]string{
		Messages:  `"input":{"command":"go test","description":"Run a command"}`,
		Responses: `"status":"completed"`,
		Chat:      `"finish_reason":"tool_calls"`,
		Local:     `"arguments":{"command":"go test","description":"Run a command"}`,
	}
	for api, body := range bodies {
		var now Reply
		s := New(t, func(Request) Reply { return now })
		whole := strings.Replace(body, `{"model"`, `{"stream":false,"model"`, 1)
		now = Reply{Text: "I ", Calls: []Call{Run("go test")}, Tokens: 7}
		if res := post(t, s, api, whole); !json.Valid([]byte(res.text)) || !strings.Contains(res.text, want[api]) || !strings.Contains(res.text, "7") {
			t.Errorf("%s: %v %s", api, res.err, res.text)
		}
		now.Cut = true
		if res := post(t, s, api, whole); res.err == nil || json.Valid([]byte(res.text)) {
			t.Errorf("%s is not cut: %v %s", api, res.err, res.text)
		}
		if q := s.Requests()[0]; q.API != api || q.Prompt != "Do it." {
			t.Errorf("%s: %+v", api, q)
		}
	}
	s := New(t, func(q Request) Reply {
		if q.Answer {
			return Reply{Answer: object{"ok": true}}
		}
		return Reply{Text: "half of it", Kind: ""}
	})
	if res := post(t, s, Local, bodies[Local]); !strings.Contains(res.text, "half ") || !strings.Contains(res.text, `"done":true`) {
		t.Errorf("a stream of Ollama: %s", res.text)
	}
	if res := post(t, s, Local, strings.Replace(bodies[Local], `{"model"`, `{"format":{"type":"object"},"stream":false,"model"`, 1)); !strings.Contains(res.text, `{\"ok\":true}`) {
		t.Errorf("structured output of Ollama: %s", res.text)
	}
	failing := New(t, func(Request) Reply { return Reply{Kind: NoModel} })
	if res := post(t, failing, Local, bodies[Local]); res.status != 404 || !strings.Contains(res.text, "not found, try pulling") {
		t.Errorf("%d %s", res.status, res.text)
	}
}
