// Package index owns what the dashboard remembers of the whole journal: sessions, where
// the facts of a task lie, the newest lines, gates that were decided, figures over time.
// It reads the journal once, in the background, and then follows it. What it keeps grows
// with sessions and tasks, never with facts. What a fact means is the root package's and
// internal/report's.
package index

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/follow"
)

// Journal is what is read.
type Journal interface {
	// Each reads the facts after seq, in order.
	Each(after int64, visit func(ralph.Event) error) error
	// Wait returns when there is a fact after seq, or with ctx.
	Wait(ctx context.Context, seq int64) error
}

// Options say what is read, and how gently.
type Options struct {
	Journal Journal
	// Work and Rest are how long it reads without and with a pause before it has caught
	// up, so that those who look at pages meanwhile come first. No Rest: no pauses.
	Work, Rest time.Duration
	// Zone is where days begin; nil: the local one.
	Zone *time.Location
	// Panicked is told of a panic while it reads, which is its trouble then; nil: nobody is.
	Panicked func(what any)
}

// Index is safe for concurrent use. What its methods return is a copy.
type Index struct {
	opt   Options
	ctx   context.Context //nolint:containedctx // the index's own life
	stop  context.CancelFunc
	begun sync.Once
	done  chan struct{} // closed when the reading has ended

	mu     sync.Mutex
	fold   *projection
	caught bool
	err    error
	moved  chan struct{} // closed and replaced when a write has been folded
}

// New returns an index that has read nothing; Start begins to.
func New(opt Options) *Index {
	if opt.Zone == nil {
		opt.Zone = time.Local
	}
	x := &Index{opt: opt, fold: newFold(opt.Zone), moved: make(chan struct{}), done: make(chan struct{})}
	x.ctx, x.stop = context.WithCancel(context.Background())
	return x
}

// Start begins to read, the first time that it is called.
func (x *Index) Start() { x.begun.Do(func() { go x.run() }) }

// Close ends the reading, and returns when it has ended.
func (x *Index) Close() {
	x.stop()
	x.begun.Do(func() { close(x.done) }) // it never began
	<-x.done
}

func (x *Index) run() {
	defer close(x.done)
	follow.Memory{
		Read: func(context.Context) error { return x.read() }, Failed: x.failed, Panicked: x.opt.Panicked,
		Wait: func(ctx context.Context) error { return x.opt.Journal.Wait(ctx, x.seq()) },
	}.Run(x.ctx)
}

// failed tells those who wait what is wrong; it tries again.
func (x *Index) failed(err error) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.err = err
	x.tell()
	return true
}

// read folds what there is to read now.
func (x *Index) read() error {
	began := time.Now()
	err := x.opt.Journal.Each(x.seq(), func(e ralph.Event) error {
		x.add(e)
		if rest := x.opt.Rest; rest > 0 && e.Seq%64 == 0 && time.Since(began) >= x.opt.Work && !x.Progress().Caught {
			select {
			case <-x.ctx.Done():
			case <-time.After(rest):
			}
			began = time.Now()
		}
		return x.ctx.Err()
	})
	if err != nil {
		return err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.caught, x.err = true, nil
	x.tell()
	return nil
}

func (x *Index) add(e ralph.Event) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if e.Seq > x.fold.state.Seq {
		x.fold.add(e)
	}
}

// tell wakes those who wait; mu is held.
func (x *Index) tell() {
	close(x.moved)
	x.moved = make(chan struct{})
}

func (x *Index) seq() int64 {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.fold.state.Seq
}

// Progress is how far the index has come.
type Progress struct {
	Read   int64 // facts
	Caught bool  // it had read all there was at least once
	Err    error // why it does not go on; it tries again by itself
}

// Progress says how far the index has come.
func (x *Index) Progress() Progress {
	x.mu.Lock()
	defer x.mu.Unlock()
	return Progress{x.fold.state.Seq, x.caught, x.err}
}

// Reach returns when the index has folded the fact with seq, when it cannot any more, or
// with ctx.
func (x *Index) Reach(ctx context.Context, seq int64) error {
	return x.until(ctx, func() bool { return x.fold.state.Seq >= seq })
}

// Catch returns when the index has read all there was at least once, when it cannot, or with ctx.
func (x *Index) Catch(ctx context.Context) error {
	return x.until(ctx, func() bool { return x.caught })
}

// until waits for a fact about the index, which is asked for with mu held.
func (x *Index) until(ctx context.Context, fact func() bool) error {
	for {
		x.mu.Lock()
		is, err, moved := fact(), x.err, x.moved
		x.mu.Unlock()
		if is || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-x.ctx.Done():
			return errors.New("the index is closed")
		case <-moved:
		}
	}
}

// Task says between which facts all that concerns a task or a stage lies.
func (x *Index) Task(id ralph.TaskID) (first, last int64, ok bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	t, ok := x.fold.tasks[id]
	if !ok {
		return 0, 0, false
	}
	return t.First, t.Last, true
}

// Seen is the newest fact about a task or a stage after which it was still there, also of
// one that no list has any more; 0 for none.
func (x *Index) Seen(id ralph.TaskID) int64 {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.fold.seen[id]
}

// Sessions are all sessions, the newest first, without their series.
func (x *Index) Sessions() []Session {
	x.mu.Lock()
	defer x.mu.Unlock()
	out := make([]Session, 0, len(x.fold.sessions))
	for _, s := range slices.Backward(x.fold.sessions) {
		c := s.copied()
		c.Series = Series{}
		out = append(out, c)
	}
	return out
}

// Session is one session; false when there is none with the id.
func (x *Index) Session(id ralph.SessionID) (Session, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, s := range slices.Backward(x.fold.sessions) {
		if s.ID == id {
			return s.copied(), true
		}
	}
	return Session{}, false
}

// Tasks are the tasks of the plans of all time, and the stages that agents worked on.
func (x *Index) Tasks() []Task {
	x.mu.Lock()
	defer x.mu.Unlock()
	out := make([]Task, 0, len(x.fold.tasks))
	for _, t := range x.fold.tasks {
		out = append(out, *t)
	}
	slices.SortFunc(out, func(a, b Task) int { return int(a.First - b.First) })
	return out
}

// Days are the figures of each day on which something was done, oldest first.
func (x *Index) Days() []Day {
	x.mu.Lock()
	defer x.mu.Unlock()
	out := make([]Day, 0, len(x.fold.days))
	for _, d := range x.fold.days {
		out = append(out, *d)
	}
	return out
}

// Overall are the counts of the whole journal.
func (x *Index) Overall() ralph.Totals {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.fold.state.Totals
}

// Feed are the newest lines of the log, at most n, oldest first.
func (x *Index) Feed(n int) []Line {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.fold.lines.newest(n)
}

// Newest are all lines that are kept, oldest first: those of whole facts.
func (x *Index) Newest() []Line {
	x.mu.Lock()
	defer x.mu.Unlock()
	out := x.fold.lines.newest(maxLines)
	if len(out) == maxLines { // the first fact may have had lines before
		first := out[0].Seq
		out = slices.DeleteFunc(out, func(l Line) bool { return l.Seq == first })
	}
	return out
}

// Decided are the gates that were decided, the newest first.
func (x *Index) Decided() []Decision {
	x.mu.Lock()
	defer x.mu.Unlock()
	out := x.fold.decided.newest(maxDecided)
	slices.Reverse(out)
	return out
}
