package past

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/observe/watch"
	"github.com/ralph-loop/ralph/internal/sessionreport"
)

// Reports makes the reports of sessions in the background, and keeps the few that were
// looked at last. One of a session that goes on is carried on with its new facts.
type Reports struct {
	source Journal
	before func(seq int64) *ralph.State // a state to begin with
	ctx    context.Context              //nolint:containedctx // its own life
	stop   context.CancelFunc
	news   func() // pages should be made anew
	safe   *watch.Panics

	mu   sync.Mutex
	list []*reading // the one that was looked at last comes first
	work sync.WaitGroup
}

// The history is read with as much rest as work, so that whoever looks at a page
// meanwhile does not feel it.
const Work, Rest = 5 * time.Millisecond, 5 * time.Millisecond

const (
	// maxReports are kept: each holds what it was made from.
	maxReports = 4
	// reportEvery is how often the report of a session that goes on is carried on.
	reportEvery = 2 * time.Second
	// tellEvery is how often pages hear how far a report has come.
	tellEvery = 300 * time.Millisecond
)

// reading is one report while it is made, and afterwards.
type reading struct {
	id ralph.SessionID

	fold   sync.Mutex // held while facts are folded, and while a report is written out
	report *sessionreport.Report
	state  *ralph.State

	mu      sync.Mutex
	running bool
	read    int64 // facts
	at      int64 // the newest fact in page
	made    time.Time
	page    *sessionreport.Page
	err     error
}

// Made is what there is of a report.
type Made struct {
	Page *sessionreport.Page // nil as long as there is none
	Read int64               // facts of the session
	Err  error
}

// NewReports make reports of source's facts. before is the state before a fact, news is called when one is
// ready.
func NewReports(source Journal, before func(seq int64) *ralph.State, news func(), safe *watch.Panics) *Reports {
	x := &Reports{source: source, before: before, news: news, safe: safe}
	x.ctx, x.stop = context.WithCancel(context.Background())
	return x
}

// Close ends what is being made.
func (x *Reports) Close() {
	x.stop()
	x.Wait()
}

// Wait returns when nothing is being made.
func (x *Reports) Wait() { x.work.Wait() }

// Of returns what there is of a session's report, which is made of the facts from first to
// last, and sees to it that the rest comes.
func (x *Reports) Of(id ralph.SessionID, first, last int64) Made {
	r := x.reading(id, first)
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.running && r.at < last && x.ctx.Err() == nil && time.Since(r.made) >= reportEvery {
		r.running = true
		x.work.Go(func() { x.make(r, last) })
	}
	return Made{r.page, max(0, r.read-first), r.err}
}

func (x *Reports) reading(id ralph.SessionID, first int64) *reading {
	x.mu.Lock()
	defer x.mu.Unlock()
	i := slices.IndexFunc(x.list, func(r *reading) bool { return r.id == id })
	var r *reading
	if i >= 0 {
		r = x.list[i]
		x.list = slices.Delete(x.list, i, i+1)
	} else {
		r = &reading{id: id, report: sessionreport.NewReport(sessionreport.ReportOptions{Session: id}), state: x.before(first)}
	}
	x.list = slices.Insert(x.list, 0, r)
	x.list = x.list[:min(len(x.list), maxReports)]
	return r
}

// make folds the facts up to last and makes the page.
func (x *Reports) make(r *reading, last int64) {
	r.fold.Lock()
	page, err := x.fold(r, last)
	at := r.state.Seq
	r.fold.Unlock()

	r.mu.Lock()
	r.running, r.made, r.err = false, time.Now(), err
	if page != nil {
		r.page, r.at = page, at
	}
	r.mu.Unlock()
	x.news()
}

// fold folds the facts up to last and makes the page; fold is held.
func (x *Reports) fold(r *reading, last int64) (page *sessionreport.Page, err error) {
	defer x.safe.Into(&err)
	if err := x.read(r, last); err != nil {
		return nil, err
	}
	result, err := r.report.Result()
	if err != nil {
		return nil, err
	}
	p := result.Page()
	return &p, nil
}

// read folds the facts up to last, with rests; fold is held.
func (x *Reports) read(r *reading, last int64) error {
	began, told := time.Now(), time.Now()
	err := x.source.Each(r.state.Seq, func(e ralph.Event) error {
		if e.Seq > last {
			return watch.ErrEnough
		}
		r.state.Apply(e)
		r.report.Add(e, r.state)
		if e.Seq%64 == 0 && time.Since(began) > Work {
			r.mu.Lock()
			r.read = e.Seq
			r.mu.Unlock()
			if time.Since(told) > tellEvery {
				x.news()
				told = time.Now()
			}
			select {
			case <-x.ctx.Done():
			case <-time.After(Rest):
			}
			began = time.Now()
		}
		return x.ctx.Err()
	})
	if errors.Is(err, watch.ErrEnough) {
		return nil
	}
	return err
}

// Result gives a finished report to write, which must not keep it. It waits for one that
// is being made.
func (x *Reports) Result(ctx context.Context, id ralph.SessionID, first, last int64, write func(*sessionreport.Result) error) error {
	r := x.reading(id, first)
	r.fold.Lock()
	defer r.fold.Unlock()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if r.state.Seq < last {
		if err := x.read(r, last); err != nil {
			return err
		}
	}
	result, err := r.report.Result()
	if err != nil {
		return err
	}
	return write(result)
}
