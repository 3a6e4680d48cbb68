// Package live owns how pages change while people look at them: each view is rendered
// once for all who look at it, and only the parts that changed are sent, as
// server-sent events. It knows nothing of what a view shows.
package live

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"strings"
	"sync"
	"time"
)

// Part is a piece of a page that is replaced as a whole: HTML whose outermost element
// carries the ID.
type Part struct {
	ID   string
	HTML []byte
}

// Options are what a Hub needs from outside.
type Options struct {
	// Render makes the parts of a view as they are now; key is its address, last the
	// version that it was rendered at before, -1 if it was not. No parts: nothing has
	// changed since. An error ends the streams of that view: ErrGone, and a panic, for
	// good; after any other one browsers ask again.
	Render func(ctx context.Context, key string, last int64) ([]Part, error)
	// Changed returns when there may be something newer than what was rendered at
	// version, with the version of now, or with ctx.
	Changed func(ctx context.Context, version int64) (int64, error)
	// Beat is how often a stream says that it lives.
	Beat time.Duration
	// Build is told to each page at the beginning of its stream: one that came from
	// another build of ralph loads itself anew.
	Build string
	// Panicked is told of a panic in Render or Changed, which ends no more than the view;
	// nil: nobody is.
	Panicked func(what any)
	// Patience is how long a reader may take nothing of what is written; 0: half a minute.
	Patience time.Duration
}

// patience with readers: a browser reads at once, also for a tab that nobody sees.
const patience = 30 * time.Second

// ErrGone says that there is no such view, and that asking again is no use.
var ErrGone = errors.New("there is nothing to follow")

// Hub shares the rendering of views.
type Hub struct {
	opt  Options
	seed maphash.Seed
	name uint64 // tells it from the hub of a ralph that was here before

	mu    sync.Mutex
	views map[string]*view
	lives int // how many views there were
}

// view is one address that somebody looks at.
type view struct {
	key   string
	life  string // tells it from one that was at this address before
	stop  context.CancelFunc
	over  error
	ears  map[ear]bool      // of the streams
	parts []Part            // the newest
	sums  map[string]uint64 // of what was sent
	log   []patch           // the newest patches, oldest first
	next  int64             // how many patches there were
}

// ear is how a stream is told that there is something new in one of its views.
type ear chan struct{}

type patch struct {
	n    int64  // of the view with it
	data []byte // an event as it goes over the wire, without its id
}

// kept patches let a stream that was slow catch up; one that missed more gets all parts.
const kept = 32

// New returns a hub at which nobody looks.
func New(opt Options) *Hub {
	if opt.Patience == 0 {
		opt.Patience = patience
	}
	seed := maphash.MakeSeed()
	return &Hub{opt: opt, seed: seed, name: maphash.String(seed, ""), views: map[string]*view{}}
}

// Have says, for the query's "have", which parts a page was made with.
func (h *Hub) Have(parts []Part) string {
	var b strings.Builder
	for _, p := range parts {
		fmt.Fprintf(&b, "%016x", maphash.Bytes(h.seed, p.HTML))
	}
	return b.String()
}

// unlike are the parts that a page does not have; have is from Have.
func (h *Hub) unlike(parts []Part, have string) []Part {
	now := h.Have(parts)
	if len(have) != len(now) {
		return parts
	}
	var out []Part
	width := len(now) / max(1, len(parts))
	for i, p := range parts {
		if at := i * width; now[at:at+width] != have[at:at+width] {
			out = append(out, p)
		}
	}
	return out
}

func (h *Hub) join(key string, e ear) *view {
	h.mu.Lock()
	defer h.mu.Unlock()
	v := h.views[key]
	if v == nil {
		ctx, stop := context.WithCancel(context.Background())
		h.lives++
		v = &view{key: key, life: fmt.Sprintf("%x-%d", h.name, h.lives), stop: stop, ears: map[ear]bool{}, sums: map[string]uint64{}}
		h.views[key] = v
		go h.follow(ctx, v)
	}
	v.ears[e] = true
	return v
}

func (h *Hub) leave(v *view, e ear) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if delete(v.ears, e); len(v.ears) == 0 {
		v.stop()
		if h.views[v.key] == v {
			delete(h.views, v.key)
		}
	}
}

// follow renders a view as often as something changed, while somebody looks.
func (h *Hub) follow(ctx context.Context, v *view) {
	last := int64(-1)
	for {
		version, parts, err := h.render(ctx, v.key, last)
		if err == nil {
			last = version
			h.take(v, parts)
			continue
		}
		h.mu.Lock()
		if v.over = err; h.views[v.key] == v && !errors.Is(err, context.Canceled) {
			delete(h.views, v.key)
		}
		h.wake(v)
		h.mu.Unlock()
		return
	}
}

// render waits for news and makes the parts. A panic ends neither the other views nor the
// process, in which an engine may be at work.
func (h *Hub) render(ctx context.Context, key string, last int64) (version int64, parts []Part, err error) {
	defer func() {
		if what := recover(); what != nil {
			if h.opt.Panicked != nil {
				h.opt.Panicked(what)
			}
			err = gone{"this page broke, which is a mistake in ralph: load it again"}
		}
	}()
	if version, err = h.opt.Changed(ctx, last); err == nil {
		parts, err = h.opt.Render(ctx, key, last)
	}
	return version, parts, err
}

// gone is an ErrGone in words of its own.
type gone struct{ why string }

func (g gone) Error() string { return g.why }
func (gone) Unwrap() error   { return ErrGone }

// Gone is an error that ends a view for good.
func Gone(why string) error { return gone{why} }

// take compares the parts with what was sent, and sends what is new.
func (h *Hub) take(v *view, parts []Part) {
	if len(parts) == 0 {
		return
	}
	var changed []Part
	sums := make(map[string]uint64, len(parts))
	for _, p := range parts {
		sums[p.ID] = maphash.Bytes(h.seed, p.HTML)
		if old, ok := v.sums[p.ID]; !ok || old != sums[p.ID] {
			changed = append(changed, p)
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	first := v.parts == nil
	v.sums, v.parts = sums, parts
	if len(changed) == 0 && !first {
		return
	}
	if !first {
		v.next++
		v.log = append(v.log, patch{v.next, event(changed)})
		v.log = v.log[max(0, len(v.log)-kept):]
	}
	h.wake(v)
}

// wake tells the streams of a view. h.mu is held.
func (h *Hub) wake(v *view) {
	for e := range v.ears {
		select {
		case e <- struct{}{}:
		default: // it was told already, and has not looked yet
		}
	}
}

// event is a patch as it goes over the wire, after its id. There a carriage return ends a line, and what
// comes after one would be a field of the stream; in HTML it is a line break like any other.
func event(parts []Part) []byte {
	var b bytes.Buffer
	b.WriteString("event: patch\n")
	for _, p := range parts {
		html := bytes.ReplaceAll(p.HTML, []byte("\r\n"), []byte("\n"))
		for line := range bytes.Lines(bytes.ReplaceAll(html, []byte("\r"), []byte("\n"))) {
			b.WriteString("data: ")
			b.Write(bytes.TrimSuffix(line, []byte("\n")))
			b.WriteByte('\n')
		}
	}
	b.WriteByte('\n')
	return b.Bytes()
}
