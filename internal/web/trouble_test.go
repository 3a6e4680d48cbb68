package web_test

import (
	"strings"
	"testing"

	"github.com/ralph-loop/ralph/internal/status"
	"github.com/ralph-loop/ralph/internal/web"
)

// A file that cannot be read is named on every page, with its line, whoever works.
func TestTroubleIsOnEveryPage(t *testing.T) {
	t.Parallel()
	for _, alive := range []bool{true, false} {
		s, trouble := overviewState(), "ralph/plan.jsonl:3: <no> JSON"
		source := &planSource{state: s, engine: status.Engine{Alive: alive}}
		opt := web.Options{Source: source, Backend: source, Trouble: func() string { return trouble }}
		for _, path := range []string{"/", "/plan", "/log", "/nothing"} {
			if _, body := planAt(t, opt, s, path); !strings.Contains(body, "ralph/plan.jsonl:3: <no> JSON. Pages show what was there before.") {
				t.Errorf("%s does not tell, engine: %t", path, alive)
			}
		}
		trouble = ""
		if _, body := planAt(t, opt, s, "/"); strings.Contains(body, "what was there before") {
			t.Error("a page tells of trouble that there is none of")
		}
	}
}
