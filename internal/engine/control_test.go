package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/policy"
	"github.com/ralph-loop/ralph/internal/ralphtest/enginetest"
)

// pilotWorld is an autopilot on a plan of n tasks, "0" to "n-1".
func pilotWorld(t *testing.T, n int, edit func(*policy.Config)) *world {
	c := enginetest.Settings()
	c.Session, c.Isolated, c.Commit, c.NoProgressTurns, c.Parallel = "autopilot", true, false, 0, 3
	if edit != nil {
		edit(&c)
	}
	w := newWorld(t, c)
	w.script.Git = enginetest.NewForest()
	plan := []ralph.Fact{ralph.PlanStarted{File: "x.md"}}
	for i := range n {
		plan = append(plan, ralph.TaskAdded{Task: enginetest.Task("x.md", fmt.Sprint(i))})
	}
	w.record(plan...)
	return w
}

// beside runs the engine while f plays the person.
func (w *world) beside(f func()) ralph.Reason {
	w.t.Helper()
	ended := make(chan ralph.Reason)
	go func() { ended <- w.run() }()
	f()
	return <-ended
}

// facts are the facts of one kind.
func facts[F ralph.Fact](w *world) []F {
	var out []F
	for _, e := range w.mem.Events() {
		if f, ok := e.Fact.(F); ok {
			out = append(out, f)
		}
	}
	return out
}

// until waits until the state is as f wants it, in fake time.
func (w *world) until(what string, f func(*ralph.State) bool) {
	w.t.Helper()
	for range 100_000 {
		synctest.Wait()
		if f(w.mem.State()) {
			return
		}
		time.Sleep(time.Second)
	}
	w.t.Fatalf("never: %s\n%s", what, lastLines(w.mem, 20))
}

// limitedUntil makes an agent tell a limit from one time to another.
func limitedUntil(begin time.Time, agent string, from, to time.Duration, other func(enginetest.Call) []ralph.Fact) func(enginetest.Call) []ralph.Fact {
	return func(c enginetest.Call) []ralph.Fact {
		if at := c.Now.Sub(begin); c.Turn.Agent == agent && at >= from && at < to {
			f := limited(begin.Add(to).UTC())[0].(ralph.TurnEnded)
			f.Took = time.Second
			return []ralph.Fact{f}
		}
		return other(c)
	}
}

// One slot's limit spares the others the same failure: with 8 slots and a service
// that stays at its limit for two hours, one turn meets it and all go on with the
// fallback; after it one turn tries alone for 10 s, then all.
func TestEightSlotsMeetOneLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := pilotWorld(t, 64, func(c *policy.Config) { c.Parallel = 8 })
		begin := time.Now()
		w.script.Agent = limitedUntil(begin, "claude", 15*time.Minute, 2*time.Hour, func(c enginetest.Call) []ralph.Fact {
			f := enginetest.Says(ralph.SignalComplete, "")
			n, _ := strconv.Atoi(c.Task.Name)
			f.Took = 20*time.Minute + time.Duration(2*n)*time.Second // no two end together
			return []ralph.Fact{f}
		})
		if reason := w.run(); reason != ralph.ReasonComplete {
			t.Fatalf("ended with %s", reason)
		}
		if n := len(facts[ralph.AgentLimited](w)); n != 1 {
			t.Errorf("%d turns met the limit", n)
		}
		var after []time.Duration // turns on claude after the limit
		for _, c := range w.script.Calls() {
			if at := c.Now.Sub(begin); c.Turn.Agent == "claude" && at >= 2*time.Hour {
				after = append(after, at-2*time.Hour)
			}
		}
		slices.Sort(after)
		if len(after) < 8 || after[1]-after[0] < 10*time.Second {
			t.Errorf("after the limit turns began at %v", after)
		}
	})
}

// 8 slots meet a limit without a reset time in the same second. They wait, one tries,
// and when it works the others follow; nobody is hit a second time.
func TestProbeAfterALimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := pilotWorld(t, 8, func(c *policy.Config) { c.Parallel, c.Checks = 8, false })
		begin := time.Now()
		w.script.Agent = func(c enginetest.Call) []ralph.Fact {
			if c.Iteration == 1 {
				f := limited(time.Time{})[0].(ralph.TurnEnded)
				f.Took = time.Second
				return []ralph.Fact{f}
			}
			return willing(c) // a minute
		}
		if reason := w.run(); reason != ralph.ReasonComplete {
			t.Fatalf("ended with %s", reason)
		}
		var at []time.Duration
		for _, c := range w.script.Calls()[8:] {
			at = append(at, c.Now.Sub(begin).Round(time.Second))
		}
		want := []time.Duration{6 * time.Second}
		for range 7 {
			want = append(want, 16*time.Second)
		}
		if !slices.Equal(at, want) {
			t.Errorf("turns at %v, want %v", at, want)
		}
	})
}

