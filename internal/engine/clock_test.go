package engine_test

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/engine"
	"github.com/ralph-loop/ralph/internal/journal"
	"github.com/ralph-loop/ralph/internal/ralphtest/enginetest"
)

// wall is a system clock that somebody sets, or that went on while the machine
// slept and its timers stood still.
type wall struct{ off atomic.Int64 }

func (w *wall) now() time.Time        { return time.Now().Add(time.Duration(w.off.Load())).Round(0) }
func (w *wall) jump(by time.Duration) { w.off.Add(int64(by)) }

// A wait ends when its time has come by the clock, also when the machine slept
// meanwhile, and never later than planned when the clock goes back.
func TestWaitWhenTheClockJumps(t *testing.T) {
	t.Parallel()
	const hour = time.Hour
	for name, tt := range map[string]struct {
		wait  time.Duration
		jumps []time.Duration // one after each minute
		least time.Duration   // that the machine is awake
		most  time.Duration
	}{
		"no jump":                     {hour, nil, hour, hour},
		"short":                       {50 * time.Millisecond, nil, 50 * time.Millisecond, 50 * time.Millisecond},
		"past":                        {-hour, nil, 0, 0},
		"it slept for two hours":      {hour, []time.Duration{2 * hour}, time.Minute, time.Minute + 5*time.Second},
		"it slept half of the time":   {hour, []time.Duration{hour / 2}, hour / 2, hour/2 + 5*time.Second},
		"set ahead by three hours":    {2 * hour, []time.Duration{3 * hour}, time.Minute, time.Minute + 5*time.Second},
		"set back by three hours":     {hour, []time.Duration{-3 * hour}, hour, hour},
		"back, and right again":       {hour, []time.Duration{-3 * hour, 3 * hour}, hour, hour},
		"back again and again":        {hour, []time.Duration{-hour, -hour, -hour, -hour}, hour, hour},
		"slept, then it was set back": {hour, []time.Duration{hour / 2, -3 * hour}, 58 * time.Minute, hour},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var w wall
				mem := enginetest.NewMem(w.now)
				host := engine.NewLocal(t.Context(), mem, nil, w.now)
				go func() {
					for _, by := range tt.jumps {
						time.Sleep(time.Minute)
						w.jump(by)
					}
				}()
				begin := time.Now()
				if err := host.Wait(mem.State().Seq, w.now().Add(tt.wait)); err != nil {
					t.Fatal(err)
				}
				if took := time.Since(begin); took < tt.least || took > tt.most {
					t.Errorf("it took %s awake, want %s to %s", took, tt.least, tt.most)
				}
				time.Sleep(time.Hour) // the jumps
			})
		})
	}
}

// A fact ends a wait at once, and so does the end of the host, with its cause.
func TestWaitEndsWithAFact(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		mem := enginetest.NewMem(nil)
		ctx, cancel := context.WithCancelCause(t.Context())
		host := engine.NewLocal(ctx, mem, nil, nil)
		begin := time.Now()
		time.AfterFunc(7*time.Second, func() {
			_ = mem.Update(context.Background(), "cli", func(*ralph.State) ([]ralph.Fact, error) { return []ralph.Fact{ralph.Noted{Text: "x"}}, nil })
		})
		if err := host.Wait(0, begin.Add(time.Hour)); err != nil || time.Since(begin) != 7*time.Second {
			t.Errorf("after %s: %v", time.Since(begin), err)
		}
		time.AfterFunc(time.Second, func() { cancel(ralph.ErrLocked) })
		if err := host.Wait(1, time.Now().Add(time.Hour)); err != ralph.ErrLocked { //nolint:errorlint // the cause itself
			t.Errorf("err = %v", err)
		}
	})
}

// A clock that goes back by three hours during a turn does not make the retries of
// what follows wait for three hours, nor not at all.
func TestBackoffWhenTheClockGoesBack(t *testing.T) {
	t.Parallel()
	for name, by := range map[string]time.Duration{"back": -3 * time.Hour, "ahead": 3 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var clock wall
				w := timed(t, &clock, scene{Config: enginetest.Settings()})
				w.add("q-1", "a.md")
				var starts []time.Time
				w.script.Agent = func(c enginetest.Call) []ralph.Fact {
					if c.Stage != ralph.KindBuild || len(starts) == 3 {
						return willing(c)
					}
					if starts = append(starts, time.Now()); len(starts) == 1 {
						clock.jump(by)
					}
					return []ralph.Fact{enginetest.Fails(ralph.ErrClassServer)}
				}
				w.want(w.run(), ralph.ReasonEmpty, "failed", 0)
				for i, want := range []time.Duration{w.c.RetryBase, 2 * w.c.RetryBase} {
					got := starts[i+1].Sub(starts[i]) - w.script.Took
					if got < want || got > want+time.Second {
						t.Errorf("retry %d after %s, want %s", i+1, got, want)
					}
				}
			})
		})
	}
}

