package step

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"os"
	"sync"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/redact"
)

const (
	maxHead = 128 << 20 // bytes of an agent's output kept from its start
	maxEnd  = 1 << 20   // bytes kept from its end, when it is longer
)

// outputFile keeps an agent's output as it came: all of it up to a limit, then
// its end, so that a flood fills neither memory nor disk.
type outputFile struct {
	maxHead int64
	maxEnd  int

	mu      sync.Mutex // stdout and stderr come from two goroutines
	f       *os.File
	sum     hash.Hash // of all that is in f
	written int64
	total   int64
	ring    []byte // the end, once the head is full
	at      int    // where the next byte of the ring goes

	redact  *redact.Redactor
	streams []*redact.Behind // under mu
	mixed   *redact.Behind   // what comes without a stream of its own
}

// openOutput makes the file of an output, which keeps no secrets; streams are put together again each by
// itself.
func openOutput(path string, r *redact.Redactor) (*outputFile, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	o := &outputFile{f: f, sum: sha256.New(), maxHead: maxHead, maxEnd: maxEnd, redact: r}
	o.mixed = o.stream()
	return o, nil
}

func (o *outputFile) stream() *redact.Behind {
	w := o.redact.Behind(writerFunc(o.put))
	o.mu.Lock()
	defer o.mu.Unlock()
	o.streams = append(o.streams, w)
	return w
}

// Stream implements ralph.RawStreams.
func (o *outputFile) Stream() ralph.RawSink { return o.stream() }

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// Write implements ralph.RawSink.
func (o *outputFile) Write(p []byte) (int, error) { return o.mixed.Write(p) }

// put keeps what has no secrets any more.
func (o *outputFile) put(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	n := len(p)
	o.total += int64(n)
	if room := o.maxHead - o.written; room > 0 {
		head := p[:min(int64(n), room)]
		if err := o.write(head); err != nil {
			return 0, err
		}
		o.written += int64(len(head))
		p = p[len(head):]
	}
	o.keepEnd(p)
	return n, nil
}

// write writes to the file, and takes the sum while the bytes are at hand: a long output is not
// read again for it.
func (o *outputFile) write(p []byte) error {
	n, err := o.f.Write(p)
	_, _ = o.sum.Write(p[:n]) // a hash takes all
	return err
}

// sha256 is the sum of all that was written, in hexadecimal.
func (o *outputFile) sha256() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return hex.EncodeToString(o.sum.Sum(nil))
}

func (o *outputFile) keepEnd(p []byte) {
	if len(p) == 0 {
		return
	}
	if o.ring == nil {
		o.ring = make([]byte, o.maxEnd)
	}
	if len(p) > o.maxEnd {
		p = p[len(p)-o.maxEnd:]
	}
	n := copy(o.ring[o.at:], p)
	copy(o.ring, p[n:])
	o.at = (o.at + len(p)) % o.maxEnd
}

// dropped is how many bytes in the middle were not kept.
func (o *outputFile) dropped() int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return max(0, o.total-o.maxHead-int64(o.maxEnd))
}

// Close writes the end behind a line that says what is missing.
func (o *outputFile) Close() error {
	o.mu.Lock()
	streams := o.streams
	o.mu.Unlock()
	var errs []error
	for _, w := range streams {
		errs = append(errs, w.Close())
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	defer o.f.Close()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	over := o.total - o.maxHead
	if over <= 0 {
		return nil
	}
	end := append(append([]byte{}, o.ring[o.at:]...), o.ring[:o.at]...)
	if over < int64(o.maxEnd) {
		end = o.ring[:over]
	}
	return o.write(append(fmt.Appendf(nil, "\n... %d bytes left out ...\n", max(0, over-int64(o.maxEnd))), end...))
}
