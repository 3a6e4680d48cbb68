package text

import "bytes"

// HeadTail is a writer that keeps the head and the tail of a stream, half of a limit
// each: compilers say first what is wrong, test programs last.
type HeadTail struct {
	head  []byte
	tail  []byte // a ring once it is full
	next  int    // where the ring goes on
	half  int
	total int64
}

// NewHeadTail keeps at most limit bytes.
func NewHeadTail(limit int64) *HeadTail { return &HeadTail{half: int(max(1, limit/2))} }

// Write takes everything. It grows with what comes and never past its limit.
func (k *HeadTail) Write(p []byte) (int, error) {
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

// Total is how many bytes were written.
func (k *HeadTail) Total() int64 { return k.total }

// Ends are copies of what is kept: Total less their lengths is missing between them.
func (k *HeadTail) Ends() (head, tail []byte) {
	return bytes.Clone(k.head), append(bytes.Clone(k.tail[k.next:]), k.tail[:k.next]...)
}
