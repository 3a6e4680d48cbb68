// Package engine owns the loop: Run works a session, Work works one task. It
// decides nothing (policy does) and does nothing (a Host does): it only asks
// the one and tells the other, so the same loop runs in this process and on
// other hosts.
package engine

import (
	"context"
	"slices"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/policy"
)

// Host is where the loop runs. Every method but Look fails when the host is
// being shut down; the error then ends the loop.
type Host interface {
	// Look calls decide with the state as it is now, which decide neither keeps nor changes, and the time.
	Look(decide func(s *ralph.State, now time.Time))
	// Record writes facts, but only if the state is still at seq. If it moved
	// on it writes nothing and returns nil: the loop looks again.
	Record(seq int64, facts ...ralph.Fact) error
	// Do writes the receipt (likewise), carries the step out, and writes what came of it and,
	// by the settings c, what follows from that (policy.OutcomeFacts).
	Do(receipt ralph.StepStarted, c policy.Config) error
	// Wait returns when the state has moved past seq, or at until if that is not zero.
	Wait(seq int64, until time.Time) error
	// Go runs work beside the loop; its error ends the session.
	Go(work func(Host) error)
}

// Doer carries out one step: step.Executor, or a script in tests. The facts it
// returns are the step's outcome; an error is broken machinery, never a step
// that did not work out.
type Doer interface {
	Do(ctx context.Context, s *ralph.State, id ralph.TaskID, step ralph.Step) ([]ralph.Fact, error)
}

// Journal is where facts are kept: journal.File, or ralphtest.Mem.
type Journal interface {
	// State returns what the facts add up to now. The result never changes.
	State() *ralph.State
	// Lend lends decide the same for the time of the call: no list of tasks is copied for what comes next.
	Lend(decide func(*ralph.State))
	// Update runs decide on the newest state and appends the facts it returns,
	// all or none. decide may run with a state newer than any seen before.
	Update(ctx context.Context, by string, decide func(*ralph.State) ([]ralph.Fact, error)) error
	// Answer is Update with the outcome of a step: its facts carry the number of the receipt.
	Answer(ctx context.Context, by string, receipt int64, decide func(*ralph.State) ([]ralph.Fact, error)) error
	// Wait returns when the state has moved past seq.
	Wait(ctx context.Context, seq int64) error
}

// Run works tasks until there is a reason to stop, and returns that reason.
func Run(h Host, c policy.Config) (ralph.Reason, error) {
	var mine []ralph.TaskID // started here and not yet ended
	var watch policy.Watch
	for {
		var ended ralph.Reason
		var act func() error // what follows from a look, after it
		h.Look(func(s *ralph.State, now time.Time) {
			if ended = s.Session.Ended; ended != "" {
				return
			}
			mine = slices.DeleteFunc(mine, s.Over)
			seq := s.Seq
			record := func(facts ...ralph.Fact) { act = func() error { return h.Record(seq, facts...) } }
			switch move := policy.Schedule(s, mine, c, now).(type) {
			case policy.Record: // something is due: fetch a spec, start a task, end a job
				record(move.Facts...)
			case policy.Start:
				mine = append(mine, move.Task)
				act = func() error { h.Go(func(h Host) error { return Work(h, c, move.Task) }); return nil }
			case policy.Hold: // paused, slots full, or nothing ready yet
				hold, stalled := watch.Look(s, move, c, now)
				if act = func() error { return h.Wait(seq, hold.Until) }; stalled != nil {
					record(*stalled)
				}
			case policy.Stop:
				record(move.Ended(s))
			}
		})
		if ended != "" {
			return ended, nil
		}
		if err := act(); err != nil {
			return "", err
		}
	}
}

// Work takes one task from wherever the state says it is to its end.
func Work(h Host, c policy.Config, id ralph.TaskID) error {
	for {
		var receipt ralph.StepStarted
		var ending []ralph.Fact
		h.Look(func(s *ralph.State, now time.Time) {
			step, why := policy.Next(s, id, c, now)
			if finish, ok := step.(ralph.Finish); ok {
				ending = policy.Ending(s, id, finish, why, c, now)
			}
			receipt = ralph.StepStarted{Task: id, Step: step, Why: why, BasedOnSeq: s.Seq, DecidedAt: now}
		})
		var err error
		switch step := receipt.Step.(type) {
		case ralph.Done:
			return nil
		case ralph.Wait:
			err = h.Wait(receipt.BasedOnSeq, step.Until)
		case ralph.Emit:
			err = h.Record(receipt.BasedOnSeq, step.Fact)
		case ralph.Finish:
			err = h.Record(receipt.BasedOnSeq, ending...)
		default:
			err = h.Do(receipt, c)
		}
		if err != nil {
			return err
		}
	}
}
