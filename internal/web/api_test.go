package web

import (
	"net/http"
	"strings"
	"testing"
)

// The API answers about the past from the dashboard's index and reports, also when it is
// asked before any page was shown.
func TestAPIKnowsThePast(t *testing.T) {
	t.Parallel()
	p := pastOf(3, 4)
	x := New(Options{Source: p, Backend: p, Root: t.TempDir()})
	t.Cleanup(x.Close)
	for address, want := range map[string]string{
		"/sessions":              `"id":"s-01","mode":"autopilot","started_at":"2026-03-02T`,
		"/report":                `"id":"s-02"`,
		"/report?session=s-00":   `"id":"s-00"`,
		"/report?all=true":       `"scope":"all"`,
		"/receipts?session=s-00": `{"receipts":[]}`,
		"/next":                  `[]`,
	} {
		w := lookAt(x, "/api/v1"+address)
		if body := w.Body.String(); w.Code != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("%s: %d %.400s", address, w.Code, body)
		}
	}
	if w := lookAt(x, "/api/v1/report?session=s-none"); w.Code != http.StatusNotFound {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