// timed is a world whose every clock is the one of the journal, as cli has it.
func timed(t *testing.T, clock *wall, x scene) *world {
	w := newWorld(t, x.Config)
	steady := journal.NewClock(clock.now)
	w.mem, w.script.Now, w.now = enginetest.NewMem(steady.Now), steady.Now, steady.Now
	return w
}

// Whatever the clock does, figures of time are never below zero, never fall, and are
// never more than the time that really passed and the clock's jump ahead of it;
// every run ends within the time that it would take with a good clock and a day.
func TestFiguresOfARandomClock(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		x := drawScene(rt)
		jumps := rapid.SliceOfN(rapid.SampledFrom([]time.Duration{
			-72 * time.Hour, -3 * time.Hour, -time.Hour, -time.Minute, -time.Second, time.Second, time.Minute, time.Hour, 3 * time.Hour, 72 * time.Hour,
		}), 1, 12).Draw(rt, "jumps")
		synctest.Test(t, func(t *testing.T) {
			var clock wall
			w := timed(t, &clock, x)
			for i := range x.Specs {
				w.add("q-"+string(rune('0'+i)), string(rune('0'+i))+".md")
			}
			w.script.Agent = x.agent
			begin := time.Now()
			var most time.Duration
			var n int
			w.script.During = func(context.Context, ralph.Step) { // in the middle of every step
				w.mu.Lock()
				defer w.mu.Unlock()
				clock.jump(jumps[n%len(jumps)])
				n++
				most = max(most, time.Duration(clock.off.Load()))
			}
			w.start()
			ended := make(chan error, 1)
			ctx, cancel := context.WithTimeout(context.Background(), 30*24*time.Hour)
			defer cancel()
			go func() {
				_, err := w.engineIn(ctx)
				ended <- err
			}()
			for done := false; !done; {
				select {
				case err := <-ended:
					if err != nil {
						rt.Errorf("after %s: %v", time.Since(begin), err)
					}
					done = true
				case <-time.After(x.Answer):
					for _, g := range w.mem.State().Approvals {
						_ = w.mem.Update(context.Background(), "cli", func(s *ralph.State) ([]ralph.Fact, error) { return s.Answer(g.ID, "this") })
					}
				}
			}
			for _, problem := range figures(w.mem.Events(), time.Since(begin), most, x.Config.Parallel) {
				rt.Error(problem)
			}
		})
	})
}

// figures folds the events and looks at every figure of time.
func figures(events []ralph.Event, passed, ahead time.Duration, slots int) []string {
	var s ralph.State
	var bad []string
	var at time.Time
	var ran, worked time.Duration
	plan := ""
	for _, e := range events {
		s.Apply(e)
		say := func(what string, d time.Duration) {
			bad = append(bad, e.Fact.Kind()+": "+what+" "+d.String())
		}
		if e.At.Before(at) {
			say("time goes back by", at.Sub(e.At))
		}
		at = e.At
		if got := s.Running(e.At); got < ran || got > passed+ahead {
			say("the session runs for", got)
		}
		ran = s.Running(e.At)
		if s.Plan.File != plan || s.Plan.Closed {
			plan, worked = s.Plan.File, 0
		}
		if got := s.JobElapsed(e.At); !s.Plan.Closed && got < worked || got > passed+ahead {
			say("the job takes", got)
		}
		worked = s.JobElapsed(e.At)
		var spent time.Duration
		for _, t := range slices.Concat(s.Plan.Tasks, s.Stages) {
			if t.Run.Spent < 0 || t.Run.Spent > passed {
				say("task "+string(t.ID)+" spent", t.Run.Spent)
			}
			spent += t.Run.Spent
		}
		if spent > passed*time.Duration(slots) {
			say("all tasks spent", spent)
		}
	}
	return bad
}
