package prompt_test

import (
	"strings"
	"testing"

	"github.com/ralph-loop/ralph/internal/prompt"
	"github.com/ralph-loop/ralph/internal/signature"
)

// E-042, X-83: what a review of an agent's own says becomes a typed answer: findings with their places, or that there are
// none; the object that was asked for counts as it is; no words are no review.
func TestReadOwnReview(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		said     string
		verdict  signature.Verdict
		findings []signature.Finding
		sure     float64
		reason   string
		bad      bool
	}{
		"one finding, as recorded": {
			said:    "One bug.\n\nReview comment:\n\n- [P1] Off by one — /repo/README.md:1-1\n  The loop misses the last item.",
			verdict: signature.VerdictRevise, sure: 1, reason: "One bug.",
			findings: []signature.Finding{{File: "/repo/README.md", Line: 1, Text: "[P1] Off by one\nThe loop misses the last item."}},
		},
		"two": {
			said:    "Two things.\n\nFull review comments:\n\n- [P1] A — /r/a.go:3-5\n  first\n\n  second\n\n- [P2] B: c — /r/b c.go:70-70\n  there",
			verdict: signature.VerdictRevise, sure: 1, reason: "Two things.",
			findings: []signature.Finding{{File: "/r/a.go", Line: 3, Text: "[P1] A\nfirst\nsecond"}, {File: "/r/b c.go", Line: 70, Text: "[P2] B: c\nthere"}},
		},
		"none":              {said: "It does what was asked.", verdict: signature.VerdictAccept, sure: 0.8, reason: "It does what was asked."},
		"ours":              {said: "Here:\n```json\n{\"verdict\":\"accept\",\"findings\":[],\"reason\":\"fine\",\"confidence\":0.95}\n```", verdict: signature.VerdictAccept, sure: 0.95, reason: "fine"},
		"steers a terminal": {said: "Fine\x1b[2J now.", verdict: signature.VerdictAccept, sure: 0.8, reason: "Fine"},
		"nothing":           {said: " \n", bad: true},
		"failed":            {said: "Reviewer failed to output a response.", bad: true},
	} {
		out, err := prompt.ReadOwnReview(c.said)
		if c.bad {
			if err == nil {
				t.Errorf("%s: taken as %+v", name, out)
			}
			continue
		}
		if err != nil || out.Verdict != c.verdict || out.Confidence != c.sure || !strings.HasPrefix(out.Reason, c.reason) || strings.Contains(out.Reason, "\x1b") || len(out.Findings) != len(c.findings) {
			t.Errorf("%s: %v, %+v", name, err, out)
			continue
		}
		for i, f := range c.findings {
			if out.Findings[i] != f {
				t.Errorf("%s: finding %d is %+v", name, i, out.Findings[i])
			}
		}
	}
}
