package engine_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/engine"
	"github.com/ralph-loop/ralph/internal/policy"
	"github.com/ralph-loop/ralph/internal/policy/replay"
	"github.com/ralph-loop/ralph/internal/ralphtest/enginetest"
)

func (w *world) steer(want ralph.Want) {
	w.t.Helper()
	w.command(func(s *ralph.State) ([]ralph.Fact, error) { return s.Steer(want, "test") })
}

// once runs f at the first turn that fits, before the turn ends.
func once(w *world, stage ralph.TaskKind, agent func(enginetest.Call) []ralph.Fact, f func()) {
	done := false
	w.script.Agent = func(c enginetest.Call) []ralph.Fact {
		if !done && c.Stage == stage {
			done = true
			f()
		}
		return agent(c)
	}
}

// twice builds in two turns.
func twice(c enginetest.Call) []ralph.Fact {
	if c.Stage == ralph.KindBuild && c.Iteration == 1 {
		return says(ralph.SignalProgress, "half")
	}
	return willing(c)
}

// D-051 to D-053, D-110, D-111, X-08, D-063, D-065: a stop lets the turn end, the
// spec is pending, and the next start goes on with it without planning again.
func TestStopAndGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, enginetest.Settings(), "a.md", "b.md")
		once(w, ralph.KindBuild, twice, func() { w.steer(ralph.WantStop) })
		w.want(w.run(), ralph.ReasonInterrupted, "pending pending", 0)
		w.wantTurns("plan:a.md", "build:a.md/1")
		s := w.mem.State()
		if s.Session.Current != "q-1" || s.Task("t-a.md-only").Run.Iterations != 1 {
			t.Errorf("current %q, run %+v", s.Session.Current, s.Task("t-a.md-only").Run)
		}
		w.add("q-0", "new.md") // queued meanwhile: the interrupted one still goes first
		w.command(func(s *ralph.State) ([]ralph.Fact, error) {
			return []ralph.Fact{ralph.InboxOrdered{IDs: []ralph.SpecID{"q-0", "q-1", "q-2"}}}, nil
		})
		w.want(w.run(), ralph.ReasonEmpty, "done done done", 3)
		if got := w.turns()[2]; got != "build:a.md/2" {
			t.Errorf("the next start began with %s", got)
		}
		if s := w.mem.State(); s.Session.Completed != 3 || s.Totals.Sessions != 1 {
			t.Errorf("completed %d in %d sessions, want 3 in one (X-10)", s.Session.Completed, s.Totals.Sessions)
		}
	})
}

// A stop while the commit runs does not release the spec: it would be committed twice.
func TestStopDuringCommitAndShelve(t *testing.T) {
	for name, tt := range map[string]struct {
		agent func(enginetest.Call) []ralph.Fact
		inbox string
		at    ralph.Step
		n     int
	}{
		"commit": {willing, "done pending", ralph.Commit{}, 1},
		"shelve": {bad("a.md"), "failed pending", ralph.Shelve{}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, enginetest.Settings(), "a.md", "b.md")
				w.script.Agent = tt.agent
				w.script.During = func(_ context.Context, step ralph.Step) {
					if step.StepName() == tt.at.StepName() {
						w.steer(ralph.WantStop)
					}
				}
				w.want(w.run(), ralph.ReasonInterrupted, tt.inbox, tt.n)
			})
		})
	}
}

// B-057, B-058, B-060: a pause holds at the boundary, for hours, until resumed.
func TestPauseHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, enginetest.Settings(), "a.md")
		once(w, ralph.KindBuild, twice, func() { w.steer(ralph.WantPause) })
		ended := make(chan ralph.Reason)
		go func() { ended <- w.run() }()
		time.Sleep(5 * time.Hour)
		synctest.Wait()
		if mode := w.mem.State().Mode(); mode != "paused" {
			t.Errorf("mode %s, want paused", mode)
		}
		w.wantTurns("plan:a.md", "build:a.md/1")
		w.steer(ralph.WantRun)
		w.want(<-ended, ralph.ReasonEmpty, "done", 1)
	})
}

