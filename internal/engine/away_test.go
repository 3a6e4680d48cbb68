package engine_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/policy"
	"github.com/ralph-loop/ralph/internal/policy/replay"
	"github.com/ralph-loop/ralph/internal/ralphtest/enginetest"
)

// away has agents fail with a class as long as is says so; then they are willing.
func away(class ralph.ErrorClass, is func(enginetest.Call) bool) func(enginetest.Call) []ralph.Fact {
	return func(c enginetest.Call) []ralph.Fact {
		if is(c) {
			f := enginetest.Fails(class)
			f.Took = 9 * time.Second // as codex takes
			return []ralph.Fact{f}
		}
		return willing(c)
	}
}

// untouched: all specs are done at the end, and no failure was counted on the way.
func (w *world) untouched() {
	w.t.Helper()
	s := w.mem.State()
	if s.Session.Failed != 0 || s.Session.Consecutive != 0 || len(s.Session.Errors) != 0 || s.Totals.TasksFail != 0 {
		w.t.Errorf("something failed: %+v", s.Session)
	}
	for _, e := range w.mem.Events() {
		switch f := e.Fact.(type) {
		case ralph.Retrying:
			w.t.Errorf("a retry was counted: %+v", f)
		case ralph.TaskEnded:
			if f.Retry || f.Status != ralph.TaskPending && f.Status != ralph.TaskDone {
				w.t.Errorf("ended: %+v", f)
			}
		case ralph.JobEnded:
			if f.Status != ralph.SpecDone {
				w.t.Errorf("spec ended: %+v", f)
			}
		}
	}
	out, err := replay.Replay(slices.Values(w.mem.Events()), replay.ReplayOptions{})
	if err != nil || out.Differ > 0 {
		w.t.Errorf("replay: %+v, %v", out.Differences, err)
	}
}

// R-H4: half an hour without a network costs half an hour, and no spec. It was three specs
// in 25 s.
func TestHalfAnHourWithoutNetwork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, enginetest.Settings(), "a.md", "b.md", "c.md")
		began := time.Now()
		cut := func(c enginetest.Call) bool {
			d := c.Now.Sub(began)
			return d > 2*time.Minute && d < 32*time.Minute
		}
		w.script.Agent = away(ralph.ErrClassNetwork, cut)
		w.want(w.run(), ralph.ReasonEmpty, "done done done", 3)
		w.untouched()
		tried := 0
		for _, c := range w.script.Calls() {
			if cut(c) {
				tried++
			}
		}
		// two agents each minute, each of which takes its time
		if took := time.Since(began); took > 45*time.Minute || tried < 30 || tried > 62 {
			t.Errorf("took %s with %d tries in half an hour", took, tried)
		}
	})
}

// R-H4: without a login the engine waits for a person, however long, and then goes on where
// it was; one of two agents without a login only means that the other one does it all.
func TestHourWithoutLogin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, enginetest.Settings(), "a.md", "b.md", "c.md")
		loggedIn := false
		w.script.Agent = away(ralph.ErrClassAuth, func(c enginetest.Call) bool { return c.File != "a.md" && !loggedIn })
		time.AfterFunc(time.Hour, func() {
			if got := w.mem.State(); got.Mode() != "paused" || got.Spec("q-2").Status != ralph.SpecActive {
				t.Errorf("after an hour it is %s", got.Mode())
			}
			loggedIn = true
			w.command(func(s *ralph.State) ([]ralph.Fact, error) { return s.Steer(ralph.WantRun, "me") })
		})
		w.want(w.run(), ralph.ReasonEmpty, "done done done", 3)
		w.untouched()
		tried := 0
		for _, e := range w.mem.Events() {
			if f, ok := e.Fact.(ralph.TurnEnded); ok && f.Failed() {
				tried++
			}
		}
		if tried != 2 {
			t.Errorf("%d turns in an hour, want one of each agent", tried)
		}

		w = newWorld(t, enginetest.Settings(), "a.md", "b.md")
		w.script.Agent = away(ralph.ErrClassAuth, func(c enginetest.Call) bool { return c.Turn.Agent == "claude" })
		w.want(w.run(), ralph.ReasonEmpty, "done done", 2)
		w.untouched()
		if s := w.mem.State(); s.Session.Agent != "codex" || s.Session.Fallback != "not logged in" {
			t.Errorf("%s works, since claude is %q", s.Session.Agent, s.Session.Fallback)
		}
	})
}

// R-H8, E-072: an agent that does nothing ends its tasks in autopilot, too.
func TestIdleAgentInAutopilot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := pilotWorld(t, 3, func(c *policy.Config) { c.NoProgressTurns = enginetest.Settings().NoProgressTurns })
		w.script.Agent = func(enginetest.Call) []ralph.Fact {
			return []ralph.Fact{ralph.TurnEnded{Usage: ralph.Usage{Known: true}}}
		}
		w.run()
		if turns := len(w.turns()); turns != 15 {
			t.Errorf("%d turns for three tasks, want 5 each", turns)
		}
		for _, x := range w.mem.State().Plan.Tasks {
			if x.Status != ralph.TaskFailed {
				t.Errorf("%s is %s: %s", x.ID, x.Status, x.Run.Reason)
			}
		}
	})
}
