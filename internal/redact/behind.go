package redact

import (
	"io"
	"os"
	"slices"
	"sync"
)

const (
	maxAtOnce = 64 << 10 // bytes that are handed over at once, at most
	maxQueued = 4        // pieces that wait, at most: who writes more has to wait
)

// Behind is a Writer that does its work beside whoever writes to it: an agent that says much is
// read and understood while what it said before is searched for secrets and written. The order
// stays. An error comes back from a later Write, or from Close.
type Behind struct {
	to io.WriteCloser

	mu     sync.Mutex // one Write at a time; none after Close
	queue  chan []byte
	spare  chan []byte // pieces to be used again
	rest   sync.WaitGroup
	closed bool

	failed sync.Mutex
	err    error // below failed
}

// Behind returns a Behind in front of another writer, which it does not close.
func (r *Redactor) Behind(to io.Writer) *Behind { return &Behind{to: r.Writer(to)} }

// Write implements io.Writer. It does not keep p.
func (w *Behind) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return 0, os.ErrClosed
	}
	if w.queue == nil {
		w.queue, w.spare = make(chan []byte, maxQueued), make(chan []byte, maxQueued+1)
		w.rest.Go(w.pass)
	}
	for piece := range slices.Chunk(p, maxAtOnce) {
		if err := w.failure(); err != nil {
			return 0, err
		}
		var own []byte
		select {
		case own = <-w.spare:
		default:
		}
		w.queue <- append(own[:0], piece...)
	}
	return len(p), nil
}

// pass passes on what is queued.
func (w *Behind) pass() {
	for piece := range w.queue {
		if w.failure() != nil {
			continue
		}
		if _, err := w.to.Write(piece); err != nil {
			w.failed.Lock()
			w.err = err
			w.failed.Unlock()
		}
		select {
		case w.spare <- piece:
		default:
		}
	}
}

func (w *Behind) failure() error {
	w.failed.Lock()
	defer w.failed.Unlock()
	return w.err
}

// Close passes on the rest, and closes what it was passed to.
func (w *Behind) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return nil
	}
	w.closed = true
	if w.queue != nil {
		close(w.queue)
		w.rest.Wait()
	}
	err := w.to.Close()
	if failed := w.failure(); failed != nil {
		return failed
	}
	return err
}
