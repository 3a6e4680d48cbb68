// Package follow brings facts from the journal to who is to be told of them, beside whoever
// writes: each at least once and in order, from where the last process of that name has come
// to; and to who keeps what it learns in memory. It owns the cursors in
// ralph/.state/followers, the tries and the waits between them.
//
// It does NOT own what is told of a fact, nor how (hook, notify), nor the file of facts (journal).
package follow

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/journal"
)

// Options say what one follower of the journal brings out, and how.
type Options[T any] struct {
	// Name is that of its cursor, a file in ralph/.state/followers.
	Name string
	// From is the fact after which a follower begins that has no cursor yet.
	From int64
	// Begin, if there is one, is given the state at the cursor, before any See.
	Begin func(*ralph.State)
	// See makes of a fact and the state after it what is to be delivered, mostly nothing. It is
	// called in order, with each fact once while the process lives, and keeps no state.
	See func(e ralph.Event, s *ralph.State) []T
	// Deliver brings out what waits, the oldest first, and returns of how many it is done. It is
	// called again with what is left, and with an error later and later; so nothing that it
	// makes of a fact is lost, and it may come twice: the number of the fact tells.
	Deliver func(ctx context.Context, waiting []T) (done int, err error)
	// Gather is how long what comes waits for more to be delivered with.
	Gather time.Duration
	// Note, if there is one, is told what a person should know of the follower itself.
	Note func(words string)
}

// Follower brings what one receiver wants to know of the journal to it, each fact at least
// once and in order, beside whoever writes: nothing ever waits for it. How far it has come is
// on the disk, so that the next process of its name goes on there, also after kill -9.
type Follower[T any] struct {
	x       Options[T]
	journal *journal.File
	store   cursorStore

	ctx    context.Context //nolint:containedctx // the life of its goroutine
	cancel context.CancelFunc
	closed chan struct{} // when Close was called
	until  int64         // the fact up to which Close waits; set before closed
	done   chan struct{}

	// The goroutine's own.
	then    *ralph.State // after the fact read last
	read    cursor       // the fact read last
	saved   cursor       // that is on the disk
	waiting []undelivered[T]
	first   time.Time // when the first of those that wait was read
	noted   string    // the trouble that was told last
}

// undelivered is what waits, and the cursor before the fact that it was made of.
type undelivered[T any] struct {
	value  T
	before cursor
}

const (
	// maxWaiting bounds what a follower has read ahead of its receiver: the rest waits in the journal.
	maxWaiting = 1000
	// saveEvery is after how many facts that nobody wants the cursor is written all the same:
	// what is read again after a crash.
	saveEvery = 256
	// lookEvery is how often a follower looks for facts of other processes by itself: an engine
	// looks much more often anyhow.
	lookEvery = time.Second
	// firstRetry and maxRetry bound the time before a receiver that failed is tried again.
	firstRetry, maxRetry = time.Second, 5 * time.Minute
	// lastTries is how many tries may have failed for the end to wait for another one.
	lastTries = 2
)

// Start begins to follow the journal from where the last follower of that name has come to.
// While a live process has that name it is refused.
func Start[T any](j *journal.File, x Options[T]) (*Follower[T], error) {
	f := &Follower[T]{x: x, journal: j, store: cursorStore{dir: dirOf(j), name: x.Name}, closed: make(chan struct{}), done: make(chan struct{})}
	if err := f.store.lock(); err != nil {
		return nil, err
	}
	if err := f.begin(); err != nil {
		f.store.unlock()
		return nil, fmt.Errorf("follow the journal for %s: %w", x.Name, err)
	}
	f.ctx, f.cancel = context.WithCancel(context.Background())
	go f.run()
	return f, nil
}

// Peek shows what a follower of a name has still to see, with the state after each fact, and takes no part
// in it.
func Peek(j *journal.File, name string, from int64, see func(e ralph.Event, s *ralph.State) error) error {
	store := cursorStore{dir: dirOf(j), name: name}
	then, err := stateAt(j, from)
	if at, known := store.load(); known {
		then, err = inChain(j, at)
	}
	if err != nil {
		return fmt.Errorf("look how far %s has come: %w", name, err)
	}
	return j.Each(then.Seq, func(e ralph.Event) error {
		then.Apply(e)
		return see(e, then)
	})
}

// begin finds the place where it goes on, with the state there.
func (f *Follower[T]) begin() error {
	at, known := f.store.load()
	var err error
	if known {
		f.then, err = inChain(f.journal, at)
	} else {
		if f.store.there() {
			f.note("where it was cannot be read in %s; it goes on from here", f.store.path())
		}
		f.then, err = stateAt(f.journal, f.x.From)
	}
	if err != nil {
		return err
	}
	f.read = cursor{f.then.Seq, f.then.Hash, f.then.At}
	f.saved = f.read
	if f.x.Begin != nil {
		f.x.Begin(f.then)
	}
	return f.store.base(f.read)
}

