package api_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph/internal/web/api"
)

// What the API does not know, and what it cannot read, is answered as a problem too.
func TestProblemsEverywhere(t *testing.T) {
	t.Parallel()
	_, base := open(t, 0)
	for _, test := range []struct {
		method, path, body string
		want               int
	}{
		{http.MethodGet, "/nothing", "", 404},
		{http.MethodGet, "/", "", 404},
		{http.MethodPost, "/nothing", "{}", 404},
		{http.MethodPost, "/status", "{}", 405},
		{http.MethodGet, "/engine/pause", "", 405},
		{http.MethodGet, "/tasks/%00", "", 404},
		{http.MethodGet, "/tasks/..%2f..%2fx", "", 404},
		{http.MethodGet, "/receipts?limit=-1", "", 422},
		{http.MethodGet, "/receipts/99999999999999999999", "", 422},
		{http.MethodGet, "/events?after=x", "", 422},
		{http.MethodGet, "/offers?subject=zz", "", 422},
		{http.MethodPost, "/gates/g-1/deny", "{", 400},
		{http.MethodPost, "/gates/g-1/deny", "[]", 422},
		{http.MethodPost, "/gates/g-1/deny", "null", 422},
		{http.MethodPost, "/gates/g-1/deny", `{"text":7}`, 422},
		{http.MethodPost, "/gates/g-1/deny", `{"nobody":"knows"}`, 422},
		{http.MethodPost, "/gates/g-1/deny", deep(), 400},
		{http.MethodPost, "/gates/g-1/deny", "\x00", 400},
		{http.MethodPost, "/gates/g-1/deny", `{"text":7,"password":"hunter2"}`, 422},
		{http.MethodPost, "/gates/g-1/deny", "hunter2 " + strings.Repeat("z", 3000), 400},
		{http.MethodPost, "/gates/g-1/deny", `{"` + strings.Repeat("k", 3000) + `":1}`, 422},
		{http.MethodPost, "/gates/g-none/deny", "{}", 404},
		{http.MethodGet, "/gates/g-none", "", 404},
		{http.MethodGet, "/tasks/t-none", "", 404},
		{http.MethodGet, "/threads/t-none", "", 404},
		{http.MethodGet, "/receipts/7777777", "", 404},
		{http.MethodGet, "/sessions/s-none/report", "", 404},
	} {
		status, kind, text := call(t, test.method, base+test.path, test.body)
		var p api.Problem
		if err := json.Unmarshal([]byte(text), &p); err != nil || status != test.want || kind != "application/problem+json" || p.Status != status || p.Title == "" || p.Detail == "" || p.Type != "about:blank" || p.Hint == "" {
			t.Errorf("%s %s %.30q: %d %s %.200s", test.method, test.path, test.body, status, kind, text)
		}
		if strings.Contains(text, `"value":`) || len(text) > 1000 || strings.Contains(text, "hunter2") {
			t.Errorf("%s %s %.30q: it has more than a problem, or what was sent: %.400s", test.method, test.path, test.body, text)
		}
	}
}

// deep is JSON that no reader should follow.
func deep() string {
	b := make([]byte, 100_000)
	for i := range b {
		b[i] = '['
	}
	return string(b)
}
