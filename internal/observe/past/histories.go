package past

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/ralph-loop/ralph/internal/observe/watch"
	"github.com/ralph-loop/ralph/internal/web/index"
)

const (
	// maxThen are the histories of moments of the past that are kept: the slider goes back and on.
	maxThen = 4
	// thenWithin is how long a page waits for such a history; one of a very long journal says how far it is.
	thenWithin = 3 * time.Second
)

// Histories are what the journal adds up to when it ends at a fact, for pages of the past.
type Histories struct {
	mu   sync.Mutex
	list []moment // the one used last at the end
}

type moment struct {
	seq   int64
	index *index.Index
}

// Of is the history up to a fact, as far as it has been read.
func (h *Histories) Of(ctx context.Context, source watch.Source, safe *watch.Panics, l *watch.Look) *index.Index {
	seq := l.State.Seq
	h.mu.Lock()
	at := slices.IndexFunc(h.list, func(x moment) bool { return x.seq == seq })
	var x moment
	if at >= 0 {
		x = h.list[at]
		h.list = slices.Delete(h.list, at, at+1)
	} else {
		x = moment{seq, index.New(index.Options{Journal: watch.Then(source, l), Panicked: safe.Say})}
		x.index.Start()
	}
	h.list = append(h.list, x)
	var over []moment
	if n := len(h.list) - maxThen; n > 0 {
		over, h.list = slices.Clone(h.list[:n]), slices.Clone(h.list[n:])
	}
	h.mu.Unlock()
	for _, o := range over {
		o.index.Close()
	}
	ctx, cancel := context.WithTimeout(ctx, thenWithin)
	defer cancel()
	_ = x.index.Reach(ctx, seq) // that it was late, or why, is in its progress
	return x.index
}

// Close ends all of them; what is being read stops.
func (h *Histories) Close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, x := range h.list {
		x.index.Close()
	}
	h.list = nil
}