// the order of the facts, in each session and
// from the first stage on: hits, the switch, hits, all limited with the pause behind
// it, and on by itself with the task as it was. X-54: agent mode pauses like all others.
func TestOrderOfALimit(t *testing.T) {
	t.Parallel()
	for _, session := range []string{"agent", "construct", "autopilot"} {
		t.Run(session, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := pilotWorld(t, 1, func(c *policy.Config) { c.MaxLimitRetries = 1 })
				if session != "autopilot" {
					c := enginetest.Settings()
					c.Session, c.MaxLimitRetries = session, 1
					if session == "construct" {
						c.Only, c.Commit = "a.md", false
					}
					w = newWorld(t, c)
					w.add("q-1", "a.md")
				}
				n := 0
				w.script.Took = time.Second
				w.script.Agent = func(c enginetest.Call) []ralph.Fact {
					if n++; n <= 4 {
						return limited(time.Time{})
					}
					return willing(c)
				}
				w.run()
				var order []string
				for _, e := range w.mem.Events() {
					switch f := e.Fact.(type) {
					case ralph.AgentLimited:
						order = append(order, fmt.Sprintf("%s %d %d", f.Agent, f.Try, f.BackoffMS))
					case ralph.AgentSwitched:
						order = append(order, f.From+" to "+f.To+" "+f.Reason)
					case ralph.AllLimited:
						order = append(order, "all limited")
					case ralph.Control:
						order = append(order, string(f.Want)+" "+string(f.From))
					}
				}
				want := []string{"claude 1 5000", "claude 2 0", "claude to codex rate-limit", "codex 1 5000", "codex 2 0", "all limited", "pause limits", "run limits"}
				if !slices.Equal(order[:min(len(order), len(want))], want) {
					t.Errorf("%v, want %v", order, want)
				}
				for _, task := range w.mem.State().Plan.Tasks {
					if task.Status != ralph.TaskDone || task.RetryCount != 0 {
						t.Errorf("%s is %s after %d retries", task.ID, task.Status, task.RetryCount)
					}
				}
			})
		})
	}
}

// limits.wait: ask waits for days until a person resumes, and then tries at once; off
// ends; a stop and a person's pause in between hold.
func TestLimitsWait(t *testing.T) {
	t.Parallel()
	begin := func(t *testing.T, wait string) *world {
		w := pilotWorld(t, 2, func(c *policy.Config) { c.LimitWait = wait })
		reset := time.Now().Add(5 * time.Hour).UTC()
		w.script.Agent = func(c enginetest.Call) []ralph.Fact {
			if c.Now.Before(reset) {
				return limited(reset)
			}
			return willing(c)
		}
		return w
	}
	paused := func(s *ralph.State) bool { return s.Mode() == "paused" }
	synctest.Test(t, func(t *testing.T) {
		w := begin(t, "ask")
		reason := w.beside(func() {
			w.until("paused", paused)
			time.Sleep(72 * time.Hour)
			if s := w.mem.State(); s.Mode() != "paused" || s.CountTasks(ralph.TaskPending) != 2 {
				t.Errorf("%s after days", s.Mode())
			}
			w.steer(ralph.WantRun)
		})
		if reason != ralph.ReasonComplete || len(w.script.Calls()) > 8 {
			t.Errorf("ended with %s after %d turns", reason, len(w.script.Calls()))
		}
	})
	synctest.Test(t, func(t *testing.T) {
		w := begin(t, "off")
		if reason := w.run(); reason != ralph.ReasonLimited || facts[ralph.SessionEnded](w)[0].Cause != "agents_limited" {
			t.Errorf("ended with %s", reason)
		}
		if s := w.mem.State(); s.CountTasks(ralph.TaskPending) != 2 || s.Session.Want != ralph.WantRun {
			t.Errorf("%+v", s.Session)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		w := begin(t, "auto")
		reason := w.beside(func() {
			w.until("paused", paused)
			w.steer(ralph.WantPause)
			time.Sleep(24 * time.Hour)
			if s := w.mem.State(); s.Mode() != "paused" || s.Session.Pause != ralph.PausePerson {
				t.Errorf("%s by %s", s.Mode(), s.Session.Pause)
			}
			w.steer(ralph.WantStop)
		})
		if reason != ralph.ReasonInterrupted {
			t.Errorf("ended with %s", reason)
		}
	})
}

// approver says yes or no to each gate of mode step as it comes, an hour after it.
func (w *world) approver(no ...string) []string {
	var asked []string
	for {
		time.Sleep(time.Hour)
		synctest.Wait()
		s := w.mem.State()
		if s.Session.Ended != "" {
			return asked
		}
		g := s.ApprovalOfKind(ralph.ApprovalStep)
		if g == nil {
			continue
		}
		asked = append(asked, g.Text)
		deny := slices.ContainsFunc(no, func(name string) bool { return strings.Contains(g.Text, name) })
		w.command(func(s *ralph.State) ([]ralph.Fact, error) {
			if deny {
				return s.Deny(g.ID, "no")
			}
			return s.Approve(g.ID)
		})
	}
}

// mode step finishes the same plan as any other, with an
// approval for each task and none for the stages; a no leaves its task out.
func TestStepMode(t *testing.T) {
	t.Parallel()
	three := func(c enginetest.Call) []ralph.Fact {
		if c.Stage == ralph.KindPlan {
			return enginetest.Plans(c.File, "one", "two", "three")
		}
		return willing(c)
	}
	for name, no := range map[string][]string{"all": nil, "a no": {"two"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, enginetest.Settings(), "a.md")
				w.mode, w.script.Agent = ralph.Stepwise, three
				var asked []string
				w.want(w.beside(func() { asked = w.approver(no...) }), ralph.ReasonEmpty, "done", 1)
				if len(asked) != 3 || !strings.Contains(asked[1], "(two)") {
					t.Errorf("asked %v", asked)
				}
				if s := w.mem.State(); s.CountTasks(ralph.TaskDone) != 3-len(no) || s.CountTasks(ralph.TaskSkipped) != len(no) {
					t.Errorf("%d done", s.CountTasks(ralph.TaskDone))
				}
			})
		})
	}
}

