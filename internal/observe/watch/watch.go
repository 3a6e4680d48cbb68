// Package watch owns how surfaces that show many things at once hear of the repository: one look at it
// for all who look, made anew only while somebody waits for one, and the same look at the past.
//
// It does NOT own what is made of a look (screen, web), or what is remembered of facts (observe/past).
package watch

import (
	"context"
	"errors"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/action"
	"github.com/ralph-loop/ralph/internal/screen/page"
	"github.com/ralph-loop/ralph/internal/status"
	"github.com/ralph-loop/ralph/internal/web/index"
)

// Source is the repository for those who look.
type Source interface {
	// State is the newest state; it never changes.
	State() *ralph.State
	// Engine says who works here, with the last words of the agents at work.
	Engine(s *ralph.State) status.Engine
	// Wait returns when the state has moved past seq, or with ctx.
	Wait(ctx context.Context, seq int64) error
	// Each reads the journal after seq, in order, from the disk.
	Each(after int64, visit func(ralph.Event) error) error
	// Now is the time that a fact recorded now would have.
	Now() time.Time
}

// Look is all that pages are made from at one moment.
type Look struct {
	page.Look
	// Read is how far the index had come, roughly while it still reads: pages of the
	// history change with it.
	Read index.Progress
	// Newest is how many facts there are, for a look at the past.
	Newest int64

	Bar func() page.BarModel // made once for all pages

	news  int64                  // counts what was made in the background for pages
	grown map[ralph.TaskID]int64 // changes when an agent at work has said more, also what are no last words
}

// Options are what a Watcher looks with.
type Options struct {
	Source   Source
	World    func() action.Context // what may be done now
	Index    *index.Index
	Schedule page.Schedule                             // nil: looks have none
	Grown    func(*ralph.State) map[ralph.TaskID]int64 // changes for each task whose agent has said more; nil: nobody knows
	Trouble  func() string                             // what cannot be read; nil: nobody knows
	Panics   *Panics
}

const (
	// saidEvery is how often agents at work are listened to.
	saidEvery = 200 * time.Millisecond
	// QuietEvery is how often one looks without an engine: it may have come, or a person
	// may have saved a file.
	QuietEvery = time.Second
	// anewEvery is how often pages are made anew without news: limits end, deadlines pass.
	anewEvery = 5 * time.Second
	// burst keeps many facts at once from being many pictures.
	burst = 30 * time.Millisecond
	// reachWithin is how long a picture waits for the index to be as new as itself.
	reachWithin = 100 * time.Millisecond
)

// Watcher looks at the repository for all pages together, and only while somebody
// looks at one.
type Watcher struct {
	opt  Options
	news atomic.Int64
	ctx  context.Context //nolint:containedctx // the watcher's own life
	stop context.CancelFunc

	mu      sync.Mutex
	now     *Look // the newest, nil before the first
	version int64
	solid   int64                  // the newest version with more than other words of agents
	worded  int64                  // the newest with other words
	spoke   map[ralph.TaskID]int64 // the newest in which an agent had said more, by task
	waiting int
	wanted  chan struct{} // has something when somebody waits
	moved   chan struct{} // closed and replaced with each version
	err     error
	busy    func() bool // something goes on that is no fact; nil: nothing ever does
}

// New returns a watcher, which Close ends.
func New(opt Options) *Watcher {
	w := &Watcher{opt: opt, wanted: make(chan struct{}, 1), moved: make(chan struct{})}
	w.ctx, w.stop = context.WithCancel(context.Background())
	go w.run()
	return w
}

// Context is the watcher's own life.
func (w *Watcher) Context() context.Context { return w.ctx }

// Nudge says that something was made in the background that pages show.
func (w *Watcher) Nudge() { w.news.Add(1) }

// Close ends it.
func (w *Watcher) Close() { w.stop() }

// Stirs makes pages anew each second while busy says that work goes on in the background.
func (w *Watcher) Stirs(busy func() bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.busy = busy
}

func (w *Watcher) stirring() bool {
	w.mu.Lock()
	busy := w.busy
	w.mu.Unlock()
	return busy != nil && busy()
}

// Look is the repository as it is now.
func (w *Watcher) Look() *Look {
	s := w.opt.Source.State()
	l := &Look{Look: page.Look{State: s, Engine: w.opt.Source.Engine(s), Now: w.opt.Source.Now(), Schedule: w.opt.Schedule}, Read: w.read(s.Seq), news: w.news.Load()}
	l.World = sync.OnceValue(func() action.Context {
		world := w.opt.World()
		world.Engine = l.Engine.Alive
		return world
	})
	if w.opt.Trouble != nil {
		l.Trouble = w.opt.Trouble()
	}
	if w.opt.Grown != nil && l.Engine.Alive {
		l.grown = w.opt.Grown(s)
	}
	l.Bar = sync.OnceValue(func() page.BarModel { return page.BarOf(l.Look) })
	return l
}

// read is how far the index has come. While it reads, only steps that people can see
// count: each makes pages anew.
func (w *Watcher) read(seq int64) index.Progress {
	p := w.opt.Index.Progress()
	if step := max(1, seq/50); !p.Caught {
		p.Read -= p.Read % step
	}
	return p
}

// NewestLook is the look of the newest version.
func (w *Watcher) NewestLook() *Look {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.now == nil {
		w.now = w.Look()
	}
	return w.now
}