// a stop while paused ends the run without another turn.
func TestStopWhilePaused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, enginetest.Settings(), "a.md")
		once(w, ralph.KindBuild, twice, func() { w.steer(ralph.WantPause) })
		ended := make(chan ralph.Reason)
		go func() { ended <- w.run() }()
		time.Sleep(time.Hour)
		w.steer(ralph.WantStop)
		w.want(<-ended, ralph.ReasonInterrupted, "pending", 0)
		w.wantTurns("plan:a.md", "build:a.md/1")
	})
}

// B-013, B-025: the question waits for hours, the answer starts the next iteration.
func TestQuestionAnsweredLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, enginetest.Settings(), "a.md")
		w.script.Agent = func(c enginetest.Call) []ralph.Fact {
			if c.Stage == ralph.KindBuild && c.Iteration == 1 {
				return says(ralph.SignalHuman, "which port?")
			}
			if c.Stage == ralph.KindBuild && !slices.Contains(c.Task.Run.Answers, ralph.QA{Question: "which port?", Answer: "8080"}) {
				t.Errorf("iteration %d without the answer: %v", c.Iteration, c.Task.Run.Answers)
			}
			return willing(c)
		}
		ended := make(chan ralph.Reason)
		go func() { ended <- w.run() }()
		time.Sleep(9 * time.Hour)
		synctest.Wait()
		gates := w.mem.State().Approvals
		if len(gates) != 1 || gates[0].Text != "which port?" {
			t.Fatalf("gates %v", gates)
		}
		w.command(func(s *ralph.State) ([]ralph.Fact, error) { return s.Answer(gates[0].ID, "8080") })
		w.want(<-ended, ralph.ReasonEmpty, "done", 1)
		w.wantTurns("plan:a.md", "build:a.md/1", "build:a.md/2", "verify:a.md")
		if spent := w.mem.State().Task("t-a.md-only").Run.Spent; spent > 10*time.Minute {
			t.Errorf("the wait counted: %s (X-59)", spent)
		}
	})
}

// with a timeout the question expires, which approves nothing.
func TestQuestionExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := enginetest.Settings()
		c.InputTimeout = time.Hour
		w := newWorld(t, c, "a.md")
		w.script.Agent = func(c enginetest.Call) []ralph.Fact {
			if c.Stage == ralph.KindBuild {
				return says(ralph.SignalHuman, "which port?")
			}
			return willing(c)
		}
		w.want(w.run(), ralph.ReasonEmpty, "failed", 0)
		if got := w.mem.State().Inbox[0].Error; !strings.Contains(got, "nobody answered in time") {
			t.Errorf("error %q", got)
		}
	})
}

// planTwo makes the plan have two tasks, one and two.
func planTwo(build func(enginetest.Call) []ralph.Fact) func(enginetest.Call) []ralph.Fact {
	return func(c enginetest.Call) []ralph.Fact {
		switch c.Stage {
		case ralph.KindPlan:
			return enginetest.Plans(c.File, "one", "two")
		case ralph.KindBuild:
			return build(c)
		}
		return willing(c)
	}
}

// B-054: while one task waits for an answer the other goes on, and when the
// answer comes in the middle of its turn they still never run at once.
func TestAnsweredTaskWaitsForItsSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, enginetest.Settings(), "a.md")
		w.script.Agent = planTwo(func(c enginetest.Call) []ralph.Fact {
			switch {
			case c.Task.Name == "one" && c.Iteration == 1:
				return says(ralph.SignalHuman, "which?")
			case c.Task.Name == "two" && c.Iteration == 1:
				for _, g := range c.State.Approvals {
					w.command(func(s *ralph.State) ([]ralph.Fact, error) { return s.Answer(g.ID, "this") })
				}
				return says(ralph.SignalNone, "")
			}
			return says(ralph.SignalComplete, "")
		})
		w.want(w.run(), ralph.ReasonEmpty, "done", 1)
		if n := w.script.Most(); n != 1 {
			t.Errorf("%d steps at once with one slot", n)
		}
	})
}

func limited(until time.Time) []ralph.Fact {
	f := enginetest.Fails(ralph.ErrClassLimit)
	f.Err.ResetAt = until
	return []ralph.Fact{f}
}

