package index

import (
	"context"
	"errors"
	"math"
	"slices"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/report/receipts"
)

const (
	// firstReach is how many facts are read for decisions at first; when they hold too few,
	// twice as many before them.
	firstReach = 4096
	// maxReach is how many one asking may read in all.
	maxReach = 128 << 10
	// outcomeReach are the facts behind in which the outcomes of the last decisions are.
	outcomeReach = 4096
)

// Decisions reads the newest decisions before a fact, at most so many, newest first: those
// that ask chooses and match takes. Next is the fact before which to go on, 0 when nothing
// is left; there may be some left when none were found, for one asking reads so much only.
func (x *Index) Decisions(ctx context.Context, ask receipts.Receipts, before int64, most int, match func(*receipts.Receipt) bool) (list []receipts.Receipt, next int64, err error) {
	first, last := x.within(ask.Task, ask.Session)
	before = min(before, last)
	for reach, read := int64(firstReach), int64(0); ; reach *= 2 {
		after := max(first, before-1-reach)
		part, err := x.decided(ctx, ask, after, before)
		if err != nil {
			return nil, 0, err
		}
		for _, r := range slices.Backward(part) {
			if match != nil && !match(&r) {
				continue
			}
			if len(list) == most {
				return list, list[most-1].Seq, nil
			}
			list = append(list, r)
		}
		read += before - after
		switch {
		case after <= first:
			return list, 0, nil
		case read >= maxReach || len(list) == most:
			return list, after + 1, nil
		}
		before = after + 1
	}
}

// within is where the decisions of a task and of a session lie: after first, before last.
func (x *Index) within(task ralph.TaskID, session ralph.SessionID) (first, last int64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	last = math.MaxInt64
	if t, ok := x.fold.tasks[task]; ok {
		first = t.First - 1
	}
	for i, s := range slices.Backward(x.fold.sessions) {
		if s.ID != session {
			continue
		}
		first = max(first, s.First-1)
		if i < len(x.fold.sessions)-1 { // else there may be more of it than is read
			last = s.Last + 1
		}
		break
	}
	return first, last
}

// decided are the decisions after a fact and before another, oldest first.
func (x *Index) decided(ctx context.Context, ask receipts.Receipts, after, before int64) ([]receipts.Receipt, error) {
	ask.Before = before
	s := x.Before(after + 1)
	err := x.opt.Journal.Each(s.Seq, func(e ralph.Event) error {
		if e.Seq >= before && (ask.Ended() || e.Seq >= before+outcomeReach) {
			return errEnough
		}
		if e.Seq > after {
			ask.Add(e, s)
		}
		s.Apply(e)
		return ctx.Err()
	})
	if err != nil && !errors.Is(err, errEnough) {
		return nil, err
	}
	return ask.List(), nil
}