// Changed returns when there is a newer version than the one given, with its number.
func (w *Watcher) Changed(ctx context.Context, version int64) (int64, error) {
	w.count(1)
	defer w.count(-1)
	if version < 0 { // nobody knows how old the newest is
		w.publish(w.Look(), false)
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.version, w.err
	}
	for {
		w.mu.Lock()
		at, err, moved := w.version, w.err, w.moved
		w.mu.Unlock()
		if err != nil || at > version {
			return at, err
		}
		select {
		case w.wanted <- struct{}{}:
		default:
		}
		select {
		case <-ctx.Done():
			return version, ctx.Err()
		case <-moved:
		}
	}
}

func (w *Watcher) count(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waiting += n
}

// run makes new versions while somebody waits for one. Trouble is told to all who wait;
// then it tries again.
func (w *Watcher) run() {
	for {
		err := w.watch()
		w.end(err)
		if w.ctx.Err() != nil || !w.mended() {
			return
		}
		w.mu.Lock()
		w.err = nil
		w.mu.Unlock()
	}
}

// mended returns when what could not be read can be read again; false at the end.
func (w *Watcher) mended() bool {
	tick := time.NewTicker(QuietEvery)
	defer tick.Stop()
	for {
		select {
		case <-w.ctx.Done():
			return false
		case <-tick.C:
		}
		if err := w.probe(); err == nil || errors.Is(err, context.DeadlineExceeded) {
			return w.ctx.Err() == nil
		}
	}
}

func (w *Watcher) probe() (err error) {
	defer w.opt.Panics.Into(&err)
	ctx, cancel := context.WithTimeout(w.ctx, burst)
	defer cancel()
	return w.opt.Source.Wait(ctx, w.opt.Source.State().Seq)
}

// watch makes versions until something is wrong.
func (w *Watcher) watch() (err error) {
	defer w.opt.Panics.Into(&err)
	for anew := time.Now(); ; {
		w.mu.Lock()
		waiting, last := w.waiting, w.now
		w.mu.Unlock()
		if waiting == 0 {
			select {
			case <-w.ctx.Done():
				return w.ctx.Err()
			case <-w.wanted:
			}
			continue
		}
		if err := w.wait(last); err != nil {
			return err
		}
		quiet := time.Since(anew)
		old := quiet >= anewEvery || quiet >= QuietEvery && w.stirring()
		w.publish(w.Look(), old)
		if old {
			anew = time.Now()
		}
	}
}

// publish makes a look the newest version, if it says anything new or all is to be made anew.
func (w *Watcher) publish(now *Look, anew bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.now != nil && now.State.Seq < w.now.State.Seq {
		return // it was taken before the newest one, by another who looked
	}
	solid := anew || !sameButWords(w.now, now)
	words := solid || !maps.Equal(w.now.Engine.Words, now.Engine.Words)
	if !words && maps.Equal(w.now.grown, now.grown) {
		return
	}
	w.version++
	if solid {
		w.solid = w.version
	}
	if words {
		w.worded = w.version
	}
	w.hear(now)
	w.now = now
	close(w.moved)
	w.moved = make(chan struct{})
}

// hear notes whose agents have said something since the look before. w.mu is held.
func (w *Watcher) hear(now *Look) {
	spoke := make(map[ralph.TaskID]int64, len(now.grown))
	for t := range now.State.Work() {
		id := t.ID
		if t.Status != ralph.TaskActive {
			continue
		}
		spoke[id] = w.spoke[id]
		if w.now == nil || w.now.grown[id] != now.grown[id] || w.now.Engine.Words[id] != now.Engine.Words[id] {
			spoke[id] = w.version
		}
	}
	w.spoke = spoke
}

// Unchanged reports whether a page that was made at a version would be the same now. Only
// some show what agents say while they say it.
func (w *Watcher) Unchanged(address string, version int64) bool {
	path, _, _ := strings.Cut(address, "?")
	task, ofTask := strings.CutPrefix(path, "/task/")
	task, _, _ = strings.Cut(task, "/")
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case version < w.solid:
		return false
	case ofTask:
		return version >= w.spoke[ralph.TaskID(task)]
	case path == "/threads": // it has the plans of agents at work
		return version >= w.version
	case path == "/" || path == "/plan":
		return version >= w.worded
	}
	return true
}

// wait lets time pass until there may be something new.
func (w *Watcher) wait(last *Look) error {
	every, seq := QuietEvery, int64(0)
	if last != nil {
		seq = last.State.Seq
		if last.Engine.Alive {
			every = saidEvery
		}
	}
	ctx, cancel := context.WithTimeout(w.ctx, every)
	defer cancel()
	err := w.opt.Source.Wait(ctx, seq)
	switch {
	case w.ctx.Err() != nil:
		return w.ctx.Err()
	case errors.Is(err, context.DeadlineExceeded):
		return nil
	case err != nil:
		return err
	}
	select {
	case <-w.ctx.Done():
		return w.ctx.Err()
	case <-time.After(burst):
	}
	if w.opt.Index.Progress().Caught { // it hears of the same facts; a moment and it has them too
		ctx, cancel := context.WithTimeout(w.ctx, reachWithin)
		defer cancel()
		_ = w.opt.Index.Reach(ctx, w.opt.Source.State().Seq) // that it was late, or why, is in its progress
	}
	return nil
}

func (w *Watcher) end(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.err = err
	close(w.moved)
	w.moved = make(chan struct{})
}

// sameButWords reports whether nothing has happened between two looks but that agents said
// something; clocks are no news.
func sameButWords(a, b *Look) bool {
	return a != nil && a.State == b.State && a.Read == b.Read && a.news == b.news && a.Trouble == b.Trouble && a.Engine.Alive == b.Engine.Alive && a.Engine.Pid == b.Engine.Pid && a.Engine.Fleet == b.Engine.Fleet
}
