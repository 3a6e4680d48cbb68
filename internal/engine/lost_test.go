package engine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/engine"
	"github.com/ralph-loop/ralph/internal/ralphtest/enginetest"
)

// B-094: a cancelled context ends the loop with its cause, and so does broken
// machinery, wherever the loop waits.
func TestBrokenMachinery(t *testing.T) {
	broken := errors.New("disk gone")
	lost := map[string]string{"cancelled in a turn": ralph.LostForced, "an agent that cannot be started": ralph.LostBroken}
	for name, f := range map[string]func(*world, context.CancelCauseFunc){
		"an agent that cannot be started": func(w *world, _ context.CancelCauseFunc) {
			w.script.Ask = func(context.Context, enginetest.Call) (bool, error) { return false, broken }
		},
		"cancelled in a turn": func(w *world, cancel context.CancelCauseFunc) {
			once(w, ralph.KindBuild, willing, func() { cancel(broken) })
		},
		"cancelled while paused": func(w *world, cancel context.CancelCauseFunc) {
			once(w, ralph.KindBuild, twice, func() { w.steer(ralph.WantPause) })
			time.AfterFunc(time.Hour, func() { cancel(broken) })
		},
		"journal full": func(w *world, _ context.CancelCauseFunc) { w.mem.CutAfter(12, broken) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, enginetest.Settings(), "a.md")
				ctx, cancel := context.WithCancelCause(context.Background())
				defer cancel(nil)
				f(w, cancel)
				w.start()
				host := engine.NewLocal(ctx, w.mem, w.script, nil)
				_, err := engine.Run(host, w.c)
				host.Close()
				if !errors.Is(err, broken) {
					t.Errorf("error %v, want %v", err, broken)
				}
				var causes []string
				for _, e := range w.mem.Events() {
					if f, ok := e.Fact.(ralph.StepLost); ok && f.Text == broken.Error() {
						causes = append(causes, f.Cause)
					}
				}
				if got := strings.Join(causes, " "); got != lost[name] {
					t.Errorf("steps are lost by %q, want %q", got, lost[name])
				}
				if err := answered(w.mem.Events()); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// A task that is taken out of the plan in the middle of its turn: what the turn came to counts
// for nothing but its cost, which is told, and the loop goes on.
func TestRemovedInItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, enginetest.Settings(), "a.md")
		var gone ralph.TaskID
		w.script.Agent = func(c enginetest.Call) []ralph.Fact {
			facts := willing(c)
			if c.Stage == ralph.KindPlan {
				facts = enginetest.Plans(c.File, "one", "two")
			}
			if c.Stage != ralph.KindBuild || gone != "" {
				return facts
			}
			gone = c.Task.ID
			w.record(ralph.TaskRemoved{ID: gone})
			f := facts[0].(ralph.TurnEnded)
			f.Usage = ralph.Usage{Cost: 7, Known: true}
			return []ralph.Fact{f}
		}
		w.want(w.run(), ralph.ReasonEmpty, "done", 1)
		var late []ralph.StepLate
		for _, e := range w.mem.Events() {
			switch f := e.Fact.(type) {
			case ralph.StepLate:
				late = append(late, f)
			case ralph.TurnEnded:
				if f.Task == gone {
					t.Errorf("fact %d: %+v", e.Seq, f)
				}
			}
		}
		if len(late) != 1 || late[0].Task != gone || late[0].Step != "turn" || w.mem.State().Session.Usage.Cost < 7 {
			t.Errorf("%+v, $%g", late, w.mem.State().Session.Usage.Cost)
		}
	})
}

// answered is what must hold of receipts: each has one write that answers it, or is said to be
// lost, before its task does anything else and before the next session begins.
func answered(events []ralph.Event) error {
	open, last := map[int64]ralph.TaskID{}, int64(0)
	for _, e := range events {
		switch f := e.Fact.(type) {
		case ralph.StepStarted:
			for receipt, task := range open {
				if task == f.Task {
					return fmt.Errorf("fact %d: %s begins a step while receipt %d has no outcome", e.Seq, task, receipt)
				}
			}
			open[e.Seq] = f.Task
		case ralph.SessionStarted:
			if len(open) > 0 {
				return fmt.Errorf("fact %d: a session begins, and nobody said what became of the receipts %v", e.Seq, open)
			}
		case ralph.StepLost:
			if open[f.Receipt] != f.Task {
				return fmt.Errorf("fact %d: receipt %d is lost, and was not open", e.Seq, f.Receipt)
			}
			delete(open, f.Receipt)
			continue
		}
		if e.Answers == 0 || e.Answers == last {
			continue
		}
		if _, there := open[e.Answers]; !there {
			return fmt.Errorf("fact %d: answers receipt %d, which is not open", e.Seq, e.Answers)
		}
		delete(open, e.Answers)
		last = e.Answers
	}
	return nil
}