// B-092, A-093: the mode is switched in the middle of a turn that fails: to autopilot,
// and it is tried again; to manual, and the run ends there.
func TestModeSwitchInATurn(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		from, to ralph.Autonomy
		reason   ralph.Reason
		turns    int
	}{{ralph.Manual, ralph.Autopilot, ralph.ReasonComplete, 3}, {ralph.Autopilot, ralph.Manual, ralph.ReasonAborted, 1}} {
		synctest.Test(t, func(t *testing.T) {
			w := pilotWorld(t, 2, func(c *policy.Config) { c.Parallel = 1 })
			w.mode = tt.from
			w.script.Agent = func(c enginetest.Call) []ralph.Fact {
				if len(w.script.Calls()) > 1 {
					return willing(c)
				}
				w.command(func(s *ralph.State) ([]ralph.Fact, error) { return s.SetMode(tt.to) })
				return []ralph.Fact{enginetest.Fails(ralph.ErrClassServer)}
			}
			if reason := w.run(); reason != tt.reason || len(w.script.Calls()) != tt.turns {
				t.Errorf("%s to %s: %s after %d turns", tt.from, tt.to, reason, len(w.script.Calls()))
			}
		})
	}
}

// an engine dies while its start waits for approval: the next one asks
// anew, and what a person says to the old gate starts nothing.
func TestStartGateOverACrash(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := pilotWorld(t, 1, func(c *policy.Config) { c.ApproveStart = true })
		w.start()
		ctx, die := context.WithCancelCause(context.Background())
		ended := make(chan error, 1)
		go func() {
			_, err := w.engineIn(ctx)
			ended <- err
		}()
		asked := func(s *ralph.State) bool { return s.ApprovalOfKind(ralph.ApprovalStart) != nil }
		w.until("asked", asked)
		die(errDied)
		if err := <-ended; !errors.Is(err, errDied) {
			t.Fatal(err)
		}
		old := w.mem.State().Approvals[0].ID
		w.command(func(s *ralph.State) ([]ralph.Fact, error) { return s.Approve(old) })
		reason := w.beside(func() {
			w.until("asked again", asked)
			time.Sleep(9 * time.Hour)
			if n := len(w.script.Calls()); n != 0 {
				t.Errorf("%d turns before the approval", n)
			}
			w.command(func(s *ralph.State) ([]ralph.Fact, error) { return s.Approve(s.ApprovalOfKind(ralph.ApprovalStart).ID) })
		})
		if reason != ralph.ReasonComplete {
			t.Errorf("ended with %s", reason)
		}
	})
}

// X-60, product.md 14: 8 slots and a budget that is nearly used up. What begins fits;
// only the last turn, alone, may pass the limit. Without the reservation seven more would.
func TestBudgetWithEightSlots(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := pilotWorld(t, 60, func(c *policy.Config) { c.Parallel, c.Budget.Cost = 8, 20 })
		w.script.Agent = costing(1, true)
		if reason := w.run(); reason != ralph.ReasonBudget {
			t.Errorf("ended with %s", reason)
		}
		if s := w.mem.State(); s.Session.Usage.Cost != 21 || w.script.Most() < 8 {
			t.Errorf("$%.2f spent of $20, %d at once", s.Session.Usage.Cost, w.script.Most())
		}
		if n := len(facts[ralph.BudgetWarned](w)); n != 1 {
			t.Errorf("warned %d times", n)
		}
	})
}