// with every agent at its limit the run waits for hours, uses up no
// retry and goes on.
func TestLimitWaitedForHours(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, enginetest.Settings(), "a.md")
		begin := time.Now()
		reset := begin.Add(7 * time.Hour).UTC()
		w.script.Agent = func(c enginetest.Call) []ralph.Fact {
			if c.Now.Before(reset) {
				return limited(reset)
			}
			return willing(c)
		}
		w.want(w.run(), ralph.ReasonEmpty, "done", 1)
		if took := time.Since(begin); took < 7*time.Hour || took > 8*time.Hour {
			t.Errorf("took %s", took)
		}
		w.wantTurns("plan:a.md", "plan:a.md", "plan:a.md", "build:a.md/1", "verify:a.md")
		if s := w.mem.State(); s.Task("t-a.md-only").RetryCount != 0 {
			t.Errorf("a retry was used up")
		}
	})
}

// 5 s, 15 s, 45 s on the primary, the fourth hit switches
// at once; the primary is used again when its limit is over.
func TestFallbackAndBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, enginetest.Settings(), "a.md")
		w.script.Took = 0
		var at []time.Duration
		var agents []string
		begin := time.Now()
		w.script.Agent = func(c enginetest.Call) []ralph.Fact {
			if c.Stage != ralph.KindBuild {
				return willing(c)
			}
			at, agents = append(at, c.Now.Sub(begin)), append(agents, c.Turn.Agent)
			switch {
			case c.Iteration <= 4:
				return limited(time.Time{})
			case c.Iteration == 5:
				f := enginetest.Says(ralph.SignalNone, "")
				f.Took = 10 * time.Minute // the primary's limit passes
				return []ralph.Fact{f}
			}
			return willing(c)
		}
		w.want(w.run(), ralph.ReasonEmpty, "done", 1)
		if want := []string{"claude", "claude", "claude", "claude", "codex", "codex"}; !slices.Equal(agents, want) {
			t.Errorf("agents %v, want %v", agents, want)
		}
		var gaps []time.Duration
		for i := 1; i < 5; i++ {
			gaps = append(gaps, at[i]-at[i-1])
		}
		if want := []time.Duration{5 * time.Second, 15 * time.Second, 45 * time.Second, 0}; !slices.Equal(gaps, want) {
			t.Errorf("waits %v, want %v", gaps, want)
		}
	})
}

// three attempts after 2 s and 4 s; one and skipped; one and ended.
func TestStrategies(t *testing.T) {
	for _, tt := range []struct {
		strategy string
		status   ralph.TaskStatus
		attempts int
		waited   time.Duration
		reason   ralph.Reason
	}{
		{"retry", ralph.TaskFailed, 3, 6 * time.Second, ralph.ReasonEmpty},
		{"skip", ralph.TaskSkipped, 1, 0, ralph.ReasonEmpty},
		{"abort", ralph.TaskFailed, 1, 0, ralph.ReasonAborted},
	} {
		t.Run(tt.strategy, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := enginetest.Settings()
				c.Strategy = tt.strategy
				w := newWorld(t, c, "a.md")
				w.script.Took = 0
				begin := time.Now()
				w.script.Agent = func(c enginetest.Call) []ralph.Fact {
					if c.Stage == ralph.KindBuild {
						return []ralph.Fact{enginetest.Fails(ralph.ErrClassServer)}
					}
					return willing(c)
				}
				if reason := w.run(); reason != tt.reason {
					t.Errorf("ended with %q, want %q", reason, tt.reason)
				}
				builds := 0
				for _, turn := range w.turns() {
					if strings.HasPrefix(turn, "build:") {
						builds++
					}
				}
				if builds != tt.attempts || time.Since(begin) != tt.waited {
					t.Errorf("%d attempts in %s, want %d in %s", builds, time.Since(begin), tt.attempts, tt.waited)
				}
				if got := w.mem.State().Task("t-a.md-only").Status; got != tt.status {
					t.Errorf("task %s, want %s", got, tt.status)
				}
			})
		})
	}
}

