package redact

import (
	"bytes"
	"io"
	"strings"
	"sync"
)

const (
	maxHeld  = 256 << 10 // bytes of a line, or of a key, that wait for their end
	keptBack = 8 << 10   // bytes of a longer line that stay for what comes next
)

// Writer passes on what is written to it without the secrets in it, wherever it was cut:
// by whole lines, a line that does not end in pieces. It is safe for concurrent use.
type Writer struct {
	r  *Redactor
	to io.Writer

	mu   sync.Mutex
	held []byte
}

// Writer returns a writer in front of another. It has to be closed for the last of what
// was written, which does not close the other one.
func (r *Redactor) Writer(to io.Writer) *Writer { return &Writer{r: r, to: to} }

// Write implements io.Writer.
func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.r == nil {
		return w.to.Write(p)
	}
	w.held = append(w.held, p...)
	if end := w.ready(); end > 0 {
		if err := w.pass(end); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

// Close passes on the rest.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.pass(len(w.held))
}

func (w *Writer) pass(n int) error {
	if n == 0 {
		return nil
	}
	text := w.r.String(string(w.held[:n]))
	w.held = append(w.held[:0], w.held[n:]...)
	_, err := io.WriteString(w.to, text)
	return err
}

// ready is how much of what is held can be looked at by itself.
func (w *Writer) ready() int {
	end := bytes.LastIndexByte(w.held, '\n') + 1
	if begin := []byte("-----BEGIN"); bytes.Contains(w.held[:end], begin) { // hardly ever, and this way round it is told soonest
		at := bytes.LastIndex(w.held[:end], begin)
		line, _, _ := bytes.Cut(w.held[at:end], []byte("\n"))
		if !bytes.Contains(w.held[at:end], []byte("-----END")) && bytes.Contains(line, []byte("PRIVATE KEY")) {
			end = at
		}
	}
	if len(w.held)-end < maxHeld {
		return end
	}
	return w.within(len(w.held) - keptBack)
}

// within moves a cut to where no secret is cut: before a value that stands across it, and
// between words where there are any.
func (w *Writer) within(cut int) int {
	if at := bytes.LastIndexAny(w.held[cut-keptBack:cut], " \t\r\n,;\"'<>"); at >= 0 {
		cut += at + 1 - keptBack
	}
	for moved := true; moved; {
		moved = false
		for _, v := range w.r.values {
			from := max(0, cut-len(v)+1)
			at := strings.Index(string(w.held[from:min(len(w.held), cut+len(v)-1)]), v)
			if at >= 0 && from+at < cut && from+at+len(v) > cut && from+at > 0 {
				cut, moved = from+at, true
			}
		}
	}
	return cut
}
