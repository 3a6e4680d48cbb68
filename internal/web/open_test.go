package web_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph/internal/web"
)

// Issue 7, point 5: who has not come in reads style and scripts, and no word of the
// repository, whatever is asked for.
func TestOpenSaysNothingOfTheRepository(t *testing.T) {
	t.Parallel()
	s := overviewState()
	source := &planSource{state: s}
	x := web.New(web.Options{Source: source, Backend: source, Root: "/home/ada/secret-name", Version: "test"})
	t.Cleanup(x.Close)
	for path, want := range map[string]int{
		x.Style(): 200, "/assets/x": 404, "/assets/": 404, "/assets/..%2f..%2flog": 404, "/assets%2flog": 404, "/assets/a/b/c": 404, "/assets/%2e%2e/log": 404, "/log": 404, "/": 404,
	} {
		w := httptest.NewRecorder()
		x.Open().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody))
		if w.Code != want || strings.Contains(w.Body.String(), "secret-name") || strings.Contains(w.Body.String(), "<html") {
			t.Errorf("%s: %d %.200s", path, w.Code, w.Body)
		}
	}
}
