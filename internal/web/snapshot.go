package web

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
	"github.com/ralph-loop/ralph/internal/status"
	"github.com/ralph-loop/ralph/internal/web/index"
	"github.com/ralph-loop/ralph/internal/web/view"
)

// snapshot is all that pages are made from at one moment.
type snapshot struct {
	state  *ralph.State
	engine status.Engine
	now    time.Time
	// read is how far the index had come, roughly while it still reads: pages of the
	// history change with it.
	read index.Progress
	// news counts what was made in the background for pages.
	news int64
	// grown changes when an agent at work has said more, also what are no last words.
	grown map[ralph.TaskID]int64
	// trouble is what cannot be read, so that an older state is shown.
	trouble string

	// past: it is the state after a fact that is not the newest, with the clock of that fact;
	// newest is how many there are.
	past   bool
	newest int64

	// What pages share is made once for all of them.
	world func() action.Context
	bar   func() view.BarModel
}

const (
	// saidEvery is how often agents at work are listened to.
	saidEvery = 200 * time.Millisecond
	// quietEvery is how often one looks without an engine: it may have come, or a person
	// may have saved a file.
	quietEvery = time.Second
	// anewEvery is how often pages are made anew without news: limits end, deadlines pass.
	anewEvery = 5 * time.Second
	// burst keeps many facts at once from being many pictures.
	burst = 30 * time.Millisecond
	// reachWithin is how long a picture waits for the index to be as new as itself.
	reachWithin = 100 * time.Millisecond
)

// watcher looks at the repository for all pages together, and only while somebody
// looks at one.
type watcher struct {
	source  Source
	backend action.Backend
	index   *index.Index
	grown   func(*ralph.State) map[ralph.TaskID]int64 // nil: nobody knows
	news    atomic.Int64
	// trouble says what cannot be read; nil: nobody knows.
	trouble func() string
	safe    *panicLog
	ctx     context.Context //nolint:containedctx // the watcher's own life
	stop    context.CancelFunc

	mu      sync.Mutex
	now     *snapshot // the newest, nil before the first
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

func newWatcher(source Source, backend action.Backend, history *index.Index, safe *panicLog) *watcher {
	w := &watcher{source: source, backend: backend, index: history, safe: safe, wanted: make(chan struct{}, 1), moved: make(chan struct{})}
	w.ctx, w.stop = context.WithCancel(context.Background())
	go w.run()
	return w
}

// nudge says that something was made in the background that pages show.
func (w *watcher) nudge() { w.news.Add(1) }

func (w *watcher) close() { w.stop() }

// stirs makes pages anew each second while busy says that work goes on in the background.
func (w *watcher) stirs(busy func() bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.busy = busy
}

func (w *watcher) stirring() bool {
	w.mu.Lock()
	busy := w.busy
	w.mu.Unlock()
	return busy != nil && busy()
}

// snapshot is the repository as it is now.
func (w *watcher) look() *snapshot {
	s := w.source.State()
	l := &snapshot{state: s, engine: w.source.Engine(s), now: w.source.Now(), read: w.read(s.Seq), news: w.news.Load()}
	l.world = sync.OnceValue(func() action.Context {
		world := w.backend.Context()
		world.Engine = l.engine.Alive
		return world
	})
	l.bar = sync.OnceValue(func() view.BarModel { return barOf(l) })
	if w.trouble != nil {
		l.trouble = w.trouble()
	}
	if w.grown != nil && l.engine.Alive {
		l.grown = w.grown(s)
	}
	return l
}

// read is how far the index has come. While it reads, only steps that people can see
// count: each makes pages anew.
func (w *watcher) read(seq int64) index.Progress {
	p := w.index.Progress()
	if step := max(1, seq/50); !p.Caught {
		p.Read -= p.Read % step
	}
	return p
}

// newest is the look of the newest version.
func (w *watcher) newest() *snapshot {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.now == nil {
		w.now = w.look()
	}
	return w.now
}

// changed returns when there is a newer version than the one given, with its number.
func (w *watcher) changed(ctx context.Context, version int64) (int64, error) {
	w.count(1)
	defer w.count(-1)
	if version < 0 { // nobody knows how old the newest is
		w.publish(w.look(), false)
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

func (w *watcher) count(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waiting += n
}

// run makes new versions while somebody waits for one. Trouble is told to all who wait;
// then it tries again.
func (w *watcher) run() {
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
func (w *watcher) mended() bool {
	tick := time.NewTicker(quietEvery)
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

func (w *watcher) probe() (err error) {
	defer w.safe.into(&err)
	ctx, cancel := context.WithTimeout(w.ctx, burst)
	defer cancel()
	return w.source.Wait(ctx, w.source.State().Seq)
}

// watch makes versions until something is wrong.
func (w *watcher) watch() (err error) {
	defer w.safe.into(&err)
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
		old := quiet >= anewEvery || quiet >= quietEvery && w.stirring()
		w.publish(w.look(), old)
		if old {
			anew = time.Now()
		}
	}
}

// publish makes a look the newest version, if it says anything new or all is to be made anew.
func (w *watcher) publish(now *snapshot, anew bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.now != nil && now.state.Seq < w.now.state.Seq {
		return // it was taken before the newest one, by another who looked
	}
	solid := anew || !sameButWords(w.now, now)
	words := solid || !maps.Equal(w.now.engine.Words, now.engine.Words)
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
func (w *watcher) hear(now *snapshot) {
	spoke := make(map[ralph.TaskID]int64, len(now.grown))
	for t := range now.state.Work() {
		id := t.ID
		if t.Status != ralph.TaskActive {
			continue
		}
		spoke[id] = w.spoke[id]
		if w.now == nil || w.now.grown[id] != now.grown[id] || w.now.engine.Words[id] != now.engine.Words[id] {
			spoke[id] = w.version
		}
	}
	w.spoke = spoke
}

// unchanged reports whether a page that was made at a version would be the same now. Only
// some show what agents say while they say it.
func (w *watcher) unchanged(address string, version int64) bool {
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
	case path == "/" || path == "/plan":
		return version >= w.worded
	}
	return true
}

// wait lets time pass until there may be something new.
func (w *watcher) wait(last *snapshot) error {
	every, seq := quietEvery, int64(0)
	if last != nil {
		seq = last.state.Seq
		if last.engine.Alive {
			every = saidEvery
		}
	}
	ctx, cancel := context.WithTimeout(w.ctx, every)
	defer cancel()
	err := w.source.Wait(ctx, seq)
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
	if w.index.Progress().Caught { // it hears of the same facts; a moment and it has them too
		ctx, cancel := context.WithTimeout(w.ctx, reachWithin)
		defer cancel()
		_ = w.index.Reach(ctx, w.source.State().Seq) // that it was late, or why, is in its progress
	}
	return nil
}

func (w *watcher) end(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.err = err
	close(w.moved)
	w.moved = make(chan struct{})
}

// sameButWords reports whether nothing has happened between two looks but that agents said
// something; clocks are no news.
func sameButWords(a, b *snapshot) bool {
	return a != nil && a.state == b.state && a.read == b.read && a.news == b.news && a.trouble == b.trouble && a.engine.Alive == b.engine.Alive && a.engine.Pid == b.engine.Pid
}