// budget.spec: the spec that passes it fails, in the middle of a task that would go on
// for 50 turns, and the next one has its own. The commit of one that passes it with
// its last turn is made: it costs nothing.
func TestSpecBudget(t *testing.T) {
	t.Parallel()
	for cost, inbox := range map[float64]string{3: "failed done", 2.5: "failed done", 1.5: "failed failed", 13: "done done"} {
		synctest.Test(t, func(t *testing.T) {
			c := enginetest.Settings()
			c.SpecBudget.Cost = cost
			w := newWorld(t, c, "a.md", "b.md")
			endless := costing(1, true)
			w.script.Agent = func(c enginetest.Call) []ralph.Fact {
				if c.Stage == ralph.KindBuild && c.File == "a.md" && c.Iteration < 11 {
					f := enginetest.Says(ralph.SignalProgress, "half")
					f.Usage.Cost = 1
					return []ralph.Fact{f}
				}
				return endless(c)
			}
			reason := w.run()
			w.want(reason, ralph.ReasonEmpty, inbox, strings.Count(inbox, "done"))
			if s := w.mem.State(); strings.HasPrefix(inbox, "failed") && !strings.Contains(s.Inbox[0].Error, "of the spec used, the limit is") {
				t.Errorf("error %q", s.Inbox[0].Error)
			}
		})
	}
}

// A session that passes its budget with the last turn of a spec still commits it; the
// next spec is not begun.
func TestBudgetPassedByTheLastTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := enginetest.Settings()
		c.Budget.Cost = 2.5 // plan, build and verify are three dollars
		w := newWorld(t, c, "a.md", "b.md")
		w.script.Agent = costing(1, true)
		w.want(w.run(), ralph.ReasonBudget, "done pending", 1)
	})
}

// X-62, B-028: a task that fills its agent's window is split in autopilot as well, and
// its parts run; where the split fails it waits for a person, and the others are done.
func TestFullContextInAutopilot(t *testing.T) {
	t.Parallel()
	for name, split := range map[string]bool{"split": true, "not split": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := pilotWorld(t, 3, nil)
				w.script.Agent = func(c enginetest.Call) []ralph.Fact {
					switch {
					case c.Stage == ralph.KindDecompose && split:
						part := enginetest.Task("x.md", "part")
						part.Parent = c.Task.Parent
						return append([]ralph.Fact{enginetest.Answers("split"), ralph.TaskAdded{Task: part}}, c.State.ReplaceTask(c.Task.Parent, []ralph.TaskID{part.ID}, ralph.Why{Rule: "D-044", Text: "split"})...)
					case c.Stage == ralph.KindDecompose:
						return []ralph.Fact{enginetest.Fails(ralph.ErrClassRequest)}
					case c.Task.Name == "1":
						return []ralph.Fact{enginetest.Fails(ralph.ErrClassContext)}
					}
					return willing(c)
				}
				reason := w.run()
				s := w.mem.State()
				want, done := ralph.ReasonComplete, 3
				if !split {
					want, done = ralph.ReasonFailed, 2
				}
				if reason != want || s.CountTasks(ralph.TaskDone) != done || len(w.script.Git.Landed()) != done {
					t.Errorf("ended with %s (%s), %d done, landed %v", reason, s.Session.Detail, s.CountTasks(ralph.TaskDone), w.script.Git.Landed())
				}
			})
		})
	}
}

// task.delay passes between the end of a task and the next start,
// in place and in worktrees; with 0, and in mode manual, nothing does.
func TestTaskDelay(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		delay, gap time.Duration
		mode       ralph.Autonomy
	}{{time.Second, time.Second, ralph.Autopilot}, {0, 0, ralph.Autopilot}, {time.Second, 0, ralph.Manual}} {
		synctest.Test(t, func(t *testing.T) {
			w := pilotWorld(t, 3, func(c *policy.Config) { c.Parallel, c.TaskDelay = 1, tt.delay })
			w.mode = tt.mode
			if reason := w.run(); reason != ralph.ReasonComplete {
				t.Fatalf("ended with %s", reason)
			}
			var ended time.Time
			for _, e := range w.mem.Events() {
				switch f := e.Fact.(type) {
				case ralph.TaskStarted:
					if s := w.mem.State().Task(f.ID); s != nil && !ended.IsZero() && e.At.Sub(ended) != tt.gap {
						t.Errorf("%s started %s after the end of the one before, want %s", f.ID, e.At.Sub(ended), tt.gap)
					}
				case ralph.TaskEnded:
					if s := w.mem.State().Task(f.ID); s != nil && s.IsBuild() {
						ended = e.At
					}
				}
			}
			if ended.IsZero() {
				t.Error("no task ended")
			}
		})
	}
}
