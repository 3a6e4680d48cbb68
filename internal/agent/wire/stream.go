package wire

import (
	"bytes"
)

// maxEvent is the longest line taken for an event, in bytes. Recorded events
// are some kilobytes; a tool result of a whole file may be megabytes.
const maxEvent = 16 << 20

// keepBuffer is the buffer that stays between long lines.
const keepBuffer = 1 << 20

// Events cuts newline-delimited JSON into lines, whatever the chunks it comes
// in: an event on a chunk border is never lost. A line that fits its chunk is
// handed on without a copy. Lines over maxEvent are counted, not kept.
type Events struct {
	Line    func([]byte) // must not keep the line
	max     int          // the longest line, 0: maxEvent
	buf     []byte       // the begun line
	skip    bool         // the begun line is over maxEvent
	N       int64        // lines
	Dropped int64        // bytes of lines over maxEvent
}

// Write takes the next chunk; it keeps none of p.
func (e *Events) Write(p []byte) {
	for len(p) > 0 {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			e.add(p)
			return
		}
		switch {
		case e.skip:
			e.Dropped += int64(i + 1)
			e.skip = false
			e.N++
		case len(e.buf) == 0:
			e.hand(p[:i])
		default:
			if e.add(p[:i]); e.skip {
				e.skip = false
				e.N++
			} else {
				e.hand(e.buf)
			}
			e.reset()
		}
		p = p[i+1:]
	}
}

// Close hands on a last line without an end.
func (e *Events) Close() {
	if len(e.buf) > 0 {
		e.hand(e.buf)
	} else if e.skip {
		e.N++
	}
	e.buf, e.skip = nil, false
}

func (e *Events) add(p []byte) {
	most := e.max
	if most == 0 {
		most = maxEvent
	}
	if !e.skip && len(e.buf)+len(p) > most {
		e.skip = true
		e.Dropped += int64(len(e.buf))
		e.reset()
	}
	if e.skip {
		e.Dropped += int64(len(p))
		return
	}
	if need := len(e.buf) + len(p); need > cap(e.buf) {
		grown := make([]byte, len(e.buf), max(need, min(2*cap(e.buf), most), 64<<10))
		copy(grown, e.buf)
		e.buf = grown
	}
	e.buf = append(e.buf, p...)
}

func (e *Events) reset() {
	if cap(e.buf) > keepBuffer {
		e.buf = nil
	}
	e.buf = e.buf[:0]
}

func (e *Events) hand(line []byte) {
	e.N++
	if line = bytes.TrimSpace(line); len(line) > 0 {
		e.Line(line)
	}
}
