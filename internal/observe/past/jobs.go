package past

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ralph-loop/ralph/internal/observe/watch"
)

// What takes a walk over the whole journal is never done in a request: it runs in the
// background, once for all who want to see it, and pages show how far it is.

const (
	maxJobs  = 24               // results that are kept
	unwanted = 30 * time.Second // work that nobody asked for so long is not done any more
)

var errUnwanted = errors.New("nobody wants to know any more")

// Jobs runs one walk at a time.
type Jobs struct {
	ctx  context.Context //nolint:containedctx // the server's own life
	turn chan struct{}   // holds one token: who has it may read
	safe *watch.Panics

	mu   sync.Mutex
	list []*job // the newest last
}

// job is one walk over the journal.
type job struct {
	key    string
	total  int64 // facts to be read
	read   atomic.Int64
	wanted atomic.Int64 // when a page asked last, Unix nanoseconds
	took   time.Duration
	ended  time.Time // zero while it runs; guarded by jobs.mu
	result any
	err    error
}

// NewJobs run one at a time until ctx ends; a panic in one is kept in safe, and is that job's error.
func NewJobs(ctx context.Context, safe *watch.Panics) *Jobs {
	j := &Jobs{ctx: ctx, turn: make(chan struct{}, 1), safe: safe}
	j.turn <- struct{}{}
	return j
}

// step counts one fact, and says when to give up.
func (x *job) step(ctx context.Context) error {
	if n := x.read.Add(1); n%256 != 0 {
		return nil
	}
	if time.Since(time.Unix(0, x.wanted.Load())) > unwanted {
		return errUnwanted
	}
	return ctx.Err()
}

// Walk is what a page shows of a job.
type Walk struct {
	Done        bool
	Read, Total int64
	Result      any
	Err         error
	At          time.Time // when it ended
	took        time.Duration
}

// Rested reports whether it is a while since it ended, compared with what it cost: then it
// may be done anew.
func (w Walk) Rested() bool { return time.Since(w.At) > max(5*time.Second, 20*w.took) }

// Of is the work with a key, which is begun if nobody has yet. A result is good for as long
// as good says, or has not rested, so that a journal that grows is not read all the time.
func (j *Jobs) Of(key string, total int64, good func(Walk) bool, work func(ctx context.Context, step func() error) (any, error)) Walk {
	j.mu.Lock()
	defer j.mu.Unlock()
	now := time.Now()
	for i, x := range j.list {
		if x.key != key {
			continue
		}
		w := Walk{!x.ended.IsZero(), x.read.Load(), x.total, x.result, x.err, x.ended, x.took}
		if !w.Done || !errors.Is(w.Err, errUnwanted) && (!w.Rested() || w.Err == nil && good(w)) {
			x.wanted.Store(now.UnixNano())
			return w
		}
		j.list = append(j.list[:i:i], j.list[i+1:]...)
		break
	}
	for i := 0; len(j.list) >= maxJobs && i < len(j.list); i++ {
		if !j.list[i].ended.IsZero() {
			j.list = append(j.list[:i:i], j.list[i+1:]...)
			i--
		}
	}
	x := &job{key: key, total: total}
	x.wanted.Store(now.UnixNano())
	if len(j.list) < maxJobs { // else all are at work: it is begun when a page asks again
		j.list = append(j.list, x)
		go j.run(x, work)
	}
	return Walk{Total: total}
}

func (j *Jobs) run(x *job, work func(context.Context, func() error) (any, error)) {
	var result any
	var err error
	var took time.Duration
	select {
	case <-j.ctx.Done():
		err = j.ctx.Err()
	case <-j.turn:
		began := time.Now()
		if time.Since(time.Unix(0, x.wanted.Load())) > unwanted {
			err = errUnwanted
		} else {
			result, err = j.safely(x, work)
		}
		took = time.Since(began)
		j.turn <- struct{}{}
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	x.result, x.err, x.took, x.ended = result, err, took, time.Now()
}

// safely does the work; a panic is its error.
func (j *Jobs) safely(x *job, work func(context.Context, func() error) (any, error)) (result any, err error) {
	defer j.safe.Into(&err)
	return work(j.ctx, func() error { return x.step(j.ctx) })
}

// Busy reports whether there is work whose progress a page may show.
func (j *Jobs) Busy() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, x := range j.list {
		if x.ended.IsZero() || time.Since(x.ended) < 2*watch.QuietEvery {
			return true
		}
	}
	return false
}
