package api

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/eventname"
	"github.com/ralph-loop/ralph/internal/follow"
	"github.com/ralph-loop/ralph/internal/observe/watch"
	"github.com/ralph-loop/ralph/internal/policy"
	"github.com/ralph-loop/ralph/internal/report"
)

// sseEncoder writes facts as a stream has them; it folds the state on the way, since the
// names of a fact depend on it.
type sseEncoder struct {
	s     *ralph.State
	namer *eventname.Namer
}

// newTeller begins behind the state's newest fact; the state is the teller's own.
func newTeller(s *ralph.State) *sseEncoder { return &sseEncoder{s, eventname.New(policy.Quiescent)} }

// pass takes in a fact that nobody asked for.
func (t *sseEncoder) pass(e ralph.Event) []string {
	t.s.Apply(e)
	return t.namer.Names(e, t.s)
}

func (t *sseEncoder) tell(e ralph.Event) ([]byte, error) {
	names := t.pass(e)
	line, err := report.EventJSON(e, names, t.s, "", "")
	if err != nil {
		return nil, err
	}
	return fmt.Appendf(nil, "id: %d\nevent: %s\ndata: %s\n\n", e.Seq, e.Fact.Kind(), line), nil
}

// burst keeps many facts at once from being many readings of the journal.
const burst = 50 * time.Millisecond

// kept bounds what is remembered for readers that are nearly there: facts and bytes.
const (
	keptFacts = 1024
	keptBytes = 4 << 20
)

// errBehind is for a reader whose next fact is not remembered.
var errBehind = errors.New("the reader is far behind")

// item is a fact as it goes over the wire.
type item struct {
	seq  int64
	data []byte
}

// feed reads the journal once for all streams together, while there are any.
type feed struct {
	source   watch.Source
	panicked func(any)

	mu    sync.Mutex
	users int
	stop  context.CancelFunc
	first int64 // the fact before the oldest one that is remembered
	last  int64
	items []item
	bytes int
	moved chan struct{} // closed and replaced with each fact
	err   error
}

func newFeed(source watch.Source, panicked func(any)) *feed {
	return &feed{source: source, panicked: panicked, moved: make(chan struct{})}
}

// join begins to read for one more stream.
func (f *feed) join() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.users++; f.users > 1 {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	s := f.source.State().Clone()
	f.stop, f.first, f.last, f.items, f.bytes, f.err = cancel, s.Seq, s.Seq, nil, 0, nil
	go f.run(ctx, newTeller(s))
}

func (f *feed) leave() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.users--; f.users == 0 {
		f.stop()
	}
}

// run follows the journal.
func (f *feed) run(ctx context.Context, t *sseEncoder) {
	follow.Memory{
		Read: func(ctx context.Context) error {
			err := f.source.Each(t.s.Seq, func(e ralph.Event) error {
				data, err := t.tell(e)
				if err == nil {
					err = ctx.Err()
				}
				if err == nil {
					f.add(ctx, item{e.Seq, data})
				}
				return err
			})
			pause(ctx, burst)
			return err
		},
		Wait:     func(ctx context.Context) error { return f.source.Wait(ctx, t.s.Seq) },
		Failed:   func(err error) bool { f.end(ctx, err); return false },
		Panicked: f.panicked,
	}.Run(ctx)
}

func (f *feed) add(ctx context.Context, x item) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if ctx.Err() != nil { // another one reads by now
		return
	}
	f.items, f.bytes, f.last = append(f.items, x), f.bytes+len(x.data), x.seq
	for len(f.items) > 1 && (len(f.items) > keptFacts || f.bytes > keptBytes) {
		f.first, f.bytes = f.items[0].seq, f.bytes-len(f.items[0].data)
		f.items = f.items[1:]
	}
	close(f.moved)
	f.moved = make(chan struct{})
}

func (f *feed) end(ctx context.Context, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if ctx.Err() != nil {
		return
	}
	f.err = err
	close(f.moved)
	f.moved = make(chan struct{})
}

// since are the remembered facts after one, and what is closed when there are more.
func (f *feed) since(after int64) ([]item, <-chan struct{}, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.err != nil:
		return nil, nil, f.err
	case after < f.first:
		return nil, nil, errBehind
	}
	i := 0
	for i < len(f.items) && f.items[i].seq <= after {
		i++
	}
	return append([]item(nil), f.items[i:]...), f.moved, nil
}
