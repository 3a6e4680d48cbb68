package engine

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/policy"
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

// Look implements Host. The time has no monotonic part and whole microseconds, so
// that it is the same when it comes back from a receipt.
func (l *Local) Look(decide func(*ralph.State, time.Time)) {
	l.journal.Lend(func(s *ralph.State) { decide(s, l.now().UTC().Truncate(time.Microsecond)) })
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

// Do implements Host. A step that has no outcome, as the host was ended or what the step needs
// failed, is lost; after a crash the next session says so.
func (l *Local) Do(receipt ralph.StepStarted, c policy.Config) error {
	err := l.journal.Update(l.ctx, "engine", func(s *ralph.State) ([]ralph.Fact, error) {
		if s.Seq != receipt.BasedOnSeq {
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
	number := receipt.BasedOnSeq + 1 // it was the next fact, or it was not written
	facts, err := l.doer.Do(l.ctx, l.journal.State(), receipt.Task, receipt.Step)
	done := err == nil && l.ctx.Err() == nil
	if done {
		err = l.journal.Answer(l.ctx, "engine", number, func(s *ralph.State) ([]ralph.Fact, error) {
			return policy.OutcomeFacts(s, number, receipt, facts, c), nil
		})
	}
	if err = l.stopped(err); err == nil {
		err = context.Cause(l.ctx)
	}
	if err != nil {
		l.lost(receipt, number, done, err)
	}
	return err
}

// lost says that a step will have no outcome. Where even that cannot be written, the next
// session says it, as after a crash. The outcome of one that was done may be there all the
// same, when only what came after it failed.
func (l *Local) lost(receipt ralph.StepStarted, number int64, done bool, cause error) {
	why := ralph.LostBroken
	if l.ctx.Err() != nil {
		why = ralph.LostForced
	}
	_ = l.journal.Answer(context.WithoutCancel(l.ctx), "engine", number, func(s *ralph.State) ([]ralph.Fact, error) {
		if done && !s.Flying(receipt.Task, number) {
			return nil, nil
		}
		return []ralph.Fact{policy.Lost(number, receipt, why, cause.Error())}, nil
	})
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