// A stage that hangs each time is tried three times, not for ever: its
// driver ends it and has no typed error for that.
func TestHangingStageEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, enginetest.Settings(), "a.md")
		w.script.Agent = func(c enginetest.Call) []ralph.Fact {
			f := enginetest.Answers("too late")
			f.Took = 10 * time.Hour
			return []ralph.Fact{f}
		}
		w.want(w.run(), ralph.ReasonEmpty, "failed", 0)
		w.wantTurns("plan:a.md", "plan:a.md", "plan:a.md")
	})
}

// racing starts a released task again before its old loop can look: the worst
// order that two goroutines can take.
type racing struct {
	*engine.Local
	mem *enginetest.Mem
	run func(func(engine.Host) error)
}

func (h racing) Record(seq int64, facts ...ralph.Fact) error {
	if err := h.Local.Record(seq, facts...); err != nil {
		return err
	}
	if f, ok := facts[0].(ralph.TaskEnded); ok && f.Status == ralph.TaskPending {
		h.run(nil)
	}
	return nil
}

// A task that was released and started again at once has two loops for a moment;
// they never carry out two steps at the same time.
func TestReleasedTaskIsNotWorkedTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, enginetest.Settings())
		w.start()
		w.record(ralph.JobStarted{Job: "q-1", File: "a.md"}, ralph.PlanStarted{File: "a.md"},
			ralph.TaskAdded{Task: enginetest.Task("a.md", "only")}, ralph.TaskStarted{ID: "t-a.md-only"})
		w.script.Agent = func(c enginetest.Call) []ralph.Fact {
			if c.Iteration == 1 {
				return []ralph.Fact{ralph.TurnEnded{Exit: ralph.ExitCrashed}}
			}
			return willing(c)
		}
		local := engine.NewLocal(context.Background(), w.mem, w.script, nil)
		host := racing{Local: local, mem: w.mem}
		host.run = func(func(engine.Host) error) {
			w.record(ralph.TaskStarted{ID: "t-a.md-only"})
			local.Go(func(h engine.Host) error { return engine.Work(h, w.c, "t-a.md-only") })
			synctest.Wait() // the new loop is in its turn before the old one looks
		}
		if err := engine.Work(host, w.c, "t-a.md-only"); err != nil {
			t.Fatal(err)
		}
		if err := local.Close(); err != nil {
			t.Fatal(err)
		}
		if n := w.script.Most(); n != 1 {
			t.Errorf("%d steps of one task at once", n)
		}
		w.wantTurns("build:a.md/1", "build:a.md/2")
	})
}

// D-121, D-122: construct works one spec, leaves the inbox alone, commits nothing.
func TestConstruct(t *testing.T) {
	for _, tt := range []struct {
		name   string
		agent  func(enginetest.Call) []ralph.Fact
		reason ralph.Reason
	}{
		{"complete", willing, ralph.ReasonComplete},
		{"failed", bad("x.md"), ralph.ReasonFailed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := enginetest.Settings()
				c.Session, c.Only, c.Commit = "construct", "x.md", false
				w := newWorld(t, c, "a.md")
				w.script.Agent = tt.agent
				w.want(w.run(), tt.reason, "pending", 0)
				if len(w.repo.Shelved) != 0 {
					t.Error("construct put changes away")
				}
			})
		})
	}
}

// construct started again gives what failed another try, without a new plan.
func TestConstructAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := enginetest.Settings()
		c.Session, c.Only, c.Commit = "construct", "x.md", false
		w := newWorld(t, c)
		w.script.Agent = bad("x.md")
		w.want(w.run(), ralph.ReasonFailed, "", 0)
		w.script.Agent = willing
		w.want(w.run(), ralph.ReasonComplete, "", 0)
		w.wantTurns("plan:x.md", "build:x.md/1", "build:x.md/1", "verify:x.md")
		if n := w.mem.State().Task("t-x.md-only").RetryCount; n != 1 {
			t.Errorf("retry_count %d, want 1", n)
		}
	})
}