// Close lets be delivered what there is until ctx ends, without gathering, and returns how much
// is left for the next process; more may be in the journal. A receiver that has failed for long
// gets one try. Nothing runs after it.
func (f *Follower[T]) Close(ctx context.Context) (left int) {
	select {
	case <-f.closed:
	default:
		f.until = f.journal.State().Seq
		close(f.closed)
	}
	select {
	case <-f.done:
	case <-ctx.Done():
		f.cancel()
		<-f.done
	}
	f.cancel()
	return len(f.waiting)
}

func (f *Follower[T]) closing() bool {
	select {
	case <-f.closed:
		return true
	default:
		return false
	}
}

// ending is closed when the end begins; nil when it has begun.
func (f *Follower[T]) ending() <-chan struct{} {
	if f.closing() {
		return nil
	}
	return f.closed
}

// note tells of a trouble once, until there is another.
func (f *Follower[T]) note(format string, args ...any) {
	words := fmt.Sprintf(format, args...)
	if f.x.Note != nil && words != f.noted {
		f.x.Note(words)
	}
	f.noted = words
}

func (f *Follower[T]) run() {
	defer close(f.done)
	defer f.store.unlock()
	defer f.save(0)
	for tries := 0; f.ctx.Err() == nil; {
		err := f.fill()
		switch {
		case err != nil && f.closing():
			return
		case err != nil:
			f.note("the journal cannot be read: %v", err)
			f.pause(lookEvery)
		case len(f.waiting) == 0 && f.closing() && f.read.Seq >= f.until:
			return
		case len(f.waiting) == 0:
			f.save(saveEvery)
			f.wait()
		case f.gathers():
			f.pause(time.Until(f.first.Add(f.x.Gather)))
		default:
			if f.deliver() {
				tries = 0
				continue
			}
			if tries >= lastTries && f.closing() {
				return
			}
			f.pause(retryAfter(tries))
			tries++
		}
	}
}

// retryAfter is how long to wait after that many tries that failed.
func retryAfter(tries int) time.Duration {
	return min(firstRetry<<min(2*tries, 20), maxRetry)
}

// gathers reports whether what waits is to wait for more.
func (f *Follower[T]) gathers() bool {
	return !f.closing() && len(f.waiting) < maxWaiting && time.Until(f.first.Add(f.x.Gather)) > 0
}

// errFull ends a reading of facts when enough of them wait.
var errFull = errors.New("enough waits")

// fill reads what is new in the journal.
func (f *Follower[T]) fill() error {
	from := f.read.Seq
	if len(f.waiting) >= maxWaiting || f.journal.Moved(from) != nil {
		return nil
	}
	err := f.journal.Each(f.read.Seq, func(e ralph.Event) error {
		before := f.read
		f.then.Apply(e)
		f.read = cursor{e.Seq, e.Hash, e.At}
		for _, value := range f.x.See(e, f.then) {
			if len(f.waiting) == 0 {
				f.first = time.Now()
			}
			f.waiting = append(f.waiting, undelivered[T]{value, before})
		}
		if len(f.waiting) >= maxWaiting {
			return errFull
		}
		return f.ctx.Err()
	})
	switch {
	case errors.Is(err, errFull), f.ctx.Err() != nil:
		return nil
	case err == nil && f.read.Seq == from:
		return fmt.Errorf("fact %d is gone", f.read.Seq+1)
	}
	return err
}

// deliver gives the receiver what waits, and notes how far it came; false when it failed.
func (f *Follower[T]) deliver() bool {
	values := make([]T, len(f.waiting))
	for i, w := range f.waiting {
		values[i] = w.value
	}
	n, err := f.x.Deliver(f.ctx, values)
	f.waiting = f.waiting[n:]
	if n > 0 {
		f.first = time.Now()
		f.save(0)
	}
	return err == nil
}

// reached is the fact up to which all is delivered.
func (f *Follower[T]) reached() cursor {
	if len(f.waiting) > 0 {
		return f.waiting[0].before
	}
	return f.read
}

// save writes the cursor when it has moved by more than some facts. It is not synced: after a
// loss of power it may be an older one, and what came since is delivered again.
func (f *Follower[T]) save(more int64) {
	at := f.reached()
	if at.Seq-f.saved.Seq <= more {
		return
	}
	if err := f.store.save(at); err != nil {
		f.note("how far it has come cannot be kept, and is told again after a crash: %v", err)
		return
	}
	f.saved = at
}

// wait returns when there may be a new fact.
func (f *Follower[T]) wait() {
	moved := f.journal.Moved(f.read.Seq)
	if moved == nil {
		return
	}
	look := time.NewTimer(lookEvery)
	defer look.Stop()
	select {
	case <-moved:
	case <-f.ending():
	case <-f.ctx.Done():
	case <-look.C:
		f.journal.State() // it looks for what others have written
	}
}

// pause lets time pass, until the end begins.
func (f *Follower[T]) pause(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-f.ending():
	case <-f.ctx.Done():
	}
}
