package prompt

import (
	"strconv"
	"strings"

	"github.com/ralph-loop/ralph/internal/lazyregexp"
	"github.com/ralph-loop/ralph/internal/signature"
	"github.com/ralph-loop/ralph/internal/text"
)

// ReadOwnReview reads what a review of an agent's own came to: the object that was asked for, else
// findings as Codex writes them, a title with its place in a line and words below it. Such
// a review says no confidence: what it found is sure, that it found nothing is not quite.
func ReadOwnReview(said string) (signature.ReviewOut, error) {
	if out, err := ReadReview(said, nil); err == nil {
		return out, nil
	}
	said = strings.TrimSpace(said)
	if said == "" || strings.HasPrefix(said, "Reviewer failed") {
		return signature.ReviewOut{}, &Mismatch{"the review has no words"}
	}
	out := signature.ReviewOut{Verdict: signature.VerdictAccept, Confidence: ownReviewSure}
	words, _, _ := strings.Cut(said, "\n\n")
	for line := range strings.Lines(said) {
		line = strings.TrimRight(line, "\r\n")
		if m := ownFinding.FindStringSubmatch(line); m != nil {
			n, _ := strconv.Atoi(m[3]) // digits alone; a huge one is no line
			out.Findings = append(out.Findings, signature.Finding{Text: m[1], File: m[2], Line: n})
			continue
		}
		if n := len(out.Findings); n > 0 && strings.HasPrefix(line, "  ") {
			out.Findings[n-1].Text += "\n" + strings.TrimSpace(line)
		}
	}
	if len(out.Findings) > 0 {
		out.Verdict, out.Confidence = signature.VerdictRevise, 1
	}
	out.Reason = text.Line(text.SafeLine(words), maxOwnReason)
	return out, out.Check(signature.ReviewIn{})
}

const (
	ownReviewSure = 0.8 // that a review without a number found nothing
	maxOwnReason  = 400
)

// ownFinding is the line of a finding: - [P1] title — path:3-5.
var ownFinding = lazyregexp.New(`^- (?:\[[ xX]\] )?((?:\[P\d\] )?.+?) — (.+?):(\d+)(?:-\d+)?$`)