// D-044: an issue VERIFY found is looked into in the next round.
func TestRounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, enginetest.Settings(), "a.md")
		found := false
		w.script.Agent = func(c enginetest.Call) []ralph.Fact {
			switch {
			case c.Stage == ralph.KindVerify && !found:
				found = true
				return []ralph.Fact{enginetest.Answers("1 issue"), ralph.IssueAdded{Issue: ralph.Issue{ID: "i-1", Desc: "slow"}}}
			case c.Stage == ralph.KindInvestigate:
				return []ralph.Fact{enginetest.Answers("1 task"), ralph.IssueRemoved{ID: "i-1"}, ralph.TaskAdded{Task: enginetest.Task("a.md", "fix")}}
			}
			return willing(c)
		}
		w.want(w.run(), ralph.ReasonEmpty, "done", 1)
		w.wantTurns("plan:a.md", "build:a.md/1", "verify:a.md", "investigate:a.md", "build:a.md/1", "verify:a.md")
	})
}

// D-044: a task that ran out of time is split, once; what came of it is not split again.
func TestDecomposeOnce(t *testing.T) {
	for _, tt := range []struct {
		name, inbox string
		child       ralph.SignalKind
	}{{"the parts work", "done", ralph.SignalComplete}, {"a part times out too", "failed", ralph.SignalNone}} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := enginetest.Settings()
				c.MaxIterations = 2
				w := newWorld(t, c, "a.md")
				w.script.Agent = func(c enginetest.Call) []ralph.Fact {
					switch c.Stage {
					case ralph.KindBuild:
						if c.Task.Parent != "" {
							return says(tt.child, "")
						}
						return says(ralph.SignalNone, "")
					case ralph.KindDecompose:
						part := enginetest.Task("a.md", "part")
						part.Parent = c.Task.Parent
						return []ralph.Fact{
							enginetest.Answers("split"),
							ralph.TaskAdded{Task: part},
							ralph.TaskEnded{ID: c.Task.Parent, Status: ralph.TaskSkipped, Why: ralph.Why{Rule: "D-044"}},
						}
					}
					return willing(c)
				}
				commits := 0
				if tt.inbox == "done" {
					commits = 1
				}
				w.want(w.run(), ralph.ReasonEmpty, tt.inbox, commits)
				n := 0
				for _, turn := range w.turns() {
					if strings.HasPrefix(turn, "decompose") {
						n++
					}
				}
				if n != 1 {
					t.Errorf("%d DECOMPOSE turns, want 1", n)
				}
			})
		})
	}
}

// B-095, B-098: free slots are filled before waiting, and a freed one after task.delay.
func TestSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := enginetest.Settings()
		c.Parallel = 3
		w := newWorld(t, c, "a.md")
		w.script.Agent = func(c enginetest.Call) []ralph.Fact {
			if c.Stage == ralph.KindPlan {
				return enginetest.Plans(c.File, "1", "2", "3", "4", "5")
			}
			return willing(c)
		}
		begin := time.Now()
		w.want(w.run(), ralph.ReasonEmpty, "done", 1)
		if took := time.Since(begin); took != 4*time.Minute+c.TaskDelay { // plan, two waves, verify
			t.Errorf("took %s, want 4m and task.delay", took)
		}
		if n := w.script.Most(); n != 3 {
			t.Errorf("%d at once, want 3", n)
		}
	})
}

// With the agents swapped in the settings, replay finds that other ones would
// have been chosen (architecture 2.11).
func TestReplayUnderOtherSettings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, enginetest.Settings(), "a.md")
		w.run()
		other := func(recorded policy.Config) policy.Config {
			recorded.Agents = []string{"codex", "claude"}
			return recorded
		}
		again, err := replay.Replay(slices.Values(w.mem.Events()), replay.ReplayOptions{With: other})
		if err != nil || again.Differ != 3 || len(again.Differences) != 3 {
			t.Fatalf("%+v, %v: want the three turns to differ", again, err)
		}
		d := again.Differences[0]
		if !strings.Contains(d.Was, "claude") || !strings.Contains(d.Now, "codex") || d.Task == "" || d.Seq == 0 {
			t.Errorf("difference %+v", d)
		}
	})
}
