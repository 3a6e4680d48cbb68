package check

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"
)

// headTail is a writer that keeps the head and the tail of a stream, half of limit
// each: compilers say first what is wrong, test programs last.
type headTail struct {
	head  []byte
	tail  []byte // a ring once it is full
	next  int    // where the ring goes on
	half  int
	total int64
}

func newKept(limit int64) *headTail { return &headTail{half: int(max(1, limit/2))} }

// Write takes everything. It grows with what comes and never past its limit.
func (k *headTail) Write(p []byte) (int, error) {
	k.total += int64(len(p))
	n := len(p)
	if room := k.half - len(k.head); room > 0 {
		take := min(room, len(p))
		k.head = append(k.head, p[:take]...)
		p = p[take:]
	}
	if len(p) > k.half {
		p = p[len(p)-k.half:]
	}
	if room := k.half - len(k.tail); room > 0 {
		take := min(room, len(p))
		k.tail = append(k.tail, p[:take]...)
		p = p[take:]
	}
	for len(p) > 0 {
		c := copy(k.tail[k.next:], p)
		k.next, p = (k.next+c)%k.half, p[c:]
	}
	return n, nil
}

// text returns at most budget bytes of the stream, head and tail cut at line
// borders with a line between them that says how much is missing, and how many
// bytes those are.
func (k *headTail) text(budget int64) (string, int64) {
	tail := append(bytes.Clone(k.tail[k.next:]), k.tail[:k.next]...)
	if k.total <= budget && k.total == int64(len(k.head)+len(tail)) {
		return string(k.head) + string(tail), 0
	}
	all := append(bytes.Clone(k.head), tail...) // when it is short, head runs into tail
	half := min(int(budget/2), len(all)/2)
	head, tail := headLines(all[:half]), tailLines(all[len(all)-half:])
	cut := k.total - int64(len(head)+len(tail))
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
func render(stderr, stdout *headTail, limit int64) (text string, cut int64) {
	forErr := min(stderr.total, max(limit/2, limit-stdout.total))
	var b strings.Builder
	for _, s := range []struct {
		name   string
		stream *headTail
		budget int64
	}{{"stderr", stderr, forErr}, {"stdout", stdout, limit - forErr}} {
		if s.stream.total == 0 {
			continue
		}
		part, missing := s.stream.text(s.budget)
		cut += missing
		fmt.Fprintf(&b, "--- %s ---\n%s", s.name, part)
		if !strings.HasSuffix(part, "\n") {
			b.WriteByte('\n')
		}
	}
	return strings.ToValidUTF8(b.String(), "\uFFFD"), cut
}
