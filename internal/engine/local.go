package engine

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/ralph-loop/ralph"
)

// Local is the host that is this process: a journal, a doer and goroutines.
type Local struct {
	ctx     context.Context
	cancel  context.CancelCauseFunc
	journal Journal
	doer    Doer
	now     func() time.Time
	work    *sync.WaitGroup
}

// NewLocal returns a host that ends with ctx. now is the clock, nil for the real one.
func NewLocal(ctx context.Context, j Journal, d Doer, now func() time.Time) *Local {
	if now == nil {
		now = time.Now
	}
	ctx, cancel := context.WithCancelCause(ctx)
	return &Local{ctx: ctx, cancel: cancel, journal: j, doer: d, now: now, work: new(sync.WaitGroup)}
}

// Close ends what still runs and waits for it. The first error of any work is returned.
func (l *Local) Close() error {
	err := context.Cause(l.ctx)
	l.cancel(context.Canceled)
	l.work.Wait()
	return err
}

// Snapshot returns the state and the time. The time has no monotonic part and
// whole microseconds, so that it is the same when it comes back from a receipt.
func (l *Local) Snapshot() (*ralph.State, time.Time) {
	return l.journal.State(), l.now().UTC().Truncate(time.Microsecond)
}

// Record implements Host.
func (l *Local) Record(seq int64, facts ...ralph.Fact) error {
	err := l.journal.Update(l.ctx, "engine", func(s *ralph.State) ([]ralph.Fact, error) {
		if s.Seq != seq {
			return nil, ralph.ErrMoved
		}
		return facts, nil
	})
	if errors.Is(err, ralph.ErrMoved) {
		return nil
	}
	return l.stopped(err)
}

// Do implements Host. A step that was cut by a forced end leaves its receipt
// without an outcome, which is what a crash leaves too.
func (l *Local) Do(receipt ralph.StepStarted) error {
	var state *ralph.State
	err := l.journal.Update(l.ctx, "engine", func(s *ralph.State) ([]ralph.Fact, error) {
		if s.Seq != receipt.Saw {
			return nil, ralph.ErrMoved
		}
		return []ralph.Fact{receipt}, nil
	})
	if errors.Is(err, ralph.ErrMoved) {
		return nil
	}
	if err != nil {
		return l.stopped(err)
	}
	state = l.journal.State()
	facts, err := l.doer.Do(l.ctx, state, receipt.Task, receipt.Step)
	if err != nil {
		return l.stopped(err)
	}
	if l.ctx.Err() != nil {
		return context.Cause(l.ctx)
	}
	err = l.journal.Update(l.ctx, "engine", func(*ralph.State) ([]ralph.Fact, error) { return facts, nil })
	return l.stopped(err)
}

// lookEvery is how soon a wait is known to be over when the machine slept or its
// clock was set: timers count only the time that it was awake.
const lookEvery = 5 * time.Second

// Wait implements Host. Until is a time of the clock; but a wait never takes longer
// than it would have by the clock at its begin, should that be set back meanwhile.
func (l *Local) Wait(seq int64, until time.Time) error {
	ctx := l.ctx
	if !until.IsZero() {
		var cancel context.CancelCauseFunc
		ctx, cancel = context.WithCancelCause(ctx)
		defer cancel(nil)
		go l.call(ctx, cancel, until)
	}
	err := l.journal.Wait(ctx, seq)
	if l.ctx.Err() != nil {
		return context.Cause(l.ctx)
	}
	if errors.Is(err, context.Canceled) && errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		return nil
	}
	return err
}

// call cancels the wait when it is over.
func (l *Local) call(ctx context.Context, cancel context.CancelCauseFunc, until time.Time) {
	began, planned := time.Now(), until.Sub(l.now())
	timer := time.NewTimer(min(planned, lookEvery))
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		left := min(until.Sub(l.now()), planned-time.Since(began))
		if left <= 0 {
			cancel(context.DeadlineExceeded)
			return
		}
		timer.Reset(min(left, lookEvery))
	}
}

// Go implements Host. An error of the work ends the host, so that Run, which
// may be waiting, learns of it.
func (l *Local) Go(work func(Host) error) {
	l.work.Go(func() {
		if err := work(l); err != nil {
			l.cancel(err)
		}
	})
}

// stopped prefers the cause of a shut-down to the errors it makes elsewhere.
func (l *Local) stopped(err error) error {
	if err != nil && l.ctx.Err() != nil {
		return context.Cause(l.ctx)
	}
	return err
}
