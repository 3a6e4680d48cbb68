package redact

import (
	"bytes"
	"errors"
	"os"
	"testing"
)

// sinkTo is a writer that fails from the n-th write on.
type sinkTo struct {
	bytes.Buffer
	n      int
	err    error
	closed int
}

func (s *sinkTo) Write(p []byte) (int, error) {
	if s.n--; s.n < 0 && s.err != nil {
		return 0, s.err
	}
	return s.Buffer.Write(p)
}

func (s *sinkTo) Close() error { s.closed++; return nil }

// All that was written is passed on in its order, whatever its size, and the writer's memory is its
// own again at once.
func TestBehind(t *testing.T) {
	t.Parallel()
	to := &sinkTo{}
	w := &Behind{to: to}
	var want []byte
	p := make([]byte, 3*maxAtOnce+1)
	for i := range 50 {
		p := p[:(i*7919)%len(p)]
		for k := range p {
			p[k] = byte(i + k)
		}
		want = append(want, p...)
		if n, err := w.Write(p); n != len(p) || err != nil {
			t.Fatalf("%d %v", n, err)
		}
		clear(p)
	}
	if err := errors.Join(w.Close(), w.Close()); err != nil || to.closed != 1 || !bytes.Equal(to.Bytes(), want) {
		t.Fatalf("%v, closed %d times, %d bytes of %d", err, to.closed, to.Len(), len(want))
	}
	if _, err := w.Write([]byte("late")); !errors.Is(err, os.ErrClosed) { // as a stream that had to be cut does
		t.Errorf("a write after the end: %v", err)
	}
}

// A failure comes back, and nothing is passed on behind it.
func TestBehindFails(t *testing.T) {
	t.Parallel()
	full := errors.New("no space left on device")
	to := &sinkTo{n: 1, err: full}
	w := &Behind{to: to}
	var err error
	for err == nil {
		_, err = w.Write([]byte("words"))
	}
	if closed := w.Close(); !errors.Is(err, full) || !errors.Is(closed, full) || to.String() != "words" {
		t.Errorf("%v, %v at the end, %q passed on", err, closed, to.String())
	}
}
