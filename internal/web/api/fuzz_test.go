package api_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// FuzzAPI: whatever is sent, the API neither breaks nor says anything but JSON, and a
// refusal says why (issue 15 point 9).
func FuzzAPI(f *testing.F) {
	for _, s := range [][3]string{
		{"POST", "/actions/pause", `{"text":"x"}`},
		{"POST", "/actions/add", `{"name":"x"}`},
		{"POST", "/actions/edit", `{"id":"t-1","name":""}`},
		{"POST", "/actions/approve", `{"id":"g-1"}`},
		{"POST", "/actions/answer", `{"id":7}`},
		{"POST", "/actions/nothing", `{}`},
		{"POST", "/actions/add", `{"name":"\ud800"}`},
		{"POST", "/actions/add", `[`},
		{"POST", "/actions/pause", `null`},
		{"GET", "/state", ""},
		{"GET", "/tasks?status=x", ""},
		{"GET", "/tasks/t-1", ""},
		{"GET", "/facts?after=-1", ""},
		{"GET", "/gates/g-1", ""},
		{"GET", "/receipts/999999999999999999999", ""},
		{"DELETE", "/tasks/t-1", ""},
	} {
		f.Add(s[0], s[1], s[2])
	}
	_, base := open(f, 0)
	f.Fuzz(func(t *testing.T, method, path, body string) {
		if strings.Contains(path, "events") || strings.Contains(path, "stream") || strings.HasPrefix(method, "CONNECT") {
			return // what never ends by itself
		}
		u, err := url.Parse(base + "/" + strings.TrimPrefix(path, "/"))
		if err != nil || !strings.HasPrefix(u.String(), base) {
			return
		}
		r, err := http.NewRequestWithContext(t.Context(), method, u.String(), strings.NewReader(body))
		if err != nil {
			return
		}
		r.Header.Set("Content-Type", "application/json")
		client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
		res, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if res.StatusCode >= 500 {
			t.Fatalf("%s %s %q: %s", method, path, body, res.Status)
		}
		if kind := res.Header.Get("Content-Type"); res.StatusCode >= 400 && strings.Contains(kind, "json") {
			var said struct{ Detail, Title, Error string }
			if err := json.NewDecoder(res.Body).Decode(&said); method != http.MethodHead && (err != nil || said.Detail+said.Title+said.Error == "") {
				t.Fatalf("%s %s %q: a refusal without words: %v", method, path, body, err)
			}
		}
	})
}
