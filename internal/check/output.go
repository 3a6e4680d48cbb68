package check

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/ralph-loop/ralph/internal/text"
)

// shortened returns at most budget bytes of the stream, head and tail cut at line
// borders with a line between them that says how much is missing, and how many
// bytes those are.
func shortened(k *text.HeadTail, budget int64) (string, int64) {
	head, tail := k.Ends()
	all := append(head, tail...) //nolint:gocritic // both are copies
	if k.Total() <= budget && k.Total() == int64(len(all)) {
		return string(all), 0
	}
	half := min(int(budget/2), len(all)/2)
	head, tail = headLines(all[:half]), tailLines(all[len(all)-half:]) // when it is short, head runs into tail
	cut := k.Total() - int64(len(head)+len(tail))
	mark := fmt.Sprintf("... %d bytes left out ...\n", cut)
	if len(head) > 0 && head[len(head)-1] != '\n' {
		mark = "\n" + mark
	}
	return string(head) + mark + string(tail), cut
}

// headLines cuts b behind its last whole line, or where that would lose more
// than half of it, behind its last whole character.
func headLines(b []byte) []byte {
	if i := bytes.LastIndexByte(b, '\n'); i >= len(b)/2 {
		return b[:i+1]
	}
	for i := 1; i < utf8.UTFMax && i <= len(b); i++ {
		if c := b[len(b)-i]; utf8.RuneStart(c) {
			if !utf8.FullRune(b[len(b)-i:]) {
				return b[:len(b)-i]
			}
			break
		}
	}
	return b
}

// tailLines is headLines for the other end.
func tailLines(b []byte) []byte {
	if i := bytes.IndexByte(b, '\n'); i >= 0 && i < len(b)/2 {
		return b[i+1:]
	}
	for i := 0; i < utf8.UTFMax && i < len(b); i++ {
		if utf8.RuneStart(b[i]) {
			return b[i:]
		}
	}
	return b
}

// render joins both streams, marked, stderr first. Each may have half
// of limit, and what the other one leaves. Invalid UTF-8 is replaced, so that
// the journal stays text. cut is how many bytes are missing.
func render(stderr, stdout *text.HeadTail, limit int64) (shown string, cut int64) {
	forErr := min(stderr.Total(), max(limit/2, limit-stdout.Total()))
	var b strings.Builder
	for _, s := range []struct {
		name   string
		stream *text.HeadTail
		budget int64
	}{{"stderr", stderr, forErr}, {"stdout", stdout, limit - forErr}} {
		if s.stream.Total() == 0 {
			continue
		}
		part, missing := shortened(s.stream, s.budget)
		cut += missing
		fmt.Fprintf(&b, "--- %s ---\n%s", s.name, part)
		if !strings.HasSuffix(part, "\n") {
			b.WriteByte('\n')
		}
	}
	return strings.ToValidUTF8(b.String(), "\uFFFD"), cut
}
